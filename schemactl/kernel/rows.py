"""From a chunk of documents and a plan to rows: Arrow batches by table, rejects, and a tally.

A row maker compiles the plan once for each partition. It works level by level: a frame has the elements that become
the rows of one table, in the order of the input, and each cell of these rows is one column of values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemactl.kernel.chunks import Chunk
from schemactl.kernel.coercion import Coercion, loses_nanoseconds, text_of
from schemactl.kernel.frames import Frame, Mask, Nesting, to_mask
from schemactl.kernel.kinds import KindValues
from schemactl.kernel.ordering import comparable
from schemactl.kernel.outcome import Problem, Refused, RowOutcome, Seen, describe_ignored, describe_rejects
from schemactl.kernel.row_plans import KindTargets, RowPlan
from schemactl.kernel.stored import arrow_type, notes_of, spark_notes
from schemactl.kernel.structures import either
from schemactl.normalization.plan import Plan
from schemactl.normalization.tally import LoadTime
from schemactl.schema.coercion import coerce
from schemactl.schema.paths import Path
from schemactl.schema.types import Column, DataType, Table

ELEMENTS_AT_ONCE: Final = 1 << 16
"""Elements of lists that become rows together: all rows of a long list at once take a quarter more memory."""


@dataclass(frozen=True, slots=True)
class MadeRows:
    """The rows of one chunk.

    Attributes:
        tables: batches by table with exactly its stored columns. A table filled by several lists has several.
        places: positions of the same rows, for tables in which rows may be superseded (``RowMaker``).
        rejects: batches with the columns of ``outcome.REJECTS_SCHEMA``.
    """

    tables: dict[str, list[pa.RecordBatch]] = field(default_factory=dict)
    places: dict[str, list[pa.RecordBatch]] = field(default_factory=dict)
    rejects: list[pa.RecordBatch] = field(default_factory=list)
    root_keys: list[str | None] = field(default_factory=list)


@dataclass(slots=True)
class _Cells:
    """The values of the cells of a frame.

    Attributes:
        fills: the arrays that fill each column, for each of its cells in order.
        rejecting: rows that a value rejects.
        problems: indexes of problems, the rows that have them, and the values.
        oversized: numbers that no column had room for, with the column of a declared size that they were meant for.
        cut: by column, the texts that lose nanoseconds.
    """

    fills: dict[str, list[list[pa.Array]]] = field(default_factory=dict)
    rejecting: Mask = None
    problems: list[tuple[int, np.ndarray[Any, Any], KindValues | None]] = field(default_factory=list)
    oversized: list[tuple[Column, np.ndarray[Any, Any], KindValues]] = field(default_factory=list)
    cut: list[tuple[str, np.ndarray[Any, Any]]] = field(default_factory=list)

    def note_cut(self, column: str, values: KindValues, array: pa.Array) -> None:
        """Note the values that lose nanoseconds in the array that they were converted to."""
        if (mask := loses_nanoseconds(values, array)) is not None:
            self.cut.append((column, mask))


class RowMaker:
    """Makes the rows of one partition.

    Args:
        plan: maps documents to rows.
        load: the load's ID and time.
        compared: root tables in which a merge keeps one row for each primary key, with the columns that decide which.
            For these tables and their nested tables the position of each row is returned: ``ordinal`` among the rows of
            the root table, and for root rows ``file``, ``line``, ``list`` (the index of the list among the lists of the
            table), ``indexes`` in lists, and the compared columns, named by their index.
    """

    def __init__(self, plan: Plan, load: LoadTime, compared: Mapping[str, Sequence[str]] | None = None) -> None:
        self.plan = plan
        self.load = load
        self.problems: list[Problem] = []
        self.schemas = {name: table_schema(table, plan) for name, table in plan.tables.items()}
        self.outcome = RowOutcome()
        self._compared = dict(compared or {})
        self._ordinals = dict.fromkeys(self._compared, 0)
        self._list_paths: dict[str, list[Path]] = {}
        for rows in plan.rows.walk():
            self._list_paths.setdefault(rows.table, []).append(rows.path)
        self._root = RowPlan(plan, plan.rows, (), self.problems)

    def make(self, chunk: Chunk) -> MadeRows:
        """Return the rows of some documents, and add to ``outcome``."""
        output = MadeRows()
        root = Frame(self._root, self.load, chunk, chunk.documents)
        self._run(root, output)
        if output.rejects:
            output.root_keys.extend(root.keys.to_pylist())
        filled = self.outcome.filled
        for table, batches in output.tables.items():
            for batch in batches:
                columns = zip(batch.schema.names, batch.columns, strict=True)
                filled |= {(table, name) for name, values in columns if values.null_count < len(values)}
        return output

    def _run(self, frame: Frame, output: MadeRows) -> None:
        """Make the rows of a frame and their nested rows."""
        plan = frame.plan
        if plan.rows.skips_empty and frame.size:
            frame = _without_empty(frame)
        if not frame.size:
            return
        table = plan.rows.table
        rejected_above = 0 if frame.rejected is None else int(frame.rejected.sum())
        self.outcome.count(table, read=frame.size, rejected_above=rejected_above)
        self.outcome.documents += frame.size if frame.parent is None else 0
        if plan.refusal is not None:
            all_rows = np.ones(frame.size, bool)
            self.outcome.count(table, rejected=frame.size - rejected_above)
            self._report_problems(frame, output, [(plan.refusal, all_rows, None)], None)
            self._run_lists(frame, all_rows, output)
            return
        if rejected_above == frame.size:
            self._run_lists(frame, frame.rejected, output)
            return
        cells = _convert_cells(frame)
        _add_row_problems(frame, cells)
        rejecting = cells.rejecting
        if rejecting is not None and frame.rejected is not None:
            rejecting = rejecting & ~frame.rejected
        rejected = either(frame.rejected, rejecting)
        values_rejected = self._report_problems(frame, output, cells.problems, rejecting)
        if frame.parent is None and frame.chunk.ignored:
            values_rejected += self._report_ignored(frame, output, rejected)
        rows_rejected = 0 if rejecting is None else int(rejecting.sum())
        self.outcome.count(table, rejected=rows_rejected, values_rejected=values_rejected)
        self._measure(frame, cells, rejected)
        self._number(frame, rejected)
        if plan.table is not None:
            self._write(frame, cells, rejected, output)
        self._run_lists(frame, rejected, output)

    def _run_lists(self, frame: Frame, rejected: Mask, output: MadeRows) -> None:
        for plan in frame.plan.lists:
            path = plan.rows.path[len(frame.plan.rows.path) : -1]
            values, rows = (
                (frame.object_values(path), frame.objects(path[:-1]).rows) if path else (frame.elements, None)
            )
            lists = [value if type(value) is list else () for value in values]
            elements = list(chain.from_iterable(lists))
            if not elements:
                continue
            sizes = np.fromiter(map(len, lists), np.int64, len(lists))
            parents = np.repeat(np.arange(len(lists)) if rows is None else rows, sizes)
            starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
            indexes = np.arange(len(elements)) - starts
            rejected_elements = None if rejected is None else rejected[parents]
            for start in range(0, len(elements), ELEMENTS_AT_ONCE):
                batch = slice(start, start + ELEMENTS_AT_ONCE)
                nesting = Nesting(frame, parents[batch], indexes[batch])
                rejected_batch = None if rejected_elements is None else rejected_elements[batch]
                nested = Frame(plan, self.load, frame.chunk, elements[batch], nesting, rejected_batch)
                self._run(nested, output)

    def _report_problems(
        self,
        frame: Frame,
        output: MadeRows,
        problems: Sequence[tuple[int, np.ndarray[Any, Any], KindValues | None]],
        rejecting: Mask,
    ) -> int:
        """Count problems and write rejects: for rejected rows only their reasons, below them nothing.

        Returns:
            The number of rejected values in rows that are loaded.
        """
        values_rejected = 0
        for index, mask, values in problems:
            problem = self.problems[index]
            if frame.rejected is not None:
                mask = mask & ~frame.rejected
            if rejecting is not None and not problem.refuses_row:
                mask = mask & ~rejecting
            rows = np.nonzero(mask)[0]
            if not len(rows):
                continue
            self._count_problem(frame, index, rows, values)
            if problem.violation is None:
                continue
            rejects_row = problem.refuses_row or problem.column is None
            values_rejected += 0 if rejects_row else len(rows)
            rejects = Refused(
                file=frame.chunk.file,
                numbers=frame.numbers(rows),
                indexes=frame.list_indexes(rows),
                keys=frame.keys.take(pa.array(rows)),
                values=[None if values is None else text_of(values.at(row)) for row in rows.tolist()],
                rows=[_json_text(frame.row_value(row)) if rejects_row else None for row in rows.tolist()],
            )
            output.rejects.append(describe_rejects(problem, rejects, frame.source_load))
        return values_rejected

    def _count_problem(self, frame: Frame, index: int, rows: np.ndarray[Any, Any], values: KindValues | None) -> None:
        """Add a problem of some rows to the outcome, with the position and value of the first."""
        problem, first = self.problems[index], int(rows[0])
        (number,) = frame.numbers(rows[:1])
        position = (frame.chunk.file, number)
        example = None if values is None else text_of(values.at(first))
        if problem.violation is not None and problem.column is None:
            example = _json_text(frame.row_value(first))
        self.outcome.add(index, Seen(len(rows), *position, example))
        if problem.violation is None:
            return
        is_first = (self.outcome.problems[index].file, self.outcome.problems[index].number) == position
        # One record, which may be large, may be the first of many problems.
        if is_first and position not in self.outcome.records:
            self.outcome.records[position] = _json_text(frame.document(first))

    def _report_ignored(self, frame: Frame, output: MadeRows, rejected: Mask) -> int:
        """Write a reject for each key that a model ignores in a row that is loaded, and return their number."""
        rows = range(frame.size) if rejected is None else np.nonzero(~rejected)[0].tolist()
        numbers, row_keys = frame.chunk.numbers, frame.keys
        keys = [(int(numbers[row]), row_keys[row].as_py(), key) for row in rows for key in frame.chunk.ignored[row]]
        if keys:
            output.rejects.append(describe_ignored(frame.plan.rows.table, frame.chunk.file, keys, frame.source_load))
        return len(keys)

    def _measure(self, frame: Frame, cells: _Cells, rejected: Mask) -> None:
        """Note the range of numbers that columns of a declared size have no room for, and lost nanoseconds."""
        table = frame.plan.rows.table
        for name, mask in cells.cut:
            count = int((mask if rejected is None else mask & ~rejected).sum())
            if count:
                self.outcome.cut[table, name] += count
        for column, mask, values in cells.oversized:
            unsized = Column(
                column.name, {key: value for key, value in column.properties.items() if key != "precision"}
            )
            numbers = Coercion(values.kind, unsized)(values)
            is_loaded = mask if rejected is None else mask & ~rejected
            floats = [float(number) for number in numbers.filter(pa.array(is_loaded)).drop_null().to_pylist()]
            if floats:
                self.outcome.measure(table, column.name, min(floats), max(floats))

    def _number(self, frame: Frame, rejected: Mask) -> None:
        """Number the root rows that are written, and pass their numbers to nested rows."""
        root_table = frame.plan.root_table
        if root_table not in self._compared:
            return
        if frame.plan.root_levels_up:
            assert frame.nesting is not None
            assert frame.nesting.frame.ordinals is not None
            frame.ordinals = frame.nesting.frame.ordinals[frame.nesting.parents]
            return
        is_written = np.ones(frame.size, bool) if rejected is None else ~rejected
        first = self._ordinals[root_table]
        frame.ordinals = np.cumsum(is_written) - 1 + first
        self._ordinals[root_table] = first + int(is_written.sum())

    def _write(self, frame: Frame, cells: _Cells, rejected: Mask, output: MadeRows) -> None:
        table = frame.plan.rows.table
        schema = self.schemas[table]
        system_columns = self._system_columns(frame)
        arrays = []
        for column in schema:
            # dlt's values win, and of several cells of the data the last one that has a value.
            candidates = [array for cell in reversed(cells.fills.get(column.name, ())) for array in cell]
            if (system_column := system_columns.get(column.name)) is not None:
                candidates.insert(0, _cast(system_column, column.type))
            if len(candidates) > 1 and candidates[0].null_count:
                candidates = [pc.coalesce(*candidates)]
            arrays.append(candidates[0] if candidates else pa.nulls(frame.size, column.type))
        mask = None if rejected is None else pa.array(~rejected)
        if arrays:
            batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
            output.tables.setdefault(table, []).append(batch if mask is None else batch.filter(mask))
        if frame.plan.root_table in self._compared:
            places = self._places(frame, arrays)
            output.places.setdefault(table, []).append(places if mask is None else places.filter(mask))

    def _system_columns(self, frame: Frame) -> dict[str, pa.Array]:
        """Return dlt's columns, which override the data's values unless they are null."""
        rows, names = frame.plan.rows, self.plan.names
        candidates = [propagated.target.name for propagated in rows.passed]
        candidates += [names.load_id] if rows.has_load_id else []
        candidates += [names.parent_id, names.list_index] if rows.parent is not None else []
        stored = self.schemas[rows.table].names
        columns = {column: frame.system_column(column) for column in candidates if column in stored}
        if names.row_id in stored:
            columns[names.row_id] = frame.keys
        return {column: array for column, array in columns.items() if array is not None}

    def _places(self, frame: Frame, arrays: Sequence[pa.Array]) -> pa.RecordBatch:
        ordinals = pa.array(frame.ordinals, pa.int64())
        if frame.plan.root_levels_up:
            return pa.RecordBatch.from_arrays([ordinals], names=["ordinal"])
        all_rows = np.arange(frame.size)
        indexes = frame.list_indexes(all_rows)
        table, schema = frame.plan.rows.table, self.schemas[frame.plan.rows.table]
        compared = [comparable(arrays[schema.names.index(column)]) for column in self._compared[table]]
        list_number = self._list_paths[table].index(frame.plan.rows.path)
        columns = {
            "ordinal": ordinals,
            "file": pa.repeat(frame.chunk.file, frame.size),
            "line": pa.array(frame.numbers(all_rows), pa.int64()),
            "list": pa.repeat(list_number, frame.size).cast(pa.int64()),
            "indexes": pa.array(
                list(zip(*indexes, strict=True)) if indexes else [()] * frame.size, pa.list_(pa.int64())
            ),
            **{f"c{number}": array for number, array in enumerate(compared)},
        }
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def table_schema(table: Table, plan: Plan) -> pa.Schema:
    """Return the stored columns of a table, if complete, with the notes for the footers of files."""
    fields = [
        pa.field(column.name, arrow_type(column, table.name, plan), metadata=notes_of(column))
        for column in table.columns.values()
        if column.is_complete
    ]
    return pa.schema(fields, metadata=spark_notes(fields))


def _without_empty(frame: Frame) -> Frame:
    """Return the frame without rows that have neither a value nor a key."""
    has_value = np.zeros(frame.size, bool)
    for cell in frame.plan.cells:
        for values in frame.cell_values(cell):
            has_value |= to_mask(values.is_there)
    if frame.has_data_key is not None:
        has_value |= frame.has_data_key
    return frame if has_value.all() else frame.filtered(has_value)


def _convert_cells(frame: Frame) -> _Cells:
    """Convert the values of a frame's cells to its columns."""
    cells = _Cells()
    for cell in frame.plan.cells:
        arrays: dict[str, list[pa.Array]] = {}
        for values in frame.cell_values(cell):
            _convert_kind(cell.kinds[values.kind], values, arrays, cells)
        for column, column_arrays in arrays.items():
            cells.fills.setdefault(column, []).append(column_arrays)
    return cells


