from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow.parquet
import pytest
from loading_shop import Shop

from schemactl.destinations import parquet
from schemactl.errors import DestinationError, InputError
from schemactl.flows.infer import InferRequest, infer
from schemactl.flows.normalize import NormalizeRequest, normalize
from schemactl.flows.references import find_schemas
from schemactl.inference.evidence import Position, observe
from schemactl.inference.saved_evidence import write_evidence
from schemactl.normalization.report import NormalizeReport, Outcome, Stop
from schemactl.schema.hints import Hints, parse_column
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder

if TYPE_CHECKING:
    pass

ORDERS = [
    {"id": 1, "at": "2026-01-31T10:00:00Z", "lines": [{"n": 1, "tags": ["a", "b"]}, {"n": 2}]},
    {"id": "idx-2", "at": None},
    {"id": 3, "lines": [{"n": 3}]},
]


def counts(report: NormalizeReport) -> dict[str, tuple[int, int, int, int, int]]:
    """Rows read, loaded, rejected, rejected with a row above, and values rejected, by table."""
    return {
        table.name: (table.read, table.loaded, table.rejected, table.rejected_with_parent, table.values_rejected)
        for table in report.tables
    }


def test_rows_reach_the_folder_and_the_schema_is_that_of_infer(shop: Shop) -> None:
    source = shop.write("orders.jsonl", *ORDERS)

    report = shop.load(source, load_id="1", lineage=True)

    assert (report.outcome, report.load_id, report.destination) == (Outcome.LOADED, "1", "parquet:warehouse")
    assert counts(report) == {
        "orders": (3, 3, 0, 0, 0), "orders__lines": (3, 3, 0, 0, 0), "orders__lines__tags": (2, 2, 0, 0, 0)
    }  # fmt: skip
    assert shop.rows("orders", "id", "id__v_text", "_dlt_load_id") == [
        (1, None, "1"), (3, None, "1"), (None, "idx-2", "1")
    ]  # fmt: skip
    keys = dict(shop.rows("orders", "id", "_dlt_id"))
    assert shop.rows("orders__lines", "n", "_dlt_parent_id", "_dlt_list_idx") == [
        (1, keys[1], 0), (2, keys[1], 1), (3, keys[3], 0)
    ]  # fmt: skip
    assert shop.rows("orders__lines__tags", "value") == [("a",), ("b",)]
    assert report.inference is not None
    asked = InferRequest(sources=("orders.evidence.json",), name="shop", table="orders", schemas=Path("other"))
    evidence = observe((Position(source, number), each) for number, each in enumerate(ORDERS, start=1))
    Path("orders.evidence.json").write_text(write_evidence(evidence))
    assert infer(asked).after_hash == report.inference.after_hash
    assert report.lineage is not None
    assert report.lineage["orders"]["id__v_text"] == ("$.id",)
    assert report.inference.written[-1] == "schemas/export/shop.lineage.json"


def test_lineage_file_is_no_schema(shop: Shop) -> None:
    shop.load(shop.write("orders.jsonl", *ORDERS))

    assert [found.schema.name for found in find_schemas("export:", SchemasFolder.at(Path("schemas")))] == ["shop"]
    assert [found.schema.name for found in find_schemas("schemas", SchemasFolder.at(Path("x")))] == ["shop"]


def test_lineage_remembers_earlier_loads(shop: Shop) -> None:
    shop.load(shop.write("a.jsonl", {"id": 1}))

    report = shop.load(shop.write("b.jsonl", {"Id": 2}), lineage=True)

    assert report.lineage is not None
    assert report.lineage["orders"]["id"] == ("$.id", "$.Id")


def test_load_is_not_repeated_under_its_id(shop: Shop) -> None:
    source = shop.write("orders.jsonl", *ORDERS)
    shop.load(source, load_id="nightly")
    before = shop.files()

    report = shop.load(source, load_id="nightly")

    assert (report.outcome, report.inference, report.stops) == (Outcome.LOADED_BEFORE, None, ())
    assert shop.files() == before


