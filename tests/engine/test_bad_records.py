"""Records that could not be read are reported by line, column and reason, as far as a second look finds them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from schemactl.engine import bad_records
from schemactl.engine.bad_records import explain_bad_records
from schemactl.engine.input import Input
from schemactl.engine.scan import Scan
from schemactl.errors import InputError
from schemactl.examples import Examples, show_examples
from schemactl.flows.evidence import check_bad_records
from schemactl.inference.evidence import FileEvidence, Position
from schemactl.kernel.partitions import BadRecord
from schemactl.schema.record_selection import parse_selection

pytestmark = pytest.mark.usefixtures("work")


def reported(name: str, content: str | bytes, *numbers: int, text: str = "?", encoding: str = "UTF-8") -> list[str]:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    forms = {".jsonl": "ndjson", ".json": "json", ".csv": "csv", ".tsv": "tsv", ".xml": "xml"}
    file = Input(name, forms[Path(name.removesuffix(".gz")).suffix], encoding)
    bad = [BadRecord(Position(name, number), text) for number in numbers]
    return [str(problem) for problem in explain_bad_records(bad, [file])]


@pytest.mark.parametrize(
    ("line", "column", "reason"),
    [
        (r'{"a": "\ud800"}', 8, "a surrogate pair is incomplete"),
        (r'{"a": "\\\udc00"}', 10, "a surrogate pair is incomplete"),
        ('{"b": "NaN", "a": NaN}', 19, "`NaN` is not a JSON number"),
        ("[-Infinity]", 2, "`-Infinity` is not a JSON number"),
        ('{"a": 01}', 8, "a number starts with 0"),
        ("01", 2, "a number starts with 0"),
        ('{"a": 1 "b": 2}', 9, "expecting ',' delimiter"),
        ("1 2", 3, "something follows the document"),
        ('{"a": "\t"}', 8, "invalid control character"),
        ("9" * 1001, 1, "a number has more than 1,000 digits"),
        ('{"b": "1e400", "a": [1, {"c": -1e400}]}', 31, "`-1e400` is too large for a double"),
        (f"[{'9' * 400}, {'9' * 400}.5]", 404, f"`{'9' * 40}…` is too large for a double"),
    ],
)
def test_a_line_that_is_no_json_is_reported_with_column_and_reason(line: str, column: int, reason: str) -> None:
    (found,) = reported("a.jsonl", f'{{"a": 1}}\n\n{line}\n', 3)
    assert found.startswith(f"a.jsonl:3:{column}: unreadable record, {reason}: ")


def selected(name: str, content: str, *bad: tuple[int, str], path: str = "data") -> list[str]:
    Path(name).write_text(content)
    file = Input(name, "ndjson" if name.endswith("l") else "json", selection=parse_selection(path))
    records = [BadRecord(Position(name, number), text) for number, text in bad]
    return [str(problem) for problem in explain_bad_records(records, [file])]


def test_records_inside_of_lines_are_reported_by_the_line_of_their_document() -> None:
    lines = ['{"data": [{"id": 1}, {"id": 2}]}', "", '{"data": [{"id": 3}, {"id": x}]}', '{"page": 2}']
    assert selected("a.jsonl", "\n".join(lines), (4, "?"), (5, "--records: there is no `data`")) == [
        'a.jsonl:3:29: unreadable record, expecting value: {"data": [{"id": 3}, {"id": x}]}',
        "a.jsonl:4: there is no `data`: the object has `page`",
    ]


def test_records_inside_of_a_document_are_reported_by_line_and_column() -> None:
    content = '{"page": 1,\n "data": [{"id": 1},\n  {"id": x}]}'
    (problem,) = selected("a.json", content, (2, "?"))
    assert problem.startswith("a.json:3:10: unreadable record, expecting value")
    fault = "--records: there is no `dta`; did you mean `data`?; the object has `data`"
    assert selected("a.json", '{"data": [1]}', (1, fault), path="dta") == [
        "a.json: there is no `dta`: the object has `data`"
    ]


def test_octets_that_are_no_utf8_are_reported() -> None:
    content = b'{"a": "\xc3\xa9"}\r\n{"a": "\xe9t\xe9"}\n'
    assert reported("a.jsonl", content, 2) == [
        'a.jsonl:2:8: unreadable record, the byte 0xE9 is not UTF-8: {"a": "\ufffdt\ufffd"}'
    ]


def test_of_a_long_line_the_part_around_the_fault_is_shown() -> None:
    (found,) = reported("a.jsonl", '{"a": "' + "x" * 1_000 + '", "b": q, "c": "' + "y" * 1_000 + '"}\n', 1)
    assert found.startswith("a.jsonl:1:1016: unreadable record, expecting value: …xxx")
    assert 'x", "b": q, "c": "yyy' in found
    assert len(found) < 200


def test_a_fault_in_a_list_is_reported_by_its_line_and_column() -> None:
    (found,) = reported("a.json", '[\n  {"a": 1},\n  {"a": 2,\n   "b": }\n]\n', 1)
    assert found == 'a.json:4:9: unreadable record, expecting value: {"a": 2, "b": } ]'


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('\n[{"a": 1}, ', "2:12"),
        ('[{"a": 1}] x', "1:12"),
        ('[1 2]', "1:4"),
        ("[1, 2]]", "1:7"),
        ('\ufeff[\n1,\n"a\\q"]', "3:3"),
        ('{"a": "b', "1:7"),
        ('{"a": 1\n', "2:1"),
        ('{"a": 1}\n{"a": 2}', "2:1"),
    ],
)  # fmt: skip
def test_a_document_that_is_no_json_is_reported_by_its_place(text: str, place: str) -> None:
    (found,) = reported("a.json", text, 1)
    assert found.startswith(f"a.json:{place}: ")
    assert "\n" not in found


@pytest.mark.parametrize("name", ["big.json", "big.json.gz"])
def test_a_fault_far_down_a_large_list_is_found(name: str) -> None:
    rows = [f'{{"id": {number}, "text": "{"x" * 300}\\u00e9]"}}' for number in range(3_000)]
    content = "[\n" + ",\n".join([*rows, '{"id": 01}', rows[0]]) + "\n]"
    (found,) = reported(name, gzip.compress(content.encode()) if name.endswith(".gz") else content, 1)
    assert found.startswith(f"{name}:3002:9: unreadable record, a number starts with 0: ")


def test_a_value_that_is_too_large_to_be_held_is_reported_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bad_records, "MOST_CHARACTERS", 100_000)
    content = '{"a": "' + "x" * 300_000 + '", "b": }'
    assert reported("a.json", content, 1, text='{"a":\n "x') == ['a.json: record 1 cannot be read: {"a": "x']
    assert reported("a.jsonl", content + "\nq\n", 1, 2, text='{"a": "x') == [
        'a.jsonl:1: unreadable record: {"a": "x',
        "a.jsonl:2:1: unreadable record, expecting value: q",
    ]


def test_a_csv_row_is_reported_by_the_line_it_begins_on_and_its_row() -> None:
    content = 'id,name\n"1\nx",a\n\n2,b,c\n3,d\n4,"e\nf",g,h\n'
    first, second = reported("a.csv", content, 4, text="more cells than columns: 2, b, c") + reported(
        "a.csv", content, 6, text="more cells than columns: 4, e\nf, g"
    )
    assert first == "a.csv:5, row 4: this row has more cells (3) than columns (2): 2,b,c"
    assert second == 'a.csv:7, row 6: this row has more cells (4) than columns (2): 4,"e f",g,h'


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16LE"])
def test_csv_of_other_separators_and_encodings(encoding: str) -> None:
    (found,) = reported(
        "a.csv", "\ufeffid;name\n1;é;c\n", 2, text="more cells than columns: 1, é, c", encoding=encoding
    )
    assert found == "a.csv:2, row 2: this row has more cells (3) than columns (2): 1;é;c"


def test_a_csv_row_that_is_not_the_one_spark_reported_of_keeps_its_row() -> None:
    (found,) = reported("a.csv", "id,name\n1,b,c\n", 2, text="more cells than columns: 7, b, c")
    assert found == "a.csv, row 2: unreadable record: more cells than columns: 7, b, c"


def test_what_is_gone_or_elsewhere_is_reported_by_number() -> None:
    gone = BadRecord(Position("gone.jsonl", 3), "nul\nl")
    far = BadRecord(Position("s3://bucket/a.json", 1), "[")
    files = [Input("gone.jsonl", "ndjson"), Input("s3://bucket/a.json", "json")]
    assert [str(problem) for problem in explain_bad_records([gone, far], files)] == [
        "gone.jsonl:3: unreadable record: nul l",
        "s3://bucket/a.json: record 1 cannot be read: [",
    ]


@pytest.mark.parametrize(("name", "content", "number", "text"), [
    ("a.jsonl", '{"ssn": "078-05-1120" 1}\n', 1, "?"),
    ("a.csv", "id,name\n1,078-05-1120,3\n", 1, "x:1,078-05-1120,3"),
    ("b.csv", "id\n", 2,
     'line 2, column 1: the quote of this cell is not closed; the cell goes on to line 4: "078-05-1120'),
    ("c.xml", "", 1, "<a>078-05-1120"),
])  # fmt: skip
def test_records_are_quoted_as_values_of_rows_may_be_shown(name: str, content: str, number: int, text: str) -> None:
    (plain,) = reported(name, content, number, text=text)
    with show_examples(Examples.MASKED):
        (masked,) = reported(name, content, number, text=text)
    with show_examples(Examples.NONE):
        (none,) = reported(name, content, number, text=text)
    assert "078-05-1120" in plain
    assert "999-99-9999" in masked
    assert "078-05-1120" not in masked + none
    assert masked.startswith(none)


def test_a_file_in_another_encoding_is_to_be_converted_rather_than_skipped() -> None:
    path = Path("latin.jsonl")
    path.write_bytes('{"a": 1}\n{"a": "größe"}\n'.encode("latin-1"))
    read = Input(str(path), "ndjson", "UTF-8")
    bad = BadRecord(Position(read.path, 2), '{"a": "gr\ufffd\ufffde"}')
    scan = Scan({}, {read.path: FileEvidence(documents=1, bad=1)}, (bad,), (read,))
    with pytest.raises(InputError) as caught:
        check_bad_records(scan)
    assert "iconv -f latin1 -t utf-8" in str(caught.value.hint)
    check_bad_records(scan, "skip")
