"""Row keys, ``_dlt_id``: 14 characters of Base64 for 10 bytes of a hash (docs/dlt.md §5.4).

What sources state as more than text and numbers dlt marks by a character of Unicode's private area when it stores the
rows between its steps, and hashes it with its mark.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hashlib import shake_128
from itertools import count
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemactl.engine.coercions.canonical import read_json
from schemactl.engine.sql import field_of, literal
from schemactl.engine.udf import arrow_udf
from schemactl.schema.types import DataType

_HASH_BYTES: Final = 10
_KEY_LENGTH: Final = 14


def child_key(parent: Column, table: str, index: Column) -> Column:
    """Return the key of a row of a nested table.

    Args:
        parent: the key of the row above.
        table: the full name of the nested table.
        index: the row's place in its list, from 0.
    """
    return arrow_udf(hash_text, "string", are_distinct=True)(
        F.concat(parent, F.lit(f"_{table}_"), index.cast("string"))
    )


def random_key(load_id: str, table: str, file: Column, number: Column) -> Column:
    """Return the key of a row of a root table: no other row, of this load or another one, has it.

    dlt draws it by lot; here it follows from where the record stands, so that a retry gives the same rows.

    Args:
        load_id: the load's.
        table: the name of the table.
        file: the file of the record.
        number: the record's number in the file.
    """
    place = F.concat_ws("\n", F.lit(load_id), F.lit(table), number.cast("string"), file)
    digest = F.unhex(F.substring(F.sha2(place, 256), 1, 2 * _HASH_BYTES))
    return F.substring(F.base64(digest), 1, _KEY_LENGTH)


def primary_key_hash(values_json: Column) -> Column:
    """Return the key of a row that is known by its primary key: a JSON text of the key's columns and values."""
    return arrow_udf(hash_json, "string", are_distinct=True)(values_json)


def hashed_text(kind: DataType, value: str) -> str:
    """Return SQL for the text that a value of a stated type is hashed as, with its mark.

    Args:
        kind: of the value.
        value: SQL for it.
    """
    match kind:
        case DataType.DECIMAL:
            return f"concat('\uf026', {_decimal_text(f'cast({value} as string)')})"
        case DataType.TIMESTAMP:
            offset = f"if(typeof({value}) = 'timestamp', '+00:00', '')"
            moment = f"date_format({value}, \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS\")"
            return f"concat('\uf027', regexp_replace({moment}, '[.]000000$', ''), {offset})"
        case DataType.DATE:
            return f"concat('\uf028', cast({value} as string))"
        case DataType.BINARY:
            return f"concat('\uf02b', replace(base64({value}), '\\r\\n', ''))"
        case DataType.TIME:
            text = f"cast({value} as string)"
            digits = f"if(length({text}) > 8, rpad(substring({text}, 9), 7, '0'), '')"
            return f"concat('\uf02d', substring({text}, 1, 8), {digits})"
        case _:
            return f"cast({value} as string)"


def _decimal_text(plain: str) -> str:
    """Return SQL for a decimal as Python writes it: with an exponent where it would begin with seven zeros."""
    small, zero = "^(-?)0[.](0{6,})([1-9])([0-9]*)$", "^0[.]0{7,}$"
    sign, zeros, first, rest = (f"regexp_extract({plain}, '{small}', {at})" for at in range(1, 5))
    written = f"concat({sign}, {first}, if({rest} = '', '', '.'), {rest}, 'E-', length({zeros}) + 1)"
    return (
        f"case when {plain} rlike '{zero}' then concat('0E-', length({plain}) - 2) "
        f"when {plain} rlike '{small}' then {written} else {plain} end"
    )


def marked(of: T.DataType, value: str) -> str:
    """Return SQL for a value of a stated type as it is hashed: everything in it that dlt marks is a text with its mark.

    Args:
        of: its type.
        value: SQL for it.
    """
    return _Marking().sql(of, value)


_MARKED: Final[Mapping[type[T.DataType], DataType]] = {
    T.DecimalType: DataType.DECIMAL,
    T.TimestampType: DataType.TIMESTAMP,
    T.TimestampNTZType: DataType.TIMESTAMP,
    T.DateType: DataType.DATE,
    T.BinaryType: DataType.BINARY,
    T.TimeType: DataType.TIME,
}


class _Marking:
    """Writes the SQL of ``marked``; its lambdas need names."""

    def __init__(self) -> None:
        self._numbers = count()

    def sql(self, of: T.DataType, value: str) -> str:
        match of:
            case T.StructType():
                inner = [(each.name, self.sql(each.dataType, field_of(value, each.name))) for each in of.fields]
                made = ", ".join(f"{literal(name)}, {sql}" for name, sql in inner)
                return f"if({value} is null, null, named_struct({made}))"
            case T.ArrayType():
                each = f"m{next(self._numbers)}"
                return f"transform({value}, {each} -> {self.sql(of.elementType, each)})"
            case T.MapType():
                key, each = f"m{next(self._numbers)}", f"m{next(self._numbers)}"
                return f"transform_values({value}, ({key}, {each}) -> {self.sql(of.valueType, each)})"
            case T.FloatType() | T.DoubleType():
                # Python has no floats of 32 bits, JSON neither infinities nor what is no number.
                number = f"cast({value} as double)"
                return f"if(isnan({number}) or abs({number}) = double('infinity'), null, {number})"
            case T.VariantType() | T.BooleanType() | T.ByteType() | T.ShortType() | T.IntegerType() | T.LongType():
                return value
            case _:
                return hashed_text(_MARKED.get(type(of), DataType.TEXT), value)


def content_hash(text: Column) -> Column:
    """Return the key of a document by its content, its JSON text: dlt's own keys at its top do not count."""
    return arrow_udf(hash_document, "string", are_distinct=True)(text)


def hash_text(text: bytes) -> str:
    """Return the key for some bytes."""
    return b64encode(shake_128(text).digest(_HASH_BYTES)).decode("ascii")[:_KEY_LENGTH]


def hash_json(text: bytes) -> str:
    """Return the key for a JSON text, whatever the order of its keys."""
    return hash_text(_canonical(read_json(text)))


def hash_document(text: bytes) -> str:
    """Return the key for the JSON text of an object, without its keys that start with ``_dlt``."""
    document = read_json(text)
    return hash_text(_canonical({key: value for key, value in document.items() if not key.startswith("_dlt")}))


def _canonical(value: Any) -> bytes:
    import json

    import orjson

    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        # integers past 64 bits and half surrogates, on which dlt fails
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
