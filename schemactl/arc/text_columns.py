"""Types columns of texts by a typing, in Arc's order of operations and with Arc's messages (docs/arc.md)."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemactl.arc.date_columns import DateColumn
from schemactl.arc.fields import (
    Array,
    Binary,
    Boolean,
    Date,
    Decimal,
    Field,
    FieldType,
    Integer,
    Long,
    String,
    Struct,
    Time,
    Timestamp,
    Typing,
    type_name,
)
from schemactl.arc.number_columns import JAVA_BLANKS, NumberColumn
from schemactl.arc.regexes import translate
from schemactl.arc.text_arrays import convert_distinct

NO_VALUE: Final = "Non-null value expected and no nullReplacementValue value was provided"

ERRORS_TYPE: Final = pa.list_(
    pa.struct([pa.field("field", pa.string(), nullable=False), pa.field("message", pa.string(), nullable=False)])
)

_NO_TEXTS: Final = pa.array([], pa.string())
_NULL_TEXT: Final = pa.scalar(None, pa.string())


@dataclass(frozen=True, slots=True)
class TypedColumn:
    """A column after its typing.

    Attributes:
        values: values of the field's type; null if the string is null or an error.
        messages: why a string is an error; null if it is valid.
        replaced: the number of values that replace nulls.
    """

    values: pa.Array
    messages: pa.Array
    replaced: int = 0

    @property
    def converted(self) -> int:
        """The number of texts that are values now."""
        return int(len(self.values) - self.values.null_count - self.replaced)


Convert: TypeAlias = Callable[[pa.Array], TypedColumn]


class TextTyper:
    """Types batches of columns of texts; ``converted`` counts the texts of each field that became values."""

    def __init__(self, typing: Typing) -> None:
        self.typing = typing
        self.converted: Counter[str] = Counter()
        self._typers = [ColumnTyper(field) for field in typing.fields]

    def run(self, columns: Sequence[pa.Array]) -> tuple[list[pa.Array], pa.Array]:
        """Return the typed columns, and the list of errors of each row (``ERRORS_TYPE``).

        Columns of other types than string are passed through, as in Arc if the type is the field's type.
        """
        typed_columns: list[pa.Array] = []
        messages: list[tuple[str, pa.Array]] = []
        for field, typer, column in zip(self.typing.fields, self._typers, columns, strict=True):
            if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
                typed_columns.append(column)
                continue
            typed = typer.run(column)
            self.converted[field.name] += typed.converted
            typed_columns.append(typed.values)
            if typed.messages.null_count < len(column):
                messages.append((field.name, typed.messages))
        return typed_columns, errors_of(messages, len(columns[0]) if columns else 0)


def errors_of(messages: Sequence[tuple[str, pa.Array]], row_count: int) -> pa.Array:
    """Return the errors of each row, in the order of the fields."""
    row_indexes = [np.nonzero(column.is_valid().to_numpy(zero_copy_only=False))[0] for _, column in messages]
    names = [pa.array([name] * len(rows), pa.string()) for (name, _), rows in zip(messages, row_indexes, strict=True)]
    all_rows = np.concatenate([np.zeros(0, np.int64), *row_indexes])
    order = pa.array(np.argsort(all_rows, kind="stable"))
    texts = pa.concat_arrays([_NO_TEXTS, *(column.drop_null() for _, column in messages)])
    structs = pa.StructArray.from_arrays(
        [pa.concat_arrays([_NO_TEXTS, *names]).take(order), texts.take(order)], fields=list(ERRORS_TYPE.value_type)
    )
    offsets = np.concatenate([[0], np.cumsum(np.bincount(all_rows, minlength=row_count))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), structs, type=ERRORS_TYPE)


class ColumnTyper:
    """Types the texts of one field: trim, null, replacement, conversion (docs/arc.md)."""

    def __init__(self, field: Field) -> None:
        self._field = field
        self._convert = converter_of(field.type)
        self._nulls = pa.array(field.nullable_values, pa.string())
        self._replacement: TypedColumn | None = None
        if field.null_replacement is not None:
            self._replacement = self._convert(pa.array([field.null_replacement], pa.string()))

    def run(self, texts: pa.Array) -> TypedColumn:
        """Return the typed column of some texts."""
        texts = texts.cast(pa.string())
        if self._field.trim:
            texts = pc.utf8_trim(texts, characters=JAVA_BLANKS)
        if len(self._nulls):
            texts = pc.if_else(pc.is_in(texts, value_set=self._nulls), _NULL_TEXT, texts)
        typed = self._convert(texts)
        if not texts.null_count:
            return typed
        is_null = texts.is_null()
        if self._replacement is not None:
            value, message = self._replacement.values[0], self._replacement.messages[0]
            messages = pc.if_else(is_null, message, typed.messages)
            values = pc.if_else(is_null, value, typed.values)
            return TypedColumn(values, messages, texts.null_count if value.is_valid else 0)
        if self._field.nullable:
            return typed
        return TypedColumn(typed.values, pc.if_else(is_null, pa.scalar(NO_VALUE), typed.messages))


def converter_of(of: FieldType) -> Convert:
    """Return a function that types texts; nulls stay null."""
    convert: Callable[[pa.Array], pa.Array]
    match of:
        case String():
            regex = translate(of.regex) if of.regex is not None else None
            return partial(_checked, of=of, regex=regex)
        case Struct() | Array():
            raise TypeError("structs and arrays cannot be typed from text")
        case Boolean(true_values, false_values):
            convert = partial(_booleans, true_texts=true_values, false_texts=false_values)
            words = f"boolean using provided true values: {_quoted(true_values)}"
            words += f" or false values: {_quoted(false_values)}"
        case Binary(encoding):
            decode = read_base64 if encoding == "base64" else read_hexadecimal
            convert = partial(convert_distinct, convert=decode, to=pa.binary())
            words = f"binary using '{encoding}' decoding."
        case Date() | Time() | Timestamp():
            convert = DateColumn(of).convert
            words = f"{type_name(of)} using formatters {_quoted(of.formatters)}"
            if isinstance(of, Timestamp):
                words += f" and timezone '{of.timezone_id}'"
        case _:
            convert = NumberColumn(of).convert
            name = f"decimal({of.precision}, {of.scale})" if isinstance(of, Decimal) else type_name(of)
            default = "#,##0;-#,##0" if isinstance(of, Integer | Long) else "#,##0.###;-#,##0.###"
            words = f"{name} using formatters {_quoted((default,) if of.formatters is None else of.formatters)}"
    return lambda texts: _with_messages(texts, convert(texts), f"' to {words}")


def _with_messages(texts: pa.Array, values: pa.Array, words: str) -> TypedColumn:
    """Return values with the message of each text that became null."""
    is_error = pc.and_(texts.is_valid(), values.is_null())
    if not pc.any(is_error).as_py():
        return TypedColumn(values, pa.nulls(len(texts), pa.string()))
    return TypedColumn(values, _messages(is_error, "Unable to convert '", texts, words))


def _messages(is_error: pa.Array, *words: Any) -> pa.Array:
    """Return the joined words of each error, null for other rows."""
    return pc.if_else(is_error, pc.binary_join_element_wise(*words, ""), _NULL_TEXT)


def _quoted(texts: Sequence[str]) -> str:
    return "[" + ", ".join(f"'{text}'" for text in texts) + "]"


def _checked(texts: pa.Array, of: String, regex: re.Pattern[str] | None) -> TypedColumn:
    """Return strings with messages for the strings that break the field's limits."""
    messages: list[pa.Array] = []
    if of.min_length is not None or of.max_length is not None:
        # Java counts a character beyond 16 bits as two.
        lengths = pc.add(pc.utf8_length(texts), pc.count_substring_regex(texts, pattern=r"[\x{10000}-\x{10FFFF}]"))
        length_texts = lengths.cast(pa.string())
        for limit, is_beyond, words in (
            (of.min_length, pc.less, "less than minLength"),
            (of.max_length, pc.greater, "greater than maxLength"),
        ):
            if limit is not None:
                parts = ("String '", texts, "' (", length_texts, f" characters) is {words} ({limit}).")
                messages.append(_messages(is_beyond(lengths, limit), *parts))
    if regex is not None:
        is_wrong = convert_distinct(texts, lambda text: regex.fullmatch(text) is None, pa.bool_())
        messages.append(_messages(is_wrong, "String '", texts, f"' does not match regex '{of.regex}'."))
    described = pa.nulls(len(texts), pa.string())
    for message in messages:
        described = pc.coalesce(pc.binary_join_element_wise(described, message, " "), described, message)
    return TypedColumn(pc.if_else(described.is_valid(), _NULL_TEXT, texts), described)


