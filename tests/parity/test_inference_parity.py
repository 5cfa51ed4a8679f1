"""Schemas inferred from evidence equal those that dlt infers row by row."""

from __future__ import annotations

import copy
import csv
import itertools
import json
import re
from contextlib import contextmanager
from dataclasses import replace

import dlt
import pytest
from dlt.common.configuration.container import Container
from dlt.common.destination import DestinationCapabilitiesContext
from dlt.common.schema import Schema as DltSchema
from dlt.common.schema.exceptions import CannotCoerceColumnException, CannotCoerceNullException
from dlt.common.schema.utils import new_table
from dlt.normalize.configuration import NormalizeConfiguration
from dlt.normalize.items_normalizers.jsonl import JsonLItemsNormalizer
from dlt.pipeline.exceptions import PipelineStepFailed
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from keys_of_one_kind import with_keys_of_one_kind

from schemactl.inference.evidence import Position, observe
from schemactl.inference.resolve import ResolveOptions, resolve
from schemactl.schema.coercion import is_beyond_64_bits
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import DataType, schema_from_dict

MANY = settings(suppress_health_check=list(HealthCheck))

MEANT_DIFFERENCES = (
    "Integers past 64 bits: dlt's extraction refuses those outside -2**63..2**64-1.",
    "A variant of a variant: dlt raises where neither a column nor its variant takes a value; we add a variant.",
    "Nulls: dlt raises at a null in a column that allows none; we report it and read on.",
    "Collisions: of the values of one row that go to one column dlt keeps the last; for us they all count. A variant "
    "may collide with a key, too: `a__v_text` of the data.",
    "Empty names: a key of nothing but underscores gives a column that dlt never takes for complete.",
    "Values that nested tables take from the rows above: a `_dlt_id` of the data, and what the config propagates. What "
    "kinds there are of them is seen where they stand, not for each nested table.",
    "Wei: a first number past the range of a preferred type `wei` goes to `a__v_str` in dlt, here to `a`, as the "
    "later ones do.",
    "Sizes: a column of 32 bits grows with the integers that have no room in it; dlt's stays.",
    "Failures: dlt ends with an OSError or an ArithmeticError where a number is no epoch or no decimal.",
)
"""See docs/differences.md. Made-up documents are kept clear of these; what a user may meet has a test of its own."""

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


def known_to_dlt(stored):
    """Return the schema of what dlt has written, without the check that takes most of the time of loading one."""
    return DltSchema.from_dict(copy.deepcopy(stored), validate_schema=False)


class Reference:
    """dlt's normalize step without its files."""

    def __init__(self, stored, source, capabilities):
        extracted = known_to_dlt(stored)
        root = new_table(source, write_disposition="append", resource=source)
        self.root = extracted.update_table(root)["name"]
        # as between extract and normalize: the config of the normalizer is read when a schema is loaded
        self.schema = DltSchema.from_dict(extracted.to_dict(bump_version=False), validate_schema=False)
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
    """Return dlt's schema and the documents that dlt takes; it loads the others' neighbors without them."""
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
    return by_evidence(stored, source, evidence_of(documents), max_identifier_length)


def by_evidence(stored, source, evidence, max_identifier_length=None):
    before = schema_from_dict(copy.deepcopy(stored))
    resolution = resolve(evidence, before, source, ResolveOptions(max_identifier_length=max_identifier_length))
    assert not resolution.nulls
    return bump(resolution.schema).to_dict()


def evidence_of(documents):
    return observe(positioned(documents))


def positioned(documents):
    return [(Position("data.jsonl", number), document) for number, document in enumerate(documents, 1)]


def comparable(stored):
    """Make the order of columns and of their properties count, as in the file; versions count how often dlt saves."""
    tables = {name: {**table, "columns": _in_order(table["columns"])} for name, table in stored["tables"].items()}
    return {**stored, "tables": tables, "version": None, "previous_hashes": None}


def _in_order(columns):
    # dlt puts `name` now first, now last: it is the key again
    return [(key, [item for item in column.items() if item[0] != "name"]) for key, column in columns.items()]


def assert_alike(stored, source, documents, max_identifier_length=None):
    theirs, taken = by_dlt(stored, source, documents, max_identifier_length)
    if is_of_wei(theirs):
        return
    ours = by_schemactl(stored, source, taken, max_identifier_length)
    assert comparable(ours) == comparable(theirs)


def test_collisions_are_seen():
    assert has_collision(PLAIN, "data", [{"Id": 1, "id": None}])
    assert has_collision(PLAIN, "data", [{"x": 1}, {"l": [{"Id": [], "id": [1]}]}])
    assert not has_collision(PLAIN, "data", [{"Id": 1, "_dlt_id": 0, "_dlt_load_id": 1}, {"id": 1}])


