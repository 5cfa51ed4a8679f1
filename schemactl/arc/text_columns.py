"""Columns of texts become typed ones by a typing, in Arc's order of operations and with Arc's messages.

A column is converted as a whole where a C loop can; other values are converted one by one, each distinct one once.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context
from decimal import Decimal as Number
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemactl.arc.date_columns import DateColumn, octets_of
from schemactl.arc.date_patterns import PatternError
from schemactl.arc.fields import (
    Array,
    Binary,
    Boolean,
    Date,
    Decimal,
    Double,
    Field,
    FieldType,
    Integer,
    Long,
    String,
    Struct,
    Time,
    Timestamp,
    Typing,
)
from schemactl.arc.number_patterns import NumberPattern, parse_number_pattern
from schemactl.arc.regexes import translate

BLANKS: Final = "".join(map(chr, range(33)))
"""Characters that Java's ``trim`` drops."""

NO_VALUE: Final = "Non-null value expected and no nullReplacementValue value was provided"

ERRORS_TYPE: Final = pa.list_(
    pa.struct([pa.field("field", pa.string(), nullable=False), pa.field("message", pa.string(), nullable=False)])
)

_INT64: Final = (-(2**63), 2**63 - 1)
_INT32: Final = (-(2**31), 2**31 - 1)
_MOST_DIGITS: Final = 38
_EXACT: Final = Context(prec=100_000)


@dataclass(frozen=True, slots=True)
class TypedTexts:
    """A column that was typed.

    Attributes:
        values: of the field's type; null where the text is null or an error.
        messages: why a text is an error; null where it is none.
        replaced: how many of the values replace nulls.
    """

    values: pa.Array
    messages: pa.Array
    replaced: int = 0

    @property
    def converted(self) -> int:
        """The number of texts that are values now."""
        return int(len(self.values) - self.values.null_count - self.replaced)


Convert: TypeAlias = Callable[[pa.Array], TypedTexts]


class Typist:
    """Types batches of texts.

    Args:
        typing: the fields, in the order of the columns.

    Attributes:
        converted: how many texts of each field became values so far.
    """

    def __init__(self, typing: Typing) -> None:
        self.typing = typing
        self.converted: Counter[str] = Counter()
        self._columns = [TextColumn(field) for field in typing.fields]

    def run(self, columns: Sequence[pa.Array]) -> tuple[list[pa.Array], pa.Array]:
        """Return the typed columns, and the errors of each row (``ERRORS_TYPE``): an empty list where there are none.

        Columns that are no texts are passed through, as Arc does with those of the field's type.
        """
        made: list[pa.Array] = []
        messages: list[tuple[str, pa.Array]] = []
        for field, typist, column in zip(self.typing.fields, self._columns, columns, strict=True):
            if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
                made.append(column)
                continue
            typed = typist.run(column)
            self.converted[field.name] += typed.converted
            made.append(typed.values)
            if typed.messages.null_count < len(column):
                messages.append((field.name, typed.messages))
        return made, errors_of(messages, len(columns[0]) if columns else 0)


def errors_of(messages: Sequence[tuple[str, pa.Array]], rows: int) -> pa.Array:
    """Return the errors of each row, in the order of the fields."""
    found = [
        (name, column, np.nonzero(column.is_valid().to_numpy(zero_copy_only=False))[0]) for name, column in messages
    ]
    at = np.concatenate([where for _, _, where in found]) if found else np.zeros(0, np.int64)
    order = np.argsort(at, kind="stable")
    names = pa.concat_arrays([pa.array([name] * len(where), pa.string()) for name, _, where in found] or [_NONE])
    texts = pa.concat_arrays([column.drop_null() for _, column, _ in found] or [_NONE])
    structs = pa.StructArray.from_arrays(
        [names.take(pa.array(order)), texts.take(pa.array(order))], fields=list(ERRORS_TYPE.value_type)
    )
    offsets = np.concatenate([[0], np.cumsum(np.bincount(at, minlength=rows))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), structs, type=ERRORS_TYPE)


_NONE: Final = pa.array([], pa.string())


