"""Finds the dependents of columns of MySQL's tables, and the ones that a step would lose or break."""

from __future__ import annotations

from typing import Final

from schemactl.destinations.mysql.session import MySqlSession, text_of
from schemactl.migration.records import Blocker
from schemactl.migration.steps import (
    AddPrimaryKey,
    AddUnique,
    ChangeType,
    DropColumn,
    DropNotNull,
    DropTable,
    RenameColumn,
    RenameTable,
    SetNotNull,
    Step,
)
from schemactl.schema.quoting import quote
from schemactl.schema.structure import DATABASE_TYPE

_FOREIGN_KEYS: Final = """
    select constraint_name, table_name, column_name, referenced_table_name, referenced_column_name
    from information_schema.key_column_usage
    where referenced_table_name is not null
        and ((table_schema = %s and table_name = %s) or (referenced_table_schema = %s and referenced_table_name = %s))
"""
_INDEXES: Final = """
    select index_name from information_schema.statistics
    where table_schema = %s and table_name = %s
        and index_name in (select index_name from information_schema.statistics
            where table_schema = %s and table_name = %s and column_name = %s)
    group by index_name having count(*) > 1
"""
_VIEWS: Final = "select table_name, view_definition from information_schema.views where table_schema = %s"
_TRIGGERS: Final = """
    select trigger_name, action_statement from information_schema.triggers
    where trigger_schema = %s and event_object_table = %s
"""
_WORDS: Final = """
    select column_default, extra, generation_expression from information_schema.columns
    where table_schema = %s and table_name = %s and column_name = %s
"""


_OF_MARIADB: Final = frozenset(("uuid", "inet4", "inet6"))
"""Types that MySQL itself does not have."""


def find_missing_type(session: MySqlSession, step: Step) -> Blocker | None:
    """Return that MySQL lacks the type of a column that a step creates, which MariaDB has."""
    if session.is_mariadb:
        return None
    for column in step.typed_columns:
        if (own_type := column.properties.get(DATABASE_TYPE)) in _OF_MARIADB:
            message = f"MySQL does not have the MariaDB type `{own_type}` of `{step.table_name}.{column.name}`"
            return Blocker(message, "set `data_type`")
    return None


def find_blocker(session: MySqlSession, dataset: str, step: Step) -> Blocker | None:
    """Return why a step must not be done to its table as the table is now; None if it can."""
    table = step.table_name
    match step:
        case DropTable() | RenameTable():
            dependents = [*_foreign_keys(session, dataset, table, None), *_views(session, dataset, table, None)]
            verb = "would be broken"
        case DropColumn():
            dependents = _dependents(session, dataset, table, step.column.name)
            verb = "would be lost or broken"
        case RenameColumn():
            dependents = [
                *_views(session, dataset, table, step.before),
                *_triggers(session, dataset, table, step.before),
            ]
            verb = "would be broken"
        case ChangeType():
            dependents = [*_words(session, dataset, table, step.before.name)]
            dependents += _foreign_keys(session, dataset, table, step.before.name)
            verb = "would be lost"
        case SetNotNull() | DropNotNull():
            dependents, verb = _words(session, dataset, table, step.column.name), "would be lost"
        case AddUnique() | AddPrimaryKey():
            return _too_long(session, dataset, step)
        case _:
            return None
    if not dependents:
        return None
    hint = "drop these objects, migrate, and recreate them if needed"
    return Blocker(f"on table `{table}`, {', '.join(dependents)} {verb}", hint)


def dependents_of(session: MySqlSession, dataset: str, table: str, column: str) -> list[str]:
    """Return the dependents that go with a column which makes room for another."""
    return [*_dependents(session, dataset, table, column), *_words(session, dataset, table, column)]


def _dependents(session: MySqlSession, dataset: str, table: str, column: str) -> list[str]:
    places = (dataset, table)
    indexes = [f"index `{row[0]}`" for row in session.query(_INDEXES, *places, *places, column)]
    return [
        *indexes,
        *_foreign_keys(session, dataset, table, column),
        *_views(session, dataset, table, column),
        *_triggers(session, dataset, table, column),
    ]


def _foreign_keys(session: MySqlSession, dataset: str, table: str, column: str | None) -> list[str]:
    places = (dataset, table)
    return [
        f"foreign key `{name}`"
        for name, owner, owner_column, referred_table, referred_column in session.query(_FOREIGN_KEYS, *places, *places)
        if column is None
        or (owner == table and owner_column == column)
        or (referred_table == table and referred_column == column)
    ]


def _views(session: MySqlSession, dataset: str, table: str, column: str | None) -> list[str]:
    # MySQL writes views with all names quoted, and keeps no list of the columns that they read.
    views = ((name, text_of(text)) for name, text in session.query(_VIEWS, dataset))
    return [f"view `{name}`" for name, text in views if _names(text, table) and (not column or _names(text, column))]


def _triggers(session: MySqlSession, dataset: str, table: str, column: str) -> list[str]:
    triggers = ((name, text_of(text)) for name, text in session.query(_TRIGGERS, dataset, table))
    return [f"trigger `{name}`" for name, text in triggers if column.lower() in text.lower()]


def _names(text: str, name: str) -> bool:
    return quote(name, "`").lower() in text.lower() or f'"{name}"'.lower() in text.lower()


def _words(session: MySqlSession, dataset: str, table: str, column: str) -> list[str]:
    """Return the parts of a column's definition that a change keeps, except type, nulls, collation and comment."""
    for default, extra, generated in session.query(_WORDS, dataset, table, column):
        default_text = text_of(default) if default is not None else "NULL"
        words = [f"DEFAULT {default_text}"] if default_text != "NULL" else []
        words += [str(extra).upper()] if extra else []
        words += ["GENERATED"] if generated else []
        return [f"`{column}`'s {word}" for word in words]
    return []


def _too_long(session: MySqlSession, dataset: str, step: AddUnique | AddPrimaryKey) -> Blocker | None:
    """Return a blocker for a column whose type no index can contain in full length."""
    relation = session.relation(dataset, step.table)
    columns = (step.column,) if isinstance(step, AddUnique) else step.columns
    for column in columns if relation is not None else ():
        kind = relation.columns.get(column, "")  # type: ignore[union-attr]
        if kind in ("longtext", "longblob", "json"):
            hint = "set a length (`precision: 128`), and migrate that first"
            return Blocker(f"`{step.table}.{column}` is `{kind}`, which MySQL cannot index in full length", hint)
    return None
