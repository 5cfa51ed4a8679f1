"""A list is cut into its elements, however its bytes come."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemactl.kernel.splitting import split_contents, split_elements, split_files

texts = st.sampled_from(["a", "x,y", "[{", "\\", "\\\\", '"q"', '\\"', "tr]", "é", ""]) | st.text(max_size=4)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=12,
)


def blocks(text: bytes, size: int) -> Iterator[bytes]:
    return (text[at : at + size] for at in range(0, len(text), size))


def split(text: bytes, size: int = 1 << 20) -> list[bytes]:
    return [element for part in split_elements(blocks(text, size)) for element in part]


@settings(deadline=None, max_examples=300)
@given(
    st.lists(values, max_size=5),
    st.integers(1, 60),
    st.booleans(),
    st.sampled_from([None, 1]),
    st.sampled_from([b"", b"\xef\xbb\xbf \n"]),
)
def test_elements_are_those_of_the_list(
    document: list[Any], size: int, is_ascii: bool, indent: int | None, start: bytes
) -> None:
    text = start + json.dumps(document, ensure_ascii=is_ascii, indent=indent).encode("utf-8", "replace") + b" \n"
    assert [json.loads(element) for element in split(text, size)] == json.loads(text.decode("utf-8-sig"))


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("[1,2", 1),
        ("[1,,2]", 2),
        ("[1,]", 1),
        ("[,]", 0),
        ("[1] x", 1),
        ("[1]]", 1),
        ('["a', 0),
        ("[1,2]\n[3]", 2),
        ("[", 0),
    ],
)
def test_what_is_no_json_gives_elements_that_are_none(text: str, good: int) -> None:
    assert sum(map(is_json, split(text.encode()))) == good
    assert not all(map(is_json, split(text.encode())))


def is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("text", ["[]", "[ ]", " [\n] "])
def test_a_list_of_nothing_has_no_elements(text: str) -> None:
    assert split(text.encode()) == []


@pytest.mark.parametrize("text", ['{"a": [1, 2]}', "1", '"a,b"', "no json"])
def test_what_is_no_list_is_one_element(text: str) -> None:
    assert split(text.encode(), 2) == [text.encode()]


@pytest.mark.parametrize(("suffix", "encoding"), [("", "UTF-8"), (".gz", "UTF-8"), ("", "UTF-16LE")])
def test_files_come_in_numbered_pieces(tmp_path: Path, suffix: str, encoding: str) -> None:
    rows = [{"id": number, "text": "é" * 400} for number in range(4_000)]
    content = json.dumps(rows, ensure_ascii=False).encode(encoding)
    path = tmp_path / f"a.json{suffix}"
    path.write_bytes(gzip.compress(content) if suffix else content)
    asked = {"file": "file:/a.json", "path": str(path), "suffix": suffix, "encoding": encoding}
    pieces = [piece for batch in split_files([pa.RecordBatch.from_pylist([asked])]) for piece in batch.to_pylist()]
    assert [piece["block"] for piece in pieces] == list(range(len(pieces)))
    assert len(pieces) > 2
    assert [json.loads(text) for piece in pieces for text in piece["texts"]] == rows


def test_contents_come_in_pieces_as_files_do() -> None:
    content = json.dumps([{"a": 1}, [2]]).encode()
    batch = pa.RecordBatch.from_pylist([{"file": "s3://a.json", "content": content}])
    (piece,) = (piece for each in split_contents([batch]) for piece in each.to_pylist())
    assert piece == {"file": "s3://a.json", "block": 0, "texts": [b'{"a": 1}', b" [2]"]}
