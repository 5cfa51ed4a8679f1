"""Columns of structs that are not as the schema has them: what waits for the next load, and what is drift."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import duckdb
import pytest
from migrated_datasets import apply

from schemactl.flows.diff import DiffRequest, diff_schemas
from schemactl.flows.migrate.inspection import VerifyRequest, find_status, verify
from schemactl.flows.migrate.plan import PlanRequest, plan_migration
from schemactl.formats.dlt import write as write_schema
from schemactl.migration.notes import NoteKind
from schemactl.migration.options import PlanOptions
from schemactl.schema.changes import ColumnPropertyChanged
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

MODULE = "schemactl.normalization.normalizers.nested"
SCHEMAS = Path("schemas")


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file with a table whose column `meta` has the field `a`."""
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("data.duckdb") as connection:
        connection.execute("CREATE SCHEMA shop")
        connection.execute('CREATE TABLE shop.orders (meta STRUCT(a BIGINT), "_dlt_id" VARCHAR NOT NULL)')
    return f"duckdb:///{tmp_path / 'data.duckdb'}"


def stating(kind: str) -> str:
    """Write a schema that states the type of `meta`; return its file."""
    columns = {
        "meta": Column("meta", {"data_type": "json", "nullable": True, "x-spark-type": kind}),
        "_dlt_id": Column("_dlt_id", {"data_type": "text", "nullable": False, "row_key": True}),
    }
    hints = {"write_disposition": "append", "resource": "orders", "x-normalizer": {"seen-data": True}}
    new = new_schema("shop")
    schema = replace(new, normalizers={**new.normalizers, "json": {"module": MODULE}})
    Path("wanted.yaml").write_text(write_schema(bump(schema.with_table(Table("orders", columns, hints)))))
    return "wanted.yaml"


def test_a_new_field_waits_for_the_next_load_and_is_no_drift(url: str) -> None:
    wanted = stating("struct<b:array<string>,a:bigint>")

    planned = plan_migration(PlanRequest(wanted, url, SCHEMAS, PlanOptions()))
    apply(url, wanted)

    (note,) = planned.plan.notes
    assert (note.kind, note.table, note.column) == (NoteKind.WAITS, "orders", "meta")
    assert note.message == "gets new fields with the next load: `b`"
    status = find_status(wanted, url, SCHEMAS, PlanOptions())
    assert status.is_settled
    assert verify(VerifyRequest(wanted, url, SCHEMAS)).is_clean


@pytest.mark.parametrize("kind", ["struct<a:date>", "struct<b:bigint>", "array<bigint>"])
def test_a_type_that_no_load_makes_is_reported_and_stays_drift(url: str, kind: str) -> None:
    wanted = stating(kind)

    planned = plan_migration(PlanRequest(wanted, url, SCHEMAS, PlanOptions()))

    (note,) = planned.plan.notes
    assert (note.kind, note.column) == (NoteKind.DRIFT, "meta")
    assert "no step can convert it" in note.message
    (drift,) = verify(VerifyRequest(wanted, url, SCHEMAS)).drift
    assert isinstance(drift, ColumnPropertyChanged)


def test_fields_in_another_order_are_the_same(url: str) -> None:
    with duckdb.connect(url.removeprefix("duckdb:///")) as connection:
        connection.execute("ALTER TABLE shop.orders ALTER COLUMN meta SET DATA TYPE STRUCT(a BIGINT, b DATE)")
    wanted = stating("struct<b:date,a:bigint>")

    assert plan_migration(PlanRequest(wanted, url, SCHEMAS, PlanOptions())).plan.notes == ()
    assert verify(VerifyRequest(wanted, url, SCHEMAS)).is_clean


def test_a_diff_with_a_catalogue_reports_the_fields_that_differ(url: str) -> None:
    with duckdb.connect(url.removeprefix("duckdb:///")) as connection:
        kind = "STRUCT(a BIGINT, gone ENUM('x', 'y'), kind ENUM('x', 'y'), lines STRUCT(price BIGINT)[])"
        connection.execute(f"ALTER TABLE shop.orders ALTER COLUMN meta SET DATA TYPE {kind}")
    wanted = stating("struct<a:bigint,kind:bigint,lines:array<struct<price:double,sku:string>>>")

    report = diff_schemas(DiffRequest(base=url, head=wanted, schemas=SCHEMAS, today=date(2026, 1, 1)))

    (review,) = report.reviews
    reported = {(finding.rule, finding.message) for finding in review.findings if finding.column == "meta"}
    assert reported == {
        ("C214", "field `orders.meta.lines[].sku` (`string`) is new"),
        ("C215", "field `orders.meta.gone` (`ENUM('x', 'y')`) was removed"),
        ("D313", "`orders.meta.kind` changes from `ENUM('x', 'y')` to `bigint`: some values may not survive"),
        (
            "D313",
            "`orders.meta.lines[].price` changes from `bigint` to `double`: values lose digits or their meaning",
        ),
    }
    assert len({finding.fingerprint for finding in review.findings}) == len(review.findings)
