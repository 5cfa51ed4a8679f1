"""Names of SQL dialects: sqlglot's name, and the other names that people and programs have for the same dialect."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from schemactl.errors import InputError, did_you_mean, nearest_or_all

ALIASES: Final[Mapping[str, str]] = {
    "postgresql": "postgres", "pgsql": "postgres",
    "mariadb": "mysql",
    "mssql": "tsql", "sqlserver": "tsql", "transactsql": "tsql", "azuresql": "tsql", "synapse": "tsql",
    "sparksql": "spark",
    "hiveql": "hive", "hql": "hive",
    "googlesql": "bigquery",
    "sqlite3": "sqlite",
    "prestodb": "presto", "prestosql": "trino",
    "memsql": "singlestore", "singlestoredb": "singlestore",
    "plsql": "oracle",
    "microsoftfabric": "fabric",
    "apachedoris": "doris", "apachedrill": "drill", "apachedruid": "druid", "apachehive": "hive",
    "apachespark": "spark",
}  # fmt: skip
"""sqlglot's name by another name, in small letters without blanks and marks. Dialects that sqlglot distinguishes, as
``spark`` and ``databricks``, are no aliases of each other.
"""

DIALECTS: Final = frozenset({
    "athena", "bigquery", "clickhouse", "databricks", "dax", "doris", "dremio", "drill", "druid", "duckdb", "dune",
    "exasol", "fabric", "hive", "materialize", "mysql", "oracle", "postgres", "presto", "prql", "redshift",
    "risingwave", "singlestore", "snowflake", "solr", "spark", "spark2", "sqlite", "starrocks", "tableau", "teradata",
    "trino", "tsql",
})  # fmt: skip
"""sqlglot's dialects: to ask sqlglot imports them all."""


def canonical_dialect(name: str) -> str:
    """Return sqlglot's name for a dialect; a name that is no alias is returned in small letters.

    >>> canonical_dialect("SQL Server"), canonical_dialect("postgresql"), canonical_dialect("duckdb")
    ('tsql', 'postgres', 'duckdb')
    """
    plain = re.sub(r"[\s_.-]", "", name.lower())
    return ALIASES.get(plain, plain)


def resolve_dialect(name: str) -> str:
    """Return sqlglot's name for a dialect."""
    dialect = canonical_dialect(name)
    if dialect in DIALECTS:
        return dialect
    from sqlglot.dialects.dialect import Dialect as Sqlglot

    dialects = sorted(dialect for dialect in Sqlglot.classes if dialect)
    if dialect not in dialects:
        hint = did_you_mean(name.lower(), (*dialects, *ALIASES)) or nearest_or_all(name, dialects)
        raise InputError(f"there is no dialect `{name}`", hint=hint)
    return dialect