class TextColumn:
    """Types the texts of one field: trim, null, replacement, conversion (docs/arc.md)."""

    def __init__(self, field: Field) -> None:
        self._field = field
        self._convert = converter_of(field.type)
        self._nulls = pa.array(field.nullable_values, pa.string())
        self._replaced: TypedTexts | None = None
        if field.null_replacement is not None:
            self._replaced = self._convert(pa.array([field.null_replacement], pa.string()))

    def run(self, texts: pa.Array) -> TypedTexts:
        """Return the typed column of some texts."""
        texts = texts.cast(pa.string())
        if self._field.trim:
            texts = pc.utf8_trim(texts, characters=BLANKS)
        if len(self._nulls):
            is_null = pc.is_in(texts, value_set=self._nulls)
            texts = pc.if_else(is_null, pa.scalar(None, pa.string()), texts)
        typed = self._convert(texts)
        if not texts.null_count:
            return typed
        is_null = texts.is_null()
        if self._replaced is not None:
            value, message = self._replaced.values[0], self._replaced.messages[0]
            replaced = texts.null_count if value.is_valid else 0
            messages = pc.if_else(is_null, message, typed.messages)
            return TypedTexts(pc.if_else(is_null, value, typed.values), messages, replaced)
        if self._field.nullable:
            return typed
        return TypedTexts(typed.values, pc.if_else(is_null, pa.scalar(NO_VALUE), typed.messages))


def arrow_type(of: FieldType) -> pa.DataType:
    """Return the type of a typed column; timestamps have nanoseconds cut to microseconds."""
    match of:
        case Binary():
            return pa.binary()
        case Boolean():
            return pa.bool_()
        case Date():
            return pa.date32()
        case Decimal(precision=precision, scale=scale):
            return pa.decimal128(max(precision, 1), scale)
        case Double():
            return pa.float64()
        case Integer():
            return pa.int32()
        case Long():
            return pa.int64()
        case Timestamp():
            return pa.timestamp("us", "UTC")
        case _:
            return pa.string()


def converter_of(of: FieldType) -> Convert:
    """Return a function that types texts; nulls stay null."""
    match of:
        case String():
            return _string_converter(of)
        case Boolean():
            return _boolean_converter(of)
        case Struct() | Array():
            raise TypeError("structs and arrays are not made of texts")
        case Date() | Time() | Timestamp():
            return _date_converter(of)
        case _:
            return _plain_converter(of)


def _with_messages(texts: pa.Array, values: pa.Array, before: str, after: str) -> TypedTexts:
    """Return values with the message of each text that became null."""
    failed = pc.and_(texts.is_valid(), values.is_null())
    if not pc.any(failed).as_py():
        return TypedTexts(values, pa.nulls(len(texts), pa.string()))
    shown = pc.if_else(failed, texts, pa.scalar(None, pa.string()))
    return TypedTexts(values, pc.binary_join_element_wise(before, shown, after, ""))


def _quoted(texts: Sequence[str]) -> str:
    return "[" + ", ".join(f"'{text}'" for text in texts) + "]"


def _each(texts: pa.Array, convert: Callable[[str], Any], to: pa.DataType) -> pa.Array:
    """Convert texts one by one, each distinct one once."""
    encoded = texts.dictionary_encode()
    values = pa.array([None if text is None else convert(text) for text in encoded.dictionary.to_pylist()], to)
    return values.take(encoded.indices)


def _merged(texts: pa.Array, quick: pa.Array, convert: Callable[[str], Any]) -> pa.Array:
    """Return the quick values, and those of the other texts converted one by one."""
    is_odd = pc.and_(texts.is_valid(), quick.is_null())
    if not pc.any(is_odd).as_py():
        return quick
    others = _each(texts.filter(is_odd), convert, quick.type)
    return pc.replace_with_mask(quick, is_odd, others)


# --- texts, booleans, bytes ---


