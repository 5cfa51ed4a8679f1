"""Write the statements that drop and re-create the views on a column of PostgreSQL, with all that belongs to them.

The session looks up names in `pg_catalog` only, so PostgreSQL writes all other names in full.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from schemactl.destinations.postgresql.session import PostgresSession
from schemactl.migration.records import ViewScript
from schemactl.schema.quoting import literal, qualify, quote

_VIEWS: Final = """
WITH RECURSIVE view_levels AS (
    SELECT r.ev_class AS oid, 1 AS level
    FROM pg_depend d
        JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
        LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
        JOIN pg_class t ON t.oid = d.refobjid
        JOIN pg_namespace n ON n.oid = t.relnamespace
    WHERE d.refclassid = 'pg_class'::regclass AND r.ev_class <> d.refobjid
        AND n.nspname = {dataset} AND (t.relname, COALESCE(a.attname, '')) IN ({columns})
    UNION
    SELECT r.ev_class, view_levels.level + 1
    FROM view_levels
        JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = view_levels.oid
        JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
    WHERE r.ev_class <> d.refobjid
)
SELECT v.oid::bigint, n.nspname, v.relname, v.relkind::text, pg_get_viewdef(v.oid), pg_get_userbyid(v.relowner),
    v.relispopulated, v.reloptions, ts.spcname, obj_description(v.oid, 'pg_class')
FROM (SELECT oid, max(level) AS level FROM view_levels GROUP BY oid) levels
    JOIN pg_class v ON v.oid = levels.oid AND v.relkind IN ('v', 'm')
    JOIN pg_namespace n ON n.oid = v.relnamespace
    LEFT JOIN pg_tablespace ts ON ts.oid = v.reltablespace
ORDER BY levels.level, n.nspname, v.relname
"""
"""The views that read a column, directly or through views, each one behind the views that it reads."""

_PRIVILEGES: Final = """
SELECT CASE WHEN e.grantee = 0 THEN NULL ELSE pg_get_userbyid(e.grantee) END, e.privilege_type, e.is_grantable,
    x.attname
FROM (
    SELECT c.relacl AS acl, NULL::name AS attname, c.relowner FROM pg_class c WHERE c.oid = {view}
    UNION ALL
    SELECT a.attacl, a.attname, c.relowner FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.oid = {view} AND a.attnum > 0
) x, LATERAL aclexplode(x.acl) e
WHERE e.grantee <> x.relowner
ORDER BY 4 NULLS FIRST, 1 NULLS FIRST, 2
"""
_COLUMN_COMMENTS: Final = """
SELECT a.attname, col_description(a.attrelid, a.attnum) FROM pg_attribute a
WHERE a.attrelid = {view} AND a.attnum > 0 AND col_description(a.attrelid, a.attnum) IS NOT NULL ORDER BY a.attnum
"""
_DEFAULTS: Final = """
SELECT a.attname, pg_get_expr(e.adbin, e.adrelid)
FROM pg_attrdef e JOIN pg_attribute a ON a.attrelid = e.adrelid AND a.attnum = e.adnum
WHERE e.adrelid = {view} ORDER BY a.attnum
"""
_FURTHER: Final = """
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = {view}
UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = {view} AND NOT tgisinternal
UNION ALL SELECT pg_get_ruledef(oid) FROM pg_rewrite WHERE ev_class = {view} AND rulename <> '_RETURN'
ORDER BY 1
"""
"""Indexes, triggers and rules of a view."""


def view_scripts(database: PostgresSession, dataset: str, columns: Sequence[tuple[str, str]]) -> tuple[ViewScript, ...]:
    """Return the views that read a column, directly or by other views, in the order in which they are created.

    ``columns`` are pairs of a table and a column.
    """
    # A view of whole rows depends on no column, but on the table.
    pairs = dict.fromkeys((*columns, *((table, "") for table, _ in columns)))
    column_list = ", ".join(f"({literal(table)}, {literal(column)})" for table, column in pairs)
    query = _VIEWS.format(dataset=literal(dataset), columns=column_list)
    return tuple(_script(database, row) for row in database.query(query))


def _script(database: PostgresSession, row: Sequence[Any]) -> ViewScript:
    oid, schema, name, kind, definition, owner, is_populated, options, tablespace, comment = row
    view = qualify(schema, name)
    word = "MATERIALIZED VIEW" if kind == "m" else "VIEW"
    create = f"CREATE {word} {view}"
    create += f" WITH ({', '.join(options)})" if options else ""
    create += f" TABLESPACE {quote(tablespace)}" if tablespace else ""
    create += f" AS\n{definition.strip().removesuffix(';')}"
    create += "" if kind == "v" or is_populated else "\nWITH NO DATA"
    statements = [create, f"ALTER {word} {view} OWNER TO {quote(owner)}"]
    statements += _details(database, oid, view, word, comment)
    return ViewScript(f"{schema}.{name}", f"DROP {word} {view}", tuple(statements))


def _details(database: PostgresSession, oid: int, view: str, word: str, comment: str | None) -> Iterator[str]:
    """Yield the statements that restore a view's comments, defaults, indexes, triggers and privileges."""
    if comment is not None:
        yield f"COMMENT ON {word} {view} IS {literal(comment)}"
    for column, text in database.query(_COLUMN_COMMENTS.format(view=oid)):
        yield f"COMMENT ON COLUMN {view}.{quote(column)} IS {literal(text)}"
    for column, expression in database.query(_DEFAULTS.format(view=oid)):
        yield f"ALTER VIEW {view} ALTER COLUMN {quote(column)} SET DEFAULT {expression}"
    for (definition,) in database.query(_FURTHER.format(view=oid)):
        yield definition.strip().removesuffix(";")
    for grantee, privilege, is_grantable, column in database.query(_PRIVILEGES.format(view=oid)):
        target = privilege if column is None else f"{privilege} ({quote(column)})"
        option = " WITH GRANT OPTION" if is_grantable else ""
        yield f"GRANT {target} ON {view} TO {'PUBLIC' if grantee is None else quote(grantee)}{option}"
