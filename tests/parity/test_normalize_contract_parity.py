"""Contracts keep out of the tables what dlt's keep out, entity by mode by case; and what they keep out is not lost.

Nested tables have contracts of their own, so one load holds most of the matrix: the same elements in a list for each
entity and mode.
"""

from __future__ import annotations

import copy
import itertools
import json

import pytest
from dlt.common.schema import Schema as DltSchema
from dlt.common.schema.exceptions import DataValidationError
from dlt.pipeline.exceptions import PipelineStepFailed
from loaded_tables import ByDlt, BySchemactl, assert_same, assert_same_rows
from test_inference_parity import PLAIN, Reference, destination

MEANT_DIFFERENCES = (
    "Nulls and contracts: dlt drops rows with a null in a refused column once it has met a value there.",
    "discard_row and witnesses: what only refused rows ask for can come into the schema.",
)
"""See docs/differences.md. The documents here are kept clear of these but in the tests at the end."""

ENTITIES = ("tables", "columns", "data_type")
DISCARDS = ("discard_row", "discard_value")

CASES = {
    "nothing new": {"a": 1},
    "coercible value": {"a": "7"},
    "variant": {"a": "x"},
    "new column": {"a": 2, "b": 1},
    "new flattened column": {"a": 2, "o": {"p": "q"}},
    "incomplete column": {"a": 2, "i": 1},
    "new nested table": {"a": 3, "m": [{"x": 1}, {"x": 2}]},
    "new column in a nested table": {"a": 3, "k": [{"x": 1}, {"x": 2, "y": 1}]},
    "variant in a nested table": {"a": 3, "k": [{"x": 1}, {"x": "z"}]},
    "refused row above a nested table": {"a": 4, "b": 2, "k": [{"x": 3}]},
    "two at once": {"a": "y", "b": 3},
}
"""Elements of lists whose table has the columns `nr` and `a`, an incomplete `i`, and a nested table `k`."""

ELEMENTS = [{"nr": number, **case} for number, case in enumerate(CASES.values(), 1)]


def known(parent=None, contract=None, **columns):
    columns = {name: {"data_type": data_type} if data_type else {} for name, data_type in columns.items()}
    own = ("_dlt_parent_id", "_dlt_list_idx", "_dlt_id") if parent else ("_dlt_load_id", "_dlt_id")
    types = {"_dlt_list_idx": "bigint"}
    columns |= {name: {"data_type": types.get(name, "text"), "nullable": False} for name in own}
    found = {"columns": columns, "x-normalizer": {"seen-data": True}}
    found |= {"parent": parent} if parent else {"resource": "data", "write_disposition": "append"}
    return found | ({"schema_contract": contract} if contract else {})


def with_contracts(lists, root=None, settings=None):
    """Return a schema in which each list's table has its contract."""
    stored = copy.deepcopy(PLAIN)
    stored["tables"]["data"] = known(None, root, nr="bigint", a="bigint", i=None)
    stored["tables"]["data__k"] = known("data", None, x="bigint")
    for name, contract in lists.items():
        stored["tables"][f"data__{name}"] = known("data", contract, nr="bigint", a="bigint", i=None)
        stored["tables"][f"data__{name}__k"] = known(f"data__{name}", None, x="bigint")
    if settings:
        stored["settings"]["schema_contract"] = settings
    return DltSchema.from_dict(stored).to_dict()


def both(engine, folder, found, stored):
    theirs = ByDlt(folder / "dlt", stored)
    theirs.load(found)
    ours = BySchemactl(engine, folder / "ours", stored)
    return ours.load(found), ours, theirs


# what is discarded


LISTS = {f"{entity}_{mode}": {entity: mode} for entity, mode in itertools.product(ENTITIES, DISCARDS)}


def test_each_entity_discards_what_dlt_discards(local_engine, tmp_path):
    stored = with_contracts({**LISTS, "open": None})
    found = [{"nr": 1, "open": ELEMENTS, **dict.fromkeys(LISTS, ELEMENTS)}]

    report, ours, theirs = both(local_engine, tmp_path, found, stored)

    assert_same(ours.loaded(), theirs.loaded())
    counts = {table.name: table for table in report.tables}
    for name in LISTS:
        assert counts[f"data__{name}"].read == len(ELEMENTS)
    assert counts["data__columns_discard_row"].rejected == 5
    assert counts["data__columns_discard_row__k"].rejected_with_parent == 1
    assert counts["data__data_type_discard_value"].values_rejected == 2
    assert (counts["data__tables_discard_row__m"].rejected, counts["data__tables_discard_row__m"].loaded) == (2, 0)
    assert counts["data__open"].loaded == len(ELEMENTS)
    kept = sum(table.rejected + table.values_rejected for table in report.tables)
    reported = sum(violation.values for violation in report.inference.violations)
    assert kept <= len(ours.rejects("row_key")) == reported


@pytest.mark.parametrize("mode", DISCARDS)
def test_whole_contracts_of_root_tables_and_settings(local_engine, tmp_path, mode):
    """The root table's contract holds for the tables nested in it, and goes before the one of the settings."""
    stored = with_contracts({}, root=mode, settings="freeze")

    report, ours, theirs = both(local_engine, tmp_path, ELEMENTS, stored)

    assert_same(ours.loaded(), theirs.loaded())
    assert report.roots[0].read == len(ELEMENTS)
    rejects = ours.rejects("line", "table_name", "column_name", "entity", "mode", "value", "expected")
    of_root = [row for row in rejects if row[1] == "data"]
    assert all(row[4] == mode for row in rejects)
    assert [(line, column, entity, value) for line, _, column, entity, _, value, _ in of_root] == [
        (3, "a", "data_type", "x"),
        (4, "b", "columns", "1"),
        (5, "o__p", "columns", "q"),
        (6, "i", "columns", "1"),
        (10, "b", "columns", "2"),
        (11, "a", "data_type", "y"),
        (11, "b", "columns", "3"),
    ]
    nested = [row[:4] for row in rejects if row[1] != "data"]
    assert nested == [
        *[(7, "data__m", None, "tables")] * 2,
        (8, "data__k", "y", "columns"),
        (9, "data__k", "x", "data_type"),
    ]


