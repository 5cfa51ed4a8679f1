"""Rows that plans make of documents equal those of dlt: tables, columns, values, and keys byte for byte.

Meant differences beside those of the inferred schemas (test_inference_parity.py): a null that a row copies down does
not go over a value, a row of which filters leave nothing but nulls is not written, and a key of root rows that has two
names has one in all documents (``has_two_names_of_root_keys``).
"""

from __future__ import annotations

import copy
import itertools
import json
import sys
from base64 import b64decode, b64encode
from contextlib import suppress
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from unittest.mock import patch

import pytest
from dlt.common.normalizers.json import relational
from dlt.common.schema import Schema as DltSchema
from hypothesis import assume, given
from hypothesis import strategies as st
from test_inference_parity import (
    MANY,
    NAMINGS,
    PLAIN,
    REFUSALS,
    Reference,
    comparable,
    destination,
    documents,
    evidence_of,
    has_collision,
    is_of_wei,
    outgrows,
    schemas,
)

from schemactl.errors import InputError
from schemactl.inference.resolve import ResolveOptions, resolve
from schemactl.kernel import keys as kernel_keys
from schemactl.kernel.chunks import Chunk
from schemactl.kernel.outcome import tally_of
from schemactl.kernel.rows import RowMaker
from schemactl.kernel.stored import stored_value
from schemactl.normalization.normalizers import make_plan
from schemactl.normalization.request import PlanRequest
from schemactl.normalization.tally import LoadTime
from schemactl.schema.hash import bump
from schemactl.schema.judgment import judge
from schemactl.schema.types import schema_from_dict

# the interpreter of plans is kept with the tests of plans
sys.path.append(str(Path(__file__).parents[1] / "normalization"))
from interpret import run

KEY_COLUMNS = ("_dlt_id", "_dlt_parent_id", "_dlt_root_id")
MADE_UP = "made-up key "
NO_COERCION = "dlt.common.normalizers.json.relational_no_coercion"


def numbered_keys():
    numbers = itertools.count(1)
    return lambda *_: b64encode(next(numbers).to_bytes(10)).decode().rstrip("=")


class RowsReference(Reference):
    """Keeps the rows that dlt writes."""

    def __init__(self, stored, source, capabilities):
        super().__init__(stored, source, capabilities)
        self.rows = {}
        self._writer.write_data_item = self._keep

    def _keep(self, _load_id, _schema_name, table, row, _columns):
        self._writer.tables.add(table)
        self.rows.setdefault(table, []).append(copy.deepcopy(row))


def by_dlt(stored, source, found, max_identifier_length=None):
    """Return dlt's rows, its schema, and the documents that it takes."""
    taken = list(found)
    generate = relational.generate_dlt_id
    try:
        with destination(max_identifier_length) as capabilities:
            while True:
                relational.generate_dlt_id = numbered_keys()
                reference = RowsReference(stored, source, capabilities)
                for number, document in enumerate(taken):
                    try:
                        reference.add(copy.deepcopy(document))
                    except REFUSALS:
                        del taken[number]
                        break
                else:
                    return reference.rows, reference.finish(), taken
    finally:
        relational.generate_dlt_id = generate


def by_plan(stored, source, found, max_identifier_length=None):
    """Return the rows that a plan makes, and the schema."""
    before = schema_from_dict(copy.deepcopy(stored))
    evidence = evidence_of(found)
    resolution = resolve(evidence, before, source, ResolveOptions(max_identifier_length=max_identifier_length))
    plan = make_plan(PlanRequest(evidence, resolution, judge(before, resolution.schema)))
    outcome = run(plan, copy.deepcopy(found), numbered_keys())
    assert not outcome.unfit
    assert not outcome.rejected
    assert_made_alike(plan, outcome.rows, found)
    return outcome.rows, bump(resolution.schema).to_dict()


def assert_made_alike(plan, rows, found):
    """Have the kernel make the same rows, as they are stored."""
    stored = {name: [stored_row(plan.tables[name], row) for row in each] for name, each in rows.items()}
    made, tally = by_kernel(plan, found)
    has_room = all(
        (value is None) == (row[name] is None)
        for table, each in stored.items()
        for kept, row in zip(each, rows[table], strict=True)
        for name, value in kept.items()
    )
    # A value without room in one column may have some in a variant of it.
    if has_room:
        assert not tally.unfit
        assert plain(numbered_anew(made, found)) == plain(numbered_anew(stored, found))


