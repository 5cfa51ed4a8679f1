"""How PostgreSQL says what conversions of values need."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from schemactl.destinations._migration.conversion import FALSE, TRUE
from schemactl.destinations._migration.ddl import checked_type
from schemactl.destinations._migration.forms import NO, YES
from schemactl.destinations._session import literal
from schemactl.destinations.postgresql._types import column_type, has_texts
from schemactl.schema.types import Column

_BLANKS: Final = r"E' \t\n\r\f\v'"
_EMPTY: Final = '""'
_SURE_CHARACTERS: Final = 31
"""No number of so many digits leaves the range of a double."""
_STRING: Final = r'"([^"\\]|\\.)*"'
_NOT_AS_DLT: Final = r"[0-9]{18}|[eE][+-]?[0-9]{3}"
"""Numbers that PostgreSQL keeps and Python cannot."""
_BLANK_IN_JSON: Final = r'("(?:[^"\\]|\\.)*")|([,:]) '

_BYTES: Final = 'COLLATE "C"'
"""Comparisons by bytes are quick, and the same in every database."""

IS_JSON: Final = (
    "CREATE OR REPLACE FUNCTION pg_temp._schemactl_is_json(value text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS "
    "'BEGIN PERFORM value::jsonb; RETURN TRUE; EXCEPTION WHEN data_exception THEN RETURN FALSE; END'"
)
"""Makes what PostgreSQL has since version 16; it ends with the session."""

_READS: Final = """
BEGIN
    IF current_setting('server_version_num')::integer >= 160000 THEN
        CREATE OR REPLACE FUNCTION pg_temp._schemactl_reads(value text, kind text) RETURNS boolean
            LANGUAGE sql STABLE AS 'SELECT pg_catalog.pg_input_is_valid($1, $2)';
    ELSE
        CREATE OR REPLACE FUNCTION pg_temp._schemactl_reads(value text, kind text) RETURNS boolean
            LANGUAGE plpgsql STABLE AS $_$
            BEGIN
                CASE kind
                    WHEN 'date' THEN PERFORM value::date;
                    WHEN 'time' THEN PERFORM value::time;
                    WHEN 'timestamptz' THEN PERFORM value::timestamptz;
                    ELSE EXECUTE pg_catalog.format('SELECT $1::%s', kind) USING value;
                END CASE;
                RETURN TRUE;
            EXCEPTION WHEN data_exception OR integrity_constraint_violation THEN
                RETURN FALSE;
            END $_$;
    END IF;
