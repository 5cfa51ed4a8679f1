from datetime import timedelta
from typing import Final

from schemactl.review.announcements import notices
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity

LEAST_DAYS: Final = 30
"""From the day of a review to the last day that it announces."""


def find(comparison: Comparison) -> Matches:
    """Yield each notice of less than 30 days, each one brought forward, and each one taken back."""
    earliest = comparison.today + timedelta(days=LEAST_DAYS)
    for notice in notices(comparison):
        before, after = notice.before, notice.after
        if after is None:
            phrase = "is to stay after all" if notice.is_there else "is no retired name any more"
            yield notice.match(f"{notice.where} {phrase}; its last day was {before}", Impact(readers=Severity.WARN))
        elif before is None and after < earliest and notice.is_there:
            yield notice.match(f"{notice.where} is to go after {after}, which is less than {LEAST_DAYS} days away")
        elif before is not None and after < before:
            yield notice.match(f"the last day of {notice.where} is brought forward from {before} to {after}")


RULE = Rule(
    title="notice too short, brought forward or withdrawn",
    impact=Impact(readers=Severity.ERROR),
    direction=Direction.TIGHTENS,
    why="After the last day that is announced, a removal fails no review (C205, T103). A day that is near, or past "
    "already, leaves readers no time; one that is brought forward breaks what was promised. Where a notice is "
    "withdrawn, readers have moved for nothing, and a retired name may be used again.",
    fix="Announce an end 30 days ahead or more, and only put it off. Silence this finding where all readers have "
    "agreed.",
    find=find,
)