def _string_converter(of: String) -> Convert:
    regex = translate(of.regex) if of.regex is not None else None

    def convert(texts: pa.Array) -> TypedTexts:
        messages: list[pa.Array] = []
        if of.min_length is not None or of.max_length is not None:
            lengths = _utf16_lengths(texts)
            shown = lengths.cast(pa.string())
            if of.min_length is not None:
                is_wrong = pc.less(lengths, of.min_length)
                words = f" characters) is less than minLength ({of.min_length})."
                messages.append(_where(is_wrong, "String '", texts, "' (", shown, words))
            if of.max_length is not None:
                is_wrong = pc.greater(lengths, of.max_length)
                words = f" characters) is greater than maxLength ({of.max_length})."
                messages.append(_where(is_wrong, "String '", texts, "' (", shown, words))
        if regex is not None:
            is_wrong = _each(texts, lambda text: regex.fullmatch(text) is None, pa.bool_())
            messages.append(_where(is_wrong, "String '", texts, f"' does not match regex '{of.regex}'."))
        described = pa.nulls(len(texts), pa.string())
        for message in messages:
            described = pc.coalesce(pc.binary_join_element_wise(described, message, " "), described, message)
        return TypedTexts(pc.if_else(described.is_valid(), pa.scalar(None, pa.string()), texts), described)

    return convert


def _where(mask: pa.Array, *parts: Any) -> pa.Array:
    return pc.if_else(mask, pc.binary_join_element_wise(*parts, ""), pa.scalar(None, pa.string()))


def _utf16_lengths(texts: pa.Array) -> pa.Array:
    astral = pc.count_substring_regex(texts, pattern=r"[\x{10000}-\x{10FFFF}]")
    return pc.add(pc.utf8_length(texts), astral)


def _boolean_converter(of: Boolean) -> Convert:
    true, false = pa.array(of.true_values, pa.string()), pa.array(of.false_values, pa.string())
    after = (
        f"' to boolean using provided true values: {_quoted(of.true_values)}"
        f" or false values: {_quoted(of.false_values)}"
    )

    def convert(texts: pa.Array) -> TypedTexts:
        is_true = pc.and_(texts.is_valid(), pc.is_in(texts, value_set=true))
        is_false = pc.and_(texts.is_valid(), pc.is_in(texts, value_set=false))
        known = pc.or_(is_true, is_false)
        values = pc.if_else(known, is_true, pa.scalar(None, pa.bool_()))
        return _with_messages(texts, values, "Unable to convert '", after)

    return convert


_BASE64: Final = re.compile(r"[A-Za-z0-9+/\-_= \t\r\n]*")
_HEX: Final = re.compile(r"[0-9a-fA-F]+")
_BASE64_SPACE: Final = str.maketrans("-_", "+/", " \t\r\n")


def read_base64(text: str) -> bytes | None:
    """Return the bytes of a text as commons-codec decodes it, None where it has a character of no alphabet.

    Both alphabets are read, space is skipped, the first ``=`` ends the text, and bits that are no byte are dropped.
    """
    if _BASE64.fullmatch(text) is None:
        return None
    digits = text.translate(_BASE64_SPACE).partition("=")[0]
    if len(digits) % 4 == 1:
        digits = digits[:-1]
    return base64.b64decode(digits + "=" * (-len(digits) % 4))


def read_hexadecimal(text: str) -> bytes | None:
    """Return the bytes of a text, None where it is no positive number of 64 bits, as Arc has it."""
    if _HEX.fullmatch(text) is None or int(text, 16) > _INT64[1]:
        return None
    return bytes.fromhex("0" * (len(text) % 2) + text)


# --- numbers and bytes: a function for one text, and a quick way for most ---


def _plain_converter(of: FieldType) -> Convert:
    name, convert_one = _one_by_one(of)
    to = arrow_type(of)
    quick = _quick_way(of)
    if isinstance(of, Binary):
        after = f"' to binary using '{of.encoding}' decoding."
    else:
        default = "#,##0;-#,##0" if isinstance(of, Integer | Long) else "#,##0.###;-#,##0.###"
        formatters = getattr(of, "formatters", None)
        after = f"' to {name} using formatters {_quoted((default,) if formatters is None else formatters)}"

    def convert(texts: pa.Array) -> TypedTexts:
        found = quick(texts) if quick is not None else pa.nulls(len(texts), to)
        return _with_messages(texts, _merged(texts, found, convert_one), "Unable to convert '", after)

    return convert


