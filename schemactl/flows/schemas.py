"""Opens and saves a named schema of the schemas folder: dlt's rules for import and export files (docs/dlt.md §3).

The export file is the stored schema. The import file belongs to the user: it is written once, if missing, and contains
only hints if data makes the schema. An edited import file replaces the content of the stored schema. If both are one
file, that file is the stored schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from schemactl.errors import InputError
from schemactl.formats.dlt import Document, Layout, read, write
from schemactl.schema.hash import MAX_PREVIOUS_HASHES, bump, version_hash
from schemactl.schema.record_selection import SETTING
from schemactl.schema.templates import check_name
from schemactl.schema.types import Column, Schema, Table
from schemactl.store.folder import (
    SchemasFolder,
    TextFile,
    find_file,
    new_file,
    read_schema,
    schema_name,
)
from schemactl.store.lock import locked_schemas
from schemactl.store.text import read_text, remove_leftovers, replace_file

_TABLE_MARKS = frozenset(("x-normalizer", "x-loader", "x-extractor"))
_COLUMN_MARKS = frozenset(("x-normalizer",))


@dataclass(frozen=True, slots=True)
class Opened:
    """A schema as a command found it.

    Attributes:
        schema: the schema to work with, its version fields true to its content; None if there is no file.
        import_document: the import file, if it exists; the export file if both are one.
        export_document: the export file, if it exists.
        import_adopted: hash of the import file, where its content has taken the place of the export file's.
    """

    name: str
    schema: Schema | None
    import_document: Document | None
    export_document: Document | None
    import_adopted: str | None
    import_file: TextFile | None
    export_file: TextFile | None

    @property
    def stored(self) -> Schema | None:
        """The schema of the export file, with the hash of its content."""
        return bump(self.export_document.schema) if self.export_document else None


def open_schemas(folder: SchemasFolder, name: str) -> Opened:
    """Read schema ``name`` as dlt loads it; nothing is written."""
    check_name(name)
    return open_files(name, read_schema(folder.imports, name), read_schema(folder.exports, name), folder.is_shared)


def open_files(name: str, import_file: TextFile | None, export_file: TextFile | None, is_shared: bool) -> Opened:
    """Return the schema of two files that were already read; ``is_shared`` if both are one file."""
    export_document = _parse(export_file)
    if is_shared:
        schema = bump(export_document.schema) if export_document else None
        return Opened(name, schema, export_document, export_document, None, export_file, export_file)
    import_document = _parse(import_file)
    schema, adopted = _choose(import_document, export_document)
    return Opened(name, schema, import_document, export_document, adopted, import_file, export_file)


def save(folder: SchemasFolder, opened: Opened, schema: Schema, hints: Schema | None = None) -> tuple[str, ...]:
    """Write the changed files of ``opened``, under the folder's lock.

    The schema is ``opened.schema`` with new content, or a new schema if that is None. ``hints`` is the content of a new
    import file, by default the whole schema.

    Returns:
        The files written, the import file first; empty without changes.
    """
    pending = _pending(folder, opened, schema, hints)
    if not pending:
        return ()
    with locked_schemas(folder.root):
        check_unchanged(folder, opened)
        # Import before export: a command killed in between leaves an import file for the next to start from.
        for path, text in pending:
            remove_leftovers(path.parent)
            replace_file(path, text)
    return tuple(str(path) for path, _ in pending)


def put_back(folder: SchemasFolder, opened: Opened, saved_hash: str) -> None:
    """Replace the files that a command has saved with the files that it had opened.

    Files whose schema has another hash than ``saved_hash`` stay: another command has saved them since.
    """
    saved = open_schemas(folder, opened.name)
    if saved.stored is None or saved.stored.version_hash != saved_hash:
        return
    with locked_schemas(folder.root):
        check_unchanged(folder, saved)
        files = {(opened.import_file, saved.import_file), (opened.export_file, saved.export_file)}
        for before, after in files:
            if before is not None and before != after:
                replace_file(before.path, before.text)
            elif before is None and after is not None:
                after.path.unlink()


def to_save(folder: SchemasFolder, opened: Opened, schema: Schema, hints: Schema | None = None) -> Schema:
    """Return ``schema`` as ``save`` would store it: hash, version, ancestry and link to the import file."""
    if folder.is_shared:
        stored_tables = opened.export_document.schema.tables if opened.export_document else {}
        # Marks that the user's file sets stay (``max_nesting`` is one).
        tables = {name: _without_marks(table, stored_tables.get(name)) for name, table in schema.tables.items()}
        return bump(replace(schema, tables=tables, imported_version_hash=None))
    if opened.import_document is not None:
        imported = opened.schema.imported_version_hash if opened.schema else None
        return bump(replace(schema, imported_version_hash=imported))
    # dlt continues the ancestry from the import file that it has just written.
    first_import = _first_import(hints or schema)
    return bump(
        replace(
            schema,
            version=first_import.version,
            version_hash=first_import.version_hash,
            previous_hashes=first_import.previous_hashes,
            imported_version_hash=first_import.version_hash,
        )
    )


def with_lineage(content: Schema, stored: Schema) -> Schema:
    """Return content with the version, hash, ancestry and link of another schema, so that only the content differs."""
    return replace(
        content,
        version=stored.version,
        version_hash=stored.version_hash,
        previous_hashes=stored.previous_hashes,
        imported_version_hash=stored.imported_version_hash,
    )


def without_processing_hints(schema: Schema) -> Schema:
    """Return ``schema`` without dlt's processing hints (``x-normalizer``, ``x-loader``, ``x-extractor``)."""
    return replace(schema, tables={name: _without_marks(table) for name, table in schema.tables.items()})


