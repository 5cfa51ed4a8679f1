from collections.abc import Iterator

from schemactl.review.keys import Reference, distinct, read_references
from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import place


def find(comparison: Comparison) -> Matches:
    """Yield each reference with what the base schema had and the head schema has not, under its name."""
    for table in comparison.head.schema.tables.values():
        for reference in distinct(read_references(table.name, table.properties.get("references"))):
            for gone in dict.fromkeys(_gone(comparison, reference)):
                yield Match(
                    sentence=f"{place(table.name)} refers by {reference}, and {gone} is gone",
                    table=table.name,
                    keys=("tables", table.name, "references"),
                    before=reference.stated,
                    after=gone,
                )


def _gone(comparison: Comparison, reference: Reference) -> Iterator[str]:
    """Yield the names that the head schema lacks; what neither schema has may be in another one."""
    base, head = comparison.base.schema.tables, comparison.head.schema.tables
    if reference.target in base and reference.target not in head:
        yield place(reference.target)
        return
    for name, columns in ((reference.table, reference.columns), (reference.target, reference.target_columns)):
        there, here = comparison.base_table(name), head.get(name)
        for column in columns:
            if there and here and column in there.columns and column not in here.columns:
                yield place(name, column)


RULE = Rule(
    title="reference to something that is gone",
    impact=Impact(readers=Severity.ERROR, writers=Severity.WARN),
    direction=Direction.BOTH,
    why="The table or column was removed or renamed, and a reference still names it. Tools that draw or generate joins "
    "from the schema make queries that fail, and a foreign key cannot be made of it. dlt checks no reference.",
    fix="Take the reference out, or let it name what stands there now.",
    find=find,
)