def numbered_anew(rows, found):
    """Number made-up keys by the places of their rows: the kernel draws a key for each row, dlt where one is needed.

    Keys that are hashes of such keys are numbered too; `test_row_keys_parity` compares those.
    """
    numbers, given = {}, json.dumps(found)

    def number(column, value):
        is_key = column in KEY_COLUMNS and isinstance(value, str) and json.dumps(value) not in given
        return numbers.setdefault(value, f"{MADE_UP}{len(numbers)}") if is_key else value

    return {
        table: [{column: number(column, row[column]) for column in sorted(row)} for row in made]
        for table, made in sorted(rows.items())
    }


def stored_row(table, row):
    return {name: None if value is None else stored_value(value, table.columns[name]) for name, value in row.items()}


def by_kernel(plan, found):
    keys, rows = numbered_keys(), {}
    maker = RowMaker(plan, LoadTime("load", datetime(2026, 1, 1, tzinfo=UTC)))

    def numbered(_load_id, _table, _file, places):
        return [b64decode(keys() + "==") for _ in places]

    with patch.object(kernel_keys, "hash_places", numbered):
        for number, document in enumerate(found, 1):
            for table, batches in maker.make(Chunk("data", [number], [document])).tables.items():
                rows.setdefault(table, []).extend(row for batch in batches for row in batch.to_pylist())
    return rows, tally_of(maker.outcome, maker.problems, plan)


def has_two_names_of_root_keys(stored, found):
    """Return whether data brings dlt's own name for the key of root rows, which settings pass on under another name.

    dlt goes by the settings up to the first document that brings it, and by its own name from then on.
    """
    config = stored["normalizers"]["json"].get("config") or {}
    root = (config.get("propagation") or {}).get("root") or {}
    return "root_key" in root.values() and "_dlt_root_id" in json.dumps(found)


def is_odd(found):
    """Return whether data has what dlt and schemactl meet in another order, or what no pipeline writes.

    A list under a blank key: its rows go to the table of the document itself, where dlt keeps lists whole from the row
    on that brings the column, schemactl in all rows, and where each meets the rows in another order. And a place in a
    list, ``_dlt_list_idx``, that is no such number.
    """
    match found:
        case dict():
            place = found.get("_dlt_list_idx", 0)
            is_place = type(place) is int and abs(place) < 2**63
            has_blank_list = any(isinstance(value, list) for key, value in found.items() if not key.strip())
            return not is_place or has_blank_list or any(map(is_odd, found.values()))
        case list():
            return any(map(is_odd, found))
        case _:
            return False


def plain(rows):
    """Return rows in a form that is equal for equal values only, in an order of their own; empty tables left out."""
    return {
        table: sorted(
            sorted((name, *reported(value)) for name, value in row.items() if value is not None) for row in found
        )
        for table, found in rows.items()
        if found
    }


def reported(value):
    match value:
        case datetime():
            return "timestamp", datetime.isoformat(value)
        case date() | time():
            return type(value).__mro__[-2].__name__, value.isoformat()
        case Decimal():
            # A column has no negative zero.
            return "decimal", str(value.normalize() + 0) if value.is_finite() else str(value)
        case dict() | list():
            return "json", json.dumps(value)
        case _:
            return type(value).__name__, repr(value)


def assert_alike(stored, source, found, max_identifier_length=None):
    theirs, their_schema, taken = by_dlt(stored, source, found, max_identifier_length)
    if is_of_wei(their_schema):
        return
    ours, schema = by_plan(stored, source, taken, max_identifier_length)
    assert plain(ours) == plain(theirs)
    assert comparable(schema) == comparable(their_schema)


def edited(edit):
    stored = copy.deepcopy(PLAIN)
    edit(stored)
    return DltSchema.from_dict(stored).to_dict()


def table(**properties):
    return {"columns": {}, "resource": "data", "write_disposition": "append", **properties}


def configured(**config):
    return edited(lambda stored: stored["normalizers"]["json"].update(config=config))


def with_tables(**tables):
    return edited(lambda stored: stored["tables"].update(copy.deepcopy(tables)))