def _one_by_one(of: FieldType) -> tuple[str, Callable[[str], Any]]:
    """Return what messages call the type, and a function that converts one text, to None where it cannot."""
    match of:
        case Binary(encoding):
            return "binary", read_base64 if encoding == "base64" else read_hexadecimal
        case Integer(formatters) | Long(formatters):
            bounds = _INT32 if isinstance(of, Integer) else _INT64
            name = "integer" if isinstance(of, Integer) else "long"
            if formatters is None:
                return name, lambda text: _within(_whole_of(text), bounds)
            patterns = _patterns(formatters)
            return name, lambda text: _within(_formatted_whole(text, patterns), bounds)
        case Double(formatters):
            if formatters is None:
                return "double", _double_of
            patterns = _patterns(formatters)
            return "double", lambda text: _formatted_double(text, patterns)
        case Decimal(precision, scale, formatters):
            name = f"decimal({precision}, {scale})"
            if formatters is None:
                return name, lambda text: _rounded(_decimal_of(text), precision, scale)
            patterns = _patterns(formatters)
            return name, lambda text: _rounded(_formatted_decimal(text, patterns), precision, scale)
    raise TypeError(of)


def _patterns(formatters: Sequence[str]) -> tuple[NumberPattern, ...]:
    """Return the patterns that Java takes: others are left out."""
    found = []
    for pattern in formatters:
        try:
            found.append(parse_number_pattern(pattern))
        except PatternError:
            continue
    return tuple(found)


def _within(number: int | None, bounds: tuple[int, int]) -> int | None:
    return number if number is not None and bounds[0] <= number <= bounds[1] else None


_WHOLE: Final = re.compile(r"[+-]?\d+")
_BIG_DECIMAL: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,10})?")
_DOUBLE: Final = re.compile(r"[+-]?(?:NaN|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?)", re.ASCII)
_HEX_DOUBLE: Final = re.compile(
    r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+)[fFdD]?", re.ASCII
)


def _is_basic(text: str) -> bool:
    # Java reads digits of 16 bits only.
    return text.isascii() or max(text) < "\U00010000"


def _whole_of(text: str) -> int | None:
    if "E+" in text or "e+" in text:
        number = _decimal_of(text)
        if number is None or number.adjusted() > 20 or number != number.to_integral_value(context=_EXACT):
            return None
        return int(number)
    return int(text) if _WHOLE.fullmatch(text) and _is_basic(text) and len(text) < 4000 else None


def _decimal_of(text: str) -> Number | None:
    return Number(text) if _BIG_DECIMAL.fullmatch(text) and _is_basic(text) else None


def _double_of(text: str) -> float | None:
    text = text.strip(BLANKS)
    if found := _HEX_DOUBLE.fullmatch(text):
        try:
            return float.fromhex(found[1])
        except OverflowError:
            return None
    if _DOUBLE.fullmatch(text) is None:
        return None
    number = float(text if text.endswith("NaN") else text.rstrip("fFdD"))
    return number if abs(number) != float("inf") else None


def _formatted_whole(text: str, patterns: Sequence[NumberPattern]) -> int | None:
    for pattern in patterns:
        if (parsed := pattern.parse(text)) is not None:
            value = parsed.value
            if value is None or not value.is_finite() or (value == 0 and parsed.is_negative):
                return None
            if value == value.to_integral_value(context=_EXACT):
                return int(value)
            # What double precision does not distinguish from a whole number is one.
            return int(parsed.double) if parsed.double.is_integer() else None
    return None


def _formatted_double(text: str, patterns: Sequence[NumberPattern]) -> float | None:
    for pattern in patterns:
        if (parsed := pattern.parse(text)) is not None:
            return parsed.double if abs(parsed.double) != float("inf") else None
    return None


def _formatted_decimal(text: str, patterns: Sequence[NumberPattern]) -> Number | None:
    for pattern in patterns:
        if (parsed := pattern.parse(text)) is not None:
            return parsed.value
    return None


