"""Merges the rows of a load into tables on files by the plans of ``destinations._merge``, with DuckDB.

Files with rows to delete are rewritten without them, new rows are added. DuckDB only sees the columns that merges need,
and spills to disk.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy
import pyarrow
import pyarrow.compute as pc

from schemactl.destinations._catalogue import driver
from schemactl.destinations._lake.files import add_staged, read_staged, write_rows
from schemactl.destinations._lake.table import DataFile, FilesTable, in_fields, with_mask
from schemactl.destinations._load import Chain
from schemactl.destinations._merge import Relations, plan_merge
from schemactl.errors import DestinationError
from schemactl.normalization.package import StagedTable
from schemactl.schema.dispositions import Merge, Strategy, merge_of, named
from schemactl.schema.types import Table

if TYPE_CHECKING:
    import duckdb

_FILE: Final = "_schemactl_file"
_ROW: Final = "_schemactl_row"


def merge_chain(
    chain: Chain, inserted_at: datetime, tables: Mapping[str, FilesTable], prefix: str
) -> Iterator[tuple[str, list[str], list[DataFile]]]:
    """Write the merged tables of a chain; yield each with its new files and the files that go."""
    merge = merge_of(chain.root, inserted_at)
    loaded_tables = [table for table in chain.tables if table.name in tables]
    numbers = {table.name: number for number, table in enumerate(loaded_tables)}
    relations = Relations(
        old={name: f"old_{number}" for name, number in numbers.items()},
        new={name: f"new_{number}" for name, number in numbers.items()},
        columns=dict.fromkeys(numbers, (_FILE, _ROW)),
        tie=f"n.{_FILE}, n.{_ROW}",
        superseded="superseded",
    )
    keys, effects = plan_merge(chain, merge, relations, "keys")
    changes = []
    with _engine(chain.root.name) as engine:
        root = chain.staged.get(chain.root.name)
        superseded = root.superseded.files if root and root.superseded else ()
        _add(engine, "superseded", chain.root, tables[chain.root.name], map(read_staged, superseded))
        for number, (table, effect) in enumerate(zip(loaded_tables, effects, strict=True)):
            lake, staged = tables[table.name], chain.staged.get(table.name)
            new = staged.files if staged else ()
            new_counts = _add(engine, f"new_{number}", table, lake, map(read_staged, new))
            # Without rows that go above there is nothing to look for.
            above = [name for name in keys if "_gone_" in name and int(name.rpartition("_")[2]) < number]
            is_read = effect.goes is None or number == 0
            is_read |= any(engine.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchall() for name in above)
            files = lake.files() if is_read else []
            columns = [name for name in _columns(table) if name in lake.fields.names]
            old_counts = _add(engine, f"old_{number}", table, lake, (lake.read(file, columns) for file in files))
            for name, query in keys.items():
                if name.endswith(f"_{number}"):
                    engine.execute(f"CREATE TEMPORARY TABLE {name} AS {query}")
            goes = f"SELECT o.{_FILE}, o.{_ROW} FROM old_{number} o WHERE {effect.goes}" if effect.goes else None
            masks = zip(files, _masks(engine, goes, old_counts), strict=True)
            going = [(file, mask) for file, mask in masks if mask.true_count]
            changes.append((table.name, going, _masks(engine, effect.comes, new_counts)))
    # Only now, when DuckDB has freed its memory and its files.
    for number, (name, going, new_rows) in enumerate(changes):
        history = merge if merge.strategy is Strategy.SCD2 and number == 0 else None
        added = _write(tables[name], chain.staged.get(name), going, new_rows, prefix, history)
        yield name, added, [file for file, _ in going]


def _write(
    table: FilesTable,
    staged: StagedTable | None,
    going: Sequence[tuple[DataFile, pyarrow.BooleanArray]],
    coming: Sequence[pyarrow.BooleanArray],
    prefix: str,
    history: Merge | None,
) -> list[str]:
    """Write one table; return its new files, for files with rows to delete, and for staged files.

    In a ``history`` (slowly changing dimensions) rows end and do not go.
    """
    added: list[str] = []
    for number, (file, mask) in enumerate(going):
        path = table.new_file(f"{prefix}-kept-{number:05}.parquet")
        rows = with_mask(table.read(file, table.fields.names), mask)
        if history is None:
            remaining = (batch.filter(pc.invert(is_going)) for batch, is_going in rows)
        else:
            end = {str(history.valid_to): history.boundary}
            remaining = (_with_values(batch, end, is_going) for batch, is_going in rows)
        added += write_rows(table, path, remaining)
    if staged:
        takes_all = all(mask.false_count == 0 for mask in coming)
        alter = None
        if history is not None:
            stamp = {str(history.valid_from): history.boundary, str(history.valid_to): history.active}
            alter = partial(_with_values, values=stamp)
        added += add_staged(table, staged, prefix, None if takes_all else coming, alter)
    return added


def _with_values(
    batch: pyarrow.RecordBatch, values: Mapping[str, datetime | None], mask: pyarrow.BooleanArray | None = None
) -> pyarrow.RecordBatch:
    """Return rows with constants in some columns: in all rows, or in the rows of a mask."""
    for name, value in values.items():
        of = pyarrow.timestamp("us", "UTC")
        constant = pyarrow.scalar(value, of)
        if name in batch.schema.names:
            number = batch.schema.get_field_index(name)
            old = batch.column(number).cast(of)
            new = pyarrow.repeat(constant, batch.num_rows) if mask is None else pc.if_else(mask, constant, old)
            batch = batch.set_column(number, name, new)
        else:
            batch = batch.append_column(name, pyarrow.repeat(constant, batch.num_rows))
    return batch


@contextmanager
def _engine(table: str) -> Iterator[duckdb.DuckDBPyConnection]:
    with driver("duckdb", "duckdb"):
        import duckdb
    with tempfile.TemporaryDirectory(prefix="schemactl-merge-") as spill:
        try:
            with duckdb.connect(config={"temp_directory": spill}) as engine:
                engine.execute("SET TimeZone = 'UTC'")
                yield engine
        except duckdb.Error as error:
            raise DestinationError(f"DuckDB cannot merge table `{table}`: {error}") from error


def _add(
    engine: duckdb.DuckDBPyConnection,
    name: str,
    table: Table,
    lake: FilesTable,
    files: Iterable[Iterable[pyarrow.RecordBatch]],
) -> list[int]:
    """Make a relation of the columns that merges look at, with the place of each row; return the rows of each file."""
    names = [name for name in _columns(table) if name in lake.fields.names]
    fields = pyarrow.schema([lake.fields.field(name).with_nullable(True).remove_metadata() for name in names])
    schema = fields.append(pyarrow.field(_FILE, pyarrow.int64())).append(pyarrow.field(_ROW, pyarrow.int64()))
    counts: list[int] = []

    def batches() -> Iterator[pyarrow.RecordBatch]:
        for number, file in enumerate(files):
            counts.append(0)
            for batch in file:
                file_numbers = pyarrow.repeat(pyarrow.scalar(number, pyarrow.int64()), batch.num_rows)
                rows = pyarrow.array(range(counts[-1], counts[-1] + batch.num_rows), pyarrow.int64())
                counts[-1] += batch.num_rows
                columns = in_fields(batch, fields).columns
                yield pyarrow.RecordBatch.from_arrays([*columns, file_numbers, rows], schema=schema)

    engine.register("arriving", pyarrow.RecordBatchReader.from_batches(schema, batches()))
    engine.execute(f"CREATE TEMPORARY TABLE {name} AS SELECT * FROM arriving")
    engine.unregister("arriving")
    return counts


def _columns(table: Table) -> tuple[str, ...]:
    """Return the columns that merges look at, each once."""
    hints = ("primary_key", "merge_key", "row_key", "unique", "root_key", "parent_key")
    marks = ("hard_delete", "dedup_sort", "x-row-version", "x-valid-to")
    return tuple(dict.fromkeys(name for hint in (*hints, *marks) for name in named(table, hint)))


def _masks(engine: duckdb.DuckDBPyConnection, query: str | None, counts: Sequence[int]) -> list[pyarrow.BooleanArray]:
    """Return for each file which of its rows a query selects."""
    masks = [numpy.zeros(count, dtype=bool) for count in counts]
    if query:
        selected = engine.execute(query).fetchnumpy()
        for number in numpy.unique(selected[_FILE]):
            masks[number][selected[_ROW][selected[_FILE] == number]] = True
    return [pyarrow.array(mask) for mask in masks]
