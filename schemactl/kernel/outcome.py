"""Counts the rows of a load, and describes rows that contracts reject."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Final

import pyarrow as pa

from schemactl.inference.evidence import Position
from schemactl.kernel.coercion import text_of
from schemactl.kernel.stored import stored_type
from schemactl.normalization.plan import Plan
from schemactl.normalization.tally import (
    REJECTS_COLUMNS,
    LoadTime,
    OverwriteFinding,
    Rejected,
    RowCounts,
    Tally,
    UnfitFinding,
)
from schemactl.schema.contract import Entity, Mode
from schemactl.schema.judgment import Violation
from schemactl.schema.paths import ELEMENT, Path, format_path

REJECTS_SCHEMA: Final = pa.schema([pa.field(column.name, stored_type(column)) for column in REJECTS_COLUMNS])
"""The columns of rejects without the columns of records, which ``reject_records`` adds."""


@dataclass(frozen=True, slots=True)
class FieldErrors:
    """The number of a field's values that are errors, and the first of them: its place, and its message."""

    count: int
    first: Position
    message: str

    def merged(self, other: FieldErrors) -> FieldErrors:
        """Return the errors of both."""
        first = min(self, other, key=lambda errors: errors.first)
        return replace(first, count=self.count + other.count)


def count_errors(errors: Iterable[tuple[tuple[str, str], FieldErrors]]) -> dict[tuple[str, str], FieldErrors]:
    """Return the errors by field and by contract mode (``data_type=freeze``)."""
    counts: dict[tuple[str, str], FieldErrors] = {}
    for key, error in errors:
        counts[key] = counts[key].merged(error) if key in counts else error
    return counts


@dataclass(frozen=True, slots=True)
class IgnoredKey:
    """A key of a document that a model has no field for: its place (keys, and indexes in lists), and its value."""

    loc: tuple[str | int, ...]
    value: Any

    @property
    def name(self) -> str:
        return name_of(self.loc)


_NO_FIELD: Final = "the model has no such field"


def count_ignored(
    positions: Sequence[Position], ignored: Sequence[Sequence[IgnoredKey]]
) -> dict[tuple[str, str], FieldErrors]:
    """Count the ignored keys of documents by field, as errors that only drop the value."""
    contract = f"{Entity.COLUMNS}={Mode.DISCARD_VALUE}"
    return count_errors(
        ((key.name, contract), FieldErrors(1, positions[index], _NO_FIELD))
        for index, keys in enumerate(ignored)
        for key in keys
    )


def name_of(loc: Sequence[str | int]) -> str:
    """Return a place in a document without indexes in lists."""
    return ".".join(step for step in loc if isinstance(step, str))


def path_of(loc: Sequence[str | int]) -> str:
    """Return a place in a document as a path: ``$.items[0].qty``."""
    steps = (f"[{step}]" if isinstance(step, int) else format_path((step,))[1:] for step in loc)
    return f"${''.join(steps)}"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that keeps a value or a row out.

    Attributes:
        table: the table of the rows; if several lists fill one table, the table of their elements.
        column: the column of the value; None for whole rows and for lists.
        kind: the kind of the value; empty if several values meet.
        violation: the contract violation; None if the load must stop.
    """

    table: str
    column: str | None
    paths: tuple[Path, ...]
    kind: str = ""
    expected: str = ""
    violation: Violation | None = None
    refuses_row: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """Counts a problem, with its first position (file and number) and the value there."""

    count: int
    file: str
    number: int
    example: str | None


@dataclass(slots=True)
class RowOutcome:
    """The counts of the rows of some partitions; outcomes add up in any order.

    Attributes:
        tables: the rows by table.
        documents: rows that are documents themselves.
        problems: the problems by their index in ``RowMaker.problems``.
        spans: the range of numbers that overflow columns with a declared size, by table and column.
        filled: the columns, by table, in which a row that is loaded has a value.
        cut: the number of texts, by table and column, whose nanoseconds are cut from timestamps and times.
        records: the records of the first violations of a contract, as JSON, by file and number.
    """

    tables: dict[str, RowCounts] = field(default_factory=dict)
    documents: int = 0
    problems: dict[int, Seen] = field(default_factory=dict)
    spans: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    filled: set[tuple[str, str]] = field(default_factory=set)
    cut: Counter[tuple[str, str]] = field(default_factory=Counter)
    records: dict[tuple[str, int], str] = field(default_factory=dict)

    def count(self, table: str, **rows: int) -> None:
        """Count rows of a table, as ``RowCounts`` calls them."""
        self.tables[table] = self.tables.get(table, RowCounts()) + RowCounts(**rows)

    def add(self, problem: int, occurrence: Seen) -> None:
        """Note a problem, with the first place of it."""
        earlier = self.problems.get(problem)
        if earlier is not None:
            first = min(earlier, occurrence, key=attrgetter("file", "number"))
            occurrence = replace(first, count=earlier.count + occurrence.count)
        self.problems[problem] = occurrence

    def measure(self, table: str, column: str, least: float, greatest: float) -> None:
        """Note numbers that a column has no room for."""
        span = self.spans.get((table, column), (least, greatest))
        self.spans[table, column] = (min(span[0], least), max(span[1], greatest))

    def merge(self, other: RowOutcome) -> None:
        """Add the outcome of other partitions."""
        for name, counts in other.tables.items():
            self.tables[name] = self.tables.get(name, RowCounts()) + counts
        self.documents += other.documents
        for index, occurrence in other.problems.items():
            self.add(index, occurrence)
        for (table, column), span in other.spans.items():
            self.measure(table, column, *span)
        self.filled |= other.filled
        self.cut.update(other.cut)
        self.records |= other.records


def tally_of(outcome: RowOutcome, problems: Sequence[Problem], plan: Plan) -> Tally:
    """Return the tally of a load, given its outcome and the problems of a row maker."""
    names = dict.fromkeys((*(rows.table for rows in plan.rows.walk()), *plan.tables))
    unfit: list[UnfitFinding] = []
    overwrites: list[OverwriteFinding] = []
    for index, occurrence in sorted(outcome.problems.items()):
        problem, first = problems[index], Position(occurrence.file, occurrence.number)
        if problem.violation is not None:
            continue
        sources = tuple(map(format_path, problem.paths))
        if problem.kind:
            target = problem.table, problem.column or "", sources[0]
            unfit.append(
                UnfitFinding(*target, problem.kind, problem.expected, occurrence.count, first, occurrence.example)
            )
        else:
            overwrites.append(OverwriteFinding(problem.table, problem.column, sources, occurrence.count, first))
    tables = {name: outcome.tables.get(name, RowCounts()) for name in names}
    return Tally(tables, tuple(unfit), tuple(overwrites), outcome.documents)


def rejected_by(outcome: RowOutcome, problems: Sequence[Problem]) -> tuple[Rejected, ...]:
    """Return the values that each violation kept out, in the plan's order."""
    sums_by_violation: dict[tuple[str, str | None], tuple[Violation, RowOutcome]] = {}
    for index, problem in enumerate(problems):
        occurrence, violation = outcome.problems.get(index), problem.violation
        if occurrence is None or violation is None:
            continue
        _, sums = sums_by_violation.setdefault((violation.table, violation.column), (violation, RowOutcome()))
        sums.add(0, occurrence)
    return tuple(
        Rejected(
            violation,
            occurrence.count,
            Position(occurrence.file, occurrence.number),
            occurrence.example,
            outcome.records[occurrence.file, occurrence.number],
        )
        for violation, sums in sums_by_violation.values()
        for occurrence in sums.problems.values()
    )


