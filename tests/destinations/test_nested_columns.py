"""Columns of structs, lists and maps in files and databases: loads of every kind, new fields, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from migrated_datasets import apply, undo
from staged_loads import quiet

from schemactl.errors import DestinationError
from schemactl.flows.diff import DiffRequest, diff_schemas
from schemactl.flows.migrate.apply import ApplyRequest, apply_migration
from schemactl.flows.migrate.inspection import VerifyRequest, find_status, verify
from schemactl.flows.migrate.plan import PlanRequest, plan_migration
from schemactl.flows.target import loadable
from schemactl.formats.dlt import write as write_schema
from schemactl.migration.options import PlanOptions
from schemactl.migration.reports import BlockerKind, Outcome
from schemactl.normalization.package import LoadPackage, StagedTable
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

MODULE = "schemactl.normalization.normalizers.nested"
KEY = {"data_type": "text", "nullable": False, "unique": True, "row_key": True}
LOAD = {"data_type": "text", "nullable": False}
AT = datetime(2026, 11, 21, tzinfo=UTC)

BUYER = "struct<name:string,tags:array<array<string>>,either:string COMMENT 'json'>"
LINES = "array<struct<n:bigint>>"
BUYER_LATER = f"{BUYER[:-1]},address:struct<city:string>>"
LINES_LATER = "array<struct<n:bigint,note:string>>"
PRICES = "map<string,struct<net:decimal(10,2)>>"


def listed(of: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", of))


NAME = [("name", pa.string()), ("tags", listed(listed(pa.string()))), ("either", pa.string())]
STAGED = {
    "bigint": pa.int64(),
    "timestamp": pa.timestamp("us", "UTC"),
    BUYER: pa.struct(NAME),
    BUYER_LATER: pa.struct([*NAME, ("address", pa.struct([("city", pa.string())]))]),
    LINES: listed(pa.struct([("n", pa.int64())])),
    LINES_LATER: listed(pa.struct([("n", pa.int64()), ("note", pa.string())])),
    PRICES: pa.map_(pa.string(), pa.struct([("net", pa.decimal128(10, 2))])),
    "struct<a:bigint>": pa.struct([("a", pa.int64())]),
    "struct<b:bigint>": pa.struct([("b", pa.int64())]),
    "struct<x:double>": pa.struct([("x", pa.float64())]),
    "struct<a:string>": pa.struct([("a", pa.string())]),
    "struct<A:bigint>": pa.struct([("A", pa.int64())]),
    "struct<a:struct<b:bigint>>": pa.struct([("a", pa.struct([("b", pa.int64())]))]),
    "array<bigint>": listed(pa.int64()),
    "struct<at:timestamp_ntz,t:time(6)>": pa.struct([("at", pa.timestamp("us")), ("t", pa.time64("us"))]),
}
"""What the engine writes for a type."""

OLD = {"buyer": BUYER, "lines": LINES, "prices": PRICES}
NEW = {"buyer": BUYER_LATER, "lines": LINES_LATER, "prices": PRICES}

FIRST = [
    {
        "id": 1,
        "buyer": {"name": "Ann", "tags": [["a", None], [], None], "either": '{"x":[1]}'},
        "lines": [{"n": 1}, None],
        "prices": {"eur": {"net": None}, "usd": None},
    },
    {"id": 2, "buyer": {"name": None, "tags": [], "either": None}, "lines": [], "prices": {}},
    {"id": 3},
]
LATER = [
    {"id": 4, "buyer": {"name": "Cid", "address": {"city": "Rome"}}, "lines": [{"n": 3, "note": "late"}]},
    {"id": 2, "buyer": {"name": "Bea"}},
]


def schema(columns: dict[str, str], **properties: Any) -> Schema:
    held = {name: {"data_type": "json", "x-spark-type": kind} for name, kind in columns.items()}
    merged = properties.get("write_disposition") == "merge" and properties.get("x-merge-strategy") != "scd2"
    key = {"primary_key": True, "nullable": False} if merged else {}
    valid = {"_dlt_valid_from": {"data_type": "timestamp", "x-valid-from": True},
             "_dlt_valid_to": {"data_type": "timestamp", "x-valid-to": True}}  # fmt: skip
    is_history = properties.get("x-merge-strategy") == "scd2"
    row = {**KEY, "x-row-version": True} if is_history else KEY
    parts = {"id": {"data_type": "bigint", **key}, **held, "_dlt_load_id": LOAD, "_dlt_id": row}
    made = {name: Column(name, kind) for name, kind in {**parts, **(valid if is_history else {})}.items()}
    stated = {"write_disposition": "append", "resource": "orders", "x-normalizer": {"seen-data": True}, **properties}
    new = new_schema("shop")
    kept = replace(new, normalizers={**new.normalizers, "json": {"module": MODULE}})
    return bump(kept.with_table(Table("orders", made, stated)))


class Place:
    """A destination in the working folder, and loads into it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.url = {"duckdb": "duckdb:///shop.duckdb", "parquet": "parquet:lake/shop"}.get(kind, f"{kind}:lake")
        self.module: Any = loadable(self.url).destination
        self.count = 0

    def load(self, of: Schema, rows: list[dict[str, Any]]) -> None:
        self.count += 1
        number = str(self.count)
        table = of.tables["orders"]
        columns = table.columns.values()
        stated = [each.properties.get("x-spark-type") or each.properties["data_type"] for each in columns]
        kinds = [(each.name, STAGED.get(kind, pa.string())) for each, kind in zip(columns, stated, strict=True)]
        held = [{"_dlt_load_id": number, "_dlt_id": f"{number}-{row['id']}", **row} for row in rows]
        folder = Path("staged") / number
        folder.mkdir(parents=True)
        pyarrow.parquet.write_table(pa.Table.from_pylist(held, pa.schema(kinds)), folder / "part-0.parquet")
        staged = StagedTable(table, folder, len(rows))
        self.module.check_tables(self.url, of)
        moment = AT + timedelta(hours=self.count)
        self.module.load(self.url, LoadPackage(number, of, (staged,), moment), quiet)

    def load_texts(self, of: Schema, rows: list[dict[str, Any]]) -> None:
        """Load rows of texts alone, whatever type a column states."""
        held = [{"_dlt_load_id": "1", "_dlt_id": row["id"], **row} for row in rows]
        folder = Path("staged") / "1"
        folder.mkdir(parents=True)
        kinds = pa.schema([(name, pa.string()) for name in of.tables["orders"].columns])
        pyarrow.parquet.write_table(pa.Table.from_pylist(held, kinds), folder / "part-0.parquet")
        self.module.check_tables(self.url, of)
        staged = StagedTable(of.tables["orders"], folder, len(rows))
        self.module.load(self.url, LoadPackage("1", of, (staged,), AT), quiet)

    def raw_rows(self) -> list[dict[str, Any]]:
        read: Callable[[], pa.Table] = getattr(self, f"_read_{self.kind}")
        return read().to_pylist()

    def rows(self) -> list[dict[str, Any]]:
        """What the table holds, by readers that are not ours, sorted; maps as dicts."""
        found = [{**row, "prices": None if row["prices"] is None else dict(row["prices"])} if "prices" in row else row
                 for row in self.raw_rows()]  # fmt: skip
        return sorted(found, key=lambda row: row["id"])

    def _read_delta(self) -> pa.Table:
        from deltalake import DeltaTable

        return DeltaTable("lake/shop/orders").to_pyarrow_dataset().to_table()

    def _read_iceberg(self) -> pa.Table:
        # The files themselves: PyIceberg reads lists of structs, and maps, that are null as empty ones.
        table = self.iceberg()
        wanted = table.schema().as_arrow()
        wanted = pa.schema([(each.name, each.type) for each in wanted])
        parts = []
        for task in table.scan().plan_files():
            read = pyarrow.parquet.ParquetFile(task.file.file_path.removeprefix("file://")).read()
            columns = [
                read[each.name].cast(each.type) if each.name in read.column_names else pa.nulls(len(read), each.type)
                for each in wanted
            ]
            parts.append(pa.table(columns, schema=wanted))
        return pa.concat_tables(parts)

    def iceberg(self) -> Any:
        from schemactl.destinations.iceberg.address import open_catalog, read_address

        return open_catalog(read_address(self.url), is_written=True).load_table(("shop", "orders"))

    def _read_duckdb(self) -> pa.Table:
        import duckdb

        with duckdb.connect("shop.duckdb", read_only=True) as connection:
            return connection.execute("SELECT * FROM shop.shop.orders").to_arrow_table()

    def _read_parquet(self) -> pa.Table:
        tables = [pyarrow.parquet.ParquetFile(file).read() for file in Path("lake/shop/orders").glob("*.parquet")]
        return pa.concat_tables(tables, promote_options="permissive")