def _booleans(texts: pa.Array, true_texts: Sequence[str], false_texts: Sequence[str]) -> pa.Array:
    is_true = pc.is_in(texts, value_set=pa.array(true_texts, pa.string()))
    is_false = pc.is_in(texts, value_set=pa.array(false_texts, pa.string()))
    return pc.if_else(pc.or_(is_true, is_false), is_true, pa.scalar(None, pa.bool_()))


_BASE64: Final = re.compile(r"[A-Za-z0-9+/\-_= \t\r\n]*")
_HEX: Final = re.compile(r"[0-9a-fA-F]+")
_BASE64_SPACE: Final = str.maketrans("-_", "+/", " \t\r\n")


def read_base64(text: str) -> bytes | None:
    """Return the bytes of a text as commons-codec decodes it, None if it has a character of no alphabet.

    Both alphabets are read, space is skipped, the first ``=`` ends the text, and bits that do not fill a byte are
    dropped.
    """
    if _BASE64.fullmatch(text) is None:
        return None
    digits = text.translate(_BASE64_SPACE).partition("=")[0]
    if len(digits) % 4 == 1:
        digits = digits[:-1]
    return base64.b64decode(digits + "=" * (-len(digits) % 4))


def read_hexadecimal(text: str) -> bytes | None:
    """Return the bytes of a text, None if it is not a positive number of 64 bits, as in Arc."""
    if _HEX.fullmatch(text) is None or int(text, 16) >= 2**63:
        return None
    return bytes.fromhex("0" * (len(text) % 2) + text)
