from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import place
from schemactl.schema.changes import ColumnAdded


def find(comparison: Comparison) -> Matches:
    """Yield each root key that is new in a nested table with rows, and may not be null."""
    for change in comparison.of(ColumnAdded):
        base, column = comparison.base_table(change.table), change.column
        is_root_key = bool(column.properties.get("root_key")) or column.name.casefold() == "_dlt_root_id"
        if base and base.is_nested and not base.is_new and is_root_key and not column.nullable:
            where = place(change.table, change.column.name)
            yield Match.of(change, f"{where} is new and may not be null; the rows of {place(change.table)} have none")


RULE = Rule(
    title="root key added to nested rows",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.ERROR),
    direction=Direction.TIGHTENS,
    why="dlt adds the column with `NOT NULL`, which databases refuse on a table that has rows: the next load fails, "
    "with `NOT NULL constraint failed` or the like. dlt adds `_dlt_root_id` where the root table is merged, or "
    "`root_key_propagation` is set.",
    fix="Add the column before the next load and fill it: `ALTER TABLE orders__items ADD COLUMN _dlt_root_id varchar`, "
    "then `UPDATE orders__items SET _dlt_root_id = _dlt_parent_id` in tables nested in the root table itself, and the "
    "`_dlt_root_id` of the parent's row in those further down. dlt takes the column as it finds it. Or load the table "
    "anew (`refresh`).",
    find=find,
)
