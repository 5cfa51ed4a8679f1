"""Steps of migrations on tables in files, over folders of Parquet: each step with its undo, conversions, and counts."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from schema_parts import column

from schemactl.destinations import parquet
from schemactl.destinations._lake import rewriting
from schemactl.errors import DestinationError, InputError
from schemactl.installation import install_command
from schemactl.migration.records import Example
from schemactl.migration.steps import (
    AddColumn,
    AddUnique,
    Backfill,
    ChangeType,
    CreateTable,
    DropColumn,
    DropTable,
    FillColumn,
    RenameColumn,
    RenameTable,
    SetNotNull,
    Taken,
)
from schemactl.migration.ways import Way
from schemactl.schema.coercion import coerce, type_of
from schemactl.schema.conversions import Conversion
from schemactl.schema.types import Column, DataType, Table


def write(folder: Path, table: str, *parts: dict[str, Any]) -> None:
    """Write one file for each part."""
    (folder / table).mkdir(parents=True, exist_ok=True)
    for number, part in enumerate(parts):
        pq.write_table(pa.table(part), folder / table / f"17000000{number:02}.5.abc{number}.parquet")


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    """All rows as other readers see them."""
    import duckdb

    source = f"read_parquet('{folder}/{table}/*.parquet', union_by_name = true, hive_partitioning = false)"
    found: list[dict[str, Any]] = duckdb.sql(f"FROM {source}").to_arrow_table().to_pylist()
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "shop"
    keys = [pa.array([f"k{number}" for number in range(start, start + 3)]) for start in (0, 3)]
    write(
        place,
        "orders",
        {"id": [1, 2, 3], "amount": ["1", "2", None], "_dlt_id": keys[0]},
        {"id": [4, 5, 6], "amount": ["4", "5", "6"], "_dlt_id": keys[1]},
    )
    return place


def opened(folder: Path, **options: Any) -> Any:
    return parquet.connect(f"parquet:{folder}", "shop", **options)


def take(session: Any, *steps: Any) -> None:
    for step in steps:
        table = session.catalogue().schema.tables.get(step.table_name)
        session.run(step, parquet.render(step, table, session.dataset))


@pytest.mark.parametrize(
    "step",
    [
        CreateTable(Table("fresh", {"a": column("a", "bigint", nullable=False), "b": column("b", "time")})),
        RenameTable("orders", "bestellungen"),
        AddColumn("orders", column("paid", "timestamp")),
        RenameColumn("orders", "amount", "total"),
        ChangeType("orders", column("amount"), column("amount", "bigint"), needs_check=True),
    ],
    ids=lambda step: type(step).__name__,
)
def test_a_step_and_its_undo_leave_tables_and_rows_as_they_were(folder: Path, step: Any) -> None:
    before = rows(folder, "orders")
    with opened(folder) as session:
        tables = session.catalogue().schema.tables
        take(session, step)
        changed = session.catalogue().schema.tables
        assert changed != tables
        for each in step.undo_at(parquet.ABILITIES).steps:
            take(session, each)
        assert session.catalogue().schema.tables == tables
    assert rows(folder, "orders") == before
    assert not (folder / ".schemactl-load").exists()


def test_some_tables_are_read_without_the_others(folder: Path) -> None:
    write(folder, "Lines", {"id": [1]})
    with opened(folder, is_read_only=True) as session:
        tables = session.catalogue().schema.tables
        assert tables.keys() == {"Lines", "orders"}
        assert session.catalogue(("Lines", "missing")).schema.tables == {"Lines": tables["Lines"]}


def test_steps_change_what_they_say_and_nothing_else(folder: Path) -> None:
    with opened(folder) as session:
        take(
            session,
            ChangeType("orders", column("amount"), column("amount", "bigint"), needs_check=True),
            AddColumn("orders", column("currency")),
            FillColumn("orders", column("currency"), "EUR"),
            AddColumn("orders", column("paid", "timestamp")),
            RenameColumn("orders", "id", "number"),
            DropColumn("orders", column("_dlt_id")),
        )
    assert rows(folder, "orders") == [
        {"number": number, "amount": amount, "currency": "EUR", "paid": None}
        for number, amount in zip(range(1, 7), (1, 2, None, 4, 5, 6), strict=True)
    ]
    # Two files as before: the empty ones that stated new columns are gone.
    assert sorted(len(pq.read_table(file)) for file in (folder / "orders").iterdir()) == [3, 3]


def test_tables_are_made_and_dropped(folder: Path) -> None:
    columns = [column("a", "bigint", nullable=False), column("b", "decimal", precision=10, scale=2)]
    columns += [column("c", "timestamp", timezone=False), column("d", "wei"), column("e", "json")]
    columns += [column("f", "date"), column("g", "binary"), column("h", "double"), column("i", "bool")]
    table = Table("fresh", {each.name: each for each in columns})
    with opened(folder) as session:
        take(session, CreateTable(table))
        made = session.catalogue().schema.tables["fresh"]
        assert {name: parquet.stored(each) for name, each in made.columns.items()} == {
            name: parquet.stored(each) for name, each in table.columns.items()
        }
        assert session.empty_tables(["fresh", "orders", "unknown"]) == {"fresh"}
        with pytest.raises(DestinationError, match="already"):
            take(session, CreateTable(table))
        take(session, DropTable(table))
        assert list(session.catalogue().schema.tables) == ["orders"]
        assert session.row_count("orders") == 6
    assert not (folder / "fresh").exists()


AT = datetime(2024, 1, 31, 12, 30, tzinfo=UTC)
PAIRS: list[tuple[str, pa.DataType, str, list[Any], list[Any]]] = [
    ("text", pa.string(), "bigint", ["1", " 12 ", "-3"], ["x", "1.5", ""]),
    ("text", pa.string(), "double", ["1", "1.5", "1e3"], ["x", ""]),
    ("text", pa.string(), "decimal", ["1", "1.50"], ["x"]),
    ("text", pa.string(), "bool", ["true", "No", "1"], ["maybe"]),
    ("text", pa.string(), "timestamp", ["2024-01-31T12:30:00Z", "2024-01-31 12:30:00+02:00"], ["soon"]),
    ("text", pa.string(), "date", ["2024-01-31"], ["2024-02-31"]),
    ("text", pa.string(), "time", ["12:30:00", "12:30:00.5"], ["25:00:00"]),
    ("text", pa.string(), "wei", ["12345678901234567890"], ["x"]),
    ("bigint", pa.int64(), "text", [1, -5, 2**60], []),
    ("bigint", pa.int16(), "double", [1, -5], []),
    ("bigint", pa.int64(), "decimal", [1, -5], []),
    ("double", pa.float64(), "bigint", [1.0, -2.0], [1.5]),
    ("double", pa.float64(), "text", [1.0, 1.5], []),
    ("decimal", pa.decimal128(38, 9), "double", [Decimal("1.5")], []),
    ("bool", pa.bool_(), "text", [True, False], []),
    ("date", pa.date32(), "timestamp", [date(2024, 1, 31)], []),
    ("timestamp", pa.timestamp("us", "UTC"), "date", [datetime(2024, 1, 31, tzinfo=UTC)], [AT]),
    ("timestamp", pa.timestamp("ms", "UTC"), "text", [AT], []),
    ("binary", pa.binary(), "text", [b"ab"], []),
    ("time", pa.time64("us"), "text", [time(12, 30)], []),
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0]} to {pair[2]}")
def test_values_become_what_dlt_makes_of_them_or_are_counted(tmp_path: Path, pair: Any) -> None:
    kind, arrow, to, good, bad = pair
    values = [*good, None, *bad]
    keys = [str(number) for number in range(len(values))]
    write(tmp_path, "t", {"v": pa.array(values, arrow), "_dlt_id": keys}, {"v": pa.array(good, arrow)})
    with opened(tmp_path) as session:
        before = session.catalogue().schema.tables["t"].columns["v"]
        assert before.data_type == DataType(kind)
        after = column("v", to)
        step = ChangeType("t", before, after, Conversion.DEPENDS, needs_check=True)
        found = session.unfit(step)
        assert (found.count, found.rows) == (len(bad), len(values) + len(good))
        assert [example.row for example in found.examples] == [{"_dlt_id": key} for key in keys[len(good) + 1 :]]
        if bad:
            with pytest.raises(DestinationError):
                take(session, step)
            assert session.catalogue().schema.tables["t"].columns["v"] == before
            new = column("v__new_1", to)
            fill = Backfill("t", before, new, Conversion.DEPENDS)
            rest = column("rest", kind)
            take(session, AddColumn("t", new), fill, AddColumn("t", rest))
            take(session, Backfill("t", before, rest, Conversion.DEPENDS, Taken.UNFIT))
            take(session, DropColumn("t", before), RenameColumn("t", "v__new_1", "v"))
        else:
            take(session, step)
        field = session.table("t").fields.field("v")
        assert field.type == session.field(after).type
    expected = [coerce(value, type_of(value), DataType(to)) for value in good]
    assert [plain(row["v"]) for row in rows(tmp_path, "t")] == [
        plain(each) for each in [*expected, None, *(None for _ in bad), *expected]
    ]
    if bad:
        assert [row["rest"] for row in rows(tmp_path, "t") if row["rest"] is not None] == bad


def plain(value: Any) -> Any:
    if not isinstance(value, datetime):
        return value
    return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)


def test_numbers_of_seconds_become_moments(tmp_path: Path) -> None:
    write(tmp_path, "t", {"v": [0, 1_706_704_200]})
    with opened(tmp_path) as session:
        before = session.catalogue().schema.tables["t"].columns["v"]
        take(session, ChangeType("t", before, column("v", "timestamp"), counts_seconds=True))
    assert [plain(row["v"]) for row in rows(tmp_path, "t")] == [datetime(1970, 1, 1, tzinfo=UTC), AT]


def test_parts_of_microseconds_are_not_lost_in_silence(tmp_path: Path) -> None:
    write(tmp_path, "t", {"v": pa.array([1_000, 1_001, None], pa.timestamp("ns", "UTC")), "_dlt_id": ["a", "b", "c"]})
    with opened(tmp_path) as session:
        before = session.catalogue().schema.tables["t"].columns["v"]
        step = ChangeType("t", before, column("v", "timestamp"), Conversion.DEPENDS, needs_check=True)
        found = session.unfit(step)
        assert (found.count, found.examples[0].row) == (1, {"_dlt_id": "b"})
        with pytest.raises(DestinationError, match="microsecond"):
            take(session, step)


def test_nulls_are_counted_with_the_rows_that_hold_them(folder: Path) -> None:
    with opened(folder, is_read_only=True) as session:
        found = session.unfit(SetNotNull("orders", column("amount")))
        assert (found.count, found.rows, found.examples) == (1, 6, (Example({"_dlt_id": "k2"}, None),))
        with pytest.raises(InputError, match="no column `total`"):
            session.unfit(SetNotNull("orders", column("total")))
        with pytest.raises(InputError, match="read-only session cannot write"):
            session.run(DropColumn("orders", column("amount")), ())


def test_what_a_format_cannot_do_is_refused(folder: Path) -> None:
    step = AddUnique("orders", "id")
    assert step.way(parquet.ABILITIES) is Way.NONE
    with opened(folder) as session:
        with pytest.raises(DestinationError, match="cannot do `add unique`"):
            session.run(step, ())
        with pytest.raises(DestinationError, match="no column `unknown`"):
            take(session, RenameColumn("orders", "unknown", "b"))
        with pytest.raises(DestinationError, match="`orders` already has a column `id`"):
            take(session, RenameColumn("orders", "amount", "id"))
    assert rows(folder, "orders")[0] == {"id": 1, "amount": "1", "_dlt_id": "k0"}


def test_without_duckdb_columns_are_added_and_renamed_and_others_reported_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    monkeypatch.setattr(rewriting, "_database", rewriting._database.__wrapped__)  # an earlier test may have made one
    with opened(folder) as session:
        take(session, AddColumn("orders", column("b")), RenameColumn("orders", "amount", "total"))
        take(session, DropColumn("orders", column("b")))
        assert session.unfit(SetNotNull("orders", column("total"))).count == 1
        step = ChangeType("orders", column("total"), column("total", "bigint"), needs_check=True)
        for call in (lambda: session.unfit(step), lambda: take(session, step)):
            with pytest.raises(DestinationError) as raised:
                call()
            assert raised.value.hint is not None
            assert install_command("duckdb") in raised.value.hint


@pytest.mark.parametrize(("step", "shown"), [
    (CreateTable(Table("t", {"a": column("a", "bigint", nullable=False)})), 'CREATE TABLE "t" ("a" bigint NOT NULL)'),
    (DropTable(Table("t")), 'DROP TABLE "t"'),
    (RenameTable("t", "u"), 'ALTER TABLE "t" RENAME TO "u"'),
    (AddColumn("t", column("a", "timestamp", timezone=False)),
     'ALTER TABLE "t" ADD COLUMN "a" timestamp without time zone'),
    (DropColumn("t", column('a"; DROP')), 'ALTER TABLE "t" DROP COLUMN "a""; DROP" -- rewrites the files'),
    (ChangeType("t", column("a"), column("a", "decimal", precision=10, scale=2)),
     'ALTER TABLE "t" ALTER COLUMN "a" SET DATA TYPE decimal(10, 2) -- rewrites the files'),
    (FillColumn("t", column("a"), "it's"), 'UPDATE "t" SET "a" = \'it\'\'s\' WHERE "a" IS NULL -- rewrites the files'),
    (Backfill("t", column("a"), column("b", "bigint")),
     'UPDATE "t" SET "b" = TRY_CAST("a" AS bigint) WHERE "a" IS NOT NULL -- rewrites the files'),
])  # fmt: skip
def test_a_step_is_shown_as_sql(step: Any, shown: str) -> None:
    assert parquet.render(step, None, "shop") == (shown,)


@pytest.mark.parametrize(
    "step",
    [
        CreateTable(Table("../up", {"a": column("a")})),
        RenameTable("t", ".hidden"),
        AddColumn("t", Column("a", {"x-database-type": "MAP(INTEGER, TEXT)"})),
        AddColumn("t", column("a\0b")),
        AddColumn("t", column("a", "decimal", precision="1) --")),
        FillColumn("t", column("a", "bigint"), "x"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is_done(step: Any) -> None:
    with pytest.raises(InputError):
        parquet.render(step, None, "shop")
