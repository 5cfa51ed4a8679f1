"""T107: a table is sealed."""

from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import plain
from schemactl.schema.changes import TablePropertyChanged


def find(comparison: Comparison) -> Matches:
    """Yield each table that is sealed now."""
    for change in comparison.of(TablePropertyChanged):
        if change.name == "table_sealed" and plain(change.after) is True:
            yield Match.of(change, f"table `{change.table}` is sealed now")


RULE = Rule(
    id="T107",
    title="table sealed",
    impact=Impact(writers=Severity.WARN),
    direction=Direction.TIGHTENS,
    why="`table_sealed` asks that the table takes no new columns. It is a legacy of old schemas: dlt accepts it and "
    "does not act on it, so a team that counts on it is not protected, and another tool may refuse new columns.",
    fix="State `schema_contract: {columns: freeze}` on the table instead, which dlt enforces.",
    find=find,
)
