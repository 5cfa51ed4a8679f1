from schemactl.review.names import column_collisions, naming_changes, new_convention, table_collisions
from schemactl.review.rule import BREAKS_ALL, Comparison, Direction, Match, Matches, Rule
from schemactl.review.wording import listed


def find(comparison: Comparison) -> Matches:
    """Yield the tables, and the columns of one table, that would get one name."""
    for change in naming_changes(comparison):
        naming = new_convention(change)
        if naming is None:
            continue
        for name, found in table_collisions(comparison, naming).items():
            # Tables stand in any order in a file, columns in that of the table.
            tables = sorted(found)
            yield Match(
                sentence=f"under `{change.after}` the tables {listed(tables)} become one: `{name}`",
                table=tables[0],
                before=tables,
                after=name,
            )
        for table, collisions in column_collisions(comparison, naming):
            for name, columns in collisions.items():
                yield Match(
                    sentence=f"under `{change.after}` the columns {listed(columns)} of `{table}` become one: `{name}`",
                    table=table,
                    column=columns[0],
                    before=list(columns),
                    after=name,
                )


RULE = Rule(
    title="names collide",
    impact=BREAKS_ALL,
    direction=Direction.TIGHTENS,
    why="dlt merges columns that come to the same name, with a line in its log: the hints of the later one win, and in "
    "each row the last value. Tables that come to one name receive each other's rows.",
    fix="Rename one of them at the source, or keep a convention that keeps them apart.",
    find=find,
)
