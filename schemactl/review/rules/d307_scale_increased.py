"""D307: more digits after the point, and as many before it."""

from schemactl.review.retypes import is_finer, keeps_integer_digits, resized
from schemactl.review.rule import Comparison, Direction, Impact, Matches, Rule, Severity


def find(comparison: Comparison) -> Matches:
    """Yield each column that got digits after the point, and lost none before it."""
    for retype in resized(comparison):
        if is_finer(retype.before, retype.after) and keeps_integer_digits(retype.before, retype.after):
            yield retype.match(
                f"{retype.where} changes from `{retype.before}` to `{retype.after}`: more digits after the point"
            )


RULE = Rule(
    id="D307",
    title="scale increased",
    impact=Impact(readers=Severity.WARN, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="Every value still fits. Readers that round to the old scale, or compare texts such as `1.50`, see others. dlt "
    "never alters a column that a destination has, and Iceberg knows no way to change a scale in place.",
    fix="Inform the readers, and migrate the column in the destinations that have it; in Iceberg by a new column.",
    find=find,
)