def test_only_new_files_are_loaded(shop: Shop) -> None:
    shop.write("a.jsonl", {"id": 1})
    assert shop.load("a.jsonl", new_only=True, to="duckdb:///shop.duckdb").rows_loaded == 1
    shop.write("b.jsonl", {"id": 2}, {"id": 3})

    second = shop.load("a.jsonl", "b.jsonl", new_only=True, to="duckdb:///shop.duckdb")
    third = shop.load("a.jsonl", "b.jsonl", new_only=True, to="duckdb:///shop.duckdb")

    assert (second.seen, second.rows_loaded) == (("a.jsonl",), 2)
    assert (third.outcome, third.seen) == (Outcome.NOTHING_NEW, ("a.jsonl", "b.jsonl"))
    with duckdb.connect("shop.duckdb") as database:
        assert database.execute("select id from shop.shop.orders order by id").fetchall() == [(1,), (2,), (3,)]


def test_changed_and_renamed_files_are_refused_and_named(shop: Shop) -> None:
    Path("landing").mkdir()
    names = [shop.write(f"landing/{name}.jsonl", {"id": at}) for at, name in enumerate("abc")]
    shop.load("landing", new_only=True)
    shop.write(names[0], {"id": 0}, {"id": 3})
    with pytest.raises(InputError, match="1 file has rows that earlier loads appended") as raised:
        shop.load("landing", new_only=True)
    (problem,) = raised.value.problems
    assert problem.message == "`landing/a.jsonl` has changed since it was loaded: 10 bytes then, 20 now"
    Path("landing").rename("archive")
    with pytest.raises(InputError, match="2 files have rows that earlier loads appended") as raised:
        shop.load("archive", new_only=True)
    assert "`archive/b.jsonl` was loaded as" in raised.value.problems[0].message
    assert shop.rows("orders", "id") == [(0,), (1,), (2,)]


def test_frozen_contract_leaves_everything_as_it_was(shop: Shop) -> None:
    shop.load(shop.write("orders.jsonl", *ORDERS))
    more = shop.write("more.jsonl", {"id": 4, "colour": "red"})
    before = shop.files()

    report = shop.load(more, contract="columns=freeze")

    assert (report.outcome, report.stops, report.tables) == (Outcome.STOPPED, (Stop.CONTRACT,), ())
    assert report.inference is not None
    [violation] = report.inference.violations
    assert (violation.column, violation.first, violation.example) == ("colour", Position("more.jsonl", 1), "red")
    assert shop.files() == before


REFUSED = [
    {"id": 4, "colour": "red", "lines": [{"n": 4}]},
    {"id": 5, "colour": None},
    {"id": "idx-6"},
    {"id": 7, "lines": [{"n": 5, "size": 2, "tags": ["c"]}, {"n": 6}]},
]


def test_rejected_rows_are_kept_with_their_reasons(shop: Shop) -> None:
    shop.load(shop.write("orders.jsonl", *ORDERS))

    report = shop.load(shop.write("more.jsonl", *REFUSED), contract="columns=discard_row", load_id="2")

    assert counts(report) == {
        "orders": (4, 3, 1, 0, 0), "orders__lines": (3, 1, 1, 1, 0), "orders__lines__tags": (1, 0, 0, 1, 0)
    }  # fmt: skip
    assert (report.outcome, report.rejects) == (Outcome.LOADED, "table `_rejects`")
    assert report.inference is not None
    assert [(each.column, each.values) for each in report.inference.violations] == [("colour", 1), ("size", 1)]
    columns = ("load_id", "table_name", "column_name", "mode", "value", "file", "line")
    assert shop.rows("_rejects", *columns) == [
        ("2", "orders", "colour", "discard_row", "red", "more.jsonl", 1),
        ("2", "orders__lines", "size", "discard_row", "2", "more.jsonl", 4),
    ]
    kept = json.loads(shop.rows("_rejects", "table_name", "row")[0][1])
    assert kept["colour"] == "red"


def test_rejected_values_are_kept_as_files_where_that_is_asked_for(shop: Shop) -> None:
    shop.load(shop.write("orders.jsonl", *ORDERS))

    report = shop.load(
        shop.write("more.jsonl", *REFUSED), contract="columns=discard_value", load_id="2", rejects=Path("bad")
    )

    assert counts(report)["orders"] == (4, 4, 0, 0, 1)
    assert report.rejects == "bad"
    files = sorted(Path("bad").iterdir())
    assert [file.name for file in files] == [f"2.{number}.parquet" for number in range(len(files))]
    assert sum(pyarrow.parquet.read_table(file).num_rows for file in files) == 2
    assert not Path("warehouse/_rejects").exists()
    assert (4, None) in shop.rows("orders", "id", "colour")


