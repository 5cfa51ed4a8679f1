"""Names under another naming convention, made anew from where in the data the values of tables and columns stand.

The keys of the data say what the other convention makes of them; lineage knows the keys. What no data is known of is
made anew from the name that it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from schemactl.errors import InputError
from schemactl.inference.fitting import Name, place, with_names
from schemactl.inference.identifiers import Identifiers
from schemactl.inference.lineage import Lineage, TableLineage
from schemactl.schema.contract import system_prefix
from schemactl.schema.judgment import base_of
from schemactl.schema.naming import Naming, load_naming, naming_of
from schemactl.schema.paths import ELEMENT, Path, format_path, parse_path
from schemactl.schema.settings import NormalizerConfig
from schemactl.schema.types import VARIANT_ENDINGS, Column, Properties, Schema, Table, root_of

SOURCE_NAMES: Final = "x-source-names"
"""Property of a root table: names that source keys were given, by JSONPath; other keys go by the convention."""


@dataclass(frozen=True, slots=True)
class Renaming:
    """The names of a schema under another naming convention.

    Attributes:
        convention: its reference.
        renamed: the new name of each table and column that has one; columns by the old name of their table.
        source_names: by root table, keys of the data that go on sharing a column with others, with its name.
    """

    convention: str
    renamed: Mapping[Name, str]
    source_names: Mapping[str, Mapping[str, str]]

    def of_schema(self, schema: Schema) -> Schema:
        """Return a schema under the new names: the one that they were found for, or a part of it."""
        rooted = {
            name: replace(table, properties={**table.properties, SOURCE_NAMES: dict(self.source_names[name])})
            if self.source_names.get(name)
            else table
            for name, table in schema.tables.items()
        }
        named = with_names(replace(schema, tables=rooted), self.renamed)
        normalizers = {**named.normalizers, "names": self.convention}
        return replace(named, normalizers=normalizers, settings=self._settings(schema.settings))

    def of_lineage(self, lineage: Lineage) -> Lineage:
        """Return lineage under the new names."""
        tables = {}
        for name, table in lineage.tables.items():
            columns = {self.renamed.get((name, column), column): kinds for column, kinds in table.columns.items()}
            tables[self.renamed.get((name, None), name)] = TableLineage(table.rows, columns)
        return Lineage(tables)

    def _settings(self, settings: Properties) -> Properties:
        """Return settings whose patterns that are whole names are those of the renamed columns."""
        found: dict[str, set[str]] = {}
        for (_, column), new in self.renamed.items():
            if column is not None:
                found.setdefault(column, set()).add(new)
        names = {old: new.pop() for old, new in found.items() if len(new) == 1}
        changed: dict[str, Any] = dict(settings)
        if hints := settings.get("default_hints"):
            renamed = {hint: [names.get(each, each) for each in patterns] for hint, patterns in hints.items()}
            changed["default_hints"] = renamed
        if preferred := settings.get("preferred_types"):
            changed["preferred_types"] = {names.get(pattern, pattern): of for pattern, of in preferred.items()}
        return changed


def find_names(schema: Schema, convention: str, lineage: Lineage) -> Renaming:
    """Return what a naming convention makes of the names of a schema.

    Raises:
        InputError: there is no such convention, it names dlt's own tables otherwise, or two names become one.
    """
    finder = _Finder(schema, naming_of(schema), load_naming(convention), lineage)
    for table in schema.tables.values():
        finder.add(table)
    found = Renaming(convention, finder.renamed, finder.source_names)
    _check(schema, found)
    return found


def _check(schema: Schema, found: Renaming) -> None:
    prefix = system_prefix(naming_of(schema))
    if own := next((name for at in found.renamed for name in at if name and name.startswith(prefix)), None):
        message = f"the naming convention `{found.convention}` gives dlt's own `{own}` another name"
        raise InputError(message, hint="begin a schema of another name with it")
    for table in schema.tables.values():
        taken: dict[str, str] = {}
        for column in table.columns:
            name = found.renamed.get((table.name, column), column)
            if name in taken:
                message = f"`{taken[name]}` and `{column}` of `{table.name}` would both be `{name}`"
                raise InputError(message, hint="rename one of them in the data, or keep the naming convention")
            taken[name] = column
    tables = [found.renamed.get((name, None), name) for name in schema.tables]
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
        stated = self._schema.tables[root]
        known: Mapping[str, str] = stated.properties.get(SOURCE_NAMES) or {}
        source = str(stated.properties.get("resource") or root)
        source = source if self._identifiers(self._old, known).table(source) == root else root
        kept = {path: self._new.normalize_identifier(name) for path, name in known.items()}
        kept |= self.source_names.get(root, {})
        old, new = self._identifiers(self._old, known), self._identifiers(self._new, kept)
        made = self._lineage.tables.get(table.name, TableLineage())
        rows = [parse_path(path) for path in made.rows]
        of_data = [path for path in rows if place(path, root, old)[0] == table.name]
        new_root = new.table(source)
        name = place(of_data[0], new_root, new)[0] if of_data else self._table(table, root, new_root)
        self._note(table.name, None, name)
        # Variants are named by their columns.
        for column in sorted(table.columns.values(), key=lambda each: each.is_variant):
            paths = [parse_path(path) for path in made.columns.get(column.name, ())]
            of_data = [path for path in paths if place(path, root, old) == (table.name, column.name)]
            if column.name in self._targets and self._new.normalize_identifier(column.name) == column.name:
                continue
            if not of_data or column.is_variant:
                self._note(table.name, column.name, self._column(table, column))
                continue
            first, *others = of_data
            name = place(first, root, new)[1]
            self._note(table.name, column.name, name)
            for path in others:
                kept |= self._kept_together(path, first, root, new, name)
        if kept:
            self.source_names.setdefault(root, {}).update(kept)

    def _kept_together(self, path: Path, first: Path, root: str, new: Identifiers, name: str) -> dict[str, str]:
        """Return the names for keys that lead to one column, and would lead to two under the new convention."""
        if place(path, root, new)[1] == name:
            return {}
        if len(path) == len(first):
            pairs = [(path[: at + 1], first[: at + 1]) for at in range(len(path)) if path[at] is not ELEMENT]
            return {
                format_path(mine): new.column_part(str(theirs[-1]), theirs)
                for mine, theirs in pairs
                if new.column_part(str(mine[-1]), mine) != new.column_part(str(theirs[-1]), theirs)
            }
        is_whole = len(path) == 1 or path[-2] is ELEMENT
        return {format_path(path): name} if is_whole else {}

    def _identifiers(self, naming: Naming, known: Mapping[str, str]) -> Identifiers:
        return Identifiers(naming, self._config, {parse_path(path): name for path, name in known.items()})

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
        endings = (each for each in VARIANT_ENDINGS if self._old.shorten_fragments(base.name, each) == column.name)
        ending = next(endings)
        return self._new.shorten_fragments(self.renamed.get((table.name, base.name), base.name), ending)
