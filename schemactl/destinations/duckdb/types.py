"""DuckDB's types and dlt's, both ways (docs/dlt.md §9.3), structs, lists and maps (``x-spark-type``) among them."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from schemactl.destinations._catalogue import driver, unknown, with_nullable
from schemactl.destinations._structure import gained
from schemactl.destinations._types import TypeSystem, decimal, integer, is_type, keeps_unknown_types, parse_type
from schemactl.schema.nested_types import Json, Leaf, ListOf, MapOf, NestedType, Struct, structure_of
from schemactl.schema.quoting import quote
from schemactl.schema.structure import DATABASE_TYPE, NameLimits
from schemactl.schema.types import Column, DataType, Properties

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

NAMES: Final = NameLimits(is_case_sensitive=False)

_WEI: Final[Properties] = {"data_type": "wei"}
_NAIVE: Final[Properties] = {"data_type": "timestamp", "timezone": False}

_KINDS: Final[dict[str, Properties]] = {
    "VARCHAR": {"data_type": "text"},
    "DOUBLE": {"data_type": "double"},
    "FLOAT": {"data_type": "double"},
    "BOOLEAN": {"data_type": "bool"},
    "TINYINT": integer(8),
    "SMALLINT": integer(16),
    "INTEGER": integer(32),
    "BIGINT": integer(64),
    "UTINYINT": integer(16),
    "USMALLINT": integer(32),
    "UINTEGER": integer(64),
    "HUGEINT": _WEI,
    "BLOB": {"data_type": "binary"},
    "JSON": {"data_type": "json"},
    "DATE": {"data_type": "date"},
    "TIME": {"data_type": "time"},
    "TIMESTAMP WITH TIME ZONE": {"data_type": "timestamp"},
    "TIMESTAMP": _NAIVE,
    "TIMESTAMP_S": {**_NAIVE, "precision": 0},
    "TIMESTAMP_MS": {**_NAIVE, "precision": 3},
    "TIMESTAMP_NS": {**_NAIVE, "precision": 9},
}


def kind_of(written: str) -> Properties:
    """Return dlt's type for a type of DuckDB, as its catalog writes it."""
    parsed = parse_type(written)
    if parsed is not None and parsed.name == "DECIMAL" and len(parsed.sizes) == 2:
        precision, scale = parsed.sizes
        return _WEI if (precision, scale) == (38, 0) else decimal(precision, scale)
    return _KINDS.get(written.upper()) or unknown(spelt(written))


@keeps_unknown_types
def stored(column: Column) -> Properties:
    """Return such a column as a DuckDB catalog has it (docs/dlt.md §9.3)."""
    return with_nullable(kind_of(column_type(column)), column)


def column_type(column: Column) -> str:
    """Return the type of a column on DuckDB, as its catalog writes it; raises as ``TypeSystem.column_type``."""
    settled = settle(column)
    if settled.data_type is DataType.JSON and DATABASE_TYPE not in settled.properties and (of := structure_of(settled)):
        return duckdb_type(of)
    return TYPES.column_type(settled)


@lru_cache(maxsize=4096)
def own_type(written: str) -> str | None:
    """Return a type as DuckDB's catalog writes it; None for a text that is no type of DuckDB.

    A type of an extension that is not loaded here is not changed: the file's session may have it.
    """
    if written in _KINDS:
        return written
    if not is_type(written, "duckdb"):
        return None
    with driver("duckdb", "duckdb"):
        import duckdb
    with _memory().cursor() as connection:
        try:
            connection.execute(f"CREATE OR REPLACE TEMP TABLE typed (value {written})")
        except duckdb.Error as error:
            return written if "but it exists in the" in str(error) else None
        columns = connection.execute("SELECT data_type FROM duckdb_columns() WHERE table_name = 'typed'").fetchall()
    return spelt(columns[0][0])


@cache
def _memory() -> DuckDBPyConnection:
    """Return a database in memory that normalizes DuckDB's types."""
    import duckdb

    return duckdb.connect(config={"autoinstall_known_extensions": "false", "threads": "1"})


