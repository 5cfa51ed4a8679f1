"""CSV that goes wrong is a bad record with its place, or is warned of: nothing of it passes without a word."""

from __future__ import annotations

import bz2
import gzip
import json
import warnings
from pathlib import Path

import pytest
import zstandard
from record_batches import record_batches

from schemactl.engine import csv_faults
from schemactl.engine.bad_records import explain_bad_records
from schemactl.engine.csv_header import CsvHeader
from schemactl.engine.inputs import find_inputs
from schemactl.engine.protocol import Engine
from schemactl.engine.scan import scan_inputs
from schemactl.errors import InputError
from schemactl.inference.evidence import Position
from schemactl.inference.sample import Sample
from schemactl.kernel.partitions import records_of
from schemactl.store.sources import LeftOutWarning

pytestmark = pytest.mark.usefixtures("work")

OPEN = 'id,name\n1,a\n2,"open\n3,c\n4,d\n'


def outcome(engine: Engine, name: str, content: str | bytes, *others: str) -> tuple[list[object], list[str], list[str]]:
    """Write a file, and return the documents, what is reported of bad records, and the warnings."""
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LeftOutWarning)
        scan = scan_inputs(engine, find_inputs([name, *others]), Sample())
    bad = [str(problem) for problem in explain_bad_records(scan.bad_records, scan.inputs)]
    batches = [record_batches(engine, read.records) for read in scan.documents]
    found = sorted((Path(file).name, block, texts) for each in batches for file, block, texts in records_of(each))
    texts = [text.decode() for _, _, texts in found for text in texts]
    reported = [str(each.message) for each in caught if issubclass(each.category, LeftOutWarning)]
    return [json.loads(text) for text in texts if text.startswith("{")], bad, reported


@pytest.mark.parametrize(
    ("name", "pack"),
    [("a.csv", bytes), ("a b%20ö.csv", bytes), ("a.csv.gz", gzip.compress), ("a.csv.bz2", bz2.compress),
     ("a.csv.zst", zstandard.compress)],
)  # fmt: skip
def test_a_quote_that_never_closes_is_a_bad_record(engine: Engine, name: str, pack) -> None:
    documents, bad, _ = outcome(engine, name, pack(OPEN.encode()))
    assert documents == [{"id": "1", "name": "a"}]
    assert bad == [
        f'{name}:3:3: the quote of this cell is not closed; the cell contains the rest of the file: "open 3,c 4,d'
    ]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_quote_that_never_closes_is_found_in_any_encoding(engine: Engine, encoding: str) -> None:
    documents, bad, _ = outcome(engine, "a.csv", 'é;n\r\n1;"ü\r\n2"\r\n2;"ö\r\n3;c\r\n'.encode(encoding))
    assert documents == [{"é": "1", "n": "ü\n2"}]
    assert bad == ['a.csv:4:3: the quote of this cell is not closed; the cell contains the rest of the file: "ö 3;c']


def test_a_quote_that_the_next_quoted_cell_ends_takes_the_rows_between(engine: Engine) -> None:
    documents, bad, _ = outcome(engine, "a.csv", 'id,name,x\n1,a,\n2,"open,z\n3,c,y\n4,"d",e\n5,f,g\n')
    assert documents == [{"id": "1", "name": "a"}, {"id": "5", "name": "f", "x": "g"}]
    assert bad == ['a.csv:3:3: the quote of this cell is not closed; the cell continues to line 5: "open,z 3,c,y 4,"d"']


def test_an_open_quote_is_found_where_the_number_of_quotes_is_even(engine: Engine) -> None:
    documents, bad, _ = outcome(engine, "a.csv", 'id,name\n1,5",\n2,"open\n3,c\n'.replace('5",', '5"'))
    assert documents == [{"id": "1", "name": '5"'}]
    assert bad[0].startswith("a.csv:3:3: ")


