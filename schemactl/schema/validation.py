"""Checks that a stored schema of the current engine version is one that dlt would take (dlt.md §1.1 to §1.6).

A check yields what is wrong and where, for all of the schema at once; it neither raises nor repairs. A
section is a table of keys and checks, so a new key is one line. Places in files are not its business.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from schemactl.errors import did_you_mean
from schemactl.schema.templates import LOADS_TABLE, MAX_NAME_LENGTH, RELATIONAL_NORMALIZER, VERSION_TABLE
from schemactl.schema.types import DataType

Keys = tuple[str | int, ...]
"""The way from the top of a document to a value: keys of mappings, positions (from 0) in lists."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong in a stored schema.

    Attributes:
        keys: where; of a key that is missing, the mapping that misses it.
    """

    keys: Keys
    message: str
    hint: str | None = None


Check = Callable[[Any, Keys], Iterator[Finding]]

_MAPPING = (dict, Mapping)
"""Asking the abstract class alone is slow, and nearly all mappings are dicts."""


def check(stored: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Return all that keeps dlt from taking the stored schema.

    What does not fit together is looked for only where everything is right in itself.

    Args:
        stored: a schema of the current engine version, as its file states it (YAML's dates and bytes too).
    """
    findings = tuple(chain(_schema(stored, ()), _storable(stored, ())))
    return findings or tuple(chain(_parents_exist(stored), _own_tables_exist(stored)))


def _text(value: Any, keys: Keys) -> Iterator[Finding]:
    if not isinstance(value, str):
        hint = None if isinstance(value, (Mapping, list)) or value is None else "put it in quotes"
        yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not text", hint)


def _integer(value: Any, keys: Keys) -> Iterator[Finding]:
    if not isinstance(value, int):
        unquoted = isinstance(value, str) and re.fullmatch(r"[-+]?\d+", value)
        hint = f"write `{value}` without quotes" if unquoted else None
        yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not a whole number", hint)


def _count(value: Any, keys: Keys) -> Iterator[Finding]:
    # A bool is an int to Python, and so to dlt; as a version it would be nonsense.
    if isinstance(value, bool):
        yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not a whole number")
    else:
        yield from _integer(value, keys)


def _boolean(value: Any, keys: Keys) -> Iterator[Finding]:
    if not isinstance(value, bool):
        yield Finding(
            keys,
            f"{_named(keys)} is {_shown(value)}, not true or false",
            "write `true` or `false`, no quotes",
        )


def _anything(_value: Any, _keys: Keys) -> Iterator[Finding]:
    return iter(())


def _schema_name(value: Any, keys: Keys) -> Iterator[Finding]:
    if isinstance(value, str) and not (value.isidentifier() and len(value) <= MAX_NAME_LENGTH):
        hint = f"letters, digits and `_`, no digit first, at most {MAX_NAME_LENGTH} characters"
        yield Finding(keys, f"{_shown(value)} cannot name a schema", hint)
    else:
        yield from _text(value, keys)


def _pattern(value: Any, keys: Keys) -> Iterator[Finding]:
    """Check dlt's SimpleRegex: a name, or ``re:`` and a regular expression."""
    if isinstance(value, str) and value.startswith("re:"):
        yield from _regex(value, keys)
    elif isinstance(value, str) and re.match(r"[^a-zA-Z\d_]", value):
        yield Finding(keys, f"{_shown(value)} looks like a regular expression", f"write `re:{value}`")
    else:
        yield from _text(value, keys)


def _regex(value: str, keys: Keys) -> Iterator[Finding]:
    try:
        re.compile(value.removeprefix("re:"))
    except (re.error, OverflowError, RecursionError) as error:
        yield Finding(keys, f"{_shown(value)} is no regular expression: {error}")


