"""``schemactl edit``: states hints in an import file, whose comments and form stay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from schemactl.errors import InputError
from schemactl.flows.schemas import open_schemas, without_processing_hints
from schemactl.formats.dlt import read, write
from schemactl.schema.changes import Change
from schemactl.schema.contract import Contract
from schemactl.schema.diff import diff
from schemactl.schema.hash import bump
from schemactl.schema.hints import ColumnHint, Hints, only_root, with_hints
from schemactl.schema.naming import naming_of
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder, new_file
from schemactl.store.lock import locked_schemas
from schemactl.store.text import read_text, replace_file


@dataclass(frozen=True, slots=True)
class EditRequest:
    """What ``schemactl edit`` was asked for.

    Attributes:
        name: the schema's name.
        schemas: the folder of ``import/`` and ``export/``.
        table: that hints without a table are about; None for the only root table.
        columns: hints of columns.
        write_disposition: of the table; None to leave it.
        contract: of the schema; None to leave it.
    """

    name: str
    schemas: Path
    table: str | None = None
    columns: tuple[ColumnHint, ...] = ()
    write_disposition: str | None = None
    contract: str | None = None


@dataclass(frozen=True, slots=True)
class Edited:
    """An import file, and what changed in it."""

    path: Path
    changes: tuple[Change, ...]


def edit_import(request: EditRequest) -> Edited:
    """State hints in the import file; where there is none, it begins as the stored schema, or as a new one.

    Raises:
        InputError: a hint or a file is wrong, or the file cannot be written.
    """
    folder = SchemasFolder.at(request.schemas)
    opened = open_schemas(folder, request.name)
    document = opened.import_document
    stored = without_processing_hints(opened.stored) if opened.stored else None
    before = document.schema if document else stored or new_schema(request.name)
    after = _stated(request, before)
    file = opened.import_file
    path = file.path if file else new_file(folder.imports, request.name)
    changes = diff(before, after, guess_renames=False)
    if changes or document is None:
        content = bump(replace(after, imported_version_hash=None)) if document is None else bump(after)
        with locked_schemas(folder.root):
            if file is not None and read_text(path) != file.text:
                raise InputError(f"`{path}` was changed since it was read", hint="run the command again")
            replace_file(path, write(content, str(path), document.layout if document else None))
    return Edited(path, changes)


def _stated(request: EditRequest, before: Schema) -> Schema:
    naming = naming_of(before)
    root = naming.normalize_tables_path(request.table) if request.table else only_root(before)
    after = with_hints(before, Hints(request.columns, request.write_disposition), root)
    if request.contract is None:
        return after
    Contract.of(request.contract)
    stated = dict(part.split("=", 1) for part in request.contract.split(",")) if "=" in request.contract else None
    return replace(after, settings={**after.settings, "schema_contract": stated or request.contract})


def read_hints(path: Path) -> Schema:
    """Return a file of hints: a schema file, which states no more than its author cares about.

    Raises:
        InputError: there is no such file, or it is no valid schema.
    """
    return read(read_text(path), str(path)).schema
