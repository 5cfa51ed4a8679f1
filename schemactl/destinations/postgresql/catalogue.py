"""Reads the tables of a PostgreSQL server, in transactions that can only read."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from schemactl.destinations import Catalogue, Definition, StoredQuery
from schemactl.destinations._catalogue import catalogue_of, choose_dataset
from schemactl.destinations.postgresql.session import READING, PostgresSession, open_session, parse_address
from schemactl.destinations.postgresql.types import kind_of
from schemactl.schema.quoting import qualify
from schemactl.schema.structure import TYPE_DEFINITION
from schemactl.schema.templates import VERSION_TABLE

_DATASETS: Final = """
    select distinct nspname
    from pg_catalog.pg_class as tables join pg_catalog.pg_namespace as datasets on datasets.oid = relnamespace
    where relkind in ('r', 'p', 'f') and nspname <> 'information_schema' and nspname !~ '^pg_'
"""

TYPE_DEFINITION_OF: Final = """(
    select case typtype
        when 'e' then (
            select pg_catalog.format('ENUM(%s)',
                pg_catalog.string_agg(pg_catalog.quote_literal(enumlabel), ', ' order by enumsortorder))
            from pg_catalog.pg_enum where enumtypid = defined.oid)
        when 'd' then (
            select pg_catalog.format_type(defined.typbasetype, defined.typtypmod) from pg_catalog.pg_type as base
            where base.oid = defined.typbasetype and base.typnamespace = 'pg_catalog'::regnamespace
                and not defined.typnotnull and defined.typdefault is null
                and not exists (select from pg_catalog.pg_constraint where contypid = defined.oid))
        when 'c' then (
            select 'STRUCT(' || pg_catalog.string_agg(pg_catalog.format('%I %s', attname,
                pg_catalog.format_type(atttypid, atttypmod)), ', ' order by attnum) || ')'
            from pg_catalog.pg_attribute join pg_catalog.pg_type as inner_type on inner_type.oid = atttypid
            where attrelid = defined.typrelid and attnum > 0 and not attisdropped
            having pg_catalog.bool_and(inner_type.typnamespace = 'pg_catalog'::regnamespace))
        end
    from pg_catalog.pg_type as defined
    where defined.oid = (
            select case typcategory when 'A' then typelem else oid end from pg_catalog.pg_type where oid = {oid})
        and defined.typnamespace <> 'pg_catalog'::regnamespace
        and not exists (select from pg_catalog.pg_depend
            where classid = 'pg_type'::regclass and objid = defined.oid and deptype = 'e')
)"""
"""The definition of an enum, of a domain without constraints or of a composite type, by its number or its list's.

It is null for types of extensions, and for types that are defined by other user-defined types.
"""

_COLUMNS: Final = f"""
    select relname, attname, pg_catalog.format_type(atttypid, atttypmod), not attnotnull,
        pg_catalog.col_description(tables.oid, attnum), pg_catalog.obj_description(tables.oid, 'pg_class'),
        {TYPE_DEFINITION_OF.replace("%", "%%").format(oid="columns.atttypid")}
    from pg_catalog.pg_attribute as columns
        join pg_catalog.pg_class as tables on tables.oid = attrelid
        join pg_catalog.pg_namespace as datasets on datasets.oid = relnamespace
    where nspname = %s and (%s::text[] is null or relname = any(%s))
        and relkind in ('r', 'p', 'f') and not relispartition and attnum > 0 and not attisdropped
    order by tables.oid, attnum
"""

_KEYS: Final = """
    select relname, indexrelid, indisprimary, attname
    from pg_catalog.pg_index
        join pg_catalog.pg_class as tables on tables.oid = indrelid
        join pg_catalog.pg_namespace as datasets on datasets.oid = relnamespace
        join pg_catalog.pg_attribute on attrelid = indrelid and attnum = any((indkey::int2[])[0:indnkeyatts - 1])
    where nspname = %s and (%s::text[] is null or relname = any(%s))
        and indisunique and indpred is null and indexprs is null
