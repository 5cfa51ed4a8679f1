"""Well-formed CSV is cut into rows and cells, wherever its blocks and parts begin."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from schemactl.kernel import files
from schemactl.kernel.cells import CsvLayout, cut_cells, split_rows
from schemactl.kernel.files import FilePart, Form, read_cells, read_records

LAYOUT = CsvLayout(("a", "b", "c"), ";", b"\n")


def documents(text: str, layout: CsvLayout = LAYOUT) -> list[str]:
    return [each.decode() for each in cut_cells(text.encode(), layout).documents(layout.names)]


def test_cells_that_are_empty_are_none_in_quotes_too():
    assert documents('1;;"x;""y"""\n;"";\n\n\n" ";é;5" x\n') == [
        '{"a":"1","c":"x;\\"y\\""}', '{}', '{"a":" ","b":"é","c":"5\\" x"}',
    ]  # fmt: skip


def test_rows_that_end_early_or_go_on_stand_in_their_places():
    assert documents('1\n1;2;3\n\n4;"5\n6"\n1;;3;4;5\n7;8;9;;x\n"";;;"y"\n"";;;""\n') == [
        '{"a":"1"}', '{"a":"1","b":"2","c":"3"}', '{"a":"4","b":"5\\n6"}', "more cells than columns: 1, 3, 4",
        '{"a":"7","b":"8","c":"9"}', "more cells than columns: y", "{}",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "\n\n", "1;2;3;4;5;6"])
def test_texts_without_a_row_as_long_as_the_header_have_columns(text: str):
    rows = cut_cells(text.encode(), LAYOUT)

    assert len(rows.columns) == 3
    assert {len(each) for each in (*rows.columns, rows.faults)} == {1 if ";" in text else 0}


def test_line_ends_within_cells_become_line_feeds():
    layout = CsvLayout(("a", "b"), ",", b"\r\n")

    assert documents('1,"x\r\ny\nz"\r\n2,\r\n', layout) == ['{"a":"1","b":"x\\ny\\nz"}', '{"a":"2"}']
    assert documents('1,"x\ry"\r2,\r', CsvLayout(("a", "b"), ",", b"\r")) == ['{"a":"1","b":"x\\ny"}', '{"a":"2"}']


def test_texts_that_stand_for_null_are_none_in_quotes_too():
    layout = CsvLayout(("a", "b"), ",", b"\n", null_values=("N/A",))

    assert documents('N/A,"N/A"\nN,""\n', layout) == ["{}", '{"a":"N"}']


def test_byte_order_marks_are_left_off_the_beginning_of_a_file_only(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_bytes("\ufeffa;b;c\n\ufeff1;2;3\n".encode())

    assert read(path, FilePart("f", str(path), "", "UTF-8", Form.ROWS, layout=LAYOUT)) == [
        '{"a":"\ufeff1","b":"2","c":"3"}'
    ]
    assert documents("\ufeff1;2;3\n") == ['{"a":"\ufeff1","b":"2","c":"3"}']


def read(path: Path, *parts: FilePart) -> list[str]:
    return [text.decode() for file_part in parts for texts in read_records(file_part) for text in texts]


CONTENT = 'a;b;c\n1;"x\n;""";3\n\n4\n""""";";5\n"\n\n";"";";"\n6;7;8'


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_rows_are_whole_wherever_blocks_end(size: int):
    content = CONTENT.encode()
    blocks = [content[at : at + size] for at in range(0, len(content), size)]
    pieces = list(split_rows(blocks, b"\n"))

    assert b"".join(pieces) == content
    assert [text for piece in pieces for text in documents(piece.decode())] == documents(CONTENT)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("block", [1, 5])
def test_each_row_is_of_the_part_that_it_begins_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, block: int
):
    monkeypatch.setattr(files, "ROWS_BYTES", block)
    layout = CsvLayout(("a", "b", "c"), ";", end.encode())
    content = CONTENT.replace("\n", end).encode()
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    whole = FilePart("f", str(path), "", "UTF-8", Form.ROWS, layout=layout)
    expected = documents(CONTENT)[1:]
    assert read(path, whole) == expected
    for first in range(1, len(content)):
        bounds = [(0, first), (first, 2), (first + 2, None)]
        parts = [
            replace(whole, start=start, size=size, is_in_cell=content[:start].count(b'"') % 2 == 1)
            for start, size in bounds
        ]
        assert read(path, *parts) == expected, bounds


def test_the_columns_that_are_asked_for_come_in_their_order(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text("sep=;\na;b;c\n1;2;3\n4;5;6;7\n")
    layout = CsvLayout(("a", "b", "c"), ";", b"\n", header_rows=2, taken=(2, 0))
    (rows,) = read_cells(FilePart("f", str(path), "", "UTF-8", Form.ROWS, layout=layout))

    assert [column.to_pylist() for column in rows.columns] == [["3", "6"], ["1", "4"]]
    assert rows.faults.to_pylist() == [None, "more cells than columns: 4, 5, 6, 7"]
