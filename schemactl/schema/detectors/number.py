"""``number``: a text with a number is a ``double``. For sources that have nothing but texts, such as CSV."""

from __future__ import annotations

import math
import re
from typing import Any, Final

from schemactl.schema.types import DataType

_NUMBER: Final = re.compile(r"[ \t\r\n]*-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t\r\n]*")


def detect(value: Any) -> DataType | None:
    """Return ``double`` for a number as JSON writes it, or with nothing on one side of its point: ``.5`` and ``1.``.

    ``007`` and ``+5`` are codes, ``nan`` and ``inf`` are words.
    """
    if not isinstance(value, str) or _NUMBER.fullmatch(value) is None:
        return None
    return DataType.DOUBLE if math.isfinite(float(value)) else None
