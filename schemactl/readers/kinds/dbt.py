"""A dbt project, by the manifest that ``dbt compile`` writes: ``dbt:target/manifest.json``.

Sources are the tables. The compiled SQL of the models that read them says which columns; what depends on such a model
is downstream of it. https://docs.getdbt.com/reference/artifacts/manifest-json
"""

from __future__ import annotations

import json
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final

from schemactl.errors import CommandWarning, InputError, Location
from schemactl.readers.dbt_lines import map_lines
from schemactl.readers.dbt_tests import parents_of, quote_name, sql_of_test, tested_node
from schemactl.readers.dbt_texts import (
    TEMPLATE_LINE,
    BuildTimes,
    find_project_folder,
    is_of_project,
    read_project_files,
)
from schemactl.readers.passed_columns import Passage, Reading, follow_columns
from schemactl.readers.sql_texts import SqlText, read_sql, read_uses, readership_of
from schemactl.readers.tables import ReadTables
from schemactl.review.readers import Blindness, Clause, Reader, Readership, Use, merge
from schemactl.schema.wording import counted
from schemactl.store.file_trees import FileTree
from schemactl.store.text import read_text
from schemactl.type_systems.dialect_names import DIALECTS, canonical_dialect

VERSIONS: Final = (9, 10, 11, 12)
"""Versions of the manifest that can be read."""

MAX_BYTES: Final = 512 << 20

_SIMILAR_DIALECTS: Final = {"greenplum": "postgres", "vertica": "postgres", "glue": "spark", "impala": "hive"}
"""The nearest dialects of adapters whose dialect sqlglot does not have."""

_VERSION: Final = re.compile(r"/manifest/v(\d+)\.json$")
_SQL_KINDS: Final = ("model", "snapshot", "test", "analysis", "operation", "sql_operation")
"""The types of nodes that have SQL."""

_SEMANTIC_MODEL: Final = "semantic_model"

_SECTIONS: Final = ("nodes", "exposures", "metrics", "semantic_models", "saved_queries", "unit_tests")


def read(where: str, tables: ReadTables, dialect: str | None, files: FileTree) -> Readership:
    """Return the uses of tables by the models of a project.

    The manifest is read from disk. For a git revision, models whose files differ have the texts of the revision. If
    ``catalog.json`` is next to it, the columns of other tables are known as well.

    Raises:
        InputError: there is no manifest, or it is not one of ``VERSIONS``, or the catalog is not JSON.
    """
    path = Path(where)
    if path.is_dir():
        path = next((folder for folder in (path / "target", path) if (folder / "manifest.json").is_file()), path)
        path = path / "manifest.json"
    text, catalog = read_text(path, MAX_BYTES), path.with_name("catalog.json")
    if catalog.is_file():
        tables = replace(tables, foreign=_catalog_columns(read_text(catalog, MAX_BYTES), str(catalog)))
    return read_manifest(text, str(path), tables, dialect, files)


def read_manifest(
    text: str, path: str, tables: ReadTables, dialect: str | None, files: FileTree | None = None
) -> Readership:
    """Return the uses of tables by the models in the text of a manifest; raises InputError as ``read`` does."""
    hint = "`dbt compile` writes one to target/manifest.json"
    content = _parse(text, path, hint)
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
        dialect = dialect if dialect in DIALECTS else _SIMILAR_DIALECTS.get(dialect)
    sections = {name: _mapping(content, name) for name in ("metadata", "sources", "groups", "disabled", *_SECTIONS)}
    folder = find_project_folder(Path(path))
    if files is not None and not files.is_base:
        sections = _with_files(files, sections, folder, Path(path))
    return _Project(sections, tables, dialect, folder).readership()


def _with_files(files: FileTree, sections: Mapping[str, Any], folder: Path, manifest: Path) -> dict[str, Any]:
    """Return a manifest with the project's files, and warn if it is older than files on disk."""
    project = read_project_files(files, sections, folder, _build_times(sections["metadata"], manifest))
    if files.is_on_disk and project.changed_paths:
        first_path, *other_paths = project.changed_paths
        more = f" and {counted(len(other_paths), 'other file')}" if other_paths else ""
        message = f"`{manifest}` is older than `{first_path}`{more}, whose text is read instead: run `dbt compile`"
        warnings.warn(CommandWarning(message), stacklevel=2)
    return project.content


