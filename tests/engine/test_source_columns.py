"""Values of any Arrow type in the types that the kernel takes: slices, nulls and nesting do not matter."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from schemactl.engine.inputs import find_inputs
from schemactl.engine.local.columns import kernel_type, read_as
from schemactl.engine.local.input_formats import arrow, parquet
from schemactl.errors import InputError
from schemactl.schema.paths import ELEMENT

BYTES = pa.uint8()
TYPES = [
    pa.list_(BYTES), pa.large_list(BYTES), pa.list_(BYTES, 2), pa.list_view(BYTES), pa.list_(pa.list_(pa.uint16())),
    pa.map_(pa.string(), BYTES), pa.list_(pa.struct({"x": BYTES})), pa.dictionary(pa.int32(), pa.string()),
    pa.list_(pa.dictionary(pa.int32(), pa.string())), pa.large_string(), pa.list_(pa.large_string()),
    pa.struct({"a": pa.list_(BYTES), "b": pa.map_(pa.string(), pa.struct({"c": BYTES})), "d": pa.large_string()}),
]  # fmt: skip


def made_up(of: pa.DataType, chance: random.Random) -> Any:
    if chance.random() < 0.3:
        return None
    if pa.types.is_struct(of):
        return {field.name: made_up(field.type, chance) for field in of}
    if pa.types.is_map(of):
        return [(key, made_up(of.item_type, chance)) for key in "abc"[: chance.randint(0, 3)]]
    if pa.types.is_fixed_size_list(of):
        return [made_up(of.value_type, chance) for _ in range(of.list_size)]
    if pa.types.is_nested(of):
        return [made_up(of.value_type, chance) for _ in range(chance.randint(0, 3))]
    return chance.randint(0, 200) if pa.types.is_integer(of) else chance.choice("xyz")


@pytest.mark.parametrize("of", TYPES, ids=str)
def test_slices_are_read_in_the_types_of_the_kernel(of: pa.DataType) -> None:
    chance = random.Random(3)
    for _ in range(100):
        values = pa.array([made_up(of, chance) for _ in range(10)], of)
        start = chance.randint(0, 9)
        part = values.slice(start, chance.randint(0, 10 - start))
        read = read_as(part, kernel_type(of))
        read.validate(full=True)
        assert (read.type, read.to_pylist()) == (kernel_type(of), part.to_pylist())


def test_fields_that_a_file_lacks_are_null() -> None:
    values = pa.array([{"a": 1}, None], pa.struct({"a": BYTES}))
    of = pa.struct({"a": pa.int16(), "b": pa.string()})
    assert read_as(values, of).to_pylist() == [{"a": 1, "b": None}, None]


def test_timestamps_of_the_old_type_int96_are_moments_in_utc(tmp_path: Path) -> None:
    moments = [datetime(1500, 1, 1), datetime(9999, 12, 31), None]
    of = pa.struct({"n": BYTES, "at": pa.timestamp("us")})
    table = pa.table({"n": [1, 2, 3], "inside": pa.array([[{"n": 1, "at": at}] for at in moments], pa.list_(of))})
    pq.write_table(table, tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
    (rows,) = parquet.read(find_inputs([str(tmp_path / "a.parquet")]), 1)
    assert rows.column_types()["inside", ELEMENT, "at"] == {"data_type": "timestamp", "precision": 6}
    (batch,) = (batch for source in rows.rows().records for task in source.tasks() for batch in task.batches())
    read = [elements[0]["at"] for elements in batch.column("c1").to_pylist()]
    assert read == [at and at.replace(tzinfo=UTC) for at in moments]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([pa.MonthDayNano([1, 2, 3])]),
        pa.array([[pa.MonthDayNano([1, 2, 3])]]),
        pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1])]),
    ],
    ids=["interval", "list", "union"],
)
def test_arrow_types_that_no_column_holds_are_refused_with_their_place(tmp_path: Path, values: pa.Array) -> None:
    table = pa.table({"id": [1], "span": values})
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(InputError, match="the column `span` has the Arrow type") as caught:
        list(arrow.read(find_inputs([str(tmp_path / "a.arrow")]), 1))
    assert str(caught.value.at) == str(tmp_path / "a.arrow")