@pytest.fixture(params=["duckdb", "delta", "iceberg"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.chdir(tmp_path)
    return Place(request.param)


def data(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if not name.startswith("_dlt")} for row in rows]


def whole(**row: Any) -> dict[str, Any]:
    """A row with nulls in all fields that it lacks."""
    buyer = row.get("buyer") and {**dict.fromkeys(("name", "tags", "either", "address")), **row["buyer"]}
    lines = row.get("lines") and [line and {"n": line["n"], "note": line.get("note")} for line in row["lines"]]
    found = {**dict.fromkeys(("id", "buyer", "lines", "prices")), **row, "buyer": buyer}
    return {**found, "lines": lines if lines else row.get("lines")}


def test_new_fields_are_added_to_rows_that_are_there(place: Place) -> None:
    place.load(schema(OLD), FIRST)

    place.load(schema(NEW), LATER[:1])

    assert data(place.rows()) == [whole(**row) for row in (*FIRST, LATER[0])]


def test_rows_with_fewer_fields_go_into_a_table_that_has_more(place: Place) -> None:
    place.load(schema(NEW), LATER[:1])

    place.load(schema(OLD), FIRST)

    assert data(place.rows()) == [whole(**row) for row in (*FIRST, LATER[0])]


@pytest.mark.parametrize("strategy", ["upsert", "delete-insert", "insert-only"])
def test_merged_rows_keep_their_structure(place: Place, strategy: str) -> None:
    stated = {"write_disposition": "merge", "x-merge-strategy": strategy}
    place.load(schema(OLD, **stated), FIRST)

    place.load(schema(NEW, **stated), LATER)

    second = FIRST[1] if strategy == "insert-only" else LATER[1]
    assert data(place.rows()) == [whole(**row) for row in (FIRST[0], second, FIRST[2], LATER[0])]


def test_replaced_rows_keep_their_structure(place: Place) -> None:
    place.load(schema(OLD, write_disposition="replace"), FIRST)

    place.load(schema(NEW, write_disposition="replace"), LATER)

    assert data(place.rows()) == [whole(**LATER[1]), whole(**LATER[0])]


def test_rows_that_end_keep_their_structure(place: Place) -> None:
    stated = {"write_disposition": "merge", "x-merge-strategy": "scd2"}
    place.load(schema(OLD, **stated), FIRST)

    place.load(schema(NEW, **stated), LATER[:1])

    rows = place.rows()
    assert data(rows) == [whole(**row) for row in (*FIRST, LATER[0])]
    assert [row["_dlt_valid_to"] is None for row in rows] == [False, False, False, True]


@pytest.mark.parametrize(
    ("before", "after", "reported"),
    [
        ("struct<a:bigint>", "struct<a:string>", "`p.a` is bigint there, and string in the schema"),
        ("struct<a:bigint>", "struct<a:struct<b:bigint>>", "`p.a` is bigint there, and a struct in the schema"),
        ("struct<a:bigint>", "struct<A:bigint>", "`p.A` is called `a` there, and called `A` in the schema"),
        ("array<bigint>", "struct<a:bigint>", "`p` is a list there, and a struct in the schema"),
    ],
)
def test_fields_of_another_type_are_reported_before_anything_is_written(
    place: Place, before: str, after: str, reported: str
) -> None:
    place.load(schema({"p": before}), [{"id": 1}])
    rows = place.rows()

    with pytest.raises(DestinationError) as refused:
        place.load(schema({"p": after}), [{"id": 2}])

    assert [each.message.replace("orders.p", "p") for each in refused.value.problems] == [reported]
    assert place.rows() == rows


def test_times_inside_are_kept_as_far_as_the_format_has_them(place: Place) -> None:
    at, later = datetime(2026, 1, 2, 3, 4, 5), datetime(2026, 1, 2, 3, 4, 5).time()

    place.load(schema({"p": "struct<a:bigint>"}), [{"id": 0}])
    place.load(schema({"p": "struct<a:bigint>", "q": "struct<at:timestamp_ntz,t:time(6)>"}),
               [{"id": 1, "q": {"at": at, "t": later}}])  # fmt: skip

    expected = "03:04:05.000000" if place.kind == "delta" else later
    assert [row["q"] for row in place.rows()] == [None, {"at": at, "t": expected}]


def test_a_column_that_holds_json_texts_takes_no_structs_of_files(place: Place) -> None:
    text = Column("p", {"data_type": "json"})
    of = schema({"p": "struct<a:bigint>"})
    orders = of.tables["orders"]
    plain = bump(of.with_table(replace(orders, columns={**orders.columns, "p": text})))
    place.load(plain, [{"id": 1, "p": '{"a": 1}'}])

    if place.kind == "duckdb":  # whose JSON it becomes
        place.load(of, [{"id": 2, "p": {"a": 2}}])
        assert [row["p"] for row in place.rows()] == ['{"a": 1}', '{"a":2}']
        return
    with pytest.raises(DestinationError) as refused:
        place.load(of, [{"id": 2, "p": {"a": 2}}])
    assert refused.value.problems[0].message == "column `p` is text there, and a struct in the schema"


def test_json_texts_stay_such_where_the_normalizer_keeps_no_structure(place: Place) -> None:
    of = schema({"p": "struct<a:bigint>"})
    relational = bump(replace(of, normalizers=new_schema("shop").normalizers))
    orders = relational.tables["orders"]
    columns = {
        "id": Column("id", {"data_type": "text"}),
        **{name: each for name, each in orders.columns.items() if name != "id"},
    }
    texts = bump(relational.with_table(replace(orders, columns=columns)))

    place.load_texts(texts, [{"id": "1", "p": '{"z": 1}'}])

    assert [row["p"] for row in place.rows()] == ['{"z": 1}']


def test_iceberg_makes_integers_inside_wider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    place = Place("iceberg")
    place.load(schema({"p": "struct<a:bigint>"}), [{"id": 1}])
    table = place.iceberg()
    narrow = pa.schema([("q", pa.struct([("a", pa.int32())]))])
    with table.update_schema() as update:
        update.union_by_name(narrow)

    place.load(schema({"q": "struct<a:bigint>"}), [{"id": 2, "q": {"a": 2**40}}])

    assert [row["q"] for row in place.rows()] == [None, {"a": 2**40}]


def test_iceberg_refuses_to_lose_fields_that_others_have_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = Place("iceberg")
    stated = {"write_disposition": "merge", "x-merge-strategy": "upsert"}
    place.load(schema({"p": "struct<a:bigint>"}, **stated), [{"id": 1, "p": {"a": 1}}, {"id": 2, "p": {"a": 2}}])
    with place.iceberg().update_schema() as update:
        update.rename_column(("p", "a"), "b")

    with pytest.raises(DestinationError, match=r"`orders.p.a` is new, and files have values of a former field"):
        place.load(schema({"p": "struct<a:bigint>"}, **stated), [{"id": 1, "p": {"a": 3}}])
    with pytest.raises(DestinationError, match="has a field that was renamed or dropped"):
        place.load(schema({"p": "struct<b:bigint>"}, **stated), [{"id": 1, "p": {"b": 3}}])


@pytest.fixture(params=["duckdb", "delta", "iceberg", "parquet"])
def grown(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A dataset of two loads, of which the second brought new fields; its schema is ``shop.schema.yaml``."""
    monkeypatch.chdir(tmp_path)
    made = Place(request.param)
    made.load(schema(OLD), FIRST)
    made.load(schema(NEW), LATER[:1])
    Path("shop.schema.yaml").write_text(write_schema(schema(NEW)))
    return made


def test_a_dataset_of_nested_columns_has_not_drifted(grown: Place) -> None:
    schemas = Path("schemas")

    found = find_status("shop.schema.yaml", grown.url, schemas, PlanOptions())

    assert (found.is_settled, found.drift) == (True, ())
    assert verify(VerifyRequest("shop.schema.yaml", grown.url, schemas)).drift == ()
    plan = plan_migration(PlanRequest("shop.schema.yaml", grown.url, schemas, PlanOptions()))
    assert plan.plan.steps == ()


def test_diff_reports_of_new_fields_alone(grown: Place) -> None:
    more = {**NEW, "lines": "array<struct<n:bigint,note:string,more:bigint>>"}
    Path("later.schema.yaml").write_text(write_schema(schema(more)))

    def findings(head: str) -> list[tuple[str | None, str | None]]:
        asked = DiffRequest(base=grown.url, head=head, schemas=Path("schemas"), today=date(2026, 1, 2))
        found = [each for review in diff_schemas(asked).reviews for each in review.findings]
        return [(each.table, each.column) for each in found if each.table == "orders"]

    assert findings("shop.schema.yaml") == []
    assert findings("later.schema.yaml") == [("orders", "lines")]


def test_a_plan_adds_whole_columns_of_structs_and_maps(grown: Place) -> None:
    more = {**NEW, "more": "struct<a:struct<b:bigint>>", "sums": "map<string,double>", "all": "array<array<date>>"}
    Path("later.schema.yaml").write_text(write_schema(schema(more)))

    report = apply(grown, "later.schema.yaml")

    assert report.outcome is Outcome.DONE
    found = find_status("later.schema.yaml", grown.url, Path("schemas"), PlanOptions())
    assert (found.is_settled, found.drift) == (True, ())
    assert all(row["more"] is None for row in grown.rows())


def texts_instead(columns: dict[str, str]) -> str:
    """Write a schema whose columns are JSON, without structure, and return its file."""
    made = schema(columns)
    orders = made.tables["orders"]
    texts = {name: Column(name, {"data_type": "json"}) for name in columns}
    Path("later.schema.yaml").write_text(
        write_schema(bump(made.with_table(replace(orders, columns={**orders.columns, **texts}))))
    )
    return "later.schema.yaml"


def test_a_migration_makes_json_of_structs_lists_and_maps(grown: Place) -> None:
    before = grown.rows()
    later, schemas = texts_instead(NEW), Path("schemas")

    report = apply(grown, later)

    assert report.outcome is Outcome.DONE
    rows = {row["id"]: {name: row[name] and json.loads(row[name]) for name in NEW} for row in grown.raw_rows()}
    assert rows.keys() == {1, 2, 3, 4}
    either = {"x": [1]} if grown.kind == "duckdb" else '{"x":[1]}'  # no lake knows that the text was JSON
    assert rows[1] == {
        "buyer": {"name": "Ann", "tags": [["a", None], [], None], "either": either, "address": None},
        "lines": [{"n": 1, "note": None}, None],
        "prices": {"eur": {"net": None}, "usd": None},
    }
    assert rows[3] == dict.fromkeys(NEW)
    assert find_status(later, grown.url, schemas, PlanOptions()).is_settled

    undone = undo(grown)

    if grown.kind == "duckdb":
        assert undone.outcome is Outcome.DONE
        assert grown.rows() == before
    else:
        assert [each.kind for each in undone.blockers] == [BlockerKind.IMPOSSIBLE] * 3


def test_what_json_has_not_stays_where_it_is(place: Place) -> None:
    rows = [{"id": 1, "p": {"x": float("inf")}}, {"id": 2, "p": {"x": 0.1}}]
    place.load(schema({"p": "struct<x:double>"}), rows)
    later = texts_instead({"p": "struct<x:double>"})

    with pytest.raises(DestinationError, match="does not survive"):
        apply(place, later)

    assert data(place.rows()) == rows


def test_json_becomes_a_struct_where_that_loses_nothing(grown: Place) -> None:
    of, kept = {"note": "struct<a:bigint>"}, Column("note", {"data_type": "json"})
    wanted = schema({**NEW, **of})
    orders = wanted.tables["orders"]
    texts = bump(wanted.with_table(replace(orders, columns={**orders.columns, "note": kept})))
    grown.load(texts, [{"id": 5, "note": '{"a":1}'}])
    Path("later.schema.yaml").write_text(write_schema(wanted))

    def apply() -> Outcome:
        request = ApplyRequest("later.schema.yaml", grown.url, Path("schemas"), PlanOptions())
        return apply_migration(request, lambda _: True, lambda: nullcontext(None)).outcome

    def notes(name: str) -> list[Any]:
        return [row[name] for row in sorted(grown.raw_rows(), key=lambda row: row["id"]) if row["id"] > 4]

    if grown.kind != "duckdb":  # what is there stays beside it
        assert apply() is Outcome.DONE
        assert (notes("note"), notes("note__before_1")) == ([None], ['{"a":1}'])
        return
    grown.load(texts, [{"id": 6, "note": '{"a":2,"z":3}'}])
    assert apply() is Outcome.REFUSED
    assert notes("note") == ['{"a":1}', '{"a":2,"z":3}']
    import duckdb

    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("DELETE FROM shop.shop.orders WHERE id = 6")
    assert apply() is Outcome.DONE
    assert notes("note") == [{"a": 1}]
