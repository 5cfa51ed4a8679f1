"""ORC files, which state the types of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.orc
import pyarrow.types as is_a

from schemactl.engine.input import Input
from schemactl.engine.local.batches import LocalRows
from schemactl.engine.local.columns import map_leaves, unsupported_type
from schemactl.engine.local.input_formats._rows import FileContents, open_files, read_rows
from schemactl.engine.local.row_files import Container
from schemactl.kernel.opening import random_access


def read(inputs: Sequence[Input], _cores: int) -> Iterator[LocalRows]:
    """Yield the rows of all files together (``_rows.read_rows``)."""
    yield from read_rows(open_files(inputs, _look_at))


def _look_at(path: str) -> FileContents:
    opened = pyarrow.orc.ORCFile(random_access(path))
    schema = pa.schema([pa.field(field.name, map_leaves(field, _spark_type)) for field in opened.schema])
    return FileContents(Container.ORC, schema, {0: opened.nrows})


def _spark_type(field: pa.Field) -> pa.DataType:
    """Return the type that Spark gives a column, which it may have written as integers.

    Spark reads both kinds of ORC's timestamps as moments in UTC, of microseconds.
    """
    spark_type = (field.metadata or {}).get(b"spark.sql.catalyst.type", b"").decode()
    if is_a.is_integer(field.type) and spark_type.startswith(("interval", "time(")):
        raise unsupported_type(field.name, spark_type)
    if is_a.is_integer(field.type) and spark_type == "timestamp_ntz":
        return pa.timestamp("us")
    return pa.timestamp("us", "UTC") if is_a.is_timestamp(field.type) else field.type
