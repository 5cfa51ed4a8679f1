"""Detectors of third parties on Spark: what they say of a value no expression can tell, so Python asks them.

The families of ``families`` know the detectors that come with schemactl; texts of one family may differ to another.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from schemactl.engine.udf import arrow_udf
from schemactl.schema.detectors import DETECTORS

_TEXT: Final = "t"
_NUMBER: Final = "n"


def has_installed_detectors() -> bool:
    """Return whether third parties have added detectors."""
    return bool(DETECTORS.installed)


def detect_installed(text: Column, is_text: Column, is_number: Column) -> Column:
    """Return what installed detectors say of a value, null where they say nothing.

    Args:
        text: a text, or a number as JSON.
        is_text: whether it is a text.
        is_number: whether it is a number.
    """
    marked = F.when(is_text, F.concat(F.lit(_TEXT), text)).when(is_number, F.concat(F.lit(_NUMBER), text))
    return arrow_udf(_asker({name: DETECTORS[name].detect for name in DETECTORS.installed}), "string")(marked)


def _asker(detectors: Mapping[str, Callable[[Any], Any]]) -> Callable[[bytes], str | None]:
    def ask(marked: bytes) -> str | None:
        written = marked[1:].decode("utf-8", "surrogateescape")
        value = written if marked[:1] == _TEXT.encode() else json.loads(written)
        answers = ((name, detect(value)) for name, detect in detectors.items())
        return ",".join(f"{name}={answer}" for name, answer in answers if answer) or None

    return ask
