"""Finds the dependents of columns of PostgreSQL's tables (indexes, views, constraints), and the steps they block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from schemactl.destinations.postgresql.catalogue import TYPE_DEFINITION_OF
from schemactl.destinations.postgresql.session import PostgresSession
from schemactl.destinations.postgresql.types import WITH_TEXTS, column_type, has_texts, is_builtin, type_name
from schemactl.migration.records import Blocker
from schemactl.migration.steps import (
    Backfill,
    ChangeType,
    CreateTable,
    DropColumn,
    DropTable,
    Phase,
    Prepare,
    RenameColumn,
    Step,
)
from schemactl.schema.quoting import literal, qualify, quote
from schemactl.schema.structure import DATABASE_TYPE, TYPE_DEFINITION
from schemactl.schema.types import DataType

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
    AND NOT EXISTS (SELECT FROM pg_trigger o
        WHERE d.classid = 'pg_trigger'::regclass AND o.oid = d.objid AND starts_with(o.tgname, '_schemactl_sync'))
"""
"""Views, generated columns, functions; policies and triggers about certain columns, except triggers of ``online``."""

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
_RELATED: Final = f"({_DEPENDENTS}) UNION ALL ({_COLUMNS}) UNION ALL ({_KEYS})"
_NEEDS_COLUMN: Final = ("object", "generated")
"""The kinds of ``_DEPENDENTS``."""
_REFERRING: Final = """
SELECT conname, conrelid::regclass::text FROM pg_constraint
WHERE contype = 'f' AND confrelid = {table} AND conrelid <> confrelid
"""
"""Foreign keys of other tables."""

_ASKING: Final = """
SELECT DISTINCT pg_describe_object(d.classid, d.objid, 0)
FROM pg_depend d
    JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid AND a.attname = {column}
    LEFT JOIN pg_class i ON d.classid = 'pg_class'::regclass AND i.oid = d.objid AND i.relkind = 'i'
    LEFT JOIN pg_constraint c ON d.classid = 'pg_constraint'::regclass AND c.oid = d.objid AND c.contype IN ('c', 'x')
WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = {table} AND (i.oid IS NOT NULL OR c.oid IS NOT NULL)
ORDER BY 1
"""
"""CHECKs and indexes that refer to a column: some of them do not accept another type."""

_COMMENT: Final = """
SELECT 1 FROM pg_attribute a WHERE a.attrelid = {table} AND a.attname = {column}
    AND col_description(a.attrelid, a.attnum) IS NOT NULL
"""

_WITHOUT_TEXTS: Final = """
WITH RECURSIVE made AS (
    SELECT t.oid, t.typtype, t.typbasetype, t.typcategory, t.typname
    FROM pg_type t JOIN pg_attribute a ON a.atttypid = t.oid
    WHERE a.attrelid = {table} AND a.attname = {column}
    UNION ALL
    SELECT t.oid, t.typtype, t.typbasetype, t.typcategory, t.typname
    FROM pg_type t JOIN made ON made.typtype = 'd' AND t.oid = made.typbasetype
)
SELECT typname FROM made WHERE typtype <> 'd' AND typtype <> 'e' AND typcategory <> 'S' AND typname NOT IN ({known})
"""
"""The base type of a column whose values have no texts: no enum, no kind of text, no domain over them."""


Trial = Callable[[ChangeType], str | None]
"""Returns PostgreSQL's error for a change of type; None if it accepts the change."""


def find_blocker(database: PostgresSession, dataset: str, step: Step, trial: Trial) -> Blocker | None:
    """Return why PostgreSQL refuses a step, in the names that table and column have now; None if it does not.

    If tables refer to a dropped table, PostgreSQL itself reports them when the step runs. ``trial`` changes a type on a
    copy of the table without rows.
    """
    match step:
        case CreateTable() if step.kept:
            rows = database.query(f"SELECT {_oid(dataset, step.kept)} IS NOT NULL")
            gone = f"`{step.table.name}` was kept as `{step.kept}`, which no longer exists"
            return None if rows[0][0] else Blocker(gone, "recreate it, empty, with `apply` and the older schema")
        case DropTable():
            table_oid = _oid(dataset, step.table.name)
            rows = database.query_as_user(_DEPENDENTS.format(table=table_oid))
            dependents = sorted({dependent for kind, _, dependent in rows if kind == "object"})
            if step.kept:  # it would still be referred to
                referring = database.query_as_user(_REFERRING.format(table=table_oid))
                dependents += [f"constraint {name} on table {table}" for name, table in referring]
            return _needed(f"`{step.table.name}`", dependents)
        case DropColumn():
            table_oid, column = _oid(dataset, step.table), step.column.name
            related = _related(database, table_oid, column)
            kinds = [kind for kind, _ in related]
            if "inherited" in kinds:
                return _inherited(step.table, column)
            if "partition key" in kinds:
                return _partitioned(step.table, column)
            return _needed(f"`{step.table}.{column}`", [name for kind, name in related if kind == "object"])
        case RenameColumn():
            kinds = [kind for kind, _ in _related(database, _oid(dataset, step.table), step.before)]
            return _inherited(step.table, step.before) if "inherited" in kinds else None
        case ChangeType():
            return _of_changed(database, dataset, step, trial)
        case Prepare():
            return _of_prepared(database, dataset, step)
        case _:
            return None


