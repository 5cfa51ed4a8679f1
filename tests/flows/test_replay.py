"""Rejects come back: each record once, under its keys, by the schema as it is now."""

from __future__ import annotations

import json
import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from loading_shop import LOCAL, Shop

from schemactl.errors import InputError
from schemactl.flows.rejects import RejectStore, discard_rejects, export_rejects, open_store
from schemactl.flows.replay import ReplayRequest, replay_rejects
from schemactl.flows.request import InferRequest
from schemactl.normalization.rejects import RejectFilter, ReplayReport
from schemactl.normalization.tally import RejectState
from schemactl.schema.types import Column, Table

ALL = RejectFilter(states=None)
STRICT = "data_type=discard_row"
SUNDAY = {"id": 0, "amount": 5, "lines": [{"sku": "a", "qty": 1}]}
NO_AMOUNT = {"id": 2, "amount": "n/a", "lines": [{"sku": "b", "qty": 2}]}
NO_QUANTITY = {"id": 3, "amount": 7, "lines": [{"sku": "c", "qty": "two"}, {"sku": "d", "qty": 1}]}


class Replays:
    """A shop of which a load had rejects, and replays of them."""

    def __init__(self, shop: Shop, to: str) -> None:
        self.shop, self.to = shop, to

    def load(self, name: str, *documents: Any, **options: Any) -> None:
        self.shop.load(self.shop.write(name, *documents), to=self.to, **options)

    @property
    def store(self) -> RejectStore:
        return open_store("shop", self.to, Path("schemas"))

    def replay(self, selection: RejectFilter | None = None, **options: Any) -> ReplayReport:
        own = {name: options.pop(name) for name in ("repaired", "is_dry_run") if name in options}
        inference = InferRequest((), "shop", None, Path("schemas"), **options)
        request = ReplayRequest(inference, self.to, selection or RejectFilter(), **own)
        engine = self.shop.engine
        return replay_rejects(self.store, request, lambda _: True, None, lambda *_: nullcontext(engine))

    def export(self, **changes: Any) -> Path:
        """Export what waits, with some values changed in all records that have them."""
        lines: list[str] = []
        export_rejects(self.store, RejectFilter(), lines.append)
        entries = [json.loads(line) for line in lines]
        for entry in entries:
            if not isinstance(entry["record"]["amount"], int):
                entry["record"] |= changes
            for line in entry["record"]["lines"]:
                line["qty"] = 2 if line["qty"] == "two" else line["qty"]
        file = self.shop.folder / "repaired.jsonl"
        file.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
        return file

    def rows(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        kinds = {"id": "bigint", "amount": "bigint", "qty": "bigint", "_dlt_list_idx": "bigint"}
        model = {name: Column(name, {"data_type": kinds.get(name, "text")}) for name in columns}
        store = self.store
        batches = store.destination.read_table(store.target.url, "shop", Table(table, model))
        return sorted((tuple(row.values()) for batch in batches for row in batch.to_pylist()), key=repr)

    def states(self) -> list[tuple[str, str | None, bool]]:
        """Return column, state and whether a load has replayed it, of all rejects."""
        return sorted((str(reject.column), str(reject.state), bool(reject.replayed_in)) for reject in self.store.read())


@pytest.fixture
def replays(shop: Shop, any_destination: str) -> Replays:
    replays = Replays(shop, any_destination)
    replays.load("sunday.jsonl", SUNDAY)
    replays.load("monday.jsonl", {**SUNDAY, "id": 1}, NO_AMOUNT, NO_QUANTITY, contract=STRICT, load_id="monday")
    return replays


@pytest.fixture
def monday(shop: Shop) -> Replays:
    """The same in a folder of Parquet alone."""
    replays = Replays(shop, "warehouse")
    replays.load("sunday.jsonl", SUNDAY)
    replays.load("monday.jsonl", {**SUNDAY, "id": 1}, NO_AMOUNT, NO_QUANTITY, contract=STRICT, load_id="monday")
    return replays


def test_repaired_records_come_back_once_under_their_keys(replays: Replays) -> None:
    before = replays.rows("orders", "id", "_dlt_id")
    file = replays.export(amount=17)
    dry = replays.replay(repaired=file, contract=STRICT, is_dry_run=True)
    assert (dry.records, dry.passed, dry.partly, dry.waiting, dry.load_id) == (2, 2, 0, 0, None)
    assert replays.rows("orders", "id", "_dlt_id") == before
    report = replays.replay(repaired=file, contract=STRICT)
    assert (report.passed, report.partly, report.waiting, report.remaining) == (2, 0, 0, ())
    assert replays.rows("orders", "id", "amount") == [(0, 5), (1, 5), (2, 17), (3, 7)]
    assert set(before) < set(replays.rows("orders", "id", "_dlt_id"))
    assert replays.rows("orders__lines", "sku", "qty") == [("a", 1), ("a", 1), ("b", 2), ("c", 2), ("d", 1)]
    orders = {key for _, key in replays.rows("orders", "id", "_dlt_id")}
    assert {parent for (parent,) in replays.rows("orders__lines", "_dlt_parent_id")} == orders
    loads = {load_id for order, load_id in replays.rows("orders", "id", "_dlt_load_id") if order in (2, 3)}
    assert loads == {report.load_id}
    assert replays.states() == [("amount", "replayed", True), ("qty", "replayed", True)]
    assert {reject.replayed_in for reject in replays.store.read()} == {report.load_id}

    again = replays.replay(repaired=file)
    assert (again.records, again.settled, again.load_id) == (0, 2, None)
    assert replays.rows("orders", "id") == [(0,), (1,), (2,), (3,)]


def test_records_that_do_not_pass_wait_with_their_new_reason(replays: Replays) -> None:
    file = replays.export(amount=True)
    report = replays.replay(repaired=file, contract=STRICT)
    assert (report.passed, report.partly, report.waiting) == (1, 0, 1)
    (group,) = report.remaining
    assert (group.column, "found bool" in group.reason, group.file, group.load_id) == (
        "amount", True, "monday.jsonl", "monday",
    )  # fmt: skip
    assert replays.states() == [("amount", "waiting", False), ("qty", "replayed", True)]
    (waiting,) = (reject for reject in replays.store.read() if reject.state is RejectState.WAITING)
    assert (waiting.line, json.loads(waiting.record or "")["amount"]) == (2, True)
    assert replays.replay().passed == 1  # the schema's own contract evolves
    assert replays.rows("orders", "id", "amount") == [(0, 5), (1, 5), (2, None), (3, 7)]


@pytest.mark.parametrize("contract", ["data_type=freeze", STRICT])
def test_a_nested_row_comes_back_when_it_passes_however_often_it_does_not(monday: Replays, contract: str) -> None:
    for _ in range(2):
        report = monday.replay(RejectFilter(columns=("qty",)), contract=contract)
        assert (report.passed, report.partly, report.waiting, report.orphans) == (0, 0, 1, ())
    assert monday.rows("orders__lines", "sku") == [("a",), ("a",), ("d",)]
    assert monday.replay(repaired=monday.export(amount=1), contract=contract).passed == 2
    assert monday.rows("orders__lines", "sku") == [("a",), ("a",), ("b",), ("c",), ("d",)]


def test_a_discarded_value_comes_back_into_its_row(replays: Replays) -> None:
    replays.load("tuesday.jsonl", {**NO_AMOUNT, "id": 9}, contract="data_type=discard_value", load_id="tuesday")
    assert (9, None) in replays.rows("orders", "id", "amount")
    selection = RejectFilter(load_ids=("tuesday",))
    assert replays.replay(selection, contract="data_type=discard_value").partly == 0
    report = replays.replay(selection, repaired=replays.export(amount=90), contract="data_type=discard_value")
    assert (report.passed, report.settled) == (1, 2)
    assert [row for row in replays.rows("orders", "id", "amount") if row[0] == 9] == [(9, 90)]
    assert replays.rows("orders__lines", "sku").count(("b",)) == 1


def test_records_whose_own_row_is_gone_are_named(shop: Shop) -> None:
    import duckdb

    replays = Replays(shop, "duckdb:///made.duckdb")
    replays.load("sunday.jsonl", SUNDAY)
    replays.load("monday.jsonl", NO_AMOUNT, NO_QUANTITY, {**NO_QUANTITY, "id": 4}, contract=STRICT)
    with duckdb.connect("made.duckdb") as connection:
        connection.execute("DELETE FROM shop.orders WHERE id = 3")
        connection.execute("UPDATE shop.orders SET _dlt_load_id = 'later' WHERE id = 4")
    report = replays.replay(repaired=replays.export(amount=1))
    assert [(file, line) for file, line, _ in report.orphans] == [("monday.jsonl", 2), ("monday.jsonl", 3)]
    assert (report.records, report.passed) == (1, 1)
    assert replays.rows("orders", "id") == [(0,), (2,), (4,)]
    assert replays.states().count(("qty", "waiting", False)) == 2


def test_rows_of_a_table_that_loads_replace_are_not_replaced_by_a_replay(monday: Replays) -> None:
    file = monday.shop.folder / "schemas/import/shop.schema.yaml"
    columns = "    columns:\n      id: {data_type: bigint}\n      amount: {data_type: bigint}\n"
    text = file.read_text().replace("    columns: {}\n", columns, 1)
    file.write_text(text.replace("    write_disposition: append", "    write_disposition: replace"))
    monday.load("tuesday.jsonl", SUNDAY, {**NO_AMOUNT, "id": 8}, contract=STRICT)
    assert monday.rows("orders", "id") == [(0,)]
    assert monday.replay(RejectFilter(files=("tuesday*",)), repaired=monday.export(amount=4)).passed == 1
    assert monday.rows("orders", "id") == [(0,), (8,)]


def test_null_in_a_required_column_stops_a_replay_and_is_named_at_its_origin(monday: Replays) -> None:
    file = monday.shop.folder / "schemas/import/shop.schema.yaml"
    columns = "    columns:\n      id: {data_type: bigint}\n      amount: {data_type: bigint, nullable: false}\n"
    file.write_text(file.read_text().replace("    columns: {}\n", columns, 1))
    before = monday.states()
    report = monday.replay(repaired=monday.export(amount=None))
    assert report.stopped is not None
    (null,) = report.stopped.inference.nulls if report.stopped.inference else ()
    assert (str(null.first), report.is_done) == ("monday.jsonl:2", False)
    assert monday.states() == before


def test_texts_that_typing_rejects_come_back_by_a_repaired_file(shop: Shop) -> None:
    from schemactl.flows.typing import find_typing
    from schemactl.store.folder import SchemasFolder

    Path("typing.json").write_text(
        json.dumps(
            [
                {"id": "a", "name": "id", "trim": True, "nullable": True, "primaryKey": False, "type": "long"},
                {"id": "b", "name": "name", "trim": True, "nullable": True, "primaryKey": False, "type": "string"},
            ]
        )
    )
    Path("people.csv").write_text('id,name\n1,Ann\nx,"Bob, ""B"""\n3,Cy\n')
    typing = find_typing("typing.json", "reject", SchemasFolder.at("schemas"))
    replays = Replays(shop, "warehouse")
    shop.load("people.csv", typing=typing, table="people")
    (reject,) = replays.store.read()
    assert (reject.kind, reject.line, json.loads(reject.record or "")) == ("typing", 3, {"id": "x", "name": 'Bob, "B"'})
    stays = replays.replay(typing=typing)
    assert (stays.passed, stays.waiting, stays.remaining[0].kind) == (0, 1, "typing")
    assert [(reject.line, reject.file) for reject in replays.store.read()] == [(3, "people.csv")]
    lines: list[str] = []
    export_rejects(replays.store, ALL, lines.append)
    Path("repaired.jsonl").write_text(lines[0].replace('"x"', '"2"'))
    assert replays.replay(typing=typing, repaired=Path("repaired.jsonl")).passed == 1
    assert replays.rows("people", "id", "name") == [(1, "Ann"), (2, 'Bob, "B"'), (3, "Cy")]


def test_merges_by_key_take_a_replayed_record_once(shop: Shop) -> None:
    replays = Replays(shop, "warehouse")
    from schemactl.schema.hints import ColumnHint, Hints

    hints = Hints(
        columns=(ColumnHint(None, "id", {"data_type": "bigint", "primary_key": True, "nullable": False}),),
    )
    replays.load("sunday.jsonl", SUNDAY, {**SUNDAY, "id": 2}, hints=hints)
    replays.load("monday.jsonl", NO_AMOUNT, contract=STRICT)
    assert replays.replay(repaired=replays.export(amount=6)).passed == 1
    assert sorted(replays.rows("orders", "id", "amount")).count((2, 6)) == 1


def test_records_of_a_json_document_and_odd_texts_come_back_as_they_are(shop: Shop) -> None:
    (shop.folder / "odd_models.py").write_text(
        "from pydantic import BaseModel\n\nclass Order(BaseModel):\n    id: int\n    note: str\n"
    )
    from schemactl.flows.models import find_model

    odd = 'line\u2028 and\x85 next\n "é" 😀'
    document = json.dumps([{"id": 1, "note": "fine"}, {"id": "x", "note": odd}], indent=2, ensure_ascii=False)
    (shop.folder / "orders.json").write_text(document)
    model = find_model("odd_models:Order", "data_type=discard_row")
    replays = Replays(shop, "warehouse")
    shop.load("orders.json", model=model, contract="data_type=discard_row")
    assert replays.replay(model=model, contract="data_type=discard_row").waiting == 1
    lines: list[str] = []
    export_rejects(replays.store, ALL, lines.append)
    (entry,) = (json.loads(line) for line in "".join(lines).split("\n") if line)
    assert entry["record"] == {"id": "x", "note": odd}
    Path("repaired.jsonl").write_bytes(b"\xef\xbb\xbf" + lines[0].replace('"x"', "2").encode())
    report = replays.replay(model=model, contract="data_type=discard_row", repaired=Path("repaired.jsonl"))
    assert report.passed == 1
    assert replays.rows("orders", "id", "note") == [(1, "fine"), (2, odd)]


@pytest.mark.parametrize("normalizer", ["schemactl.normalization.normalizers.nested"])
def test_rows_that_keep_their_structure_come_back(shop: Shop, normalizer: str) -> None:
    replays = Replays(shop, "warehouse")
    replays.load("sunday.jsonl", SUNDAY, normalizer=normalizer)
    replays.load("monday.jsonl", NO_AMOUNT, contract=STRICT)
    assert replays.replay(repaired=replays.export(amount=8)).passed == 1
    assert replays.rows("orders", "id", "amount") == [(0, 5), (2, 8)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ("[]", "no `id` and `record`"),
        ('{"id": 1, "record": {}}', "no `id` and `record`"),
        ('{"id": "a"}', "no `id` and `record`"),
        ('{"id": "0000", "record": {}}', "no reject with the id `0000`"),
        ('{"id": "a", "record": {}}\n\n{"id": "a", "record": {}}', "is repeated"),
    ],
)
def test_a_file_that_is_no_export_is_refused(monday: Replays, line: str, message: str) -> None:
    Path("wrong.jsonl").write_text(line + "\n")
    with pytest.raises(InputError, match=message):
        monday.replay(repaired=Path("wrong.jsonl"))
    with pytest.raises(InputError, match="cannot read"):
        monday.replay(repaired=Path("none.jsonl"))


