"""Whether a table of a schema can be loaded into what is there under its name."""

from __future__ import annotations

from schemactl.destinations._chains import chains_of, first_hinted, merge_problem
from schemactl.destinations._lake.table import Lake, LakeTable
from schemactl.destinations._lake.types import fits
from schemactl.errors import DestinationError, Problem
from schemactl.schema.types import Schema, Table


def check_schema(lake: Lake, schema: Schema) -> None:
    """Find out whether the tables of a schema can be loaded.

    Raises:
        DestinationError: as ``check_table``, or rows cannot be merged as the schema says.
    """
    for chain in chains_of(schema):
        if problem := merge_problem(chain):
            raise problem
        for table in chain.tables:
            check_table(lake, table, lake.open(table.name))


def check_table(lake: Lake, table: Table, there: LakeTable | None) -> None:
    """Find out whether a table can be loaded into what is there.

    Raises:
        DestinationError: what is there is not ours, or has columns of other types; names that are one there.
    """
    _check_names(lake, table)
    if there is None:
        return
    row_key = first_hinted(table, "row_key", "x-row-version", "unique")
    if row_key and row_key not in there.fields.names:
        raise DestinationError(
            f"table `{table.name}` of `{lake.origin}` was not made by dlt or schemactl: it has no column `{row_key}`",
            hint="load into another dataset: `?dataset=NAME`",
        )
    if there.obstacle:
        raise DestinationError(f"table `{table.name}` of `{lake.origin}` {there.obstacle}")
    columns = [column for column in table.columns.values() if column.is_complete and column.name in there.kinds]
    others = [each for each in columns if not fits(lake.kind_of(each), there.kinds[each.name])]
    if others:
        found = tuple(
            Problem(
                f"column `{each.name}` is {_said(there.kinds[each.name])} there, and {each.data_type} in the schema"
            )
            for each in others
        )
        raise DestinationError(
            f"rows of `{table.name}` do not fit into the table in `{lake.origin}`",
            problems=found,
            hint="change the schema's column, or load into a new dataset",
        )


def _check_names(lake: Lake, table: Table) -> None:
    if lake.is_case_sensitive:
        return
    seen: dict[str, str] = {}
    for name in table.columns:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise DestinationError(f"columns `{other}` and `{name}` of `{table.name}` are one in `{lake.origin}`")


def _said(kind: object) -> str:
    stated = dict(kind)  # type: ignore[call-overload]
    zone = " without zone" if stated.get("timezone") is False else ""
    return f"{stated.get('data_type') or stated.get('x-database-type')}{zone}"