WORKED = [
    {"a": {"b": {"c": 1}, "d": 2}, "e": 3},
    {"z": {"p": 1, "q": {"r": 1}}, "y": {"w": 2}, "k": 5},
    {"items": [{"x": 1}, {"x": 2}]},
    {"tags": ["a", None, 3, True]},
    {"m": [[1, 2], [3]]},
    {"m": [[{"a": 1}]]},
    {"m": [1, {"a": 1}, [2], None, {}]},
    {"l": [], "d": {}, "n": None, "dl": {"x": []}, "dd": {"y": {}}},
    {"a": {"items": [{"b": {"c": [1]}}]}},
    {"items": [{"_dlt_id": "kid", "sub": [1]}]},
    {"": 1, "_": 3},
    {"Ab": 1, "a_b": 2},
    {"c__d": [1]},
    {"Items Total": [{"": [1, {"x": 2}]}]},
]
"""The examples of docs/dlt.md §5.3."""


@pytest.mark.parametrize("document", WORKED, ids=json.dumps)
def test_worked_examples(document):
    assert_alike(PLAIN, "MyTable", [{**document, "_dlt_id": "root1"}])


def test_worked_keys():
    rows, _ = by_plan(PLAIN, "t", [{"_dlt_id": "root1", "items": [{"x": 1}, {"x": 2}], "m": [1, {"a": 1}, [2]]}])
    assert [row["_dlt_id"] for row in rows["t__items"]] == ["KQ7GAS+weooXog", "H1UdCrZS2WoAfg"]
    assert rows["t__m__list"][0]["_dlt_parent_id"] == "IJ81DSC4TaR6yg"


@pytest.mark.parametrize("documents", [["hello"], [[1, 2]], [None], [[{"a": 1}, [2]], 5]], ids=json.dumps)
def test_documents_that_are_no_objects(documents):
    assert_alike(PLAIN, "t", documents)


@pytest.mark.parametrize("nesting", [0, 1, 2, 3])
@pytest.mark.parametrize("place", ["config", "table"])
def test_nesting(nesting, place):
    document = {"a": {"b": {"c": {"d": 1}}}, "l": [{"m": [{"n": [1]}]}], "ll": [[1], {"k": {"x": 1}}]}
    stored = configured(max_nesting=nesting)
    if place == "table":
        stored = with_tables(data=table(**{"x-normalizer": {"max_nesting": nesting}}))
    assert_alike(stored, "data", [document])


VARIANTS = [{"v": 1}, {"v": "abc"}, {"v": "5"}, {"v": 1.5}, {"v": 2.0}, {"v": True}, {"v": {"a": 1}}, {"v": [1, "x"]}]


@pytest.mark.parametrize("found", list(itertools.permutations(VARIANTS[:4])), ids=str)
def test_variants_in_any_order(found):
    assert_alike(PLAIN, "data", [*found, *VARIANTS[4:]])


@pytest.mark.parametrize("name", ["a__v_complex", "a__v_json"])
def test_variants_of_json(name):
    columns = {"a": {"data_type": "bigint"}, name: {"data_type": "json", "variant": True}}
    stored = with_tables(data=table(columns=columns, **{"x-normalizer": {"max_nesting": 0}}))
    assert_alike(stored, "data", [{"a": {"x": 1}}, {"a": [1]}, {"a": "y"}])


def test_timestamps_with_and_without_zone():
    columns = {"a": {"data_type": "timestamp", "timezone": False}, "b": {"data_type": "timestamp"}}
    documents = [{"a": text, "b": text} for text in ("2024-01-02T03:04:05+02:00", "2024-01-02", "17")]
    assert_alike(with_tables(data=table(columns=columns)), "data", documents)


def test_no_coercion():
    """Without detectors: at a text that one of them takes for a timestamp dlt ends with a KeyError."""
    stored = copy.deepcopy(PLAIN)
    stored["normalizers"]["json"]["module"] = NO_COERCION
    stored["settings"] |= {"detections": [], "preferred_types": {"p": "text"}}
    documents = [
        {"a": 1},
        {"a": "5"},
        {"a": 2.0},
        {"a": True},
        {"p": 1},
        {"p": "2024-01-01T00:00:00Z"},
        {"l": [1, "x"]},
    ]
    assert_alike(DltSchema.from_dict(stored).to_dict(), "data", documents)


# what rows take from the rows above

BELOW = {"id": 7, "l": [{"x": 1, "m": [1, [2]]}, 5], "k": "z"}


