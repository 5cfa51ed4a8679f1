"""How DuckDB says what conversions of values need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._migration.coercing import spelled_anew
from schemactl.destinations._migration.ddl import checked_type
from schemactl.destinations._migration.words import TRUE
from schemactl.destinations._session import literal
from schemactl.destinations.duckdb._types import column_type
from schemactl.schema.types import Column

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_BLANKS: Final = "' ' || chr(9) || chr(10) || chr(11) || chr(12) || chr(13)"
_EMPTY: Final = '""'
_ONCE: Final = '"_value"'
_STRING: Final = r'"([^"\\]|\\.)*"'
_NOT_AS_DLT: Final = r"[A-DF-Z]|nan|inf|[0-9]{18}|[eE][+-]?[0-9]{3}|,[ \t\n\r]*[\]}]"
"""DuckDB reads NaN and a comma too many, and keeps numbers that Python cannot."""

_WITH_TEXTS: Final = frozenset(("UUID", "INET", "UBIGINT", "UHUGEINT", "BIGNUM", "VARINT"))


SPELLED: Final = "_schemactl_spelled"
"""Calls ``coercing.spelled_anew``: sessions that convert values have it, see ``register``."""


def register(connection: DuckDBPyConnection) -> None:
    """Make the function that spells texts anew known to a connection."""

    def spelled(text: str | None, retype: str) -> str | None:
        return None if text is None else spelled_anew(text, retype)

    handling: Any = "special"  # its enum has moved from version to version
    connection.create_function(SPELLED, spelled, ["VARCHAR", "VARCHAR"], "VARCHAR", null_handling=handling)


@dataclass(frozen=True, slots=True)
class DuckDbWords:
    """See ``destinations._migration.words.Words``."""

    wide: str = "HUGEINT"
    double: str = "DOUBLE"
    text: str = "VARCHAR"

    def type_of(self, column: Column) -> str:
        return checked_type(column, column_type)

    def matches(self, text: str, regex: str) -> str:
        return f"regexp_full_match({text}, {literal(regex)}, 's')"

    def is_usual_integer(self, text: str, kind: str, digits: int) -> str:  # noqa: ARG002
        return f"(CAST(TRY_CAST({text} AS {kind}) AS VARCHAR) = {text})"

    def is_trusted_integer(self, text: str) -> str:
        # The cast takes ``1.5`` and ``1e3``, too.
        has_none = (f"{text} NOT LIKE '%{mark}%'" for mark in ".eE")
        return f"({self.is_trusted_real(text)} AND {' AND '.join(has_none)})"

    def is_usual_real(self, text: str) -> str:
        return f"({self.is_trusted_real(text)} AND {self.is_readable(text, 'DOUBLE')})"

    def is_trusted_real(self, text: str) -> str:
        # Of texts with a digit first, DuckDB reads what Python reads; of others also ``+-1`` and ``nan(1)``. The colon
        # comes after the nine: so ``0xff`` is left out, which dlt reads as a number.
        ranges = (("1", ":"), ("-1", "-:"), ("0", "0:"), ("-0", "-0:"))
        return f"({' OR '.join(f'{text} BETWEEN {literal(low)} AND {literal(high)}' for low, high in ranges)})"

    def is_trusted_decimal(self, text: str, scale: int) -> str:
        # More digits than the scale would be rounded, and so would what has a negative exponent.
        is_long = f"{text} LIKE '%.{'_' * (scale + 1)}%'"
        return f"({self.is_trusted_real(text)} AND NOT ({is_long}) AND {text} NOT LIKE '_%-%')"

    def is_trusted_bool(self, text: str) -> str:  # noqa: ARG002
        return TRUE

    def is_trusted_date(self, text: str) -> str:
        # The cast takes blanks around, days of one digit, and a year 0.
        return f"({text} GLOB '[0-9]???-??-?[0-9]' AND {text} >= '0001')"

    def is_trusted_time(self, text: str) -> str:
        # The cast takes ``24:00:00``, blanks around, and much else before and in a fraction.
        return f"({text} GLOB '[0-9]?:??:?[0-9]' AND {text} < '24')"

    def is_trusted_moment(self, text: str) -> str:
        # Besides, the cast takes a point without digits after it, and blanks before the time.
        hours = ("[01]?", "2[0-3]")
        is_shaped = " OR ".join(f"{text} GLOB '[0-9]???-??-??[T ]{hour}:??:?[0-9]*Z'" for hour in hours)
        return f"(strlen({text}) <= 27 AND strlen({text}) <> 21 AND ({is_shaped}) AND {text} >= '0001')"

    def is_readable(self, text: str, kind: str) -> str:
        return f"TRY_CAST({text} AS {kind}) IS NOT NULL"

    def once(self, value: str, body: Callable[[str], str]) -> str:
        """Return an expression that mentions a text many times; ALTER TABLE reads a column anew for each."""
        return f"list_transform([{value}], lambda {_ONCE}: {body(_ONCE)})[1]"

    def spelled_anew(self, text: str, retype: str) -> str | None:
        return f"{SPELLED}({text}, {literal(retype)})"

    def trim(self, text: str) -> str:
        return f"trim({text}, {_BLANKS})"

    def hexadecimal(self, text: str) -> str:
        return f"CAST({text} AS BIGINT)"

    def unhex(self, text: str) -> str:
        return f"unhex({text})"

    def from_base64(self, text: str) -> str:
        return f"from_base64({text})"

    def to_base64(self, binary: str) -> str:
        return f"to_base64({binary})"

    def to_little_endian(self, number: str) -> str:
        digits = f"lpad(hex({number}), 16, '0')"
        turned = " || ".join(f"substr({digits}, {place}, 2)" for place in range(15, 0, -2))
        return f"unhex(regexp_replace({turned}, '(00)+$', ''))"

    def is_json(self, text: str) -> str:
        outside = f"regexp_replace({text}, {literal(_STRING)}, {literal(_EMPTY)}, 'gs')"
        is_odd = f"regexp_matches({outside}, {literal(_NOT_AS_DLT)})"
        return f"(json_valid({text}) AND NOT {is_odd} AND {self.trim(text)} <> 'null')"

    def to_json(self, text: str) -> str:
        return f"json({text})"

    def json_text(self, value: str) -> str:
        return f"CAST(json({value}) AS VARCHAR)"

    def has_texts(self, kind: str) -> bool:
        return kind.upper() in _WITH_TEXTS or kind.upper().startswith("ENUM(")

    def other_text(self, value: str, kind: str) -> str:  # noqa: ARG002
        return f"CAST({value} AS VARCHAR)"

    def is_other_text(self, text: str, kind: str) -> str:
        return f"coalesce(CAST(TRY_CAST({text} AS {kind}) AS VARCHAR) = {text}, FALSE)"

    def double_text(self, number: str) -> str:
        return f"CAST(CAST({number} AS DOUBLE) AS VARCHAR)"

    def is_python_text(self, number: str) -> str:  # noqa: ARG002
        return "TRUE"

    def moment_text(self, naive: str) -> str:
        at = f"CAST({naive} AS TIMESTAMP)"
        fraction = f"CASE WHEN {at} = date_trunc('second', {at}) THEN '' ELSE strftime({at}, '.%f') END"
        return f"strftime({at}, '%Y-%m-%dT%H:%M:%S') || {fraction}"

    def seconds(self, number: str, is_double: bool) -> str:
        whole = f"make_timestamp(CAST({number} AS BIGINT) * 1000000)"
        if not is_double:
            return whole
        parts = f"make_timestamp(CAST(round({number} * 1e6) AS BIGINT))"
        return f"CASE WHEN {number} = trunc({number}) THEN {whole} ELSE {parts} END"

    def try_cast(self, value: str, kind: str) -> str:
        return f"TRY_CAST({value} AS {kind})"

    def is_exact(self, number: str, text: str, kind: str) -> str:
        return f"coalesce(TRY_CAST({text} AS {kind}) = {number}, FALSE)"

    def fits_decimal(self, number: str, precision: int, scale: int) -> str:
        return f"TRY_CAST({number} AS DECIMAL({precision},{scale})) IS NOT NULL"

    def refuse(self, value: str, kind: str) -> str:  # noqa: ARG002
        """Return an expression that fails with the value."""
        return f"error('a value does not survive: ' || left(CAST({value} AS VARCHAR), 200))"


WORDS: Final = DuckDbWords()


@dataclass(frozen=True, slots=True)
class _ForgivingWords(DuckDbWords):
    def refuse(self, value: str, kind: str) -> str:  # noqa: ARG002
        return f"CAST(NULL AS {kind})"


FORGIVING_WORDS: Final = _ForgivingWords()
"""Make null of what does not survive: for where it is known that no row has it."""