def test_refused_table_is_reported_with_its_rows(shop: Shop) -> None:
    shop.load(shop.write("orders.jsonl", *ORDERS))

    report = shop.load(shop.write("more.jsonl", {"id": 4, "notes": ["x", "y"]}), contract="tables=discard_row")

    assert counts(report)["orders__notes"] == (2, 0, 2, 0, 0)
    assert [table.name for table in report.tables if not table.is_written] == ["orders__notes"]
    assert not Path("warehouse/orders__notes").exists()


def edit_import(old: str, new: str) -> None:
    """State in the import file all that the export file holds, but for an edit."""
    text = Path("schemas/export/shop.schema.yaml").read_text()
    assert old in text
    Path("schemas/import/shop.schema.yaml").write_text(text.replace(old, new, 1))


def test_null_where_none_is_allowed_stops_the_load(shop: Shop) -> None:
    shop.load(shop.write("orders.jsonl", *ORDERS))
    edit_import(
        "id:\n        data_type: bigint\n        nullable: true",
        "id:\n        data_type: bigint\n        nullable: false",
    )
    before = shop.files()

    report = shop.load(shop.write("orders.jsonl", {"id": 4}, {"id": None}))

    assert report.stops == (Stop.NULLS,)
    assert report.inference is not None
    assert [(null.column, str(null.first)) for null in report.inference.nulls] == [("id", "orders.jsonl:2")]
    assert shop.files() == before


def test_null_in_place_of_an_object_that_is_required_stops_the_load(shop: Shop) -> None:
    shop.load(shop.write("orders.jsonl", *ORDERS))
    known = "id:\n        data_type: bigint\n        nullable: true"
    edit_import(known, f"{known}\n      place:\n        data_type: json\n        nullable: false")

    report = shop.load(shop.write("orders.jsonl", {"id": 4, "place": {"x": 1}}, {"id": 5, "place": None}))

    assert report.stops == (Stop.NULLS,)
    assert report.inference is not None
    assert [(null.column, str(null.first)) for null in report.inference.nulls] == [("place", "orders.jsonl:2")]


def test_values_that_overwrite_one_another_stop_the_load(shop: Shop) -> None:
    source = shop.write("orders.jsonl", {"id": 1}, {"id": 2, "Id": 3}, {"Id": 4})

    report = shop.load(source)

    assert report.stops == (Stop.OVERWRITES,)
    [met] = report.overwrites
    assert (met.column, set(met.sources), met.count, str(met.first)) == ("id", {"$.id", "$.Id"}, 1, "orders.jsonl:2")
    assert shop.files() == ["orders.jsonl"]
    assert shop.load(source, resolve_collisions=True).outcome is Outcome.LOADED
    assert shop.rows("orders", "id", "id_2") == [(1, None), (2, 3), (None, 4)]


def test_keys_that_never_meet_may_share_a_column(shop: Shop) -> None:
    report = shop.load(shop.write("orders.jsonl", {"id": 1}, {"Id": 4}))

    assert report.outcome is Outcome.LOADED
    assert shop.rows("orders", "id") == [(1,), (4,)]


def test_value_that_no_column_holds_stops_the_load(shop: Shop) -> None:
    report = shop.load(shop.write("orders.jsonl", {"id": 1}, {"id": 2**63}))

    assert report.stops == (Stop.UNFIT,)
    [unfit] = report.unfit
    assert (unfit.column, unfit.count, str(unfit.first), unfit.example) == ("id", 1, "orders.jsonl:2", str(2**63))
    assert shop.files() == ["orders.jsonl"]


@pytest.mark.parametrize("column", ["n:wei", "n:decimal", "other:text"])
def test_integers_of_more_than_38_digits_go_beside_numbers(shop: Shop, column: str) -> None:
    numbers = [10**28, 10**38, -(10**80)]
    hints = Hints(columns=(parse_column(column),))

    report = shop.load(shop.write("orders.jsonl", *({"n": number} for number in numbers)), hints=hints)

    assert report.outcome is Outcome.LOADED
    found = set(shop.rows("orders", "n", "n__v_text"))
    assert found == {(10**28, None), (None, str(10**38)), (None, str(-(10**80)))}