def is_of_wei(stored):
    """Return whether this is the difference "Wei" above."""
    return any(name.endswith("v_str") for table in stored["tables"].values() for name in table["columns"])


def has_collision(stored, source, documents, max_identifier_length=None):
    """Return whether dlt loses a value, seen by marking all of them."""
    with destination(max_identifier_length):
        for document in documents:
            schema = known_to_dlt(stored)
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
            # dlt's own columns may overwrite what the data brings: that is no collision
            inner = {
                f"own{key}" if key.startswith("_dlt") else key: _marked(item, marks) for key, item in value.items()
            }
            # an empty object is a value where it is not flattened
            return inner or {"mark": f"<{next(marks)}>"}
        case list():
            return [*(_marked(item, marks) for item in value), f"<{next(marks)}>"]
        case _:
            return f"<{next(marks)}>"


# made-up documents

LONG = "a key that is much longer than any identifier may be " * 6

keys = st.sampled_from(
    [
        *("a", "b", "c", "id", "created_at", "items", "value", "list", "name"),
        *("A", "aB", "a_b", "a__b", "b__v_complex", "x-y", "a.b", "ż", "1a", "🚀"),
        *("", " ", "_", "_dlt_id", "_dlt_load_id", "_dlt_list_idx", "_dlt_parent_id", "_dlt_root_id"),
        *(LONG, LONG + "!", "a_rather_long_key_of_the_data", "a_rather_long_key_of_the_other_data"),
    ]
)
numbers = st.sampled_from([0, 1, -1, 12, 70_000, 1_700_000_000, 2**53, 2**63 - 1, -(2**63), 2**63, 2**64 - 1]) | (
    st.integers(-(2**63), 2**64 - 1)
)
# Whole numbers past 64 bits get a column beside a bigint: one of the meant differences.
floats = st.sampled_from([0.0, -0.0, 1.0, 1.5, 1e18, 5e-324]) | st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda number: not (number.is_integer() and is_beyond_64_bits(number))
)
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
    return st.lists(
        objects | st.lists(scalars, max_size=2) | scalars if keys is None else objects, min_size=1, max_size=5
    )


few_keys = st.sampled_from(["a", "b", "items", "_dlt_id"])
documents = (documents_of(keys) | documents_of(few_keys)).map(with_keys_of_one_kind)

# made-up schemas

types = st.sampled_from([str(data_type) for data_type in DataType])
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


NAMINGS = st.sampled_from(["snake_case", "duck_case", "direct", "sql_cs_v1", "sql_ci_v1"])


SNAKE_CASE = st.just("snake_case")


@st.composite
def schemas(draw, namings=SNAKE_CASE):
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


def outgrows(stored, found):
    """Return whether integers may have no room in columns of 32 bits, which grow in our schemas and stay in dlt's."""
    sizes = {column.get("precision") for table in stored["tables"].values() for column in table["columns"].values()}
    return 32 in sizes and any(abs(int(digits)) >= 2**31 for digits in re.findall(r"\d{10,}", json.dumps(found)))


@MANY
@given(schemas(), documents)
def test_documents_under_a_known_schema(stored, found):
    assume(not has_collision(stored, "data", found))
    assume(not outgrows(stored, found))
    assert_alike(stored, "data", found)


@MANY
@given(schemas(NAMINGS), st.sampled_from([None, 20, 30, 63]), documents)
def test_names(stored, max_identifier_length, found):
    assume(not has_collision(stored, "Some Data", found, max_identifier_length))
    assert_alike(stored, "Some Data", found, max_identifier_length)


@MANY
@given(schemas(), documents, st.sampled_from(["a", "b"]), st.booleans())
def test_values_from_the_rows_above(stored, found, column, is_row_key):
    """Of whole documents, as witnesses do not stand for these; see above."""
    stored["tables"].setdefault("data", _table({}, resource="data"))["columns"][column] = {"root_key": True}
    if is_row_key:
        stored["tables"]["data"]["columns"][column]["row_key"] = True
    else:
        stored["normalizers"]["json"].setdefault("config", {})["propagation"] = {"root": {column: "from_above"}}
    stored = DltSchema.from_dict(stored).to_dict()
    assume(not has_collision(stored, "data", found))
    assume(not outgrows(stored, found))
    theirs, taken = by_dlt(stored, "data", found)
    if not is_of_wei(theirs):
        whole = replace(evidence_of(taken), witnesses=dict(positioned(taken)))
        assert comparable(by_evidence(stored, "data", whole)) == comparable(theirs)


# real pipelines: extract and normalize, nothing is loaded


