"""Reads the tables of a MySQL or MariaDB server."""

from __future__ import annotations

import re
from typing import Final

from schemactl.destinations import Catalogue, Definition, StoredQuery
from schemactl.destinations._catalogue import catalogue_of, choose_dataset
from schemactl.destinations.mysql.session import MySqlSession, json_columns, open_session, parse_address, text_of
from schemactl.destinations.mysql.types import kind_of
from schemactl.schema.quoting import qualify, quote
from schemactl.schema.templates import VERSION_TABLE

_DATASETS: Final = """
    select distinct table_schema from information_schema.tables
    where table_type = 'BASE TABLE' and table_schema not in ('information_schema', 'performance_schema', 'mysql', 'sys')
"""

_COLUMNS: Final = """
    select c.table_name, c.column_name, c.column_type, c.is_nullable = 'YES', c.column_comment, t.table_comment
    from information_schema.columns c
        join information_schema.tables t on t.table_schema = c.table_schema and t.table_name = c.table_name
    where c.table_schema = %s and t.table_type = 'BASE TABLE'
    order by t.create_time, t.table_name, c.ordinal_position
"""

_KEYS: Final = """
    select table_name, index_name, index_name = 'PRIMARY', column_name from information_schema.statistics
    where table_schema = %s and non_unique = 0 and sub_part is null
"""


_TABLES: Final = """
    select table_name from information_schema.tables
    where table_schema = %s and table_type = 'BASE TABLE' order by create_time, table_name
"""

_OTHERS: Final = """
    select table_name, concat('CREATE VIEW `', table_name, '` AS ', view_definition)
    from information_schema.views where table_schema = %s
    union all
    select event_object_table, concat('CREATE TRIGGER `', trigger_name, '` ', action_timing, ' ', event_manipulation,
        ' ON `', event_object_table, '` FOR EACH ROW ', action_statement)
    from information_schema.triggers where trigger_schema = %s
"""

_NEXT_ID: Final = re.compile(r" AUTO_INCREMENT=\d+(?= )")
_JSON: Final = re.compile(r" CHARACTER SET \w+ COLLATE \w+(?P<other>[^\n]*?) CHECK \(json_valid\(`[^`\n]*`\)\)")

_QUERIES: Final = """
    select 'view', table_schema, table_name, view_definition from information_schema.views
    where table_schema not in ('mysql', 'sys', 'information_schema', 'performance_schema')
    union all
    select 'function', routine_schema, routine_name, coalesce(routine_definition, '')
    from information_schema.routines
    where routine_schema not in ('mysql', 'sys', 'information_schema', 'performance_schema')
    union all
    select 'trigger', trigger_schema, trigger_name, action_statement from information_schema.triggers
    where trigger_schema not in ('mysql', 'sys', 'information_schema', 'performance_schema')
    order by 1, 2, 3
"""


def read_catalogue(url: str) -> Catalogue:
    """Return the tables of one dataset."""
    address = parse_address(url)
    with open_session(address) as session, session.wrap_errors("read the catalog"):
        return read_session(session, address.dataset, reads_versions=True)


def read_definitions(url: str) -> tuple[Definition, ...]:
    """Return the statements that would create the tables, triggers and views of one dataset: a query for each table.

    They omit the counters of AUTO_INCREMENT, and the checks by which MariaDB keeps JSON.
    """
    address = parse_address(url)
    with open_session(address) as session, session.wrap_errors("read the catalog"):
        dataset = choose_dataset({row[0] for row in session.query(_DATASETS)}, address.dataset, session.shown)
        session.execute("set session sql_mode = ''")  # with it names are in backticks, and options are written out
        quoted_dataset = quote(dataset, "`")
        tables = []
        for (name,) in session.query(_TABLES, dataset):
            sql = text_of(session.query(f"show create table {quoted_dataset}.{quote(name, '`')}")[0][1])
            sql = sql.replace("CREATE TABLE ", f"CREATE TABLE {quoted_dataset}.", 1)
            tables.append(Definition(name, _JSON.sub(r"\g<other>", _NEXT_ID.sub("", sql))))
        views_and_triggers = session.query(_OTHERS, dataset, dataset)
        return (*tables, *(Definition(table, text_of(sql)) for table, sql in views_and_triggers))


def read_queries(url: str) -> tuple[StoredQuery, ...]:
    """Return the views, functions, procedures and triggers of all databases that the user sees."""
    with open_session(parse_address(url)) as session, session.wrap_errors("read the catalog"):
        return tuple(StoredQuery(*map(text_of, row)) for row in session.query(_QUERIES))


def read_session(session: MySqlSession, dataset_name: str | None, *, reads_versions: bool = False) -> Catalogue:
    """Return the tables of one dataset, with the schemas of dlt's ledger if ``reads_versions``."""
    dataset = choose_dataset({row[0] for row in session.query(_DATASETS)}, dataset_name, session.shown)
    jsons = json_columns(session, dataset)
    rows = (
        (table, name, kind_of("json" if (table, name) in jsons else text_of(of)), bool(is_null), *map(text_of, texts))
        for table, name, of, is_null, *texts in session.query(_COLUMNS, dataset)
    )
    versions = qualify(dataset, VERSION_TABLE) if reads_versions else None
    return catalogue_of(session, dataset, rows, session.query(_KEYS, dataset), versions=versions)
