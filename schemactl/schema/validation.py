"""Checks that dlt would accept a stored schema of the current engine version (docs/dlt.md §1.1 to §1.6).

All faults of the schema are reported at once; nothing is raised or repaired. A section is a table of keys and checks of
their values, so a new key is one line; each check includes a JSON Schema of the accepted values, for editors. Locations
in files are resolved elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from schemactl.errors import InputError, did_you_mean
from schemactl.schema import templates
from schemactl.schema.arrow_hint import NESTED_TYPE, NESTED_TYPE_HINT, check_text
from schemactl.schema.coercion import INT64, UINT64_LIMIT
from schemactl.schema.contract import CONTRACT, PROMOTION_HINT, Entity, Promotion
from schemactl.schema.detectors import DETECTORS
from schemactl.schema.hints import FLAGS
from schemactl.schema.paths import PREFIX, compile_path
from schemactl.schema.types import DataType

Keys = tuple[str | int, ...]
"""The way from the top of a document to a value: keys of mappings, positions (from 0) in lists."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault in a stored schema and its location; a missing key is located at its mapping."""

    keys: Keys
    message: str
    hint: str | None = None


Find = Callable[[Any, Keys], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Check:
    """A condition on values: a function that finds faults in a value, and a JSON Schema that accepts valid values."""

    find: Find
    shape: Mapping[str, Any]


_MAPPING = (dict, Mapping)
"""``isinstance`` with only the abstract class is slow, and nearly all mappings are dicts."""


def _find_text(value: Any, keys: Keys) -> Iterator[Finding]:
    if not isinstance(value, str):
        hint = None if isinstance(value, (Mapping, list)) or value is None else "put it in quotes"
        yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not text", hint)


def _find_integer(value: Any, keys: Keys) -> Iterator[Finding]:
    # Bools are integers to Python, and dlt asks no more.
    if not isinstance(value, int):
        unquoted = isinstance(value, str) and re.fullmatch(r"[-+]?\d+", value)
        hint = f"write `{value}` without quotes" if unquoted else None
        yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not a whole number", hint)


def _find_count(value: Any, keys: Keys) -> Iterator[Finding]:
    # To Python, and so to dlt, a bool is an int; as a version it would be nonsense.
    if isinstance(value, bool):
        yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not a whole number")
    else:
        yield from _find_integer(value, keys)


def _find_size(value: Any, keys: Keys) -> Iterator[Finding]:
    if isinstance(value, int) and not isinstance(value, bool) and value < 0:
        yield Finding(keys, f"{_named(keys)} is {_shown(value)}, and no size is less than 0")
    else:
        yield from _find_integer(value, keys)


def _find_boolean(value: Any, keys: Keys) -> Iterator[Finding]:
    if not isinstance(value, bool):
        hint = "write `true` or `false`, no quotes"
        yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not true or false", hint)


def _find_schema_name(value: Any, keys: Keys) -> Iterator[Finding]:
    if isinstance(value, str) and not templates.is_name(value):
        yield Finding(keys, f"{_shown(value)} cannot name a schema", templates.NAME_HINT)
    else:
        yield from _find_text(value, keys)


def _find_pattern(value: Any, keys: Keys) -> Iterator[Finding]:
    if isinstance(value, str) and value.startswith(("re:", PREFIX)):
        yield from prefixed(value, keys)
    elif isinstance(value, str) and re.match(r"[^a-zA-Z\d_]", value):
        yield Finding(keys, f"{_shown(value)} looks like a regular expression", f"write `re:{value}`")
    else:
        yield from _find_text(value, keys)


def prefixed(value: str, keys: Keys) -> Iterator[Finding]:
    """Check the regular expression after ``re:``, and the path after ``path:``; any other text is a name."""
    try:
        if value.startswith(PREFIX):
            compile_path(value)
        elif value.startswith("re:"):
            re.compile(value.removeprefix("re:"))
    except InputError as error:
        yield Finding(keys, error.message, error.hint)
    except (re.error, OverflowError, RecursionError) as error:
        yield Finding(keys, f"{_shown(value)} is not a regular expression: {error}")


text = Check(_find_text, {"type": "string"})
integer = Check(_find_integer, {"type": "integer"})
count = Check(_find_count, {"type": "integer"})
size = Check(_find_size, {"type": "integer", "minimum": 0})
"""A number of bits, digits or characters."""
boolean = Check(_find_boolean, {"type": "boolean"})
anything = Check(lambda _value, _keys: iter(()), {})
schema_name = Check(_find_schema_name, {"type": "string", "maxLength": templates.MAX_NAME_LENGTH})
"""An identifier of limited length."""
pattern = Check(_find_pattern, {"type": "string"})
"""dlt's SimpleRegex, a name, or ``re:`` and a regular expression; or ``path:`` and a path in the data."""


def one_of(*words: str, synonyms: Mapping[str, str] | None = None) -> Check:
    """Return the check for a value from a list of words; ``synonyms`` are other tools' words for them."""

    def checked(value: Any, keys: Keys) -> Iterator[Finding]:
        if isinstance(value, str) and value in words:
            return
        name = value.lower() if isinstance(value, str) else ""
        word = name if name in words else (synonyms or {}).get(name)
        near = f"did you mean `{word}`?" if word else did_you_mean(name, words)
        yield Finding(keys, f"{_named(keys)} is {_shown(value)}", near or "one of " + ", ".join(words))

    return Check(checked, {"enum": list(words)})


def or_null(inner: Check) -> Check:
    """Make the check that also lets null through."""
    find = inner.find
    shape = dict(inner.shape)
    if "enum" in shape:
        shape["enum"] = [*shape["enum"], None]
    elif "type" in shape:
        shape["type"] = [shape["type"], "null"]
    elif shape:
        shape = {"anyOf": [shape, {"type": "null"}]}
    return Check(lambda value, keys: iter(()) if value is None else find(value, keys), shape)


def list_of(item: Check) -> Check:
    """Return a check of a list of items that pass a check."""
    find = item.find

    def checked(value: Any, keys: Keys) -> Iterator[Finding]:
        if not isinstance(value, list):
            yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not a list")
            return
        for position, element in enumerate(value):
            yield from find(element, (*keys, position))

    return Check(checked, {"type": "array", "items": item.shape})


def map_of(item: Check, key: Find | None = None) -> Check:
    """Return a check of a mapping with values that pass a check; ``key`` checks its keys."""
    find = item.find

    def checked(value: Any, keys: Keys) -> Iterator[Finding]:
        if not isinstance(value, _MAPPING):
            yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not a mapping")
            return
        yield from _keys_are_text(value, keys)
        for name, element in value.items():
            if key and isinstance(name, str):
                yield from key(name, (*keys, name))
            yield from find(element, (*keys, name))

    return Check(checked, {"type": "object", "additionalProperties": item.shape})


def _keys_are_text(value: Mapping[Any, Any], keys: Keys) -> Iterator[Finding]:
    for name in value:
        if not isinstance(name, str):
            hint = "put it in quotes, so YAML reads it as text"
            yield Finding((*keys, name), f"the key {_shown(name)} in {_named(keys)} is not text", hint)


def record(
    fields: Mapping[str, Check],
    required: Mapping[str, str] | None = None,
    gone: Mapping[str, str] | None = None,
    own_keys: bool = True,
) -> Check:
    """Return a check of a mapping with known keys, and with ``own_keys`` also of keys that start with ``x-``.

    ``required`` keys, and keys that are ``gone`` or belong elsewhere, have hints with the right spelling.
    """
    finds = {name: check.find for name, check in fields.items()}
    shape = {
        "type": "object",
        "properties": {name: check.shape for name, check in fields.items()},
        **({"patternProperties": {"^x-": {}}} if own_keys else {}),
        "additionalProperties": False,
    }

    def checked(value: Any, keys: Keys) -> Iterator[Finding]:
        if not isinstance(value, _MAPPING):
            yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not a mapping")
            return
        for missing in (name for name in required or {} if name not in value):
            yield Finding(keys, f"`{missing}` is missing in {_named(keys)}", (required or {})[missing])
        yield from _keys_are_text(value, keys)
        for name, element in value.items():
            if name in finds:
                yield from finds[name](element, (*keys, name))
            elif isinstance(name, str) and not (own_keys and name.startswith("x-")):
                ours = "start your own keys with `x-`" if own_keys else None
                hint = (gone or {}).get(name) or did_you_mean(name, fields) or ours
                yield Finding((*keys, name), f"unknown key `{name}` in {_named(keys)}", hint)

    return Check(checked, shape)


def storable(value: Any, keys: Keys) -> Iterator[Finding]:  # noqa: C901 - a case for each type
    """Find values that neither dlt's hash nor a file can represent."""
    match value:
        case str():
            if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
                yield Finding(keys, f"{_named(keys)} contains an incomplete surrogate pair")
        case bool():
            return
        case int():
            if not INT64.start <= value < UINT64_LIMIT:
                yield Finding(keys, f"{_named(keys)} does not fit 64 bits", "put it in quotes")
        case dict() | Mapping():
            for name, element in value.items():
                # Texts in ASCII and booleans are nearly all of a schema; a generator for each takes most of the time.
                if not (isinstance(name, str) and name.isascii()):
                    yield from storable(name, (*keys, name))
                if not (isinstance(element, bool) or (isinstance(element, str) and element.isascii())):
                    yield from storable(element, (*keys, name))
        case list():
            for position, element in enumerate(value):
                yield from storable(element, (*keys, position))


def _named(keys: Keys) -> str:
    """Return the name of a location for messages: its key, with its container if that helps."""
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
        case int() if not INT64.start <= value < UINT64_LIMIT:
            return "a number of more than 64 bits"
        case _:
            return f"`{_clean(value)}`"


_SHOWN_CHARACTERS = 60


def _clean(value: Any) -> str:
    """Return a value as a message can hold it: short, on one line, printable."""
    full = str(value)
    cut = full if len(full) <= _SHOWN_CHARACTERS else full[: _SHOWN_CHARACTERS - 1] + "…"
    return "".join(character if character.isprintable() else "�" for character in cut)


def check(stored: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Return all faults because of which dlt would reject the stored schema.

    References between parts are only checked if each part is valid. The schema is passed as in its file, with YAML
    dates and bytes.
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
_promotion = one_of(*Promotion)
_promotion_entities = record(
    {Entity.DATA_TYPE: or_null(_promotion)},
    gone=dict.fromkeys((Entity.TABLES, Entity.COLUMNS), f"only data types are promoted: use `{CONTRACT}`"),
    own_keys=False,
)


def _find_contract(value: Any, keys: Keys) -> Iterator[Finding]:
    modes = {(*keys, entity): mode for entity, mode in value.items()} if isinstance(value, Mapping) else {keys: value}
    promoting = {path: mode for path, mode in modes.items() if mode in (Promotion.PROMOTE, Promotion.PROMOTE_TEXT)}
    for path, mode in promoting.items():
        message = f"{_named(path)} is `{mode}`, which dlt refuses"
        yield Finding(path, message, f"write `{PROMOTION_HINT}: {{data_type: {mode}}}` next to `{CONTRACT}`")
    if isinstance(value, Mapping):
        checked = {entity: mode for entity, mode in value.items() if (*keys, entity) not in promoting}
        yield from _contract_entities.find(checked, keys)
    elif not promoting:
        yield from _mode.find(value, keys)


_contract = Check(_find_contract, {"anyOf": [_mode.shape, _contract_entities.shape]})
_promotion_hint = or_null(
    Check(
        lambda value, keys: (_promotion_entities if isinstance(value, Mapping) else _promotion).find(value, keys),
        {"anyOf": [_promotion.shape, _promotion_entities.shape]},
    )
)


_IN_SETTINGS = f"put it into `settings` for all tables: `settings: {{{PROMOTION_HINT}: {{data_type: promote}}}}`"
_misplaced_promotion = Check(
    lambda _value, keys: iter((Finding(keys, f"`{PROMOTION_HINT}` has no effect here", _IN_SETTINGS),)), {"not": {}}
)

_FLAGS = ("nullable", "timezone", "variant", *FLAGS)


def _find_nested_type(value: Any, keys: Keys) -> Iterator[Finding]:
    yield from text.find(value, keys)
    if isinstance(value, str):
        try:
            check_text(value)
        except ValueError as error:
            yield Finding(keys, f"`{keys[-1]}` contains no Arrow type: {error}", NESTED_TYPE_HINT)


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
        PROMOTION_HINT: _promotion_hint,
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
        CONTRACT: or_null(_contract),
        PROMOTION_HINT: _promotion_hint,
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
    required={"columns": "write `columns: {}` for a table without columns"},
)


_detection = Check(
    lambda value, keys: iter(()) if value in DETECTORS else one_of(*DETECTORS).find(value, keys), text.shape
)

_settings = record(
    {
        CONTRACT: or_null(_contract),
        PROMOTION_HINT: _promotion_hint,
        "detections": or_null(list_of(_detection)),
        "default_hints": map_of(list_of(pattern)),
        "preferred_types": map_of(_data_type, key=prefixed),
    },
    gone=dict.fromkeys((*_FLAGS, "not_null", "foreign_key"), "write hints of columns below `default_hints`"),
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
    relational = (templates.RELATIONAL_NORMALIZER, "relational")
    if config is not None and value.get("module", relational[0]) in relational:
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
        PROMOTION_HINT: _misplaced_promotion,
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
        PROMOTION_HINT: _misplaced_promotion,
    },
    required={
        "version": "a new schema has `version: 1`",
        "engine_version": "the version of dlt's schema engine that wrote the file",
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
    """Find tables that are nested in themselves: a search for their root never ends, in dlt too."""
    tables = stored["tables"]
    ending: set[str] = set()
    for name in tables:
        way: dict[str, None] = {}
        ancestor = name
        while ancestor in tables and ancestor not in way and ancestor not in ending:
            way[ancestor] = None
            ancestor = tables[ancestor].get("parent")
        if ancestor in way:
            circle = list(way)[list(way).index(ancestor) :]
            chain = " in ".join(f"`{table}`" for table in (*circle, ancestor))
            message = f"the table `{ancestor}` is nested in itself: {chain}"
            yield Finding(("tables", ancestor, "parent"), message, "a root table has no `parent`")
        ending.update(way)


def _own_tables_exist(stored: Mapping[str, Any]) -> Iterator[Finding]:
    # A naming convention may write dlt's names in capitals.
    present = {name.lower() for name in stored["tables"]}
    for name in (templates.VERSION_TABLE, templates.LOADS_TABLE):
        if name not in present:
            hint = "this is a system table of dlt: copy it from another schema file"
            yield Finding(("tables",), f"the table `{name}` is missing in `tables`", hint)