def test_only_the_row_that_is_reported_is_bad(engine: Engine) -> None:
    documents, bad, _ = outcome(engine, "a.csv", 'a,b\n"""x\ny""",1\n2,"x\ny\n')
    assert documents == [{"a": '"x\ny"', "b": "1"}]
    assert bad == ['a.csv:4:3: the quote of this cell is not closed; the cell contains the rest of the file: "x y']


def test_an_open_quote_beyond_the_columns_is_reported_rather_than_the_cell(engine: Engine) -> None:
    _, bad, _ = outcome(engine, "a.csv", 'id\n1,"open\n2\n')
    assert bad == ['a.csv:2:3: the quote of this cell is not closed; the cell contains the rest of the file: "open 2']


def test_an_open_quote_in_one_file_leaves_the_others_whole(engine: Engine) -> None:
    Path("b.csv").write_text('id,name\n2,"open\n3,c\n4,d\n"\n')
    documents, bad, _ = outcome(engine, "a.csv", OPEN, "b.csv")
    assert documents == [{"id": "1", "name": "a"}, {"id": "2", "name": "open\n3,c\n4,d\n"}]
    assert [text.partition(": ")[0] for text in bad] == ["a.csv:3:3"]


def test_a_header_with_an_open_quote_makes_its_file_one_bad_record(engine: Engine) -> None:
    Path("b.csv").write_text("id\n1\n")
    documents, bad, _ = outcome(engine, "a.csv", 'id,"name\n1,a\n2,b\n', "b.csv")
    assert documents == [{"id": "1"}]
    assert bad == [
        'a.csv:1:4: the quote of this cell is not closed; the cell contains the rest of the file: "name 1,a 2,b'
    ]


