"""Schemas in Python: build, read, compare, write and save them by the functions that the commands use.

    from schemactl.builder import build, save

    shop = build("shop").table("orders", write_disposition="merge").column("id", "bigint", primary_key=True)
    save(shop.schema())

Values are immutable; each step returns a new one. Nothing here starts Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from schemactl.errors import InputError, Problem, nearest_or_all
from schemactl.flows.import_ import Imported, import_schema, read_source
from schemactl.flows.references import find_schema
from schemactl.flows.schemas import with_lineage
from schemactl.formats import FORMATS
from schemactl.formats._folding import fold
from schemactl.schema.changes import Change
from schemactl.schema.diff import diff as diff_schemas
from schemactl.schema.hash import bump
from schemactl.schema.naming import naming_of
from schemactl.schema.settings import DEFAULT_NAMING
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table
from schemactl.schema.validation import check
from schemactl.store.folder import SchemasFolder

__all__ = ["SchemaBuilder", "build", "diff", "edit", "read", "save", "write"]

DataTypeName = Literal[
    "text", "double", "bool", "timestamp", "bigint", "binary", "json", "decimal", "wei", "date", "time"
]
WriteDisposition = Literal["append", "replace", "merge", "skip"]


@dataclass(frozen=True, slots=True)
class SchemaBuilder:
    """A schema that is being built; ``build`` and ``edit`` make one.

    Names become those of the schema's naming convention, as they do where data is loaded.
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
        """Add a table, or go on with one that is there; ``column`` adds to it from here on.

        Args:
            name: of the table.
            parent: the table that it is nested in.
            write_disposition: of a new root table by default ``append``.
            description: what it holds.
            hints: as a schema file states them; ``x_owner`` stands for ``x-owner``.
        """
        naming = naming_of(self._schema)
        own = naming.normalize_tables_path(name)
        known = self._schema.tables.get(own) or Table(own)
        start = {"write_disposition": "append", "resource": own} if parent is None and not known.properties else {}
        stated = {
            "parent": None if parent is None else naming.normalize_tables_path(parent),
            "write_disposition": write_disposition,
            "description": description,
            **hints,
        }
        table = replace(known, properties={**start, **known.properties, **_stated(stated)})
        return SchemaBuilder(self._schema.with_table(table), own)

    def column(  # noqa: PLR0913 - what most columns state
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
        """Add a column to the table, or state more of one that is there.

        Args:
            name: of the column; a path (``ship__city``) stays one.
            data_type: one of dlt's; without it the column waits for data.
            precision: digits, characters, bytes or bits, as the type has it.
            scale: digits after the point.
            nullable: by default as for a column without a statement: true, but for primary keys.
            primary_key: whether rows are found by it.
            description: what it holds.
            hints: as a schema file states them; ``x_pattern`` stands for ``x-pattern``.

        Raises:
            InputError: no table was begun.
        """
        if self._table is None:
            raise InputError(f"the column `{name}` has no table", hint="`.table(NAME)` comes before `.column(...)`")
        table = self._schema.tables[self._table]
        own = naming_of(self._schema).normalize_path(name)
        known = table.columns.get(own) or Column(own)
        is_new_key = primary_key and "nullable" not in known.properties
        stated = {
            "data_type": data_type,
            "precision": precision,
            "scale": scale,
            "nullable": False if is_new_key and nullable is None else nullable,
            "primary_key": primary_key,
            "description": description,
            **hints,
        }
        column = replace(known, properties={**known.properties, **_stated(stated)})
        return self._with(replace(table, columns={**table.columns, own: column}))

    def reference(self, columns: Sequence[str] | str, table: str, referenced: Sequence[str] | str) -> SchemaBuilder:
        """State that columns of the table name rows of another one.

        Raises:
            InputError: no table was begun.
        """
        if self._table is None:
            raise InputError(f"the reference to `{table}` has no table", hint="`.table(NAME)` comes before it")
        naming = naming_of(self._schema)
        ours, theirs = (
            [naming.normalize_path(each) for each in ([names] if isinstance(names, str) else names)]
            for names in (columns, referenced)
        )
        own = self._schema.tables[self._table]
        new = {"columns": ours, "referenced_table": naming.normalize_tables_path(table), "referenced_columns": theirs}
        references = [*(own.properties.get("references") or ()), new]
        return self._with(replace(own, properties={**own.properties, "references": references}))

    def settings(self, **settings: Any) -> SchemaBuilder:
        """State settings of the schema: ``schema_contract="freeze"``, ``preferred_types={...}``."""
        schema = replace(self._schema, settings={**self._schema.settings, **settings})
        return replace(self, _schema=schema)

    def schema(self) -> Schema:
        """Return the schema, with its hash.

        Raises:
            InputError: it states what no schema can; with all problems.
        """
        if findings := check(self._schema.to_dict()):
            problems = tuple(Problem(each.message, hint=each.hint) for each in findings)
            raise InputError(f"`{self._schema.name}` states what no schema can", problems=problems)
        return bump(self._schema)

    def _with(self, table: Table) -> SchemaBuilder:
        return replace(self, _schema=self._schema.with_table(table))


def _stated(properties: dict[str, Any]) -> dict[str, Any]:
    """Return properties that are stated, with hyphens where Python takes none."""
    found = {key: value for key, value in properties.items() if value is not None}
    return {f"x-{key[2:].replace('_', '-')}" if key.startswith("x_") else key: value for key, value in found.items()}


def build(name: str, *, naming: str = DEFAULT_NAMING, description: str | None = None) -> SchemaBuilder:
    """Begin a new schema.

    Raises:
        InputError: it is no name for a schema, or there is no such naming convention.
    """
    return SchemaBuilder(replace(new_schema(name, naming), description=description))


def edit(schema: Schema) -> SchemaBuilder:
    """Go on with a schema that is there."""
    return SchemaBuilder(schema)


def read(source: str | Path, format: str | None = None, *, schemas: str | Path = "schemas") -> Schema:
    """Return a schema: of a file of any format, a destination's address, or a REF (``shop``, ``git:main:...``).

    Args:
        source: what to read.
        format: of a file; None to find it out as ``schemactl import`` does.
        schemas: the folder that names are looked up in.

    Raises:
        InputError: there is no such schema, or it cannot be read.
        DestinationError: the destination cannot be read.
    """
    if format is None and not Path(source).is_file():
        return find_schema(str(source), SchemasFolder.at(Path(schemas))).schema
    ((_, document),) = read_source(source, format, Path(schemas))
    return document.schema


def diff(base: Schema, head: Schema) -> tuple[Change, ...]:
    """Return what makes ``head`` of ``base``, names, versions and hashes apart."""
    return diff_schemas(base, with_lineage(replace(head, name=base.name), base))


def write(schema: Schema, format: str = "dlt", *, nested: bool = False) -> str | bytes:
    """Return a schema in a format.

    Args:
        schema: the schema.
        format: as in ``schemactl export --to``.
        nested: whether nested tables are folded back into documents.

    Raises:
        InputError: there is no such format, or it cannot hold the schema.
    """
    if format not in FORMATS:
        raise InputError(f"there is no format `{format}`", hint=nearest_or_all(format, FORMATS))
    return FORMATS[format].write(fold(schema) if nested else schema)


def save(schema: Schema, schemas: str | Path = "schemas", *, merge: bool = False, dry_run: bool = False) -> Imported:
    """Make a schema the content of the one of its name in a schemas folder, as ``schemactl import`` does.

    What the stored schema's contract forbids is in ``violations`` of what is returned; nothing is written then.

    Args:
        schema: the schema.
        schemas: the folder of ``import/`` and ``export/``.
        merge: whether tables and columns that the schema has not stay.
        dry_run: whether nothing is written.

    Raises:
        InputError: the folder cannot be read or written.
    """
    return import_schema(schema, Path(schemas), is_check=dry_run, is_merged=merge)