@dataclass(frozen=True, slots=True)
class Refused:
    """Rows or values that a contract keeps out, a list element or array entry for each.

    Attributes:
        numbers: the numbers of the records in the file.
        indexes: the places in lists, a sequence for each depth.
        rows: as JSON, where whole rows are rejected.
    """

    file: str
    numbers: Sequence[int]
    indexes: Sequence[Sequence[int]]
    keys: pa.Array
    values: Sequence[str | None]
    rows: Sequence[str | None]


def describe_rejects(problem: Problem, refused: Refused, load: LoadTime) -> pa.RecordBatch:
    """Return rejected rows or values with their reason and their place (``REJECTS_SCHEMA``)."""
    violation = problem.violation
    assert violation is not None
    size = len(refused.numbers)
    values: dict[str, Any] = {
        "load_id": [load.id] * size,
        "table_name": [violation.table] * size,
        "column_name": [violation.variant_of or violation.column] * size,
        "entity": [str(violation.entity)] * size,
        "mode": [str(violation.mode)] * size,
        "expected": [violation.expected] * size,
        "found": [violation.found] * size,
        "value": refused.values,
        "path": _place_texts(problem.paths[0], refused.indexes, size),
        "file": [refused.file] * size,
        "line": refused.numbers,
        "row_key": refused.keys,
        "row": refused.rows,
        "inserted_at": [load.inserted_at] * size,
    }
    arrays = [
        array if isinstance(array := values.get(column.name, [None] * size), pa.Array) else pa.array(array, column.type)
        for column in REJECTS_SCHEMA
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=REJECTS_SCHEMA)


def describe_ignored(
    table: str, file: str, keys: Iterable[tuple[int, str, IgnoredKey]], load: LoadTime
) -> pa.RecordBatch:
    """Return the values of ignored keys with their places (``REJECTS_SCHEMA``).

    Each key comes with the number of its record and the ``_dlt_id`` of its row.
    """
    rejects = [
        {
            "load_id": load.id, "table_name": table, "column_name": key.name, "entity": str(Entity.COLUMNS),
            "mode": str(Mode.DISCARD_VALUE), "expected": "no new column", "found": _NO_FIELD,
            "value": None if key.value is None else text_of(key.value), "path": path_of(key.loc), "file": file,
            "line": number, "row_key": row_key, "inserted_at": load.inserted_at,
        }
        for number, row_key, key in keys
    ]  # fmt: skip
    return pa.RecordBatch.from_pylist(rejects, schema=REJECTS_SCHEMA)


def _place_texts(path: Path, indexes: Sequence[Sequence[int]], size: int) -> list[str]:
    """Return a path with the places in lists in place of "each element", for each row."""
    step_groups: list[list[str]] = [[]]
    for step in path:
        if step is ELEMENT:
            step_groups.append([])
        else:
            step_groups[-1].append(step)
    texts = [format_path(tuple(steps)).removeprefix("$") for steps in step_groups]
    if len(texts) == 1:
        return [f"${texts[0]}"] * size
    rows = zip(*indexes[: len(texts) - 1], strict=True)
    return [
        f"${texts[0]}" + "".join(f"[{index}]{text}" for index, text in zip(indexes_of_row, texts[1:], strict=True))
        for indexes_of_row in rows
    ]
