"""Columns hinted `partition` partition the tables of lakes that loads and migrations make, as they do with dlt."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from staged_loads import order, orders, package, quiet, shop

from schemactl.destinations import DESTINATIONS
from schemactl.errors import DestinationError
from schemactl.migration.comparison import bare_table
from schemactl.migration.steps import ChangeType, CreateTable
from schemactl.schema.types import Column

LAKES = ["delta", "iceberg"]
KINDS = {
    "place": {"data_type": "text"},
    "number": {"data_type": "bigint"},
    "is_paid": {"data_type": "bool"},
    "day": {"data_type": "date"},
    "moment": {"data_type": "timestamp"},
    "local": {"data_type": "timestamp", "timezone": False},
}
BY_PLACE = {"place": {"data_type": "text", "partition": True}}
VALUES = {
    "place": ["Café / ü=1%", "b"],
    "number": [-(2**40), 7],
    "is_paid": [True, False],
    "day": [date(1969, 12, 31), date(2026, 1, 2)],
    "moment": [datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), datetime(2026, 1, 2, tzinfo=UTC)],
    "local": [datetime(2026, 1, 2, 3, 4, 5, 6), datetime(1900, 1, 1)],
}


def url_of(kind: str, folder: Path) -> str:
    return f"{kind}:{folder / 'lake'}?dataset=sales"


def delta_table(folder: Path) -> Any:
    from deltalake import DeltaTable

    return DeltaTable(folder / "lake" / "sales" / "orders")


def iceberg_table(folder: Path) -> Any:
    from pyiceberg.table import StaticTable

    latest = max((folder / "lake" / "sales" / "orders" / "metadata").glob("*.metadata.json"))
    return StaticTable.from_metadata(str(latest))


def partitions(kind: str, folder: Path) -> list[str]:
    if kind == "delta":
        return list(delta_table(folder).metadata().partition_columns)
    table = iceberg_table(folder)
    return [table.schema().find_column_name(each.source_id) for each in table.spec().fields]


def values(kind: str, folder: Path, column: str) -> list[Any]:
    """Return a column's values as other readers see them, with the key of each row."""
    found = delta_table(folder).to_pyarrow_table() if kind == "delta" else iceberg_table(folder).scan().to_arrow()
    return [row[column] for row in sorted(found.select(["id", column]).to_pylist(), key=lambda row: row["id"])]


def selected(kind: str, folder: Path, column: str, value: Any) -> int:
    """Return how many rows another reader finds by a partition's value, which picks the files."""
    if kind == "delta":
        import pyarrow.dataset as ds

        wanted = pa.scalar(value, delta_table(folder).to_pyarrow_dataset().schema.field(column).type)
        return int(delta_table(folder).to_pyarrow_dataset().count_rows(filter=ds.field(column) == wanted))
    from pyiceberg.expressions import EqualTo

    stated = value.isoformat() if isinstance(value, date | datetime) else value
    return int(iceberg_table(folder).scan(EqualTo(column, stated)).to_arrow().num_rows)


@pytest.mark.parametrize("kind", LAKES)
@pytest.mark.parametrize("column", KINDS)
def test_rows_of_each_partition_are_files_of_their_own(kind: str, column: str, tmp_path: Path) -> None:
    one, other = VALUES[column]
    hinted = orders({column: {**KINDS[column], "partition": True}})
    rows = [order(1, "a", **{column: one}), order(2, "b", **{column: other}), order(3, "c", **{column: None})]
    rows.append(order(4, "d", **{column: one}))
    DESTINATIONS[kind].load(url_of(kind, tmp_path), package(tmp_path, shop(hinted), "1", {"orders": rows}), quiet)  # type: ignore[attr-defined]
    assert partitions(kind, tmp_path) == [column]
    assert values(kind, tmp_path, column) == [one, other, None, one]
    assert selected(kind, tmp_path, column, one) == 2
    assert selected(kind, tmp_path, column, other) == 1


