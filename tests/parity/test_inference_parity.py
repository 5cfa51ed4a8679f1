"""Schemas inferred from evidence equal those that dlt infers row by row."""

from __future__ import annotations

import copy
import csv
import itertools
import json
from contextlib import contextmanager

import dlt
import pytest
from dlt.common.configuration.container import Container
from dlt.common.destination import DestinationCapabilitiesContext
from dlt.common.schema import Schema as DltSchema
from dlt.common.schema.exceptions import CannotCoerceColumnException, CannotCoerceNullException
from dlt.common.schema.utils import new_table
from dlt.normalize.configuration import NormalizeConfiguration
from dlt.normalize.items_normalizers.jsonl import JsonLItemsNormalizer
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from schemactl.inference.evidence import Position, observe
from schemactl.inference.resolve import resolve
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import schema_from_dict

MANY = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))

MEANT_DIFFERENCES = {
    "integers": "dlt's extraction refuses integers outside -2**63..2**64-1",
    "variants": "dlt raises where neither a column nor its variant takes a value; we add a further variant",
    "row keys": "nested rows take the key of the row above them, whose kinds we do not count for every nested table",
    "wei": "dlt puts a first number past the range of a wei into `a__v_str`, later ones into `a`; we all into `a`",
    "nulls": "dlt raises at a null in a column that allows none; we report it and read on",
    "collisions": "dlt keeps the last of the values of one row that go to one column; for us they all count",
}
"""What docs/differences.md tells at length. Made-up documents are kept clear of these; each has a test of its own."""


REFUSALS = (CannotCoerceColumnException, CannotCoerceNullException, OSError, ArithmeticError)
"""How dlt ends a load; the last two come from epochs and decimals out of range, which it means to catch."""

# dlt as the reference


@contextmanager
def destination(max_identifier_length):
    """dlt takes the longest identifier from the destination."""
    capabilities = DestinationCapabilitiesContext.generic_capabilities()
    capabilities.max_identifier_length = max_identifier_length or 65536
    with Container().injectable_context(capabilities):
        yield capabilities


class Writer:
    """Takes the rows that dlt writes, in place of a load package."""

    def __init__(self):
        self.tables = set()

    def write_data_item(self, _load_id, _schema_name, table, *_):
        self.tables.add(table)


class Reference:
    """dlt's normalise step without its files."""

    def __init__(self, stored, source, capabilities):
        extracted = DltSchema.from_dict(copy.deepcopy(stored))
        root = new_table(source, write_disposition="append", resource=source)
        self.root = extracted.update_table(root)["name"]
        # as between extract and normalize: the config of the normaliser is read when a schema is loaded
        self.schema = DltSchema.from_dict(extracted.to_dict(bump_version=False))
        self._writer = Writer()
        config = NormalizeConfiguration()
        config.destination_capabilities = capabilities
        self._normalizer = JsonLItemsNormalizer(self._writer, None, None, self.schema, "load", config)

    def add(self, document):
        self._normalizer._normalize_chunk(self.root, [document], False, False)

    def finish(self):
        for name in self._writer.tables:
            table = self.schema.tables[name]
            marks = {key: mark for key, mark in table.get("x-normalizer", {}).items() if key != "evolve-columns-once"}
            table["x-normalizer"] = {**marks, "seen-data": True}
        return self.schema.to_dict()


def by_dlt(stored, source, documents, max_identifier_length=None):
    """Return dlt's schema and the documents that dlt takes; it loads the others' neighbours without them."""
    taken = list(documents)
    with destination(max_identifier_length) as capabilities:
        while True:
            reference = Reference(stored, source, capabilities)
            for number, document in enumerate(taken):
                try:
                    reference.add(copy.deepcopy(document))
                except REFUSALS:
                    del taken[number]
                    break
            else:
                return reference.finish(), taken


def by_schemactl(stored, source, documents, max_identifier_length=None):
    before = schema_from_dict(copy.deepcopy(stored))
    resolution = resolve(evidence_of(documents), before, source, max_identifier_length=max_identifier_length)
    assert not resolution.nulls
    return bump(resolution.schema).to_dict()