@pytest.mark.parametrize(
    "config",
    [
        {"root_key_propagation": True},
        {"propagation": {"root": {"id": "x"}}},
        {"propagation": {"root": {"_dlt_id": "_dlt_root_id", "_dlt_load_id": "load", "id": "root_id"}}},
        {"propagation": {"root": {"id": "up"}, "tables": {"data__l": {"x": "up", "_dlt_id": "above", "up": "twice"}}}},
        {"propagation": {"tables": {"data__l": {"_dlt_list_idx": "at", "_dlt_parent_id": "of"}}}},
    ],
    ids=str,
)
def test_values_that_are_copied_down(config):
    assert_alike(configured(**config), "data", [BELOW, {**BELOW, "_dlt_id": "own"}])


def test_a_row_key_of_the_schema_is_copied_down():
    columns = {"id": {"row_key": True, "data_type": "bigint"}}
    stored = with_tables(data=table(columns=columns))
    stored["normalizers"]["json"]["config"] = {"root_key_propagation": True}
    assert_alike(DltSchema.from_dict(stored).to_dict(), "data", [BELOW])


def test_a_root_key_that_the_data_brings_is_copied_down_from_the_next_load_on():
    found = [{"l": [{"x": 1}]}, {"l": [{"_dlt_root_id": "z", "x": 2}]}, {"l": [{"x": 3, "m": [1]}]}]
    assert_alike(PLAIN, "data", found)
    _, stored, _ = by_dlt(PLAIN, "data", found)
    assert_alike(stored, "data", found)


# keys of rows


def keys_by_dlt(stored, found):
    """Return the keys of rows where a destination has all merge strategies; only dlt's normalizer is asked."""
    keys = {}
    with destination(None) as capabilities:
        capabilities.supported_merge_strategies = ["delete-insert", "upsert", "insert-only", "scd2"]
        for document in copy.deepcopy(found):
            schema = DltSchema.from_dict(copy.deepcopy(stored))
            for (name, *_), row in schema.normalize_data_item(document, "load", "data"):
                keys.setdefault(name, []).append(row["_dlt_id"])
    return keys


def keys_by_plan(stored, found):
    return {name: [row["_dlt_id"] for row in rows] for name, rows in by_plan(stored, "data", found)[0].items()}


def merging(strategy, **columns):
    columns = {name: dict(stated) for name, stated in columns.items()}
    return table(columns=columns, write_disposition="merge", **{"x-merge-strategy": strategy})


KEY = {"primary_key": True, "nullable": False}


@pytest.mark.parametrize("strategy", ["upsert", "insert-only"])
def test_keys_of_primary_keys(strategy):
    stored = with_tables(data=merging(strategy, id=KEY, k_2=KEY))
    found = [{"id": 1, "K 2": "b", "l": [1]}, {"K 2": "é", "id": 2}]
    assert keys_by_plan(stored, found) == keys_by_dlt(stored, found)
    assert keys_by_plan(with_tables(data=merging(strategy, id=KEY)), [{"id": 1}]) == {"data": ["z5jIxXIbUnmbKw"]}


def test_keys_of_contents():
    version = {"data_type": "text", "nullable": False, "x-row-version": True}
    stored = with_tables(data=merging("scd2", _dlt_id=version), data__l=merging("scd2", _dlt_id=version))
    found = [{"b": {"Z": 1}, "a": "x", "l": [1, {"y": 2}, [3]]}, {"_dlt_x": 1, "a": "y"}, 5]
    assert keys_by_plan(stored, found) == keys_by_dlt(stored, found)
    assert keys_by_plan(stored, [{"a": "x", "b": {"Z": 1}, "l": [1]}])["data"] == ["EHMMdEwNmUIV0w"]


def test_keys_in_a_root_table_that_a_list_goes_to():
    stored = with_tables(data=merging("upsert", id=KEY), data__l=merging("upsert", k=KEY))
    found = [{"id": 1, "l": [{"k": 1, "m": [1]}, {"k": 2}]}]
    assert keys_by_plan(stored, found) == keys_by_dlt(stored, found)


def test_nested_lists_in_root_tables():
    stored = with_tables(data=table(), data__l=table())
    found = [{"l": [{"x": 1, "m": [1]}, 2, [3], {"_dlt_id": "own", "m": [2]}], "_dlt_load_id": 3}]
    assert_alike(stored, "data", found)


