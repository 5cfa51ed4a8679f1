"""A typing: the fields of an Arc schema, as immutable values and as columns of a schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeAlias

from schemactl.schema.nested_types import SPARK_TYPE
from schemactl.schema.quoting import quote


@dataclass(frozen=True, slots=True)
class Binary:
    """Bytes; ``encoding`` is ``base64`` or ``hexadecimal``."""

    encoding: str


@dataclass(frozen=True, slots=True)
class Boolean:
    true_values: tuple[str, ...]
    false_values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Date:
    formatters: tuple[str, ...]
    case_sensitive: bool = False


@dataclass(frozen=True, slots=True)
class Decimal:
    """A number of ``precision`` digits, ``scale`` of them after the point; no ``formatters``: BigDecimal's own form.

    ``decimal_separator``, which Arc lacks, sets how numbers are written: ``,`` for 1.234,5 and 1 234,5.
    """

    precision: int
    scale: int
    formatters: tuple[str, ...] | None = None
    decimal_separator: str | None = None


@dataclass(frozen=True, slots=True)
class _Number:
    formatters: tuple[str, ...] | None = None
    decimal_separator: str | None = None


class Double(_Number):
    """A floating-point number of 64 bits."""


class Integer(_Number):
    """A whole number of 32 bits."""


class Long(_Number):
    """A whole number of 64 bits."""


@dataclass(frozen=True, slots=True)
class String:
    """A string; lengths count UTF-16 units, as in Java.

    ``regex`` is a Java expression that matches the whole string.
    """

    min_length: int | None = None
    max_length: int | None = None
    regex: str | None = None


@dataclass(frozen=True, slots=True)
class Time:
    """A time of day, kept as its ISO text."""

    formatters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TimeOfDay:
    """The time that a date label means."""

    hour: int
    minute: int
    second: int
    nano: int

    @property
    def nano_of_day(self) -> int:
        return ((self.hour * 60 + self.minute) * 60 + self.second) * 10**9 + self.nano


@dataclass(frozen=True, slots=True)
class Timestamp:
    """An instant; ``timezone_id`` holds for patterns without a zone, ``time`` makes instants of dates."""

    formatters: tuple[str, ...]
    timezone_id: str
    time: TimeOfDay | None = None
    case_sensitive: bool = False


@dataclass(frozen=True, slots=True)
class Struct:
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Array:
    element: Field


FieldType: TypeAlias = (
    "Binary | Boolean | Date | Decimal | Double | Integer | Long | String | Time | Timestamp | Struct | Array"
)

TYPES: Final = {
    "boolean": Boolean, "date": Date, "decimal": Decimal, "double": Double, "integer": Integer, "long": Long,
    "string": String, "time": Time, "timestamp": Timestamp, "binary": Binary, "struct": Struct, "array": Array,
}  # fmt: skip
"""The types by their names in files, in the order in which Arc lists them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a typing.

    Attributes:
        id: an identifier that survives a change of the name.
        trim: whether characters up to U+0020 around the text are dropped first.
        nullable_values: the texts that mean null, compared after trimming.
        null_replacement: the text that is typed in place of a null.
    """

    name: str
    type: FieldType
    nullable: bool
    id: str | None = None
    description: str | None = None
    trim: bool = False
    nullable_values: tuple[str, ...] = ()
    null_replacement: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Typing:
    """The content of a typing file: fields in the order of the source's columns."""

    fields: tuple[Field, ...]


class OnError(StrEnum):
    """The treatment of a row with texts that cannot be typed (``--typing-errors``)."""

    COLUMN = "column"
    """It is loaded with nulls in their place, and its errors in the column `_errors`."""
    REJECT = "reject"
    """It goes to the rejects."""
    FAIL = "fail"
    """Nothing is written."""


ERRORS: Final = "_errors"
"""The column with the errors of a row."""


@dataclass(frozen=True, slots=True)
class TypingTask:
    """The typing of a source; ``is_default`` if ``on_error`` is the default, which loads no column without a value."""

    typing: Typing
    on_error: OnError = OnError.COLUMN
    is_default: bool = False


def type_name(of: FieldType) -> str:
    """Return the name that a type has in files."""
    return next(name for name, class_ in TYPES.items() if isinstance(of, class_))


def spark_type(of: FieldType) -> str:
    """Return Spark's DDL of the type of a column; a time is kept as a text."""
    match of:
        case Decimal(precision=precision, scale=scale):
            return f"decimal({precision},{scale})"
        case Struct(fields=fields):
            inner = (f"{quote(field.name, '`')}:{spark_type(field.type)}" for field in fields)
            return f"struct<{','.join(inner)}>"
        case Array(element=element):
            return f"array<{spark_type(element.type)}>"
    return {Integer: "int", Long: "bigint", Time: "string"}.get(type(of)) or type_name(of)


ERRORS_COLUMN: Final = {
    "data_type": "json",
    "nullable": True,
    "description": "Errors of typing this row, the field and the message of each.",
}
"""The properties of the column with the errors of a row."""


_COLUMNS: Final[Mapping[type, Mapping[str, Any]]] = {
    Binary: {"data_type": "binary"}, Boolean: {"data_type": "bool"}, Date: {"data_type": "date"},
    Double: {"data_type": "double"}, Integer: {"data_type": "bigint", "precision": 32}, Long: {"data_type": "bigint"},
    Timestamp: {"data_type": "timestamp"}, String: {"data_type": "text"}, Time: {"data_type": "text"},
}  # fmt: skip


def column_type(of: FieldType) -> dict[str, Any]:
    """Return the properties of a column that holds values of a type; a time is kept as a text, as Arc keeps it."""
    match of:
        case Decimal(precision=precision, scale=scale):
            return {"data_type": "decimal", "precision": precision, "scale": scale}
        case Struct() | Array():
            return {"data_type": "json", SPARK_TYPE: spark_type(of)}
        case _:
            return dict(_COLUMNS[type(of)])