def _rounded(number: Number | None, precision: int, scale: int) -> Number | None:
    """Return a number with a scale, None where it then has more digits than the precision."""
    if number is None or not number.is_finite():
        return None
    if number and number.adjusted() > precision:
        return None
    if number.adjusted() < -scale - 2:
        return Number(0).scaleb(-scale)
    made = number.quantize(Number(1).scaleb(-scale), ROUND_HALF_UP, _EXACT)
    return made if not made or made.adjusted() + scale + 1 <= precision else None


def _quick_way(of: FieldType) -> Callable[[pa.Array], pa.Array] | None:
    """Return a function for the texts that a C loop converts as Java does, and leaves null others."""
    match of:
        case Binary():
            return None
        case Integer(formatters) | Long(formatters) | Double(formatters) | Decimal(formatters=formatters):
            drops_commas = False
            if formatters is not None:
                first = next(iter(_patterns(formatters)), None)
                if first is None or first.divisor != 1 or first.positive.prefix or first.positive.suffix:
                    return None
                drops_commas = first.is_grouped
            return _quick_number(of, formatters is None, drops_commas)
    return None


def _quick_number(of: FieldType, is_plain: bool, drops_commas: bool) -> Callable[[pa.Array], pa.Array]:
    to = arrow_type(of)
    sign = "-?" if is_plain else ""
    digits = r"[0-9][0-9,]*[0-9]|[0-9]" if drops_commas else "[0-9]+"
    match of:
        case Integer():
            pattern = rf"^{sign}[0-9]{{1,9}}$"
        case Long():
            pattern = rf"^{sign}[0-9]{{1,18}}$"
        case Decimal(precision=precision, scale=scale):
            whole = max(precision - scale, 0)
            fraction = rf"(?:\.[0-9]{{1,{scale}}})?" if scale else ""
            pattern = rf"^{sign}[0-9]{{1,{whole}}}{fraction}$" if whole else "$^x"
        case _:
            pattern = rf"^{sign}[0-9]{{1,300}}(?:\.[0-9]+)?$"
    shape = rf"^{sign}(?:{digits})(?:\.[0-9]+)?$"
    # Of a number without a sign or a point all patterns say the same.
    alphabet = b"-9" if is_plain else b"09"
    if isinstance(of, Decimal) and not of.precision:
        alphabet = b"\0\0"  # Arrow has no decimals without a digit

    def convert(texts: pa.Array) -> pa.Array:
        if (all_cast := _cast_all(texts, to, alphabet)) is not None:
            return all_cast
        if drops_commas:
            fits = pc.match_substring_regex(texts, shape)
            texts = pc.if_else(fits, pc.replace_substring(texts, ",", ""), pa.scalar(None, pa.string()))
        fits = pc.match_substring_regex(texts, pattern)
        return pc.if_else(fits, texts, pa.scalar(None, pa.string())).cast(to)

    return convert


def _cast_all(texts: pa.Array, to: pa.DataType, alphabet: bytes) -> pa.Array | None:
    """Return texts as numbers; None where one has another character than these, or is no number of the type.

    Args:
        texts: the texts.
        to: the type.
        alphabet: the least and the greatest character. From ``-`` to ``9`` there are signs, points and digits, and the
            slash that no number has: Arrow reads the same numbers as Java there, and none that would lose a digit.
    """
    octets = octets_of(texts)
    if not len(octets) or octets.min() < alphabet[0] or octets.max() > alphabet[1]:
        return None
    if pa.types.is_decimal(to) and pc.max(pc.binary_length(texts)).as_py() + to.scale > _MOST_DIGITS:
        return None  # Arrow does not see that a number overflows
    try:
        numbers = texts.cast(to)
    except pa.ArrowInvalid:
        return None
    return numbers if not pa.types.is_floating(to) or pc.all(pc.is_finite(numbers)).as_py() else None


# --- dates, times, instants ---


def _date_converter(of: Date | Time | Timestamp) -> Convert:
    column = DateColumn(of)
    listed = _quoted(of.formatters)
    match of:
        case Date():
            after = f"' to date using formatters {listed}"
        case Time():
            after = f"' to time using formatters {listed}"
        case Timestamp(timezone_id=zone):
            after = f"' to timestamp using formatters {listed} and timezone '{zone}'"
    return lambda texts: _with_messages(texts, column.convert(texts), "Unable to convert '", after)
