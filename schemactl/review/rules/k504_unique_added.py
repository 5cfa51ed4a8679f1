from schemactl.review.hints import hint_rule, is_unset
from schemactl.review.rule import Direction, Impact, Rule, Severity

RULE = Rule(
    title="unique added",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.TIGHTENS,
    why="dlt itself checks nothing. A new table gets a `UNIQUE` constraint where the destination makes indexes "
    "(Postgres does, DuckDB only when asked to), and loads with duplicates fail there; tables that exist are left as "
    "they are.",
    fix="Look for duplicates in the stored rows before the constraint is made, and remove them in the pipeline, for "
    "example by merging on a primary key.",
    find=hint_rule("unique", says=lambda change: "must be unique now" if is_unset(change.before) else None),
)
