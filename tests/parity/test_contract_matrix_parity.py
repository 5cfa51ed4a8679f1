"""Contracts on odd data: what dlt keeps out stays out here, table by table, and each row and value is accounted for.

Nested tables have contracts of their own, so one load holds the matrix: the same elements in a list for each entity
and mode. In each list the first row to bring something new brings nothing that is refused, as dlt's row by row
judgment and the one by witnesses differ there (docs/differences.md).
"""

from __future__ import annotations

import copy
import itertools
from collections import Counter

import pytest
from dlt.common.schema import Schema as DltSchema
from dlt.common.schema.exceptions import DataValidationError
from loaded_tables import ByDlt, BySchemactl, assert_same
from test_inference_parity import PLAIN, Reference, destination
from test_normalize_contract_parity import known

ENTITIES = ("tables", "columns", "data_type")
DISCARDS = ("discard_row", "discard_value")

KNOWN = {
    "nr": "bigint", "a": "bigint", "t": "text", "b": "bool", "d": "double", "ts": "timestamp", "dec": "decimal",
    "day": "date", "w": "bigint", "i": None, "j": None,
}  # fmt: skip

CASES = {
    "nothing new": {"a": 1, "t": "x", "b": True, "d": 1.5, "ts": "2024-05-06T07:08:09Z", "dec": "1.25"},
    "null first": {"a": None, "n": None, "i": None, "w": None},
    "known variant": {"w": "x"},
    "new variant beside a known one": {"w": True},
    "new column beside a variant": {"w": "y", "n": 5},
    "new column in one row with null in another": {"n": 6, "t": None},
    "incomplete column": {"i": 1},
    "incomplete column of another type later": {"i": "one"},
    "incomplete column, null before": {"j": None},
    "incomplete column, a list": {"j": [1]},
    "integer to text": {"t": 5},
    "text to integer": {"a": " 7 "},
    "text that is no integer": {"a": "seven"},
    "bool to double": {"d": True},
    "double to bool": {"b": 2.5},
    "text to bool": {"b": "maybe"},
    "integer to timestamp": {"ts": 1_700_000_000},
    "text that is no timestamp": {"ts": "yesterday"},
    "date to timestamp": {"ts": "2024-05-06"},
    "bool to date": {"day": False},
    "double to decimal": {"dec": 2.5},
    "text that is no decimal": {"dec": "two"},
    "fraction to integer": {"a": 1.5},
    "new keys of one name": {"newName": 1},
    "the other key of that name": {"new_name": 2},
    "flattened": {"o": {"p": {"q": 1}}},
    "flattened to a known name": {"o": {"p": {"q": "x"}}},
    "object where a scalar was": {"a": {"z": 1}},
    "new column in a nested table": {"k": [{"x": 1, "y": 1}, {"x": 2}]},
    "deep new table": {"m": [{"x": 1, "p": [{"q": [1, 2]}, {"q": []}]}, {"x": 2}]},
    "more in the new table": {"m": [{"x": 3}, {"x": 4, "p": [{"q": [3]}]}]},
    "list of scalars": {"s": [1, "2", 3]},
    "odd scalars in a list": {"s": [1, "two", 2]},
    "null in a list of scalars": {"s": [4, None]},
    "fraction in a list of scalars": {"s": [2.5, 6]},
    "two violations in one row": {"a": "eight", "n": 7, "d": False, "k": [{"x": 8}]},
    "in a row and below it": {"n": 9, "a": "nine", "k": [{"x": "nine"}, {"x": 9, "y": 9}]},
    "below a row only": {"k": [{"x": "ten"}, {"x": 10}]},
    "one value in several columns": {"a": "same", "t": "same", "d": "same", "w": "same"},
}
"""What elements of lists hold beside their number."""

ELEMENTS = [{"nr": number, **case} for number, case in enumerate(CASES.values(), 1)]

OF_TWO_TYPES = ("incomplete column of another type later", "flattened to a known name")
"""New columns that get a variant at once: where only `columns` is refused, dlt keeps the variant out with them."""

BY_ENTITY = [{"nr": number, **case} for number, (name, case) in enumerate(CASES.items(), 1) if name not in OF_TWO_TYPES]
LISTS = {f"{entity}_{mode}": {entity: mode} for entity, mode in itertools.product(ENTITIES, DISCARDS)}


