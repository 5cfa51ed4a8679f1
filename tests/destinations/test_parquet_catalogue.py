"""What the footers of a folder of Parquet say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from schemactl.destinations import parquet as destination
from schemactl.destinations.parquet.catalogue import file_columns
from schemactl.errors import DestinationError, InputError
from schemactl.schema.types import Column


def put(path: Path, **fields: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    held = (kind if isinstance(kind, pa.Field) else pa.field(name, kind) for name, kind in fields.items())
    schema = pa.schema(list(held))
    pyarrow.parquet.write_table(schema.empty_table(), path)
    return path


def tables(url: str) -> dict[str, list[dict[str, Any]]]:
    schema = destination.read_catalogue(url).schema
    return {name: [each.to_dict() for each in table.columns.values()] for name, table in schema.tables.items()}


def test_each_folder_is_a_table_as_its_last_file_has_it(tmp_path: Path) -> None:
    put(tmp_path / "orders" / "2.parquet", id=pa.field("id", pa.int64(), nullable=False), note=pa.string())
    put(tmp_path / "orders" / "1.parquet", id=pa.int64())
    put(tmp_path / "events" / "day=2026-01-01" / "1.parquet", at=pa.timestamp("us", "UTC"))
    (tmp_path / "orders" / "_SUCCESS").touch()
    (tmp_path / "_delta_log").mkdir()
    assert tables(f"parquet:{tmp_path}") == {
        "events": [{"name": "at", "data_type": "timestamp"}, {"name": "day", "data_type": "text"}],
        "orders": [{"name": "id", "data_type": "bigint", "nullable": False}, {"name": "note", "data_type": "text"}],
    }


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (pa.int8(), {"data_type": "bigint", "precision": 8}),
        (pa.uint32(), {"data_type": "bigint"}),
        (pa.uint64(), {"x-database-type": "uint64"}),
        (pa.float32(), {"data_type": "double"}),
        (pa.large_string(), {"data_type": "text"}),
        (pa.dictionary(pa.int32(), pa.string()), {"data_type": "text"}),
        (pa.decimal128(10, 2), {"data_type": "decimal", "precision": 10, "scale": 2}),
        (pa.decimal128(38, 0), {"data_type": "wei"}),
        (pa.decimal256(76, 0), {"data_type": "wei"}),
        (pa.timestamp("ms"), {"data_type": "timestamp", "timezone": False, "precision": 3}),
        (pa.timestamp("ns", "UTC"), {"data_type": "timestamp", "precision": 9}),
        (pa.time32("ms"), {"data_type": "time", "precision": 3}),
        (pa.date32(), {"data_type": "date"}),
        (pa.list_(pa.int32()), {"x-database-type": "list<element: int32>"}),
    ],
)
def test_types_are_dlts_or_kept_as_they_are(tmp_path: Path, kind: pa.DataType, expected: dict[str, Any]) -> None:
    put(tmp_path / "t" / "1.parquet", x=kind)
    assert tables(f"parquet:{tmp_path}") == {"t": [{"name": "x", **expected}]}
    assert destination.stored(Column("x", {**expected, "nullable": False})) == expected


def test_a_length_of_bytes_is_read_and_not_compared(tmp_path: Path) -> None:
    put(tmp_path / "t" / "1.parquet", x=pa.binary(4))
    fixed = {"data_type": "binary", "precision": 4}
    assert tables(f"parquet:{tmp_path}") == {"t": [{"name": "x", **fixed}]}
    assert destination.stored(Column("x", fixed)) == {"data_type": "binary"}


def test_a_folder_of_datasets(tmp_path: Path) -> None:
    put(tmp_path / "sales" / "a" / "1.parquet", x=pa.int64())
    assert list(tables(f"parquet:{tmp_path}")) == ["a"]
    assert destination.read_catalogue(f"parquet:{tmp_path}").schema.name == "sales"
    put(tmp_path / "geo" / "b" / "1.parquet", x=pa.int64())
    assert list(tables(f"parquet:{tmp_path}?dataset=geo")) == ["b"]
    with pytest.raises(InputError, match="contains 2 datasets: `geo`, `sales`"):
        tables(f"parquet:{tmp_path}")


def test_what_is_no_parquet_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        tables(f"parquet:{tmp_path / 'none'}")
    with pytest.raises(InputError, match="there are no tables"):
        tables(f"parquet:{tmp_path}")
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "1.parquet").write_text("x")
    with pytest.raises(DestinationError, match=r"cannot read `.*1\.parquet`"):
        tables(f"parquet:{tmp_path}")


def test_a_file_that_another_command_replaces_is_read_by_the_next_call(tmp_path: Path) -> None:
    with pytest.raises(DestinationError) as caught:
        file_columns(tmp_path / "1.parquet")
    assert caught.value.hint == "another command may have replaced it: run this one again"
