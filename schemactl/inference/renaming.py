"""Renames tables and columns for another naming convention, from the data's keys, which lineage knows.

Tables and columns without lineage are renamed from their current name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from schemactl.errors import InputError
from schemactl.inference.fitting import Name, place, with_names
from schemactl.inference.identifiers import Identifiers
from schemactl.inference.lineage import Lineage, TableLineage
from schemactl.schema.contract import system_prefix
from schemactl.schema.judgment import base_of
from schemactl.schema.naming import Naming, load_naming, naming_of
from schemactl.schema.paths import ELEMENT, Path, format_path, parse_path
from schemactl.schema.renames import SOURCE_NAMES
from schemactl.schema.settings import NormalizerConfig
from schemactl.schema.types import VARIANT_ENDINGS, Column, Properties, Schema, Table, root_of


@dataclass(frozen=True, slots=True)
class Renaming:
    """The names of a schema under another naming convention; columns by the old name of their table.

    ``source_names`` has by root table the column names of keys that still share a column with other keys.
    """

    convention: str
    renamed: Mapping[Name, str]
    source_names: Mapping[str, Mapping[str, str]]

    def of_schema(self, schema: Schema) -> Schema:
        """Return a schema, or a part of it, under the new names."""
        rooted = {
            name: replace(table, properties={**table.properties, SOURCE_NAMES: dict(self.source_names[name])})
            if self.source_names.get(name)
            else table
            for name, table in schema.tables.items()
        }
        renamed_schema = with_names(replace(schema, tables=rooted), self.renamed)
        normalizers = {**renamed_schema.normalizers, "names": self.convention}
        return replace(renamed_schema, normalizers=normalizers, settings=self._settings(schema.settings))

    def of_lineage(self, lineage: Lineage) -> Lineage:
        """Return lineage under the new names."""
        tables = {}
        for name, table in lineage.tables.items():
            columns = {self.renamed.get((name, column), column): kinds for column, kinds in table.columns.items()}
            tables[self.renamed.get((name, None), name)] = TableLineage(table.rows, columns)
        return Lineage(tables)

    def _settings(self, settings: Properties) -> Properties:
        """Return settings whose patterns for whole column names follow the renamed columns."""
        new_names: dict[str, set[str]] = {}
        for (_, column), new in self.renamed.items():
            if column is not None:
                new_names.setdefault(column, set()).add(new)
        names = {old: new.pop() for old, new in new_names.items() if len(new) == 1}
        changed: dict[str, Any] = dict(settings)
        if hints := settings.get("default_hints"):
            renamed = {hint: [names.get(pattern, pattern) for pattern in patterns] for hint, patterns in hints.items()}
            changed["default_hints"] = renamed
        if preferred := settings.get("preferred_types"):
            changed["preferred_types"] = {names.get(pattern, pattern): of for pattern, of in preferred.items()}
        return changed


def find_names(schema: Schema, convention: str, lineage: Lineage) -> Renaming:
    """Return the names of a schema under another naming convention."""
    finder = _Finder(schema, naming_of(schema), load_naming(convention), lineage)
    for table in schema.tables.values():
        finder.add(table)
    renaming = Renaming(convention, finder.renamed, finder.source_names)
    _check(schema, renaming)
    return renaming


def _check(schema: Schema, renaming: Renaming) -> None:
    prefix = system_prefix(naming_of(schema))
    if system_name := next(
        (name for name_parts in renaming.renamed for name in name_parts if name and name.startswith(prefix)), None
    ):
        message = f"the naming convention `{renaming.convention}` gives dlt's own `{system_name}` another name"
        raise InputError(message, hint="create a schema with another name for it")
    for table in schema.tables.values():
        columns_by_name: dict[str, str] = {}
        for column in table.columns:
            name = renaming.renamed.get((table.name, column), column)
            if name in columns_by_name:
                message = f"`{columns_by_name[name]}` and `{column}` of `{table.name}` would both be `{name}`"
                raise InputError(message, hint="rename one of them in the data, or keep the naming convention")
            columns_by_name[name] = column
    tables = [renaming.renamed.get((name, None), name) for name in schema.tables]
    if len(set(tables)) < len(tables):
        twice = next(name for name in tables if tables.count(name) > 1)
        raise InputError(f"two tables would both be `{twice}`", hint="keep the naming convention")


class _Finder:
    def __init__(self, schema: Schema, old: Naming, new: Naming, lineage: Lineage) -> None:
        self._schema = schema
        self._old, self._new = old, new
        self._lineage = lineage
        self._config = NormalizerConfig.of(schema.normalizers)
        passed_on = (self._config.propagation_root, *self._config.propagation_tables.values())
        self._targets = {target for columns in passed_on for target in columns.values()}
        self.renamed: dict[Name, str] = {}
        self.source_names: dict[str, dict[str, str]] = {}

    def add(self, table: Table) -> None:
        """Find the names of a table and its columns."""
        root = root_of(self._schema, table.name)
        root_table = self._schema.tables[root]
        stored_names: Mapping[str, str] = root_table.properties.get(SOURCE_NAMES) or {}
        source = str(root_table.properties.get("resource") or root)
        source = source if self._identifiers(self._old, stored_names).table(source) == root else root
        kept_names = {path: self._new.normalize_identifier(name) for path, name in stored_names.items()}
        kept_names |= self.source_names.get(root, {})
        old, new = self._identifiers(self._old, stored_names), self._identifiers(self._new, kept_names)
        lineage = self._lineage.tables.get(table.name, TableLineage())
        rows = [parse_path(path) for path in lineage.rows]
        source_paths = [path for path in rows if place(path, root, old)[0] == table.name]
        new_root = new.table(source)
        name = place(source_paths[0], new_root, new)[0] if source_paths else self._table(table, root, new_root)
        self._note(table.name, None, name)
        # Variants are named by their columns.
        for column in sorted(table.columns.values(), key=lambda column: column.is_variant):
            paths = [parse_path(path) for path in lineage.columns.get(column.name, ())]
            source_paths = [path for path in paths if place(path, root, old) == (table.name, column.name)]
            if column.name in self._targets and self._new.normalize_identifier(column.name) == column.name:
                continue
            if not source_paths or column.is_variant:
                self._note(table.name, column.name, self._column(table, column))
                continue
            first, *other_paths = source_paths
            name = place(first, root, new)[1]
            self._note(table.name, column.name, name)
            for path in other_paths:
                kept_names |= self._kept_together(path, first, root, new, name)
        if kept_names:
            self.source_names.setdefault(root, {}).update(kept_names)

    def _kept_together(self, path: Path, first: Path, root: str, new: Identifiers, name: str) -> dict[str, str]:
        """Return names for keys that share one column and would get two under the new convention."""
        if place(path, root, new)[1] == name:
            return {}
        if len(path) == len(first):
            pairs = [
                (path[: index + 1], first[: index + 1]) for index in range(len(path)) if path[index] is not ELEMENT
            ]
            return {
                format_path(key_path): new.column_part(str(first_key_path[-1]), first_key_path)
                for key_path, first_key_path in pairs
                if new.column_part(str(key_path[-1]), key_path)
                != new.column_part(str(first_key_path[-1]), first_key_path)
            }
        is_whole = len(path) == 1 or path[-2] is ELEMENT
        return {format_path(path): name} if is_whole else {}

    def _identifiers(self, naming: Naming, source_names: Mapping[str, str]) -> Identifiers:
        return Identifiers(naming, self._config, {parse_path(path): name for path, name in source_names.items()})

    def _note(self, table: str, column: str | None, name: str) -> None:
        if name != (table if column is None else column):
            self.renamed[table, column] = name

    def _table(self, table: Table, root: str, new_root: str) -> str:
        parts = self._old.break_path(table.name.removeprefix(root)) if table.name.startswith(root) else None
        if parts is None:
            parts, new_root = self._old.break_path(table.name), ""
        return self._new.shorten_fragments(new_root, *map(self._new.normalize_table_identifier, parts))

    def _column(self, table: Table, column: Column) -> str:
        base = base_of(column, table, self._old) if column.is_variant else None
        if base is None:
            return self._new.shorten_fragments(*map(self._new.normalize_identifier, self._old.break_path(column.name)))
        endings = (
            ending for ending in VARIANT_ENDINGS if self._old.shorten_fragments(base.name, ending) == column.name
        )
        ending = next(endings)
        return self._new.shorten_fragments(self.renamed.get((table.name, base.name), base.name), ending)