def _build_times(metadata: Mapping[str, Any], manifest: Path) -> BuildTimes:
    written = manifest.stat().st_mtime_ns
    try:
        generated_at = datetime.fromisoformat(str(metadata.get("generated_at")))
    except ValueError:
        return BuildTimes(written, written)
    if generated_at.tzinfo is None:
        generated_at = generated_at.replace(tzinfo=UTC)
    return BuildTimes(min(written, int(generated_at.timestamp() * 1e9)), written)


def _parse(text: str, path: str, hint: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"`{path}` is not JSON: {error}", hint=hint) from None


def _catalog_columns(text: str, path: str) -> dict[str, tuple[str, ...]]:
    """Return the columns in the catalog of a project, by ``schema.table`` in lower case.

    https://docs.getdbt.com/reference/artifacts/catalog-json
    """
    content = _parse(text, path, "`dbt docs generate` writes it again; without the file, only the manifest is read")
    columns: dict[str, tuple[str, ...]] = {}
    for section in ("nodes", "sources"):
        for node in _mapping(content, section).values():
            metadata = _mapping(node, "metadata")
            name = f"{metadata.get('schema')}.{metadata.get('name')}".casefold()
            columns[name] = tuple(_mapping(node, "columns"))
    return columns


@dataclass(frozen=True)
class _Project:
    """The content of a manifest, the tables to look for, and the folder that paths start from."""

    content: Mapping[str, Any]
    tables: ReadTables
    dialect: str | None
    folder: Path

    def readership(self) -> Readership:
        """Return the uses by all nodes that read a table of the schema, and by the nodes that it is passed on to."""
        readership = follow_columns(self)
        merged = merge([readership, *self._freshness()])
        return Readership(merged.uses, merged.blind, readership.downstream)

    def _freshness(self) -> Iterator[Readership]:
        """Yield the uses of the columns by which ``dbt source freshness`` tells the age of sources."""
        for source_id, table in self._tables_by_source.items():
            source = self.content["sources"][source_id]
            limits = _mapping(source, "freshness")
            if not any(_mapping(limits, name).get("count") for name in ("warn_after", "error_after")):
                continue
            reader = replace(
                self._reader_of(source),
                kind="source freshness",
                name=f"{source.get('source_name')}.{source.get('name')}",
            )
            if isinstance(column := source.get("loaded_at_field"), str):
                texts = (f"select max({column}) from {table}", f"select 1 from {table} where {limits.get('filter')}")
                for text in texts if limits.get("filter") else texts[:1]:
                    yield _without_lines(read_sql(text, reader, self.tables, self.dialect))
            elif source.get("loaded_at_query"):
                yield _blind(reader, "the query of its freshness", [table])

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
            for parent in parents_of(node):
                children[parent].append(name)
        return {name: tuple(names) for name, names in children.items()}

    def dependents(self, reader_id: str) -> list[str]:
        """Return the nodes that depend on a node directly, without tests."""
        children = self._children.get(reader_id, ())
        return [name for name in children if self._nodes[name].get("resource_type") not in ("test", "unit_test")]

    def first_readings(self) -> Iterator[Reading]:
        """Yield the readings by nodes that depend on a source, or whose SQL names its table without ``source()``."""
        dataset = re.compile(rf"\b{re.escape(self.tables.dataset)}\b", re.IGNORECASE)
        for node_id, node in self._nodes.items():
            sources = self._sources_of(node_id)
            compiled = node.get("compiled_code")
            if sources:
                yield Reading(node_id, self.tables, sources)
            elif isinstance(compiled, str) and dataset.search(compiled) and self.tables.mentioned_in(compiled):
                yield Reading(node_id, self.tables)

    @cached_property
    def _readers(self) -> Mapping[str, Reader]:
        return {node_id: self._reader_of(node) for node_id, node in self._nodes.items()}

    @cached_property
    def _tables_by_source(self) -> Mapping[str, str]:
        return dict(self._sources())

    def _sources_of(self, node_id: str) -> tuple[str, ...]:
        """Return the tables of the sources that a node's SQL names, directly or in its ephemeral models."""
        parents = list(dict.fromkeys(parents_of(self._nodes[node_id])))
        for name in parents:
            if self._is_ephemeral(name):
                parents += [parent for parent in parents_of(self._nodes[name]) if parent not in parents]
        tables = (self._tables_by_source[name] for name in parents if name in self._tables_by_source)
        return tuple(dict.fromkeys(tables))

    def _is_ephemeral(self, node_id: str) -> bool:
        return _mapping(self._nodes.get(node_id), "config").get("materialized") == "ephemeral"

    def reader(self, reader_id: str) -> Reader:
        """Return a node as a reader."""
        return self._readers[reader_id]

    def readers_of(self, result: str) -> Iterable[str]:
        """Return the nodes that depend on a node directly."""
        return self._children.get(result, ())

    def next_reading(self, result: str, reader_id: str, passages: tuple[Passage, ...]) -> Reading | None:
        """Return the reading of the columns that a node passes on, by a node that depends on it."""
        if not passages or self._nodes[reader_id].get("resource_type") not in (*_SQL_KINDS, _SEMANTIC_MODEL):
            return None
        node = self._nodes[result]
        relation = str(node.get("alias") or node.get("name"))
        columns = tuple(dict.fromkeys(passage.output for passage in passages))
        dataset = str(node.get("schema") or self.tables.dataset)
        tables = ReadTables({relation: columns}, dataset, foreign=self.tables.foreign)
        return Reading(reader_id, tables, (relation,), passages, result)

    def read(self, readings: Sequence[Reading]) -> list[tuple[Readership, Mapping[str, list[list[Any]]]]]:
        """Return the uses of each reading, and the columns that its node passes on."""
        texts = {
            number: SqlText(sql, self._readers[reading.reader_id], reading.tables, self.dialect)
            for number, reading in enumerate(readings)
            if (sql := self._sql_of(reading)) is not None
        }
        uses = dict(zip(texts, read_uses(list(texts.values())), strict=True))
        results: list[tuple[Readership, Mapping[str, list[list[Any]]]]] = []
        for number, reading in enumerate(readings):
            node_id = reading.reader_id
            if number in uses:
                reader, outputs = texts[number].reader, uses[number]["outputs"]
                configured = tuple(_configured_uses(self._nodes[node_id], reader, outputs))
                readership = merge((readership_of(reader, uses[number]), Readership(configured)))
                if self._nodes[node_id].get("resource_type") == "test":
                    readership = _without_stars(readership)
                # The SQL of an ephemeral model is in the SQL of the models that read it.
                passed_on = {} if self._is_ephemeral(node_id) else {node_id: outputs}
                results.append((self._completed(readership, reading), passed_on))
            else:
                results.append((self._without_sql(reading), {}))
        return results

    def _sql_of(self, reading: Reading) -> str | None:
        """Return the compiled SQL of a node, or SQL with the expressions of a semantic model; None without SQL."""
        node = self._nodes[reading.reader_id]
        compiled = node.get("compiled_code")
        match node.get("resource_type"):
            case kind if kind == _SEMANTIC_MODEL and reading.columns is not None:
                relation = _mapping(node, "node_relation").get("relation_name")
                expressions = _semantic_expressions(node)
                return f"select {', '.join(expressions)} from {relation}" if expressions and relation else None
            case kind if kind in _SQL_KINDS and node.get("language", "sql") == "sql" and isinstance(compiled, str):
                return compiled
            case "test" if node.get("column_name") and not isinstance(compiled, str):
                return self._sql_of_test(node)
            case _:
                return None

    def _sql_of_test(self, node: Mapping[str, Any]) -> str | None:
        """Return SQL that uses the columns of a generic test as the test does; None if its table is not known."""
        holder_id = tested_node(node)
        relations = {
            parent: relation for parent in parents_of(node) if (relation := self._relation(parent)) is not None
        }
        target = next((relation for parent, relation in relations.items() if parent != holder_id), None)
        if holder_id is None or holder_id not in relations:
            return None
        # A test that compares a table with itself has one parent.
        return sql_of_test(node, relations[holder_id], target or relations[holder_id], self.dialect)

    def _relation(self, node_id: str) -> str | None:
        """Return the table of a source or model as SQL names it; None for an ephemeral model."""
        node = self.content["sources"].get(node_id) or self._nodes.get(node_id)
        if node is None or self._is_ephemeral(node_id):
            return None
        names = (node.get("schema"), node.get("identifier") or node.get("alias") or node.get("name"))
        return ".".join(quote_name(str(name), self.dialect) for name in names if name)

    def _without_sql(self, reading: Reading) -> Readership:
        """Return the uses of a node without compiled SQL."""
        node = self._nodes[reading.reader_id]
        reader = self._readers[reading.reader_id]
        if node.get("resource_type") not in _SQL_KINDS:
            return _blind(reader, f"a reader of the kind {reader.kind}", reading.sources)
        if node.get("language", "sql") != "sql":
            return _blind(reader, "a Python model", reading.sources)
        return _blind(reader, "no compiled SQL: run `dbt compile`", reading.sources)

    def _completed(self, readership: Readership, reading: Reading) -> Readership:
        """Return the uses of compiled SQL with its doubts, and the lines of its file."""
        node = self._nodes[reading.reader_id]
        reader = self._readers[reading.reader_id]
        if not reading.sources and not readership.uses:
            return Readership()
        if (template_line := node.get(TEMPLATE_LINE)) is not None and reader.location is not None:
            location = replace(reader.location, line=template_line)
            reason = "a template that may be any SQL"
            blind = (Blindness(reader, reason, table, location=location) for table in reading.sources)
            readership = merge((readership, Readership(blind=tuple(blind))))
        missing = [
            table for table in reading.sources if not readership.uses_of(table) and not readership.blind_for(table)
        ]
        if missing:
            readership = merge((readership, _blind(reader, "compiled SQL that does not name the source", missing)))
        compiled, raw_code = node.get("compiled_code"), node.get("raw_code")
        if TEMPLATE_LINE in node:
            return readership  # a text that was filled in has the lines of its file
        if reader.location is None or not reader.location.path.endswith(".sql") or not isinstance(raw_code, str):
            return _without_lines(readership)
        return _with_lines(readership, map_lines(raw_code, str(compiled)))

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