def _convert_kind(targets: KindTargets, values: KindValues, arrays: dict[str, list[pa.Array]], cells: _Cells) -> None:
    """Offer values to the columns in turn: each column gets the values that earlier columns did not accept."""
    remaining, remaining_count, is_accepted = values, values.count, None
    for target in targets.columns:
        if not remaining_count:
            break
        array = target.convert(remaining)
        count = len(array) - array.null_count
        if not count:
            continue
        remaining_count -= count
        if target.problem is None:
            arrays.setdefault(target.column.name, []).append(_without_json_null(array, target.column))
            cells.note_cut(target.column.name, remaining, array)
            if not remaining_count:
                break
        accepted = to_mask(pc.is_valid(array))
        if target.problem is not None:
            cells.problems.append((target.problem, accepted, values))
            if target.rejects_row:
                cells.rejecting = either(cells.rejecting, accepted)
        is_accepted = accepted if is_accepted is None else is_accepted | accepted
        remaining = _without(values, is_accepted)
    if remaining_count:
        mask = to_mask(remaining.is_there)
        cells.problems.append((targets.unfit_problem, mask, values))
        if targets.sized_column is not None:
            cells.oversized.append((targets.sized_column, mask, values))


def _without_json_null(array: pa.Array, column: Column) -> pa.Array:
    """Return values of a column, null for JSON's null: like dlt, which makes None of the text ``null``."""
    if column.data_type is not DataType.JSON or not pa.types.is_string(array.type):
        return array
    is_null = pc.equal(array, "null")
    return pc.if_else(is_null, None, array) if pc.any(is_null).as_py() else array


