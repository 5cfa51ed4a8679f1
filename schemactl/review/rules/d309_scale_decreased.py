from schemactl.review.retypes import Effect, size_rule
from schemactl.review.rule import Direction, Rule

RULE = Rule(
    title="scale decreased",
    impact=Effect.LOSES.impact,
    direction=Direction.TIGHTENS,
    why="DuckDB and Postgres round what does not fit, without an error: sums change, and there is no way back. dlt "
    "leaves it to the destination; only where it writes Parquet files its load fails instead.",
    fix="Keep the scale, or add a new column with the smaller one beside it. Where amounts are to be rounded, round "
    "them in the pipeline by a rule of your own.",
    find=size_rule(Effect.LOSES, "changes from `{before}` to `{after}`: digits after the point are rounded away"),
)
