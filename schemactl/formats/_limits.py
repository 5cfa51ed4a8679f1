"""Hints on values under JSON Schema's keywords, which data contracts have as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

LIMITS: Final[Mapping[str, tuple[str, type | tuple[type, ...]]]] = {
    "x-pattern": ("pattern", str), "x-minimum": ("minimum", (int, float)), "x-maximum": ("maximum", (int, float)),
    "x-exclusive-minimum": ("exclusiveMinimum", (int, float)),
    "x-exclusive-maximum": ("exclusiveMaximum", (int, float)), "x-multiple-of": ("multipleOf", (int, float)),
    "x-min-length": ("minLength", int), "x-min-items": ("minItems", int), "x-max-items": ("maxItems", int),
    "x-unique-items": ("uniqueItems", bool), "x-deprecated": ("deprecated", bool),
}  # fmt: skip
"""Hints that JSON Schema has keywords for, with the type that their values must have there."""


def limits_in(native: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hints that keywords state."""
    return {hint: native[word] for hint, (word, of) in LIMITS.items() if isinstance(native.get(word), of)}
