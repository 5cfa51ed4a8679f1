"""Records are cut out of documents as a parser would find them, however their bytes come."""

from __future__ import annotations

import json
import pickle
import tracemalloc
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path as FilePath
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.kernel.files import FilePart, Form, UnreadableFileError, read_records, select_texts, split_contents
from schemactl.kernel.selection import read_selection_fault, select_documents, select_elements, select_lines
from schemactl.memory import largest_document
from schemactl.schema.paths import values_at
from schemactl.schema.record_selection import parse_selection

texts = st.sampled_from(["data", "page", "x,y", "[{", "\\", '"q"', '\\"', "tr]", "é", ""])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=14,
)


def any_size(_size: int) -> None:
    """Accept a record of any size."""


def blocks(text: bytes, size: int) -> Iterator[bytes]:
    return (text[start : start + size] for start in range(0, len(text), size))


def select(text: str | bytes, path: str, keep: Sequence[str] = (), size: int = 1 << 20) -> list[str]:
    content = text.encode() if isinstance(text, str) else text
    batches = select_elements(partial(blocks, content, size), parse_selection(path, keep), any_size)
    return [record.decode() for records in batches for record in records]


def faults(records: list[str]) -> list[str]:
    return [fault[0] for record in records if (fault := read_selection_fault(record))]


@given(
    st.dictionaries(texts, values, max_size=4),
    values,
    st.sampled_from(["data", "data.page", "data[*].page", "data[*]['']", "data[*].data[*].data"]),
    st.integers(1, 40),
    st.booleans(),
    st.sampled_from([None, 1]),
)
def test_records_are_those_of_a_parsed_document(
    others: dict[str, Any], data: Any, path: str, size: int, is_ascii: bool, indent: int | None
) -> None:
    document = {**others, "data": data}
    text = json.dumps(document, ensure_ascii=is_ascii, indent=indent).encode()
    records = select(b"\xef\xbb\xbf " + text + b" \n", path, size=size)
    expected: list[Any] = []
    for value in values_at(document, parse_selection(path).path):
        expected += value if isinstance(value, list) else [] if value is None else [value]
    assert [json.loads(record) for record in records if not read_selection_fault(record)] == expected


@given(values.filter(lambda value: value is not None), values, st.integers(1, 40))
def test_kept_values_come_from_anywhere_beside_the_records(before: Any, after: Any, size: int) -> None:
    text = json.dumps({"a": before, "data": [{}, {"id": 1}], "meta": {"x": [1], "b": after}}).encode()
    records = select(text, "data", ["a", "meta.b", "n=meta.x"], size)
    kept = {"a": before, "meta": {"b": after}, "n": [1]}
    assert list(map(json.loads, records)) == [kept, {"id": 1, **kept}]


def test_a_key_that_a_document_lacks_is_left_out() -> None:
    lines = [[b'{"data": [{"id": 1}], "next": 2}', b"", b'{"data": [{"id": 2}]}']]
    (records,) = select_lines(lines, parse_selection("data", ["next"]), any_size)
    assert list(map(json.loads, records)) == [{"id": 1, "next": 2}, {"id": 2}]


@pytest.mark.parametrize(
    ("text", "path", "records"),
    [
        ('[{"data": [1]}, {"data": [2, 3]}]', "data", ["1", "2", "3"]),
        ('[{"data": [1]}, {"data": [2, 3]}]', "[*].data", ["1", "2", "3"]),
        ("[[1], [2]]", "[*][*]", ["1", "2"]),
        ("[1, 2]", "[*]", ["1", "2"]),
        ('{"data": {"id": 1}}', "data", ['{"id": 1}']),
        ('{"data": null}', "data", []),
        ('{"data": []}', "data", []),
        ('{"data": null}', "data.items", []),
        ('{"data": 18446744073709551617}', "data", ["18446744073709551617"]),
    ],
)
def test_lists_of_documents_and_single_records(text: str, path: str, records: list[str]) -> None:
    for size in (1, 1 << 20):
        assert [record.strip() for record in select(text, path, size=size)] == records


@pytest.mark.parametrize(
    ("text", "path", "fault", "hint"),
    [
        ('{"page": 1, "data": []}', "dta", "there is no `dta`: the object has `page`, `data`", "did you mean `data`?"),
        ('{"a": {"rows": []}}', "a.row", "there is no `a.row`: the object has `rows`", "did you mean `a.rows`?"),
        ("{}", "data", "there is no `data`: the object is empty", None),
        ('{"data": [{"x": 1}]}', "data.x", "`data` is a list, not an object", "did you mean `data[*].x`?"),
        ('{"data": {"x": 1}}', "data[*].x", "`data` is an object, not a list", None),
        ('{"data": "x"}', "data.x", "`data` is a text, not an object", None),
        ("3", "data", "the document is a scalar, not an object", None),
    ],
)
def test_a_document_without_the_path_is_a_bad_record_that_says_why(
    text: str, path: str, fault: str, hint: str | None
) -> None:
    (record,) = select(text, path)
    assert read_selection_fault(record) == (fault, hint)
    assert not is_json(record)


def test_each_element_without_the_path_is_a_bad_record() -> None:
    records = select('{"pages": [{"data": [1]}, {}, {"data": [2]}]}', "pages[*].data")
    assert (records[0], records[2]) == ("1", "2")
    assert faults(records) == ["there is no `pages[*].data`: the object is empty"]


