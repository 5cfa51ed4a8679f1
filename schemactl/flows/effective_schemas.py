"""Reads the effective schemas of a folder, on disk or at a git revision: the export file with an edited import file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from schemactl.errors import InputError, Location
from schemactl.flows.schemas import Opened, open_files, open_schemas
from schemactl.formats.dlt import Document, read
from schemactl.schema.contract import system_prefix
from schemactl.schema.hash import MAX_PREVIOUS_HASHES, bump, version_hash
from schemactl.schema.naming import naming_of
from schemactl.schema.paths import parse_path
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder, TextFile, schema_name
from schemactl.store.git import find_repository, path_inside
from schemactl.store.history import versions_of
from schemactl.store.revision import MissingInRevision, folders_with_schemas, read_revision

if TYPE_CHECKING:
    from schemactl.schema.import_merge import MergedImport, Sources

MOST_VERSIONS = 50
"""The number of committed import files to search for the version that the export file last adopted."""


@dataclass(frozen=True)
class EffectiveSchema:
    """A schema of a folder: its export file with the edits of its import file.

    Attributes:
        folder: the folder of both files; git's history of the import file shows the edits.
    """

    opened: Opened
    folder: SchemasFolder

    @property
    def is_pending(self) -> bool:
        """Return whether the import file has edits that the export file lacks."""
        return self.opened.import_adopted is not None and self.opened.export_document is not None

    @property
    def schema(self) -> Schema:
        """The schema, with the hash and version of its content."""
        return bump(self.merged.schema)

    @cached_property
    def merged(self) -> MergedImport:
        """The schema with the edits; without edits the stored schema."""
        # Few commands need this.
        from schemactl.schema.import_merge import MergedImport, merge_import

        schema, exported = self.opened.schema, self.opened.stored
        assert schema is not None, "only existing schemas are effective"
        if not self.is_pending or exported is None:
            return MergedImport(schema)
        from schemactl.flows.lineage import lineage_in

        sources = lineage_in(self.folder.exports, schema.name).sources
        merged = merge_import(schema, _without_excluded(exported, schema, sources), self._earlier(exported), sources)
        # dlt starts again from the import file; the merged schema is a later version of the stored one.
        ancestors = dict.fromkeys((exported.version_hash, *exported.previous_hashes, *schema.previous_hashes))
        content = replace(
            merged.schema,
            version=max(schema.version, exported.version),
            previous_hashes=tuple(ancestors)[:MAX_PREVIOUS_HASHES],
            imported_version_hash=self.opened.import_adopted,
        )
        return replace(merged, schema=content)

    @property
    def origin(self) -> str:
        """The name in messages."""
        exported, imported = self.opened.export_file, self.opened.import_file
        if self.is_pending and exported and imported:
            return f"{exported.path} with {imported.path}"
        file = exported or imported
        assert file is not None
        return str(file.path)

    @property
    def document(self) -> Document | None:
        """The file with the whole schema; None if both files contribute."""
        return None if self.is_pending else self.opened.export_document or self.opened.import_document

    def locate(self, keys: tuple[str | int, ...]) -> Location | None:
        """Return the location of a key: in the import file if that has it, otherwise in the export file."""
        imported, exported = self.opened.import_document, self.opened.export_document
        if self.document is not None or imported is None or exported is None:
            return self.document.locate(*keys) if self.document else None
        is_of_data = not _states(imported.layout.meaning, keys) and _states(self.schema.to_dict(), keys)
        return (exported if is_of_data and _states(exported.layout.meaning, keys) else imported).locate(*keys)

    def _earlier(self, exported: Schema) -> Schema | None:
        """Return the version of the import file that the export file adopted; None if git does not have it."""
        link = exported.imported_version_hash
        hashes = (link,) if link else (exported.version_hash, *exported.previous_hashes)
        file = self.opened.import_file
        assert file is not None
        try:
            versions = versions_of(self.folder.imports / file.path.name.rpartition(":")[2])[:MOST_VERSIONS]
        except InputError:
            return None  # no git, no repository, or no commit of the file
        for version in versions:
            try:
                schema = read(version.text, str(version.path)).schema
            except InputError:
                continue  # an old commit may have any content
            if version_hash(schema) in hashes:
                return schema
        return None


def _without_excluded(exported: Schema, imported: Schema, sources: Sources) -> Schema:
    """Return a stored schema without the columns whose data an edit of ``filters`` excludes.

    dlt starts again from an edited import file: the next data would not add them.
    """
    filters = [
        {name: table.properties["filters"] for name, table in schema.tables.items() if table.properties.get("filters")}
        for schema in (exported, imported)
    ]
    if filters[0] == filters[1]:
        return exported
    from schemactl.inference.relational import Filters

    naming = naming_of(exported)
    before, after = (Filters.of(schema, naming) for schema in (exported, imported))
    prefix = system_prefix(naming)

    def is_excluded(table: str, column: str) -> bool:
        paths = [parse_path(path) for path in sources.get((table, column), ())] or [()]
        return all(
            after.drops(table, column, path, is_made=False) and not before.drops(table, column, path, is_made=False)
            for path in paths
        )

    tables = {}
    for name, table in exported.tables.items():
        declared_columns = imported.tables[name].columns if name in imported.tables else {}
        columns = {
            key: column
            for key, column in table.columns.items()
            if key in declared_columns or key.startswith(prefix) or not is_excluded(name, key)
        }
        tables[name] = replace(table, columns=columns) if len(columns) < len(table.columns) else table
    return replace(exported, tables=tables)


def read_all_effective(folder: SchemasFolder) -> tuple[EffectiveSchema, ...]:
    """Return the schemas of a folder, by name."""
    return tuple(read_effective(folder, name) for name in folder.names)


def read_effective(folder: SchemasFolder, name: str) -> EffectiveSchema:
    """Return one schema of a folder, which must be there."""
    return EffectiveSchema(open_schemas(folder, name), folder)


def read_effective_at(revision: str, folder: SchemasFolder) -> tuple[EffectiveSchema, ...]:
    """Return the schemas that a folder held at a git revision, by name."""
    exports = _files(lambda: read_revision(revision, folder.exports))
    # Compare names: links on disk say nothing about a revision.
    is_shared = os.path.normpath(folder.imports.absolute()) == os.path.normpath(folder.exports.absolute())
    imports = exports if is_shared else _files(lambda: read_revision(revision, folder.imports))
    if not exports and not imports:
        top = find_repository(folder.exports)
        places = (folder.root,) if folder.is_usual else dict.fromkeys((folder.imports, folder.exports))
        listed = " or ".join(f"`{path_inside(top, path)}`" for path in places)
        message = f"there is no schema file at {listed} in revision `{revision}`"
        raise MissingInRevision(message, folders_with_schemas(top, revision))
    return tuple(
        EffectiveSchema(open_files(name, imports.get(name), exports.get(name), is_shared), folder)
        for name in sorted(exports.keys() | imports.keys())
    )


def _files(read_files: Callable[[], tuple[TextFile, ...]]) -> Mapping[str, TextFile]:
    try:
        return {schema_name(file.path) or "": file for file in read_files()}
    except MissingInRevision:
        return {}


def _states(stored: Any, keys: tuple[str | int, ...]) -> bool:
    for key in keys:
        if not isinstance(stored, Mapping) or key not in stored:
            return False
        stored = stored[key]
    return True
