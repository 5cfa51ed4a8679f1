"""The `x-` hints that rules read, by what they are about; rules report them, and rule H603 all others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

UNITS: Final = frozenset(("x-unit", "x-units", "x-format", "x-currency", "x-encoding", "x-timezone", "x-time-zone"))
"""What the values of a column mean."""

BOUNDS: Final = frozenset(("x-minimum", "x-maximum", "x-pattern"))
"""Reported by rule Q953."""

LIMITS: Final[Mapping[str, str]] = {
    "x-min-length": "smallest length",
    "x-max-length": "largest length",
    "x-exclusive-minimum": "exclusive lower bound",
    "x-exclusive-maximum": "exclusive upper bound",
    "x-multiple-of": "step",
    "x-min-items": "smallest number of items",
    "x-max-items": "largest number of items",
    "x-unique-items": "rule that items are unique",
}
"""Reported by rule Q955: JSON Schema's other keywords, also in its own spelling (`x-maxLength`)."""

ENUM: Final = "x-enum"
STABILITY: Final = "x-stability"
DEPRECATED: Final = "x-deprecated"

_PROCESSING: Final = frozenset(("x-normalizer", "x-loader", "x-extractor", "x-merge-strategy"))
_CHANGES: Final = frozenset(
    ("x-backfill", "x-renamed-from", "x-removed-columns", "x-removed-tables", "x-source-names", DEPRECATED)
)
_HUMP: Final = re.compile("(?<=[a-z])(?=[A-Z])")


def canonical(name: str) -> str:
    """Return a hint's name with words parted by hyphens: ``x-max-length`` for ``x-maxLength``."""
    return _HUMP.sub("-", name).lower() if name.startswith("x-") else name


def says_what_fits(name: str) -> bool:
    """Return whether a hint says which values are let in, or what they mean."""
    return name in UNITS or name in BOUNDS or name == ENUM or canonical(name) in LIMITS


def has_rule(name: str) -> bool:
    """Return whether a rule of its own reports a hint."""
    return says_what_fits(name) or name in _PROCESSING or name in _CHANGES or name == STABILITY
