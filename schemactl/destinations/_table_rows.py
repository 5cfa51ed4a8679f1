"""Reads chosen columns of a table as Arrow batches, alike from every destination: rejects, and keys of loaded rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._bookkeeping import rows_of
from schemactl.destinations._session import Session
from schemactl.destinations._types import is_short_float
from schemactl.normalization.package import Among
from schemactl.schema.quoting import literal, qualify, quote
from schemactl.schema.types import DataType, Table

if TYPE_CHECKING:
    import pyarrow

_BATCH_ROWS: Final = 10_000
_MOST_KEYS: Final = 1_000
"""Values in one condition of SQL."""


def arrow_fields(table: Table) -> pyarrow.Schema:
    """Return a table's columns as batches of its rows have them; all may be null."""
    import pyarrow

    from schemactl.kernel.stored import stored_type

    return pyarrow.schema([pyarrow.field(column.name, stored_type(column)) for column in table.columns.values()])


def batches_of(table: Table, rows: Iterable[Sequence[Any]]) -> Iterator[pyarrow.RecordBatch]:
    """Yield rows, each in the order of a table's columns; timestamps as in ``rows_of``."""
    import pyarrow

    fields = arrow_fields(table)
    all_rows = rows_of(table, rows)
    while batch_rows := list(islice(all_rows, _BATCH_ROWS)):
        yield pyarrow.RecordBatch.from_pylist(batch_rows, schema=fields)


def session_rows(session: Session, dataset: str, table: Table, among: Among | None) -> Iterator[pyarrow.RecordBatch]:
    """Yield the rows of a database's table; columns that it lacks are null. Nothing if there is no such table."""
    fold = session.names.fold
    with session.wrap_errors(f"read table `{table.name}`"):
        relation = session.relations(dataset, fold(table.name)).get(fold(table.name))
        if relation is None or not relation.is_table:
            return
        stored_names = {fold(name): name for name in relation.columns}
        selected = []
        for column in table.columns.values():
            name = stored_names.get(fold(column.name))
            match column.data_type:
                case _ if name is None:
                    selected.append("NULL")
                case DataType.TIMESTAMP:  # as a number: DuckDB needs pytz for timestamps with a time zone
                    selected.append(session.moment_of(quote(name)))
                case DataType.DOUBLE if session.has_short_floats and is_short_float(relation.columns[name]):
                    selected.append(f"{quote(name)} * 1e0")  # drivers read fewer digits than the float has
                case DataType.JSON:
                    selected.append(session.text_of(quote(name)))
                case _:
                    selected.append(quote(name))
        query = f"SELECT {', '.join(selected)} FROM {qualify(dataset, relation.name)}"
        if among is None:
            yield from batches_of(table, session.query(query))
            return
        values = sorted(among.values)
        key = stored_names.get(fold(among.column))
        for start in range(0, len(values) if key is not None else 0, _MOST_KEYS):
            key_list = ", ".join(map(literal, values[start : start + _MOST_KEYS]))
            yield from batches_of(table, session.query(f"{query} WHERE {quote(str(key))} IN ({key_list})"))