def by_pipeline(folder, loads, table):
    """Return the schema that dlt has after these loads, without what it keeps for itself."""
    pipeline = dlt.pipeline("parity", pipelines_dir=str(folder), destination="duckdb")
    for documents in loads:
        pipeline.extract(dlt.resource(documents, name=table), schema=None if pipeline.schemas else DltSchema("made"))
        pipeline.normalize()
    schema = pipeline.schemas["made"]
    del schema.tables["_dlt_pipeline_state"]
    return DltSchema.from_dict(schema.to_dict()).to_dict()


def by_runs(loads, table):
    stored = PLAIN
    for documents in loads:
        stored = by_schemactl(stored, table, documents)
    return stored


def json_of(path):
    found = json.loads(path.read_text(encoding="utf-8"))
    return found if isinstance(found, list) else [found]


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def without_long_integers(documents):
    return [
        json.loads(json.dumps(each), parse_int=lambda text: min(max(int(text), -(2**63)), 2**64 - 1))
        for each in documents
    ]


JSON_DOCUMENTS = (
    "event.event.many_load_2.json",
    "event.event.user_load_1.json",
    "github.events.load_page_1_duck.json",
    "rasa_user_event.json",
    "simple_row.json",
    "weird_rows.json",
)


@pytest.mark.parametrize("name", JSON_DOCUMENTS)
def test_the_documents_of_dlt(name, conformance, tmp_path):
    documents = json_of(conformance("dlt/documents") / name)
    assert comparable(by_runs([documents], "docs")) == comparable(by_pipeline(tmp_path, [documents], "docs"))


def test_a_document_of_dlt_with_a_collision(conformance):
    """dlt loses the text at `data__custom` to the null at `data.custom`."""
    documents = json_of(conformance("dlt/documents") / "mod_bot_case.json")
    theirs, _ = by_dlt(PLAIN, "docs", documents)
    ours = by_schemactl(PLAIN, "docs", documents)
    assert ours["tables"]["docs"]["columns"].pop("data__custom")["data_type"] == "text"
    assert comparable(ours)["tables"] == comparable(theirs)["tables"]


@pytest.mark.parametrize("name", ["deep_lists", "deep_objects", "empty", "no_final_newline"])
def test_hostile_fixtures(name, fixtures):
    assert_alike(PLAIN, "data", lines_of(fixtures / "hostile" / f"{name}.jsonl"))


def test_documents_that_are_lists():
    """Of which a pipeline makes several documents before its normalizer sees them."""
    assert_alike(PLAIN, "data", [None, [1, [2], {"a": 1}], [[[3]]], []])


@pytest.mark.parametrize("name", ["freshman_lbs.csv", "mlb_teams_2012.csv"])
def test_rows_of_dlt(name, conformance, tmp_path):
    with (conformance("dlt/documents") / name).open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, skipinitialspace=True))
    assert comparable(by_runs([rows], "rows")) == comparable(by_pipeline(tmp_path, [rows], "rows"))


