"""Loads that widen stored columns, at every destination that migrates."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing, nullcontext
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from loading_shop import LOCAL, Shop

from schemactl.destinations.sqlite.session import SqliteDatabase
from schemactl.errors import DestinationError, InputError
from schemactl.flows import promotion
from schemactl.flows.edit import edit_import
from schemactl.flows.infer import InferRequest, infer
from schemactl.flows.migrate.inspection import VerifyRequest, verify
from schemactl.flows.migrate.plan import PlanRequest, plan_migration
from schemactl.flows.migrate.rollback import RollbackRequest, rollback
from schemactl.flows.normalize import NormalizeRequest, normalize
from schemactl.flows.promotion import PromotionOptions
from schemactl.flows.sync import sync_schemas
from schemactl.flows.target import find_destination
from schemactl.inference.report import PromotionFinding
from schemactl.kernel.dispatch import Dispatch
from schemactl.migration.options import PlanOptions
from schemactl.migration.reports import Outcome
from schemactl.normalization.report import NormalizeReport
from schemactl.render.console import Look
from schemactl.render.findings import report_of_plan
from schemactl.render.migrate import print_plan_report
from schemactl.schema.edits import Edits
from schemactl.schema.hints import Hints, parse_column
from schemactl.schema.types import Table

PROMOTE = "data_type=promote"


def load(
    shop: Shop, to: str, *values: Any, column: str = "x", contract: str | None = PROMOTE, **options: Any
) -> NormalizeReport:
    documents = [{"id": number, column: value} for number, value in enumerate(values)]
    return shop.load(shop.write("orders.jsonl", *documents), to=to, contract=contract, **options)


def findings(report: NormalizeReport) -> list[PromotionFinding]:
    assert report.inference is not None
    return list(report.inference.promotions)


def stored_table(to: str, table: str = "orders") -> Table:
    target = find_destination(to)
    return target.destination.read_catalogue(target.url).schema.tables[table]


def stored(to: str, column: str, table: str = "orders") -> list[Any]:
    """Return the values of a column that a destination stores, sorted, without nulls."""
    if to.startswith("postgresql:"):
        address, _, dataset = to.partition("?dataset=")
        with psycopg.connect(address) as server:
            query = f"select {column} from {dataset}.{table} where {column} is not null"
            return sorted(value for (value,) in server.execute(query.encode()))
    if to.startswith("sqlite:"):  # SQLite returns decimals as floats
        with closing(sqlite3.connect("shop.db")) as connection:
            return sorted(
                value for (value,) in connection.execute(f"select {column} from {table}") if value is not None
            )
    target = find_destination(to)
    only_column = replace(stored_table(to, table), columns={column: stored_table(to, table).columns[column]})
    batches = target.destination.read_table(target.url, "shop", only_column)
    values = [row[column] for batch in batches for row in batch.to_pylist()]
    return sorted(value for value in values if value is not None)


def stored_types(to: str, table: str = "orders") -> dict[str, str]:
    columns = stored_table(to, table).columns.values()
    return {column.name: str(column.data_type) for column in columns if not column.name.startswith("_dlt")}


def test_a_load_widens_a_stored_column_before_its_rows(shop: Shop, any_destination: str) -> None:
    to = any_destination
    load(shop, to, 1, -2, None)

    report = load(shop, to, 1.5, 7)

    (finding,) = findings(report)
    assert (finding.before, finding.after, finding.values, finding.rows) == ("bigint", "double", 2, 3)
    assert stored(to, "x") == [-2, 1, 1.5, 7]
    assert "x__v_double" not in stored_types(to)
    assert verify(VerifyRequest("shop", find_destination(to).url, Path("schemas"))).is_clean
    assert findings(load(shop, to, 2.5)) == []
    assert stored(to, "x") == [-2, 1, 1.5, 2.5, 7]


def test_stored_values_that_a_double_does_not_hold_make_a_decimal(shop: Shop, any_destination: str) -> None:
    to = any_destination
    load(shop, to, 9223372036854775000, 5)  # a double is spelled like it, and is another number

    (finding,) = findings(load(shop, to, 1.5))

    assert (finding.before, finding.after) == ("bigint", "decimal(38, 9)")
    assert {Decimal(str(value)) for value in stored(to, "x")} == {
        Decimal(9223372036854775000),
        Decimal(5),
        Decimal("1.5"),
    }


@pytest.mark.parametrize("size", ["20", "20,0", "12,2"])
def test_the_file_has_the_digits_of_a_decimal_that_fractions_make_wider(
    shop: Shop, any_destination: str, size: str
) -> None:
    """Files, Delta, Iceberg and MySQL store a decimal of 20 digits without fractions, as dlt does."""
    to = any_destination
    declared = Hints(columns=(parse_column(f"x:decimal({size})"),))
    load(shop, to, 7, hints=declared)
    assert verify(VerifyRequest("shop", find_destination(to).url, Path("schemas"))).is_clean

    load(shop, to, 1.5, 0.125)

    assert {Decimal(str(value)) for value in stored(to, "x")} == {Decimal(7), Decimal("1.5"), Decimal("0.125")}
    assert verify(VerifyRequest("shop", find_destination(to).url, Path("schemas"))).is_clean
    assert findings(load(shop, to, 2.25)) == []


@pytest.mark.parametrize("to", ["warehouse", "delta:lake", "iceberg:lake"])
def test_a_decimal_of_whole_numbers_in_files_takes_no_fractions_without_promote(shop: Shop, to: str) -> None:
    declared = Hints(columns=(parse_column("x:decimal(20)"),))
    load(shop, to, 7, None, contract=None, hints=declared)

    with pytest.raises(DestinationError, match=r"`decimal128\(20, 0\)` and cannot store a value"):
        load(shop, to, 1.5, contract=None)

    assert stored(to, "x") == [7]
    load(shop, to, 12345678901, contract=None)
    assert stored(to, "x") == [7, 12345678901]
    assert verify(VerifyRequest("shop", find_destination(to).url, Path("schemas"))).is_clean


def test_values_that_no_type_holds_go_to_a_variant(shop: Shop, any_destination: str) -> None:
    to = any_destination
    load(shop, to, 2**53 + 1)

    (finding,) = findings(load(shop, to, 1e300))

    assert (finding.after, finding.variant) == (None, "x__v_double")
    assert "1 stored value would not survive as double" in finding.reason
    assert (stored(to, "x"), stored(to, "x__v_double")) == ([2**53 + 1], [1e300])


def test_an_integer_of_38_digits_makes_fractions_go_to_a_variant(shop: Shop, any_destination: str) -> None:
    to = any_destination
    if to.startswith("sqlite:"):
        pytest.skip("SQLite stores integers of more than 64 bits as floats")
    load(shop, to, 10**37, 2)

    (finding,) = findings(load(shop, to, 0.5))

    assert (finding.before, finding.after) == ("wei", None)
    assert finding.variant is not None
    assert "1 stored value would not survive as decimal(38, 9)" in finding.reason
    assert sorted(map(Decimal, map(str, stored(to, "x")))) == [2, 10**37]
    assert [float(value) for value in stored(to, finding.variant)] == [0.5]


def test_columns_of_nested_tables_become_wider(shop: Shop, any_destination: str) -> None:
    to = any_destination
    load(shop, to, [1, 2])

    load(shop, to, [0.5])

    assert stored(to, "value", table="orders__x") == [0.5, 1, 2]


def test_dates_become_timestamps_at_midnight(shop: Shop, any_destination: str) -> None:
    to = any_destination
    load(shop, to, "2024-02-29", detect="iso_date", contract="evolve")

    (finding,) = findings(load(shop, to, "2024-03-01T10:30:00Z"))

    assert (finding.before, finding.after) == ("date", "timestamp")
    texts = [str(value).replace("T", " ")[:19] for value in stored(to, "x")]
    assert sorted(texts) == ["2024-02-29 00:00:00", "2024-03-01 10:30:00"]


def test_sizes_of_columns_grow(shop: Shop, any_destination: str) -> None:
    to = any_destination
    hints = Hints((parse_column("x:bigint(16)"), parse_column("amount:decimal(6,2)")))
    shop.load(shop.write("a.jsonl", {"x": 5, "amount": 1.5}), to=to, hints=hints)

    shop.load(shop.write("b.jsonl", {"x": 70_000, "amount": 12345678.25}), to=to, contract=PROMOTE)

    assert [int(value) for value in stored(to, "x")] == [5, 70_000]
    assert [float(value) for value in stored(to, "amount")] == [1.5, 12345678.25]


@pytest.mark.parametrize("digits", [("1.2567", "7"), (1.2567, 7)])
def test_digits_that_a_column_would_round_make_it_wider(
    shop: Shop, any_destination: str, digits: tuple[str | float, ...]
) -> None:
    to = any_destination
    hints = Hints(columns=(parse_column("x:decimal(10,2)"),))
    load(shop, to, "1.25", hints=hints)

    (finding,) = findings(load(shop, to, *digits))

    assert (finding.before, finding.after) == ("decimal(10, 2)", "decimal(38, 9)")
    assert [Decimal(str(value)) for value in stored(to, "x")] == [Decimal("1.25"), Decimal("1.2567"), Decimal(7)]


def test_records_of_several_tables_fill_and_widen_decimals_without_a_second_reading(shop: Shop) -> None:
    to, dispatch = "duckdb:///made.duckdb?dataset=shop", Dispatch(("kind",))
    hints = Hints(columns=(parse_column("orders.x:decimal(10,2)"),))
    load(shop, to, 1, hints=hints)

    filled = shop.write("filled.jsonl", {"kind": "orders", "x": 1.25}, {"kind": "others", "x": 0.5})
    assert findings(shop.load(filled, to=to, table=None, dispatch=dispatch, contract=PROMOTE)) == []
    wider = shop.write("wider.jsonl", {"kind": "orders", "x": 1.125})
    (finding,) = findings(shop.load(wider, to=to, table=None, dispatch=dispatch, contract=PROMOTE))

    assert (finding.after, finding.variant) == ("decimal(38, 9)", None)
    assert stored(to, "x") == [1, Decimal("1.125"), Decimal("1.25")]


def test_stored_integers_that_a_decimal_has_no_room_for_send_fractions_to_a_variant(
    shop: Shop, any_destination: str
) -> None:
    to = any_destination
    largest = 10**15 - 1 if to.startswith("sqlite:") else 10**38 - 1
    hints = Hints(columns=(parse_column("x:wei"), parse_column("y:decimal(38,0)")))
    shop.load(shop.write("a.jsonl", {"id": 1, "x": largest, "y": str(largest)}), to=to, hints=hints)

    report = shop.load(shop.write("b.jsonl", {"id": 9, "x": "0.5", "y": "0.5"}), to=to, contract=PROMOTE)

    if to.startswith("sqlite:"):
        assert stored(to, "x") == [0.5, largest]
    else:
        assert [finding.variant for finding in findings(report)] == ["x__v_text", "y__v_text"]
        assert list(map(Decimal, stored(to, "x"))) == [largest]
        assert stored(to, "x__v_text") == ["0.5"]


def test_a_column_that_the_first_load_declares_is_not_counted(shop: Shop, any_destination: str) -> None:
    hints = Hints(columns=(parse_column("orders__lines.x:binary(4)"),))

    shop.load(
        shop.write("a.jsonl", {"lines": [{"x": "MD0LXw=="}, {"x": "MD0LXzAw"}]}),
        to=any_destination,
        contract=PROMOTE,
        hints=hints,
    )

    assert sorted(map(bytes, stored(any_destination, "x", "orders__lines"))) == [b"0=\x0b_", b"0=\x0b_00"]


@pytest.mark.parametrize("is_repeated", [False, True])
def test_a_size_that_a_hint_sets_grows_and_stays_in_the_destination(
    shop: Shop, tmp_path: Path, *, is_repeated: bool
) -> None:
    to = f"duckdb:///{tmp_path}/made.duckdb"
    hints = Hints(columns=(parse_column("x:decimal(10,2)"), parse_column("y:timestamp(3)")))
    later = hints if is_repeated else Hints()

    for x, y, own in ((1.25, "03:04:05.123Z", hints), (1.2567, "03:04:05.123456Z", later), (7, "03:04:05Z", later)):
        shop.load(shop.write("a.jsonl", {"x": x, "y": f"2024-01-02T{y}"}), to=to, contract=PROMOTE, hints=own)

    assert stored(to, "x") == [Decimal("1.25"), Decimal("1.2567"), 7]
    assert [value.microsecond for value in stored(to, "y")] == [0, 123_000, 123_456]


def test_a_column_that_only_the_schema_widened_becomes_wider_with_the_next_load(
    shop: Shop, any_destination: str
) -> None:
    to = any_destination
    load(shop, to, 1)
    shop.engine  # noqa: B018 - the shop's own engine infers, too
    from dataclasses import replace

    source = shop.write("later.jsonl", {"id": 9, "x": 1.5})
    infer(
        replace(
            InferRequest((source,), "shop", table="orders", schemas=Path("schemas"), contract=PROMOTE), engine=LOCAL
        )
    )

    load(shop, to, 2.5)

    assert stored(to, "x") == [1, 2.5]


def test_the_ledger_has_the_migration_of_a_load(shop: Shop, any_destination: str) -> None:
    to = any_destination
    load(shop, to, 1)
    load(shop, to, 0.5)

    report = rollback(RollbackRequest("shop", find_destination(to).url), lambda _: False, nullcontext)

    assert report.outcome is Outcome.REFUSED  # a value that was loaded since does not fit any more
    assert [counted.count for counted in report.counted] == [1]


def test_a_rollback_on_mysql_counts_the_values_that_the_old_types_do_not_hold(shop: Shop, mariadb_url: str) -> None:
    to = f"{mariadb_url}&dataset=rollback"
    first = {"score": 1, "day": "2024-01-01", "total": 2**60, "code": "7"}
    hints = Hints(columns=(parse_column("day:date"), parse_column("code:bigint")))
    shop.load(shop.write("first.jsonl", first, {"score": -(2**53)}), to=to, hints=hints)
    shop.load(
        shop.write("wider.jsonl", {"score": 1.5, "day": "2024-01-02T10:00:00Z", "total": 10**22, "code": 10**20}),
        to=to,
        contract=PROMOTE,
    )
    shop.load(shop.write("narrow.jsonl", {"score": 4, "day": "2024-01-03"}), to=to, contract=PROMOTE)

    report = rollback(RollbackRequest("shop", find_destination(to).url), lambda _: False, nullcontext)

    assert sorted(blocker.message for blocker in report.blockers) == [
        "1 value of `orders.code` would not survive",
        "1 value of `orders.day` would not survive",
        "1 value of `orders.score` would not survive",
        "1 value of `orders.total` would not survive",
    ]


def test_a_plan_says_how_many_values_of_a_wider_column_survive(shop: Shop, any_destination: str) -> None:
    documents = [
        {"id": 1, "score": 1, "price": 5, "large": 2**53 + 1, "share": 1.5},
        {"id": 2, "score": -2, "price": None, "large": 1, "share": 2.5},
        {"id": 3},
    ]
    shop.load(shop.write("orders.jsonl", *documents), to=any_destination)
    types = {"score": "double", "price": "decimal(38,9)", "large": "double", "share": "bigint"}
    hints = Hints(tuple(parse_column(f"orders.{column}:{data_type}") for column, data_type in types.items()))
    edit_import("shop", Path("schemas"), Edits(hints=hints))
    sync_schemas(("shop",), Path("schemas"), lambda _: True)

    report = plan_migration(PlanRequest("shop", find_destination(any_destination).url, Path("schemas"), PlanOptions()))

    widened = [finding for finding in report_of_plan(report).reviews[0].findings if finding.rule == "M208"]
    assert {finding.message for finding in widened} == {
        "`orders.score` is widened from bigint to double: all 2 values survive",
        "`orders.price` is widened from bigint to decimal(38, 9): the only value survives",
    }
    assert "all 2 values survive" in print_plan_report(report, Look(None))


def test_a_table_of_many_rows_is_left_to_migrate(shop: Shop, tmp_path: Path) -> None:
    to = f"duckdb:///{tmp_path}/big.duckdb"
    load(shop, to, 1, 2, 3)

    with pytest.raises(InputError) as raised:
        load(shop, to, 1.5, promotion=PromotionOptions(max_rows=2))

    assert "rewrites 3 rows" in raised.value.message
    assert "schemactl migrate apply shop" in str(raised.value.hint)
    assert stored(to, "x") == [1, 2, 3]
    load(shop, to, 1.5, promotion=PromotionOptions(max_rows=3))


def test_a_destination_that_does_not_migrate_says_so(shop: Shop) -> None:
    to = "dlt:duckdb?dataset=shop"
    load(shop, to, 1)

    with pytest.raises(InputError, match="`dlt` cannot widen columns"):
        load(shop, to, 1.5)


def test_a_load_that_replaces_the_rows_does_not_count_them(shop: Shop, tmp_path: Path) -> None:
    to = f"duckdb:///{tmp_path}/made.duckdb"
    load(shop, to, 2**53 + 1, hints=Hints(write_disposition="replace"))

    (finding,) = findings(load(shop, to, 1.5))

    assert finding.after == "double"
    assert stored(to, "x") == [1.5]


def test_odd_numbers_survive(shop: Shop, any_destination: str) -> None:
    to = any_destination
    load(shop, to, 2**53, -(2**53), 0)

    load(shop, to, -0.0, 5e-324, 1e300, 0.1)

    values = stored(to, "x")
    assert sorted(values) == [-(2**53), 0, 0, 5e-324, 0.1, 2**53, 1e300]
    has_negative_zero = any(math.copysign(1, value) < 0 for value in values if value == 0)
    assert has_negative_zero or to.startswith(("sqlite:", "mysql:"))  # which store no sign of a zero


def test_columns_get_other_types_if_values_come_after_the_count(shop: Shop, any_destination: str) -> None:
    to = any_destination
    load(shop, to, 1)
    late_values = [2**53 + 1]
    count = promotion.StoredColumns.count

    def count_then_write(*arguments: Any) -> Any:
        answer = count(*arguments)
        if late_values:
            source = shop.write("late.jsonl", {"x": late_values.pop()})
            request = NormalizeRequest(InferRequest((source,), "shop", "orders", Path("schemas")), to)
            normalize(request, open_engine=lambda *_: nullcontext(shop.engine))
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(promotion.StoredColumns, "count", count_then_write)
        load(shop, to, 1.5)

    assert stored_types(to)["x"] == "decimal"  # the type that holds all three
    assert stored(to, "x") == [1, Decimal("1.5"), 2**53 + 1]
    assert verify(VerifyRequest("shop", find_destination(to).url, Path("schemas"))).is_clean


def test_sqlite_reads_a_column_once_before_it_is_converted(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    to = "sqlite:///shop.db"
    load(shop, to, 1, 2)
    statements: list[str] = []
    query = SqliteDatabase.query

    def record(session: SqliteDatabase, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        statements.append(statement)
        return query(session, statement, *values)

    monkeypatch.setattr(SqliteDatabase, "query", record)
    load(shop, to, 1.5)

    assert sum('FROM "main"."orders"' in statement for statement in statements) == 1
    assert stored(to, "x") == [1, 1.5, 2]


def test_values_that_a_column_of_the_schema_does_not_hold_stop_the_load(shop: Shop, tmp_path: Path) -> None:
    to = f"duckdb:///{tmp_path}/made.duckdb"
    load(shop, to, 2**53 + 1)
    source = shop.write("new.jsonl", {"x": 1.5})
    infer(InferRequest((source,), "shop", "orders", Path("schemas"), contract=PROMOTE, engine=LOCAL))
    before = {path: path.read_bytes() for path in Path("schemas").rglob("*.schema.yaml")}

    with pytest.raises(DestinationError, match="stored values would not survive in wider columns") as raised:
        load(shop, to, 2.5)

    assert "schemactl edit shop --column TABLE.COLUMN:TYPE" in str(raised.value.hint)
    assert stored(to, "x") == [2**53 + 1]
    assert {path: path.read_bytes() for path in Path("schemas").rglob("*.schema.yaml")} == before
