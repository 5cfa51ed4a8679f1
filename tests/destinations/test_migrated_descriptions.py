"""Descriptions that change in a schema file, from the plan to the rollback, at each destination that keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from migrated_datasets import ID, column, new_dataset, put, schema_of
from mysql_database import ask

from schemactl.cli.app import run
from schemactl.destinations import DESTINATIONS
from schemactl.schema.hash import bump
from schemactl.schema.types import Schema

pytestmark = pytest.mark.destinations

KEEPING = ["duckdb", "postgresql", "mysql", "iceberg", "delta"]


def described(schema: Schema, text: str | None) -> Schema:
    table = schema.tables["orders"]
    properties = {**table.properties, **({"description": text} if text else {})}
    return bump(schema.with_table(replace(table, properties=properties)))


FIRST = described(
    schema_of(
        ID,
        column("amount", description="what it's \\ worth\nin all"),
        column("note", description="what they said"),
        column("place", description="as it was"),
    ),
    "All orders",
)
SECOND = described(
    schema_of(
        ID,
        column("amount", "bigint", description="what it's \\ worth\nin all"),
        column("memo", description="what they said", **{"x-renamed-from": "note"}),
        column("place", description="where, „Ж😀“"),
        column("added", description="new"),
        before=FIRST,
    ),
    None,
)
FIRST_TEXTS = {
    "": "All orders",
    "amount": "what it's \\ worth\nin all",
    "note": "what they said",
    "place": "as it was",
}
SECOND_TEXTS = {
    "amount": "what it's \\ worth\nin all",
    "memo": "what they said",
    "place": "where, „Ж😀“",
    "added": "new",
}


@contextmanager
def address(kind: str, request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    match kind:
        case "postgresql":
            yield new_dataset(kind, folder, request.getfixturevalue("postgres_url")).url
        case "mysql":
            yield f"{request.getfixturevalue('mariadb_url')}&dataset=shop"
        case "duckdb" | "sqlite":
            yield f"{kind}:///{folder}/shop.{kind}"
        case _:
            yield f"{kind}:{folder}/lake?dataset=shop"


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.chdir(tmp_path)
    with address(request.param, request, tmp_path) as found:
        yield found


def migrate(action: str, schema: Schema | None, url: str, *options: str) -> int:
    named = [put(schema, "wanted.yaml")] if schema is not None else []
    return run(["migrate", action, *named, "--to", url, "--quiet", *options])


def texts(url: str) -> dict[str, str]:
    """Return the descriptions of the table and its columns, as the destination itself states them."""
    kind = url.partition(":")[0]
    table = DESTINATIONS[kind].read_catalogue(url).schema.tables["orders"]
    of = {"": table.properties, **{name: each.properties for name, each in table.columns.items()}}
    return {name: each["description"] for name, each in of.items() if "description" in each}


@pytest.mark.parametrize(
    ("url", "way"),
    # MySQL goes by a new column whatever the way.
    [(kind, way) for kind in KEEPING for way in ("refuse", "expand") if (kind, way) != ("mysql", "expand")],
    indirect=["url"],
)
def test_descriptions_follow_the_schema_and_come_back(url: str, way: str) -> None:
    assert migrate("apply", FIRST, url, "--yes") == 0
    assert texts(url) == FIRST_TEXTS
    assert migrate("plan", FIRST, url, "--check") == 0
    assert migrate("apply", SECOND, url, "--yes", "--on-unfit", way) == 0
    expected = {**SECOND_TEXTS, "place": "where, „Ж?“"} if url.startswith("mysql") else SECOND_TEXTS
    assert {name: text for name, text in texts(url).items() if "__before_" not in name} == expected
    assert migrate("plan", SECOND, url, "--check") == 0
    assert migrate("verify", SECOND, url) == 0
    assert migrate("rollback", None, url, "--yes", "--allow-destructive") == 0
    assert texts(url) == FIRST_TEXTS
    assert migrate("plan", FIRST, url, "--check") == 0


@pytest.mark.parametrize("url", KEEPING, indirect=True)
def test_a_text_that_somebody_else_wrote_stays_until_the_schema_has_one(url: str) -> None:
    assert migrate("apply", described(schema_of(ID), "All orders"), url, "--yes") == 0
    own = described(schema_of(ID, before=FIRST), "By hand")
    other = replace(own, name="other")
    # Without its name, another schema would get a dataset of its own.
    assert migrate("apply", bump(other), url if "dataset=" in url else f"{url}?dataset=shop", "--yes") == 0
    assert texts(url) == {"": "By hand"}
    assert migrate("apply", schema_of(ID), url, "--yes") == 0
    assert texts(url) == {"": "By hand"}
    assert migrate("apply", described(schema_of(ID), "Ours"), url, "--yes") == 0
    assert texts(url) == {"": "Ours"}


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_description_is_set_while_others_read_and_write(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert migrate("apply", FIRST, url, "--yes") == 0
    capsys.readouterr()
    assert run(["migrate", "plan", put(SECOND, "wanted.yaml"), "--to", url]) == 0
    assert "lock SHARE UPDATE EXCLUSIVE for a moment: no one waits" in capsys.readouterr().out
    # The new column in the place of a described one has its description at the end.
    assert migrate("apply", SECOND, url, "--yes", "--online", "--on-unfit", "expand") == 0
    assert {name: text for name, text in texts(url).items() if "__before_" not in name} == SECOND_TEXTS


@pytest.mark.parametrize("url", ["mysql"], indirect=True)
def test_a_description_changes_nothing_else_of_a_column(url: str) -> None:
    assert migrate("apply", FIRST, url, "--yes") == 0
    statement = "alter table orders modify note varchar(9) collate utf8mb4_bin not null default '(COMMENT' comment 'x'"
    ask(url, statement, "shop")
    changed = schema_of(ID, column("note", precision=9, nullable=False, description="new"), before=FIRST)
    assert migrate("apply", changed, url, "--yes") == 0
    ((_, made),) = ask(url, "show create table orders", "shop")
    assert "varchar(9)" in made
    assert "NOT NULL DEFAULT '(COMMENT' COMMENT 'new'" in made


@pytest.mark.parametrize("url", ["sqlite", "parquet"], indirect=True)
def test_nothing_is_planned_where_no_description_is_kept(url: str) -> None:
    assert migrate("apply", FIRST, url, "--yes") == 0
    assert migrate("plan", FIRST, url, "--check") == 0