def _configured_uses(node: Mapping[str, Any], reader: Reader, outputs: Iterable[Sequence[Any]]) -> Iterator[Use]:
    """Yield the uses of the columns that the configuration of a snapshot or an incremental model compares.

    https://docs.getdbt.com/reference/snapshot-configs, https://docs.getdbt.com/docs/build/incremental-models
    """
    config = _mapping(node, "config")
    if node.get("resource_type") != "snapshot" and config.get("materialized") != "incremental":
        return
    values = [config.get(key) for key in ("unique_key", "updated_at", "check_cols")]
    texts = [text for value in values for text in (value if isinstance(value, list) else [value])]
    # A key can be an expression.
    names = {name for text in texts if isinstance(text, str) for name in re.findall(r"\w+", text.casefold())}
    for output, table, column, _ in outputs:
        if output.casefold() in names:
            yield Use(reader, table, column, Clause.WHERE, is_computed=True, location=reader.location)


def _semantic_expressions(node: Mapping[str, Any]) -> list[str]:
    """Return the SQL of the entities, dimensions and measures of a semantic model; measures are computed."""
    expressions = []
    for section, form in (("entities", "{}"), ("dimensions", "{}"), ("measures", "sum({})")):
        items = node.get(section)
        for item in items if isinstance(items, list) else ():
            expression = item.get("expr") or item.get("name") if isinstance(item, Mapping) else None
            if isinstance(expression, str):
                expressions.append(form.format(expression))
    return expressions