def test_faults_beyond_a_block_are_found_and_good_blocks_are_not(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for size in range(1, 9):
        monkeypatch.setattr(csv_faults, "_BLOCK", size)
        assert outcome(engine, "good.csv", 'a,b\n"x ""y""\n,",""\n5,"z"')[1:] == ([], [])
    monkeypatch.setattr(csv_faults, "_BLOCK", 3)
    assert outcome(engine, "a.csv", OPEN)[1] != []


def test_too_many_broken_cells_are_refused(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_faults, "MOST_BROKEN", 2)
    with pytest.raises(InputError, match="more than 2 cells have a quote that does not close") as caught:
        outcome(engine, "a.csv", "a\n" + '"x\n"y"\n' * 3)
    assert str(caught.value.at) == "a.csv:2:1"


def test_quotes_that_are_not_doubled_are_warned_of(engine: Engine) -> None:
    documents, bad, reported = outcome(engine, "a.csv", 'id,name\n1,"a\\"b"\n2,"say "hi""\n3,5" nail\n')
    assert [row["name"] for row in documents] == ['"a\\"b"', '"say "hi""', '5" nail']
    assert bad == []
    assert reported == [
        "a.csv:2:3: this cell and 1 more have quotes inside that are not doubled: reading the cell unchanged, "
        "with all quotes"
    ]


def test_cells_that_escape_by_backslash_and_fall_apart_are_reported_by_line(engine: Engine) -> None:
    _, bad, _ = outcome(engine, "a.csv", 'id,name,z\n"1\n",a,b\n1,"say \\"hi, you\\"",x\n')
    assert bad == ['a.csv:4, row 3: this row has more cells (4) than columns (3): 1,"say \\"hi, you\\"",x']


@pytest.mark.parametrize(
    ("content", "line"),
    [("id,name\r\n1,a\r\n2,b\n3,c\r\n", 3), ('id\n"1\r\n2"\n3\r\n', 4), ("id\n1\n2\n", None),
     ('id,name\r\n1,"a\nb"\r\n', None), ("id\r1\r", None)],
)  # fmt: skip
def test_line_ends_of_two_kinds_are_warned_of(engine: Engine, content: str, line: int | None) -> None:
    _, _, reported = outcome(engine, "a.csv", content)
    assert [text.partition(": ")[0] for text in reported] == ([f"a.csv:{line}"] if line else [])


@pytest.mark.parametrize(
    ("header", "names", "reported"),
    [
        ("a,b,a", ["a0", "b", "a2"], "`a0` for `a`, `a2` for `a`"),
        ("a,,", ["a", "_c1", "_c2"], "`_c1` for a blank, `_c2` for a blank"),
        ("a,a,a0", ["a_0", "a1", "a0"], "`a_0` for `a`, `a1` for `a`"),
        ("a,A,_metadata", ["a", "A", "_metadata"], None),
    ],
)
def test_columns_of_one_name_or_of_none_are_warned_of(
    engine: Engine, header: str, names: list[str], reported: str | None
) -> None:
    documents, _, warned = outcome(engine, "a.csv", f"{header}\n1,2,3\n")
    assert documents == [dict(zip(names, "123", strict=True))]
    expected = f"duplicate or blank column names in `a.csv` were numbered: {reported}"
    assert warned == ([expected] if reported else [])


def test_octets_of_another_encoding_far_down_are_reported_by_line(engine: Engine) -> None:
    content = b"id,name\n" + b"1,aaaaaaaaaaaaaaaa\n" * 300_000 + b"2,\xe9\n"
    with pytest.raises(InputError, match="the file is not UTF-8") as caught:
        outcome(engine, "a.csv", content)
    assert str(caught.value.at) == "a.csv:300002"
    assert "iconv -f latin1 -t utf-8 a.csv >" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("\n\nid;name\n1;a\n", [{"id": "1", "name": "a"}]),
        ('id,5" x\n1,7" y\n', [{"id": "1", '5" x': '7" y'}]),
        (b"id,name\n1,a\x00b\n\x00,c\n", [{"id": "1", "name": "a\x00b"}, {"id": "\x00", "name": "c"}]),
        ("id,name,z\n1\n1,2\n", [{"id": "1"}, {"id": "1", "name": "2"}]),
        ("id;v\n1;1,5\n", [{"id": "1", "v": "1,5"}]),
        ("x" * 200_000, []),
        ("id,name", []),
        ("\n\n", []),
    ],
)
def test_odd_files_that_are_right(engine: Engine, content: str | bytes, expected: list[object]) -> None:
    assert outcome(engine, "a.csv", content) == (expected, [], [])


@pytest.mark.parametrize(("content", "row"), [
    ("id,name\n1,a\nx,b\n", 3), ("\n\nid,name\n1,a\n\n\nx,b\n\n", 7), ("\r\nid,name\r\n1,a\r\n\r\nx,b\r\n", 5),
    ('id,name\n1,"a\n\n\nb"\nx,b\n', 3), ('id,name\n\n1,"a\n\nb"\nx,b\n', 4), ("sep=;\nid;name\n1;a\n\nx;b\n", 4),
])  # fmt: skip
@pytest.mark.parametrize("name", ["a.csv", "a.txt"])
def test_rows_are_numbered_as_a_spreadsheet_does(engine: Engine, name: str, content: str, row: int) -> None:
    Path(name).write_bytes(content.encode())
    scan = scan_inputs(engine, find_inputs([name], "csv"), Sample())
    firsts = {kind.first for kind in scan.evidence.paths[("id",)].values()}
    assert max(firsts) == Position(name, row)


def test_blank_lines_are_found_across_blocks(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_faults, "_BLOCK", 3)
    for content in ("id\nab\n\nc\n", "id\nabc\n\nd\n", "id\na\r\n\r\nd\n", "\nid\nab\ncd\n"):
        Path("a.csv").write_text(content, newline="")
        found = csv_faults.find_csv_faults(find_inputs(["a.csv"])[0], CsvHeader(",", False, "", "\n"))
        assert len(found.gaps) == 2, content
