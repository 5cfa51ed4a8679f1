"""Says types in Iceberg's words, and reads structs, lists and maps of a data file as they are.

PyIceberg (0.12) reads a list of structs or a map that is null as one that is empty; rows that are written anew must
not become others by it. So such columns are read by Arrow, and put beside what PyIceberg reads of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from schemactl.errors import DestinationError
from schemactl.schema.arrow_types import is_nested

if TYPE_CHECKING:
    import pyarrow
    from pyiceberg.schema import Schema
    from pyiceberg.table import FileScanTask, Table
    from pyiceberg.table.name_mapping import MappedField
    from pyiceberg.types import IcebergType

_FIELD_ID: Final = b"PARQUET:field_id"
_COMPACT: Final = "compact the table first: Spark's procedure `rewrite_data_files`"


def nested_columns(fields: pyarrow.Schema, columns: Sequence[str]) -> list[str]:
    """Return those of some columns that are structs, lists or maps."""
    return [name for name in columns if is_nested(fields.field(name).type)]


def with_nested(
    batches: Iterator[pyarrow.RecordBatch], nested: Iterator[pyarrow.RecordBatch], columns: Sequence[str]
) -> Iterator[pyarrow.RecordBatch]:
    """Yield rows with columns of two sources, whose batches may be cut at other places.

    Args:
        batches: of plain columns.
        nested: of the others, the same rows in the same order.
        columns: of both, in their order.
    """
    import pyarrow

    held, start = next(nested, None), 0
    for batch in batches:
        at = 0
        while at < batch.num_rows:
            while held is not None and start == held.num_rows:
                held, start = next(nested, None), 0
            if held is None:
                raise DestinationError("a file of Iceberg has fewer rows of structs than of others")
            count = min(batch.num_rows - at, held.num_rows - start)
            parts = (batch.slice(at, count), held.slice(start, count))
            found = {name: part.column(name) for part in parts for name in part.schema.names}
            yield pyarrow.RecordBatch.from_pydict({name: found[name] for name in columns})
            at, start = at + count, start + count


def iceberg_type(of: pyarrow.DataType) -> IcebergType:
    """Return Iceberg's type of what ``arrow_type`` gives; Iceberg gives fields inside other ids as it takes them."""
    import pyarrow.types as is_a
    from pyiceberg import types

    if is_a.is_struct(of):
        return types.StructType(
            *(
                types.NestedField(at, each.name, iceberg_type(each.type), required=False)
                for at, each in enumerate(of, 1)
            )
        )
    if is_a.is_map(of):
        return types.MapType(1, iceberg_type(of.key_type), 2, iceberg_type(of.item_type), value_required=False)
    if is_nested(of):
        return types.ListType(1, iceberg_type(of.value_type), element_required=False)
    if is_a.is_decimal(of):
        return types.DecimalType(of.precision, of.scale)
    if is_a.is_timestamp(of):
        return types.TimestamptzType() if of.tz else types.TimestampType()
    plain: dict[str, IcebergType] = {
        "string": types.StringType(),
        "double": types.DoubleType(),
        "bool": types.BooleanType(),
        "int32": types.IntegerType(),
        "int64": types.LongType(),
        "binary": types.BinaryType(),
        "date32[day]": types.DateType(),
        "time64[us]": types.TimeType(),
    }
    return plain[str(of)]


def check_new_names(table: Table, fields: Sequence[pyarrow.Field]) -> None:
    """Refuse new fields inside columns under names that files without ids have for former ones.

    Args:
        table: that gets them.
        fields: the columns as they are to be.

    Raises:
        DestinationError: values of a former field would turn up in a new one.
    """
    mapping = {each.field_id: each for each in table.name_mapping() or ()}
    for field in fields:
        held = _found(table.schema(), field.name)
        known = mapping.get(held)
        if known is not None:
            _check_new(table, field, field.name, known.fields)


