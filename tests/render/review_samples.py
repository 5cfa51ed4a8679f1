"""Made-up reviews, one for each situation that a reader meets; every renderer is tried on them."""

from __future__ import annotations

from datetime import date
from typing import Any

from schemactl.errors import Location
from schemactl.review.report import Compatibility, Counted, Finding, Report, Review, Silence, Version
from schemactl.review.severity import Direction, Impact, Severity
from schemactl.schema.changes import (
    ABSENT,
    ColumnAdded,
    ColumnPropertyChanged,
    ColumnRemoved,
    ColumnRenamed,
    ColumnRetyped,
    ColumnsReordered,
    HeaderChanged,
    NormalizerChanged,
    NullabilityChanged,
    SettingChanged,
    TableAdded,
    TablePropertyChanged,
    TableRemoved,
    TableRenamed,
    VariantFolded,
)
from schemactl.schema.types import Column, Table

BASE_HASH = "Rk0y7wYHqZ3m5VtqV1mJm2bEJq0PzV8rXh0xWcY8s7A="
HEAD_HASH = "uX1Tt0p5dC8n3gkWbLQe6o2rVhYf9sM4iZaJx7KqB0E="
EDITED_HASH = "p0Qe8fZ2mYwK1dRrT5nUu6bHcXvL3jGsA7oIi9kNqEw="
EVIL = "a|b`c``d\\<script>x()</script>\n::error file=x::boo\r\n\x1b[31m\x9b2J\u202e[red]*x*_y_ @octocat #1 😀 ]]>&amp;"
LONG = "long_" * 60

_ERROR, _WARN, _INFO, _NONE = Severity.ERROR, Severity.WARN, Severity.INFO, Severity.NONE


def clean() -> Report:
    """One schema, the same on both sides."""
    version = _version("schemas/orders.schema.yaml", 3, BASE_HASH)
    base = _version("main:schemas/orders.schema.yaml", 3, BASE_HASH)
    return Report(compatibility=Compatibility.READERS, reviews=(Review(name="orders", base=base, head=version),))


def cosmetic() -> Report:
    """One schema whose hash changed through hints and wording alone."""
    changes = (
        TablePropertyChanged("orders", "description", ABSENT, "What customers ordered."),
        NullabilityChanged("orders", "note", ABSENT, True),
        ColumnPropertyChanged("orders", "id", "description", "the key", "the order's key"),
        ColumnPropertyChanged("orders", "id", "x-owner", ABSENT, "team-a"),
        ColumnsReordered("orders", ("id", "note", "total"), ("id", "total", "note")),
    )
    findings = (
        _finding("H605", "description changed", _INFO, "the description of column `id` changed", column="id",
            before="the key", after="the order's key", is_cosmetic=True, direction=Direction.NONE,
            location=Location("schemas/orders.schema.yaml", 9, 9)),
    )  # fmt: skip
    review = Review(
        name="orders",
        base=_version("main:schemas/orders.schema.yaml", 3, BASE_HASH),
        head=_version("schemas/orders.schema.yaml", 4, HEAD_HASH),
        changes=changes,
        findings=findings,
        is_cosmetic=True,
    )
    return Report(compatibility=Compatibility.READERS, reviews=(review,))


def broken() -> Report:
    """Two schemas with every kind of change, finding and silence; the head of the first was edited by hand."""
    return Report(
        compatibility=Compatibility.FULL,
        reviews=(_customers(), _orders()),
        unmatched=(Silence("C204", "the mobile app reads it", table="legacy_*", at=Location("pyproject.toml", 41, 1)),),
        expired=(Silence("D304", "moved to v2", table="orders", column="total", until=date(2026, 1, 31)),),
        is_transitive=True,
        data=("data/orders/*.jsonl",),
    )


