"""Change the columns of a modeled table; a change that does not fit the table raises ``StepDoesNotFit``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from schemactl.errors import SchemactlError
from schemactl.schema.types import Column, Properties

Columns = Mapping[str, Column]


class StepDoesNotFit(SchemactlError):
    """A step does not fit its table: a table or column that it needs is missing, or its new name is taken."""


def find_column(columns: Columns, name: str) -> Column:
    """Return a column.

    Raises:
        StepDoesNotFit: the table does not have it.
    """
    if name not in columns:
        raise StepDoesNotFit(f"there is no column `{name}`")
    return columns[name]


def refuse_taken(columns: Columns, name: str) -> None:
    """Refuse a new name that a column already has."""
    if name in columns:
        raise StepDoesNotFit(f"column `{name}` already exists")


def replace_columns(columns: Columns, replacements: Columns) -> Columns:
    """Return the columns with replacements, by old name, in the same positions and under their new names."""
    new_columns = (replacements.get(name, column) for name, column in columns.items())
    return {column.name: column for column in new_columns}


def with_property(column: Column, name: str, value: bool | None) -> Column:
    """Return the column with a property; None removes it."""
    properties = {key: column.properties[key] for key in column.properties if key != name}
    return Column(column.name, properties if value is None else {**properties, name: value})


def set_property(columns: Columns, changed: Iterable[str], name: str, value: bool | None) -> Columns:
    """Return the columns, some of them with a property; None removes it."""
    return {**columns, **{column: with_property(find_column(columns, column), name, value) for column in changed}}


def with_description(properties: Properties, text: str | None) -> Properties:
    """Return the properties of a table or a column with another description; None removes it."""
    other_properties = {name: value for name, value in properties.items() if name != "description"}
    return other_properties if text is None else {**other_properties, "description": text}


def set_description(column: Column, text: str | None) -> Column:
    """Return the column with another description; None removes it."""
    return replace(column, properties=with_description(column.properties, text))


def key_columns(columns: Columns) -> tuple[str, ...]:
    """Return the names of the columns of the primary key."""
    return tuple(name for name, column in columns.items() if column.properties.get("primary_key"))
