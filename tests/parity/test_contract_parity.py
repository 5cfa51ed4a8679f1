"""Contracts let through what dlt's let through: single checks by the thousand, and whole pipelines."""

from __future__ import annotations

import shutil
from copy import deepcopy

import dlt
import pytest
from dlt.common.schema import Schema as DltSchema
from dlt.common.schema.exceptions import DataValidationError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemactl.schema.contract import Entity, contract_for
from schemactl.schema.judgment import judge
from schemactl.schema.types import schema_from_dict

MANY = settings(suppress_health_check=list(HealthCheck))

modes = st.sampled_from(["evolve", "freeze", "discard_row", "discard_value"])
contracts = modes | st.dictionaries(st.sampled_from(["tables", "columns", "data_type"]), modes)
columns = st.fixed_dictionaries(
    {},
    optional={
        "data_type": st.sampled_from(["text", "bigint"]),
        "nullable": st.booleans() | st.none(),
        "precision": st.sampled_from([None, 8]),
        "timezone": st.booleans(),
        "variant": st.booleans(),
        "description": st.sampled_from(["x", "y"]),
        "unique": st.booleans(),
    },
)
column_sets = st.dictionaries(st.sampled_from(["a", "b", "c", "d__v_text", "_dlt_id", "_dlt_x"]), columns, max_size=4)
marks = st.sampled_from([{}, {"seen-data": True}, {"evolve-columns-once": True}, {"evolve-columns-once": False}])


def table_of(name, column_set, parent=None, contract=None, mark=None):
    named = {column: {**stated, "name": column} for column, stated in column_set.items()}
    table = {"name": name, "columns": named}
    if parent:
        table["parent"] = parent
    else:
        table |= {"write_disposition": "append", "resource": name}
    if contract is not None:
        table["schema_contract"] = contract
    if mark:
        table["x-normalizer"] = mark
    return table


@st.composite
def dlt_schemas(draw):
    """A schema with a root table and what is nested in it; any of them may be missing or incomplete."""
    stored = DltSchema("demo").to_dict()
    parent = None
    for name in ("t", "t__l", "t__l__m")[: draw(st.integers(0, 3))]:
        contract = draw(st.none() | contracts)
        stored["tables"][name] = table_of(name, draw(column_sets), parent, contract, draw(marks))
        parent = name
    if draw(st.booleans()):
        stored["settings"]["schema_contract"] = draw(contracts)
    return stored


PARENTS = {"t": None, "t__l": "t", "t__l__m": "t__l"}
# parents first, as data brings them
asked = st.tuples(column_sets, column_sets, column_sets).map(lambda sets: dict(zip(PARENTS, sets, strict=True)))


def changes(schema, name, column_set):
    """Return the partial table of what is new or changed, as dlt's normalize stage would make it."""
    known = schema.tables.get(name, {"columns": {}})["columns"]
    column_set = {key: as_inferred(new, known.get(key, {})) for key, new in column_set.items()}
    changed = {
        key: new for key, new in column_set.items() if {**known.get(key, {}), **new, "name": key} != known.get(key)
    }
    return table_of(name, changed, PARENTS[name])


def as_inferred(new, known):
    """A variant is called one where its values are first met, and not again."""
    if not known.get("variant") or new.get("variant") is False:
        return new
    if known.get("data_type"):
        return {key: value for key, value in new.items() if key != "variant"}
    return {**new, "variant": True}


def by_dlt(stored, asks):
    """Return what dlt lets through and what it filters."""
    schema = DltSchema.from_dict(deepcopy(stored))
    filtered, refused = [], set()
    for name, column_set in asks.items():
        partial = changes(schema, name, column_set)
        if PARENTS[name] in refused:
            refused.add(name)
            continue
        if not partial["columns"] and name in schema.tables:
            continue
        contract = schema.resolve_contract_settings_for_table(name, None if name in schema.tables else partial)
        partial, filters = schema.apply_schema_contract(contract, partial, raise_on_freeze=False)
        filtered += [(name, entity, item, mode) for entity, item, mode in filters]
        if partial is None:
            refused.add(name)
        else:
            schema.update_table(partial, normalize_identifiers=False)
    return schema, filtered


def all_of_it(stored, asks):
    schema = DltSchema.from_dict(deepcopy(stored))
    for name, column_set in asks.items():
        schema.update_table(changes(schema, name, column_set), normalize_identifiers=False)
    return schema


@MANY
@given(dlt_schemas(), asked)
def test_any_change(stored, asks):
    before = DltSchema.from_dict(deepcopy(stored))
    allowed, filtered = by_dlt(stored, asks)
    judgment = judge(schema_from_dict(before.to_dict()), schema_from_dict(deepcopy(all_of_it(stored, asks).to_dict())))
    ours = sorted(
        # dlt calls its filters of variants and changed types "columns" as well
        (
            each.table,
            "tables" if each.column is None else "columns",
            each.column or each.table,
            str(each.mode),
        )
        for each in judgment.violations
    )
    assert ours == sorted(filtered)
    theirs = schema_from_dict(allowed.to_dict())
    assert judgment.schema.tables == theirs.tables
    for name, table in theirs.tables.items():
        assert list(judgment.schema.tables[name].columns) == list(table.columns)