def hostile() -> Report:
    """A schema whose names and texts try to break out of every output."""
    column = Column(EVIL, {"data_type": "text", "x-note": EVIL})
    changes = (
        HeaderChanged("description", EVIL, ABSENT),
        SettingChanged(EVIL, ABSENT, {EVIL: [EVIL]}),
        NormalizerChanged("names", "snake_case", EVIL),
        TableRenamed(LONG, EVIL),
        TableRemoved(Table("::error", {LONG: Column(LONG, {"data_type": "bigint"})})),
        TableAdded(Table("😀", {EVIL: column})),
        TablePropertyChanged(EVIL, EVIL, EVIL, None),
        ColumnRenamed(EVIL, "|", "`", is_stated=True),
        ColumnRemoved(EVIL, column),
        VariantFolded(EVIL, column, LONG),
        ColumnAdded(EVIL, Column("", {"data_type": "text"})),
        ColumnRetyped(EVIL, LONG, {"data_type": "text"}, {"data_type": "bigint", "precision": 16}),
        NullabilityChanged(EVIL, "\n", True, False),
        ColumnPropertyChanged(EVIL, "`", EVIL, LONG, EVIL),
        ColumnsReordered(EVIL, ("`", LONG), (LONG, "`")),
    )
    place = Location(f"{EVIL}/x.yaml", 2, 3)
    findings = (
        _finding("C204", "column removed", _ERROR, f"column `{EVIL}` was removed from `{EVIL}`", table=EVIL,
            column=EVIL, schema=EVIL, before=column.to_dict(), impact=Impact(_ERROR, _WARN, _ERROR), location=place,
            base_location=Location(f"main:{EVIL}/x.yaml", 7, 3), counted=Counted(2, 1, (EVIL,), Location(EVIL, 1)),
            against=EVIL),
        _finding("X701", "contract tightened", _ERROR, f"setting `{EVIL}` is {EVIL}", table=None, schema=EVIL,
            before=None, after=EVIL, impact=Impact(writers=_ERROR), is_violation=True),
        _finding("D302", "type narrowed", _WARN, f"`{LONG}` was text and is bigint", table=EVIL, column=LONG,
            schema=EVIL, before="text", after="bigint", impact=Impact(_WARN, _WARN, Severity.DEPENDS),
            location=Location("/tmp/absolute path/x.yaml")),
        _finding("H603", "hint changed", _INFO, f"hint `{EVIL}` changed", table=EVIL, column="`", schema=EVIL,
            before=LONG, after=EVIL, silence=Silence("H603", EVIL, table=EVIL, until=date(2099, 1, 1), at=place)),
    )  # fmt: skip
    review = Review(
        name=EVIL,
        base=_version(f"main:{EVIL}", 1, EVIL),
        head=_version("<stdin>", 2, EVIL, content=EDITED_HASH),
        changes=changes,
        findings=findings,
    )
    return Report(
        compatibility=Compatibility.READERS,
        reviews=(review,),
        unmatched=(Silence("C204", EVIL, table=EVIL, column=EVIL, at=place),),
        data=(EVIL,),
    )


def _orders() -> Review:
    path = "schemas/orders.schema.yaml"
    old = Table(
        "old_orders",
        {"id": Column("id", {"data_type": "bigint", "nullable": False}), "sum": Column("sum", {"data_type": "double"})},
        {"write_disposition": "append"},
    )
    refunds = Table(
        "refunds",
        {
            "id": Column("id", {"data_type": "bigint", "nullable": False, "primary_key": True}),
            "amount": Column("amount", {"data_type": "decimal", "precision": 10, "scale": 2}),
            "reason": Column("reason", {"data_type": "text"}),
        },
        {"write_disposition": "merge"},
    )
    note = Column("note", {"data_type": "text", "nullable": True})
    changes = (
        HeaderChanged("version", 3, 4),
        HeaderChanged("description", ABSENT, "What customers ordered."),
        SettingChanged("schema_contract", {"tables": "freeze"}, {"tables": "evolve"}),
        NormalizerChanged("names", "snake_case", "direct"),
        TableRenamed("lines", "order_lines", is_stated=True),
        TableRenamed("lines__tags", "order_lines__tags", follows_parent=True),
        TableRemoved(old),
        TableAdded(refunds),
        TablePropertyChanged("orders", "write_disposition", "append", "merge"),
        TablePropertyChanged("orders", "x-owner", "team-a", ABSENT),
        ColumnRenamed("orders", "customer", "customer_id"),
        ColumnRemoved("orders", note),
        VariantFolded("orders", Column("amount__v_double", {"data_type": "double", "variant": True}), "amount"),
        ColumnAdded("orders", Column("paid_at", {"data_type": "timestamp", "nullable": False})),
        ColumnRetyped(
            "orders",
            "total",
            {"data_type": "double"},
            {"data_type": "decimal", "precision": 10, "scale": 2},
        ),
        NullabilityChanged("orders", "customer_id", ABSENT, False),
        NullabilityChanged("order_lines", "amount", ABSENT, True),
        ColumnPropertyChanged("orders", "id", "description", ABSENT, "the order's key"),
        ColumnPropertyChanged("orders", "id", "unique", True, ABSENT),
        ColumnsReordered("order_lines", ("id", "amount", "tax"), ("id", "tax", "amount")),
    )
    return Review(
        name="orders",
        base=_version(f"main:{path}", 3, BASE_HASH),
        head=_version(path, 4, HEAD_HASH, content=EDITED_HASH),
        changes=changes,
        findings=_orders_findings(path, old, refunds, note),
    )