def _mapping(content: Any, name: str) -> Mapping[str, Any]:
    """Return an object in an object, or an empty object. Sections have no entries that are no objects."""
    section = content.get(name) if isinstance(content, Mapping) else None
    if not isinstance(section, Mapping):
        return {}
    if name not in ("sources", "groups", *_SECTIONS):
        return section
    return {key: entry for key, entry in section.items() if isinstance(entry, Mapping)}


def _blind(reader: Reader, reason: str, tables: Iterable[str]) -> Readership:
    uses = (Use(reader, table, None, Clause.FROM, location=reader.location) for table in tables)
    blind = (Blindness(reader, reason, table, location=reader.location) for table in tables)
    return Readership(tuple(uses), tuple(blind))


def _without_stars(readership: Readership) -> Readership:
    """Return the uses of a test without its ``select *``: dbt counts its rows, and reads no column."""
    uses = (use for use in readership.uses if use.clause is not Clause.STAR or use.is_positional)
    return replace(readership, uses=tuple(uses))


def _with_lines(readership: Readership, lines: Mapping[int, int]) -> Readership:
    """Return uses with the lines of the file, by the lines of the compiled SQL."""

    @cache
    def locate(location: Location | None, reader: Reader) -> Location | None:
        if location is None or location.line is None:
            return location
        return replace(location, line=lines[location.line]) if location.line in lines else reader.location

    return replace(
        readership,
        uses=tuple(dict.fromkeys(use._replace(location=locate(use.location, use.reader)) for use in readership.uses)),
        blind=tuple(
            dict.fromkeys(replace(item, location=locate(item.location, item.reader)) for item in readership.blind)
        ),
    )


def _without_lines(readership: Readership) -> Readership:
    return replace(
        readership,
        uses=tuple(dict.fromkeys(use._replace(location=use.reader.location) for use in readership.uses)),
        blind=tuple(dict.fromkeys(replace(item, location=item.reader.location) for item in readership.blind)),
    )
