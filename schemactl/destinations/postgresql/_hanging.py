"""What hangs on the columns of PostgreSQL's tables, and keeps them from steps whatever their values are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

from schemactl.destinations._migration.records import Hindrance
from schemactl.destinations._session import literal
from schemactl.migration.steps import ChangeType, DropColumn, DropTable, RenameColumn, Step
from schemactl.schema.types import Column, DataType

_DEPENDENTS: Final = """
SELECT DISTINCT CASE WHEN g.attname IS NULL THEN 'object' ELSE 'generated' END, a.attname,
    CASE WHEN r.oid IS NOT NULL THEN pg_describe_object('pg_class'::regclass, r.ev_class, 0)
        WHEN g.attname IS NOT NULL THEN pg_describe_object('pg_class'::regclass, g.attrelid, g.attnum)
        ELSE pg_describe_object(d.classid, d.objid, 0) END
FROM pg_depend d
    LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
    LEFT JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
    LEFT JOIN pg_attrdef e ON d.classid = 'pg_attrdef'::regclass AND e.oid = d.objid AND e.adnum <> d.refobjsubid
    LEFT JOIN pg_attribute g ON g.attrelid = e.adrelid AND g.attnum = e.adnum AND g.attgenerated <> ''
WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = {table}
    AND ((r.oid IS NOT NULL AND r.ev_class <> d.refobjid) OR g.attname IS NOT NULL
        OR (d.classid IN ('pg_trigger'::regclass, 'pg_policy'::regclass, 'pg_proc'::regclass) AND d.refobjsubid > 0))
"""
"""Views, generated columns, functions; triggers and policies that are about certain columns."""

_COLUMNS: Final = """
SELECT CASE WHEN a.attinhcount > 0 THEN 'inherited' WHEN a.attgenerated <> '' THEN 'is generated'
    WHEN a.attidentity <> '' THEN 'identity' ELSE 'default' END,
    a.attname, COALESCE(pg_get_expr(e.adbin, e.adrelid), '')
FROM pg_attribute a LEFT JOIN pg_attrdef e ON e.adrelid = a.attrelid AND e.adnum = a.attnum
WHERE a.attrelid = {table} AND a.attnum > 0 AND NOT a.attisdropped
    AND (e.oid IS NOT NULL OR a.attidentity <> '' OR a.attinhcount > 0)
"""
_KEYS: Final = """
SELECT 'foreign key', a.attname, c.conname
FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = {table}
    AND ((c.conrelid = a.attrelid AND a.attnum = ANY (c.conkey))
        OR (c.confrelid = a.attrelid AND a.attnum = ANY (c.confkey)))
WHERE c.contype = 'f' AND c.conparentid = 0
UNION ALL
SELECT 'partition key', a.attname, ''
FROM pg_partitioned_table p JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = ANY (p.partattrs)
WHERE p.partrelid = {table}
"""
_IS_CAST: Final = """
SELECT EXISTS (SELECT 1 FROM pg_attribute a JOIN pg_type t ON t.oid = {type}::regtype
    WHERE a.attrelid = {table} AND a.attname = {column} AND (a.atttypid = t.oid OR t.typcategory = 'S' OR EXISTS (
        SELECT 1 FROM pg_cast c WHERE c.castsource = a.atttypid AND c.casttarget = t.oid AND c.castcontext <> 'e')))
