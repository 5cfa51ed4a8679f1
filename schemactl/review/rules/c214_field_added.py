from schemactl.review.announcements import column_last_day
from schemactl.review.nested_fields import FieldEvent, field_changes, type_label
from schemactl.review.rule import BREAKS_ALL, BREAKS_NOBODY, Comparison, Direction, Matches, Rule


def find(comparison: Comparison) -> Matches:
    """Yield each field that is new; those inside of it are not reported as well."""
    for found in field_changes(comparison, FieldEvent.ADDED):
        assert found.after is not None
        since = column_last_day(comparison.base_table(found.change.table), found.name)
        retired = f", but the name is retired since {since}" if since else ""
        sentence = f"field {found.where} (`{type_label(found.after)}`) is new{retired}"
        yield found.match(sentence, BREAKS_ALL if since else None)


RULE = Rule(
    title="field added inside a column",
    impact=BREAKS_NOBODY,
    direction=Direction.LOOSENS,
    why="Stored rows have null there, and pipelines that do not know the field leave it null. The next load adds it "
    "to the column, where the destination's columns of structs can take new fields. For contracts it is a change of "
    "the column's `data_type`: where that is not to evolve, rule X703 reports it as well. A name that the base schema "
    "has announced as removed, such as `buyer.name` in `x-removed-columns`, is as bad as with a column (C207).",
    fix="Nothing has to be done. Programs that take the column with exactly the fields it had get one more.",
    find=find,
)
