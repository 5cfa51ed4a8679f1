"""Which root tables the data of a call goes to: real files, which are read only where they are empty."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemactl.engine.protocol import Engine
from schemactl.errors import InputError
from schemactl.flows.infer import InferRequest, infer
from schemactl.flows.root_tables import inputs_by_table, warn_of_unlike
from schemactl.formats.dlt import read
from schemactl.inference.evidence import Position, observe
from schemactl.inference.report import InferenceReport
from schemactl.inference.saved_evidence import write_evidence
from schemactl.schema.hints import Hints, parse_column
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Schema, Table
from schemactl.store.sources import LeftOutWarning

pytestmark = pytest.mark.usefixtures("work")


def write(name: str, *documents: Any) -> str:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in documents or [{"id": 1}]))
    return name


def request(*sources: str, **asked: Any) -> InferRequest:
    return replace(InferRequest(sources=sources, name="shop", table=None, schemas=Path("schemas")), **asked)


def shop(*tables: str) -> Schema:
    schema = new_schema("shop")
    for name in tables:
        schema = schema.with_table(Table(name, {}, {"write_disposition": "append"}))
    return schema


def parted(asked: InferRequest, before: Schema | None = None) -> dict[str | None, list[str]]:
    """The files by the table that they go to."""
    return {
        part.request.table: [each.path for each in part.inputs] for part in inputs_by_table(asked, before or shop())
    }


def test_tables_with_sources_take_these_and_leave_the_rest_to_the_others() -> None:
    for name in ("crm/a.jsonl", "crm/b.jsonl", "orders.jsonl", "more.jsonl"):
        write(name)

    found = parted(request(".", table="orders", table_sources=(("Contacts", "crm/*.jsonl"), ("extra", "more.jsonl"))))

    assert found == {
        "contacts": ["crm/a.jsonl", "crm/b.jsonl"], "extra": ["more.jsonl"], "orders": ["orders.jsonl"]
    }  # fmt: skip


def test_each_file_gets_a_table_and_files_of_one_name_share_it() -> None:
    for name in ("a/orders.jsonl", "b/orders.jsonl", "b/people.csv"):
        write(name)

    assert parted(request(".", table_per_file=True)) == {
        "orders": ["a/orders.jsonl", "b/orders.jsonl"], "people": ["b/people.csv"]
    }  # fmt: skip


def test_files_whose_names_become_one_are_warned_of() -> None:
    for name in ("a b.jsonl", "a_b.jsonl", "c.jsonl", "more/c.jsonl"):
        write(name)

    with pytest.warns(LeftOutWarning) as caught:
        assert set(parted(request(".", table_per_file=True))) == {"a_b", "c"}
    [warning] = [each.message for each in caught]
    assert str(warning) == "files of other names go to one table `a_b`: `a b.jsonl`, `a_b.jsonl`"
    assert isinstance(warning, LeftOutWarning)
    assert warning.files == ("a b.jsonl", "a_b.jsonl")


@pytest.mark.parametrize("is_by_file", [True, False])
def test_an_empty_file_among_others_stops_nothing(local_engine: Engine, is_by_file: bool) -> None:
    write("in/a.jsonl")
    Path("in/empty.jsonl").write_text("")

    def infer_here(call: InferRequest) -> InferenceReport:
        return infer(call, open_engine=lambda *_: nullcontext(local_engine))

    report = infer_here(request("in", table_per_file=is_by_file, table=None if is_by_file else "a", is_check=True))
    assert {each.path: each.documents for each in report.files} == {"in/a.jsonl": 1, "in/empty.jsonl": 0}
    assert [each.name for each in report.tables] == ["a"]

    Path("in/a.jsonl").unlink()
    with pytest.raises(InputError, match="there are no records in"):
        infer_here(request("in", table_per_file=is_by_file))


def test_the_only_table_of_a_schema_takes_the_data() -> None:
    write("february.jsonl")

    with pytest.warns(
        LeftOutWarning, match="the only table of schema `shop`; `--table february` creates another table"
    ):
        assert parted(request("february.jsonl"), shop("orders")) == {"orders": ["february.jsonl"]}
    assert parted(request("february.jsonl"), shop("orders", "people")) == {"february": ["february.jsonl"]}
    assert parted(request("february.jsonl", table="other"), shop("orders")) == {"other": ["february.jsonl"]}


def test_near_twin_of_a_table_is_refused_where_nobody_can_be_asked() -> None:
    write("telemetry01.jsonl")
    before = shop("telemetry_01", "other")

    with pytest.raises(InputError, match="no table `telemetry01`, but a table `telemetry_01`") as caught:
        parted(request("telemetry01.jsonl"), before)
    assert caught.value.hint is not None
    assert "`--table telemetry01` to create a table" in caught.value.hint
    with pytest.warns(LeftOutWarning, match="creating a new table"):
        assert list(parted(request("telemetry01.jsonl", table="telemetry01"), before)) == ["telemetry01"]


@pytest.mark.parametrize("answer", [True, False])
def test_near_twin_of_a_table_is_asked_about(answer: bool) -> None:
    write("telemetry01.jsonl")
    asked: list[str] = []

    def agrees(question: str) -> bool:
        asked.append(question)
        return answer

    call = request("telemetry01.jsonl", agrees=agrees)
    if answer:
        assert list(parted(call, shop("telemetry_01", "other"))) == ["telemetry01"]
    else:
        with pytest.raises(InputError, match="nothing changed"):
            parted(call, shop("telemetry_01", "other"))
    assert asked == ["there is no table `telemetry01`, but a table `telemetry_01`; create a new table `telemetry01`"]


def test_unlike_files_in_one_table_are_warned_of() -> None:
    write("in/people.jsonl", {"id": 1, "name": "a", "mail": "b", "city": "c"})
    write("in/prices.jsonl", {"sku": 1, "price": 2, "since": "x"})
    Path("in/people.csv").write_text("id,name,mail\n1,2,3\n")

    with pytest.warns(
        LeftOutWarning, match=r"files with different fields go to the same table: `in/people\.csv` has `id`"
    ) as caught:
        warn_of_unlike(inputs_by_table(request("in"), shop()))
    [warning] = [each.message for each in caught]
    assert isinstance(warning, LeftOutWarning)
    assert warning.files == ("in/people.csv", "in/prices.jsonl")


@pytest.mark.filterwarnings("error")
def test_files_with_some_keys_in_common_are_not_warned_of() -> None:
    write("in/a.jsonl", {"id": 1, "name": "a"})
    write("in/b.jsonl", {"id": 1, "price": 2, "since": 3})
    Path("in/c.json").write_text('[{"id": 1, "x": 1}, {"id": 2, "y": 1}]')

    warn_of_unlike(inputs_by_table(request("in"), shop()))


@pytest.mark.parametrize(("asked", "message"), [
    ({"table": "orders", "table_per_file": True}, "cannot be used together"),
    ({"table": "Orders", "table_sources": (("orders", "a.jsonl"),)}, "with and without a source"),
    ({"table_sources": (("orders", "b.jsonl"),), "hints": Hints((parse_column("id:text"),))},
     "`--column id` names no table"),
    ({"table_sources": (("orders", "no.jsonl"),)}, "there is no `no.jsonl`"),
])  # fmt: skip
def test_call_that_contradicts_itself_is_refused(asked: dict[str, Any], message: str) -> None:
    write("a.jsonl")
    write("b.jsonl")

    with pytest.raises(InputError, match=message):
        parted(request("a.jsonl", **asked))


def test_evidence_of_several_tables_makes_one_schema_in_one_step() -> None:
    for name, document in (("orders", {"id": 1, "lines": [{"n": 1}]}), ("people", {"id": "x"})):
        evidence = observe([(Position(f"{name}.jsonl", 1), document)])
        Path(f"{name}.evidence.json").write_text(write_evidence(evidence))
    tables = tuple((name, f"{name}.evidence.json") for name in ("orders", "people"))

    report = infer(request(table_sources=tables))

    assert report.table is None
    assert {file.path: file.table for file in report.files} == {"orders.jsonl": "orders", "people.jsonl": "people"}
    assert [table.name for table in report.tables] == ["orders", "orders__lines", "people"]
    stored = read(Path("schemas/export/shop.schema.yaml").read_text(), "shop").schema
    assert {"orders", "orders__lines", "people"} <= stored.tables.keys()
    assert (stored.version_hash, report.before_hash) == (report.after_hash, None)
    stated = read(Path("schemas/import/shop.schema.yaml").read_text(), "shop").schema
    assert {name: list(table.columns) for name, table in stated.tables.items() if not name.startswith("_dlt")} == {
        "orders": [], "people": []
    }  # fmt: skip
    again = infer(request(table_sources=tables, is_check=True))
    assert not again.changes_schema


def test_nothing_is_written_where_the_contract_refuses_one_of_the_tables() -> None:
    for name in ("orders", "people"):
        evidence = observe([(Position(f"{name}.jsonl", 1), {"id": 1})])
        Path(f"{name}.evidence.json").write_text(write_evidence(evidence))
    infer(request(table_sources=(("orders", "orders.evidence.json"),)))
    before = Path("schemas/export/shop.schema.yaml").read_bytes()

    tables = tuple((name, f"{name}.evidence.json") for name in ("people", "orders"))
    report = infer(request(table_sources=tables, contract="tables=freeze"))

    assert report.is_refused
    assert [each.table for each in report.violations] == ["people"]
    assert Path("schemas/export/shop.schema.yaml").read_bytes() == before


@pytest.mark.filterwarnings("error")
def test_headers_with_a_stated_separator_or_separators_in_quotes_are_alike() -> None:
    Path("in").mkdir()
    Path("in/a.csv").write_text("sep=;\nid;total\n1;2\n")
    Path("in/b.csv").write_text('id,total,"from; to; by; at"\n1,2,x\n')

    warn_of_unlike(inputs_by_table(request("in"), shop()))
