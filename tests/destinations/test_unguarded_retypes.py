"""A retype gives what dlt gives, or fails: with a guard, or without where a look found that every value goes well."""

import time
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation

import pytest

from schemactl.destinations import duckdb, postgresql
from schemactl.errors import DestinationError
from schemactl.migration.steps import (
    AddColumn,
    Backfill,
    ChangeType,
    CreateTable,
    DropColumn,
    FillColumn,
    RenameColumn,
    RenameTable,
)
from schemactl.schema.coercion import coerce
from schemactl.schema.conversions import Conversion
from schemactl.schema.types import Column, DataType, Table

KINDS = {"duckdb": duckdb, "postgresql": postgresql}
T = DataType
MANY = 5_000

DAYS = [f"20{year:02}-{month:02}-{day:02}" for year in range(30) for month in range(1, 13) for day in range(1, 29)]
USUAL = {
    T.BIGINT: [str((number * 7919) % 1_000_007 - 1000) for number in range(MANY)],
    T.DOUBLE: [f"{number - 5000}.25" for number in range(MANY)],
    T.DECIMAL: [f"{number - 5000}.25" for number in range(MANY)],
    T.BOOL: ["true", "false"] * (MANY // 2),
    T.DATE: DAYS[:MANY],
    T.TIME: [f"{number % 24:02}:{number % 60:02}:07" for number in range(MANY)],
    T.TIMESTAMP: [f"{day}T10:20:30.5Z" for day in DAYS[:MANY]],
}
NUMBERS = ["1.5", " 7", "1e3", "0x1F", " 0x1F\n", "१२", "+5", "-0", "007", "1_000", "0b1", "", "1 2", "9" * 19, "nan"]
DATES = [
    *("2024-02-30", "2024-02-29", "20240506", "2024-5-6", "2024/05/06", " 2024-05-06", "2024-05-6 ", "0000-01-01"),
    *("2024-05-06T00:00:00Z", "2024-05-06T01:00:00", "infinity", "epoch", "12024-01-01", "2024-W05", "1999-01-1 "),
]
MOMENTS = [
    *("2024-05-06T10:11:12.1234567Z", "2024-05-06T10:11:12.12345678", "2024-05-06T10:11:12.123456789Z", "2024-05-06"),
    *("2024-05-06T10:11:12+02:00", "2024-05-06 10:11:12-0730", "2024-05-06T10:11:12 Europe/Berlin", "now", "1e3"),
    *("2024-05-06T24:00:00", "2024-02-30T00:00:00", "0001-01-01T00:00+05:00", "2024-05-06T10:11", "1700000000"),
]
ODD = {
    T.BIGINT: NUMBERS,
    T.DOUBLE: NUMBERS,
    T.DECIMAL: [*NUMBERS, "1.0000000005"],
    T.BOOL: ["yes", "N", "TRUE", "on", " true", "2", "", "tr"],
    T.DATE: DATES,
    T.TIME: ["24:00", "12:34Z", "12:34:56.1234567", "1:2", "12:34", "T12:34", "12:34:56+02:00", "allballs"],
    T.TIMESTAMP: [*MOMENTS, *DATES],
}


@pytest.fixture(params=KINDS)
def place(request, tmp_path):
    """A destination's module, an address of an empty dataset, and the dataset's name."""
    name = f"d{time.monotonic_ns()}"
    if request.param == "postgresql":
        return postgresql, f"{request.getfixturevalue('postgres_url')}?dataset={name}", name
    return duckdb_place(tmp_path)


def duckdb_place(folder):
    name = f"d{time.monotonic_ns()}"
    return duckdb, f"duckdb:///{folder / 'shop.duckdb'}?dataset={name}", name


def retype(to, table="orders", column="v", **properties):
    columns = [Column(column, {"data_type": "text"}), Column(column, {"data_type": str(to), **properties})]
    return ChangeType(table, *columns, Conversion.DEPENDS, needs_check=True)


def make_table(session, kind, dataset, *columns):
    numbers = Column("i", {"data_type": "bigint"})
    table = Table("orders", {each.name: each for each in (numbers, *columns)})
    session.run(CreateTable(table), kind.render(CreateTable(table), None, dataset))


def fill(session, dataset, texts):
    rows = list(enumerate(texts))
    if session.database.dialect == "duckdb":  # which inserts rows one by one
        listed = ", ".join("'" + text.replace("'", "''") + "'" if text is not None else "NULL" for _, text in rows)
        session.database.execute(
            f'INSERT INTO "{dataset}"."orders" SELECT unnest(range({len(rows)})), unnest([{listed}])'
        )
    else:
        session.database.insert(f'"{dataset}"."orders"', ("i", "v"), rows)


def stored(session, dataset):
    return dict(session.database.query(f'SELECT "i", "v" FROM "{dataset}"."orders" WHERE "v" IS NOT NULL'))


def expected(text, to):
    """Return what dlt's coercion gives, as a column holds it; None where it refuses."""
    try:
        found = coerce(text, T.TEXT, to)
    except (ValueError, InvalidOperation):
        return None
    match found:
        case datetime():
            return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
        case Decimal():
            return round(found, 9) + 0 if found.is_finite() else None  # a database knows no -0
        case _:
            return found


def run(session, kind, dataset, step):
    session.run(step, kind.render(step, Table(step.table, {"v": step.before}), dataset))


@pytest.mark.parametrize("to", USUAL, ids=str)
def test_usual_texts_are_converted_as_dlt_does_and_without_a_guard_where_nobody_else_writes(place, to):
    kind, url, dataset = place
    texts = [*USUAL[to], None]
    with kind.connect(url, "shop") as session:
        make_table(session, kind, dataset, Column("v", {"data_type": "text"}))
        fill(session, dataset, texts)
        with session.transaction():
            assert session.unfit(retype(to)).count == 0
            assert kind is postgresql or session.plain == [retype(to)]
            run(session, kind, dataset, retype(to))
        found = stored(session, dataset)
    assert len(found) == len(texts) - 1
    assert [found[at] for at, text in enumerate(texts) if text is not None] == [
        expected(each, to) for each in texts[:-1]
    ]


@pytest.mark.parametrize("to", USUAL, ids=str)
def test_an_odd_text_among_usual_ones_becomes_what_dlt_gives_or_stands_in_the_way(place, to):
    kind, url, dataset = place
    middle, step = MANY // 2, retype(to)
    refused, converted = [], {}
    with kind.connect(url, "shop") as session:
        make_table(session, kind, dataset, step.before)
        fill(session, dataset, USUAL[to])
        for odd in ODD[to]:
            shown = "'" + odd.replace("'", "''") + "'"
            with taken_back(session):
                session.database.execute(f'UPDATE "{dataset}"."orders" SET "v" = {shown} WHERE "i" = {middle}')
                unfit = session.unfit(step)
                assert unfit.rows == MANY
                if unfit.count:
                    assert [each.value for each in unfit.examples] == [odd]
                    assert kind is postgresql or not session.plain
                    refused.append(odd)
                with (
                    suppress(DestinationError) if unfit.count else nullcontext()
                ):  # `1e3` is not recognized as a decimal
                    run(session, kind, dataset, step)
                    converted[odd] = stored(session, dataset)[middle]
    assert set(refused) - set(converted)
    assert {odd: str(found) for odd, found in converted.items()} == {odd: str(expected(odd, to)) for odd in converted}
    assert converted


@contextmanager
def taken_back(session):
    with suppress(TakeBackError), session.transaction():
        yield
        raise TakeBackError


class TakeBackError(Exception):
    """Ends a transaction that is not to be kept."""


def test_what_a_transaction_knows_of_values_ends_with_it(tmp_path):
    kind, url, dataset = duckdb_place(tmp_path)
    step = retype(T.BIGINT)

    def convert_an_odd_value():
        with session.transaction():
            fill(session, dataset, ["x"])
            run(session, kind, dataset, step)

    with kind.connect(url, "shop") as session:
        make_table(session, kind, dataset, step.before)
        fill(session, dataset, ["1", "2"])
        with session.transaction():
            assert session.unfit(step).rows == 2
            assert session.plain == [step]
        assert not session.plain
        with pytest.raises(DestinationError, match="a value does not survive: x"):
            convert_an_odd_value()


A, B = Column("a", {"data_type": "text"}), Column("b", {"data_type": "text"})


@pytest.mark.parametrize(
    ("steps", "left"),
    [
        ((AddColumn("u", A),), "ab"),
        ((retype(T.BIGINT, "t", "A"),), "b"),
        ((retype(T.BIGINT, "u", "a"),), "ab"),
        ((RenameColumn("T", "a", "x"), RenameColumn("t", "b", "a"), RenameColumn("t", "x", "b")), ""),
        ((RenameTable("t", "v"), RenameTable("u", "t")), ""),
        ((Backfill("t", A, B),), ""),
        ((FillColumn("t", A, "?"),), ""),
        ((DropColumn("t", A),), ""),
    ],
)
def test_a_step_makes_a_transaction_forget_what_it_may_have_written(tmp_path, steps, left):
    kind, url, dataset = duckdb_place(tmp_path)
    tables = [Table(name, {"a": A, "b": B, "c": Column("c", {"data_type": "text"})}) for name in "tu"]
    with kind.connect(url, "shop") as session:
        for table in tables:
            session.run(CreateTable(table), kind.render(CreateTable(table), None, dataset))
        with session.transaction():
            for name in "ab":
                assert session.unfit(retype(T.BIGINT, "t", name)).count == 0
            assert len(session.plain) == 2
            for step in steps:
                session.run(
                    step, () if isinstance(step, ChangeType | AddColumn) else kind.render(step, tables[0], dataset)
                )
            assert [each.before.name for each in session.plain] == [*left]


def test_a_plan_shows_what_is_run_where_every_value_goes_well():
    (statement,) = duckdb.render(retype(T.BIGINT), None, "shop")
    assert statement.endswith('/* TRY(CAST("v" AS BIGINT)) if it gives the same for all values */')
    (statement,) = duckdb.render(retype(T.BIGINT, column="v*/; --"), None, "shop")
    assert "/*" not in statement.replace('"v*/; --"', "")


@pytest.mark.parametrize("to", USUAL, ids=str)
def test_a_plan_for_postgresql_shows_the_one_statement_that_is_run(to):
    (*_, statement) = postgresql.render(retype(to), None, "shop")
    assert "/*" not in statement
    assert "does not survive" in statement


def test_postgresql_refuses_by_the_statement_all_that_is_converted():
    text, number = (Column("v", {"data_type": kind}) for kind in ("text", "bigint"))
    short, long = (Column("v", {"data_type": "text", "precision": size}) for size in (5, 9))
    refuses = postgresql.ABILITIES.refuses_unfit
    assert refuses(text, number)
    assert refuses(long, short)
    assert not refuses(short, long)  # nothing is converted
    assert not duckdb.ABILITIES.refuses_unfit(text, number)
