"""T108: the next load treats stored rows in another way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from schemactl.review.comparison import Comparison
from schemactl.review.rule import Match, Rule
from schemactl.review.severity import Direction, Impact, Severity
from schemactl.review.wording import plain, shown
from schemactl.schema.changes import TablePropertyChanged

_DEFAULT: Final = "append"

_TRUNCATES: Final = Impact(readers=Severity.WARN, data=Severity.ERROR)
_DUPLICATES: Final = Impact(readers=Severity.WARN, data=Severity.WARN)
_REPLACES_ROWS: Final = Impact(readers=Severity.WARN, data=Severity.WARN)
_KEEPS_ROWS: Final = Impact(readers=Severity.WARN)
_STOPS: Final = Impact(readers=Severity.WARN, writers=Severity.WARN)
_STARTS: Final = Impact(readers=Severity.INFO, writers=Severity.INFO)


def find(comparison: Comparison) -> Iterator[Match]:
    """Yield each table whose ``write_disposition`` changed; a root table that states none appends."""
    for change in comparison.of(TablePropertyChanged):
        if change.name != "write_disposition":
            continue
        table = comparison.head.schema.tables.get(change.table)
        is_root = table is None or not table.is_nested
        before, after = _effective(change.before, is_root), _effective(change.after, is_root)
        if before == after:
            continue
        effect, impact = _effect(before, after)
        yield Match(
            sentence=f"`write_disposition` of `{change.table}` goes from {shown(before)} to {shown(after)}: {effect}",
            table=change.table,
            keys=("tables", change.table, "write_disposition"),
            before=before,
            after=after,
            impact=impact,
        )


def _effective(stated: Any, is_root: bool) -> str | None:
    """Return what holds; a nested table that states none does as its parent."""
    return plain(stated) or (_DEFAULT if is_root else None)


def _effect(before: str | None, after: str | None) -> tuple[str, Impact]:
    match before, after:
        case _, "replace":
            return "the next load drops the rows that are stored", _TRUNCATES
        case _, "skip":
            return "no load writes the table any more", _STOPS
        case "skip", _:
            return "loads write the table now", _STARTS
        case _, "merge":
            return "new rows replace stored rows with the same key", _REPLACES_ROWS
        case "merge", "append":
            return "rows with a key that is stored already are added a second time", _DUPLICATES
        case "replace", _:
            return "rows of earlier loads stay from now on", _KEEPS_ROWS
        case _:
            return "the table and its parent are written in different ways, or no longer are", _KEEPS_ROWS


RULE = Rule(
    id="T108",
    title="write disposition changed",
    impact=_TRUNCATES,
    direction=Direction.NONE,
    why="The next load already works in the new way. `replace` empties the table first, so the history is lost; from "
    "`merge` to `append`, keys that were unique come in duplicates; with `merge`, dlt adds `_dlt_root_id`, which may "
    "not be null, to nested tables, and that fails where they hold rows.",
    fix="Save the table before the next load if the history matters. Load the new way into a new table where readers "
    "count on one row a key, or on all rows ever loaded.",
    find=find,
)
