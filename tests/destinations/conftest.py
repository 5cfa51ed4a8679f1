"""What the tests of destinations share: a PostgreSQL server, and datasets that dlt made."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TYPED = {
    "a_text": {"data_type": "text"},
    "a_double": {"data_type": "double"},
    "a_bool": {"data_type": "bool"},
    "a_timestamp": {"data_type": "timestamp"},
    "a_bigint": {"data_type": "bigint"},
    "a_binary": {"data_type": "binary"},
    "a_json": {"data_type": "json"},
    "a_decimal": {"data_type": "decimal"},
    "a_wei": {"data_type": "wei"},
    "a_date": {"data_type": "date"},
    "a_time": {"data_type": "time"},
    "int8": {"data_type": "bigint", "precision": 8},
    "int16": {"data_type": "bigint", "precision": 16},
    "int32": {"data_type": "bigint", "precision": 32},
    "int64": {"data_type": "bigint", "precision": 64},
    "text10": {"data_type": "text", "precision": 10},
    "decimal10": {"data_type": "decimal", "precision": 10},
    "decimal10_2": {"data_type": "decimal", "precision": 10, "scale": 2},
    "decimal_2": {"data_type": "decimal", "scale": 2},
    "wei10_2": {"data_type": "wei", "precision": 10, "scale": 2},
    "timestamp3": {"data_type": "timestamp", "precision": 3},
    "timestamp6": {"data_type": "timestamp", "precision": 6},
    "naive": {"data_type": "timestamp", "timezone": False},
    "naive0": {"data_type": "timestamp", "timezone": False, "precision": 0},
    "naive3": {"data_type": "timestamp", "timezone": False, "precision": 3},
    "naive6": {"data_type": "timestamp", "timezone": False, "precision": 6},
    "time3": {"data_type": "time", "precision": 3},
    "binary4": {"data_type": "binary", "precision": 4},
    "needed": {"data_type": "bigint", "nullable": False},
    "unique_one": {"data_type": "bigint", "unique": True},
    "waits": {"nullable": True},
}
"""A column of each kind that dlt makes."""


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Path]:
    """Runs a dlt pipeline ``shop`` into dataset ``sales``, and returns the file of the schema that dlt keeps."""
    import dlt

    def run(destination: Any, **options: Any) -> Path:
        @dlt.resource(name="orders", columns=TYPED, primary_key="id", write_disposition="merge")
        def orders() -> Iterator[dict[str, Any]]:
            yield from ROWS

        exports = tmp_path / "export"
        pipeline = dlt.pipeline(
            "shop",
            destination=destination,
            dataset_name="sales",
            pipelines_dir=str(tmp_path / "pipelines"),
            export_schema_path=str(exports),
        )
        pipeline.run(orders(), **options).raise_on_failed_jobs()
        return exports / "shop.schema.yaml"

    return run


ROWS: list[dict[str, Any]] = [
    {"id": 1, "needed": 1, "mixed": 1, "lines": [{"sku": "a", "tags": ["x"]}]},
    {"id": 2, "needed": 2, "mixed": "one"},
]


@pytest.fixture(params=("duckdb", "postgresql", "sqlite"))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[ModuleType, str, str]:
    """A destination's module with an address of an empty dataset, and the dataset's name in statements."""
    word = request.param
    kind = import_module(f"schemactl.destinations.{word}")
    if word == "postgresql":
        name = f"d{time.monotonic_ns()}"
        return kind, f"{request.getfixturevalue('postgres_url')}?dataset={name}", name
    name = "main" if word == "sqlite" else "shop"
    return kind, f"{word}:///{tmp_path / 'shop.db'}?dataset={name}", name
