"""Rows of CSV are found as Spark's parser finds them; cells whose quotes go wrong are reported with their places."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemactl.engine.csv_faults import find_csv_faults
from schemactl.engine.csv_header import CsvHeader
from schemactl.engine.input import Input
from schemactl.kernel.cells import CsvLayout, TextRows
from schemactl.kernel.csv_rows import walk_rows
from schemactl.kernel.files import FilePart, Form, read_cells


def broken(text: str, separator: str = ",") -> list[tuple[int, int, int, bool]]:
    found = [cell for row in walk_rows(text.splitlines(keepends=True), separator) for cell in row.broken]
    return [(cell.line, cell.column, cell.last_line, cell.is_open) for cell in found]


@pytest.mark.parametrize(
    "text",
    ['a,"b"\n', '"a ""b"" c",d\n', 'a,5" nail\n', '"a\nb","c"\r\n', '"a" ,"b"\n',
     '"","",""\n', 'a "b" c\n', '"a,\n""\n"\n'],
)  # fmt: skip
def test_quotes_as_rfc_4180_has_them_and_quotes_within_bare_cells_are_right(text: str) -> None:
    assert broken(text) == []


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ('a,b\n1,"x\n2,y\n', (2, 3, 3, True)),
        ('1,"x', (1, 3, 1, True)),
        ('a\n"x""\n1\n', (2, 1, 3, True)),
        ('1,"x\n2,"y",z\n', (1, 3, 2, False)),
        ('1,"a"b,c\n', (1, 3, 1, False)),
        ('1,"a\r\nb"\r\n2,"c\r\n', (3, 3, 3, True)),
    ],
)
def test_a_quote_that_does_not_close_is_reported_by_its_place(text: str, cell: tuple[int, int, int, bool]) -> None:
    assert broken(text) == [cell]


def test_line_feeds_in_cells_of_a_file_with_other_line_ends_count_as_lines() -> None:
    lines = ['1,"a\nb"\r\n', 'c\nd,"e\r\n']
    (cell,) = [cell for row in walk_rows(lines, ",") for cell in row.broken]
    assert (cell.line, cell.column) == (4, 3)


def test_what_a_row_that_is_shown_holds_is_bounded() -> None:
    (row,) = walk_rows(['"a\n', *["x" * 1_000 + "\n"] * 100], ",")
    assert len(row.text) < 1_000
    assert row.broken[0].letters == 100_001
    assert len(row.broken[0].start) == 100


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_rows_of_any_text_are_those_of_spark(spark: SparkSession, tmp_path: Path, end: str) -> None:
    chance = random.Random(4180)
    letters = ['"'] * 4 + [","] * 2 + [end] * 2 + ["a", " "]
    texts = {f"{n}.csv": f"h{end}" + "".join(chance.choices(letters, k=chance.randint(1, 24))) for n in range(120)}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.encode())
    columns = [f"c{at}" for at in range(26)]
    options = {
        "multiLine": True, "escape": '"', "nullValue": "\x01",
        "ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False,
    }  # fmt: skip
    read = spark.read.options(**options).schema(", ".join(f"{name} string" for name in columns)).csv(str(tmp_path))
    place = F.col("_metadata.file_name").alias("file"), F.monotonically_increasing_id().alias("id")
    found = defaultdict(list)
    for row in sorted(read.select(*place, *columns).collect(), key=lambda row: row.id):
        found[row.file].append([row[name] for name in columns])
    for name, text in texts.items():
        rows = list(walk_rows(text.splitlines(keepends=True), ","))
        assert len(rows) == len(found[name]), text
        for row, cells in zip(rows, found[name], strict=True):
            assert not any(cells[row.cells :]), text
            for cell in row.broken:
                value = (cells[cell.index] or "").translate(str.maketrans("", "", '"\r\n'))
                assert (len(value), value) == (cell.letters, cell.start), text


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_cells_of_well_formed_files_are_those_of_spark(spark: SparkSession, tmp_path: Path, end: str) -> None:
    chance = random.Random(19)
    cells = ["", "a", " ", "é", '"a"', '""', '"a,b"', f'"{end}"', f'"x{end}{end}y"', '"a""b"', '""""', '" "', "b c"]
    lines = [",".join(chance.choices(cells, k=chance.choice((1, 2, 3, 3, 3, 3, 4, 5)))) for _ in range(3_000)]
    texts = {f"{n}.csv": end.join(("a,b,c", *chance.choices(lines, k=chance.randint(1, 9)))) for n in range(150)}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.encode())
    options = {
        "multiLine": True, "escape": '"', "header": True,
        "ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False,
    }  # fmt: skip
    read = spark.read.options(**options).schema("a string, b string, c string, d string").csv(str(tmp_path))
    place = F.col("_metadata.file_name").alias("file"), F.monotonically_increasing_id().alias("id")
    expected = defaultdict(list)
    for row in sorted(read.select(*place, "a", "b", "c", "d").collect(), key=lambda row: row.id):
        expected[row.file].append([row.a, row.b, row.c, row.d])
    layout = CsvLayout(("a", "b", "c"), ",", end.encode())
    for name, text in texts.items():
        path = str(tmp_path / name)
        faults = find_csv_faults(Input(path, "csv"), CsvHeader(",", False, "", end))
        assert faults.is_well_formed, text
        part = FilePart(path, path, "", "UTF-8", Form.ROWS, layout=layout)
        found = [row for rows in read_cells(part) for row in as_lists(rows)]
        assert found == [
            [*row[:3], None if row[3] is None else f"more cells than columns: {', '.join(filter(None, row))}"]
            for row in expected[name]
        ], text


def as_lists(rows: TextRows) -> list[list[str | None]]:
    return [list(row) for row in zip(*(each.to_pylist() for each in (*rows.columns, rows.faults)), strict=True)]


@pytest.mark.parametrize(
    ("content", "end"),
    [(b"a\nx\ry\n", "\n"), (b"a\r\nx\ny\r\n", "\r\n"), (b'a\r\n"x\ry"\r\n', "\r\n"), (b"a\rx\ny\r", "\r"),
     (b"a\nx\0\n", "\n"), (b'a\n"x\n', "\n"), (b'a\n"x" \n', "\n"), (b'a\n5" x\n', "\n")],
)  # fmt: skip
def test_files_that_readers_differ_on_are_not_well_formed(tmp_path: Path, content: bytes, end: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    faults = find_csv_faults(Input(str(path), "csv"), CsvHeader(",", False, "", end))
    assert not faults.is_well_formed
