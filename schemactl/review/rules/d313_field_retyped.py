"""D313: a field inside a column that keeps objects or lists, or the column itself, has another type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from schemactl.review.comparison import Comparison
from schemactl.review.nested_fields import field_changes, told_type
from schemactl.review.nested_retypes import fate
from schemactl.review.rule import Match, Rule
from schemactl.review.severity import Direction, Impact, Severity
from schemactl.schema.conversions import Conversion

_IMPACTS: Final[Mapping[Conversion, Impact | None]] = {
    Conversion.WHOLE: Impact(readers=Severity.WARN, writers=Severity.INFO),
    Conversion.DEPENDS: Impact(readers=Severity.WARN, writers=Severity.ERROR, data=Severity.DEPENDS),
    Conversion.LOSES: Impact(readers=Severity.WARN, writers=Severity.ERROR, data=Severity.ERROR),
    Conversion.REFUSED: None,
}
"""Those of D301 to D304."""

_TOLD: Final[Mapping[Conversion, str]] = {
    Conversion.WHOLE: "every value survives",
    Conversion.DEPENDS: "some values may not survive",
    Conversion.LOSES: "values lose digits or their meaning",
    Conversion.REFUSED: "no value survives",
}


def find(comparison: Comparison) -> Iterator[Match]:
    """Yield each field that is there before and after, of another type."""
    for found in field_changes(comparison):
        if found.before is not None and found.after is not None:
            kind = fate(found.before, found.after)
            types = f"from `{told_type(found.before)}` to `{told_type(found.after)}`"
            yield found.match(f"{found.where} changes {types}: {_TOLD[kind]}", _IMPACTS[kind])


RULE = Rule(
    id="D313",
    title="field retyped inside a column",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR, data=Severity.ERROR),
    direction=Direction.BOTH,
    why="Queries and programs see another type. No step of a migration changes a type inside a column: where the "
    "destination has the old one, loads are refused that do not fit it. How bad it is for the values is as with a "
    "column of its own that changes so (D301 to D304).",
    fix="Add a field of another name with the new type, and keep the old one until nobody reads it. Or load the "
    "table anew.",
    find=find,
)
