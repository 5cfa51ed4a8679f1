"""Q955: other lengths, exclusive bounds, steps or numbers of items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from schemactl.review.bounds import is_multiple, limit_phrase, loosens
from schemactl.review.comparison import Comparison
from schemactl.review.hint_names import LIMITS, canonical
from schemactl.review.hints import extra_hints, hint_match, is_unset
from schemactl.review.rule import Match, Rule
from schemactl.review.severity import Direction, Impact, Severity
from schemactl.schema.changes import ColumnPropertyChanged

_LOOSENED: Final = Impact(readers=Severity.WARN, writers=Severity.INFO)
_EITHER: Final = Impact(readers=Severity.WARN, writers=Severity.ERROR, data=Severity.DEPENDS)


def find(comparison: Comparison) -> Iterator[Match]:
    """Yield each column with another limit of that kind."""
    for change in extra_hints(comparison):
        name = LIMITS.get(canonical(change.name))
        if name is not None and isinstance(change, ColumnPropertyChanged):
            yield hint_match(change, limit_phrase(change, name), _impact(change))


def _impact(change: ColumnPropertyChanged) -> Impact | None:
    """Return the impact in place of the rule's, which is that of a narrower limit."""
    if is_unset(change.after):
        return _LOOSENED
    if is_unset(change.before):
        return None
    name = canonical(change.name)
    if name == "x-multiple-of":
        found = _step_loosens(change.before, change.after)
    else:
        found = loosens(change.before, change.after, is_upper="max" in name)
    return {True: _LOOSENED, False: None, None: _EITHER}[found]


def _step_loosens(before: Any, after: Any) -> bool | None:
    if is_multiple(before, after):
        return True
    return False if is_multiple(after, before) else None


RULE = Rule(
    id="Q955",
    title="length, exclusive bound, step or number of items changed",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.UNDETERMINED,
    why="`x-min-length`, `x-max-length`, `x-exclusive-minimum`, `x-exclusive-maximum`, `x-multiple-of`, `x-min-items`, "
    "`x-max-items` and `x-unique-items` are JSON Schema's keywords for what values may be. dlt keeps them and checks "
    "nothing by them. With narrower ones pipelines still send what is excluded; with wider ones readers meet values "
    "they do not expect.",
    fix="To narrow, stop sending such values and repair the stored rows first. To widen, tell the readers first.",
    find=find,
)