def test_bad_records_are_skipped_and_counted(shop: Shop) -> None:
    Path("orders.jsonl").write_text('{"id": 1}\n{"id": \n{"id": 3}\n')

    with pytest.raises(InputError, match="1 record cannot be read"):
        shop.load("orders.jsonl")
    report = shop.load("orders.jsonl", on_bad_record="skip")

    assert (report.documents, report.bad, report.rows_loaded) == (2, 1, 2)


def test_file_that_changes_while_it_is_read_is_not_loaded(shop: Shop) -> None:
    source = shop.write("orders.jsonl", *ORDERS)

    def write_more(stage: str, _share: float | None) -> None:
        if stage == "making rows":
            shop.write(source, *ORDERS, *ORDERS)

    with pytest.raises(InputError, match=r"a source changed while being read: 3 documents, then [4-6]") as caught:
        shop.load(source, progress=write_more)

    assert str(caught.value.at) == "orders.jsonl"
    assert shop.files() == ["orders.jsonl"]


def test_rows_that_a_blank_key_puts_into_the_table_of_their_document_are_no_documents(shop: Shop) -> None:
    report = shop.load(shop.write("orders.jsonl", {"id": 1, "": [{"id": 2}, {"id": 3}]}))

    assert (report.outcome, report.documents, report.rows_loaded) == (Outcome.LOADED, 1, 3)
    assert shop.rows("orders", "id") == [(1,), (2,), (3,)]


def test_schema_that_changes_meanwhile_is_built_on(shop: Shop) -> None:
    source = shop.write("orders.jsonl", *ORDERS)
    evidence = observe([(Position("more.jsonl", 1), {"x": 1})])
    Path("more.evidence.json").write_text(write_evidence(evidence))
    others = InferRequest(sources=("more.evidence.json",), name="shop", table="more", schemas=Path("schemas"))

    def save_others(stage: str, _share: float | None) -> None:
        if stage == "making rows":
            infer(others)

    assert shop.load(source, progress=save_others).outcome is Outcome.LOADED

    [found] = find_schemas("shop", SchemasFolder.at(Path("schemas")))
    assert {"more", "orders", "orders__lines"} <= found.schema.tables.keys()
    assert len(shop.rows("orders", "id")) == 3


def test_failed_destination_leaves_no_rejects_behind(shop: Shop) -> None:
    shop.load(shop.write("orders.jsonl", *ORDERS), to="duckdb:///shop.duckdb")

    def lock(stage: str, _share: float | None) -> None:
        if stage.startswith("loading into"):
            Path("shop.duckdb").write_bytes(b"no database any more")

    with pytest.raises(DestinationError):
        shop.load(
            shop.write("more.jsonl", *REFUSED), to="duckdb:///shop.duckdb", contract="columns=discard_value",
            rejects=Path("bad"), progress=lock,
        )  # fmt: skip

    assert list(Path("bad").iterdir()) == []
    assert list(shop.temporary.iterdir()) == []


# before an engine is opened


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"contract": "frooze"}, "no contract mode"),
        ({"load_id": "a/b"}, "cannot be the id of a load"),
        ({"to": "duckbd:///a"}, "no destination `duckbd`"),
        ({"name": "b c"}, "cannot name a schema"),
        ({"rejects": Path("orders.jsonl")}, "cannot save rejects in `orders.jsonl`"),
        ({"sources": ("ordres.jsonl",)}, "there is no `ordres.jsonl`"),
        ({"sources": ("orders.evidence.json",)}, "saved evidence, which contains no rows"),
        ({"sources": ("table:a.b",), "new_only": True}, "cannot determine whether"),
    ],
)
def test_a_wrong_call_is_reported_before_an_engine_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("orders.jsonl").write_text('{"id": 1}\n')
    Path("orders.evidence.json").write_text(write_evidence(observe([(Position("a", 1), {"id": 1})])))

    @contextmanager
    def refuse(*_: Any) -> Iterator[None]:
        pytest.fail("no engine is to be opened")
        yield

    stated = {"sources": ("orders.jsonl",), "name": "shop", "table": None, "schemas": Path("schemas")}
    inference = InferRequest(**{key: asked.get(key, value) for key, value in {**stated, "contract": None}.items()})
    own = {key: value for key, value in asked.items() if key in ("to", "load_id", "rejects", "new_only")}
    with pytest.raises(InputError, match=message):
        normalize(NormalizeRequest(**{"inference": inference, "to": "warehouse", **own}), None, refuse)


