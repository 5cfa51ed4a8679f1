"""Checks that a stored schema of the current engine version is one that dlt would take (docs/dlt.md §1.1 to §1.6).

All that is wrong in the schema is reported at once. A section is a table of keys and ``schema.checks``, so a new
key is one line. Places in files are not its business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from schemactl.errors import did_you_mean
from schemactl.schema.arrow_types import NESTED_TYPE, NESTED_TYPE_HINT, check_text
from schemactl.schema.checks import (
    Check,
    Finding,
    Keys,
    anything,
    boolean,
    count,
    integer,
    list_of,
    map_of,
    one_of,
    or_null,
    pattern,
    prefixed,
    record,
    schema_name,
    size,
    storable,
    text,
)
from schemactl.schema.detectors import DETECTORS
from schemactl.schema.templates import LOADS_TABLE, RELATIONAL_NORMALIZER, VERSION_TABLE
from schemactl.schema.types import DataType


def check(stored: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Return all that keeps dlt from taking the stored schema.

    What does not fit together is looked for only where everything is right in itself. It is stated as in its file, with
    YAML's dates and bytes.
    """
    findings = tuple(chain(_schema.find(stored, ()), storable(stored, ())))
    return findings or tuple(chain(_parents_exist(stored), _parents_end(stored), _own_tables_exist(stored)))


