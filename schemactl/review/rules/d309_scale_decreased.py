"""D309: fewer digits after the point."""

from schemactl.review.retypes import is_finer, resized
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity


def find(comparison: Comparison) -> Matches:
    """Yield each column that lost digits after the point."""
    for retype in resized(comparison):
        if is_finer(retype.after, retype.before):
            change = f"changes from `{retype.before}` to `{retype.after}`"
            yield retype.match(f"{retype.where} {change}: digits after the point are rounded away")


RULE = Rule(
    id="D309",
    title="scale decreased",
    impact=Impact(readers=Severity.WARN, writers=Severity.ERROR, data=Severity.ERROR),
    direction=Direction.TIGHTENS,
    why="DuckDB and Postgres round what does not fit, without an error: sums change, and there is no way back. dlt "
    "leaves it to the destination; only where it writes Parquet files its load fails instead.",
    fix="Keep the scale, or add a new column with the smaller one beside it. Where amounts are to be rounded, round "
    "them in the pipeline by a rule of your own.",
    find=find,
)
