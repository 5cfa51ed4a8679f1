"""A dbt project, by the manifest that ``dbt compile`` writes: ``dbt:target/manifest.json``.

Sources are the tables. The compiled SQL of the models that read them says which columns; what depends on such a model
is downstream of it. https://docs.getdbt.com/reference/artifacts/manifest-json
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from schemactl.errors import InputError, Location
from schemactl.readers.dbt_texts import TEMPLATE_LINE, find_project_folder, is_of_project, with_texts_of
from schemactl.readers.sql_texts import read_sql
from schemactl.readers.tables import ReadTables
from schemactl.readers.templates import fill_in
from schemactl.review.readers import Blindness, Clause, Reader, Readership, Use, merge
from schemactl.store.file_trees import FileTree
from schemactl.store.text import read_text
from schemactl.type_systems.dialect_names import canonical_dialect

VERSIONS: Final = (9, 10, 11, 12)
"""Versions of the manifest that can be read."""

MAX_BYTES: Final = 512 << 20

_VERSION: Final = re.compile(r"/manifest/v(\d+)\.json$")
_SQL_KINDS: Final = ("model", "snapshot", "test", "analysis", "operation", "sql_operation")
"""The types of nodes that have SQL."""

_SECTIONS: Final = ("nodes", "exposures", "metrics", "semantic_models", "saved_queries", "unit_tests")


def read(where: str, tables: ReadTables, dialect: str | None, files: FileTree) -> Readership:
    """Return the uses of tables by the models of a project.

    The manifest is read from disk. For a git revision, models whose files differ have the texts of the revision.

    Raises:
        InputError: there is no manifest, or it is not one of ``VERSIONS``.
    """
    path = Path(where)
    if path.is_dir():
        path = next((folder for folder in (path / "target", path) if (folder / "manifest.json").is_file()), path)
        path = path / "manifest.json"
    return read_manifest(read_text(path, MAX_BYTES), str(path), tables, dialect, files)


def read_manifest(
    text: str, path: str, tables: ReadTables, dialect: str | None, files: FileTree | None = None
) -> Readership:
    """Return the uses of tables by the models in the text of a manifest; raises InputError as ``read`` does."""
    hint = "`dbt compile` writes one to target/manifest.json"
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"`{path}` is not JSON: {error}", hint=hint) from None
    metadata = _mapping(content, "metadata")
    version = _VERSION.search(str(metadata.get("dbt_schema_version", "")))
    if version is None:
        raise InputError(f"`{path}` is not a manifest of dbt", hint=hint)
    if int(version[1]) not in VERSIONS:
        readable_versions = f"versions {VERSIONS[0]} to {VERSIONS[-1]} can be read"
        raise InputError(
            f"`{path}` is version {version[1]} of dbt's manifest; {readable_versions}", hint="use dbt 1.5 or later"
        )
    adapter = metadata.get("adapter_type")
    if dialect is None and isinstance(adapter, str):
        dialect = canonical_dialect(adapter)
    sections = {name: _mapping(content, name) for name in ("metadata", "sources", "groups", *_SECTIONS)}
    folder = find_project_folder(Path(path))
    if files is not None and not files.is_on_disk:
        sections = with_texts_of(files, sections, folder)
    return _Project(sections, tables, dialect, folder).readership()


@dataclass(frozen=True)
class _Project:
    """The content of a manifest, the tables to look for, and the folder that paths start from."""

    content: Mapping[str, Any]
    tables: ReadTables
    dialect: str | None
    folder: Path

    def readership(self) -> Readership:
        """Return the uses by all nodes that depend on a source whose table is one of the schema's."""
        tables_by_source = dict(self._sources())
        readerships = []
        downstream: dict[Reader, tuple[Reader, ...]] = {}
        for node_id, node in self._nodes.items():
            sources = [tables_by_source[parent] for parent in _parents(node) if parent in tables_by_source]
            if not sources:
                continue
            reader = self._reader_of(node)
            direct = self._uses_of(node, reader, sources, self.tables)
            readerships += [direct, *self._through_stars(node_id, direct, set())]
            downstream[reader] = tuple(self._reader_of(self._nodes[name]) for name in self._behind(node_id))
        merged = merge(readerships)
        return Readership(merged.uses, merged.blind, downstream)

    def _sources(self) -> Iterator[tuple[str, str]]:
        """Yield the id of each source that is a table of the schema, with the table."""
        folded_tables = {table.casefold(): table for table in self.tables.columns}
        for source_id, source in self.content["sources"].items():
            table = folded_tables.get(str(source.get("identifier") or source.get("name")).casefold())
            in_dataset = str(source.get("schema")).casefold() == self.tables.dataset.casefold()
            database = self.tables.database
            in_database = database is None or str(source.get("database")).casefold() == database.casefold()
            if table is not None and in_dataset and in_database:
                yield source_id, table

    @cached_property
    def _nodes(self) -> Mapping[str, Mapping[str, Any]]:
        return {name: node for section in _SECTIONS for name, node in self.content[section].items()}

    @cached_property
    def _children(self) -> Mapping[str, tuple[str, ...]]:
        children: defaultdict[str, list[str]] = defaultdict(list)
        for name, node in self._nodes.items():
            for parent in _parents(node):
                children[parent].append(name)
        return {name: tuple(names) for name, names in children.items()}

    def _behind(self, node_id: str) -> list[str]:
        """Return the names of direct and indirect dependents of a node, nearest first, without tests."""
        names: dict[str, None] = {}
        waiting = list(self._children.get(node_id, ()))
        for name in waiting:
            if name not in names:
                names[name] = None
                waiting.extend(self._children.get(name, ()))
        return [name for name in names if self._nodes[name].get("resource_type") not in ("test", "unit_test")]

    def _through_stars(
        self, node_id: str, direct: Readership, followed_edges: set[tuple[str, str, str]]
    ) -> Iterator[Readership]:
        """Yield the uses of columns that a model passes on by ``select *``, by the models that read it."""
        node = self._nodes[node_id]
        passed: defaultdict[str, list[str]] = defaultdict(list)
        for use in direct.uses:
            if use.clause is Clause.STAR and use.column is not None:
                passed[use.table].append(use.column)
        relation, dataset = node.get("alias") or node.get("name"), node.get("schema")
        for table, columns in passed.items():
            tables = ReadTables({str(relation): tuple(columns)}, str(dataset or self.tables.dataset))
            for child_id in self._children.get(node_id, ()):
                child = self._nodes[child_id]
                if (node_id, child_id, table) in followed_edges or child.get("resource_type") not in _SQL_KINDS:
                    continue
                followed_edges.add((node_id, child_id, table))
                uses = _of_table(self._uses_of(child, self._reader_of(child), list(tables.columns), tables), table)
                yield uses
                yield from self._through_stars(child_id, uses, followed_edges)

    def _uses_of(
        self, node: Mapping[str, Any], reader: Reader, sources: Iterable[str], tables: ReadTables
    ) -> Readership:
        if node.get("resource_type") not in _SQL_KINDS:
            uses = (Use(reader, table, None, Clause.FROM, location=reader.location) for table in sources)
            blind = (Blindness(reader, f"a reader of the kind {reader.kind}", table) for table in sources)
            return Readership(tuple(uses), tuple(blind))
        if node.get("language", "sql") != "sql":
            return _blind(reader, "a Python model", sources)
        compiled = node.get("compiled_code")
        raw = str(node.get("raw_code") or "")
        if not isinstance(compiled, str):
            if node.get("resource_type") == "test" and node.get("column_name"):
                column = str(node["column_name"]).casefold()
                return Readership(tuple(_tested(reader, column, sources, tables)))
            return _blind(reader, "no compiled SQL: run `dbt compile`", sources)
        readership = read_sql(compiled, reader, tables, self.dialect)
        if (template_line := node.get(TEMPLATE_LINE)) is not None and reader.location is not None:
            location = replace(reader.location, line=template_line)
            blind = (Blindness(reader, "a template that may be any SQL", table, location=location) for table in sources)
            readership = merge((readership, Readership(blind=tuple(blind))))
        missing = [table for table in sources if not readership.uses_of(table) and not readership.blind_for(table)]
        if missing:
            readership = merge((readership, _blind(reader, "compiled SQL that does not name the source", missing)))
        # Line numbers refer to the compiled text; the file has the same ones unless filling in moves lines.
        if fill_in(raw)[0].count("\n") == compiled.count("\n"):
            return readership
        return _without_lines(readership)

    def _reader_of(self, node: Mapping[str, Any]) -> Reader:
        kind = str(node.get("resource_type") or "node").replace("_", " ")
        path = node.get("original_file_path")
        location = None
        if isinstance(path, str) and path:
            packages = () if is_of_project(node, self.content) else ("dbt_packages", str(node.get("package_name")))
            location = Location(self.folder.joinpath(*packages, path).as_posix())
        label = node.get("label") if kind == "exposure" else None
        return Reader(kind, str(label or node.get("name") or "?"), location, self._owner_of(node))

    def _owner_of(self, node: Mapping[str, Any]) -> str | None:
        """Return the owner of an exposure, that in the ``meta`` of a node, or that of its group."""
        config = _mapping(node, "config")
        candidates = [node.get("owner")]
        candidates += [_mapping(fields, "meta").get("owner") for fields in (node, config)]
        candidates += [
            group.get("owner")
            for group in self.content["groups"].values()
            if group.get("name") in filter(None, (node.get("group"), config.get("group")))
        ]
        return next(filter(None, map(_owner_name, candidates)), None)