def test_a_key_that_a_record_has_already_is_a_bad_record() -> None:
    records = select('{"page": 1, "data": [{"id": 2}, {"page": 3}, {"x": "page"}, 4]}', "data", ["page"])
    assert list(map(json.loads, (records[0], records[2]))) == [{"id": 2, "page": 1}, {"x": "page", "page": 1}]
    assert faults(records) == [
        "a record already has a key `page`: rename the other key with `--keep NAME=page`",
        "a record is not an object, so it gets no keys",
    ]


@pytest.mark.parametrize(("text", "good"), [
    ('{"data": [{"id": 1}, {"id": ', 1), ('{"data": [{"id": 1}, {"id": 2}', 1), ('{"data": [{"id": 1}]', 1),
    ('{"data": [{"id": 1}}', 1), ('{"data": [{"id": 1},]}', 1), ('{"data": [{"id": 1}], }', 1),
    ('{"data": [{"id": 1}] "x": 2}', 1), ('{"x": , "data": [{"id": 1}]}', 0), ('{x: 1, "data": [{"id": 1}]}', 0),
    ('{"x" 1, "data": [{"id": 1}]}', 0), ('{"x": "open, "data": [{"id": 1}]}', 0),
    ('{"x": [1}, "data": [{"id": 1}]}', 0), ('{"data": [{"id": 1}]} {"data": []}', 1), ('{"data": [{"id": 1}]}}', 1),
])  # fmt: skip
@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize("keep", [(), ("x",)])
def test_a_broken_document_ends_with_a_bad_record(text: str, good: int, size: int, keep: tuple[str, ...]) -> None:
    records = select(text, "data", keep, size)
    are_good = list(map(is_json, records))
    assert are_good.count(True) == good
    assert False in are_good


@pytest.mark.parametrize("text", ["", " \n", "\ufeff"])
@pytest.mark.parametrize("keep", [(), ("x",)])
def test_an_empty_file_has_no_records(text: str, keep: tuple[str, ...]) -> None:
    assert select(text, "data", keep) == []


def test_a_broken_line_leaves_its_neighbors_alone() -> None:
    lines = [[b'{"data": [1]}', b'{"data": ["2]}', b'{"data": [3]}', b"nothing"]]
    (records,) = select_lines(lines, parse_selection("data"), any_size)
    assert [record for record in records if is_json(record.decode())] == [b"1", b"3"]
    assert len(records) == 4


@pytest.mark.parametrize("keep", [(), ("page",)])
def test_long_documents_that_follow_one_another_are_all_read(keep: tuple[str, ...]) -> None:
    text = b'{"page": 1, "data": [{"id": 1}]}\n\n{"data": [{"id": 2}, {"id": 3}], "page": 2}\n{"data": []}'
    batches = select_documents(partial(blocks, text, 5), parse_selection("data", keep), any_size, are_many=True)
    records = [json.loads(record) for records in batches for record in records]
    pages = [1, 2, 2] if keep else [None] * 3
    assert [(record["id"], record.get("page")) for record in records] == list(zip((1, 2, 3), pages, strict=True))


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


# --- files ---


def read(path: FilePath, form: Form, selection: str = "data", keep: Sequence[str] = ("next",)) -> Iterator[bytes]:
    part = FilePart(f"file://{path}", str(path), "", "UTF-8", form, selection=parse_selection(selection, keep))
    for records in read_records(part):
        yield from records


@pytest.mark.parametrize("form", [Form.ELEMENTS, Form.LINES])
def test_a_document_of_any_size_takes_the_memory_of_some_blocks(tmp_path: FilePath, form: Form) -> None:
    path = tmp_path / "page.json"
    record, count = b'{"id": 1, "note": "' + b"x" * 1000 + b'"}', 48_000
    with path.open("wb") as file:
        file.write(b'{"skipped": [' + b",".join([record] * (count // 4)) + b'], "data": [')
        for _ in range(count - 1):
            file.write(record + b",")
        file.write(record + b'], "next": 7}')
    tracemalloc.start()
    try:
        assert sum(read_record.endswith(b'"next":7}') for read_record in read(path, form)) == count
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < path.stat().st_size // 2


def test_files_and_lines_that_only_spark_reads_have_the_same_records() -> None:
    selection = parse_selection("data", ["page"])
    content = b'{"data": [{"id": 1}, {"id": 2}], "page": 3}'
    whole = pa.RecordBatch.from_pydict({"file": ["a", "b"], "content": [content, b"[" + content + b"]"]})
    pieces = list(split_contents([whole], selection))
    assert [piece["file"][0].as_py() for piece in pieces] == ["a", "b"]
    expected = [{"id": 1, "page": 3}, {"id": 2, "page": 3}]
    for piece in pieces:
        assert list(map(json.loads, pickle.loads(piece["texts"][0].as_py()))) == expected
    lines = {"file": ["a"] * 4, "block": [0, 0, 9, 9], "text": [content, b" ", content, None]}
    (selected,) = select_texts([pa.RecordBatch.from_pydict(lines)], selection)
    assert list(map(json.loads, selected["text"].to_pylist())) == expected * 2
    assert selected["block"].to_pylist() == [0, 0, 9, 9]


def test_a_record_that_is_too_large_is_an_error(tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schemactl.memory.largest_document", lambda: 1 << 22)
    assert largest_document() > 1 << 22
    path = tmp_path / "page.json"
    path.write_bytes(b'{"data": [{"id": "' + b"x" * (1 << 23) + b'"}]}')
    with pytest.raises(UnreadableFileError, match="a record has more than"):
        list(read(path, Form.ELEMENTS, keep=()))
