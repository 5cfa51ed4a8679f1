"""D311: a timestamp or time with more or fewer digits of a second."""

from schemactl.review.retypes import resized
from schemactl.review.rule import BREAKS_NOBODY, Comparison, Direction, Impact, Matches, Rule, Severity
from schemactl.schema.types import DataType


def find(comparison: Comparison) -> Matches:
    """Yield each timestamp and time of another precision; absent means six digits."""
    for retype in resized(comparison):
        before, after = retype.before.precision, retype.after.precision
        if retype.after.data_type not in (DataType.TIMESTAMP, DataType.TIME) or before is None or after is None:
            continue
        if before != after:
            sentence = f"{retype.where} keeps {after} instead of {before} digits of a second"
            yield retype.match(sentence, impact=BREAKS_NOBODY if after > before else None)


RULE = Rule(
    id="D311",
    title="fraction of seconds changed",
    impact=Impact(readers=Severity.INFO, writers=Severity.INFO, data=Severity.WARN),
    direction=Direction.BOTH,
    why="With fewer digits the rest is cut or rounded away: rows that differed only there become equal, and an "
    "incremental cursor may load rows twice or skip some. dlt cuts them in Parquet files, and leaves it to the "
    "destination in others.",
    fix="Keep the precision of columns that order rows or serve as a cursor. State the same precision in every "
    "destination that is compared.",
    find=find,
)
