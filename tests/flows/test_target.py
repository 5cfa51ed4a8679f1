"""The destination that an address names, and addresses that name none."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemactl.destinations import DESTINATIONS, address_form
from schemactl.errors import InputError
from schemactl.flows.target import find_destination, loadable, migratable

pytestmark = pytest.mark.usefixtures("work")


@pytest.mark.parametrize(
    ("address", "kind", "url"),
    [
        ("warehouse", "parquet", "parquet:warehouse"),
        ("a/b?dataset=raw", "parquet", "parquet:a/b?dataset=raw"),
        ("parquet:a", "parquet", "parquet:a"),
        ("duckdb:///a.duckdb", "duckdb", "duckdb:///a.duckdb"),
        ("postgresql://u@h/d", "postgresql", "postgresql://u@h/d"),
        (" postgres://u@h/d", "postgresql", "postgresql://u@h/d"),
        ("PostgreSQL://u@h/d", "postgresql", "postgresql://u@h/d"),
        ("mariadb://u@h/d", "mysql", "mysql://u@h/d"),
    ],
)
def test_address_names_a_destination(address: str, kind: str, url: str) -> None:
    target = loadable(address)

    assert (target.destination.__name__.rpartition(".")[2], target.url) == (kind, url)  # type: ignore[attr-defined]


def test_destination_limits_names() -> None:
    assert loadable("postgresql://u@h/d").max_identifier_length == 63
    assert loadable("warehouse").max_identifier_length is None


@pytest.mark.parametrize(
    ("address", "message", "hint"),
    [
        ("duckbd:///a.duckdb", "no destination `duckbd`", "duckdb"),
        ("postgre://u@h/d", "no destination `postgre`", "postgresql"),
        ("oracle://u@h/d", "no destination `oracle`", "known: "),
        ("s3://bucket/a", "no destination `s3`", "known: "),
        ("duckbd:a", "no destination `duckbd`", "duckdb"),
        ("", "does not name a destination", "a folder"),
    ],
)
def test_unknown_destination_is_reported(address: str, message: str, hint: str) -> None:
    with pytest.raises(InputError, match=message) as reported:
        loadable(address)

    assert hint in str(reported.value.hint)


@pytest.mark.parametrize("name", ["warehouse", "./snowflake:prod", "2026-01-01T10:00", "out.v1", "C:\\data"])
def test_what_has_no_scheme_is_a_folder_of_parquet(name: str) -> None:
    found = find_destination(name)
    assert (found.kind, found.url) == ("parquet", f"parquet:{name}")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("snowflake:prod", "there is no destination `snowflake`", "or a folder: `./snowflake:prod`"),
        ("shop.duckdb", "`shop.duckdb` is not the name of a folder", "`duckdb:///shop.duckdb` is a database file"),
        ("data/shop.sqlite3", "is not the name of a folder", "`sqlite:///data/shop.sqlite3`"),
        ("postgres", "`postgres` is an engine, not a destination address", "`--to postgresql://USER@HOST/DATABASE`"),
        ("Postgres", "an engine, not a destination address", "or `--to ./Postgres` for a folder of Parquet"),
        ("mariadb", "an engine, not a destination address", "`--to mysql://USER@HOST/DATABASE`"),
        ("duckdb:", "`duckdb:` is an engine, not a destination address", "`--to duckdb:///PATH`"),
        ("delta", "an engine, not a destination address", "`--to delta:FOLDER`"),
        ("parquet:", "an engine, not a destination address", "`--to parquet:FOLDER`"),
        ("snowflake", "an engine, not a destination address", "`--to dlt:snowflake?dataset=NAME`"),
    ],
)
def test_what_looks_like_another_destination_makes_no_folder(text: str, message: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        find_destination(text)
    assert message in caught.value.message
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize("name", ["snowflake:prod", "shop.duckdb", "postgres"])
def test_a_folder_that_is_there_is_meant_whatever_it_is_called(name: str) -> None:
    Path(name).mkdir()
    assert find_destination(name).kind == "parquet"


@pytest.mark.parametrize("name", ["mysql", "MySQL", "mariadb:"])
def test_migrations_ask_for_the_address_of_an_engine(name: str) -> None:
    with pytest.raises(InputError, match="is not the address of a destination") as caught:
        migratable(name)
    assert caught.value.hint == "`--to mysql://USER@HOST/DATABASE`"


def test_every_destination_says_how_its_addresses_are_written() -> None:
    assert [kind for kind in DESTINATIONS if not str(address_form(kind)).startswith(f"{kind}:")] == []
    assert [kind for kind in DESTINATIONS if address_form(kind) == f"{kind}:ADDRESS"] == []
