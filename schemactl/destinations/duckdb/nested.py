"""Structs, lists and maps in DuckDB: what columns with ``x-spark-type`` are there."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from schemactl.destinations._session import quote
from schemactl.destinations._structure import gained
from schemactl.schema.nested_types import Json, Leaf, ListOf, MapOf, NestedType, Struct

_NAMES: Final = {
    "bigint": "BIGINT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "string": "VARCHAR",
    "binary": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
    "time": "TIME",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "float": "FLOAT",
}
_LEAVES: Final = {written: name for name, written in _NAMES.items()}

WIDER: Final = frozenset(
    (
        ("tinyint", "bigint"),
        ("smallint", "bigint"),
        ("int", "bigint"),
        ("float", "double"),
        ("decimal", "decimal"),
    )
)
"""Leaves of which a cast makes the second of the first, whatever the value; of decimals one with more digits."""

_NAME: Final = r'(?:"(?:[^"]|"")*"|\w+)'
_START: Final = re.compile(rf"(?P<kind>STRUCT|MAP)\(|(?P<leaf>{_NAME}(?: {_NAME})*(?:\([^()]*\))?)")
_FIELD: Final = re.compile(rf"(?P<name>{_NAME}) ")


def duckdb_type(of: NestedType) -> str:
    """Return a type as we write it in DuckDB's SQL: all names of fields are quoted."""
    match of:
        case Struct(fields):
            return f"STRUCT({', '.join(f'{quote(name)} {duckdb_type(inner)}' for name, inner in fields)})"
        case ListOf(element):
            return f"{duckdb_type(element)}[]"
        case MapOf(value):
            return f"MAP(VARCHAR, {duckdb_type(value)})"
        case Json():
            return "JSON"
        case Leaf(name):
            kind, bracket, sizes = name.partition("(")
            if kind == "decimal":
                return f"DECIMAL{bracket}{sizes}"
            return _NAMES.get(kind, name)


@lru_cache(maxsize=4096)
def structure_in(written: str) -> NestedType | None:
    """Return a type of structs, lists or maps that DuckDB's catalog writes; None for others.

    >>> structure_in('STRUCT(a BIGINT, "b c" VARCHAR[])')
    Struct(fields=(('a', Leaf(name='bigint')), ('b c', ListOf(element=Leaf(name='string')))))
    """
    try:
        found, at = _type_at(written, 0)
    except ValueError:
        return None
    return None if at < len(written) or isinstance(found, Leaf | Json) else found


def spelt(written: str) -> str:
    """Return a type as ``duckdb_type`` writes it: DuckDB itself quotes some names of fields only."""
    found = structure_in(written)
    return written if found is None else duckdb_type(found)


def gains(there: str, wanted: str) -> tuple[str, ...] | None:
    """Return the fields by which loads make a column's type another one; see ``migration.abilities.Abilities``."""
    old, new = structure_in(there), structure_in(wanted)
    return None if old is None or new is None else gained(old, new, WIDER)


def _type_at(written: str, at: int) -> tuple[NestedType, int]:
    """Return the type that starts somewhere, and where it ends.

    Raises:
        ValueError: none starts there, or one that we do not take apart (``UNION``, ``ENUM`` ...).
    """
    start = _START.match(written, at)
    if start is None:
        raise ValueError(written[at:])
    found: NestedType
    match start["kind"]:
        case "STRUCT":
            found, at = _fields_at(written, start.end())
        case "MAP":
            key, at = _type_at(written, start.end())
            if key != Leaf("string"):
                raise ValueError("keys that are no texts")
            value, at = _type_at(written, _after(written, at, ", "))
            found, at = MapOf(value), _after(written, at, ")")
        case _:
            found, at = _leaf(start["leaf"]), start.end()
    while written.startswith("[]", at):
        found, at = ListOf(found), at + 2
    return found, at


def _fields_at(written: str, at: int) -> tuple[Struct, int]:
    fields = []
    while True:
        field = _FIELD.match(written, at)
        if field is None:
            raise ValueError(written[at:])
        inner, at = _type_at(written, field.end())
        name = field["name"]
        fields.append((name[1:-1].replace('""', '"') if name.startswith('"') else name, inner))
        if written.startswith(")", at):
            return Struct(tuple(fields)), at + 1
        at = _after(written, at, ", ")


def _after(written: str, at: int, mark: str) -> int:
    if not written.startswith(mark, at):
        raise ValueError(written[at:])
    return at + len(mark)


def _leaf(written: str) -> NestedType:
    if written == "JSON":
        return Json()
    if written.startswith("DECIMAL("):
        return Leaf(written.lower())
    # What schemas cannot state stays as DuckDB has it.
    return Leaf(_LEAVES.get(written, written))
