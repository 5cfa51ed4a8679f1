"""Finds the dependents of a DuckDB file's tables (indexes, constraints, comments), and the steps that they block."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from schemactl.destinations.duckdb.session import DuckDbSession
from schemactl.errors import backquoted
from schemactl.migration.records import Blocker
from schemactl.migration.steps import AddColumn, ChangeType, CreateTable, DropColumn, DropTable, RenameColumn, Step
from schemactl.schema.quoting import literal
from schemactl.schema.types import Column
from schemactl.type_systems.ddl import Dialect

_COLLATE: Final = re.compile(r"\bcollate\b", re.IGNORECASE)
_QUOTED: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")


@dataclass(frozen=True, slots=True)
class Dependents:
    """The dependents of one table, which a schema does not contain.

    Attributes:
        indexes: names of indexes that people created; keys are not among them.
        referring: names of tables whose foreign keys refer to it.
        constraints: kind and columns of each constraint except NOT NULL.
        defaults: columns with a default, and generated columns.
        has_collation: whether a column has its own collation.
        comments: of columns by their names, of the table under the empty name.
    """

    indexes: tuple[str, ...] = ()
    referring: tuple[str, ...] = ()
    constraints: tuple[tuple[str, Sequence[str]], ...] = ()
    defaults: tuple[str, ...] = ()
    has_collation: bool = False
    comments: tuple[tuple[str, str], ...] = ()

    def of_column(self, kind: str, column: str) -> bool:
        """Return whether a constraint of one kind is about a column."""
        folded = column.lower()
        return any(constraint == kind and folded in map(str.lower, columns) for constraint, columns in self.constraints)

    def of_column_alone(self, column: str) -> list[str]:
        """Return the dependents that go with a column which gets another name."""
        folded = column.lower()
        return [
            *(["its CHECK"] if self.of_column("CHECK", column) else []),
            *(["its default"] if folded in map(str.lower, self.defaults) else []),
            *(["its comment"] if folded in (name.lower() for name, _ in self.comments) else []),
        ]

    def lost_by_copy(self, dropped: Collection[str]) -> list[str]:
        """Return the dependents that a copy of the table would lose; ``dropped`` columns go anyhow."""
        kinds = sorted({kind for kind, _ in self.constraints if kind in ("CHECK", "FOREIGN KEY")})
        several = (columns for kind, columns in self.constraints if kind == "UNIQUE" and len(columns) > 1)
        return [
            *kinds,
            *(f"UNIQUE ({', '.join(columns)})" for columns in several),
            *(f"DEFAULT of `{name}`" for name in self.defaults if name.lower() not in map(str.lower, dropped)),
            *(["COLLATE"] if self.has_collation else []),
        ]


_CONSTRAINTS: Final = "FROM duckdb_constraints() {where} AND constraint_type <> 'NOT NULL'"
_READ: Final = (
    ("indexes", "SELECT table_name, index_name FROM duckdb_indexes() {where} ORDER BY ALL"),
    ("constraints", f"SELECT table_name, constraint_type, constraint_column_names {_CONSTRAINTS}"),
    ("referring", f"SELECT referenced_table, table_name {_CONSTRAINTS} AND referenced_table <> ''"),
    ("defaults", "SELECT table_name, column_name FROM duckdb_columns() {where} AND column_default IS NOT NULL"),
    ("comments", "SELECT table_name, column_name, comment FROM duckdb_columns() {where} AND comment IS NOT NULL"),
    ("comments", "SELECT table_name, '', comment FROM duckdb_tables() {where} AND comment IS NOT NULL"),
)
"""Queries of tables, each with the field of ``Dependents`` that it fills."""


def read_dependents(database: DuckDbSession, dataset: str) -> dict[str, Dependents]:
    """Return the dependents of each table that has any, by its name in lower case."""
    where = f"WHERE database_name = current_database() AND schema_name = {literal(dataset)}"
    fields_by_table: dict[str, dict[str, Any]] = {}
    for name, query in _READ:
        for table, *values in database.query(query.format(where=where)):
            fields = fields_by_table.setdefault(table.lower(), {})
            fields[name] = (*fields.get(name, ()), values[0] if len(values) == 1 else tuple(values))
    for table, definition in database.query(f"SELECT table_name, sql FROM duckdb_tables() {where}"):
        if _COLLATE.search(_QUOTED.sub("", definition)):
            fields_by_table.setdefault(table.lower(), {})["has_collation"] = True
    return {table: Dependents(**fields) for table, fields in fields_by_table.items()}


def blocker_of(step: Step, dependents: Dependents, is_copied: bool) -> Blocker | None:
    """Return why DuckDB does not take a step, by a copy of its table or without one; None if it does."""
    table = step.table_name
    if isinstance(step, AddColumn | CreateTable | DropTable):
        return None  # objects that refer to a dropped table may be dropped before
    if dependents.referring:
        table_list = backquoted(dependents.referring)
        return Blocker(
            f"foreign keys of {table_list} refer to `{table}`, so DuckDB cannot alter it",
            "recreate the tables without foreign keys first",
        )
    if dependents.indexes:
        return Blocker(
            f"`{table}` has the index {backquoted(dependents.indexes)}, so DuckDB cannot alter it",
            "drop it, migrate, recreate it",
        )
    if is_copied:
        dropped = (step.column.name,) if isinstance(step, DropColumn) else ()
        return copy_blocker(table, dependents, dropped)
    return _of_column(step, dependents)


def copy_blocker(table: str, dependents: Dependents, dropped: Collection[str] = ()) -> Blocker | None:
    """Return why a table cannot be copied: the dependents that the copy would lose; None if it loses nothing."""
    lost = [*dependents.lost_by_copy(dropped), *(f"index `{name}`" for name in dependents.indexes)]
    if not lost:
        return None
    return Blocker(
        f"a copy of `{table}` would lose its {', '.join(lost)}",
        "remove it first, or change the table by hand and run `schemactl migrate baseline`",
    )


def _of_column(step: Step, dependents: Dependents) -> Blocker | None:
    """Return why DuckDB does not change a column in its place."""
    kinds: tuple[str, ...]
    match step:
        case ChangeType():
            name, kinds = step.before.name, ("CHECK", "FOREIGN KEY")
        case DropColumn():
            name, kinds = step.column.name, ("FOREIGN KEY",)
        case RenameColumn():
            name, kinds = step.before, ("FOREIGN KEY",)
        case _:
            return None
    kind = next((constraint for constraint in kinds if dependents.of_column(constraint, name)), None)
    if kind is None:
        return None
    return Blocker(
        f"`{step.table}.{name}` has a {kind} constraint, so DuckDB cannot alter it",
        "recreate the table without it first",
    )


def comments_again(dataset: str, table: str, dependents: Dependents, columns: Collection[str]) -> Sequence[str]:
    """Return the statements that restore the comments on a table's copy; ``columns`` are the copy's."""
    sql = Dialect("duckdb")
    return [
        sql.describe(sql.place(dataset, table), Column(name) if name else None, text)
        for name, text in dependents.comments
        if not name or name.lower() in map(str.lower, columns)
    ]