def parse_named(file: TextFile) -> Document:
    """Read a schema file of a schemas folder."""
    document = read(file.text, str(file.path))
    expected = schema_name(file.path)
    if expected is not None and document.schema.name != expected:
        schema_name_in_file = document.schema.name
        renamed = file.path.name.replace(expected, schema_name_in_file, 1)
        raise InputError(
            f"the file is named for schema `{expected}`, but the schema in it is named `{schema_name_in_file}`",
            at=document.locate("name"),
            hint=f"write `name: {expected}`, or rename the file to `{renamed}`",
        )
    return document


def _parse(file: TextFile | None) -> Document | None:
    return parse_named(file) if file else None


def _choose(imported: Document | None, exported: Document | None) -> tuple[Schema | None, str | None]:
    """Return the current schema, and the hash of the import file if its content was adopted."""
    if imported is None:
        return (bump(exported.schema) if exported else None), None
    content = bump(imported.schema)
    linked = replace(content, imported_version_hash=content.version_hash)
    if exported is None:
        return linked, content.version_hash
    stored = bump(exported.schema)
    if _is_known(content, imported, stored, exported):
        return replace(stored, imported_version_hash=content.version_hash), None
    ancestors = content.previous_hashes
    if stored.version_hash not in (content.version_hash, *ancestors):
        ancestors = (stored.version_hash, *ancestors)[:MAX_PREVIOUS_HASHES]
    adopted = replace(linked, previous_hashes=ancestors)
    if SETTING in stored.settings and SETTING not in adopted.settings:  # edits do not contain it
        adopted = bump(replace(adopted, settings={**adopted.settings, SETTING: stored.settings[SETTING]}))
    return adopted, content.version_hash


def _is_known(content: Schema, imported: Document, stored: Schema, exported: Document) -> bool:
    """Return whether the stored schema already builds on this content of the import file."""
    if stored.imported_version_hash == content.version_hash:
        return True
    if version_hash(without_processing_hints(stored)) == content.version_hash:
        # A command was killed between the two files, or one was copied to the other: the edit is already applied.
        return True
    if stored.imported_version_hash is not None:
        return False
    # dlt writes export files without the link, but the import file's hash is among the ancestors it writes.
    if content.version_hash in (stored.version_hash, *stored.previous_hashes):
        return True
    if len(stored.previous_hashes) < MAX_PREVIOUS_HASHES:
        return False
    if not imported.is_edited:
        return True
    link = f"imported_version_hash: {version_hash(imported.schema)}"
    raise InputError(
        "it is unknown whether the import file was edited since the export file was written",
        at=exported.locate("previous_hashes"),
        hint=f"add `{link}` to the export file to keep it, or delete it to start from the import file",
    )


