"""A destination's catalog as one side of a comparison."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date
from pathlib import Path

import duckdb
import pytest

from schemactl.errors import InputError
from schemactl.flows.diff import DiffRequest, diff_schemas
from schemactl.flows.survival import DataRequest
from schemactl.formats import dlt
from schemactl.normalization.tally import REJECTS_COLUMNS
from schemactl.review.report import Review
from schemactl.schema.changes import ColumnRemoved, TableAdded
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

TODAY = date(2026, 11, 21)


def make(*columns: Column) -> Schema:
    table = Table(
        "orders", {column.name: column for column in columns}, {"write_disposition": "append", "resource": "orders"}
    )
    return bump(new_schema("shop").with_table(table))


ID = Column("id", {"data_type": "bigint", "nullable": False, "primary_key": True})
TOTAL = Column("total", {"data_type": "decimal", "precision": 10, "scale": 2, "description": "with tax"})
NOTE = Column("note", {"data_type": "text", "precision": 80})


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.yaml").write_text(dlt.write(make(ID, TOTAL, NOTE), "shop.yaml"))
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("create table orders (note varchar, total decimal(10, 2), id bigint not null)")
    with closing(sqlite3.connect("shop.db")) as connection:
        connection.execute("create table orders (id bigint not null, note varchar(80), total numeric(10, 2))")
    return tmp_path


def compare(base: str, head: str, **more: object) -> Review:
    request = DiffRequest(base=base, head=head, schemas=Path("schemas"), today=TODAY, **more)  # type: ignore[arg-type]
    (review,) = diff_schemas(request).reviews
    return review


DUCKDB, SQLITE = "duckdb:///shop.duckdb", "sqlite:///shop.db"


@pytest.mark.parametrize(("base", "head"), [("shop.yaml", DUCKDB), (DUCKDB, "shop.yaml"), (SQLITE, "shop.yaml")])
def test_order_sizes_hints_and_names_that_it_cannot_hold_are_no_change(base: str, head: str) -> None:
    review = compare(base, head)
    assert review.changes == ()
    assert review.base is not None
    assert review.head is not None
    assert review.base.hash == review.head.hash == make(ID, TOTAL, NOTE).version_hash


def test_tables_that_loads_and_migrations_keep_are_no_part_of_a_schema() -> None:
    with duckdb.connect("shop.duckdb") as connection:
        for name in ("_schemactl_inputs", "_schemactl_steps"):
            connection.execute(f"create table {name} (load_id varchar)")
        columns = ", ".join(f'"{column.name}" varchar' for column in REJECTS_COLUMNS)
        connection.execute(f"create table _rejects ({columns})")
    assert compare("shop.yaml", DUCKDB).changes == ()


def test_a_table_of_the_name_of_rejects_that_holds_others_is_a_table_as_any() -> None:
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("create table _rejects (reason varchar)")
    (change,) = compare("shop.yaml", DUCKDB).changes
    assert isinstance(change, TableAdded)
    assert change.table.name == "_rejects"


def test_two_destinations_have_in_common_what_both_can_hold() -> None:
    review = compare(DUCKDB, SQLITE)
    assert review.changes == ()
    assert review.base is not None
    assert review.head is not None
    assert review.base.hash == review.head.hash


def test_two_of_one_kind_are_compared_with_their_keys() -> None:
    with duckdb.connect("new.duckdb") as connection:
        connection.execute("create table orders (note varchar unique, total decimal(10, 2), id bigint not null)")
    (change,) = compare(DUCKDB, "duckdb:///new.duckdb").changes
    assert (change.table, change.column, change.name) == ("orders", "note", "unique")  # type: ignore[union-attr]


def test_drift_is_reported_with_the_place_in_the_file() -> None:
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("alter table orders drop column note")
    review = compare("shop.yaml", DUCKDB)
    assert [type(change) for change in review.changes] == [ColumnRemoved]
    (finding,) = review.findings
    assert (finding.rule, finding.schema, finding.location) == ("C204", "shop", None)
    assert str(finding.base_location).startswith("shop.yaml:")
    assert review.head is not None
    assert review.base is not None
    assert review.head.stated_hash is None
    assert review.head.hash != review.base.hash


def test_a_catalogue_alone_is_compared_with_the_schema_of_its_name(work: Path) -> None:
    exports = work / "schemas" / "export"
    exports.mkdir(parents=True)
    (exports / "shop.schema.yaml").write_text((work / "shop.yaml").read_text())
    request = DiffRequest(base=f"{SQLITE}?dataset=main", head=None, schemas=Path("schemas"), today=TODAY)
    (review,) = diff_schemas(request).reviews
    assert review.changes == ()


def test_a_catalogue_has_no_history_and_its_rows_are_not_counted() -> None:
    with pytest.raises(InputError, match="has no older versions"):
        compare(DUCKDB, "shop.yaml", is_transitive=True)
    with pytest.raises(InputError, match="cannot be compared with data"):
        compare("shop.yaml", DUCKDB, data=DataRequest(("x.jsonl",)))