def check_column(properties: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Return all that keeps dlt from taking a column with these properties."""
    return tuple(chain(_column.find(properties, ()), storable(properties, ())))


def shape() -> Mapping[str, Any]:
    """Return the JSON Schema of stored schemas of the current engine version."""
    return _schema.shape


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

_data_type = one_of(*DataType, synonyms=_TYPE_SYNONYMS)
_mode = one_of("evolve", "discard_value", "freeze", "discard_row")
_contract_entities = record({entity: or_null(_mode) for entity in ("tables", "columns", "data_type")})


def _find_contract(value: Any, keys: Keys) -> Iterator[Finding]:
    return (_contract_entities if isinstance(value, Mapping) else _mode).find(value, keys)


_contract = Check(_find_contract, {"anyOf": [_mode.shape, _contract_entities.shape]})


_FLAGS = (
    *("nullable", "timezone", "variant", "incremental", "sort", "unique", "partition", "cluster"),
    *("primary_key", "merge_key", "row_key", "parent_key", "root_key", "hard_delete"),
)


def _find_nested_type(value: Any, keys: Keys) -> Iterator[Finding]:
    yield from text.find(value, keys)
    if isinstance(value, str):
        try:
            check_text(value)
        except ValueError as error:
            yield Finding(keys, f"`{keys[-1]}` holds no type of Arrow: {error}", NESTED_TYPE_HINT)


_column = record(
    {
        "name": or_null(text),
        "data_type": or_null(_data_type),
        "precision": or_null(size),
        "scale": or_null(integer),
        "description": or_null(text),
        "dedup_sort": or_null(one_of("asc", "desc", synonyms={"ascending": "asc", "descending": "desc"})),
        **dict.fromkeys(_FLAGS, or_null(boolean)),
        # Any value of an `x-` key is valid, but dlt's loading looks into these.
        "x-normalizer": map_of(anything),
        NESTED_TYPE: or_null(Check(_find_nested_type, {"type": "string", "pattern": "^arrow-ipc:"})),
    },
    gone={"foreign_key": "since engine version 10 it is `parent_key`", "type": "did you mean `data_type`?"},
)

_reference = record(
    {
        "label": or_null(text),
        "cardinality": or_null(
            one_of(
                *("zero_to_one", "one_to_zero", "zero_to_many", "many_to_zero"),
                *("one_to_many", "many_to_one", "one_to_one", "many_to_many"),
            )
        ),
        "columns": list_of(text),
        "referenced_table": text,
        "referenced_columns": list_of(text),
        "table": or_null(text),
    }
)

_table = record(
    {
        "name": or_null(text),
        "description": or_null(text),
        "schema_contract": or_null(_contract),
        "table_sealed": or_null(boolean),
        "parent": or_null(text),
        # dlt's types allow null for filters and for their lists, its loading then fails on it.
        "filters": record({"excludes": list_of(pattern), "includes": list_of(pattern)}),
        "columns": map_of(_column),
        "resource": or_null(text),
        "table_format": or_null(one_of("iceberg", "delta", "hive", "native")),
        "file_format": or_null(
            one_of("preferred", "jsonl", "typed-jsonl", "insert_values", "parquet", "csv", "reference", "model")
        ),
        "variant_name": text,
        "write_disposition": or_null(one_of("skip", "append", "replace", "merge")),
        "references": or_null(list_of(_reference)),
    },
    required={"columns": "write `columns: {}` where there are none yet"},
)


def _find_detection(value: Any, keys: Keys) -> Iterator[Finding]:
    if value not in DETECTORS:
        yield from one_of(*DETECTORS).find(value, keys)


_detection = Check(_find_detection, text.shape)


_settings = record(
    {
        "schema_contract": or_null(_contract),
        "detections": or_null(list_of(_detection)),
        "default_hints": map_of(list_of(pattern)),
        "preferred_types": map_of(_data_type, key=prefixed),
    },
    gone=dict.fromkeys((*_FLAGS, "not_null", "foreign_key"), "hints of columns stand below `default_hints`"),
)

_propagated = map_of(text)

_relational_config = record(
    {
        "max_nesting": or_null(integer),
        "root_key_propagation": or_null(boolean),
        "propagation": or_null(record({"root": _propagated, "tables": map_of(_propagated)}, own_keys=False)),
    },
    own_keys=False,
)


def _find_json_normalizer(value: Any, keys: Keys) -> Iterator[Finding]:
    yield from _json_normalizer_keys.find(value, keys)
    config = value.get("config") if isinstance(value, Mapping) else None
    # Another normalizer's config is its own business.
    if config is not None and value.get("module", RELATIONAL_NORMALIZER) in (RELATIONAL_NORMALIZER, "relational"):
        yield from _relational_config.find(config, (*keys, "config"))


_json_normalizer_keys = record({"module": text, "config": or_null(map_of(anything))})
_json_normalizer = Check(_find_json_normalizer, _json_normalizer_keys.shape)

_normalizers = record(
    {
        "names": text,
        "allow_identifier_change_on_table_with_data": or_null(boolean),
        "use_break_path_on_normalize": or_null(boolean),
        "detections": or_null(list_of(text)),
        "json": _json_normalizer,
    }
)

_schema = record(
    {
        "version": count,
        "version_hash": text,
        "previous_hashes": list_of(text),
        "imported_version_hash": or_null(text),
        "engine_version": count,
        "name": schema_name,
        "description": or_null(text),
        "settings": or_null(_settings),
        "tables": map_of(_table),
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
            message = f"the parent `{parent}` of the table `{name}` does not exist"
            yield Finding(("tables", name, "parent"), message, did_you_mean(parent, tables))


def _parents_end(stored: Mapping[str, Any]) -> Iterator[Finding]:
    """Find tables that are nested in themselves: whoever looks for their root would never end, dlt among them."""
    tables = stored["tables"]
    ending: set[str] = set()
    for name in tables:
        way: dict[str, None] = {}
        at = name
        while at in tables and at not in way and at not in ending:
            way[at] = None
            at = tables[at].get("parent")
        if at in way:
            circle = list(way)[list(way).index(at) :]
            message = f"the table `{at}` is nested in itself: {' in '.join(f'`{each}`' for each in (*circle, at))}"
            yield Finding(("tables", at, "parent"), message, "a root table has no `parent`")
        ending.update(way)


def _own_tables_exist(stored: Mapping[str, Any]) -> Iterator[Finding]:
    # A naming convention may write dlt's names in capitals.
    present = {name.lower() for name in stored["tables"]}
    for name in (VERSION_TABLE, LOADS_TABLE):
        if name not in present:
            hint = "dlt keeps its book there; copy the table from another schema file"
            yield Finding(("tables",), f"the table `{name}` is missing in `tables`", hint)
