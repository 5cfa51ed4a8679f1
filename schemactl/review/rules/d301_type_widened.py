"""D301: another data type that takes over every value."""

from schemactl.review.retypes import converted
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity
from schemactl.schema.conversions import Conversion


def find(comparison: Comparison) -> Matches:
    """Yield each column whose new type holds every value of the old one."""
    for retype, _ in converted(comparison, Conversion.WHOLE):
        survives = "every value survives, queries on it do not" if retype.crosses_families else "every value survives"
        sentence = f"{retype.where} changes from `{retype.before}` to `{retype.after}`: {survives}"
        yield retype.match(sentence, impact=retype.impact(RULE.impact))


RULE = Rule(
    id="D301",
    title="type widened",
    impact=Impact(readers=Severity.WARN, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="dlt converts every value of the old type, so pipelines go on. Queries and programs see another type: sums and "
    "comparisons may work differently, and typed clients have to be generated anew. Where the new type is of another "
    "family (numbers, times, texts, bools, JSON, binaries), PostgreSQL and DuckDB refuse most queries: `sum(total)` or "
    "`total > 10` on a text. dlt never alters the type of a column that a destination has already: it stays there as "
    "it was until it is migrated.",
    fix="Inform the readers, and migrate the column in the destination in the same release. If readers cannot follow, "
    "add a new column of the new type and keep the old one for a while.",
    find=find,
)