def _owner_name(owner: object) -> str | None:
    """Return the name of an owner, which dbt has as a string, as a list of them, or as an object."""
    match owner:
        case str():
            return owner or None
        case [*names] | {"email": [*names]}:
            return ", ".join(name for name in names if isinstance(name, str)) or None
        case {"name": str(name)} if name:
            return name
        case {"email": str(email)} if email:
            return email
        case _:
            return None


def _tested(reader: Reader, column: str, sources: Iterable[str], tables: ReadTables) -> Iterator[Use]:
    for table in sources:
        name = next((name for name in tables.columns[table] if name.casefold() == column), None)
        yield Use(reader, table, name, Clause.WHERE, is_computed=True, location=reader.location)


def _of_table(readership: Readership, table: str) -> Readership:
    """Return uses of a model that passes a table's columns on as uses of the table; uses of the model itself go."""
    return Readership(
        tuple(replace(use, table=table) for use in readership.uses if use.column is not None),
        tuple(replace(item, table=table) for item in readership.blind if item.table is not None),
    )


def _mapping(content: Any, name: str) -> Mapping[str, Any]:
    """Return an object in an object, or an empty object. Sections have no entries that are no objects."""
    section = content.get(name) if isinstance(content, Mapping) else None
    if not isinstance(section, Mapping):
        return {}
    if name not in ("sources", "groups", *_SECTIONS):
        return section
    return {key: entry for key, entry in section.items() if isinstance(entry, Mapping)}


def _parents(node: Mapping[str, Any]) -> list[str]:
    depends_on = node.get("depends_on")
    nodes = depends_on.get("nodes") if isinstance(depends_on, Mapping) else None
    return [str(name) for name in nodes] if isinstance(nodes, list) else []


def _blind(reader: Reader, reason: str, tables: Iterable[str]) -> Readership:
    uses = (Use(reader, table, None, Clause.FROM, location=reader.location) for table in tables)
    blind = (Blindness(reader, reason, table, location=reader.location) for table in tables)
    return Readership(tuple(uses), tuple(blind))


def _without_lines(readership: Readership) -> Readership:
    return replace(
        readership,
        uses=tuple(dict.fromkeys(replace(use, location=use.reader.location) for use in readership.uses)),
        blind=tuple(dict.fromkeys(replace(item, location=item.reader.location) for item in readership.blind)),
    )
