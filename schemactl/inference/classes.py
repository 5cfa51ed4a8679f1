"""Value classes: two values of one class at one path are alike to inference, whatever the schema.

A class names the kind of a JSON value and, for strings and numbers, all results of dlt's coercion and detectors. So the
first value of each class is enough for all decisions of inference; later values only count. The number of classes at a
path is small and does not grow with the data.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from schemactl.schema.coercion import INT64, UINT64_LIMIT, WEI_STOP, can_coerce, is_beyond_64_bits
from schemactl.schema.detectors import DETECTORS
from schemactl.schema.text_looks import find_look
from schemactl.schema.types import DataType

NULL: Final = "null"
OBJECT: Final = "object"
KEYED_OBJECT: Final = "object:id"
"""An object with its own ``_dlt_id``: dlt adds no link columns to its row."""
LIST: Final = "list"

_TARGETS: Final = tuple(data_type for data_type in DataType if data_type is not DataType.TEXT)
SCALAR_KINDS: Final = {bool: DataType.BOOL, int: DataType.BIGINT, float: DataType.DOUBLE, str: DataType.TEXT}


def classify(value: Any) -> str:
    """Return the class of a JSON value.

    A text's class is ``text`` and the types it can be coerced to, for example ``text:date,timestamp``; the last part is
    its look (``text_looks``).

    >>> classify({}), classify(None), classify("plain words")
    ('object', 'null', 'text')
    """
    match value:
        case None:
            return NULL
        case dict():
            return KEYED_OBJECT if has_row_key(value) else OBJECT
        case list():
            return LIST
        case bool():
            return str(DataType.BOOL)
        case int() | float() | str():
            kind = SCALAR_KINDS[type(value)]
            answers = [str(target) for target in _TARGETS if target is not kind and can_coerce(value, kind, target)]
            answers += [f"{name}={detected}" for name in DETECTORS if (detected := DETECTORS[name].detect(value))]
            if isinstance(value, int) and value not in INT64:
                # Of 64 bits unsigned, of the range of a wei, beyond.
                is_unsigned = INT64.stop <= value < UINT64_LIMIT
                answers.append("uint64" if is_unsigned else "wide" if abs(value) < WEI_STOP else "beyond-wei")
            elif isinstance(value, float) and DataType.BIGINT in answers and is_beyond_64_bits(value):
                answers.append("past-bigint")
            elif isinstance(value, str) and (look := find_look(value)):
                answers.append(look)
            return f"{kind}:{','.join(answers)}" if answers else str(kind)
        case _:
            raise TypeError(f"not a JSON value: {type(value).__name__}")


def kind_of(value_class: str) -> str:
    """Return the kind of a class: ``text`` of ``text:date,timestamp``."""
    return value_class.partition(":")[0]


def type_of_class(value_class: str) -> DataType | None:
    """Return the type that values of a class have by themselves (``values.kind``); None for objects, lists, nulls.

    >>> str(type_of_class("text:date,timestamp")), type_of_class("object")
    ('text', None)
    """
    kind, _, answers = value_class.partition(":")
    if kind in (NULL, OBJECT, LIST):
        return None
    marks = answers.split(",")
    if kind == DataType.BIGINT and "wide" in marks:
        return DataType.WEI
    if kind == DataType.BIGINT and "beyond-wei" in marks:
        return DataType.TEXT
    return DataType(kind)


def has_row_key(value: dict[str, Any]) -> bool:
    """Return whether an object has a value for ``_dlt_id``, however the key is spelled."""
    return any(map(value.get, filter(is_row_key, value)))


@lru_cache(maxsize=1 << 16)
def is_row_key(key: str) -> bool:
    """Return whether a naming convention may turn ``key`` into ``_dlt_id``."""
    return len(key) < 32 and "".join(filter(str.isalnum, key)).lower() == "dltid"