def test_keys_that_the_data_brings():
    rows = [{"l": [{"x": 1}, {"_dlt_id": "a", "m": [1], "_dlt_parent_id": "p"}]}, {"_dlt_load_id": 1, "_dlt_id": 0}]
    assert_alike(PLAIN, "data", rows)
    assert_alike(PLAIN, "data", [{"_dlt_id": 7, "l": [{"x": 1}, 2]}, {"_dlt_id": 8, "l": [3]}])


# filters

FILTERS = {
    "prefixes": {
        "excludes": ["re:^meta", "re:^items__secret", "tags", "re:^nested"],
        "includes": ["re:^meta__keep$", "re:^nested__list__a$"],
    },
    "own columns": {"excludes": ["re:_dlt_list_idx$", "re:_dlt_id$"]},
    "everything": {"excludes": ["re:."]},
    "values of lists": {"excludes": ["re:value$"], "includes": ["re:^tags"]},
    "no excludes": {"includes": ["re:^meta"]},
}


@pytest.mark.parametrize("filters", FILTERS.values(), ids=FILTERS)
def test_filters(filters):
    nested = {"list": [{"a": 1, "b": 2, "s": [1]}, {"b": 3, "s": [2]}, 5, [6]]}
    found = [
        {"meta": {"x": 1, "keep": 2}, "a": 1, "items": [{"secret": 1, "v": 2}, {"secret": 2}], "tags": [1]},
        {"nested": nested, "meta": {"x": 1}},
        {"nested": {"list": [{"b": 1}, {"a": 2}], "other": [1]}},
    ]
    assert_alike(with_tables(data=table(filters=filters)), "data", found)


def test_texts_of_json_s_null_are_null_in_columns_of_json():
    found = [{"a": []}, {"a": "null"}, {"a": " null "}, {"a": "nul"}, {"a": [None]}]
    assert_alike(configured(max_nesting=0), "data", found)


def test_filters_of_nested_tables():
    nested = {"columns": {}, "parent": "data", "filters": {"excludes": ["re:^x", "re:^m__"]}}
    stored = with_tables(data=table(filters={"excludes": ["l__y"]}), data__l=nested)
    assert_alike(stored, "data", [{"x": 1, "l": [{"x": 1, "y": 2, "z": 3, "m": [1, 2]}]}])


patterns = st.sampled_from(
    ["a", "b", "re:^a", "re:^items", "re:items__", "re:_dlt", "re:value$", "re:^items__a$", "re:."]
)
rules = st.fixed_dictionaries(
    {"excludes": st.lists(patterns, min_size=1, max_size=3)}, optional={"includes": st.lists(patterns, max_size=2)}
)


@MANY
@given(rules, documents)
def test_filters_of_made_up_documents(filters, found):
    """Of documents without nulls, see above; one by one, as what is seen in rows left out is seen nowhere else.

    A plan is refused where it could lose what stands below such rows (tests/normalization/test_planner.py).
    """
    assume(not is_odd(found))
    stored = with_tables(data=table(filters=filters))
    for document in found:
        cleared = _without_nulls(document)
        assume(not has_collision(PLAIN, "data", [cleared]))
        with suppress(InputError):
            assert_alike(stored, "data", [cleared])


def _without_nulls(value):
    match value:
        case dict():
            return {key: _without_nulls(item) for key, item in value.items() if item is not None}
        case list():
            return [_without_nulls(item) for item in value if item is not None]
        case _:
            return value


# made-up documents


@MANY
@given(documents)
def test_rows_under_a_new_schema(found):
    assume(not has_collision(PLAIN, "data", found))
    assume(not is_odd(found))
    assert_alike(PLAIN, "data", found)


@MANY
@given(schemas(), documents)
def test_rows_under_a_known_schema(stored, found):
    assume(not has_collision(stored, "data", found))
    assume(not has_two_names_of_root_keys(stored, found))
    assume(not is_odd(found))
    assume(not outgrows(stored, found))
    assert_alike(stored, "data", found)


@MANY
@given(schemas(NAMINGS), st.sampled_from([None, 20, 63]), documents)
def test_rows_under_other_names(stored, max_identifier_length, found):
    assume(not has_collision(stored, "Some Data", found, max_identifier_length))
    assume(not outgrows(stored, found))
    assume(not is_odd(found))
    assume(not has_two_names_of_root_keys(stored, found))
    assert_alike(stored, "Some Data", found, max_identifier_length)