def evidence_of(documents):
    return observe((Position("data.jsonl", number), document) for number, document in enumerate(documents, 1))


def comparable(stored):
    """Make the order of columns and of their properties count, as in the file; versions count how often dlt saves."""
    tables = {name: {**table, "columns": _in_order(table["columns"])} for name, table in stored["tables"].items()}
    return {**stored, "tables": tables, "version": None, "previous_hashes": None}


def _in_order(columns):
    # dlt puts `name` now first, now last: it is the key again
    return [(key, [item for item in column.items() if item[0] != "name"]) for key, column in columns.items()]


def assert_alike(stored, source, documents, max_identifier_length=None):
    theirs, taken = by_dlt(stored, source, documents, max_identifier_length)
    assume(not any(name.endswith("v_str") for table in theirs["tables"].values() for name in table["columns"]))
    ours = by_schemactl(stored, source, taken, max_identifier_length)
    assert comparable(ours) == comparable(theirs)


def has_collision(stored, source, documents, max_identifier_length=None):
    """Return whether dlt loses a value, seen by marking all of them."""
    with destination(max_identifier_length):
        for document in documents:
            schema = DltSchema.from_dict(copy.deepcopy(stored))
            marks = itertools.count()
            marked = _marked(copy.deepcopy(document), marks)
            rows = list(schema.normalize_data_item(marked, "load", source))
            text = json.dumps([row for _, row in rows], default=str)
            if any(f"<{number}>" not in text for number in range(next(marks))):
                return True
    return False


def _marked(value, marks):
    match value:
        case dict():
            return {
                key: item if key.strip().startswith("_dlt") and not isinstance(item, dict | list) else _marked(item, marks)
                for key, item in value.items()
            }
        case list():
            return [*(_marked(item, marks) for item in value), f"<{next(marks)}>"]
        case _:
            return f"<{next(marks)}>"


# made-up documents

LONG = "a key that is much longer than any identifier may be " * 6

keys = st.sampled_from(
    [
        *("a", "b", "c", "id", "created_at", "items", "value", "list", "name"),
        *("A", "aB", "a_b", "a__b", "a__v_text", "v_text", "b__v_complex", "x-y", "a.b", "ż", "1a", "🚀"),
        *("", " ", "_", "__", "_dlt_id", "_dlt_load_id", "_dlt_list_idx", "_dlt_parent_id", "_dlt_root_id"),
        *(LONG, LONG + "!", "a_rather_long_key_of_the_data", "a_rather_long_key_of_the_other_data"),
    ]
)
numbers = st.sampled_from([0, 1, -1, 12, 70_000, 1_700_000_000, 2**53, 2**63 - 1, -(2**63), 2**63, 2**64 - 1]) | (
    st.integers(-(2**63), 2**64 - 1)
)
floats = st.sampled_from([0.0, -0.0, 1.0, 1.5, 1e20, 1e300, 5e-324]) | st.floats(allow_nan=False, allow_infinity=False)
texts = st.sampled_from(
    [
        *("", "plain words", "12", "12.5", " 7 ", "1_000", "0x1f", "1e3", "NaN", "true", "no", "t", "null"),
        *("2024-01-02T03:04:05Z", "2024-01-02 03:04", "2024-01-02", "2024", "20240102", "1700000000", "03:04:05"),
        *("YQ==", '{"a":1}', "[1]", "{", "Żółw", "idx-nr-136"),
    ]
)
scalars = st.none() | st.booleans() | numbers | floats | texts


def nested(keys):
    return st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4), max_leaves=8
    )


def documents_of(keys):
    objects = st.dictionaries(keys, nested(keys), max_size=5)
    return st.lists(objects | st.lists(scalars, max_size=2) | scalars if keys is None else objects, min_size=1, max_size=5)


def with_keys_of_one_kind(value):
    """Make texts of row keys: what nested rows get from keys of several kinds is one of the meant differences."""
    match value:
        case dict():
            return {
                key: (item and "key") if key == "_dlt_id" else with_keys_of_one_kind(item) for key, item in value.items()
            }
        case list():
            return [with_keys_of_one_kind(item) for item in value]
        case _:
            return value