def find_type_blocker(database: PostgresSession, step: Step) -> Blocker | None:
    """Return why the database has no such type for a column that a step creates: an enum, or one of an extension."""
    for column in step.typed_columns:
        own_type = str(column.properties.get(DATABASE_TYPE, ""))
        name = "" if is_builtin(own_type) else type_name(own_type)
        if not name:
            continue
        type_id = f"to_regtype({literal(name)})"
        query = f"SELECT {type_id} IS NULL, {TYPE_DEFINITION_OF.format(oid=type_id)}"
        ((is_missing, definition),) = database.query_as_user(query)
        schema_definition = column.properties.get(TYPE_DEFINITION)
        if is_missing and schema_definition is None:
            message = f"the database has no type `{own_type}` for `{step.table_name}.{column.name}`"
            return Blocker(message, "create it first (`CREATE TYPE`, `CREATE EXTENSION`), or set `data_type`")
        if not is_missing and schema_definition not in (None, definition):
            message = f"`{step.table_name}.{column.name}` needs the type `{name}` as `{schema_definition}`"
            hint = "change the type (`ALTER TYPE`), or its definition in the schema"
            return Blocker(f"{message}; the database defines it as `{definition}`", hint)
    return None


def _of_prepared(database: PostgresSession, dataset: str, step: Prepare) -> Blocker | None:
    """Return why a step cannot be done while other sessions write."""
    hint = "plan without `--online`"
    table_oid, prepared = _oid(dataset, step.step.table), step.step
    if database.query(f"SELECT FROM pg_class WHERE oid = {table_oid} AND relkind = 'p'"):
        return Blocker(f"`{prepared.table}` is partitioned, which `--online` does not support", hint)
    if step.phase is Phase.START_SYNC and isinstance(prepared, Backfill):
        dependents = dependents_of(database, dataset, prepared.table, prepared.source.name)
        if "description" in prepared.target.properties:
            dependents = [dependent for dependent in dependents if dependent != "its comment"]  # the new column has it
        if dependents:
            name = f"`{prepared.table}.{prepared.source.name}`"
            message = f"{name} has dependents that its replacement would not have: {', '.join(dependents)}"
            return Blocker(message, f"{hint}, or drop them, migrate, and recreate them")
    return None


def dependents_of(database: PostgresSession, dataset: str, table: str, column: str) -> list[str]:
    """Return the dependents of a column that gets another name: views, indexes, constraints, its default ..."""
    table_oid = _oid(dataset, table)
    related = _related(database, table_oid, column)
    views = {dependent for kind, dependent in related if kind in _NEEDS_COLUMN}
    asking = {row[0] for row in database.query_as_user(_ASKING.format(table=table_oid, column=literal(column)))}
    keys = {f"foreign key {dependent}" for kind, dependent in related if kind == "foreign key"}
    comments = database.query(_COMMENT.format(table=table_oid, column=literal(column)))
    defaults = [
        "its identity" if kind == "identity" else f"its default {dependent}"
        for kind, dependent in related
        if kind in ("identity", "default")
    ]
    return [*sorted(views | asking | keys), *defaults, *(["its comment"] if comments else [])]


def _oid(dataset: str, table: str) -> str:
    """Return a query of the table's number; null for a missing table."""
    return (
        "(SELECT t.oid FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace"
        f" WHERE n.nspname = {literal(dataset)} AND t.relname = {literal(table)})"
    )


def _related(database: PostgresSession, table: str, column: str) -> list[tuple[str, str]]:
    """Return the objects and properties that have to do with a column, with their kinds; keys come last."""
    rows = database.query_as_user(_RELATED.format(table=table))
    related = {(kind, dependent) for kind, name, dependent in rows if name == column}
    return sorted(related, key=lambda pair: (pair[0].endswith(" key"), pair))