def stored_with(lists, root=None, settings=None):
    """Return a schema in which the table of each list, like the root table, has the known columns and its contract."""
    stored = copy.deepcopy(PLAIN)
    for name, contract in {"data": root, **{f"data__{each}": contract for each, contract in lists.items()}}.items():
        stored["tables"][name] = known(None if name == "data" else "data", contract, **KNOWN)
        stored["tables"][name]["columns"]["w__v_text"] = {"data_type": "text", "nullable": True, "variant": True}
        stored["tables"][f"{name}__k"] = known(name, None, x="bigint")
        stored["tables"][f"{name}__s"] = known(name, None, value="bigint")
    if settings:
        stored["settings"]["schema_contract"] = settings
    return DltSchema.from_dict(copy.deepcopy(stored)).to_dict()


def both(engine, folder, documents, stored, **contract):
    theirs = ByDlt(folder / "dlt", stored)
    theirs.load(documents)
    ours = BySchemactl(engine, folder / "ours", stored)
    return ours.load(documents, **contract), ours, theirs


def assert_accounted_for(report, ours, theirs):
    """Check that each row that was read is loaded or rejected, as by dlt, and that each reject is reported."""
    loaded, rows = ours.loaded().rows, theirs.loaded().rows
    for table in report.tables:
        assert table.read == table.loaded + table.superseded + table.rejected + table.rejected_with_parent
        assert table.loaded == len(loaded.get(table.name, [])) == len(rows.get(table.name, []))
    reported = Counter(
        (each.table, each.variant_of or each.column) for each in report.inference.violations for _ in range(each.values)
    )
    kept = ours.rejects("table_name", "column_name", "entity", "mode", "value", "line", "path", '"row"')
    of_columns = Counter((table, column) for table, column, *_ in kept if column is not None)
    assert of_columns == Counter({origin: count for origin, count in reported.items() if origin[1] is not None})
    rejected = {each.name: each for each in report.tables}
    for table, found in itertools.groupby(kept, key=lambda row: row[0]):
        found = list(found)
        values = sum(1 for row in found if row[7] is None)
        assert values == rejected[table].values_rejected
        assert len({row[6] for row in found if row[7] is not None}) >= bool(rejected[table].rejected)
        assert all((row[4] is not None) == (row[2] != "tables") for row in found)


def test_dlt_discards_the_same_rows_and_values_by_entity(local_engine, tmp_path):
    documents = [{"nr": 1, "open": BY_ENTITY, **dict.fromkeys(LISTS, BY_ENTITY)}]

    report, ours, theirs = both(local_engine, tmp_path, documents, stored_with({**LISTS, "open": None}))

    assert_same(ours.loaded(), theirs.loaded())
    assert_accounted_for(report, ours, theirs)
    counts = {table.name: table for table in report.tables}
    assert {counts[f"data__{name}"].read for name in (*LISTS, "open")} == {len(BY_ENTITY)}
    assert counts["data__open"].loaded == len(BY_ENTITY)


@pytest.mark.parametrize("mode", DISCARDS)
def test_dlt_discards_the_same_under_one_mode_for_all_entities(mode, local_engine, tmp_path):
    """The root table's contract holds for what is nested in it, and goes before the one of the settings."""
    stored = stored_with({}, root=mode, settings="freeze")

    report, ours, theirs = both(local_engine, tmp_path, ELEMENTS, stored)

    assert_same(ours.loaded(), theirs.loaded())
    assert_accounted_for(report, ours, theirs)
    assert report.roots[0].read == len(ELEMENTS)


def refused_by_dlt(stored, documents):
    """Return what dlt's normalize step says of documents, one after the other: table, column, entity."""
    refusals = set()
    with destination(None) as capabilities:
        reference = Reference(stored, "data", capabilities)
        for document in documents:
            try:
                reference.add(copy.deepcopy(document))
            except DataValidationError as error:
                refusals.add((error.table_name, error.column_name, error.schema_entity))
    return refusals


def test_dlt_refuses_the_same_cases_and_all_of_them_are_reported_at_once(local_engine, tmp_path):
    lists = {entity: {entity: "freeze"} for entity in ENTITIES}
    stored = stored_with(lists, root="freeze")
    documents = [*BY_ENTITY, *({"nr": 0, name: [each]} for name in lists for each in BY_ENTITY)]
    refusals = refused_by_dlt(stored, documents)
    ours = BySchemactl(local_engine, tmp_path, stored)

    report = ours.load(documents, is_stopped=True)

    assert len(refusals) > 30
    reported = {(each.table, each.column, str(each.entity)) for each in report.inference.violations}
    # dlt ends at the first violation of a row; this one stands behind another one.
    behind = {(table, "d__v_text", "data_type") for table in ("data", "data__data_type")}
    assert reported == refusals | behind
    assert all(each.mode == "freeze" and each.values and each.first for each in report.inference.violations)
    assert not ours.path.exists()
    assert ours.stored["version_hash"] == stored["version_hash"]