def _check_new(table: Table, field: pyarrow.Field, place: str, known: Sequence[MappedField]) -> None:
    for own, inner in _inner_fields(field):
        name = own or inner.name
        at = f"{place}.{name}"
        held = _found(table.schema(), at)
        if held is None and any(name in each.names for each in known):
            raise DestinationError(
                f"`{table.name()[-1]}.{at}` is new, and files have values of a former field under its name",
                hint=_COMPACT,
            )
        below = next((each.fields for each in known if each.field_id == held), ())
        if held is not None:
            _check_new(table, inner, at, below)


def read_nested(table: Table, task: FileScanTask, fields: pyarrow.Schema) -> Iterator[pyarrow.RecordBatch]:
    """Yield columns of structs, lists and maps of one file.

    Args:
        table: whose file it is.
        task: the file.
        fields: the columns, with the table's types.

    Raises:
        DestinationError: rows of the file were deleted in other files, or fields were renamed inside a column.
    """
    import pyarrow
    import pyarrow.parquet

    if task.delete_files:
        raise DestinationError(
            f"`{table.name()[-1]}` has structs or lists, and files of deleted rows beside its data",
            hint=_COMPACT,
        )
    path = task.file.file_path
    with table.io.new_input(path).open() as stream, pyarrow.parquet.ParquetFile(stream) as file:
        names = {each.name: _name_in(file.schema_arrow, table, each.name) for each in fields}
        for name, held in names.items():
            if held is not None:
                _check_names(table.schema(), file.schema_arrow.field(held), name, path)
        count = 0
        for batch in file.iter_batches(columns=[name for name in names.values() if name is not None]):
            count += batch.num_rows
            values = [_values(batch, names[each.name], each) for each in fields]
            yield pyarrow.RecordBatch.from_arrays(values, schema=fields)
        if not count:  # none of the columns is in the file
            rows = file.metadata.num_rows
            yield pyarrow.RecordBatch.from_arrays([pyarrow.nulls(rows, each.type) for each in fields], schema=fields)


def _values(batch: pyarrow.RecordBatch, name: str | None, field: pyarrow.Field) -> pyarrow.Array:
    import pyarrow

    return pyarrow.nulls(batch.num_rows, field.type) if name is None else batch.column(name).cast(field.type)


def _name_in(held: pyarrow.Schema, table: Table, column: str) -> str | None:
    """Return what a file calls a column, by Iceberg's ids or by the names that it has had; None where it lacks it."""
    wanted = table.schema().find_field(column).field_id
    if any(_FIELD_ID in (each.metadata or {}) for each in held):
        return next((each.name for each in held if _id_of(each) == wanted), None)
    mapping = table.name_mapping() or table.schema().name_mapping
    known = next((each.names for each in mapping if each.field_id == wanted), ())
    return next((name for name in known if name in held.names), None)


def _id_of(field: pyarrow.Field) -> int | None:
    found = (field.metadata or {}).get(_FIELD_ID)
    return None if found is None else int(found)


def _check_names(schema: Schema, field: pyarrow.Field, place: str, path: str) -> None:
    """Refuse a file whose fields have other names by now: their values would be lost."""
    for number, inner in _inner_fields(field):
        at = f"{place}.{number or inner.name}"
        by_id, by_name = _id_of(inner), _found(schema, at)
        if by_name is None or (by_id is not None and by_id != by_name):
            raise DestinationError(
                f"`{place}` has a field that was renamed or dropped after `{path}` was written",
                hint=_COMPACT,
            )
        _check_names(schema, inner, at, path)


def _inner_fields(field: pyarrow.Field) -> list[tuple[str, pyarrow.Field]]:
    """Return the fields inside a type, with the names that Iceberg has for those without own ones."""
    import pyarrow.types as is_a

    of = field.type
    if is_a.is_struct(of):
        return [("", each) for each in of]
    if is_a.is_map(of):
        return [("key", of.key_field), ("value", of.item_field)]
    return [("element", of.value_field)] if is_nested(of) else []


def _found(schema: Schema, name: str) -> int | None:
    try:
        return int(schema.find_field(name).field_id)
    except ValueError:
        return None