def test_what_was_discarded_or_declined_is_not_replayed(monday: Replays) -> None:
    discard_rejects(monday.store, RejectFilter(columns=("qty",)), "no", lambda _: True)
    request = ReplayRequest(InferRequest((), "shop", None, Path("schemas"), engine=LOCAL), "warehouse", RejectFilter())
    assert not replay_rejects(monday.store, request, lambda _: False).is_done
    assert monday.states() == [("amount", "waiting", False), ("qty", "discarded", False)]
    assert monday.replay().records == 1


def test_a_record_that_another_command_settles_meanwhile_is_not_loaded(replays: Replays) -> None:
    """The other command comes between the replay's reading and its load."""
    others = iter((lambda: discard_rejects(replays.store, RejectFilter(columns=("amount",)), "no", lambda _: True),))
    file = replays.export(amount=17)
    inference = InferRequest((), "shop", None, Path("schemas"))
    request = ReplayRequest(inference, replays.to, RejectFilter(), repaired=file)
    asked: list[int] = []

    def progress(stage: str, _: float | None) -> None:
        if stage.startswith("loading into"):
            next(others, lambda: None)()

    def agree(report: ReplayReport) -> bool:
        asked.append(report.records)
        return True

    engine = replays.shop.engine
    report = replay_rejects(replays.store, request, agree, progress, lambda *_: nullcontext(engine))
    assert (report.records, report.passed, asked) == (1, 1, [2])
    assert replays.states() == [("amount", "discarded", False), ("qty", "replayed", True)]
    assert replays.rows("orders", "id") == [(0,), (1,), (3,)]


def test_two_replays_and_a_load_at_the_same_time_load_each_record_once(monday: Replays) -> None:
    file = monday.export(amount=17)
    failures: list[BaseException] = []

    def run(work: Any) -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    source = monday.shop.write("tuesday.jsonl", {**NO_AMOUNT, "id": 7}, {**SUNDAY, "id": 8})
    from schemactl.flows.normalize import NormalizeRequest, normalize

    load = NormalizeRequest(
        InferRequest((source,), "shop", "orders", Path("schemas"), contract=STRICT, engine=LOCAL), "warehouse"
    )
    inference = InferRequest((), "shop", None, Path("schemas"), engine=LOCAL)
    replay = ReplayRequest(inference, "warehouse", RejectFilter(), repaired=file)
    works = [lambda: replay_rejects(monday.store, replay, lambda _: True)] * 2 + [lambda: normalize(load)]
    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert monday.rows("orders", "id") == [(0,), (1,), (2,), (3,), (8,)]
    assert monday.states() == [("amount", "replayed", True), ("amount", "waiting", False), ("qty", "replayed", True)]