@MANY
@given(dlt_schemas(), st.sampled_from(["t", "t__l", "t__l__m", "unknown", "_dlt_loads", "_dlt_unknown"]))
def test_the_contract_of_a_table(stored, table):
    schema = DltSchema.from_dict(deepcopy(stored))
    ours = contract_for(schema_from_dict(schema.to_dict()), table)
    theirs = schema.resolve_contract_settings_for_table(table)
    assert {entity: str(getattr(ours, entity)) for entity in Entity} == theirs


@MANY
@given(dlt_schemas(), st.sampled_from(["t", "t__l", "t__l__m", "unknown", "_dlt_loads"]), contracts)
def test_the_contract_of_a_call(stored, table, contract):
    """``pipeline.run(schema_contract=...)`` writes it on root tables and in the settings, unless empty."""
    ours = contract_for(schema_from_dict(DltSchema.from_dict(deepcopy(stored)).to_dict()), table, contract)
    if contract:
        stored["settings"]["schema_contract"] = contract
        for stated in stored["tables"].values():
            if not stated.get("parent"):
                stated["schema_contract"] = contract
    theirs = DltSchema.from_dict(stored).resolve_contract_settings_for_table(table)
    assert {entity: str(getattr(ours, entity)) for entity in Entity} == theirs


SEED = [{"id": 1, "name": "x", "l": [{"a": 1}]}]
DATA = {
    "nothing new": [{"id": 2, "name": "y", "l": [{"a": 2}]}],
    "new column": [{"id": 2, "b": 1}],
    "new column in a nested table": [{"id": 2, "l": [{"a": 1, "b": True}]}],
    "new nested table": [{"id": 2, "m": [{"x": 1, "y": [1]}]}],
    "variant": [{"id": "not a number"}],
    "variant in a nested table": [{"id": 2, "l": [{"a": "not a number"}]}],
    "coerced": [{"id": "17"}],
    "new flattened columns": [{"id": 2, "o": {"p": 1, "q": {"r": "s"}}}],
}
CONTRACTS = [
    "evolve",
    "freeze",
    "discard_row",
    "discard_value",
    {"tables": "freeze"},
    {"columns": "freeze"},
    {"data_type": "freeze"},
    {"tables": "discard_row", "columns": "discard_value"},
    {"data_type": "discard_value"},
]


@pytest.fixture(scope="module")
def extracted(tmp_path_factory):
    """Run data through dlt's extract and normalize, perhaps after a load of SEED; gives schema and refusal, if any."""
    seeded = tmp_path_factory.mktemp("seeded")

    def run(folder, data, contract):
        pipeline = dlt.pipeline("demo", destination="duckdb", pipelines_dir=str(folder), progress=None)
        refusal = None
        try:
            pipeline.extract(deepcopy(data), table_name="t", schema_contract=contract)
            pipeline.normalize()
        except Exception as error:
            refusal = cause_of(error)
        return pipeline.default_schema if pipeline.default_schema_name else DltSchema("demo"), refusal

    def load(data, contract=None, is_first=False):
        folder = tmp_path_factory.mktemp("pipelines")
        if not is_first:
            shutil.copytree(seeded, folder, dirs_exist_ok=True)
        return run(folder, data, contract)

    _, refusal = run(seeded, SEED, None)
    assert refusal is None
    return load


def cause_of(error):
    while error is not None and not isinstance(error, DataValidationError):
        error = error.__cause__ or error.__context__
    assert error is not None, "dlt failed for another reason"
    return error


@pytest.fixture(scope="module")
def seed(extracted):
    return extracted(SEED, is_first=True)[0]


@pytest.fixture(scope="module", params=DATA)
def case(request, extracted):
    """A second load, and the schema that it leaves where everything may evolve."""
    data = DATA[request.param]
    return data, extracted(data)[0]


def without_contracts(table):
    """Return the table as dlt stores it without the contract of the call, which it keeps."""
    return {key: value for key, value in table.items() if key != "schema_contract"}


@pytest.mark.parametrize("contract", CONTRACTS, ids=str)
def test_pipelines(extracted, seed, case, contract):
    data, evolved = case
    theirs, refusal = extracted(data, contract)
    before, after = (schema_from_dict(schema.to_dict()) for schema in (seed, evolved))
    judgment = judge(before, after, contract)
    assert judgment.is_refused == (refusal is not None)
    if refusal is not None:
        found = {(each.table, each.column, str(each.entity)) for each in judgment.violations}
        assert (refusal.table_name, refusal.column_name, refusal.schema_entity) in found
        return
    stored = judgment.schema.to_dict()["tables"]
    assert stored.keys() == theirs.tables.keys()
    for name, table in theirs.tables.items():
        assert list(stored[name]["columns"].items()) == list(table["columns"].items()), name
        assert without_contracts(stored[name]) == without_contracts(table)


@pytest.mark.parametrize("contract", CONTRACTS, ids=str)
def test_pipelines_with_a_new_root_table(extracted, seed, contract):
    evolved = seed
    assert evolved.tables["t"]
    empty = {**seed.to_dict(), "tables": {n: t for n, t in seed.tables.items() if n.startswith("_dlt")}}
    judgment = judge(schema_from_dict(empty), schema_from_dict(evolved.to_dict()), contract)
    theirs, refusal = extracted(SEED, contract, is_first=True)
    assert judgment.is_refused == (refusal is not None)
    if refusal is None:
        assert set(judgment.schema.tables) == set(theirs.tables)
    else:
        assert judgment.violations[0].table == refusal.table_name
        assert judgment.violations[0].entity == refusal.schema_entity
