from schemactl.review.retypes import Effect, resized
from schemactl.review.rule import Comparison, Direction, Matches, Rule
from schemactl.schema.types import DataType


def find(comparison: Comparison) -> Matches:
    """Yield each timestamp and time of another precision; absent means six digits."""
    for retype in resized(comparison):
        before, after = retype.before.precision, retype.after.precision
        if retype.after.data_type not in (DataType.TIMESTAMP, DataType.TIME) or before is None or after is None:
            continue
        if before != after:
            impact = Effect.GROWS.impact if after > before else None
            yield retype.match(f"keeps {after} instead of {before} digits of a second", impact=impact)


RULE = Rule(
    title="fraction of seconds changed",
    impact=Effect.COARSER.impact,
    direction=Direction.BOTH,
    why="With fewer digits the rest is cut or rounded away: rows that differed only there become equal, and an "
    "incremental cursor may load rows twice or skip some. dlt cuts them in Parquet files, and leaves it to the "
    "destination in others.",
    fix="Keep the precision of columns that order rows or serve as a cursor. State the same precision in every "
    "destination that is compared.",
    find=find,
)