@pytest.mark.parametrize("kind", LAKES)
def test_merges_and_replacements_keep_partitions(kind: str, tmp_path: Path) -> None:
    url, load = url_of(kind, tmp_path), DESTINATIONS[kind].load  # type: ignore[attr-defined]
    merged = {"write_disposition": "merge", "x-merge-strategy": "upsert"}
    places = ["a=1/ü", None, "a=1/ü", "b"]
    first = [order(number, str(number), place=place) for number, place in enumerate(places)]
    key = {"id": {"data_type": "bigint", "primary_key": True}}
    load(url, package(tmp_path, shop(orders({**key, **BY_PLACE})), "1", {"orders": first}), quiet)
    changed = orders({**key, **BY_PLACE}, **merged)
    load(
        url,
        package(tmp_path, shop(changed), "2", {"orders": [order(0, "0", place="b"), order(4, "4", place=None)]}),
        quiet,
    )
    assert values(kind, tmp_path, "place") == ["b", None, "a=1/ü", "b", None]
    assert selected(kind, tmp_path, "place", "b") == 2
    replaced = orders({**key, **BY_PLACE}, write_disposition="replace")
    load(url, package(tmp_path, shop(replaced), "3", {"orders": [order(9, "9", place="c")]}), quiet)
    assert values(kind, tmp_path, "place") == ["c"]
    assert partitions(kind, tmp_path) == ["place"]


def test_partitions_that_dlt_has_made_are_gone_on_with(tmp_path: Path) -> None:
    from deltalake import write_deltalake

    made = pa.table({"id": [1, 2], "_dlt_id": ["1", "2"], "_dlt_load_id": ["0", "0"], "place": ["a / ü", None]})
    write_deltalake(str(tmp_path / "lake" / "sales" / "orders"), made, partition_by=["place"])
    key = {"id": {"data_type": "bigint", "primary_key": True}, "place": {"data_type": "text"}}
    merged = orders(key, **{"write_disposition": "merge", "x-merge-strategy": "upsert"})
    rows = [order(1, "1", place="b"), order(3, "3", place="a / ü")]
    DESTINATIONS["delta"].load(  # type: ignore[attr-defined]
        url_of("delta", tmp_path), package(tmp_path, shop(merged), "1", {"orders": rows}), quiet
    )
    assert values("delta", tmp_path, "place") == ["b", None, "a / ü"]


@pytest.mark.parametrize("kind", LAKES)
def test_a_column_of_no_exact_values_is_no_partition(kind: str, tmp_path: Path) -> None:
    hinted = shop(orders({"amount": {"data_type": "double", "partition": True}}))
    rows = {"orders": [order(1, amount=0.5)]}
    with pytest.raises(DestinationError, match=r"`orders\.amount` has the hint `partition`, but its type is double"):
        DESTINATIONS[kind].load(url_of(kind, tmp_path), package(tmp_path, hinted, "1", rows), quiet)  # type: ignore[attr-defined]


def test_an_empty_text_that_delta_would_make_null_is_not_loaded(tmp_path: Path) -> None:
    rows = {"orders": [order(1, place="")]}
    with pytest.raises(DestinationError, match="has an empty string there, which Delta stores as null"):
        DESTINATIONS["delta"].load(  # type: ignore[attr-defined]
            url_of("delta", tmp_path), package(tmp_path, shop(orders(BY_PLACE)), "1", rows), quiet
        )
    assert not (tmp_path / "lake" / "sales" / "orders").exists()


@pytest.mark.parametrize("kind", LAKES)
def test_tables_that_migrations_make_have_partitions_and_keep_them(kind: str, tmp_path: Path) -> None:
    destination, url = DESTINATIONS[kind], url_of(kind, tmp_path)
    made = bare_table(orders({**BY_PLACE, "amount": {"data_type": "text"}}))
    retyped = ChangeType("orders", made.columns["amount"], Column("amount", {"data_type": "bigint"}))
    with destination.connect(url, "shop", may_be_new=True) as session:  # type: ignore[attr-defined]
        session.run(CreateTable(made), destination.render(CreateTable(made), None, session.dataset))  # type: ignore[attr-defined]
    hinted = orders({**BY_PLACE, "amount": {"data_type": "text"}})
    rows = [order(1, "1", place="a", amount="1"), order(2, "2", place="b", amount="2")]
    destination.load(url, package(tmp_path, shop(hinted), "1", {"orders": rows}), quiet)  # type: ignore[attr-defined]
    with destination.connect(url, "shop") as session:  # type: ignore[attr-defined]
        session.run(retyped, destination.render(retyped, made, session.dataset))  # type: ignore[attr-defined]
    assert partitions(kind, tmp_path) == ["place"]
    assert values(kind, tmp_path, "amount") == [1, 2]
    assert selected(kind, tmp_path, "place", "b") == 1
