"""What dlt's coercion takes of a text, a migration takes, however it is spelled; what no column holds is counted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from command_schemas import check_document
from migrated_datasets import column, new_dataset, put, schema_of

from schemactl.cli.app import run
from schemactl.destinations import duckdb, postgresql, sqlite
from schemactl.errors import DestinationError
from schemactl.migration.steps import AddColumn, Backfill, ChangeType, CreateTable, Taken
from schemactl.schema.coercion import coerce
from schemactl.schema.conversions import Conversion
from schemactl.schema.types import Column, DataType, Table

pytestmark = pytest.mark.destinations

T = DataType
TAKEN = {
    T.BIGINT: ["5", "007", "１２", "1_000", " 7", "0x1F", "\x1c5"],
    T.DOUBLE: ["2.5", "1_0.5", "1e-5", "1e308", "5e-324", "infinity", "+inf", "１.5", "1e400"],
    T.DECIMAL: ["2.5", "1e-5", "1_0.5", "1E3", "１.5"],
    T.WEI: ["3", "1e3", "1_0"],
    T.BOOL: ["true", "YES", "n"],
    T.TIMESTAMP: ["2024-05-06T10:11:12Z", "2026-W01-1", "1700000000", "1700000000.5", "20240506"],
    T.DATE: ["2024-05-06", "2026-W01-1", "20240506", "2024-05-06T00:00"],
    T.TIME: ["10:11:12", "12:34Z", "T12:34", "12:34:56+02:00"],
    T.BINARY: ["YWI=", "0x ab", "0xAB"],
    T.JSON: ["[1]", "[123456789012345678]", "[1.234567890123456789]"],
}
REFUSED = {
    T.BIGINT: ["1.0", "9" * 19, "abc"],
    T.DOUBLE: ["abc", "1 2"],
    T.DECIMAL: ["nan", "-inf", "abc"],
    T.WEI: ["abc", "nan"],
    T.BOOL: ["on", " true"],
    T.TIMESTAMP: ["now", "2024-02-30", "10:11"],
    T.DATE: ["today", "2024-05-06T10:00:00"],
    T.TIME: ["25:00", "noon"],
    T.BINARY: ["Y W I =", "0xa"],
    T.JSON: ["NaN", "null", "{"],
}
KINDS = {"duckdb": duckdb, "postgresql": postgresql, "sqlite": sqlite}


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Any, Any, str]]:
    """A destination's module, a session in it, and its dataset."""
    kind = KINDS[request.param]
    dataset = "main" if kind is sqlite else "spelled"
    start = (
        request.getfixturevalue("postgres_url") if kind is postgresql else f"{request.param}:///{tmp_path / 'file.db'}"
    )
    with kind.connect(f"{start}?dataset={dataset}", "shop") as session:
        if kind is postgresql:
            session.database.execute("DROP SCHEMA IF EXISTS spelled CASCADE")
        yield kind, session, dataset


def fill(place: tuple[Any, Any, str], texts: list[str], *others: Column) -> Table:
    kind, session, dataset = place
    columns = (Column("i", {"data_type": "bigint"}), Column("v", {"data_type": "text"}), *others)
    table = Table("orders", {each.name: each for each in columns})
    session.run(CreateTable(table), kind.render(CreateTable(table), None, dataset))
    session.database.insert(f'"{dataset}"."orders"', ("i", "v"), list(enumerate(texts)))
    return table


def retype(to: DataType) -> ChangeType:
    columns = (Column("v", {"data_type": str(each)}) for each in (T.TEXT, to))
    return ChangeType("orders", *columns, Conversion.DEPENDS, needs_check=True)


def expected(text: str, to: DataType) -> Any:
    """Return what dlt's coercion gives, as a column holds it."""
    found = coerce(text, T.TEXT, to)
    return found.replace(tzinfo=UTC) if isinstance(found, datetime) and found.tzinfo is None else found


def of_stored(value: Any, to: DataType) -> Any:
    """Return a value from what SQLite's driver and DuckDB's give of it."""
    match to, value:
        case T.JSON, str():
            return json.loads(value)
        case (T.DECIMAL | T.WEI, int() | float()):
            return Decimal(str(value))
        case T.TIMESTAMP, str():
            return datetime.fromisoformat(value).replace(tzinfo=UTC)
        case T.DATE, str():
            return date.fromisoformat(value)
        case T.TIME, str():
            return time.fromisoformat(value)
        case _:
            return value