def _one_of(*known: str, synonyms: Mapping[str, str] | None = None) -> Check:
    def checked(value: Any, keys: Keys) -> Iterator[Finding]:
        if isinstance(value, str) and value in known:
            return
        name = value.lower() if isinstance(value, str) else ""
        meant = name if name in known else (synonyms or {}).get(name)
        near = f"did you mean `{meant}`?" if meant else did_you_mean(name, known)
        yield Finding(keys, f"{_named(keys)} is {_shown(value)}", near or "one of " + ", ".join(known))

    return checked


def _or_null(inner: Check) -> Check:
    return lambda value, keys: iter(()) if value is None else inner(value, keys)


def _list_of(item: Check) -> Check:
    def checked(value: Any, keys: Keys) -> Iterator[Finding]:
        if not isinstance(value, list):
            yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not a list")
            return
        for position, element in enumerate(value):
            yield from item(element, (*keys, position))

    return checked


def _map_of(item: Check, key: Check | None = None) -> Check:
    def checked(value: Any, keys: Keys) -> Iterator[Finding]:
        if not isinstance(value, _MAPPING):
            yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not a mapping")
            return
        yield from _keys_are_text(value, keys)
        for name, element in value.items():
            if key and isinstance(name, str):
                yield from key(name, (*keys, name))
            yield from item(element, (*keys, name))

    return checked


def _keys_are_text(value: Mapping[Any, Any], keys: Keys) -> Iterator[Finding]:
    for name in value:
        if not isinstance(name, str):
            hint = "put it in quotes: YAML reads it as something else than text"
            yield Finding((*keys, name), f"the key {_shown(name)} in {_named(keys)} is not text", hint)


def _record(
    fields: Mapping[str, Check],
    required: Mapping[str, str] | None = None,
    gone: Mapping[str, str] | None = None,
    own_keys: bool = True,
) -> Check:
    """Make the check of a mapping with known keys.

    Args:
        fields: known keys and the checks of their values.
        required: keys that must be there, each with a hint of what to write.
        gone: keys of older engine versions, each with a hint of what stands in their place.
        own_keys: whether keys that start with ``x-`` are let through.
    """

    def checked(value: Any, keys: Keys) -> Iterator[Finding]:
        if not isinstance(value, _MAPPING):
            yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not a mapping")
            return
        for missing in (name for name in required or {} if name not in value):
            yield Finding(keys, f"`{missing}` is missing in {_named(keys)}", (required or {})[missing])
        yield from _keys_are_text(value, keys)
        for name, element in value.items():
            if name in fields:
                yield from fields[name](element, (*keys, name))
            elif isinstance(name, str) and not (own_keys and name.startswith("x-")):
                hint = (gone or {}).get(name) or did_you_mean(name, fields) or _own_key_hint(own_keys)
                yield Finding((*keys, name), f"unknown key `{name}` in {_named(keys)}", hint)

    return checked


def _own_key_hint(own_keys: bool) -> str | None:
    return "keys of your own start with `x-`" if own_keys else None


_TYPE_SYNONYMS = {
    **dict.fromkeys(("string", "str", "varchar", "char", "uuid"), "text"),
    **dict.fromkeys(("int", "integer", "long", "int64", "int32", "smallint"), "bigint"),
    **dict.fromkeys(("float", "float64", "real", "number"), "double"),
    **dict.fromkeys(("datetime", "timestamptz", "timestamp_ntz"), "timestamp"),
    **dict.fromkeys(("complex", "object", "dict", "struct", "array", "list", "jsonb", "variant"), "json"),
    **dict.fromkeys(("bytes", "blob", "bytea", "varbinary"), "binary"),
    "boolean": "bool",
    "numeric": "decimal",
}

_data_type = _one_of(*DataType, synonyms=_TYPE_SYNONYMS)
_mode = _one_of("evolve", "discard_value", "freeze", "discard_row")
_contract_entities = _record({entity: _or_null(_mode) for entity in ("tables", "columns", "data_type")})


def _contract(value: Any, keys: Keys) -> Iterator[Finding]:
    return _contract_entities(value, keys) if isinstance(value, Mapping) else _mode(value, keys)


