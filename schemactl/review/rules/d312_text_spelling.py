from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from schemactl.review.nested_fields import had_fields
from schemactl.review.retypes import Effect, converted
from schemactl.review.rule import Comparison, Direction, Matches, Rule, Severity
from schemactl.schema.conversions import SPELLED_DIFFERENTLY
from schemactl.schema.types import DataType

_SPELLINGS: Final[Mapping[DataType, str]] = {
    DataType.BOOL: "dlt writes `True`, engines write `true`",
    DataType.DOUBLE: "dlt writes `1.0`, PostgreSQL writes `1`",
    DataType.DECIMAL: "dlt writes `1.50` as it came, engines fill it up to the scale: `1.500000000`",
    DataType.TIMESTAMP: "dlt writes `2024-01-02T03:04:05+00:00`, engines write `2024-01-02 03:04:05+00`",
    DataType.TIME: "dlt writes `04:05:06.120000`, engines write `04:05:06.12`",
    DataType.BINARY: "dlt writes Base64, engines write `\\x` and hexadecimal digits",
    DataType.JSON: "dlt writes it without blanks, engines may order keys anew",
}


def find(comparison: Comparison) -> Matches:
    """Yield each column that becomes text and was of a type without one common spelling."""
    for retype, effect, _ in converted(comparison):
        becomes_text = effect in (Effect.WIDENED, Effect.DEPENDS) and retype.after.data_type == DataType.TEXT
        if becomes_text and retype.before.data_type in SPELLED_DIFFERENTLY:
            is_nested = had_fields(comparison, retype.change.table, retype.change.column)
            lost = ", and its fields or elements are gone" if is_nested else ""
            sentence = f"becomes text{lost}: {_SPELLINGS[retype.before.data_type]}"
            # Queries name fields and elements, which texts do not have: the impact of D313.
            yield retype.match(sentence, impact=replace(RULE.impact, readers=Severity.ERROR) if is_nested else None)


RULE = Rule(
    title="text of an engine's own spelling",
    impact=Effect.SPELLED.impact,
    direction=Direction.NONE,
    why="Rows that are loaded from now on hold dlt's spelling. Rows that the destination converted hold the engine's: "
    "the same value stands there as two texts, and filters and joins miss one of them.",
    fix="Convert the stored rows to dlt's spelling by an expression of your own, not by a bare change of type. Or load "
    "the table anew.",
    find=find,
)
