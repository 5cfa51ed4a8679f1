"""Lineage: the source paths that feed the tables and columns of a schema. Stored next to the schema's export file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from schemactl.errors import InputError, Location
from schemactl.schema.paths import format_path
from schemactl.schema.types import DataType, Schema

if TYPE_CHECKING:
    from schemactl.inference.evidence import Evidence
    from schemactl.inference.resolve import Resolution, TakenClass

MARK: Final = "schemactl_lineage"
FORMAT: Final = 1
ENDING: Final = ".lineage.json"

Read = TypeVar("Read")

Kinds = Mapping[str, tuple[str, ...]]
"""Source paths (JSONPath, as ``format_path`` writes them), each with the kinds of its values, sorted."""

Sources = Mapping[tuple[str, str | None], tuple[str, ...]]
"""Source paths by table and column; under column None, the paths whose values make the table's rows."""


@dataclass(frozen=True, slots=True)
class TableLineage:
    """The source paths of one table: the paths of its rows, and the paths that feed each column."""

    rows: tuple[str, ...] = ()
    columns: Mapping[str, Kinds] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lineage:
    """The sources of the tables of a schema, by name."""

    tables: Mapping[str, TableLineage] = field(default_factory=dict)

    @property
    def sources(self) -> Sources:
        """The source paths, without kinds, by table and column."""
        rows = {(name, None): table.rows for name, table in self.tables.items()}
        return rows | {
            (name, column): tuple(kinds)
            for name, table in self.tables.items()
            for column, kinds in table.columns.items()
        }


def lineage_of(evidence: Evidence, resolution: Resolution, schema: Schema) -> Lineage:
    """Return the source paths of the tables and columns that data feeds and that the contract leaves in ``schema``."""
    columns: dict[str, dict[str, Kinds]] = {}
    for (name, column), taken_classes in resolution.taken.items():
        if name in schema.tables and column in schema.tables[name].columns:
            columns.setdefault(name, {})[column] = _kinds(evidence, taken_classes)
    rows = {name: tuple(map(format_path, paths)) for name, paths in resolution.rows.items() if name in schema.tables}
    return Lineage({name: TableLineage(paths, columns.get(name, {})) for name, paths in rows.items()})


def _kinds(evidence: Evidence, taken_classes: Iterable[TakenClass]) -> Kinds:
    """Return the kinds of values that a column takes from each path."""
    # Reviews only read lineage, and should not wait for these imports.
    from schemactl.inference.classes import type_of_class
    from schemactl.inference.values import DECLARED

    kinds_by_path: dict[str, set[str]] = {}
    for path, name in taken_classes:
        types = evidence.declared_types(path) if name == DECLARED else {type_of_class(name) or DataType.JSON}
        kinds_by_path.setdefault(format_path(path), set()).update(map(str, types))
    return {path: tuple(sorted(kinds)) for path, kinds in kinds_by_path.items()}


def merge(earlier: Lineage, later: Lineage) -> Lineage:
    """Return both together, tables, columns and paths of ``earlier`` first."""
    tables = dict(earlier.tables)
    for name, table in later.tables.items():
        earlier_table = tables.get(name, TableLineage())
        columns = {column: dict(kinds) for column, kinds in earlier_table.columns.items()}
        for column, kinds in table.columns.items():
            merged = columns.setdefault(column, {})
            merged |= {path: tuple(sorted({*merged.get(path, ()), *path_kinds})) for path, path_kinds in kinds.items()}
        tables[name] = TableLineage(tuple(dict.fromkeys((*earlier_table.rows, *table.rows))), columns)
    return Lineage(tables)


def to_json(lineage: Lineage) -> str:
    """Return the text of a lineage file, equal for equal lineage."""
    tables = {
        name: {
            "rows": list(table.rows),
            "columns": {
                column: [{"path": path, "kinds": list(kinds)} for path, kinds in sources.items()]
                for column, sources in table.columns.items()
            },
        }
        for name, table in lineage.tables.items()
    }
    return json.dumps({MARK: FORMAT, "tables": tables}, ensure_ascii=False, indent=2) + "\n"


def from_json(text: str, path: str) -> Lineage:
    """Read the text of a lineage file."""

    def table(stored: Mapping[str, Any]) -> TableLineage:
        columns = {
            column: {source["path"]: tuple(source["kinds"]) for source in sources}
            for column, sources in stored["columns"].items()
        }
        return TableLineage(tuple(stored["rows"]), columns)

    def lineage(stored: Mapping[str, Any]) -> Lineage:
        return Lineage({name: table(table_lineage) for name, table_lineage in stored["tables"].items()})

    return read_marked(text, path, MARK, "lineage", lineage)


def read_marked(text: str, path: str, mark: str, subject: str, read: Callable[[Mapping[str, Any]], Read]) -> Read:
    """Parse a JSON file whose key ``mark`` holds the format number; ``subject`` names its content in errors."""
    try:
        stored = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"this is not JSON: {error.msg}", at=Location(path, error.lineno, error.colno)) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"this is not {subject}: {error}", at=Location(path)) from error
    if not isinstance(stored, dict) or mark not in stored:
        raise InputError(f"this is not {subject}", at=Location(path), hint=f"its first key would be `{mark}`")
    if stored[mark] != FORMAT:
        raise InputError(
            f"this {subject} has format {stored[mark]}, but schemactl supports format {FORMAT}", at=Location(path)
        )
    try:
        return read(stored)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"this {subject} is damaged: {error}", at=Location(path)) from error
