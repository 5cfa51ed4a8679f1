from collections.abc import Iterator
from typing import Any, Final

from schemactl.review.keys import merge_strategy
from schemactl.review.rule import BREAKS_NOBODY, Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import from_to, listed, plain
from schemactl.schema.changes import TablePropertyChanged
from schemactl.schema.dispositions import Strategy
from schemactl.schema.types import Table, root_of

_DEFAULT: Final = "append"

_TRUNCATES: Final = Impact(readers=Severity.ERROR, data=Severity.ERROR)
_DUPLICATES: Final = Impact(readers=Severity.ERROR, data=Severity.WARN)
_REPLACES_ROWS: Final = Impact(readers=Severity.WARN, data=Severity.WARN)
_LACKS_ROOT_KEYS: Final = Impact(readers=Severity.WARN, writers=Severity.ERROR, data=Severity.ERROR)
_PILES_UP: Final = Impact(readers=Severity.ERROR)
_IS_APART: Final = Impact(readers=Severity.WARN)
_STOPS: Final = Impact(readers=Severity.WARN, writers=Severity.WARN)


def find(comparison: Comparison) -> Matches:
    """Yield each table whose ``write_disposition`` changed; a root table that states none appends."""
    for change in comparison.of(TablePropertyChanged, "write_disposition"):
        table = comparison.head.schema.tables.get(change.table)
        is_root = table is None or not table.is_nested
        before, after = _effective(change.before, is_root), _effective(change.after, is_root)
        if before == after:
            continue
        without_root_key = tuple(_without_root_key(comparison, table)) if table and after == "merge" else ()
        effect, impact = _effect(before, after, merge_strategy(table), without_root_key)
        yield Match.of(
            change,
            f"`write_disposition` of `{change.table}` goes {from_to(before, after)}: {effect}",
            before=before,
            after=after,
            impact=impact,
        )


def _effective(stated: Any, is_root: bool) -> str | None:
    """Return what holds; a nested table that states none does as its parent."""
    return plain(stated) or (_DEFAULT if is_root else None)


def _without_root_key(comparison: Comparison, table: Table) -> Iterator[str]:
    """Yield the tables nested in one that have rows, and no root key for the merges to come; scd2 asks for none."""
    if merge_strategy(table) == Strategy.SCD2:
        return
    head = comparison.head.schema
    for name in head.tables:
        base = comparison.base_table(name)
        if name == table.name or base is None or base.is_new or root_of(head, name) != table.name:
            continue
        if not any(column.properties.get("root_key") for column in base.columns.values()):
            yield name


def _effect(
    before: str | None, after: str | None, strategy: str | None, without_root_key: tuple[str, ...]
) -> tuple[str, Impact]:
    match before, after:
        case _, "replace":
            return "the next load drops the rows that are stored", _TRUNCATES
        case _, "skip":
            return "no load writes the table any more", _STOPS
        case _, "merge" if without_root_key:
            lack = f"the stored rows of {listed(without_root_key)} have no `_dlt_root_id`"
            return f"{lack}, so the next load fails", _LACKS_ROOT_KEYS
        case "skip", _:
            return "loads write the table now", BREAKS_NOBODY
        case _, "merge" if strategy == Strategy.SCD2:
            return "each row that changed is stored as a further version", _PILES_UP
        case _, "merge" if strategy == Strategy.INSERT_ONLY:
            return "rows with a new key are added, others left as they are", _REPLACES_ROWS
        case _, "merge":
            return "new rows replace stored rows with the same key", _REPLACES_ROWS
        case "merge", "append":
            return "rows with a key that is stored already are added a second time", _DUPLICATES
        case "replace", _:
            return "rows of earlier loads stay from now on", _PILES_UP
        case _:
            return "the table and its parent are written in different ways, or no longer are", _IS_APART


RULE = Rule(
    title="write disposition changed",
    impact=_TRUNCATES,
    direction=Direction.NONE,
    why="The next load already works in the new way, and queries that count or sum all rows get other numbers. "
    "`replace` empties the table first, so the history is lost; from `merge` or `replace` to `append`, rows that came "
    "before are stored once more; with `merge`, dlt adds `_dlt_root_id`, which may not be null, to nested tables, and "
    "that fails where they hold rows.",
    fix="Save the table before the next load if the history matters. Load the new way into a new table where readers "
    "count on one row a key, or on all rows ever loaded. Give nested tables their root key before the next load: "
    "`ALTER TABLE orders__items ADD COLUMN _dlt_root_id varchar`, then `UPDATE orders__items SET _dlt_root_id = "
    "_dlt_parent_id` in tables nested in the root table itself, and the `_dlt_root_id` of the parent's row in those "
    "further down; or load the table anew (`refresh`).",
    find=find,
)
