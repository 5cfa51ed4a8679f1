"""A fold moves exactly the values that stay the same in the new type, counts the others, and is undone exactly."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from schemactl.destinations import DESTINATIONS
from schemactl.destinations._migration.session import SqlMigration
from schemactl.migration.effects import apply_to_model
from schemactl.migration.statements import constant
from schemactl.migration.steps import ChangeType, CreateTable, FoldVariant, Step
from schemactl.schema.coercion import coerce, type_of
from schemactl.schema.conversions import Conversion
from schemactl.schema.fit import fit
from schemactl.schema.types import Column, DataType, Table
from schemactl.schema.variants import folded_type

LARGEST = 2**63 - 1
DOUBLES = (0.5, -0.0, 1e300, 5e-324, float(2**53 + 2), 0.1, -1e15, math.nan, math.inf)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "bigint": st.integers(-LARGEST, LARGEST) | st.sampled_from([2**53, 2**53 + 1, 1 - 2**53, -LARGEST]),
    "double": st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(DOUBLES),
    "decimal": st.decimals(-(10**20), 10**20, places=9, allow_nan=False) | st.just(Decimal("9" * 29 + "." + "9" * 9)),
    "date": st.dates() | st.sampled_from([date.max, date.min]),
    "timestamp": st.datetimes(timezones=st.just(UTC)) | st.just(datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)),
    "text": st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=9),
    "bool": st.booleans(),
}
ODD: dict[str, list[Any]] = {
    "bigint": [2**53, 2**53 + 1, -(2**53) - 1, LARGEST, 0],
    "double": [*DOUBLES, float(2**53)],
    "decimal": [Decimal("9" * 29 + "." + "9" * 9), Decimal("-0.000000001"), Decimal("0.1")],
    "date": [date.max, date.min, date(1582, 10, 10), date(2016, 12, 31)],
    "timestamp": [datetime(9999, 12, 31, 23, 59, 59, 999999, UTC), datetime(1, 1, 1, tzinfo=UTC)],
    "text": ["", " 1", "1", "é\U0001f600", "NaN", "2016-12-31T23:59:60Z"],
    "bool": [True, False],
}
PAIRS = [
    ("bigint", "double"), ("bigint", "decimal"), ("bigint", "bool"), ("bigint", "text"), ("double", "text"),
    ("decimal", "text"), ("date", "timestamp"), ("timestamp", "text"), ("bool", "text"),
]  # fmt: skip


def same(value: Any, new: Any) -> bool:
    """Return whether a stored value is the same as the one that it came from: exactly, and no -0.0 for 0.0."""
    if isinstance(value, float) and isinstance(new, float):
        is_equal = value == new or (math.isnan(value) and math.isnan(new))
        return is_equal and math.copysign(1, value) == math.copysign(1, new)
    if isinstance(value, datetime) or not isinstance(value, date) or not isinstance(new, datetime):
        is_number = isinstance(value, int | float | Decimal) and isinstance(new, int | float | Decimal)
        return Fraction(value) == Fraction(new) if is_number else value == new
    return datetime(value.year, value.month, value.day, tzinfo=UTC) == new


def same_text(value: Any, text: str) -> bool:
    """Return whether a text spells a value as dlt does, or a decimal with other zeros at its end."""
    return (
        Decimal(text) == value if isinstance(value, Decimal) else text == coerce(value, type_of(value), DataType.TEXT)
    )


def becomes(value: Any, kind: DataType) -> Any:
    """Return the value in another type as Python has it; None if it would change."""
    if kind is DataType.TEXT:
        return value
    converters = {DataType.DOUBLE: float, DataType.DECIMAL: Decimal}
    new = converters.get(kind, lambda same_value: same_value)(value)
    return new if isinstance(value, date) or same(value, new) else None


class Folding:
    """A table with a column and its variant, whose rows hold a value in one of both."""

    def __init__(self, module: ModuleType, session: SqlMigration[Any], url: str, pair: tuple[str, str]) -> None:
        self.module, self.session, self.url = module, session, url
        self.is_duckdb = url.startswith("duckdb:")  # Python has not all points in time that it gives
        self.column = Column("a", {"data_type": pair[0]})
        self.variant = Column(f"a__v_{pair[1]}", {"data_type": pair[1]})
        folded = folded_type(self.column, [self.variant], allow_text=True)
        assert folded is not None
        self.folded = Column("a", folded)
        self.fold = FoldVariant("t", self.variant, self.folded, fit(self.variant, self.folded).conversion)
        conversion = fit(self.column, self.folded).conversion
        self.retype = ChangeType("t", self.column, self.folded, conversion, conversion is not Conversion.WHOLE)
        key = Column("id", {"data_type": "bigint"})
        self.tables = {"t": Table("t", {each.name: each for each in (key, self.column, self.variant)})}

    @property
    def steps(self) -> list[Step]:
        return [self.fold] if self.column == self.folded else [self.retype, self.fold]

    def write(self, values: list[Any], variants: list[Any]) -> None:
        self.session.run(CreateTable(self.tables["t"]), self.module.render(CreateTable(self.tables["t"]), None, "main"))
        rows = [(value, None) for value in values] + [(None, value) for value in variants]
        for number, (value, variant) in enumerate(rows):
            cells = (
                "NULL" if cell is None else constant(cell, column, self.session.engine)
                for cell, column in ((value, self.column), (variant, self.variant))
            )
            self.session.database.execute(f"INSERT INTO t VALUES ({number}, {', '.join(cells)})")

    def run(self, step: Step) -> None:
        self.session.run(step, self.module.render(step, self.tables["t"], "main"))
        apply_to_model(self.tables, [step])

    def rows(self) -> list[tuple[Any, ...]]:
        columns = ", ".join(
            f'CAST("{name}" AS VARCHAR)' if self.is_duckdb else f'"{name}"' for name in ("a", self.variant.name)
        )
        return [tuple(row) for row in self.session.database.query(f'SELECT {columns} FROM "t" ORDER BY "id"')]

    def read(self) -> dict[int, Any]:
        """Return the values of the column as its type says, by the number of their row."""
        if self.folded.data_type is DataType.TIMESTAMP:
            text = "strftime(a AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%f')" if self.is_duckdb else "a"
            with self.module.connect(self.url, "main", is_read_only=True) as session:
                found = session.database.query(f"SELECT id, {text} FROM t")
            return {number: datetime.fromisoformat(text.rjust(26, "0")).replace(tzinfo=UTC) for number, text in found}
        model = Table("t", {"id": self.tables["t"].columns["id"], "a": self.folded})
        batches = self.module.read_table(self.url, "main", model)
        return {row["id"]: row["a"] for batch in batches for row in batch.to_pylist()}


def stored(value: Any, kind: str) -> Any:
    """Return a value as a destination stores it: SQLite has neither -0.0 nor NaN, and no literal of infinity."""
    is_odd = isinstance(value, float) and (value == 0 or not math.isfinite(value))
    return 0.0 if kind == "sqlite" and is_odd else value


CASES = [
    *(("duckdb", pair) for pair in PAIRS),
    # SQLite stores decimals as doubles.
    *(("sqlite", pair) for pair in PAIRS if "decimal" not in pair),
]


@pytest.mark.parametrize(("kind", "pair"), CASES, ids=[f"{kind}-{'-'.join(pair)}" for kind, pair in CASES])
def test_each_value_is_the_same_afterwards_or_is_counted(kind: str, pair: tuple[str, str]) -> None:
    module: Any = DESTINATIONS[kind]

    @settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(st.lists(VALUES[pair[0]], max_size=9), st.lists(VALUES[pair[1]], max_size=9))
    @example(ODD[pair[0]], ODD[pair[1]])
    def check(values: list[Any], variants: list[Any]) -> None:
        with TemporaryDirectory() as folder:
            url = f"{kind}:///{Path(folder) / 'made.db'}?dataset=main"
            with module.connect(url, "main") as session:
                folding = Folding(module, session, url, pair)
                kind_after = folding.folded.data_type
                assert kind_after is not None
                values, variants = ([stored(value, kind) for value in side] for side in (values, variants))
                folding.write(values, variants)
                new_values = [becomes(value, kind_after) for value in (*values, *variants)]
                changed = [number for number, new in enumerate(new_values) if new is None]
                assert sum(session.unfit(step).count for step in folding.steps) == len(changed)
                assert session.overlaps(folding.fold).count == 0
                for number in changed:
                    session.database.execute(f"DELETE FROM t WHERE id = {number}")
                before = folding.rows()
                for step in folding.steps:
                    folding.run(step)
            after = folding.read()
            kept = {number: new for number, new in enumerate(new_values) if new is not None}
            assert after.keys() == kept.keys()
            is_same = same_text if kind_after is DataType.TEXT else same
            wrong = {number: (after[number], new) for number, new in kept.items() if not is_same(new, after[number])}
            assert wrong == {}
            with module.connect(url, "main") as folding.session:
                for step in reversed(folding.steps):
                    for undo in step.undo.steps:
                        folding.run(undo)
                assert [repr(row) for row in folding.rows()] == [repr(row) for row in before]

    check()