# what is frozen


def refused_by_dlt(stored, document):
    """Return what dlt's normalize step says of one document: table, column, entity, or nothing."""
    with destination(None) as capabilities:
        reference = Reference(stored, "data", capabilities)
        try:
            reference.add(copy.deepcopy(document))
        except DataValidationError as error:
            return (error.table_name, error.column_name, error.schema_entity)
    return None


def test_every_violation_of_frozen_entities_is_reported_and_nothing_is_loaded(local_engine, tmp_path):
    lists = {entity: {entity: "freeze"} for entity in ENTITIES}
    stored = with_contracts(lists, root="freeze")
    documents = [*ELEMENTS, *({"nr": 9, name: [each]} for name in lists for each in ELEMENTS)]
    refusals = {refusal for document in documents if (refusal := refused_by_dlt(stored, document))}
    assert len(refusals) > 10
    ours = BySchemactl(local_engine, tmp_path, stored)

    report = ours.load(documents, is_stopped=True)

    reported = {(each.table, each.column, str(each.entity)) for each in report.inference.violations}
    assert reported == refusals
    places = {(each.table, each.column): each.first.number for each in report.inference.violations}
    assert (places["data", "b"], places["data__columns", "b"]) == (4, 26)
    assert not ours.path.exists()
    assert ours.stored["version_hash"] == stored["version_hash"]


def test_nothing_new_passes_a_frozen_contract(local_engine, tmp_path):
    _, ours, theirs = both(local_engine, tmp_path, ELEMENTS[:2], with_contracts({}, root="freeze"))
    assert_same(ours.loaded(), theirs.loaded())


# first loads


FIRST = [{"nr": 1, "a": 1, "l": [{"x": 1}, {"x": 2}]}, {"nr": 2, "b": "x", "l": [{"x": 3}]}, {"nr": 3, "a": 5}]


def with_settings(contract):
    stored = copy.deepcopy(PLAIN)
    stored["settings"]["schema_contract"] = contract
    return DltSchema.from_dict(stored).to_dict()


@pytest.mark.parametrize(
    "contract", [{"columns": "discard_row", "data_type": "freeze"}, {"columns": "freeze"}], ids=str
)
def test_columns_of_new_tables_are_free(local_engine, tmp_path, contract):
    _, ours, theirs = both(local_engine, tmp_path, FIRST, with_settings(contract))
    assert_same(ours.loaded(), theirs.loaded())


def test_new_root_table_is_frozen(local_engine, tmp_path):
    stored = with_settings({"tables": "freeze"})
    with pytest.raises(PipelineStepFailed) as refused:
        ByDlt(tmp_path / "dlt", stored).load(FIRST)
    ours = BySchemactl(local_engine, tmp_path / "ours", stored)

    report = ours.load(FIRST, is_stopped=True)

    assert isinstance(refused.value.__cause__, DataValidationError)
    assert refused.value.__cause__.table_name == "data"
    assert ("data", None, "tables") in {(e.table, e.column, str(e.entity)) for e in report.inference.violations}


@pytest.mark.parametrize("mode", DISCARDS)
def test_new_root_table_is_discarded(local_engine, tmp_path, mode):
    stored = with_settings({"tables": mode})
    theirs = ByDlt(tmp_path / "dlt", stored)
    theirs.load(FIRST)
    ours = BySchemactl(local_engine, tmp_path / "ours", stored)

    report = ours.load(FIRST)

    assert "data" not in theirs.stored["tables"]
    assert "data" not in ours.stored["tables"]
    assert ours.loaded().rows == {}
    assert (report.roots[0].read, report.roots[0].rejected, report.rows_loaded) == (3, 3, 0)
    found = ours.rejects("line", "table_name", "entity", "mode", '"row"')
    assert [row[:4] for row in found] == [(number, "data", "tables", mode) for number in (1, 2, 3)]
    assert [json.loads(row[4])["nr"] for row in found] == [1, 2, 3]


# meant differences


def test_nulls_violate_nothing(local_engine, tmp_path):
    """dlt drops the last row, as it has met a value in the refused column before; in another order it would not."""
    found = [{"nr": 1, "a": 2, "b": 1}, {"nr": 2, "a": 3}, {"nr": 3, "a": 4, "b": None}]

    _, ours, theirs = both(local_engine, tmp_path, found, with_contracts({}, root={"columns": "discard_row"}))

    assert [row["nr"] for row in theirs.loaded().rows["data"]] == [2]
    assert sorted(row["nr"] for row in ours.loaded().rows["data"]) == [2, 3]


def test_loads_go_on_under_a_contract_that_an_earlier_one_has_stored(local_engine, tmp_path):
    theirs = ByDlt(tmp_path / "dlt")
    theirs.load([{"nr": 1, "a": 1, "k": [{"x": 1}]}], schema_contract={"columns": "discard_value"})
    ours = BySchemactl(local_engine, tmp_path / "ours", theirs.stored, database=theirs.path)
    more = [{"nr": 2, "a": "x", "c": 1, "k": [{"x": 2, "y": 1}], "m": [1]}]
    theirs.load(more)

    ours.load(more)

    assert ours.loaded().columns == theirs.loaded().columns
    assert_same_rows(ours.loaded(), theirs.loaded())
