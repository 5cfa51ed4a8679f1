"""Names of SQL dialects."""

from __future__ import annotations

import pytest
from sqlglot.dialects.dialect import Dialect

from schemactl.errors import InputError
from schemactl.type_systems.dialect_names import ALIASES, DIALECTS, resolve_dialect


@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        ("postgresql", "postgres"), ("PostgreSQL", "postgres"), ("postgres", "postgres"), ("mssql", "tsql"),
        ("SQL Server", "tsql"), ("sql-server", "tsql"), ("t-sql", "tsql"), ("sparksql", "spark"),
        ("Spark SQL", "spark"), ("mariadb", "mysql"), ("sqlite3", "sqlite"), ("Snowflake", "snowflake"),
        ("databricks", "databricks"),
    ],
)  # fmt: skip
def test_a_dialect_has_the_names_that_people_use(name: str, dialect: str) -> None:
    assert resolve_dialect(name) == dialect


def test_aliases_lead_to_dialects_of_sqlglot_and_hide_none() -> None:
    assert set(ALIASES.values()) <= set(Dialect.classes)
    assert not ALIASES.keys() & set(Dialect.classes)


@pytest.mark.parametrize(("name", "hint"), [("postgresq", "postgresql"), ("snwflake", "snowflake"), ("", "known: ath")])
def test_another_name_is_refused_with_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(InputError, match=f"there is no dialect `{name}`") as caught:
        resolve_dialect(name)
    assert hint in str(caught.value.hint)


def test_the_dialects_are_those_of_sqlglot() -> None:
    assert set(Dialect.classes) - {""} == DIALECTS
