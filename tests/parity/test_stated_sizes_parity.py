"""Sizes and time zones that sources state, judged by ``data_type``: change by mode by kind of source, beside dlt's."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import dlt
import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest
from dlt.common.schema import Schema as DltSchema
from dlt.common.schema.exceptions import DataValidationError
from dlt.pipeline.exceptions import PipelineStepFailed
from loaded_tables import DATASET, BySchemactl
from test_inference_parity import PLAIN
from test_normalize_contract_parity import known

MEANT_DIFFERENCES = (
    "Sizes and time zones that sources state: what fits stays, and what is narrower changes nothing.",
    "Sizes and time zones that sources state: Spark says no width of binary and no `nullable`.",
    "Sizes and time zones that sources state: numbers of documents that have no room are judged by the contract.",
)
"""See docs/differences-sources.md."""

DISCARDS = ("discard_row", "discard_value")
MODES = ("evolve", "freeze", *DISCARDS)
DAY = datetime(2020, 1, 2)


@dataclass(frozen=True)
class Change:
    """A column of the schema, and what a source has for it.

    Attributes:
        stored: the column's properties.
        stated: the source's type of it.
        values: there.
        fitting: those of them that the column holds as they are.
        widened: what the properties become here; None where nothing changes.
        is_judged_by_dlt: whether it is a change to dlt.
        loads_in_dlt: whether dlt's load ends well where no contract keeps the values out.
    """

    stored: dict[str, Any]
    stated: pa.DataType
    values: tuple[Any, ...]
    fitting: tuple[Any, ...]
    widened: dict[str, Any] | None = None
    is_judged_by_dlt: bool = True
    loads_in_dlt: bool = True


def decimal(precision: int, scale: int) -> dict[str, Any]:
    return {"data_type": "decimal", "precision": precision, "scale": scale}


def bits(precision: int) -> dict[str, Any]:
    return {"data_type": "bigint", "precision": precision}


SMALL, ROUND, LARGE, FINE = map(Decimal, ("1.50", "2.5000", "123456.78", "2.1234"))
CHANGES = {
    "digits_up": Change(decimal(6, 2), pa.decimal128(12, 2), (SMALL, LARGE), (SMALL,), decimal(12, 2)),
    "places_up": Change(decimal(12, 2), pa.decimal128(12, 4), (ROUND, FINE), (ROUND,), decimal(14, 4)),
    "both_up": Change(decimal(6, 2), pa.decimal128(12, 4), (ROUND, FINE), (ROUND,), decimal(12, 4)),
    "digits_down": Change(decimal(12, 2), pa.decimal128(6, 2), (SMALL,), (SMALL,)),
    "places_down": Change(decimal(12, 4), pa.decimal128(12, 2), (SMALL,), (SMALL,), decimal(14, 4)),
    "bits_up": Change(bits(16), pa.int32(), (7, 2**20), (7,), bits(32)),
    "bits_down": Change({"data_type": "bigint"}, pa.int32(), (7,), (7,)),
    "open_bits": Change(bits(16), pa.int64(), (7, 2**20), (7,), bits(32), is_judged_by_dlt=False, loads_in_dlt=False),
    "open_bits_enough": Change(bits(16), pa.int64(), (7, 8), (7, 8), is_judged_by_dlt=False),
    "bytes_up": Change({"data_type": "binary", "precision": 2}, pa.binary(4), (b"abcd",), (b"abcd",)),
    "text": Change({"data_type": "text", "precision": 9}, pa.string(), ("abc",), ("abc",), is_judged_by_dlt=False),
    "zone_on": Change({"data_type": "timestamp", "timezone": False}, pa.timestamp("us", tz="UTC"),
        (DAY.replace(tzinfo=UTC),), (DAY.replace(tzinfo=UTC),), is_judged_by_dlt=False),
    "zone_off": Change({"data_type": "timestamp"}, pa.timestamp("us"), (DAY,), (DAY,), is_judged_by_dlt=False),
}  # fmt: skip
ROWS = tuple((name, value) for name, change in CHANGES.items() for value in change.values)
"""What stands in each row, beside its number; all else is null."""

FITTING = {at for at, (name, value) in enumerate(ROWS) if value in CHANGES[name].fitting}
JUDGED = {name for name, change in CHANGES.items() if change.widened}


def stored_schema() -> dict[str, Any]:
    stored = copy.deepcopy(PLAIN)
    stored["tables"]["data"] = known(nr="bigint", **dict.fromkeys(CHANGES, "text"))
    stored["tables"]["data"]["columns"]["nr"]["nullable"] = True
    for name, change in CHANGES.items():
        stored["tables"]["data"]["columns"][name] = {"name": name, "nullable": True, **change.stored}
    return DltSchema.from_dict(stored).to_dict()


def table_of(*names: str) -> pa.Table:
    """Return the rows with something in these columns."""
    rows = [(at, name, value) for at, (name, value) in enumerate(ROWS) if name in names]
    columns = {
        each: pa.array([value if name == each else None for _, name, value in rows], CHANGES[each].stated)
        for each in names
    }
    return pa.table({"nr": pa.array([at for at, *_ in rows], pa.int64()), **columns})


# dlt


def pipeline_in(folder: Any) -> Any:
    return dlt.pipeline(
        "sizes",
        pipelines_dir=str(folder / "pipelines"),
        destination=dlt.destinations.duckdb(str(folder / "dlt.duckdb")),
        dataset_name=DATASET,
    )


def known_to_dlt() -> DltSchema:
    """Return the schema without the columns that dlt gives no Arrow table."""
    stored = stored_schema()
    del stored["tables"]["data"]["columns"]["_dlt_load_id"], stored["tables"]["data"]["columns"]["_dlt_id"]
    return DltSchema.from_dict(stored)


def columns_by_dlt(folder: Any, mode: str, *names: str) -> Any:
    pipeline = pipeline_in(folder)
    resource = dlt.resource([table_of(*names)], name="data")
    pipeline.extract(resource, schema=known_to_dlt(), schema_contract={"data_type": mode})
    return pipeline.default_schema.tables["data"]["columns"]


def causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def kept_by_dlt(folder: Any, mode: str) -> dict[int, bool]:
    """Return which rows dlt loads, and whether with their value."""
    names = [name for name, change in CHANGES.items() if change.is_judged_by_dlt or change.loads_in_dlt]
    pipeline = pipeline_in(folder)
    pipeline.run(
        dlt.resource([table_of(*names)], name="data"),
        schema=known_to_dlt(),
        schema_contract={"data_type": mode},
    ).raise_on_failed_jobs()
    return kept_in(folder / "dlt.duckdb")


def kept_in(path: Any) -> dict[int, bool]:
    with duckdb.connect(str(path), read_only=True) as database:
        rows = database.execute(f"select nr, coalesce({', '.join(f'{n}::text' for n in CHANGES)}) from {DATASET}.data")
        return {at: value is not None for at, value in rows.fetchall()}


@pytest.mark.parametrize("name", [name for name, change in CHANGES.items() if change.is_judged_by_dlt])
def test_dlt_refuses_what_it_takes_for_a_change(name, tmp_path):
    with pytest.raises(PipelineStepFailed) as failed:
        columns_by_dlt(tmp_path, "freeze", name)
    (refused,) = (each for each in causes(failed.value) if isinstance(each, DataValidationError))
    assert (refused.table_name, refused.column_name, refused.schema_entity) == ("data", name, "data_type")


@pytest.mark.parametrize("mode", MODES)
def test_dlt_takes_what_states_no_size_for_no_change(mode, tmp_path):
    names = [name for name, change in CHANGES.items() if not change.is_judged_by_dlt]
    columns = columns_by_dlt(tmp_path, mode, *names)
    kept = ("data_type", "precision", "timezone")
    found = {name: {key: columns[name][key] for key in kept if key in columns[name]} for name in names}
    assert found == {name: CHANGES[name].stored for name in names}


# schemactl


def ours_in(engine: Any, folder: Any) -> tuple[BySchemactl, Any]:
    ours, path = BySchemactl(engine, folder, stored_schema()), folder / "data.parquet"
    pyarrow.parquet.write_table(table_of(*CHANGES), path)
    return ours, path


def columns_of(ours: BySchemactl) -> dict[str, dict[str, Any]]:
    dropped = ("name", "nullable")
    columns = ours.stored["tables"]["data"]["columns"]
    return {name: {key: value for key, value in columns[name].items() if key not in dropped} for name in CHANGES}


def test_a_schema_that_evolves_has_room_for_all_that_is_stated(local_engine, tmp_path):
    ours, path = ours_in(local_engine, tmp_path)

    report = ours.load_files([path], contract="data_type=evolve")

    assert columns_of(ours) == {name: change.widened or change.stored for name, change in CHANGES.items()}
    assert kept_in(ours.path) == dict.fromkeys(range(len(ROWS)), True)
    assert report.inference.violations == ()
    with duckdb.connect(str(ours.path), read_only=True) as database:
        (fine,) = database.execute(f"select places_up from {DATASET}.data where places_up < 2.5").fetchone()
    assert fine == FINE


def test_a_frozen_schema_refuses_each_change_with_its_place_and_loads_nothing(local_engine, tmp_path):
    ours, path = ours_in(local_engine, tmp_path)

    report = ours.load_files([path], is_stopped=True, contract="data_type=freeze")

    found = {each.column: each for each in report.inference.violations}
    assert found.keys() == JUDGED
    assert {(each.table, each.entity, each.mode) for each in found.values()} == {("data", "data_type", "freeze")}
    for name, each in found.items():
        first = next(at for at, (column, _) in enumerate(ROWS) if column == name)
        assert (each.values, each.first.number) == (len(CHANGES[name].values), first + 1)
    assert (found["both_up"].expected, found["both_up"].found) == ("precision: 6, scale: 2", "precision: 12, scale: 4")
    assert columns_of(ours) == {name: change.stored for name, change in CHANGES.items()}
    assert not ours.path.exists()


@pytest.mark.parametrize("mode", DISCARDS)
def test_what_does_not_fit_is_rejected_and_what_dlt_keeps_or_fits_is_loaded(mode, local_engine, tmp_path):
    ours, path = ours_in(local_engine, tmp_path / "ours")

    report = ours.load_files([path], contract=f"data_type={mode}")

    theirs = kept_by_dlt(tmp_path / "dlt", mode)
    with_value = {at for at, has_value in theirs.items() if has_value} | FITTING
    assert with_value == FITTING
    left = {} if mode == "discard_row" else dict.fromkeys(range(len(ROWS)), False)
    assert kept_in(ours.path) == {**left, **dict.fromkeys(FITTING, True)}
    refused = [(name, at + 1) for at, (name, _) in enumerate(ROWS) if at not in FITTING]
    assert ours.rejects("column_name", "line", "path", "entity", "mode") == sorted(
        (name, line, f"$.{name}", "data_type", mode) for name, line in refused
    )
    (counts,) = report.tables
    is_row = mode == "discard_row"
    assert (counts.rejected, counts.values_rejected) == ((len(refused), 0) if is_row else (0, len(refused)))
    assert columns_of(ours) == {name: change.stored for name, change in CHANGES.items()}


# documents state no sizes, but their numbers have them


@dataclass(frozen=True)
class Numbers:
    """A column of the schema, and numbers of documents for it: one that fits, one that does not."""

    stored: dict[str, Any]
    fitting: Any
    past: Any
    widened: dict[str, Any]


NUMBERS = {
    "integer": Numbers(bits(16), 7, 2**20, bits(32)),
    "digits": Numbers(bits(16), " 7 ", "1048576", bits(32)),
    "fraction": Numbers(decimal(6, 2), 2.125, 123456.78, decimal(8, 2)),
    "rounded": Numbers(decimal(6, 2), "9.994", 9999.999, decimal(7, 2)),
    "wei": Numbers({"data_type": "wei", "precision": 5}, 12345, 1234567, {"data_type": "wei", "precision": 7}),
}
FREE = {
    "text": ({"data_type": "text", "precision": 3}, "longer than that"),
    "bytes": ({"data_type": "binary", "precision": 2}, "YWJjZA=="),
    "naive": ({"data_type": "timestamp", "timezone": False}, "2020-01-02T03:04:05+02:00"),
    "small": ({"data_type": "bigint", "precision": 20}, 2**30),
}
"""What dlt loads into DuckDB whatever the contract: lengths, time zones, bits that are stored all the same."""

FITTING_NUMBERS = {name: each.fitting for name, each in NUMBERS.items()}


def schema_of_numbers() -> dict[str, Any]:
    stored = copy.deepcopy(PLAIN)
    stored["tables"]["data"] = known(nr="bigint")
    columns = {name: each.stored for name, each in NUMBERS.items()} | {
        name: column for name, (column, _) in FREE.items()
    }
    for name, column in columns.items():
        stored["tables"]["data"]["columns"][name] = {"nullable": True, **column}
    return DltSchema.from_dict(stored).to_dict()


def documents_of_numbers() -> list[dict[str, Any]]:
    """Return a document in which all fits, and one for each number that does not."""
    fitting = {"nr": 1, **FITTING_NUMBERS, **{name: value for name, (_, value) in FREE.items()}}
    return [fitting, *({"nr": at, name: each.past} for at, (name, each) in enumerate(NUMBERS.items(), 2))]


@pytest.mark.parametrize("mode", MODES)
def test_numbers_of_documents_past_a_stated_size_are_judged_by_the_contract(mode, local_engine, tmp_path):
    ours = BySchemactl(local_engine, tmp_path, schema_of_numbers())

    report = ours.load(documents_of_numbers(), is_stopped=mode == "freeze", contract=f"data_type={mode}")

    columns = ours.stored["tables"]["data"]["columns"]
    grown = {name: each.widened if mode == "evolve" else each.stored for name, each in NUMBERS.items()}
    kept = grown | {name: column for name, (column, _) in FREE.items()}
    assert {name: {key: columns[name][key] for key in column} for name, column in kept.items()} == kept
    places = list(enumerate(NUMBERS.items(), 2))
    if mode != "evolve":
        found = {each.column: (each.values, each.first.number, each.example) for each in report.inference.violations}
        assert found == {name: (1, at, str(each.past)) for at, (name, each) in places}
    if mode == "freeze":
        assert not ours.path.exists()
        return
    rows = {row["nr"]: row for row in ours.loaded().rows["data"]}
    assert set(rows) == ({1} if mode == "discard_row" else set(range(1, len(NUMBERS) + 2)))
    assert (rows[1]["fraction"], rows[1]["text"], rows[1]["small"]) == (Decimal("2.13"), "longer than that", 2**30)
    assert (rows[1]["bytes"], rows[1]["naive"]) == (b"abcd", datetime(2020, 1, 2, 1, 4, 5))
    if mode == "evolve":
        assert (rows[2]["integer"], rows[3]["digits"], rows[5]["rounded"]) == (2**20, 2**20, Decimal("10000.00"))
        return
    assert ours.rejects("line", "column_name", "value", "path", "mode") == [
        (at, name, str(each.past), f"$.{name}", mode) for at, (name, each) in places
    ]


@pytest.mark.parametrize("name", NUMBERS)
def test_the_database_ends_dlts_load_of_such_numbers(name, tmp_path):
    with pytest.raises(PipelineStepFailed):
        pipeline_in(tmp_path).run(
            dlt.resource([{"nr": 1, name: NUMBERS[name].past}], name="data"),
            schema=DltSchema.from_dict(schema_of_numbers()),
            schema_contract={"data_type": "discard_row"},
        )


@pytest.mark.parametrize("mode", ["freeze", "discard_row"])
def test_dlt_loads_what_is_longer_than_stated_or_has_a_time_zone(mode, tmp_path):
    pipeline = pipeline_in(tmp_path)
    fitting = documents_of_numbers()[:1]
    stored = DltSchema.from_dict(schema_of_numbers())
    pipeline.run(dlt.resource(fitting, name="data"), schema=stored, schema_contract={"data_type": mode})
    with duckdb.connect(str(tmp_path / "dlt.duckdb"), read_only=True) as database:
        found = database.execute(f"select text, bytes, naive, small, fraction from {DATASET}.data").fetchall()
    assert found == [("longer than that", b"abcd", datetime(2020, 1, 2, 1, 4, 5), 2**30, Decimal("2.13"))]


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "evolve"])
def test_a_null_where_none_may_be_stops_the_load_unless_types_evolve(mode, local_engine, tmp_path):
    stored = stored_schema()
    stored["tables"]["data"]["columns"]["bits_down"]["nullable"] = False
    stored = DltSchema.from_dict(stored).to_dict()
    table = table_of("bits_down", "text")
    pyarrow.parquet.write_table(table, tmp_path / "data.parquet")

    report = BySchemactl(local_engine, tmp_path / "ours", stored).load_files(
        [tmp_path / "data.parquet"], is_stopped=True, contract=f"data_type={mode}"
    )

    (null,) = report.inference.nulls
    assert (null.table, null.column, null.count, null.first.number) == ("data", "bits_down", 1, 2)
