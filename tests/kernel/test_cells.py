"""Lines of CSV without quotes are cut into cells, and rows become documents."""

from __future__ import annotations

import json

import pyarrow as pa

from schemactl.kernel.cells import cut_lines

NAMES = ["a", "b", "c"]


def cut(*lines: tuple[str, int, str]) -> list[tuple[str, int, int, str]]:
    batches = [
        pa.table(
            [pa.array(column) for column in zip(*lines[at : at + 2], strict=True)], names=["file", "block", "text"]
        )
        for at in range(0, len(lines), 2)
    ]
    found = cut_lines((batch for table in batches for batch in table.to_batches()), NAMES, ";")
    return [tuple(row.values()) for batch in found for row in batch.to_pylist()]


def test_the_header_and_blank_lines_are_no_rows():
    rows = cut(("x.csv", 0, ""), ("x.csv", 0, "a;b;c"), ("x.csv", 0, "1;2;3"), ("x.csv", 0, ""), ("x.csv", 0, "4;5;6"))

    assert [row[:3] for row in rows] == [("x.csv", 0, 0), ("x.csv", 0, 1)]
    assert [json.loads(row[3]) for row in rows] == [{"a": "1", "b": "2", "c": "3"}, {"a": "4", "b": "5", "c": "6"}]


def test_only_the_first_block_of_a_file_has_a_header():
    rows = cut(
        ("x.csv", 0, "a;b;c"), ("x.csv", 0, "1;;"), ("x.csv", 99, "2;;"), ("y.csv", 0, "a;b;c"), ("y.csv", 0, "3")
    )

    assert [(file, block, number, json.loads(text)) for file, block, number, text in rows] == [
        ("x.csv", 0, 0, {"a": "1"}), ("x.csv", 99, 0, {"a": "2"}), ("y.csv", 0, 0, {"a": "3"}),
    ]  # fmt: skip


def test_empty_cells_are_none_and_a_surplus_one_is_reported():
    rows = cut(("x.csv", 0, "a;b;c"), ("x.csv", 0, ";;"), ("x.csv", 0, " ;é;;"), ("x.csv", 0, "1;;3;4;5"))

    assert [row[3] for row in rows] == ["{}", '{"a":" ","b":"é"}', "more cells than columns: 1, 3, 4"]
