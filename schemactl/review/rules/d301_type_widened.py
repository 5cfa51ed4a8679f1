from schemactl.review.retypes import Effect, conversion_rule
from schemactl.review.rule import Direction, Rule

RULE = Rule(
    title="type widened",
    impact=Effect.WIDENED.impact,
    direction=Direction.LOOSENS,
    why="dlt converts every value of the old type, so pipelines go on. Queries and programs see another type: sums and "
    "comparisons may work differently, and typed clients have to be generated anew. Where the new type is of another "
    "family (numbers, times, texts, bools, JSON, binaries), PostgreSQL and DuckDB refuse most queries: `sum(total)` or "
    "`total > 10` on a text. dlt never alters the type of a column that a destination has already: it stays there as "
    "it was until it is migrated.",
    fix="Inform the readers, and migrate the column in the destination in the same release. If readers cannot follow, "
    "add a new column of the new type and keep the old one for a while.",
    find=conversion_rule(Effect.WIDENED),
)