def _pending(
    folder: SchemasFolder, opened: Opened, schema: Schema, hints: Schema | None
) -> tuple[tuple[Path, str], ...]:
    """Return the files to write with their texts."""
    stored = to_save(folder, opened, schema, hints)
    has_import = folder.is_shared or opened.import_document is not None
    export = opened.export_document
    holds = export is not None and export.stated_hash == stored.version_hash
    if has_import and opened.import_adopted is None and holds:
        return ()
    imports: tuple[tuple[Path, str], ...] = ()
    of_import, of_export = (file.path if file else None for file in (opened.import_file, opened.export_file))
    if not has_import:
        path = new_file(folder.imports, opened.name, like=of_export)
        imports = ((path, write(_first_import(hints or schema), str(path))),)
    path = of_export or new_file(folder.exports, opened.name, like=of_import)
    layout = export.layout if export else None
    return (*imports, (path, _export_text(stored, layout, path)))


def _export_text(schema: Schema, layout: Layout | None, path: Path) -> str:
    """Return the text of the export file, the link to the import file in it.

    dlt's form of an export has no such key, so ``write`` keeps an existing one but never adds it.
    """
    text = write(schema, str(path), layout)
    link = schema.imported_version_hash
    if link is None or (layout is not None and _states_link(text, path, link)):
        return text
    if layout is None:  # a text of our own form needs no second look, which takes as long as the text took
        return _with_link(text, link)
    linked = _with_link(text, link)
    # In a form of the user's own (flow style, several documents) the ancestry has to do.
    return linked if _states_link(linked, path, link) else text


def _with_link(text: str, link: str) -> str:
    """Add the key at the end of the top level; right for files in the form that dlt and schemactl write."""
    if text.lstrip().startswith("{"):
        content, _, _ = text.rstrip().rpartition("}")
        return f'{content.rstrip()},\n  "imported_version_hash": "{link}"\n}}'
    return f"{text.rstrip()}\nimported_version_hash: {link}\n"


def _states_link(text: str, path: Path, link: str) -> bool:
    try:
        return read(text, str(path)).schema.imported_version_hash == link
    except InputError:
        return False


def _first_import(schema: Schema) -> Schema:
    """Return the content of a new import file."""
    return bump(replace(without_processing_hints(schema), imported_version_hash=None))


def check_unchanged(folder: SchemasFolder, opened: Opened) -> None:
    """Raise InputError if a schema's file was changed or created since it was read."""
    imports = () if folder.is_shared else ((folder.imports, opened.import_file),)
    for directory, file in (*imports, (folder.exports, opened.export_file)):
        path = find_file(directory, opened.name)
        current_file = TextFile(path, read_text(path)) if path else None
        if current_file != file:
            changed_path = path or (file.path if file else directory)
            raise InputError(f"`{changed_path}` was changed since it was read", hint="run the command again")


def _without_marks(table: Table, stored_table: Table | None = None) -> Table:
    columns = {}
    for name, column in table.columns.items():
        stored = stored_table.columns.get(name) if stored_table else None
        columns[name] = Column(name, _strip(column.properties, _COLUMN_MARKS, stored.properties if stored else {}))
    return replace(
        table,
        columns=columns,
        properties=_strip(table.properties, _TABLE_MARKS, stored_table.properties if stored_table else {}),
    )


def _strip(
    properties: Mapping[str, Any], marks: frozenset[str], stored_properties: Mapping[str, Any]
) -> dict[str, Any]:
    unmarked_properties = {}
    for key, value in properties.items():
        if key not in marks:
            unmarked_properties[key] = value
        elif key in stored_properties:
            stored = stored_properties[key]
            is_mapping = isinstance(stored, Mapping)
            unmarked_properties[key] = {k: v for k, v in value.items() if k in stored} if is_mapping else stored
    return unmarked_properties
