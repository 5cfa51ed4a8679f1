"""Names of a schema as a destination has them: spelled in one way, neither cut nor taken for one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from schemactl.errors import InputError, Problem
from schemactl.schema.structure import NameLimits
from schemactl.schema.types import Schema


def spelled_as(catalogue: Schema, schema: Schema, limits: NameLimits) -> Schema:
    """Return the catalog with the schema's spelling of names that differ in case alone, where the two are one name."""
    if limits.is_case_sensitive:
        return catalogue
    spelling = {name.lower(): name for name in schema.tables}
    tables = {}
    for table in catalogue.tables.values():
        name = spelling.get(table.name.lower(), table.name)
        own = schema.tables[name].columns if name in schema.tables else {}
        if name == table.name and own.keys() >= table.columns.keys():
            tables[name] = table
            continue
        of_columns = {column.lower(): column for column in own}
        columns = {
            found: replace(column, name=found)
            for column in table.columns.values()
            for found in (of_columns.get(column.name.lower(), column.name),)
        }
        tables[name] = replace(table, name=name, columns=columns)
    return replace(catalogue, tables=tables)


def check_names(schema: Schema, limits: NameLimits) -> None:
    """Refuse names that a destination cuts, or takes for one.

    Raises:
        InputError: two names of the schema are one in the destination, or a name is longer than it allows.
    """
    problems: list[Problem] = []
    for names, place in _namespaces(schema):
        long = filter(limits.is_too_long, names)
        problems += (Problem(f"{place}`{name}` is longer than {limits.max_bytes} bytes") for name in long)
        problems += (Problem(f"{place}`{one}` and `{other}` are one name") for one, other in limits.clashes(names))
    if problems:
        hint = "`schemactl infer SOURCE... --to DEST` makes names that fit; or choose a naming convention of one case"
        raise InputError("the destination cannot hold the schema's names", problems=tuple(problems), hint=hint)


def _namespaces(schema: Schema) -> Iterator[tuple[list[str], str]]:
    made = [table for table in schema.tables.values() if not table.is_new]
    yield [table.name for table in made], ""
    for table in made:
        yield [column.name for column in table.columns.values() if column.is_complete], f"`{table.name}`: "
