"""Lineage: which source paths the tables and columns of a schema are fed from. Kept beside the schema's export."""

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
    from schemactl.inference.resolve import Resolution, Taken

MARK: Final = "schemactl_lineage"
FORMAT: Final = 1
ENDING: Final = ".lineage.json"

Read = TypeVar("Read")

Kinds = Mapping[str, tuple[str, ...]]
"""Source paths (JSONPath, as ``format_path`` writes them), each with the kinds of its values, sorted."""

Sources = Mapping[tuple[str, str | None], tuple[str, ...]]
"""Source paths by table and column; those that make a table's rows under no column."""


@dataclass(frozen=True, slots=True)
class TableLineage:
    """The sources of one table: the paths of what makes its rows, and of the values that each column may take."""

    rows: tuple[str, ...] = ()
    columns: Mapping[str, Kinds] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lineage:
    """The sources of the tables of a schema, by name."""

    tables: Mapping[str, TableLineage] = field(default_factory=dict)

    @property
    def sources(self) -> Sources:
        """The source paths alone, by table and column."""
        rows = {(name, None): table.rows for name, table in self.tables.items()}
        return rows | {
            (name, column): tuple(kinds)
            for name, table in self.tables.items()
            for column, kinds in table.columns.items()
        }


def lineage_of(evidence: Evidence, resolution: Resolution, schema: Schema) -> Lineage:
    """Return where the tables and columns come from that data feeds.

    Nothing is fed but what the contract leaves in ``schema``.
    """
    columns: dict[str, dict[str, Kinds]] = {}
    for (name, column), taken in resolution.taken.items():
        if name in schema.tables and column in schema.tables[name].columns:
            columns.setdefault(name, {})[column] = _kinds(evidence, taken)
    rows = {name: tuple(map(format_path, found)) for name, found in resolution.rows.items() if name in schema.tables}
    return Lineage({name: TableLineage(paths, columns.get(name, {})) for name, paths in rows.items()})


def _kinds(evidence: Evidence, taken: Iterable[Taken]) -> Kinds:
    """Return the kinds of values that a column takes from each path."""
    # Reviews read lineage alone, and should not wait for what infers.
    from schemactl.inference.classes import type_of_class
    from schemactl.inference.values import TYPED

    found: dict[str, set[str]] = {}
    for path, name in taken:
        types = evidence.stated_types(path) if name == TYPED else {type_of_class(name) or DataType.JSON}
        found.setdefault(format_path(path), set()).update(map(str, types))
    return {path: tuple(sorted(kinds)) for path, kinds in found.items()}


def merge(earlier: Lineage, later: Lineage) -> Lineage:
    """Return both together, tables, columns and paths of the earlier one first."""
    tables = dict(earlier.tables)
    for name, table in later.tables.items():
        known = tables.get(name, TableLineage())
        columns = {column: dict(kinds) for column, kinds in known.columns.items()}
        for column, kinds in table.columns.items():
            merged = columns.setdefault(column, {})
            merged |= {path: tuple(sorted({*merged.get(path, ()), *of})) for path, of in kinds.items()}
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

    Raises:
        InputError: the text is no lineage, or of a later format.
    """

    def table(stored: Mapping[str, Any]) -> TableLineage:
        columns = {
            column: {source["path"]: tuple(source["kinds"]) for source in sources}
            for column, sources in stored["columns"].items()
        }
        return TableLineage(tuple(stored["rows"]), columns)

    def lineage(stored: Mapping[str, Any]) -> Lineage:
        return Lineage({name: table(each) for name, each in stored["tables"].items()})

    return read_marked(text, path, MARK, "lineage", lineage)


def read_marked(text: str, path: str, mark: str, what: str, read: Callable[[Mapping[str, Any]], Read]) -> Read:
    """Return what ``read`` makes of a file of JSON whose key ``mark`` has its format; ``what`` it is.

    Raises:
        InputError: the text is none, or of a later format.
    """
    try:
        stored = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"this is not JSON: {error.msg}", at=Location(path, error.lineno, error.colno)) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"this is not {what}: {error}", at=Location(path)) from error
    if not isinstance(stored, dict) or mark not in stored:
        raise InputError(f"this is not {what}", at=Location(path), hint=f"its first key would be `{mark}`")
    if stored[mark] != FORMAT:
        raise InputError(f"this {what} is of format {stored[mark]}, and {FORMAT} is known", at=Location(path))
    try:
        return read(stored)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"this {what} is damaged: {error}", at=Location(path)) from error
