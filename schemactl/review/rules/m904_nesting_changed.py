from collections.abc import Iterator, Mapping
from typing import Any

from schemactl.review.hints import max_nesting
from schemactl.review.rule import Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import from_to, place, plain
from schemactl.schema.changes import NormalizerChanged, TablePropertyChanged

_PATHS = "use_break_path_on_normalize"


def find(comparison: Comparison) -> Matches:
    """Yield each changed option of the JSON normalizer, for the schema and for single tables."""
    for change in comparison.of(NormalizerChanged):
        if change.name == "json":
            yield from _options(comparison, change)
        elif change.name == _PATHS and _breaks(change.before) != _breaks(change.after):
            phrase = "is kept as a separator now" if _breaks(change.after) else "becomes `_` now"
            sentence = f"`__` in the names of the data {phrase}: such columns and tables get other names"
            yield Match.of(change, sentence)
    for of_table in comparison.of(TablePropertyChanged, "x-normalizer"):
        before, after = max_nesting(of_table.before), max_nesting(of_table.after)
        if before != after:
            yield Match(
                sentence=f"`max_nesting` of {place(of_table.table)} changes {from_to(before, after)}",
                table=of_table.table,
                keys=("tables", of_table.table, "x-normalizer", "max_nesting"),
                before=before,
                after=after,
            )


def _options(comparison: Comparison, change: NormalizerChanged) -> Matches:
    before, after = ((plain(stated) or {}).get("config") or {} for stated in (change.before, change.after))
    path = ("normalizers", "json", "config")
    for name in {**before, **after}:
        old, new = before.get(name), after.get(name)
        if name != "propagation" and old != new:
            yield _match(f"`{name}` changes {from_to(old, new)}", (*path, name), old, new)
    for table, old, new in _propagated(comparison, before, after):
        whose = f"the rows of {place(table)}" if table else "all root tables"
        sentence = f"what {whose} hand down to nested rows changes {from_to(old, new)}"
        place_of = ("tables", table) if table else ("root",)
        yield _match(sentence, (*path, "propagation", *place_of), old, new)


def _propagated(
    comparison: Comparison, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[tuple[str | None, Any, Any]]:
    """Yield each table (None for all root tables) that propagates other columns, with those before and after.

    Tables of one schema only are left out: dlt adds an entry with each new table that it merges (docs/dlt.md §5.5).
    """
    old, new = before.get("propagation") or {}, after.get("propagation") or {}
    if (old.get("root") or {}) != (new.get("root") or {}):
        yield None, old.get("root") or {}, new.get("root") or {}
    of_old, of_new = old.get("tables") or {}, new.get("tables") or {}
    for table in {**of_old, **of_new}:
        origin = comparison.base_tables.get(table, table)
        is_shared = origin in comparison.base.schema.tables and table in comparison.head.schema.tables
        left, right = of_old.get(origin) or {}, of_new.get(table) or {}
        if is_shared and left != right:
            yield table, left, right


def _match(sentence: str, keys: tuple[str, ...], before: Any, after: Any) -> Match:
    return Match(sentence=sentence, keys=keys, before=before, after=after)


def _breaks(stated: Any) -> bool:
    """Return whether ``__`` parts a name; it does where nothing is stated."""
    return plain(stated) is None or bool(stated)


RULE = Rule(
    title="nesting or propagation changed",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN, data=Severity.ERROR),
    direction=Direction.BOTH,
    why="With less nesting, what was a nested table becomes a `json` column at the next load, and the other way round; "
    "both stay in the destination, each with a part of the rows. With other propagation, nested tables get columns "
    "such as `_dlt_root_id`, which must not be null and thus cannot be added to tables that have rows.",
    fix="Load the tables that are concerned anew (`refresh`), or change the nesting together with a new dataset.",
    find=find,
)