few_keys = st.sampled_from(["a", "b", "items", "_dlt_id"])
documents = (documents_of(keys) | documents_of(few_keys)).map(with_keys_of_one_kind)

# made-up schemas

types = st.sampled_from("text double bool timestamp bigint binary json decimal wei date time".split())
patterns = st.sampled_from(["a", "b", "value", "re:^a", "re:_at$", "re:^a__", "items", "re:v_text$", "id"])
columns = st.fixed_dictionaries(
    {},
    optional={
        "data_type": types,
        "nullable": st.booleans(),
        "primary_key": st.just(True),
        "precision": st.just(32),
        "x-hint": st.just("kept"),
        "root_key": st.booleans(),
        "row_key": st.booleans(),
        "description": st.just("stated"),
    },
)
column_names = st.sampled_from(["a", "b", "id", "value", "a__b", "a__v_text", "a__v_bigint", "b__v_complex", "items"])
own_columns = st.dictionaries(column_names, columns, max_size=4)
detections = st.lists(
    st.sampled_from(["timestamp", "iso_timestamp", "iso_date", "large_integer", "wei_to_double", "hexbytes_to_text"]),
    unique=True,
)
hints = st.dictionaries(
    st.sampled_from(["not_null", "unique", "primary_key", "sort", "x-hint", "nullable"]),
    st.lists(patterns, min_size=1, max_size=2),
    max_size=2,
)


namings = st.sampled_from(["snake_case", "duck_case", "direct", "sql_cs_v1", "sql_ci_v1"])


@st.composite
def schemas(draw, namings=st.just("snake_case")):
    """Return a stored schema, as dlt would write it, which may know the root table and a nested one already."""
    config = {}
    if draw(st.booleans()):
        config["max_nesting"] = draw(st.integers(0, 3))
    if draw(st.booleans()):
        config["root_key_propagation"] = draw(st.booleans())
    if draw(st.integers(0, 4)) == 0:
        config["propagation"] = {"root": {"_dlt_id": draw(st.sampled_from(["_dlt_root_id", "root_key"]))}}
    naming = draw(namings)
    stored = DltSchema("made", normalizers={"names": naming}).to_dict()
    if config:
        stored["normalizers"]["json"]["config"] = config
    stored["settings"]["detections"] = draw(detections | st.just(["iso_timestamp"]))
    stored["settings"]["default_hints"].update(draw(hints | st.just({})))
    if draw(st.booleans()):
        stored["settings"]["preferred_types"] = draw(st.dictionaries(patterns, types, min_size=1, max_size=2))
    if draw(st.booleans()):
        stored["tables"]["data"] = _table(draw(own_columns), resource="data", write_disposition="append")
        if draw(st.booleans()):
            stored["tables"]["data"]["x-normalizer"] = draw(
                st.sampled_from([{"max_nesting": 1}, {"evolve-columns-once": True}, {"seen-data": True}])
            )
        if draw(st.booleans()):
            nested = {"parent": "data"} if draw(st.booleans()) else {"resource": "data"}
            stored["tables"]["data__items"] = _table(draw(own_columns), **nested)
    return DltSchema.from_dict(stored).to_dict()


def _table(columns, **properties):
    return {"columns": copy.deepcopy(columns), **properties}


PLAIN = bump(new_schema("made")).to_dict()


@MANY
@given(documents)
def test_documents_under_a_new_schema(found):
    assume(not has_collision(PLAIN, "data", found))
    assert_alike(PLAIN, "data", found)


@MANY
@given(schemas(), documents)
def test_documents_under_a_known_schema(stored, found):
    assume(not has_collision(stored, "data", found))
    assert_alike(stored, "data", found)


@MANY
@given(schemas(namings), st.sampled_from([None, 20, 30, 63]), documents)
def test_names(stored, max_identifier_length, found):
    assume(not has_collision(stored, "Some Data", found, max_identifier_length))
    assert_alike(stored, "Some Data", found, max_identifier_length)
