"""dlt reads what we write and we read what dlt writes, with one hash; what dlt refuses, we refuse."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
import yaml
from dlt.common.schema import Schema as DltSchema
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from outside_data import OutsideData

from schemactl.formats import dlt as dlt_format
from schemactl.formats._yaml_writer import yaml_text
from schemactl.schema.hash import bump, version_hash
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table
from schemactl.schema.validation import check
from schemactl.store.text import read_text
from schemactl.trees.yaml_scalars import Kind, kind_of, value_of

CONFORMANCE_FILES = [
    *(f"ethereum_schema_v{version}.yml" for version in range(3, 10)),
    *("ev1_event.schema.json", "event.schema.yaml", "rasa_event.schema.json"),
]


def dlt_reads(text: str, is_json: bool = False) -> DltSchema:
    return DltSchema.from_dict(json.loads(text) if is_json else yaml.safe_load(text))


@pytest.mark.parametrize("name", CONFORMANCE_FILES)
def test_files_of_all_engine_versions_read_as_dlt_reads_them(conformance: OutsideData, name: str):
    path = conformance("dlt/schemas") / name
    document = dlt_format.read(read_text(path), str(path))
    text = document.layout.source.text
    theirs = DltSchema.from_dict(yaml.safe_load(text))
    ours = bump(document.schema)
    assert (ours.version, ours.version_hash) == (theirs.version, theirs.version_hash)
    assert list(ours.previous_hashes) == theirs.previous_hashes
    assert dlt_reads(dlt_format.write(ours)).version_hash == theirs.version_hash
    # The file itself, brought up to date.
    is_json = name.endswith(".json")
    assert dlt_reads(dlt_format.write(ours, layout=document.layout), is_json).stored_version_hash == theirs.version_hash


@pytest.mark.parametrize("name", CONFORMANCE_FILES)
def test_dlts_exports_read_and_write_back_unchanged(conformance: OutsideData, name: str):
    text = (conformance("dlt/schemas") / name).read_text()
    theirs = DltSchema.from_dict(yaml.safe_load(text))
    for export, path in ((theirs.to_pretty_yaml(), "a.yaml"), (theirs.to_pretty_json(), "a.json")):
        document = dlt_format.read(export, path)
        assert version_hash(document.schema) == document.stated_hash == theirs.version_hash
        assert not document.is_edited
        assert dlt_format.write(document.schema, layout=document.layout) == export


@pytest.mark.parametrize("remove_defaults", [True, False])
def test_dlts_full_form_reads_to_the_same_hash(remove_defaults: bool):
    theirs = DltSchema("tiny")
    theirs._imported_version_hash = "imported"
    text = theirs.to_pretty_json(remove_defaults=remove_defaults)
    document = dlt_format.read(text, "a.json")
    assert version_hash(document.schema) == theirs.version_hash
    assert dlt_format.write(document.schema, layout=document.layout) == text


def test_a_new_schema_is_exported_byte_for_byte():
    ours = bump(new_schema("tiny"))
    theirs = DltSchema("tiny")
    assert dlt_format.write(ours) == theirs.to_pretty_yaml()
    assert dlt_format.write(ours, path="a.json") == theirs.to_pretty_json()


TEXTS = st.lists(
    st.sampled_from(
        [
            *(
                "a",
                "b c",
                "word ",
                "  ",
                " ",
                "'",
                '"',
                "#",
                " #",
                ": ",
                ":",
                "-",
                "- ",
                "?",
                "\n",
                "\n\n",
                "\t",
                "é",
                "漢",
            ),
            *(
                "😀",
                "\0",
                "\a",
                "\xa0",
                "\ufeff",
                "{",
                "}",
                "[",
                ",",
                "&",
                "*",
                "!",
                "|",
                ">",
                "%",
                "@",
                "`",
                "yes",
                "null",
            ),
            *("1", "0x1f", "2024-01-01", "~", "<<", "=", "...", "---", "\\", "long words here to fold " * 4),
        ]
    ),
    max_size=10,
).map("".join)


@settings(max_examples=300)
@given(text=TEXTS)
def test_yaml_is_written_byte_for_byte(text: str):
    value = {
        text: 1,
        "k": text,
        "l": [text, {"n": text, "m": [text, [text]]}, [], {}],
        f"{text}{'x' * 60}": {"a": [text]},
    }
    theirs = yaml.safe_dump(value, allow_unicode=True, default_flow_style=False, sort_keys=False)
    assert yaml_text(value) == theirs


PLAIN = st.text("0123456789-+._:eExbTZtno~<", min_size=1, max_size=8) | st.sampled_from(
    [
        "yes",
        "No",
        "NULL",
        "oFF",
        ".inf",
        "-.INF",
        ".NaN",
        "1_0",
        "0o7",
        "12:30:10",
        "2024-1-2 3:04:05.6 +01:30",
        "2024-01-02",
    ]
)


@settings(max_examples=400)
@given(text=PLAIN)
def test_plain_scalars_are_read_alike(text: str):
    loader = yaml.SafeLoader("")
    tag = loader.resolve(yaml.ScalarNode, text, (True, False))
    kind = kind_of(text)
    assert f"tag:yaml.org,2002:{kind.value}" == tag
    if kind is not Kind.MERGE:
        assert _outcome(lambda: value_of(kind, text)) == _outcome(
            lambda: loader.construct_object(yaml.ScalarNode(tag, text))
        )


def _outcome(read: Any) -> str:
    try:
        return repr(read())
    except (ValueError, IndexError):
        return "refused"


@given(text=TEXTS, as_json=st.booleans())
def test_dlt_reads_what_we_write(text: str, as_json: bool):
    column = Column("c", {"data_type": "text", "description": text, "x-own": {text: [text, None, 1.5]}})
    ours = bump(new_schema("tiny").with_table(_table(column)))
    theirs = dlt_reads(dlt_format.write(ours, path="a.json" if as_json else None), as_json)
    assert (theirs.stored_version, theirs.stored_version_hash) == (ours.version, ours.version_hash)
    assert dlt_format.write(ours) == theirs.to_pretty_yaml()


def _table(*columns: Column) -> Table:
    return Table("t", {column.name: column for column in columns}, {"write_disposition": "append", "resource": "t"})


def test_yaml_dates_and_bytes_hash_as_in_dlt():
    hints = (
        "x-hint: [2024-01-02, 2024-01-02 03:04:05.6 +02:00, 2024-01-02T03:04:05, !!binary aGk=, {1: a, yes: b}, .nan]"
    )
    column = f"  t:\n    write_disposition: append\n    resource: t\n    columns:\n      c:\n        {hints}\n"
    text = dlt_format.write(new_schema("tiny")).replace("settings:\n", f"{column}settings:\n", 1)
    assert version_hash(dlt_format.read(text, "a.yaml").schema) == dlt_reads(text).version_hash


def full_schema() -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(json.dumps(DltSchema("tiny").to_dict()))
    reference = {"columns": ["a"], "referenced_table": "b", "referenced_columns": ["c"]}
    stored["tables"]["orders"] = {
        "columns": {"id": {"data_type": "bigint", "nullable": False, "x-h": 1}, "b": {}},
        "write_disposition": "merge",
        "resource": "o",
        "references": [{**reference, "cardinality": "one_to_many", "label": "l", "table": "x"}],
        "filters": {"excludes": ["re:a"], "includes": ["b"]},
        "schema_contract": {"tables": "evolve"},
        "x-normalizer": {"seen-data": True},
        "file_format": "parquet",
        "table_format": "delta",
        "description": "d",
        "variant_name": "v",
        "table_sealed": True,
    }
    stored["tables"]["kid"] = {"columns": {}, "parent": "orders", "schema_contract": "freeze"}
    stored["settings"] |= {"schema_contract": "freeze", "preferred_types": {"re:x": "text", "b": "date"}}
    propagation = {"root": {"a": "b"}, "tables": {"t": {"x": "y"}}}
    config = {"max_nesting": 1, "root_key_propagation": True, "propagation": propagation}
    stored["normalizers"]["json"]["config"] = config
    stored["normalizers"] |= {"use_break_path_on_normalize": False, "detections": ["a"]}
    return {**stored, "description": "d", "imported_version_hash": "h"}


def places(value: Any, keys: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [keys, *(place for key, part in parts for place in places(part, (*keys, key)))]


# dlt takes true and false as versions; names of modules are looked up later.
PLACES = [
    keys
    for keys in places(full_schema())
    if keys and keys not in (("version",), ("engine_version",)) and keys[-1] not in ("names", "module")
]
KEYS: list[str] = [
    *("foo", "x-foo", "data_type", "data_types", "nullable", "columns", "parent", "name"),
    *("description", "foreign_key", "dedup_sort", "precision", "timezone", "incremental", "config", "excludes"),
    *(
        "write_disposition",
        "schema_contract",
        "detections",
        "default_hints",
        "preferred_types",
        "primary_key",
        "references",
        "table_format",
    ),
    *("file_format", "filters", "x-normalizer", "resource", "scale", "cardinality", "label", "tables"),
]
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2.5, "", "text", "x", "re:[", "^a", "re:a", "freeze", "append", "asc", "bigint"),
    *("orders", [], ["a"], [1], [None], {}, {"a": 1}, {"tables": "freeze"}, {"x-a": 2}, {"a": "b"}, ["re:["], [{}]),
    *({"columns": {}}, "one_to_one", "delta", "iso_timestamp", ["iso_timestamp"]),
]


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    place=st.sampled_from(PLACES),
    change=st.sampled_from(["drop", "set", "add"]),
    key=st.sampled_from(KEYS),
    value=st.sampled_from(VALUES),
)
def test_what_dlt_refuses_is_refused(place: tuple[Any, ...], change: str, key: str, value: Any):
    stored = full_schema()
    holder: Any = stored
    for step in place[:-1]:
        holder = holder[step]
    if change == "drop":
        del holder[place[-1]]
    elif change == "set" or not isinstance(holder[place[-1]], dict):
        holder[place[-1]] = copy.deepcopy(value)
    else:
        holder[place[-1]][key] = copy.deepcopy(value)
    # dlt takes a size below 0, which no destination has.
    found = check(copy.deepcopy(stored))
    findings = tuple(each for each in found if "no size is less than 0" not in each.message)
    try:
        theirs = DltSchema.from_dict(copy.deepcopy(stored))
    except Exception:
        assert findings
        return
    assert findings == ()
    if "propagation" not in place and not found:
        # dlt normalizes the names in `propagation` while it reads (docs/differences.md).
        assert version_hash(dlt_format.read(json.dumps(stored), "a.json").schema) == theirs.version_hash
