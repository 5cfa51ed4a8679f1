"""What Iceberg does with columns by its catalog alone, and what it can do so."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from schemactl.destinations._lake.structure import is_nested
from schemactl.destinations._lake.types import arrow_type
from schemactl.destinations._migration.records import Hindrance
from schemactl.destinations.iceberg.catalogue import new_kind
from schemactl.destinations.iceberg.nested import nested_type
from schemactl.destinations.iceberg.table import IcebergLakeTable
from schemactl.errors import DestinationError
from schemactl.migration.abilities import Way
from schemactl.migration.steps import AddColumn, ChangeType, DropColumn, DropNotNull, RenameColumn, SetNotNull, Step
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, Properties

if TYPE_CHECKING:
    import pyarrow
    from pyiceberg.table.update.schema import UpdateSchema
    from pyiceberg.types import IcebergType

Edit = Callable[["UpdateSchema"], object]


def way_of_retype(before: Column, after: Column) -> Way:
    """Return how a column gets another type: Iceberg itself only widens integers and decimals (its specification)."""
    if DATABASE_TYPE in before.properties or DATABASE_TYPE in after.properties:
        return Way.REWRITE
    there, wanted = new_kind(before), new_kind(after)
    return Way.IN_PLACE if there == wanted or _is_wider(there, wanted) else Way.REWRITE


def _is_wider(before: Properties, after: Properties) -> bool:
    match before["data_type"], after["data_type"]:
        case "bigint", "bigint":
            return bool(before.get("precision") == 32)
        case "decimal", "decimal":
            return bool(before.get("scale") == after.get("scale") and before["precision"] < after["precision"])
        case _:
            return False


def edit_of(step: Step, table: IcebergLakeTable) -> Edit:
    """Return what changes a table's columns.

    Raises:
        DestinationError: Iceberg does not do it in place, or has no such type.
    """
    match step:
        case AddColumn():
            new = iceberg_type(field_of(step.column).type)
            return lambda update: update.add_column((step.column.name,), new, required=not step.column.nullable)
        case DropColumn():
            return lambda update: update.delete_column((step.column.name,))
        case RenameColumn():
            return lambda update: update.rename_column((step.before,), step.after)
        case ChangeType():
            kind = iceberg_type(field_of(step.after).type)
            return lambda update: update.update_column((step.before.name,), kind)
        case SetNotNull() | DropNotNull():
            is_required = isinstance(step, SetNotNull)
            return lambda update: update.update_column((step.column.name,), required=is_required)
        case _:
            raise DestinationError(f"`{table.name}`: {type(step).__name__} is nothing that Iceberg does in place")


def hindrance(table: IcebergLakeTable, step: Step, way: Way) -> Hindrance | None:
    """Return why a table does not take a step about a column, by the way that Iceberg takes it."""
    if way is Way.REWRITE and not table.table.spec().is_unpartitioned():
        message = f"`{table.name}` is partitioned, and only tables without partitions are rewritten"
        hint = "what only changes the catalog can be done: adding, renaming and dropping columns, widening numbers"
        return Hindrance(message, hint)
    match step:
        case DropColumn():
            return _use_of(table, step.column.name)
        case ChangeType() if way is Way.REWRITE:  # by a new column in the place of the old one
            return _use_of(table, step.before.name)
        case _:
            return None


def _use_of(table: IcebergLakeTable, name: str) -> Hindrance | None:
    """Return what keeps a column where it is: partitions, the order of rows or the key of the table."""
    held = table.table
    field = next((each for each in held.schema().fields if each.name == name), None)
    if field is None:
        return None
    parts = {each.source_id for spec in held.specs().values() for each in spec.fields}
    order = {each.source_id for each in held.sort_order().fields}
    used = {"partitions": parts, "order of rows": order, "identifier fields": set(held.schema().identifier_field_ids)}
    what = next((each for each, ids in used.items() if field.field_id in ids), None)
    message = f"column `{name}` of `{table.name}` stays as it is: the table's {what} need it"
    return None if what is None else Hindrance(message)


def field_of(column: Column) -> pyarrow.Field:
    """Return a new column as new files hold it.

    Raises:
        DestinationError: its type is one that dlt has none for.
    """
    import pyarrow

    if DATABASE_TYPE in column.properties:
        kind = column.properties[DATABASE_TYPE]
        raise DestinationError(f"column `{column.name}` is of type `{kind}`, which only Iceberg's own tools make")
    return pyarrow.field(column.name, arrow_type(new_kind(column)), column.nullable)


def iceberg_type(of: pyarrow.DataType) -> IcebergType:
    """Return Iceberg's type of what ``arrow_type`` gives."""
    import pyarrow.types as is_a
    from pyiceberg import types

    if is_nested(of):
        return nested_type(of, iceberg_type)
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
