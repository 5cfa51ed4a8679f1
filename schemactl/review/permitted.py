"""The values that a column may have, by its hint ``x-enum``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from schemactl.review.wording import listed


def permitted(stated: Any) -> list[Any] | None:
    """Return the values of an ``x-enum``, the codes where it maps them to labels; None where there is no limit."""
    return list(stated) if isinstance(stated, list | tuple | Mapping) else None


def without(some: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """Return the values that are not among others; unlike ``in``, ``true`` is not 1."""
    known = [(isinstance(other, bool), other) for other in others]
    return [value for value in some if (isinstance(value, bool), value) not in known]


def values(some: Sequence[Any]) -> str:
    """Return values in backquotes, the first few and how many more there are."""
    phrase = [value if isinstance(value, str) else json.dumps(value, default=str) for value in some]
    return listed(phrase) if phrase else "no value"