def test_several_tables_are_one_load(shop: Shop) -> None:
    shop.write("orders.jsonl", *ORDERS)
    shop.write("people.jsonl", {"id": "p1"}, {"id": "p2"})
    tables = (("orders", "orders.jsonl"), ("people", "people.jsonl"))

    report = shop.load(table_sources=tables, table=None, load_id="1")

    assert report.outcome is Outcome.LOADED
    assert counts(report) == {
        "orders": (3, 3, 0, 0, 0), "people": (2, 2, 0, 0, 0), "orders__lines": (3, 3, 0, 0, 0),
        "orders__lines__tags": (2, 2, 0, 0, 0),
    }  # fmt: skip
    assert shop.rows("people", "id", "_dlt_load_id") == [("p1", "1"), ("p2", "1")]
    assert shop.load(table_sources=tables, table=None, load_id="1").outcome is Outcome.LOADED_BEFORE


def test_nothing_is_loaded_where_one_of_several_tables_is_refused(shop: Shop) -> None:
    shop.write("orders.jsonl", {"id": 1})
    shop.write("people.jsonl", {"id": 1})
    tables = (("orders", "orders.jsonl"), ("people", "people.jsonl"))
    shop.load(table_sources=tables, table=None, load_id="1")
    shop.write("people.jsonl", {"id": 2, "age": 3})

    report = shop.load(table_sources=tables, table=None, load_id="2", contract="columns=freeze")

    assert (report.outcome, report.stops) == (Outcome.STOPPED, (Stop.CONTRACT,))
    assert shop.rows("orders", "id", "_dlt_load_id") == [(1, "1")]


def test_rejects_of_several_tables_are_kept_together(shop: Shop) -> None:
    tables = (("orders", "orders.jsonl"), ("people", "people.jsonl"))
    for name in ("orders", "people"):
        shop.write(f"{name}.jsonl", {"id": 1})
    shop.load(table_sources=tables, table=None, load_id="1")
    for name in ("orders", "people"):
        shop.write(f"{name}.jsonl", {"id": 2}, {"id": 3, "more": name})

    report = shop.load(table_sources=tables, table=None, load_id="2", contract="columns=discard_row")

    assert (report.rows_loaded, report.rows_rejected) == (2, 2)
    assert shop.rows("_rejects", "table_name") == [("orders",), ("people",)]


def test_what_goes_with_a_rejected_row_is_reported_so(shop: Shop) -> None:
    shop.load(shop.write("a.jsonl", {"id": 1, "amount": 10, "lines": [{"qty": 1}]}), load_id="1")
    late = (
        {"id": 2, "amount": "many", "lines": [{"qty": "x"}]},
        {"id": 3, "color": "red", "lines": [{"qty": 5, "unit": "kg"}]},
        {"id": 4, "color": "blue", "notes": ["n"]},
    )

    report = shop.load(shop.write("b.jsonl", *late), load_id="2", contract="discard_row")

    assert report.inference is not None
    found = {(each.table, each.variant_of or each.column): each.goes_with_row for each in report.inference.violations}
    assert found == {
        ("orders", "amount"): False,
        ("orders", "color"): False,
        ("orders__lines", "qty"): True,
        ("orders__lines", "unit"): True,
        ("orders__notes", None): True,
    }
    assert sorted(shop.rows("_rejects", "column_name")) == [("amount",), ("color",), ("color",)]


def test_nanoseconds_of_texts_that_are_cut_are_reported(shop: Shop) -> None:
    report = shop.load(shop.write("orders.jsonl", {"at": "2024-01-01T00:00:00.1234567Z"}))
    assert [each.message for each in report.warnings] == [
        "timestamps with nanoseconds are cut to microseconds: 1 in `orders.at`"
    ]