"""


_DEFINITIONS: Final = """
    with tables as (
        select c.*, pg_catalog.format('%%I.%%I', nspname, relname) as place
        from pg_catalog.pg_class as c join pg_catalog.pg_namespace as datasets on datasets.oid = relnamespace
        where nspname = %s and relkind in ('r', 'p', 'f') and not relispartition
    )
    select relname, 1, 0, pg_catalog.concat(
        'CREATE ', case relpersistence when 'u' then 'UNLOGGED ' end, 'TABLE ', place, ' (',
        (select pg_catalog.string_agg(pg_catalog.quote_ident(attname) || ' text', ', ' order by attnum)
            from pg_catalog.pg_attribute join pg_catalog.pg_type on pg_type.oid = atttypid
            where attrelid = tables.oid and attnum > 0 and not attisdropped
                and not atthasdef and attidentity = '' and attcollation = typcollation), ')',
        (select ' INHERITS (' || pg_catalog.string_agg(inhparent::regclass::text, ', ' order by inhseqno) || ')'
            from pg_catalog.pg_inherits where inhrelid = tables.oid),
        ' PARTITION BY ' || pg_catalog.pg_get_partkeydef(oid),
        (select ' SERVER ' || pg_catalog.quote_ident(srvname) from pg_catalog.pg_foreign_table
            join pg_catalog.pg_foreign_server on pg_foreign_server.oid = ftserver where ftrelid = tables.oid),
        ' WITH (' || pg_catalog.array_to_string(reloptions, ', ') || ')')
    from tables
    union all
    select relname, 2, attnum, pg_catalog.concat(
        'ALTER TABLE ', place, ' ADD COLUMN ', pg_catalog.quote_ident(attname), ' text',
        case when attcollation <> typcollation then pg_catalog.format(' COLLATE %%I.%%I', nspname, collname) end,
        case attidentity when 'a' then ' GENERATED ALWAYS AS IDENTITY'
            when 'd' then ' GENERATED BY DEFAULT AS IDENTITY' end,
        case when attgenerated = '' then ' DEFAULT ' || pg_catalog.pg_get_expr(adbin, adrelid)
            else ' GENERATED ALWAYS AS (' || pg_catalog.pg_get_expr(adbin, adrelid) || ') STORED' end)
    from tables
        join pg_catalog.pg_attribute on attrelid = tables.oid and attnum > 0 and not attisdropped
        join pg_catalog.pg_type on pg_type.oid = atttypid
        left join pg_catalog.pg_attrdef on adrelid = attrelid and adnum = attnum
        left join pg_catalog.pg_collation on pg_collation.oid = attcollation
        left join pg_catalog.pg_namespace on pg_namespace.oid = collnamespace
    where atthasdef or attidentity <> '' or attcollation <> typcollation
    union all
    select relname, 3, pg_constraint.oid::int8, pg_catalog.format(
        'ALTER TABLE %%s ADD CONSTRAINT %%I %%s', place, conname, pg_catalog.pg_get_constraintdef(pg_constraint.oid))
    from tables join pg_catalog.pg_constraint on conrelid = tables.oid
    where contype in ('p', 'u', 'f', 'c', 'x')
    union all
    select relname, 7, pg_constraint.oid::int8, pg_catalog.format(
        'COMMENT ON CONSTRAINT %%I ON %%s IS %%L', conname, place, description)
    from tables join pg_catalog.pg_constraint on conrelid = tables.oid
        join pg_catalog.pg_description on objoid = pg_constraint.oid
            and classoid = 'pg_catalog.pg_constraint'::regclass
    union all
    select relname, 7, indexrelid::int8, pg_catalog.format(
        'COMMENT ON INDEX %%s IS %%L', indexrelid::regclass, description)
    from tables join pg_catalog.pg_index on indrelid = tables.oid
        join pg_catalog.pg_description on objoid = indexrelid and objsubid = 0
            and classoid = 'pg_catalog.pg_class'::regclass
    union all
    select relname, 4, indexrelid::int8, pg_catalog.pg_get_indexdef(indexrelid)
    from tables join pg_catalog.pg_index on indrelid = tables.oid
    where not exists (select from pg_catalog.pg_constraint where conindid = indexrelid and conrelid = indrelid)
        and not (indisunique and indnatts = 1 and indpred is null and indexprs is null
            and pg_catalog.pg_get_indexdef(indexrelid) not like '%% NULLS NOT DISTINCT%%')
    union all
    select relname, 5, pg_trigger.oid::int8, pg_catalog.pg_get_triggerdef(pg_trigger.oid)
    from tables join pg_catalog.pg_trigger on tgrelid = tables.oid and not tgisinternal
    union all
    select relname, 5, pg_rewrite.oid::int8, pg_catalog.pg_get_ruledef(pg_rewrite.oid)
    from tables join pg_catalog.pg_rewrite on ev_class = tables.oid
    union all
    select relname, 5, 0, pg_catalog.format('ALTER TABLE %%s ENABLE ROW LEVEL SECURITY', place)
    from tables where relrowsecurity
    union all
    select relname, 5, pg_policy.oid::int8, pg_catalog.format('CREATE POLICY %%I ON %%s', polname, place)
    from tables join pg_catalog.pg_policy on polrelid = tables.oid
    union all
    select relname, 6, views.oid::int8, pg_catalog.format('CREATE %%sVIEW %%I AS %%s',
        case relkind when 'm' then 'MATERIALIZED ' end, relname, pg_catalog.pg_get_viewdef(views.oid))
    from pg_catalog.pg_class as views join pg_catalog.pg_namespace as datasets on datasets.oid = relnamespace
    where nspname = %s and relkind in ('v', 'm')
    order by 2, 3