@pytest.mark.parametrize("to", TAKEN, ids=str)
def test_a_text_that_dlt_coerces_is_converted_and_any_other_is_counted(place: Any, to: DataType) -> None:
    kind, session, dataset = place
    refused, step = REFUSED[to], retype(to)
    table = fill(place, [*TAKEN[to], *refused])
    unfit = session.unfit(step)
    assert (unfit.count, {each.value for each in unfit.examples}) == (len(refused), set(refused))
    with pytest.raises(DestinationError), session.transaction():
        session.run(step, kind.render(step, table, dataset))

    session.database.execute(f'DELETE FROM "{dataset}"."orders" WHERE "i" >= {len(TAKEN[to])}')
    with session.transaction():
        session.run(step, kind.render(step, table, dataset))

    rows = session.database.query(f'SELECT "v" FROM "{dataset}"."orders" ORDER BY "i"')
    assert [of_stored(value, to) for (value,) in rows] == [expected(text, to) for text in TAKEN[to]]


def test_a_new_column_is_filled_from_texts_that_dlt_coerces(place: Any) -> None:
    kind, session, dataset = place
    source, target = Column("v", {"data_type": "text"}), Column("n", {"data_type": "double"})
    table = fill(place, ["1.5", "1_0.5", "abc"])
    steps = (AddColumn("orders", target), Backfill("orders", source, target, Conversion.DEPENDS, Taken.FITTING))
    assert session.unfit(steps[1]).count == 1
    with session.transaction():
        for step in steps:
            session.run(step, kind.render(step, table, dataset))
            table = Table("orders", {**table.columns, "n": target})
    rows = session.database.query(f'SELECT "v", "n" FROM "{dataset}"."orders" ORDER BY "i"')
    assert rows == [("1.5", 1.5), ("1_0.5", 10.5), ("abc", None)]


@pytest.mark.parametrize(
    ("to", "same", "other", "becomes"),
    [
        (T.BIGINT, "7", "007", "7"),
        (T.DOUBLE, "1.5", "1_0.50", "10.5"),
        (T.DECIMAL, "1.5", "1e-5", "0.00001"),
        (T.BOOL, "True", "yes", "True"),
        (T.TIMESTAMP, "2024-05-06T10:11:12+00:00", "1700000000", "2023-11-14T22:13:20+00:00"),
    ],
)
def test_texts_that_an_undo_spells_in_another_way_are_counted(
    place: Any, to: DataType, same: str, other: str, becomes: str
) -> None:
    fill(place, [same, other, "abc"])
    found = place[1].not_undone(retype(to))
    assert found.rows == 3
    assert [(each.value, each.becomes) for each in found.examples] == [(other, becomes)]


def test_a_plan_reports_what_an_undo_spells_in_another_way_and_does_not_refuse_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    dataset = new_dataset("sqlite", tmp_path)
    first = schema_of(column("v"))
    plan = ["migrate", "plan", put(schema_of(column("v", "bigint"), before=first), "wanted.yaml"), "--to", dataset.url]
    assert run(["migrate", "apply", put(first, "first.yaml"), "--to", dataset.url, "--yes", "--quiet"]) == 0
    dataset.sql("INSERT INTO @.orders (v) VALUES ('007'), ('7')")
    capsys.readouterr()
    assert run(plan) == 0
    shown = capsys.readouterr().out
    assert "`orders.v`: 1 value is kept, but is written differently after an undo" in " ".join(shown.split())
    assert '"007" -> "7"' in shown
    assert run([*plan, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    check_document(document, "migrate-plan-report")
    assert document["not_undone"] == [{"number": 1, "count": 1, "examples": ['"007" -> "7"']}]


@pytest.mark.parametrize("text", ["nan", "NaN", "-0.0", "-0", "-1e-400"])
def test_sqlite_has_no_nan_and_no_minus_zero_and_says_so_before_anything_runs(text: str, tmp_path: Path) -> None:
    with sqlite.connect(f"sqlite:///{tmp_path / 'file.db'}?dataset=main", "shop") as session:
        place = sqlite, session, "main"
        fill(place, ["1.5", text])
        unfit = session.unfit(retype(T.DOUBLE))
    assert (unfit.count, [each.value for each in unfit.examples]) == (1, [text])