def _orders_findings(path: str, old: Table, refunds: Table, note: Column) -> tuple[Finding, ...]:
    base = f"main:{path}"
    return (
        _finding("C204", "column removed", _ERROR, "column `note` was removed from `orders`", column="note",
            before=note.to_dict(), impact=Impact(_ERROR, _WARN, _ERROR), direction=Direction.TIGHTENS,
            location=Location(path, 21, 5), base_location=Location(base, 34, 7),
            why="A query that selects the column fails, and its values are lost once the change is applied.",
            fix="Keep the column, nullable, until nobody reads it any more. Then remove it with a tombstone "
                "(rule C205)."),
        _finding("N402", "column no longer nullable", _ERROR, "column `customer_id` of `orders` is now required",
            column="customer_id", before=None, after=False, impact=Impact(_NONE, _ERROR, _ERROR),
            direction=Direction.TIGHTENS, location=Location(path, 25, 9), base_location=Location(base, 25, 9),
            counted=Counted(12_000, 3, (None,), Location("data/orders/2026-01.jsonl", 137)),
            fix="Fill the nulls first, or leave the column nullable."),
        _finding("T102", "table removed", _ERROR, "table `old_orders` is gone", table="old_orders",
            before=old.to_dict(), impact=Impact(_ERROR, _WARN, _ERROR), direction=Direction.TIGHTENS,
            location=Location(path, 7, 1), base_location=Location(base, 60, 3),
            fix="Keep the table until nobody reads it any more."),
        _finding("X702", "schema contract changed", _ERROR, "the contract froze `tables`, and `refunds` is new",
            table="refunds", after=refunds.to_dict(), impact=Impact(writers=_ERROR), direction=Direction.LOOSENS,
            is_violation=True, location=Location(path, 70, 3),
            fix="Ask the owner of the contract, or loosen it in a change of its own."),
        _finding("D303", "type changed, some values do not survive", _WARN,
            "column `total` of `orders` was double and is decimal", column="total", before={"data_type": "double"},
            after={"data_type": "decimal", "precision": 10, "scale": 2}, impact=Impact(_WARN, _NONE, _NONE),
            direction=Direction.TIGHTENS, location=Location(path, 28, 9), base_location=Location(base, 28, 9),
            counted=Counted(12_000, 0),
            fix="Add a column of the new type beside the old one, and fill both for a while."),
        _finding("D301", "type widened", _WARN, "column `quantity` of `orders` was bigint in version 2 and is double",
            column="quantity", before={"data_type": "bigint"}, after={"data_type": "double"},
            impact=Impact(_WARN, _NONE, _NONE), direction=Direction.LOOSENS, location=Location(path, 31, 9),
            against="v1.4:schemas/orders.schema.yaml", fix="Inform those who still read version 2."),
        _finding("T104", "table renamed", _WARN, "table `lines` is now `order_lines`, with 1 nested table",
            table="order_lines", before="lines", after="order_lines", impact=Impact(_WARN, _WARN, _NONE),
            direction=Direction.BOTH, location=Location(path, 44, 3), base_location=Location(base, 44, 3),
            fix="Keep a view of the old name.",
            silence=Silence("T104", "agreed with the analysts", table="order_*", until=date(2026, 12, 31),
                at=Location("s.toml", 4))),
        _finding("T101", "table added", _INFO, "table `refunds` is new", table="refunds", after=refunds.to_dict(),
            impact=Impact(_INFO, _NONE, _NONE), direction=Direction.LOOSENS, location=Location(path, 70, 3)),
        _finding("K501", "unique hint removed", _INFO, "column `id` of `orders` is no longer `unique`", column="id",
            before=True, impact=Impact(_INFO, _NONE, _NONE), direction=Direction.LOOSENS,
            location=Location(path, 14, 9)),
        _finding("X701", "naming convention changed", _INFO, "the naming convention was `snake_case` and is `direct`",
            table=None, before="snake_case", after="direct", impact=Impact(_NONE, _INFO, _NONE),
            direction=Direction.UNDETERMINED, location=Location(path, 90, 3)),
        _finding("H605", "description changed", _INFO, "column `id` of `orders` has a description now", column="id",
            after="the order's key", direction=Direction.NONE, is_cosmetic=True, location=Location(path, 13, 9)),
    )  # fmt: skip


def _customers() -> Review:
    """A schema that is new in the head, in a file without a hash."""
    table = Table("customers", {"id": Column("id", {"data_type": "bigint", "nullable": False})})
    return Review(
        name="customers", base=None, head=_version("schemas/customers.schema.yaml", 1, None, content=HEAD_HASH),
        changes=(TableAdded(table),),
        findings=(_finding("T101", "table added", _INFO, "table `customers` is new", table="customers",
                      schema="customers", after=table.to_dict(), impact=Impact(_INFO, _NONE, _NONE),
                      direction=Direction.LOOSENS, location=Location("schemas/customers.schema.yaml", 5, 3)),),
    )  # fmt: skip


def _version(origin: str, number: int, stated: str | None, content: str | None = None) -> Version:
    """Return a version whose content has another hash than the stated one where ``content`` is given."""
    is_edited = stated is not None and content is not None
    return Version(
        origin=origin, number=number, stated_hash=stated, hash=content or stated or HEAD_HASH, is_edited=is_edited
    )


def _finding(rule: str, title: str, severity: Severity, message: str, **others: Any) -> Finding:
    place = (others.get("schema", "orders"), others.get("table", "orders"), others.get("column"))
    defaults: dict[str, Any] = {
        "direction": Direction.UNDETERMINED,
        "impact": Impact(),
        "why": f"Why {rule} matters to somebody.",
        "fix": f"What to do about {rule}.",
        "schema": "orders",
        "table": "orders",
        "fingerprint": f"{sum(map(ord, f'{rule}{place}{message}')):012x}",
    }
    return Finding(rule=rule, title=title, severity=severity, message=message, **{**defaults, **others})
