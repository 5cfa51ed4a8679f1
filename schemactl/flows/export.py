"""``schemactl export``: a schema as the text of a format."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from schemactl.errors import InputError, Problem, backquoted, nearest_or_all
from schemactl.flows.references import find_schemas
from schemactl.formats import FORMATS, Format, Loss, find_losses, holds_one_table, in_dialect, shows_readers
from schemactl.formats._folding import fold
from schemactl.formats._losses import describe_loss
from schemactl.formats._tables import data_tables
from schemactl.schema.hash import bump
from schemactl.schema.hints import only_root
from schemactl.schema.naming import naming_of
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Schema, chain_of
from schemactl.store.folder import SchemasFolder, SchemasPlace
from schemactl.store.text import replace_file

if TYPE_CHECKING:
    from schemactl.flows.reader_sources import ReaderSource


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """The request of ``schemactl export``.

    Attributes:
        output: a file, or a folder (existing, or with a trailing slash) for one file per schema; None to return the
            text.
        version_hash: the beginning of a hash in a destination's ledger; None for the ledger's last schema.
        takes_tables: whether to export a destination's actual tables instead of the ledger's schema.
        table: the only table to export, with its nested tables if the format can hold them; None for all.
        is_nested: whether nested tables are folded back into documents.
        is_strict: whether a loss is an error.
        dialect: the SQL dialect; None for PostgreSQL.
        has_foreign_keys: whether SQL declares references as foreign keys.
        readers: the sources of readers to show with columns; empty to show no readers.
        data: a CSV or TSV file whose strings decide the patterns of an Arc schema; None for the usual patterns.
    """

    reference: str
    to: str
    output: str | None
    schemas: SchemasPlace
    version_hash: str | None = None
    takes_tables: bool = False
    table: str | None = None
    is_nested: bool = False
    is_strict: bool = False
    data: Path | None = None
    dialect: str | None = None
    has_foreign_keys: bool = False
    readers: tuple[ReaderSource, ...] = ()


@dataclass(frozen=True, slots=True)
class Exported:
    """A schema as text.

    Attributes:
        path: the written file, if one was requested.
        losses: the parts of the schema that the text lacks.
    """

    name: str
    text: str | bytes
    path: Path | None = None
    losses: tuple[Loss, ...] = ()


def export(request: ExportRequest) -> tuple[Exported, ...]:
    """Return the schemas of a reference as text, and write them if a file or folder is named.

    Exported schemas have dlt's current engine version and the hash of their content. A destination exports the schema
    in its ledger, or its tables if it has no ledger.
    """
    target = in_dialect(FORMATS[request.to], request.to, request.dialect, has_references=request.has_foreign_keys)
    if request.data is not None and request.to != "arc":
        raise InputError("`--data` needs `--to arc`", hint="`--to arc`")
    if request.readers:
        _check_readers(target, request)
    schemas = [_selected(schema, request) for schema in _find(request)]
    path = None if request.output is None else Path(request.output)
    is_file = path is None or path.is_file()
    if len(schemas) > 1 and is_file:
        names = backquoted(schema.name for schema in schemas)
        raise InputError(
            f"`{request.reference}` names {len(schemas)} schemas: {names}",
            hint="choose one of them, or write all with `--output DIR`",
        )
    names_folder = (request.output or "").endswith(("/", os.sep))
    is_folder = path is not None and (len(schemas) > 1 or path.is_dir() or names_folder)
    named_schemas = [(schema.name, schema) for schema in schemas]
    exports = _by_table(schemas, is_folder or request.table is not None) if holds_one_table(target) else named_schemas
    omitted: list[Loss] = []
    if len(exports) > 1 and not is_folder:
        omitted = [Loss(name, "table") for name, _ in exports if name != request.table]
        exports = [(name, schema) for name, schema in exports if name == request.table]
    exported = []
    for name, schema in exports:
        hashed = bump(schema)
        file = path / f"{name}{target.ENDINGS[0]}" if path is not None and is_folder else path
        text_path = None if file is None else str(file)
        if request.readers and shows_readers(target):
            # Files should not wait for imports that only readers need.
            from schemactl.flows.readers import show_readers

            text = target.write(hashed, text_path, show_readers(request.readers, schema))
        else:
            text = target.write(hashed, text_path)
        # Formats without names of tables take them from the file's.
        losses = find_losses(target, hashed, text, f"{only_root(schema) or name}{target.ENDINGS[0]}")
        exported.append(Exported(name, text, file, (*omitted, *losses)))
    problems = tuple(Problem(describe_loss(loss)) for schema_export in exported for loss in schema_export.losses)
    if request.is_strict and problems:
        raise InputError(f"`{request.to}` cannot express the whole schema (--strict)", problems=problems)
    for schema_export in exported:
        if schema_export.path is not None:
            replace_file(schema_export.path, schema_export.text)
    return tuple(exported)


def _check_readers(target: Format, request: ExportRequest) -> None:
    if not shows_readers(target):
        names = backquoted(name for name in FORMATS if shows_readers(FORMATS[name]))
        raise InputError(f"the format `{request.to}` does not show readers (`--readers`)", hint=f"use {names}")
    if request.is_nested:
        raise InputError("`--nested` and `--readers` cannot be used together", hint="readers use the nested tables")


def _selected(schema: Schema, request: ExportRequest) -> Schema:
    """Return the schema reduced to the requested table, with typing proposals and folded tables if requested."""
    naming_of(schema)  # dlt does not load a schema whose convention is unknown
    if request.table is not None:
        if request.table not in schema.tables:
            raise InputError(
                f"the schema `{schema.name}` has no table `{request.table}`",
                hint=nearest_or_all(request.table, [table.name for table in data_tables(schema)]),
            )
        omitted_names = {
            table.name for table in data_tables(schema) if request.table not in chain_of(schema, table.name)
        }
        schema = replace(
            schema, tables={name: table for name, table in schema.tables.items() if name not in omitted_names}
        )
        # Without its parent it becomes a root table.
        table = schema.tables[request.table]
        if table.is_nested:
            properties = {key: value for key, value in table.properties.items() if key != "parent"}
            schema = schema.with_table(replace(table, properties=properties))
    if request.data is not None:
        from schemactl.flows.typing import with_proposals

        schema = with_proposals(schema, request.data)
    return fold(schema) if request.is_nested else schema


def _by_table(schemas: list[Schema], may_be_several: bool) -> list[tuple[str, Schema]]:
    """Return a schema for each table, by the table's name."""
    schemas_by_table: dict[str, Schema] = {}
    for schema in schemas:
        data_names = {table.name for table in data_tables(schema)}
        for name in data_names:
            if name in schemas_by_table:
                raise InputError(
                    f"two schemas have a table `{name}`, and it is a file a table", hint="export one schema"
                )
        other_tables = {name: table for name, table in schema.tables.items() if name not in data_names}
        schemas_by_table |= {
            name: replace(schema, tables={**other_tables, name: schema.tables[name]})
            for name in schema.tables
            if name in data_names
        }
    if not schemas_by_table or (len(schemas_by_table) > 1 and not may_be_several):
        names = backquoted(schemas_by_table) or "none"
        hint = "choose one with `--table`, write all with `--output DIR/`, or fold nested tables with `--nested`"
        raise InputError(f"a file of this format contains one table, and the schema has several: {names}", hint=hint)
    return list(schemas_by_table.items())


def _find(request: ExportRequest) -> Iterator[Schema]:
    for referred in find_schemas(request.reference, SchemasFolder.at(request.schemas)):
        if referred.destination is None and request.version_hash is not None:
            raise InputError(
                f"`{request.reference}` has no ledger of past schemas", hint="`--hash` needs a destination"
            )
        stored: tuple[Schema, ...] = ()
        if referred.destination is not None and not request.takes_tables:
            # Files should not wait for imports that only destinations need.
            from schemactl.flows.migrate.ledger_schemas import stored_schemas

            stored = stored_schemas(request.reference, referred, request.version_hash)
        if stored or referred.destination is None:
            yield from stored or (referred.schema,)
        else:
            # Without dlt's own tables and defaults, which a catalog lacks, a file is not a schema.
            start = new_schema(referred.schema.name)
            yield replace(start, tables={**start.tables, **referred.schema.tables})