_FLAGS = (
    *("nullable", "timezone", "variant", "incremental", "sort", "unique", "partition", "cluster"),
    *("primary_key", "merge_key", "row_key", "parent_key", "root_key", "hard_delete"),
)

_column = _record(
    {
        "name": _or_null(_text),
        "data_type": _or_null(_data_type),
        "precision": _or_null(_integer),
        "scale": _or_null(_integer),
        "description": _or_null(_text),
        "dedup_sort": _or_null(_one_of("asc", "desc", synonyms={"ascending": "asc", "descending": "desc"})),
        **dict.fromkeys(_FLAGS, _or_null(_boolean)),
        # Any value of an `x-` key is valid, but dlt's loading looks into this one.
        "x-normalizer": _map_of(_anything),
    },
    gone={"foreign_key": "since engine version 10 it is `parent_key`", "type": "did you mean `data_type`?"},
)

_reference = _record(
    {
        "label": _or_null(_text),
        "cardinality": _or_null(
            _one_of(
                *("zero_to_one", "one_to_zero", "zero_to_many", "many_to_zero"),
                *("one_to_many", "many_to_one", "one_to_one", "many_to_many"),
            )
        ),
        "columns": _list_of(_text),
        "referenced_table": _text,
        "referenced_columns": _list_of(_text),
        "table": _or_null(_text),
    }
)

_table = _record(
    {
        "name": _or_null(_text),
        "description": _or_null(_text),
        "schema_contract": _or_null(_contract),
        "table_sealed": _or_null(_boolean),
        "parent": _or_null(_text),
        # dlt's types allow null for filters and for their lists, its loading then fails on it.
        "filters": _record({"excludes": _list_of(_pattern), "includes": _list_of(_pattern)}),
        "columns": _map_of(_column),
        "resource": _or_null(_text),
        "table_format": _or_null(_one_of("iceberg", "delta", "hive", "native")),
        "file_format": _or_null(
            _one_of("preferred", "jsonl", "typed-jsonl", "insert_values", "parquet", "csv", "reference", "model")
        ),
        "variant_name": _text,
        "write_disposition": _or_null(_one_of("skip", "append", "replace", "merge")),
        "references": _or_null(_list_of(_reference)),
    },
    required={"columns": "write `columns: {}` where there are none yet"},
)

_settings = _record(
    {
        "schema_contract": _or_null(_contract),
        "detections": _or_null(
            _list_of(
                _one_of(
                    "timestamp",
                    "iso_timestamp",
                    "iso_date",
                    "large_integer",
                    "hexbytes_to_text",
                    "wei_to_double",
                )
            )
        ),
        "default_hints": _map_of(_list_of(_pattern)),
        "preferred_types": _map_of(
            _data_type, key=lambda name, keys: _regex(name, keys) if name.startswith("re:") else iter(())
        ),
    }
)

_propagated = _map_of(_text)

_relational_config = _record(
    {
        "max_nesting": _or_null(_integer),
        "root_key_propagation": _or_null(_boolean),
        "propagation": _or_null(_record({"root": _propagated, "tables": _map_of(_propagated)}, own_keys=False)),
    },
    own_keys=False,
)


def _json_normalizer(value: Any, keys: Keys) -> Iterator[Finding]:
    yield from _json_normalizer_keys(value, keys)
    config = value.get("config") if isinstance(value, Mapping) else None
    # Another normaliser's config is its own business.
    if config is not None and value.get("module", RELATIONAL_NORMALIZER) in (
        RELATIONAL_NORMALIZER,
        "relational",
    ):
        yield from _relational_config(config, (*keys, "config"))


_json_normalizer_keys = _record({"module": _text, "config": _or_null(_map_of(_anything))})

_normalizers = _record(
    {
        "names": _text,
        "allow_identifier_change_on_table_with_data": _or_null(_boolean),
        "use_break_path_on_normalize": _or_null(_boolean),
        "detections": _or_null(_list_of(_text)),
        "json": _json_normalizer,
    }
)