@pytest.mark.parametrize("name", ["github_events.jsonl", "orders.jsonl", "hostile/late_column.jsonl"])
def test_our_fixtures(name, fixtures, tmp_path):
    documents = without_long_integers(lines_of(fixtures / name))
    parts = [documents[: len(documents) // 2], documents[len(documents) // 2 :]]
    theirs = by_pipeline(tmp_path, parts, "Some Data")
    assert comparable(by_runs(parts, "Some Data")) == comparable(theirs)


WRITTEN = {
    "variants": [{"v": 1}, {"v": "abc"}, {"v": "5"}, {"v": 1.5}, {"v": 2.0}, {"v": True}, {"v": {"a": 1}}, {"v": [1]}],
    "text first": [{"v": "abc"}, {"v": 1}, {"v": True}, {"v": [1]}],
    "booleans first": [{"v": True}, {"v": 1}, {"v": 2}, {"v": "no"}, {"v": "abc"}, {"v": 0.5}],
    "timestamps": [{"t": "2024-01-02T03:04:05Z"}, {"t": 1}, {"t": "17"}, {"t": "never"}, {"t": "2024-01-02"}],
    "great integers": [{"i": 2**63 - 1}, {"i": 2**64 - 1, "j": 2**63}, {"j": -(2**63)}],
    "nulls": [{"a": None, "b": None}, {"a": {"c": None}}, {"a": {"c": 1}, "l": [None, {"x": None}]}],
    "nothing inside": [{"a": {}, "b": [], "l": [[]], "m": [{}], "n": [[{}]]}],
    "lists of lists": [{"m": [[1, 2], [3]]}, {"m": [[{"a": 1}], 1, {"a": [1]}, None]}],
    "order": [{"z": {"p": 1, "q": {"r": 1}}, "y": {"w": 2}, "k": 5}],
    "keys of rows": [{"_dlt_id": 7, "l": [{"x": 1}, 2]}, {"_dlt_id": 8, "l": [3]}],
    "keys of nested rows": [{"l": [{"x": 1}, {"_dlt_id": "a", "m": [1]}]}, {"_dlt_load_id": 1, "_dlt_id": 0}],
    "names": [{"Żółw": 1, "a b": 2, "1st": 3, "a.b.c": 4, "userName": 5, "": 6, "_": 7, "🚀": 8, "x__y": [1]}],
    "a blank list": [{"": [1, {"a": 1}]}],
    "no objects": [1, "two", 3.5],
    "variants that the data names": [{"a": 1}, {"a__v_text": "x"}, {"a": "y"}, {"a__v_bool": 1}, {"a": 0.5}],
}


@pytest.mark.parametrize("documents", WRITTEN.values(), ids=WRITTEN)
def test_written_documents(documents, tmp_path):
    theirs = by_pipeline(tmp_path, [documents], "my Table")
    assert comparable(by_runs([documents], "my Table")) == comparable(theirs)


@pytest.mark.parametrize("documents", WRITTEN.values(), ids=WRITTEN)
def test_the_reference_is_the_pipeline(documents, tmp_path):
    """The tests above that use dlt's normalizer by itself stand on this."""
    theirs, taken = by_dlt(PLAIN, "my Table", documents)
    assert taken == documents
    assert comparable(theirs) == comparable(by_pipeline(tmp_path, [documents], "my Table"))


# meant differences


def columns_of(documents, stored=PLAIN):
    table = by_schemactl(stored, "data", documents)["tables"]["data"]
    return {name: column["data_type"] for name, column in table["columns"].items() if not name.startswith("_dlt")}


@pytest.mark.parametrize(
    ("number", "data_type"),
    [
        (2**64 - 1, "bigint"),
        (2**64, "wei"),
        (-(2**63) - 1, "wei"),
        (10**38 - 1, "wei"),
        (10**38, "text"),
        (1 - 10**38, "wei"),
        (-(10**38), "text"),
    ],
)
def test_integers_past_64_bits(number, data_type, tmp_path):
    assert columns_of([{"a": number}]) == {"a": data_type}
    pipeline = dlt.pipeline("parity", pipelines_dir=str(tmp_path), destination="duckdb")
    if data_type != "bigint":
        with pytest.raises(PipelineStepFailed, match="64-bit"):
            pipeline.extract(dlt.resource([{"a": number}], name="data"))


@pytest.mark.parametrize(("documents", "columns"), [
    ([{"a": 1}, {"a": "2024-01-01T00:00:00Z"}, {"a": "x"}],
     {"a": "bigint", "a__v_text": "timestamp", "a__v_text__v_text": "text"}),
    ([{"a": 1, "a__v_text": 5}, {"a": "x"}, {"a": "y"}],
     {"a": "bigint", "a__v_text": "bigint", "a__v_text__v_text": "text"}),
])  # fmt: skip
def test_a_variant_of_a_variant(documents, columns):
    _, taken = by_dlt(PLAIN, "data", documents)
    assert taken == documents[: 2 if "a__v_text" not in documents[0] else 1]
    assert columns_of(documents) == columns


def test_every_colliding_value_counts():
    documents = [{"Id": "x", "id": 2}, {"l": [{"y": 1}], "L": [{"z": 1}]}]
    theirs, _ = by_dlt(PLAIN, "data", documents)
    assert theirs["tables"]["data"]["columns"]["id"]["data_type"] == "bigint"
    assert "y" not in theirs["tables"]["data__l"]["columns"]
    ours = by_schemactl(PLAIN, "data", documents)
    assert ours["tables"]["data"]["columns"]["id"]["data_type"] == "text"
    assert {"y", "z"} <= ours["tables"]["data__l"]["columns"].keys()


def test_nulls_that_dlt_refuses_are_reported():
    stored = copy.deepcopy(PLAIN)
    stored["settings"]["default_hints"]["not_null"].append("re:^must")
    stored["tables"]["data"] = _table({"a": {"data_type": "text", "nullable": False}}, resource="data")
    stored = DltSchema.from_dict(stored).to_dict()
    documents = [{"a": "x", "b": 1}, {"a": None}, {"must_be": None}]
    assert by_dlt(stored, "data", documents)[1] == documents[:1]
    resolution = resolve(evidence_of(documents), schema_from_dict(stored), "data")
    assert [(null.column, null.first.number) for null in resolution.nulls] == [("a", 2), ("must_be", 3)]
