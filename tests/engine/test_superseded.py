"""Merges that the local engine leaves to Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from schemactl.engine.local.superseded import write_superseded
from schemactl.engine.protocol import RowPlaces
from schemactl.errors import InputError
from schemactl.schema.types import Column, Table


def test_keys_that_hold_lists_are_refused(tmp_path: Path) -> None:
    indexes = pa.array([[]], pa.list_(pa.int64()))
    rows = {"c0": [[1]], "ordinal": [0], "file": ["a"], "line": [1], "list": [0], "indexes": indexes}
    pq.write_table(pa.table(rows), tmp_path / "places.parquet")
    table = Table("orders", {"tags": Column("tags", {"data_type": "json", "primary_key": True})}, {})
    places = RowPlaces(tmp_path.as_uri(), {0: "places.parquet"}, ("tags",), table)
    with pytest.raises(InputError, match="merged by `tags`, which holds objects or lists"):
        write_superseded(places, tmp_path / "superseded")