_schema = _record(
    {
        "version": _count,
        "version_hash": _text,
        "previous_hashes": _list_of(_text),
        "imported_version_hash": _or_null(_text),
        "engine_version": _count,
        "name": _schema_name,
        "description": _or_null(_text),
        "settings": _or_null(_settings),
        "tables": _map_of(_table),
        "normalizers": _normalizers,
    },
    required={
        "version": "a new schema has `version: 1`",
        "engine_version": "which version of dlt's schema engine wrote the file",
        "name": "the name of the schema",
        "tables": "the tables of the schema by name",
        "previous_hashes": "a new schema has `previous_hashes: []`",
    },
)


def _parents_exist(stored: Mapping[str, Any]) -> Iterator[Finding]:
    tables = stored["tables"]
    for name, table in tables.items():
        parent = table.get("parent")
        if parent and parent not in tables:
            hint = did_you_mean(parent, tables)
            yield Finding(
                ("tables", name, "parent"),
                f"the parent `{parent}` of the table `{name}` does not exist",
                hint,
            )


def _own_tables_exist(stored: Mapping[str, Any]) -> Iterator[Finding]:
    # A naming convention may write dlt's names in capitals.
    present = {name.lower() for name in stored["tables"]}
    for name in (VERSION_TABLE, LOADS_TABLE):
        if name not in present:
            hint = "dlt keeps its book there; copy the table from another schema file"
            yield Finding(("tables",), f"the table `{name}` is missing in `tables`", hint)


_SMALLEST, _LARGEST = -(2**63), 2**64 - 1


def _storable(value: Any, keys: Keys) -> Iterator[Finding]:
    """Find what neither dlt's hash nor a file can hold."""
    match value:
        case str():
            if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
                yield Finding(keys, f"{_named(keys)} holds half a surrogate pair, which is no character")
        case bool():
            return
        case int():
            if not _SMALLEST <= value <= _LARGEST:
                yield Finding(keys, f"{_named(keys)} does not fit 64 bits", "put it in quotes")
        case dict() | Mapping():
            yield from _storable_parts(value, keys)
        case list():
            for position, element in enumerate(value):
                yield from _storable(element, (*keys, position))


def _storable_parts(value: Mapping[Any, Any], keys: Keys) -> Iterator[Finding]:
    for name, element in value.items():
        # Texts in ASCII and booleans are nearly all of a schema; a generator for each would take most of the time.
        if not (isinstance(name, str) and name.isascii()):
            yield from _storable(name, (*keys, name))
        if not (isinstance(element, bool) or (isinstance(element, str) and element.isascii())):
            yield from _storable(element, (*keys, name))


def _named(keys: Keys) -> str:
    """Return how a message calls the place: its key, with what it belongs to where that helps."""
    match keys:
        case ():
            return "the schema"
        case ("tables", table):
            return f"the table `{_clean(table)}`"
        case ("tables", table, "columns", column):
            return f"the column `{_clean(table)}.{_clean(column)}`"
        case (*_, str(owner), int(position)):
            return f"`{_clean(owner)}[{position}]`"
        case _:
            return f"`{_clean(keys[-1])}`"


def _shown(value: Any) -> str:
    match value:
        case None:
            return "null"
        case Mapping():
            return "a mapping"
        case list():
            return "a list"
        case "":
            return "empty"
        case bool():
            return f"`{str(value).lower()}`"
        case int() if not _SMALLEST <= value <= _LARGEST:
            return "a number beyond 64 bits"
        case _:
            return f"`{_clean(value)}`"


_SHOWN_CHARACTERS = 60


def _clean(value: Any) -> str:
    """Return a value as a message can hold it: short, on one line, printable."""
    text = str(value)
    cut = text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
    return "".join(character if character.isprintable() else "�" for character in cut)
