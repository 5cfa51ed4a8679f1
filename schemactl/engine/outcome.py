"""What becomes of rows: the columns that are written, and what keeps rows and values out, as SQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame

from schemactl.engine.cell_values import values_by_column
from schemactl.engine.nested_types import column_type, sql_type
from schemactl.engine.reach import is_container_sql, reach, reach_elements
from schemactl.engine.rows import RowFrame, made_sql, refused_sql, refuses_row
from schemactl.engine.sql import literal, quoted
from schemactl.inference.paths import Path
from schemactl.normalization.plan import Plan, RowKey, Rows
from schemactl.schema.judgement import Violation
from schemactl.schema.types import Table

NULL_KIND: Final = "null"
"""The kind of missing values of primary keys (``tally.Unfit``)."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that keeps a value or a row out.

    Attributes:
        sql: whether a row has it.
        text: SQL of the value as a text for a person; ``null`` where there is none to show.
        table: the rows' table; where lists meet, that of their elements.
        column: that the value is meant for; None for whole rows and for lists.
        paths: where the values stand.
        kind: of the value, empty where several meet.
        expected: the data type of the column, empty where there is none.
        violation: of a contract; None where the load must not go on.
        refuses_row: whether it keeps the whole row out.
    """

    sql: str
    text: str
    table: str
    column: str | None
    paths: tuple[Path, ...]
    kind: str = ""
    expected: str = ""
    violation: Violation | None = None
    refuses_row: bool = False

    @property
    def is_overwrite(self) -> bool:
        return self.violation is None and not self.kind


# --- columns ---


def columns_of(rows: RowFrame, table: Table, plan: Plan, load_id: str) -> list[str]:
    """Return SQL for each column of the table, in its order and in the type that it is stored as."""
    fills = {name: _coalesced(reversed(cells)) for name, cells in values_by_column(rows.values).items()}
    made = _made(rows, plan, load_id)
    columns: list[str] = []
    for column in table.columns.values():
        if not column.is_complete:
            continue
        spark_type = sql_type(column_type(column, table.name, plan))
        sql = fills.get(column.name, f"cast(null as {spark_type})")
        if column.name in made:
            is_made, value = made[column.name]
            sql = f"if({is_made}, try_cast({value} as {spark_type}), {sql})"
        columns.append(f"{sql} as {quoted(column.name)}")
    return columns


def _coalesced(parts: Iterable[Sequence[str]]) -> str:
    found = [sql for part in parts for sql in part]
    return found[0] if len(found) == 1 else f"coalesce({', '.join(found)})"


def _made(rows: RowFrame, plan: Plan, load_id: str) -> dict[str, tuple[str, str]]:
    """Return what the normaliser makes over the data's values, by column: whether it does, and what."""
    names, last, level = plan.names, rows.rows, rows.level
    made: dict[str, tuple[str, str]] = {}
    for passed in last.passed:
        value = made_sql(rows, level, passed.target.name, plan, load_id)
        made[passed.target.name] = (f"{value} is not null", value)
    if last.has_load_id:
        made[names.load_id] = ("true" if level == 0 else is_container_sql(rows.at(level)), literal(load_id))
    if last.parent is not None:
        made[names.parent_id] = (f"not o{level}", f"k{level - 1}")
        made[names.list_index] = (f"not o{level}", f"cast(i{level} as bigint)")
    made[names.row_id] = ("true", f"k{level}")
    return made


# --- problems ---


def problems_of(rows: RowFrame) -> list[Problem]:
    """Return all that may keep values and rows out."""
    last = rows.rows
    if last.refusal is not None:
        return [Problem("true", "null", last.table, None, (last.path,), violation=last.refusal, refuses_row=True)]
    return [*_value_problems(rows), *_key_problems(rows), *_overwrites(rows), *_list_overwrites(rows)]


def _value_problems(rows: RowFrame) -> Iterator[Problem]:
    table = rows.rows.table
    for value in rows.values:
        at = (value.cell.path,)
        for take in value.takes:
            if take.target.refusal is not None:
                yield Problem(
                    sql=f"{take.sql} is not null",
                    text=value.text_sql(),
                    table=table,
                    column=take.target.column.name,
                    paths=at,
                    kind=value.kind,
                    violation=take.target.refusal,
                    refuses_row=refuses_row(take.target),
                )
        if value.may_be_left:
            first = value.takes[0].target.column if value.takes else None
            column, expected = (first.name, str(first.data_type)) if first else (value.cell.name, "")
            yield Problem(value.left_sql(), value.text_sql(), table, column, at, value.kind, expected)


