"""Builds schemas in Python, step by step: ``build("shop").table("orders").column("id", "bigint").schema()``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from schemactl.errors import InputError, Problem
from schemactl.schema.hash import bump
from schemactl.schema.naming import naming_of
from schemactl.schema.settings import DEFAULT_NAMING
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table
from schemactl.schema.validation import check

DataTypeName = Literal[
    "text", "double", "bool", "timestamp", "bigint", "binary", "json", "decimal", "wei", "date", "time"
]
WriteDisposition = Literal["append", "replace", "merge", "skip"]


@dataclass(frozen=True, slots=True)
class SchemaBuilder:
    """A schema under construction; ``build`` and ``edit`` create it.

    Names are normalized by the schema's naming convention, as when data is loaded.
    """

    _schema: Schema
    _table: str | None = None

    def table(
        self,
        name: str,
        *,
        parent: str | None = None,
        write_disposition: WriteDisposition | None = None,
        description: str | None = None,
        **hints: Any,
    ) -> SchemaBuilder:
        """Add a table, or continue an existing one; ``column`` then adds to it.

        Args:
            name: the table's name.
            parent: the table that it is nested in.
            write_disposition: the write disposition; ``append`` by default for a new root table.
            description: a sentence for people.
            hints: as in a schema file; ``x_owner`` is ``x-owner``.
        """
        naming = naming_of(self._schema)
        table_name = naming.normalize_tables_path(name)
        existing = self._schema.tables.get(table_name) or Table(table_name)
        is_new_root = parent is None and not existing.properties
        defaults = {"write_disposition": "append", "resource": table_name} if is_new_root else {}
        properties = {
            "parent": None if parent is None else naming.normalize_tables_path(parent),
            "write_disposition": write_disposition,
            "description": description,
            **hints,
        }
        table = replace(existing, properties={**defaults, **existing.properties, **_hints(properties)})
        return SchemaBuilder(self._schema.with_table(table), table_name)

    def column(
        self,
        name: str,
        data_type: DataTypeName | None = None,
        precision: int | None = None,
        scale: int | None = None,
        *,
        nullable: bool | None = None,
        primary_key: bool | None = None,
        description: str | None = None,
        **hints: Any,
    ) -> SchemaBuilder:
        """Add a column to the table, or set more properties of an existing one.

        Args:
            name: the column's name; the parts of a path (``ship__city``) stay apart.
            data_type: a dlt data type; without it, data decides the type.
            precision: digits, characters, bytes or bits, as the type has it.
            scale: digits after the point.
            nullable: True by default, False for primary keys.
            primary_key: whether the column is part of the primary key.
            description: a sentence for people.
            hints: as in a schema file; ``x_pattern`` is ``x-pattern``.

        Raises:
            InputError: `table` was not called before.
        """
        if self._table is None:
            raise InputError(f"the column `{name}` has no table", hint="call `.table(NAME)` before `.column(...)`")
        table = self._schema.tables[self._table]
        column_name = naming_of(self._schema).normalize_path(name)
        existing_column = table.columns.get(column_name) or Column(column_name)
        is_new_key = primary_key and "nullable" not in existing_column.properties
        given_properties = {
            "data_type": data_type,
            "precision": precision,
            "scale": scale,
            "nullable": False if is_new_key and nullable is None else nullable,
            "primary_key": primary_key,
            "description": description,
            **hints,
        }
        column = existing_column.with_properties(_hints(given_properties))
        return self._with(replace(table, columns={**table.columns, column_name: column}))

    def reference(self, columns: Sequence[str] | str, table: str, referenced: Sequence[str] | str) -> SchemaBuilder:
        """Declare that columns of the table refer to rows of another table.

        Raises:
            InputError: no table was begun.
        """
        if self._table is None:
            raise InputError(f"the reference to `{table}` has no table", hint="call `.table(NAME)` first")
        naming = naming_of(self._schema)
        column_names, referenced_names = (
            [naming.normalize_path(name) for name in ([names] if isinstance(names, str) else names)]
            for names in (columns, referenced)
        )
        owner, target = self._schema.tables[self._table], naming.normalize_tables_path(table)
        reference = {"columns": column_names, "referenced_table": target, "referenced_columns": referenced_names}
        references = [*(owner.properties.get("references") or ()), reference]
        return self._with(replace(owner, properties={**owner.properties, "references": references}))

    def settings(self, **settings: Any) -> SchemaBuilder:
        """State settings of the schema: ``schema_contract="freeze"``, ``preferred_types={...}``."""
        return replace(self, _schema=replace(self._schema, settings={**self._schema.settings, **settings}))

    def schema(self) -> Schema:
        """Return the schema, with its hash.

        Raises:
            InputError: the schema is invalid; with all problems.
        """
        if findings := check(self._schema.to_dict()):
            problems = tuple(Problem(finding.message, hint=finding.hint) for finding in findings)
            raise InputError(f"`{self._schema.name}` is not a valid schema", problems=problems)
        return bump(self._schema)

    def _with(self, table: Table) -> SchemaBuilder:
        return replace(self, _schema=self._schema.with_table(table))


def _hints(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the properties that are not None, with hyphens in the names of ``x-`` hints."""
    values = {key: value for key, value in properties.items() if value is not None}
    return {f"x-{key[2:].replace('_', '-')}" if key.startswith("x_") else key: value for key, value in values.items()}


def build(name: str, *, naming: str = DEFAULT_NAMING, description: str | None = None) -> SchemaBuilder:
    """Begin a new schema.

    Raises:
        InputError: it is not a name for a schema, or there is no such naming convention.
    """
    return SchemaBuilder(replace(new_schema(name, naming), description=description))


def edit(schema: Schema) -> SchemaBuilder:
    """Return a builder that starts from an existing schema."""
    return SchemaBuilder(schema)