"""
"""Statements without the types of columns, which ``_COLUMNS`` has, and without unique indexes of one column.

Columns with a default, an identity or a collation have separate statements, as sqlglot may not parse some of them.
"""

_QUERIES: Final = """
    select case c.relkind when 'm' then 'materialized view' else 'view' end, n.nspname, c.relname,
        pg_get_viewdef(c.oid)
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('v', 'm') and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_'
    union all
    select case when p.prorettype = 'pg_catalog.trigger'::regtype then 'trigger' else 'function' end,
        n.nspname, p.proname, coalesce(p.prosrc, '')
    from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    where n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_'
        and not exists (select 1 from pg_catalog.pg_depend d where d.objid = p.oid and d.deptype = 'e')
    order by 1, 2, 3
"""


def read_catalogue(url: str) -> Catalogue:
    """Return the tables of one dataset, in transactions that can only read."""
    address = parse_address(url)
    with open_session(address, READING, is_read_only=True) as session, session.wrap_errors("read the catalog"):
        dataset = choose_dataset({row[0] for row in session.query(_DATASETS)}, address.dataset, session.shown)
        return read_dataset(session, dataset, versions=qualify(dataset, VERSION_TABLE))


def read_definitions(url: str) -> tuple[Definition, ...]:
    """Return statements for the tables, keys, indexes, triggers, policies and views of one dataset.

    They contain no types of columns. Names of tables are qualified by their dataset.
    """
    address = parse_address(url)
    with open_session(address, READING, is_read_only=True) as session, session.wrap_errors("read the catalog"):
        dataset = choose_dataset({row[0] for row in session.query(_DATASETS)}, address.dataset, session.shown)
        return tuple(Definition(table, sql) for table, *_, sql in session.query(_DEFINITIONS, dataset, dataset))


def read_queries(url: str) -> tuple[StoredQuery, ...]:
    """Return the views, materialized views, functions and triggers of all datasets; names in views are qualified."""
    address = parse_address(url)
    with open_session(address, READING, is_read_only=True) as session, session.wrap_errors("read the catalog"):
        session.execute("set search_path = ''")
        return tuple(StoredQuery(*row) for row in session.query(_QUERIES))


def read_dataset(
    session: PostgresSession, dataset: str, names: Collection[str] | None = None, versions: str | None = None
) -> Catalogue:
    """Return all tables of a dataset, or the tables with some names; see ``catalogue_of`` for ``versions``."""
    chosen = None if names is None else sorted(names)
    columns, keys = session.query_all_as_user((_COLUMNS, _KEYS), dataset, chosen, chosen)
    rows = (
        (table, column, {**kind_of(written), **({TYPE_DEFINITION: definition} if definition else {})}, *other_values)
        for table, column, written, *other_values, definition in columns
    )
    return catalogue_of(session, dataset, rows, keys, versions=versions)