def _add_row_problems(frame: Frame, cells: _Cells) -> None:
    """Add problems that concern several cells: missing keys, columns filled twice, lists that share a table."""
    plan = frame.plan
    key_columns = frame.primary_key_values if plan.missing_key_problems else ()
    for problem, values in zip(plan.missing_key_problems, key_columns, strict=True):
        is_missing = np.array([value is None for value in values], bool)
        if frame.has_data_key is not None:
            is_missing &= ~frame.has_data_key
        cells.problems.append((problem, is_missing, None))
    for column, problem in plan.overwritten_columns.items():
        fills = cells.fills.get(column, ())
        if len(fills) > 1:
            is_filled = [np.logical_or.reduce([to_mask(pc.is_valid(array)) for array in arrays]) for arrays in fills]
            cells.problems.append((problem, sum(mask.astype(np.int64) for mask in is_filled) > 1, None))
    for problem, paths in plan.shared_lists:
        has_elements = [[type(value) is list and len(value) > 0 for value in frame.values(path)] for path in paths]
        cells.problems.append((problem, np.array(has_elements, np.int64).sum(axis=0) > 1, None))


def _without(values: KindValues, mask: np.ndarray[Any, Any]) -> KindValues:
    if values.array is not None:
        return replace(values, array=pc.if_else(pa.array(mask), None, values.array))
    pairs = zip(values.listed, mask.tolist(), strict=True)
    return KindValues(values.kind, None, [None if is_masked else value for value, is_masked in pairs])


def _cast(array: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Return an array cast to a type, null if a value overflows."""
    if array.type == data_type:
        return array
    try:
        return array.cast(data_type)
    except pa.ArrowInvalid:
        if len(array) == 1:
            return pa.nulls(1, data_type)
        return pa.concat_arrays([_cast(array.slice(row, 1), data_type) for row in range(len(array))])


def _json_text(value: Any) -> str:
    return str(coerce(value, DataType.JSON, DataType.TEXT))