"""
"""Whether a default of a column can be one of another type, too: PostgreSQL converts it by itself, or not at all."""


class _Asked(Protocol):
    def query(self, statement: str) -> list[tuple[Any, ...]]: ...

    def column_type(self, column: Column) -> str: ...


def find_hindrance(database: _Asked, dataset: str, step: Step) -> Hindrance | None:
    """Return why PostgreSQL does not take a step; None where it does.

    Of tables that refer to a dropped one, and of CHECKs whose expression does not take another type, PostgreSQL itself
    tells when the step runs.

    Args:
        database: where.
        dataset: the schema of the step's table.
        step: in the names that table and column have now.
    """
    match step:
        case DropTable():
            found = _dependents(database, _oid(dataset, step.table.name), None)
            return _needed(f"`{step.table.name}`", found)
        case DropColumn():
            return _of_dropped(database, dataset, step.table, step.column.name)
        case RenameColumn():
            kinds = [kind for kind, _ in _of_column(database, _COLUMNS, _oid(dataset, step.table), step.before)]
            return _inherited(step.table, step.before) if "inherited" in kinds else None
        case ChangeType():
            return _of_changed(database, dataset, step)
        case _:
            return None


def _oid(dataset: str, table: str) -> str:
    """Return a query of the table's number; null where it is not there."""
    return (
        "(SELECT t.oid FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace"
        f" WHERE n.nspname = {literal(dataset)} AND t.relname = {literal(table)})"
    )


def _of_column(database: _Asked, query: str, table: str, column: str) -> list[tuple[str, str]]:
    rows = database.query(query.format(table=table))
    return sorted((kind, what) for kind, name, what in rows if name == column)


def _dependents(database: _Asked, table: str, column: str | None) -> list[str]:
    """Return what is no part of the table and needs the column; None: any, or none of them."""
    rows = database.query(_DEPENDENTS.format(table=table))
    return sorted({what for kind, name, what in rows if kind == "object" and column in (None, name)})


def _needed(what: str, found: Sequence[str]) -> Hindrance | None:
    if not found:
        return None
    verb, them = ("needs", "it") if len(found) == 1 else ("need", "them")
    hint = f"drop {them} before, and make {them} again afterwards where still wanted"
    return Hindrance(f"{', '.join(found)} {verb} {what}", hint)


def _inherited(table: str, column: str) -> Hindrance:
    return Hindrance(f"`{table}.{column}` is inherited from another table", "change that table: this one follows")


def _of_dropped(database: _Asked, dataset: str, table: str, column: str) -> Hindrance | None:
    place = _oid(dataset, table)
    kinds = {kind for kind, _ in _of_column(database, _COLUMNS, place, column)}
    if "inherited" in kinds:
        return _inherited(table, column)
    if any(kind == "partition key" for kind, _ in _of_column(database, _KEYS, place, column)):
        return _partitioned(table, column)
    return _needed(f"`{table}.{column}`", _dependents(database, place, column))


def _partitioned(table: str, column: str) -> Hindrance:
    return Hindrance(f"`{table}` is partitioned by `{column}`", "make the table anew")


def _of_changed(database: _Asked, dataset: str, step: ChangeType) -> Hindrance | None:
    table, column, place = step.table, step.before.name, _oid(dataset, step.table)
    name = f"`{table}.{column}`"
    dependents = sorted({what for _, what in _of_column(database, _DEPENDENTS, place, column)})
    if dependents:
        return _needed(name, dependents)
    for kind, what in _of_column(database, _COLUMNS, place, column):
        match kind:
            case "inherited":
                return _inherited(table, column)
            case "is generated":
                return Hindrance(f"{name} is generated", "state the type that is there, or make the column anew")
            case "identity" if step.after.data_type is not DataType.BIGINT:
                hint = f'ALTER TABLE "{table}" ALTER COLUMN "{column}" DROP IDENTITY'
                return Hindrance(f"{name} is an identity column, which is of integers", f"take that from it: `{hint}`")
            case "default" if not _keeps_default(database, place, step):
                hint = "drop the default before, and set one of the new type afterwards"
                return Hindrance(
                    f"the default of {name}, `{what}`, does not become {database.column_type(step.after)}", hint
                )
    for kind, what in _of_column(database, _KEYS, place, column):
        if kind == "partition key":
            return _partitioned(table, column)
        if step.before.data_type is not step.after.data_type:
            return Hindrance(f"{name} is in the foreign key `{what}`", "drop that before, and change both sides")
    return None


def _keeps_default(database: _Asked, table: str, step: ChangeType) -> bool:
    wanted = literal(database.column_type(step.after))
    rows = database.query(_IS_CAST.format(table=table, column=literal(step.before.name), type=wanted))
    return bool(rows[0][0])