def _key_problems(rows: RowFrame) -> Iterator[Problem]:
    """Rows that are found by their primary key need all of it, unless they bring the key of their own."""
    if rows.rows.key is RowKey.PRIMARY_KEY:
        for column, sql in rows.key_values:
            paths = tuple(cell.path for cell in rows.rows.cells if cell.name == column) or (rows.rows.path,)
            missing = f"{sql} is null and not o{rows.level}"
            yield Problem(missing, "null", rows.rows.table, column, paths[:1], NULL_KIND)


def _overwrites(rows: RowFrame) -> Iterator[Problem]:
    for column, cells in values_by_column(rows.values).items():
        if len(cells) > 1:
            present = [f"{_coalesced([cell])} is not null" for cell in cells]
            paths = tuple(
                value.cell.path
                for value in rows.values
                if any(take.target.column.name == column for take in value.takes)
            )
            yield Problem(_several(present), "null", rows.rows.table, column, tuple(dict.fromkeys(paths)))


def _list_overwrites(rows: RowFrame) -> Iterator[Problem]:
    """Elements of two lists at the same place would get the same key."""
    by_table: dict[str, list[Rows]] = {}
    for below in rows.rows.lists:
        if below.key is RowKey.PARENT:
            by_table.setdefault(below.table, []).append(below)
    for table, lists in by_table.items():
        sizes = [(each.path[:-1], size) for each in lists if (size := _size(rows, each)) is not None]
        if len(sizes) > 1:
            paths = tuple(path for path, _ in sizes)
            yield Problem(_several([f"{size} > 0" for _, size in sizes]), "null", table, None, paths)


def _size(rows: RowFrame, below: Rows) -> str | None:
    found = reach(rows.at(rows.level), below.path[len(rows.rows.path) : -1])
    elements = reach_elements(found) if found is not None else None
    return None if elements is None else f"coalesce(size({elements.sql}), 0)"


def _several(conditions: Sequence[str]) -> str:
    return f"{count_sql(conditions)} > 1"


def count_sql(conditions: Sequence[str]) -> str:
    """Return SQL for how many of some conditions hold; flat, as thousands of them nested are too deep for Spark."""
    if not conditions:
        return "0"
    return f"size(array_compact(array({', '.join(f'if({each}, 1, null)' for each in conditions)})))"


# --- counts ---

ABOVE: Final = "#above"
ITSELF: Final = "#itself"
VALUES: Final = "#values"
LOSSES: Final = "#losses"


def flags_of(rows: RowFrame, problems: Sequence[Problem]) -> dict[str, str]:
    """Return SQL for what is told of a row beside its columns, by name; what is so for no row is left out.

    ``ABOVE`` and ``ITSELF``: whether it is kept out by a row above it, or by itself (boolean). ``VALUES`` and
    ``LOSSES``: how many of its values are kept out, and would be lost (int).
    """
    itself = "true" if rows.rows.refusal is not None else refused_sql(rows.values)
    refused = [each.sql for each in problems if each.violation is not None and not each.refuses_row]
    lost = [each.sql for each in problems if each.violation is None]
    flags = {ABOVE: "r"} if rows.may_be_below_refused else {}
    if itself != "false":
        flags[ITSELF] = f"not r and {itself}"
    counts = {VALUES: refused, LOSSES: lost}
    return flags | {name: f"if(r or {itself}, 0, {count_sql(sql)})" for name, sql in counts.items() if sql}


def unrefused(rows: RowFrame, columns: Iterable[str]) -> DataFrame:
    """Return some columns, as SQL, of the rows that no contract keeps out."""
    flags = flags_of(rows, ())
    read = rows.frame.selectExpr(*columns, *(f"{sql} as {quoted(name)}" for name, sql in flags.items()))
    return read.where(" and ".join(f"not {quoted(name)}" for name in flags)).drop(*flags) if flags else read
