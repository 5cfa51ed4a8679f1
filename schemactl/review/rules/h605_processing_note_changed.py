from collections.abc import Mapping
from typing import Any, Final

from schemactl.review.hints import extra_hints, hint_match
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule

_NOTES: Final = ("x-normalizer", "x-loader", "x-extractor")
_NESTING: Final = "max_nesting"


def find(comparison: Comparison) -> Matches:
    """Yield each changed note of dlt on a table or column, but for the nesting, which is no mere note."""
    for change in extra_hints(comparison, *_NOTES):
        if _notes(change.before) != _notes(change.after):
            yield hint_match(change, f"has other processing notes of dlt in `{change.name}`")


def _notes(stated: Any) -> Any:
    if isinstance(stated, Mapping):
        return {name: note for name, note in stated.items() if name != _NESTING}
    return {}


RULE = Rule(
    title="processing notes changed",
    impact=Impact(),
    direction=Direction.NONE,
    why="dlt notes here that a table has received data (`seen-data`), that a column was null so far "
    "(`seen-null-first`), or that columns may evolve once. It changes the hash, and nothing that anybody stores or "
    "reads.",
    fix="Nothing has to be done. Keep reviewed schemas in dlt's import folder, where dlt leaves these notes out.",
    find=find,
    is_cosmetic=True,
)