END
"""
FUNCTIONS: Final = {
    "pg_temp._schemactl_is_json(": IS_JSON,
    "pg_temp._schemactl_reads(": f"DO {literal(_READS)}",
}
"""What makes each function of the session, by how a call of it begins."""


class Reading(Enum):
    """Where a server says whether it reads a text as a type."""

    SESSION = "functions of the session, which plans name so that they run on any version"
    BUILT_IN = "since version 16, a function of its own: nothing is made"
    NOWHERE = "before, where nothing may be made: a hot standby, or a user without TEMPORARY"


@dataclass(frozen=True, slots=True)
class PostgresWords:
    """See ``destinations._migration.words.Words``.

    Attributes:
        spellings: texts that are spelled anew, for one retype of one table; None where they are not known.
    """

    wide: str = "numeric"
    double: str = "double precision"
    text: str = "text"
    reading: Reading = Reading.SESSION
    spellings: Mapping[str, str] | None = None

    def type_of(self, column: Column) -> str:
        return checked_type(column, column_type)

    def matches(self, text: str, regex: str) -> str:
        return f"({text} ~ {literal(f'^({regex})$')})"

    def is_usual_integer(self, text: str, kind: str, digits: int) -> str:  # noqa: ARG002
        # A count in the regular expression would make it five times as slow.
        return f"(octet_length({text}) <= {digits} AND {self.matches(text, '-?[0-9]+')})"

    def is_trusted_integer(self, text: str) -> str:
        # Before version 16, the cast fails on ``1_000``.
        return rf"({_begins_with_digit(text)} AND {text} {_BYTES} NOT LIKE '%\_%')"

    def is_usual_real(self, text: str) -> str:
        return f"(octet_length({text}) <= {_SURE_CHARACTERS} AND {self.matches(text, '-?[0-9]+([.][0-9]+)?')})"

    def is_trusted_real(self, text: str) -> str:
        # The C library's reader takes ``0x1p3`` and ``nan(1)``, too.
        return _begins_with_digit(text)

    def is_trusted_decimal(self, text: str, scale: int) -> str:
        # More digits than the scale would be rounded, and so would what has a negative exponent.
        is_long = f"{text} {_BYTES} LIKE '%.{'_' * (scale + 1)}%'"
        return f"({_begins_with_digit(text)} AND NOT ({is_long}) AND {text} {_BYTES} NOT LIKE '_%-%')"

    def is_trusted_bool(self, text: str) -> str:
        # The cast takes blanks around, ``on``, ``off``, and parts of a word.
        # An ALTER compares with one after the other: what most columns hold comes first.
        words = sorted((*YES, *NO), key=lambda word: word not in ("true", "false"))
        spelt = (spelling(word) for word in words for spelling in (str.lower, str.title, str.upper))
        return f"({text} IN ({', '.join(map(literal, dict.fromkeys(spelt)))}))"

    def is_trusted_date(self, text: str) -> str:
        return f"({_is_shaped(text, '____-__-__', '-')})"

    def is_trusted_time(self, text: str) -> str:
        # The cast takes ``24:00:00`` and a second 60, too.
        in_day = f"{text} < '24' {_BYTES} AND {text} {_BYTES} NOT LIKE '%:60'"
        return f"({_is_shaped(text, '__:__:__', ':')} AND {in_day})"

    def is_trusted_moment(self, text: str) -> str:
        # Two of the characters between digits must not be neighbours: so each part has as many digits as it should.
        shape = "____-__-__T__:__:__"
        is_long = f"octet_length({text}) BETWEEN 22 AND 27 AND {text} {_BYTES} LIKE '{shape}.%Z'"
        is_shaped = f"({is_long} OR {text} {_BYTES} LIKE '{shape}Z')"
        in_day = f"{text} {_BYTES} NOT LIKE '___________24%' AND {text} {_BYTES} NOT LIKE '_________________60%'"
        is_apart = f"{text} {_BYTES} !~ '[^0-9][^0-9]'"
        # Nor is anything but digits taken in the fraction: the cast takes ``.12E4Z`` and ``.12Z4Z``.
        is_apart = f"{is_apart} AND {text} {_BYTES} !~ '[.].*[^0-9].'"
        return f"({text} BETWEEN '0' AND ':' {_BYTES} AND {is_shaped} AND {in_day} AND {is_apart})"

    def is_readable(self, text: str, kind: str) -> str:
        match kind:
            case "BOOLEAN":
                return TRUE
            case "DATE" | "TIME" | "TIMESTAMPTZ":
                return self._reads(text, kind.lower())
            case _:  # before version 16, a number's regular expression is quicker
                return FALSE

    def spelled_anew(self, text: str, retype: str) -> str | None:  # noqa: ARG002
        # An object of JSON is the one mapping that a statement can hold, and that is searched and not walked through.
        return f"(CAST({literal(json.dumps(self.spellings))} AS jsonb) ->> {text})" if self.spellings else None

    def trim(self, text: str) -> str:
        return f"btrim({text}, {_BLANKS})"

    def hexadecimal(self, text: str) -> str:
        return f"CAST(CAST('x' || lpad(substr({text}, 3), 16, '0') AS bit(64)) AS bigint)"

    def unhex(self, text: str) -> str:
        return f"decode({text}, 'hex')"

    def from_base64(self, text: str) -> str:
        return f"decode({text}, 'base64')"

    def to_base64(self, binary: str) -> str:
        return f"replace(encode({binary}, 'base64'), chr(10), '')"

    def to_little_endian(self, number: str) -> str:
        digits = f"encode(int8send(CAST({number} AS bigint)), 'hex')"
        turned = " || ".join(f"substr({digits}, {place}, 2)" for place in range(15, 0, -2))
        return f"decode(regexp_replace({turned}, '(00)+$', ''), 'hex')"

    def is_json(self, text: str) -> str:
        outside = f"regexp_replace({text}, {literal(_STRING)}, {literal(_EMPTY)}, 'g')"
        return f"({self._reads(text, 'jsonb')} AND {outside} !~ {literal(_NOT_AS_DLT)} AND {self.trim(text)} <> 'null')"

    def to_json(self, text: str) -> str:
        return f"CAST({text} AS jsonb)"

    def json_text(self, value: str) -> str:
        return rf"regexp_replace(CAST({value} AS text), {literal(_BLANK_IN_JSON)}, '\1\2', 'g')"

    def has_texts(self, kind: str) -> bool:
        return has_texts(kind)

    def other_text(self, value: str, kind: str) -> str:
        # The cast writes ``/32`` behind each address.
        return f"abbrev({value})" if kind == "inet" else f"CAST({value} AS text)"

    def is_other_text(self, text: str, kind: str) -> str:
        again = self.other_text(f"CAST({text} AS {kind})", kind)
        # dlt's coercion knows nothing of such types: without a test, the cast fails on what is none of the type.
        reads = TRUE if self.reading is Reading.NOWHERE else self._reads(text, kind)
        return f"(CASE WHEN {reads} THEN {again} = {text} ELSE FALSE END)"

    def _reads(self, text: str, kind: str) -> str:
        """Return whether PostgreSQL reads a text as a type; FALSE where it cannot say without an error."""
        match self.reading:
            case Reading.BUILT_IN:
                return f"pg_catalog.pg_input_is_valid({text}, {literal(kind)})"
            case Reading.NOWHERE:
                return FALSE
            case Reading.SESSION if kind == "jsonb":
                return f"pg_temp._schemactl_is_json({text})"
            case Reading.SESSION:
                return f"pg_temp._schemactl_reads({text}, {literal(kind)})"

    def double_text(self, number: str) -> str:
        text = f"CAST(CAST({number} AS double precision) AS text)"
        # Python turns to exponents one digit later.
        digits = f"CAST(CAST({text} AS numeric) AS text)"
        plain = f"CASE WHEN abs({number}) >= 1e15 AND abs({number}) < 1e16 THEN {digits} ELSE {text} END"
        return (
            f"CASE WHEN {number} = 'Infinity' THEN 'inf' WHEN {number} = '-Infinity' THEN '-inf' "
            f"WHEN {number} = 'NaN' THEN 'nan' WHEN {plain} ~ '^-?[0-9]+$' THEN ({plain}) || '.0' ELSE {plain} END"
        )

    def is_python_text(self, number: str) -> str:
        # PostgreSQL leaves out the shortest text where it lies in the middle between two numbers, which happens to
        # integers beyond 53 bits.
        text = f"CAST(CAST({number} AS double precision) AS text)"
        mantissa, exponent = f"split_part({text}, 'e', 1)", f"split_part({text}, 'e', 2)"
        places = f"greatest(length(split_part({mantissa}, '.', 2)) - 1, 0)"
        shorter = (
            f"CAST(CAST(round(CAST({mantissa} AS numeric), {places}) AS text) || 'e' || {exponent} AS {self.double})"
        )
        is_integer = f"abs({number}) >= {2**53}e0 AND abs({number}) < 1e41 AND {mantissa} LIKE '%.%'"
        return f"CASE WHEN {is_integer} THEN {shorter} <> {number} ELSE TRUE END"

    def moment_text(self, naive: str) -> str:
        fraction = f"CASE WHEN {naive} = date_trunc('second', {naive}) THEN '' ELSE to_char({naive}, '.US') END"
        return f"to_char({naive}, 'YYYY-MM-DD\"T\"HH24:MI:SS') || {fraction}"

    def seconds(self, number: str, is_double: bool) -> str:
        whole = f"(to_timestamp({number}) AT TIME ZONE 'UTC')"
        if not is_double:
            return whole
        parts = f"TIMESTAMP '1970-01-01 00:00:00' + round({number} * 1e6) * INTERVAL '1 microsecond'"
        return f"CASE WHEN {number} = trunc({number}) THEN {whole} ELSE {parts} END"

    def try_cast(self, value: str, kind: str) -> str:
        return f"CAST({value} AS {kind})"

    def is_exact(self, number: str, text: str, kind: str) -> str:  # noqa: ARG002
        return f"CAST({text} AS numeric) = {number}"

    def fits_decimal(self, number: str, precision: int, scale: int) -> str:
        return f"abs(round(CAST({number} AS numeric), {scale})) < {10 ** (precision - scale)}"

    def refuse(self, value: str, kind: str) -> str:
        """Return an expression that fails with the value: PostgreSQL has no function for it."""
        told = f"'a value does not survive: ' || left(CAST({value} AS text), 200)"
        return f"CAST(CAST(CAST({told} AS integer) AS text) AS {kind})"


def _begins_with_digit(text: str) -> str:
    """Return a condition that holds for numbers but not for ``0x1``; the colon comes after the nine."""
    ranges = (("1", ":"), ("-1", "-:"), ("0", "0:"), ("-0", "-0:"))
    return f"({' OR '.join(f'{text} {_BYTES} BETWEEN {literal(low)} AND {literal(high)}' for low, high in ranges)})"


def _is_shaped(text: str, shape: str, mark: str) -> str:
    """Return whether a text has a shape of digits between two marks; one regular expression of it is much slower."""
    is_made_of_them = f"{text} {_BYTES} !~ '[^0-9{mark}]'"
    has_more_marks = f"{text} {_BYTES} LIKE '%{mark}%{mark}%{mark}%'"
    return f"{text} {_BYTES} LIKE '{shape}' AND NOT ({has_more_marks}) AND {is_made_of_them}"


WORDS: Final = PostgresWords()
