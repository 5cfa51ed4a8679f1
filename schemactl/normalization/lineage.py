"""Lineage: which source paths the tables and columns of a schema are fed from. Kept beside the schema's export."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from schemactl.errors import InputError, Location
from schemactl.inference.paths import format_path
from schemactl.normalization.plan import Plan, Rows

MARK: Final = "schemactl_lineage"
FORMAT: Final = 1
ENDING: Final = ".lineage.json"

Kinds = Mapping[str, tuple[str, ...]]
"""Source paths (JSONPath, as ``format_path`` writes them), each with the kinds of its values, sorted."""


@dataclass(frozen=True, slots=True)
class TableLineage:
    """Where one table comes from.

    Attributes:
        rows: the paths of what makes its rows.
        columns: for each column that data feeds the paths of the values that it may take.
    """

    rows: tuple[str, ...] = ()
    columns: Mapping[str, Kinds] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where the tables of a schema come from, by name."""

    tables: Mapping[str, TableLineage] = field(default_factory=dict)


def lineage_of(plan: Plan) -> Lineage:
    """Return the lineage of what a plan loads; what contracts refuse and what dlt makes itself is not in it."""
    lineage = Lineage()
    for rows in _loaded(plan.rows):
        lineage = merge(lineage, Lineage({rows.table: _of_rows(rows)}))
    return lineage


def merge(earlier: Lineage, later: Lineage) -> Lineage:
    """Return both together, tables, columns and paths of the earlier one first."""
    tables = dict(earlier.tables)
    for name, table in later.tables.items():
        known = tables.get(name, TableLineage())
        columns = dict(known.columns)
        for column, kinds in table.columns.items():
            columns[column] = _merge_kinds(columns.get(column, {}), kinds)
        tables[name] = TableLineage(tuple(dict.fromkeys((*known.rows, *table.rows))), columns)
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
    """Read what ``to_json`` has written.

    Args:
        text: the content of the file.
        path: of the file, for messages.

    Raises:
        InputError: the text is no lineage, or of a later format.
    """
    try:
        stored = json.loads(text)
    except ValueError as error:
        raise InputError(f"this is no JSON: {error}", at=Location(path)) from error
    if not isinstance(stored, dict) or MARK not in stored:
        raise InputError("this is no lineage", at=Location(path), hint=f"its first key would be `{MARK}`")
    if stored[MARK] != FORMAT:
        raise InputError(f"this lineage is of format {stored[MARK]}, and {FORMAT} is known", at=Location(path))
    try:
        return Lineage({name: _table(table) for name, table in stored["tables"].items()})
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"this lineage is damaged: {error}", at=Location(path)) from error


def _table(stored: Mapping[str, Any]) -> TableLineage:
    columns = {
        column: {source["path"]: tuple(source["kinds"]) for source in sources}
        for column, sources in stored["columns"].items()
    }
    return TableLineage(tuple(stored["rows"]), columns)


def _loaded(rows: Rows) -> list[Rows]:
    if rows.refusal is not None:
        return []
    return [rows, *(each for below in rows.lists for each in _loaded(below))]


def _of_rows(rows: Rows) -> TableLineage:
    columns: dict[str, Kinds] = {}
    for cell in (*rows.cells, *rows.own_key):
        for kind, targets in cell.targets.items():
            for target in targets:
                if target.refusal is None:
                    name, source = target.column.name, {format_path(cell.path): (kind,)}
                    columns[name] = _merge_kinds(columns.get(name, {}), source)
    return TableLineage((format_path(rows.path),), columns)


def _merge_kinds(earlier: Kinds, later: Kinds) -> Kinds:
    merged = dict(earlier)
    for path, kinds in later.items():
        merged[path] = tuple(sorted({*merged.get(path, ()), *kinds}))
    return merged
