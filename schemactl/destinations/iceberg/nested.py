"""Says types in Iceberg's words, and finds columns, and fields inside them, in files that may call them otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from schemactl.errors import DestinationError
from schemactl.schema.arrow_types import is_nested

if TYPE_CHECKING:
    import pyarrow
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table
    from pyiceberg.table.name_mapping import MappedField
    from pyiceberg.types import IcebergType

_FIELD_ID: Final = b"PARQUET:field_id"
COMPACT: Final = "compact the table first: Spark's procedure `rewrite_data_files`"


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
    """Refuse new fields inside columns of a table under names that files without ids have for former ones.

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
                hint=COMPACT,
            )
        below = next((each.fields for each in known if each.field_id == held), ())
        if held is not None:
            _check_new(table, inner, at, below)


def names_in(held: pyarrow.Schema, table: Table, columns: Sequence[str], path: str) -> dict[str, str | None]:
    """Return what the file at ``path``, with the columns ``held``, calls columns of a table; None where it lacks one.

    It goes by Iceberg's ids, or by the names that columns have had.

    Raises:
        DestinationError: fields were renamed or dropped inside a column: their values would be lost.
    """
    schema = table.schema()
    has_ids = any(_FIELD_ID in (each.metadata or {}) for each in held)
    mapping = {each.field_id: each.names for each in table.name_mapping() or schema.name_mapping}
    found: dict[str, str | None] = {}
    for column in columns:
        wanted = schema.find_field(column).field_id
        if has_ids:
            found[column] = next((each.name for each in held if _id_of(each) == wanted), None)
        else:
            found[column] = next((name for name in mapping.get(wanted, ()) if name in held.names), None)
        if (name := found[column]) is not None:
            _check_names(schema, held.field(name), column, path)
    return found


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
                hint=COMPACT,
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