def _needed(column: str, dependents: Sequence[str]) -> Blocker | None:
    if not dependents:
        return None
    verb, pronoun = ("needs", "it") if len(dependents) == 1 else ("need", "them")
    hint = f"drop {pronoun}, migrate, and recreate {pronoun} if needed"
    return Blocker(f"{', '.join(dependents)} {verb} {column}", hint)


def _inherited(table: str, column: str) -> Blocker:
    return Blocker(f"`{table}.{column}` is inherited from another table", "change that table instead")


def _partitioned(table: str, column: str) -> Blocker:
    return Blocker(f"`{table}` is partitioned by `{column}`", "recreate the table")


def _of_changed(database: PostgresSession, dataset: str, step: ChangeType, trial: Trial) -> Blocker | None:
    """Return why a column cannot get another type."""
    table, column, table_oid = step.table, step.before.name, _oid(dataset, step.table)
    name = f"`{table}.{column}`"
    kind = step.before.properties.get(DATABASE_TYPE, "")
    types_with_texts = ", ".join(map(literal, (*sorted(WITH_TEXTS), "int2", "int4", "int8")))
    query = _WITHOUT_TEXTS.format(table=table_oid, column=literal(column), known=types_with_texts)
    if step.before.data_type is None and has_texts(kind) and (textless := database.query(query)):
        hint = "recreate the column, or set its current type in the schema"
        return Blocker(f"{name} contains {textless[0][0]}, whose values have no stable text form", hint)
    related = _related(database, table_oid, column)
    dependents = sorted({dependent for kind, dependent in related if kind in _NEEDS_COLUMN})
    if blocker := _needed(name, dependents):
        if any(dependent.startswith(("view ", "materialized view ")) for dependent in dependents):
            hint = f"{blocker.hint}; `schemactl migrate plan --draft-sql DIR` writes SQL for views"
            return replace(blocker, hint=hint)
        return blocker
    for kind, dependent in related:
        match kind:
            case "inherited":
                return _inherited(table, column)
            case "is generated":
                return Blocker(f"{name} is generated", "set its current type in the schema, or recreate the column")
            case "identity" if step.after.data_type is not DataType.BIGINT:
                hint = f'drop the identity: `ALTER TABLE "{table}" ALTER COLUMN "{column}" DROP IDENTITY`'
                return Blocker(f"{name} is an identity column, which must be an integer", hint)
            case "foreign key" if step.before.data_type is not step.after.data_type:
                hint = "drop the foreign key, and change both columns"
                return Blocker(f"{name} is in the foreign key `{dependent}`", hint)
            case "partition key":
                return _partitioned(table, column)
    # Defaults, CHECKs and indexes block only some types: PostgreSQL itself decides, on an empty copy.
    error = trial(step)
    defaults = [default for kind, default in related if kind == "default"]
    return None if error is None else _refused(database, table_oid, step, error, defaults)


def _refused(database: PostgresSession, table: str, step: ChangeType, error: str, defaults: Sequence[str]) -> Blocker:
    """Return PostgreSQL's message when it tried a type, with the possible reasons."""
    rows = database.query_as_user(_ASKING.format(table=table, column=literal(step.before.name)))
    objects = [*(row[0] for row in rows), *(f"default {default}" for default in defaults)]
    hint = f"drop these objects, migrate, and recreate them: {', '.join(objects)}" if objects else None
    return Blocker(f"`{step.table}.{step.before.name}` cannot become {column_type(step.after)}: {error}", hint)


# Tries steps on an empty copy of a PostgreSQL table, and rolls the trial back.

TRIAL: Final = "_schemactl_trial"
SCHEMA: Final = "pg_temp"


def trial_error(session: PostgresSession, dataset: str, table: str, statements: Sequence[str]) -> str | None:
    """Return why PostgreSQL does not run statements about ``SCHEMA.TRIAL``, a copy of a table without its rows.

    None if it does, or if nothing may be created, not even for the session (a hot standby, a user without
    TEMPORARY). What is only read is not written by it either.
    """
    import psycopg
    from psycopg.errors import FeatureNotSupported, InsufficientPrivilege, ReadOnlySqlTransaction

    refusals = psycopg.ProgrammingError, psycopg.DataError, psycopg.IntegrityError, psycopg.NotSupportedError
    with session.transaction(force_rollback=True):
        try:
            create = f"CREATE TEMPORARY TABLE {quote(TRIAL)} (LIKE {qualify(dataset, table)} INCLUDING ALL)"
            session.execute(f"SET TRANSACTION READ WRITE; {create}")
        except (FeatureNotSupported, InsufficientPrivilege, ReadOnlySqlTransaction):
            return None
        try:
            for statement in statements:
                session.execute(statement)
        except refusals as error:
            return error.diag.message_primary or str(error)
    return None
