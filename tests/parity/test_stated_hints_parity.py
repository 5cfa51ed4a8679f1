"""What a schema file states beside the data, and what data states by itself: beside a pipeline of dlt."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from dlt.common.exceptions import TerminalValueError
from dlt.common.schema.exceptions import TableIdentifiersFrozen
from dlt.destinations import postgres
from dlt.pipeline.exceptions import PipelineStepFailed
from loaded_tables import ByDlt
from test_inference_parity import PLAIN

from schemactl.destinations.postgresql.types import column_type
from schemactl.errors import InputError
from schemactl.inference.evidence import Position, observe
from schemactl.inference.resolve import resolve
from schemactl.schema.types import Column, Table, schema_from_dict

SCD2 = {"disposition": "merge", "strategy": "scd2"}


def inferred(stored: dict[str, Any], *documents: Any) -> dict[str, Any]:
    evidence = observe((Position("data.jsonl", number), each) for number, each in enumerate(documents, 1))
    schema = resolve(evidence, schema_from_dict(copy.deepcopy(stored)), "data").schema
    tables: dict[str, Any] = schema.to_dict()["tables"]
    return tables


@pytest.mark.parametrize("document", [{"id": 1}, {"id": 1, "items": [{"x": 1}]}, {"_dlt_id": "own", "id": 1}])
def test_a_history_that_only_the_file_states_has_the_columns_of_one_that_a_resource_states(
    document: Any, tmp_path: Any
) -> None:
    theirs = ByDlt(tmp_path)
    theirs.load([document], write_disposition=SCD2)
    stated = Table("data", {}, {"write_disposition": "merge", "x-merge-strategy": "scd2", "resource": "data"})
    stored = schema_from_dict(copy.deepcopy(PLAIN)).with_table(stated).to_dict()

    ours = inferred(stored, document)

    for name in ("data", *(["data__items"] if "items" in document else [])):
        assert list(ours[name]["columns"].items()) == list(theirs.stored["tables"][name]["columns"].items())


def test_a_history_that_an_edit_states_for_a_table_with_columns_adds_what_a_resource_adds(tmp_path: Any) -> None:
    theirs = ByDlt(tmp_path)
    theirs.load([{"id": 1}])
    stored = theirs.stored
    theirs.load([{"id": 1}], write_disposition=SCD2)
    stored["tables"]["data"] |= {"write_disposition": "merge", "x-merge-strategy": "scd2"}

    ours = inferred(stored, {"id": 1})

    assert list(ours["data"]["columns"].items()) == list(theirs.stored["tables"]["data"]["columns"].items())


@pytest.mark.parametrize(
    "stated",
    [
        {"data_type": kind, "precision": size, **more}
        for kind, sizes in (("bigint", (8, 33, 64, 65, 128)), ("timestamp", (0, 3, 6, 7, 9)))
        for size in sizes
        for more in ({}, {"timezone": False})
    ],
)
def test_postgresql_takes_and_refuses_the_sizes_that_dlt_takes_and_refuses(stated: dict[str, Any]) -> None:
    mapper = postgres("postgresql://u@h/d").capabilities().get_type_mapper()
    try:
        theirs = mapper.to_destination_type({"name": "c", **stated}, {"name": "t", "columns": {}})
    except TerminalValueError:
        with pytest.raises(
            InputError, match=rf"has no {stated['data_type']} of precision {stated['precision']} \(`c`\)"
        ):
            column_type(Column("c", stated))
    else:
        assert column_type(Column("c", stated)) == theirs.replace(" (", "(")


def test_dlt_refuses_another_naming_convention_where_tables_hold_data(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = ByDlt(tmp_path)
    theirs.load([{"id": 1}])
    monkeypatch.setenv("SCHEMA__NAMING", "sql_cs_v1")
    with pytest.raises((PipelineStepFailed, TableIdentifiersFrozen)) as failed:
        theirs.load([{"id": 1}])
    assert TableIdentifiersFrozen in (failed.type, type(failed.value.__cause__))


def test_texts_with_dlts_mark_of_a_number_stay_texts(tmp_path: Any) -> None:
    document = {"a": "\uf02c115"}
    theirs = ByDlt(tmp_path)
    theirs.load([document])
    assert theirs.stored["tables"]["data"]["columns"]["a"]["data_type"] == "wei"
    assert inferred(PLAIN, document)["data"]["columns"]["a"]["data_type"] == "text"
