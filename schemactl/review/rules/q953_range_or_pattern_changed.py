"""Q953: other bounds or another pattern for the values of a column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from schemactl.review.bounds import limit_phrase, loosens
from schemactl.review.comparison import Comparison
from schemactl.review.hints import column_hints, hint_match, is_unset
from schemactl.review.rule import Match, Rule
from schemactl.review.severity import Direction, Impact, Severity
from schemactl.schema.changes import ColumnPropertyChanged

_NAMES: Final[Mapping[str, str]] = {
    "x-minimum": "smallest value",
    "x-maximum": "largest value",
    "x-pattern": "pattern",
}
_LOOSENED: Final = Impact(readers=Severity.WARN, writers=Severity.INFO)
_EITHER: Final = Impact(readers=Severity.WARN, writers=Severity.ERROR, data=Severity.DEPENDS)


def find(comparison: Comparison) -> Iterator[Match]:
    """Yield each column with another ``x-minimum``, ``x-maximum`` or ``x-pattern``."""
    for change in column_hints(comparison, *_NAMES):
        yield hint_match(change, limit_phrase(change, _NAMES[change.name]), impact=_impact(change))


def _impact(change: ColumnPropertyChanged) -> Impact | None:
    """Return the impact in place of the rule's, which is that of a tightened bound."""
    if is_unset(change.after):
        return _LOOSENED
    if is_unset(change.before):
        return None
    if change.name == "x-pattern":
        return _EITHER
    found = loosens(change.before, change.after, is_upper=change.name == "x-maximum")
    return {True: _LOOSENED, False: None, None: _EITHER}[found]


RULE = Rule(
    id="Q953",
    title="range or pattern changed",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.UNDETERMINED,
    why="`x-minimum` and `x-maximum` are the least and the greatest value that a column may have, both permitted; "
    "`x-pattern` is a regular expression that is found in its texts. dlt keeps them and checks nothing by them. With "
    "narrower ones pipelines still send what is excluded; with wider ones readers meet values they do not expect.",
    fix="To narrow, stop sending such values and repair the stored rows first. To widen, tell the readers first.",
    find=find,
)