TYPES: Final = TypeSystem("DuckDB", "duckdb", kind_of, own_type)
settle: Final = TYPES.settle


_LEAF_NAMES: Final = {
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
_LEAVES: Final = {written: name for name, written in _LEAF_NAMES.items()}

WIDER: Final = frozenset(
    (
        ("tinyint", "bigint"),
        ("smallint", "bigint"),
        ("int", "bigint"),
        ("float", "double"),
        ("decimal", "decimal"),
    )
)
"""Pairs of leaves: a cast turns the first into the second, whatever the value; of decimals one with more digits."""

_FIELD_NAME: Final = r'(?:"(?:[^"]|"")*"|\w+)'
_START: Final = re.compile(rf"(?P<kind>STRUCT|MAP)\(|(?P<leaf>{_FIELD_NAME}(?: {_FIELD_NAME})*(?:\([^()]*\))?)")
_FIELD: Final = re.compile(rf"(?P<name>{_FIELD_NAME}) ")


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
            return _LEAF_NAMES.get(kind, name)


@lru_cache(maxsize=4096)
def structure_in(written: str) -> NestedType | None:
    """Return a type of structs, lists or maps that DuckDB's catalog writes; None for any other type.

    >>> structure_in('STRUCT(a BIGINT, "b c" VARCHAR[])')
    Struct(fields=(('a', Leaf(name='bigint')), ('b c', ListOf(element=Leaf(name='string')))))
    """
    try:
        nested_type, end = _type_at(written, 0)
    except ValueError:
        return None
    return None if end < len(written) or isinstance(nested_type, Leaf | Json) else nested_type


def spelt(written: str) -> str:
    """Return a type as ``duckdb_type`` writes it: DuckDB itself quotes some names of fields only."""
    nested_type = structure_in(written)
    return written if nested_type is None else duckdb_type(nested_type)


def gains(stored: str, declared: str) -> tuple[str, ...] | None:
    """Return the fields by which loads make a column's type another one; see ``migration.abilities.Abilities``."""
    old, new = structure_in(stored), structure_in(declared)
    return None if old is None or new is None else gained(old, new, WIDER)


def _type_at(written: str, index: int) -> tuple[NestedType, int]:
    """Return the type that starts at an index, and the index of its end.

    Raises:
        ValueError: no type starts there, or a type that we do not parse (``UNION``, ``ENUM`` ...).
    """
    start = _START.match(written, index)
    if start is None:
        raise ValueError(written[index:])
    nested_type: NestedType
    match start["kind"]:
        case "STRUCT":
            nested_type, index = _fields_at(written, start.end())
        case "MAP":
            key, index = _type_at(written, start.end())
            if key != Leaf("string"):
                raise ValueError("keys that are not text")
            value, index = _type_at(written, _after(written, index, ", "))
            nested_type, index = MapOf(value), _after(written, index, ")")
        case _:
            leaf, index = start["leaf"], start.end()
            # What schemas cannot state stays as DuckDB has it.
            name = leaf.lower() if leaf.startswith("DECIMAL(") else _LEAVES.get(leaf, leaf)
            nested_type = Json() if leaf == "JSON" else Leaf(name)
    while written.startswith("[]", index):
        nested_type, index = ListOf(nested_type), index + 2
    return nested_type, index


def _fields_at(written: str, index: int) -> tuple[Struct, int]:
    fields = []
    while True:
        field = _FIELD.match(written, index)
        if field is None:
            raise ValueError(written[index:])
        inner, index = _type_at(written, field.end())
        name = field["name"]
        fields.append((name[1:-1].replace('""', '"') if name.startswith('"') else name, inner))
        if written.startswith(")", index):
            return Struct(tuple(fields)), index + 1
        index = _after(written, index, ", ")


def _after(written: str, index: int, mark: str) -> int:
    if not written.startswith(mark, index):
        raise ValueError(written[index:])
    return index + len(mark)
