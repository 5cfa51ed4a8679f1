from collections.abc import Mapping
from typing import Any

from schemactl.review.announcements import deprecated_until, notices
from schemactl.review.hints import DEPRECATED, extra_hints, hint_match, is_unset
from schemactl.review.rule import BREAKS_NOBODY, Comparison, Direction, Matches, Rule
from schemactl.schema.changes import ABSENT


def find(comparison: Comparison) -> Matches:
    """Yield each notice that is new or later, and each mark without a day, new or gone."""
    for notice in notices(comparison):
        if notice.after and notice.before is None:
            yield notice.match(f"{notice.where} is announced to go, and its last day is {notice.after}")
        elif notice.after and notice.before and notice.after > notice.before:
            yield notice.match(f"the last day of {notice.where} is {notice.after} now, before it was {notice.before}")
    for change in extra_hints(comparison, DEPRECATED):
        if not (_has_day(change.before) or _has_day(change.after)):
            gone = is_unset(change.after)
            yield hint_match(change, "is no longer deprecated" if gone else f"is deprecated{_phrases(change.after)}")


def _has_day(stated: Any) -> bool:
    return stated is not ABSENT and deprecated_until({DEPRECATED: stated}) is not None


def _phrases(stated: Any) -> str:
    if isinstance(stated, Mapping) and stated.get("use"):
        return f"; use `{stated['use']}`"
    return f": {stated}" if isinstance(stated, str) else ""


RULE = Rule(
    title="deprecated, or its end announced",
    impact=BREAKS_NOBODY,
    direction=Direction.NONE,
    why="`x-deprecated: DATE` on a table or column, or `x-removed-columns` and `x-removed-tables`, inform readers till "
    "which day they may count on it. After that day its removal is rule C205 or T103, and breaks nobody.",
    fix="Move the queries that use it. `x-deprecated: {until: DATE, reason: TEXT, use: OTHER}` says why, and what to "
    "use.",
    find=find,
)
