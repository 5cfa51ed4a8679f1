"""Reports as a flow would hand them over, one for each situation that a reader meets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schemactl.inference.evidence import Position
from schemactl.inference.report import (
    CollisionFinding,
    ColumnFinding,
    FileFinding,
    InferenceReport,
    NullFinding,
    TableFinding,
    ViolationFinding,
)

BEFORE = "Rk0y7wYHqZ3m5VtqV1mJm2bEJq0PzV8rXh0xWcY8s7A="
AFTER = "uX1Tt0p5dC8n3gkWbLQe6o2rVhYf9sM4iZaJx7KqB0E="


@pytest.fixture
def new_schema() -> InferenceReport:
    """A first run over two files, with nested tables."""
    orders = TableFinding(
        "orders", None, True,
        (ColumnFinding("id", None, "bigint", sources=("$.id",), values=593_988, total=600_000,
             kinds={"bigint": 593_988}, first=Position("orders.jsonl", 1), examples=("1", "2", "3"),
             range=(1.0, 593_988.0)),
         ColumnFinding("id__v_text", None, "text", variant_of="id", sources=("$.id",), values=6_012, total=600_000,
             kinds={"text": 6_012}, first=Position("orders.jsonl", 137), examples=("idx-nr-136", "idx-nr-236"),
             lengths=(8, 13)),
         ColumnFinding("created_at", None, "timestamp", sources=("$.created_at",), values=45_999, total=45_999, nulls=1,
             absences=554_000, kinds={"text": 45_999}, first=Position("orders.jsonl", 1),
             examples=("2026-01-31T10:00:00Z",), lengths=(20, 20)),
         ColumnFinding("amount", None, "double", sources=("$.amount",), values=600_000, total=600_000,
             kinds={"bigint": 12, "double": 599_988}, first=Position("orders.jsonl", 1), examples=("7", "9.99"),
             range=(-0.5, 1e300)),
         ColumnFinding("price", None, "decimal", is_new=False, precision=10, scale=2, sources=("$.price",)),
         ColumnFinding("_dlt_load_id", None, "text"), ColumnFinding("_dlt_id", None, "text")),
    )  # fmt: skip
    tags = TableFinding(
        "orders__lines__tags", "orders__lines", True,
        (ColumnFinding("value", None, "text", sources=("$.lines[*].tags[*]",), values=3, total=3, kinds={"text": 3},
             first=Position("orders.jsonl", 9), examples=("new",), lengths=(3, 3)),),
    )  # fmt: skip
    lines = TableFinding("orders__lines", "orders", True, ())
    return InferenceReport(
        name="shop", table="orders", sample="full",
        files=(FileFinding("orders.jsonl", 600_000, 600_000, 0, None, "orders"),
            FileFinding("more.jsonl", 1, 1, 0, None, "orders")), tables=(orders, lines, tags), collisions=(), nulls=(),
        violations=(), before_hash=None, before_version=None, after_hash=AFTER, after_version=1, is_check=False,
        saved=True, written=("schemas/export/shop.schema.yaml", "schemas/import/shop.schema.yaml"),
    )  # fmt: skip


@pytest.fixture
def troubled() -> InferenceReport:
    """A sample that breaks a frozen contract and has everything else to warn of."""
    position = Position("data/orders.jsonl", 137)
    columns = (
        ColumnFinding("note", "text", "text", sources=("$.note",), values=4, total=4, kinds={"text": 4}),
        ColumnFinding("paid", "text", "timestamp", sources=("$.paid",), values=4, total=4, kinds={"text": 4}),
    )
    return InferenceReport(
        name="shop", table="orders", sample="10%",
        files=(FileFinding("data/orders.jsonl", 1_000, 98, 2, 41, "orders"),
            FileFinding("data/a.jsonl", 7, 7, 1, None, "orders")),
        tables=(TableFinding("orders__lines", "orders", False, columns),),
        collisions=(CollisionFinding("orders", "user_id", ("$.userId", "$.user_id")),
            CollisionFinding("orders__items", None, ("$.items[*]", "$.Items[*]"))),
        nulls=(NullFinding("orders", "id", "$.id", 3, Position("data/orders.jsonl", 5)),),
        violations=(ViolationFinding("orders", "id__v_text", "data_type", "freeze", "bigint", "text", 6_012, position,
                        "idx-nr-136", "id"),
            ViolationFinding("orders", "extra", "columns", "discard_value", "no new column", "double", 1, position,
                None),
            ViolationFinding("orders__more", None, "tables", "discard_row", "no new table", "list", 0, None, None)),
        before_hash=BEFORE, before_version=3, after_hash=AFTER, after_version=4, is_check=False, saved=False,
        import_adopted=BEFORE,
    )  # fmt: skip


@pytest.fixture
def unchanged(new_schema: InferenceReport) -> InferenceReport:
    return replace(new_schema, tables=(), before_hash=AFTER, before_version=1, saved=False, written=(), is_check=True)


@pytest.fixture
def hostile() -> InferenceReport:
    """A report in which every text from data tries to steer the terminal."""
    evil = "[red]\x1b[31m\x07\x9b2J\r\n\u202e\udcff[/red]:smile:"
    position = Position(f"{evil}.jsonl", 2)
    column = ColumnFinding(
        evil, None, "text", sources=(f"$['{evil}']",), values=1, total=1, nulls=1, kinds={"text": 1}, first=position,
        examples=(evil, f"{evil}2"), lengths=(1, 2),
    )  # fmt: skip
    variant = replace(column, name=f"{evil}__v_text", variant_of=evil)
    return InferenceReport(
        name=evil, table=evil, sample=evil, files=(FileFinding(f"{evil}.jsonl", 2, 1, 1, 2, evil),),
        tables=(TableFinding(evil, f"{evil}up", True, (column, variant)),),
        collisions=(CollisionFinding(evil, evil, (evil, f"{evil}2")),),
        nulls=(NullFinding(evil, evil, evil, 1, position),),
        violations=(ViolationFinding(evil, evil, "columns", "freeze", evil, evil, 1, position, evil),),
        before_hash=None, before_version=None, after_hash=AFTER, after_version=1, is_check=False, saved=True,
        written=(f"{evil}.yaml",), import_adopted=evil,
    )  # fmt: skip
