"""``schemactl export``: a schema as the text of a format."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from schemactl.errors import InputError
from schemactl.flows.migrate.stored import stored_schemas
from schemactl.flows.references import Referred, find_schemas
from schemactl.formats import FORMATS, Format
from schemactl.schema.hash import bump
from schemactl.schema.naming import naming_of
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder
from schemactl.store.replace import replace_text


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """What ``schemactl export`` was asked for.

    Attributes:
        reference: a REF.
        to: name of a format.
        output: a file, or a folder (there, or named with a slash at the end) for a file a schema; None to return
            the text.
        schemas: the folder of ``import/`` and ``export/``.
        version_hash: the beginning of a hash in a destination's ledger; None for the last schema there.
        takes_tables: whether a destination's tables are exported as they are, not the schema that its ledger names.
    """

    reference: str
    to: str
    output: str | None
    schemas: Path
    version_hash: str | None = None
    takes_tables: bool = False


@dataclass(frozen=True, slots=True)
class Exported:
    """A schema as text; ``path`` is the file that holds it now, None where none was asked for."""

    name: str
    text: str
    path: Path | None = None


def export(request: ExportRequest) -> tuple[Exported, ...]:
    """Return the schemas that the reference names as text, and write them where a file or a folder is named.

    What a schema states is exported: brought up to dlt's current engine version, with the hash of its content. Of a
    destination it is the schema that its ledger names, else its tables.

    Raises:
        InputError: the reference names no schema, there is no such format, several schemas would become one text,
            its naming convention is unknown, or a file cannot be written.
    """
    target = FORMATS[request.to]
    schemas = list(_find(request))
    for schema in schemas:
        naming_of(schema)  # dlt does not load a schema whose convention is unknown
    path = None if request.output is None else Path(request.output)
    is_file = path is None or path.is_file()
    if len(schemas) > 1 and is_file:
        names = ", ".join(f"`{schema.name}`" for schema in schemas)
        raise InputError(
            f"`{request.reference}` names {len(schemas)} schemas: {names}",
            hint="name one of them, or a folder with `--output DIR`",
        )
    is_folder = path is not None and (len(schemas) > 1 or path.is_dir() or (request.output or "").endswith(os.sep))
    exported = tuple(_exported(schema, target, path, is_folder) for schema in schemas)
    for each in exported:
        if each.path is not None:
            replace_text(each.path, each.text)
    return exported


def _find(request: ExportRequest) -> Iterator[Schema]:
    for found in find_schemas(request.reference, SchemasFolder.at(request.schemas)):
        if found.destination is None and request.version_hash is not None:
            raise InputError(f"`{request.reference}` keeps no past schemas", hint="`--hash` asks a destination")
        is_stored = found.destination is not None and not request.takes_tables
        stored = stored_schemas(request.reference, found, request.version_hash) if is_stored else ()
        yield from stored or (_whole(found),)


def _whole(found: Referred) -> Schema:
    """Return the schema; a catalogue's is given dlt's own tables and defaults, without which a file is no schema."""
    if found.destination is None:
        return found.schema
    start = new_schema(found.schema.name)
    return replace(start, tables={**start.tables, **found.schema.tables})


def _exported(schema: Schema, target: Format, output: Path | None, is_folder: bool) -> Exported:
    hashed = bump(schema)
    if output is None:
        return Exported(schema.name, target.write(hashed))
    path = output / f"{schema.name}{target.ENDINGS[0]}" if is_folder else output
    return Exported(schema.name, target.write(hashed, path=str(path)), path)
