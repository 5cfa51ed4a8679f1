"""Writes all rows of an Iceberg table anew: its columns and its files change in one commit."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain, count
from typing import TYPE_CHECKING, Final

from schemactl.destinations._lake.files import GROUP_ROWS, grouped, split_by_partition
from schemactl.destinations._lake.table import in_fields
from schemactl.destinations.iceberg.address import wrap_errors
from schemactl.destinations.iceberg.lake import IcebergLake
from schemactl.destinations.iceberg.nested import iceberg_type
from schemactl.destinations.iceberg.table import (
    IcebergLakeTable,
    described,
    exchange_files,
    fields_of,
    partitions_of_spec,
)
from schemactl.errors import DestinationError

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet
    from pyiceberg.table import Transaction
    from pyiceberg.table.metadata import TableMetadata

FILE_BYTES: Final = 128 * 2**20
"""How long a file becomes before the next one begins; pyiceberg reads a file into memory as a whole."""

AGAIN: Final = "run it again"
"""What to do where another program wrote at the same time."""

_MARK: Final = "schemactl.rewriting"
_RETRIES: Final = "commit.retry.num-retries"


def rewrite_table(
    lake: IcebergLake, table: IcebergLakeTable, fields: pyarrow.Schema, batches: Iterator[pyarrow.RecordBatch]
) -> None:
    """Put rows in the place of all rows of a table, and columns in the place of its columns, in one commit.

    Columns whose type changes, and new ones, are new columns for Iceberg, with ids of their own. Where there is a later
    commit than that which the rows were read of, it fails.

    Raises:
        DestinationError: it failed, and the table is as it was.
    """
    attempt = uuid.uuid4().hex
    _mark(lake, {_MARK: f"{attempt} {table.name}"})
    held = table.table
    # Tried again, the commit would leave alone what others have appended meanwhile, in columns that are gone.
    held.metadata.properties[_RETRIES] = "0"
    try:
        removed = table.files()
        with wrap_errors(f"rewrite `{table.name}`", AGAIN), held.transaction() as transaction:
            _restructure(transaction, table, fields)
            metadata = transaction.table_metadata
            new = [described(held.io, metadata, path) for path in _write(table, metadata, batches, attempt)]
            if new or removed:
                exchange_files(transaction.update_snapshot(), removed, new)
    except BaseException:
        with suppress(DestinationError):  # what failed first is reported; the next session ends it
            end_rewriting(lake)
        raise
    _mark(lake, {})


def end_rewriting(lake: IcebergLake) -> None:
    """Remove the files of a rewrite that a killed process has begun and not committed."""
    with wrap_errors(f"read `{lake.origin}`"):
        if not lake.catalog.namespace_exists(lake.namespace):
            return
        stated = lake.catalog.load_namespace_properties(lake.namespace).get(_MARK)
    if stated is None:
        return
    attempt, _, name = stated.partition(" ")
    table = lake.open(name)
    if table is not None and not any(attempt in file.path for file in table.files()):
        table.discard_files(attempt)
    _mark(lake, {})


def _mark(lake: IcebergLake, stated: Mapping[str, str]) -> None:
    with wrap_errors(f"write to `{lake.origin}`", AGAIN):
        removed = {_MARK} - set(stated)
        lake.catalog.update_namespace_properties(lake.namespace, removed, dict(stated))


def _restructure(transaction: Transaction, table: IcebergLakeTable, fields: pyarrow.Schema) -> None:
    """Bring the columns of a table to ``fields``; each keeps its place."""
    there = {each.name: each for each in table.fields}
    changed = [each for each in fields if each.name in there and each.type != there[each.name].type]
    gone = [name for name in there if name not in fields.names]
    docs = {each.name: each.doc for each in table.table.schema().fields}
    taken = {*there, *fields.names}
    former = {
        each.name: next(name for at in count() if (name := f"{each.name}__gone_{at}") not in taken) for each in changed
    }
    with transaction.update_schema(allow_incompatible_changes=True) as update:
        for before, after in former.items():
            update.rename_column((before,), after)
    with transaction.update_schema(allow_incompatible_changes=True) as update:
        for each in fields:
            if each.name not in there or each.name in former:
                update.add_column(
                    (each.name,), iceberg_type(each.type), docs.get(each.name), required=not each.nullable
                )
            elif each.nullable != there[each.name].nullable:
                update.update_column((each.name,), required=not each.nullable)
            if each.name in former:
                update.move_after((each.name,), (former[each.name],))
    with transaction.update_schema(allow_incompatible_changes=True) as update:
        for name in (*gone, *former.values()):
            update.delete_column((name,))


def _write(
    table: IcebergLakeTable, metadata: TableMetadata, batches: Iterator[pyarrow.RecordBatch], attempt: str
) -> Iterator[str]:
    """Yield new files of the rows; none is longer than ``FILE_BYTES`` and one group of rows."""
    import pyarrow.parquet

    fields, partitions = fields_of(metadata), partitions_of_spec(metadata)
    wanted = (in_fields(batch, fields) for batch in batches if batch.num_rows)
    groups = split_by_partition(wanted, partitions) if partitions else grouped(wanted, GROUP_ROWS)
    for number, first in enumerate(groups):
        path = table.new_file(f"{attempt}-{number:05}.parquet")
        with table.write(path) as out, pyarrow.parquet.ParquetWriter(out, fields, compression="zstd") as writer:
            for group in (first,) if partitions else chain((first,), groups):
                writer.write_table(group)
                if out.tell() >= FILE_BYTES:
                    break
        yield path