MOMENT, START = 1_700_000_000_123_456_789, 1_704_067_200_123_456_789


def load_nanoseconds(shop: Shop, **asked: Any) -> NormalizeReport:
    """Load timestamps of nanoseconds, out of Parquet and of texts, into columns that state them."""
    hints = Hints((parse_column("at:timestamp(9),timezone=false"), parse_column("seen:timestamp(9)")))
    counted = pyarrow.array([MOMENT, -1, None], pyarrow.int64())
    moments = {"at": counted.cast(pyarrow.timestamp("ns")), "seen": counted.cast(pyarrow.timestamp("ns", "UTC"))}
    pyarrow.parquet.write_table(pyarrow.table({"id": [1, 2, 3], **moments}), "a.parquet")
    text = "2024-01-01T00:00:00.123456789"
    shop.write("b.jsonl", {"id": 4, "at": text, "seen": f"{text}Z"}, {"id": 5, "at": f"{text}Z"})
    return shop.load("a.parquet", "b.jsonl", hints=hints, **asked)


def test_nanoseconds_are_kept_where_the_destination_keeps_them(shop: Shop) -> None:
    report = load_nanoseconds(shop)
    assert (report.rows_loaded, report.warnings) == (5, ())
    found = duckdb.sql("""select id, epoch_ns("at"), epoch_ns(seen) from 'warehouse/orders/*.parquet' order by id""")
    assert found.fetchall() == [
        (1, MOMENT, MOMENT), (2, -1, -1), (3, None, None), (4, START, START), (5, START, None)
    ]  # fmt: skip


def test_nanoseconds_that_a_destination_cuts_are_counted(shop: Shop) -> None:
    report = load_nanoseconds(shop, to="duckdb:///shop.duckdb")
    # DuckDB has no type with a time zone for them.
    assert [each.message for each in report.warnings] == [
        "timestamps with nanoseconds are cut to microseconds: 3 in `orders.seen`"
    ]
    with duckdb.connect("shop.duckdb") as database:
        query = 'select id, epoch_ns("at"), epoch_ns(seen) from shop.shop.orders order by id'
        found = database.execute(query).fetchall()
    micros = (MOMENT // 1000 * 1000, -1000, None, START // 1000 * 1000, None)
    assert found == list(zip(range(1, 6), (MOMENT, -1, None, START, START), micros, strict=True))


@pytest.mark.parametrize("to", ["warehouse", "duckdb:///shop.duckdb"])
def test_rows_that_nanoseconds_order_are_deduplicated(shop: Shop, to: str) -> None:
    hints = Hints(
        (parse_column("id:bigint,primary_key"), parse_column("at:timestamp(9),timezone=false,dedup_sort=desc")), "merge"
    )
    texts = [f"2024-01-01T00:00:00.12345678{digit}" for digit in (7, 9, 8)]
    shop.load(shop.write("a.jsonl", *({"id": 1, "at": text} for text in texts)), hints=hints, to=to)
    shop.load(shop.write("b.jsonl", {"id": 1, "at": texts[0]}, {"id": 2, "at": texts[0]}), to=to)
    with duckdb.connect("shop.duckdb" if to != "warehouse" else ":memory:") as database:
        table = "shop.shop.orders" if to != "warehouse" else "'warehouse/orders/*.parquet'"
        found = database.execute(f'select id, epoch_ns("at") % 1000 from {table} order by id').fetchall()
    assert found == [(1, 787), (2, 787)]


def test_destination_is_asked_again_only_about_another_schema(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def check_tables(_: str, schema: Schema) -> None:
        asked.append([*schema.tables["orders"].columns] if "orders" in schema.tables else [])

    monkeypatch.setattr(parquet, "check_tables", check_tables)
    source, same = shop.write("a.jsonl", {"id": 1}), shop.write("b.jsonl", {"id": 2})
    wider = shop.write("c.jsonl", {"id": 3, "note": "x"})
    shop.load(source)
    held = ["id", "_dlt_load_id", "_dlt_id"]
    assert asked == [[], held]
    asked.clear()
    shop.load(same)
    assert asked == [held]
    asked.clear()
    shop.load(wider)
    assert asked == [held, [*held, "note"]]
