"""Whether a table of a schema can be loaded into what is there under its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemactl.destinations._lake.table import Lake, LakeTable
from schemactl.destinations._lake.types import can_partition, fits, partitions_of
from schemactl.destinations._load import chains_to_check
from schemactl.destinations._structure import Clash, cut, grown, shown
from schemactl.errors import DestinationError, Problem
from schemactl.schema.arrow_types import from_exact_arrow, to_arrow
from schemactl.schema.dispositions import first
from schemactl.schema.nested_types import Leaf, read_type, structure_of
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, Schema, Table

if TYPE_CHECKING:
    import pyarrow


def check_schema(lake: Lake, schema: Schema) -> None:
    """Find out whether the tables of a schema can be loaded.

    Raises:
        DestinationError: as ``check_table``, or rows cannot be merged as the schema says.
    """
    for chain in chains_to_check(schema):
        for table in chain.tables:
            check_table(lake, table, lake.open(table.name))


def check_table(lake: Lake, table: Table, there: LakeTable | None) -> None:
    """Find out whether a table can be loaded into what is there.

    Raises:
        DestinationError: what is there is not ours, or has columns of other types; names that are one there.
    """
    for one, other in lake.names.clashes(table.columns):
        raise DestinationError(f"columns `{one}` and `{other}` of `{table.name}` are one in `{lake.origin}`")
    if there is None:
        for name in partitions_of(table):
            kind = lake.kind_of(table.columns[name])
            if not can_partition(kind):
                raise DestinationError(
                    f"`{table.name}.{name}` is hinted `partition`, which a column of type {_said(kind)} cannot be",
                    hint="partition by a text, bigint, bool, date or timestamp column",
                )
        return
    row_key = first(table, "row_key") or first(table, "x-row-version") or first(table, "unique")
    if row_key and row_key not in there.fields.names:
        raise DestinationError(
            f"table `{table.name}` of `{lake.origin}` was not made by dlt or schemactl: it has no column `{row_key}`",
            hint="load into another dataset: `?dataset=NAME`",
        )
    if there.blocker:
        raise DestinationError(f"table `{table.name}` of `{lake.origin}` {there.blocker}")
    columns = [column for column in table.columns.values() if column.is_complete and column.name in there.kinds]
    found = tuple(Problem(described) for each in columns if (described := _type_blocker(lake, each, there)))
    if found:
        raise DestinationError(
            f"rows of `{table.name}` do not fit into the table in `{lake.origin}`",
            problems=found,
            hint="evolve the schema with `schemactl infer`, then the table with `schemactl migrate`; or load elsewhere",
        )


def _type_blocker(lake: Lake, column: Column, there: LakeTable) -> str | None:
    """Return in words why values of a column do not go into the one that is there, None where they do."""
    held = from_exact_arrow(there.fields.field(column.name).type)
    ours = structure_of(column)
    if ours is not None and held is not None and not isinstance(held, Leaf):
        found = grown_field(lake, column, there)
        return found.describe(column.name) if isinstance(found, Clash) else None
    if fits(lake.kind_of(column), there.kinds[column.name]):
        return None
    kind = shown(ours) if ours is not None else column.data_type
    return f"column `{column.name}` is {_said(there.kinds[column.name])} there, and {kind} in the schema"


def grown_field(lake: Lake, column: Column, there: LakeTable) -> pyarrow.Field | Clash | None:
    """Return what a column there has to become to take a load's structs or lists; None where it does so as it is."""
    import pyarrow

    held = there.fields.field(column.name)
    old, ours = from_exact_arrow(held.type), read_type(lake.kind_of(column)[DATABASE_TYPE])
    if old is None or isinstance(old, Leaf):
        return None
    new = grown(old, ours, lake.widens)
    if isinstance(new, Clash):
        return new
    return None if new == old else pyarrow.field(column.name, to_arrow(new), held.nullable)


def _said(kind: object) -> str:
    stated = dict(kind)  # type: ignore[call-overload]
    zone = " without zone" if stated.get("timezone") is False else ""
    return f"{stated.get('data_type') or cut(str(stated.get('x-database-type')))}{zone}"
