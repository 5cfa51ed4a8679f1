"""JSON texts as dlt writes them: no blanks, orjson's spelling of numbers and texts, the last of equal keys."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from pyspark.sql import Column

from schemactl.engine.udf import arrow_udf
from schemactl.schema.coercion import coerce
from schemactl.schema.types import DataType

_MAY_BE_LARGE: Final = re.compile(rb"[0-9]{19}")


def canonical_json(text: Column) -> Column:
    """Return JSON texts as dlt writes their values, null of texts that are no JSON."""
    return arrow_udf(rewrite_json, "string")(text)


def rewrite_json(text: bytes) -> str | None:
    """Return a JSON text as dlt writes its value, None where it is no JSON."""
    try:
        written: str = coerce(read_json(text), DataType.JSON, DataType.TEXT)
    except ValueError:
        return None
    return written


def read_json(text: bytes) -> Any:
    """Read a JSON text, all digits of its integers included.

    Raises:
        ValueError: it is no JSON.
    """
    import orjson

    value = orjson.loads(text)
    # orjson makes doubles of integers past 64 bits
    return json.loads(text) if _MAY_BE_LARGE.search(text) else value
