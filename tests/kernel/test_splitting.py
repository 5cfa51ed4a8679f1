"""Lists are cut into their elements and texts into lines, however their bytes come and in whatever parts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_selection import is_json

from schemactl.kernel.splitting import BEGUN, Outliner, skip_line, split_elements, split_lines, split_part

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


@pytest.mark.parametrize(("text", "good"), [
    ("[1,2", 1), ("[1,,2]", 2), ("[1,]", 1), ("[,]", 0), ("[1] x", 1), ("[1]]", 1), ('["a', 0), ("[1,2]\n[3]", 2),
    ("[", 0),
])  # fmt: skip
def test_what_is_no_json_gives_elements_that_are_none(text: str, good: int) -> None:
    assert sum(map(is_json, split(text.encode()))) == good
    assert not all(map(is_json, split(text.encode())))


@pytest.mark.parametrize("text", ["[]", "[ ]", " [\n] "])
def test_a_list_of_nothing_has_no_elements(text: str) -> None:
    assert split(text.encode()) == []


@pytest.mark.parametrize("text", ['{"a": [1, 2]}', "1", '"a,b"', "no json"])
def test_what_is_no_list_is_one_element(text: str) -> None:
    assert split(text.encode(), 2) == [text.encode()]


# --- parts of a list ---


def cut_at(text: bytes, places: list[int]) -> Iterator[tuple[int, int]]:
    """Cut a document into parts none of which begins behind a backslash, the first behind the bracket."""
    begin = text.index(b"[") + 1
    inner = sorted({begin + place % max(1, len(text) - begin) for place in places} - {begin})
    starts = [begin, *(at for at in inner if text[at - 1 : at] != b"\\")]
    return zip(starts, [*starts[1:], len(text)], strict=True)


def split_in_parts(text: bytes, places: list[int], size: int) -> list[bytes]:
    found, before = [], BEGUN
    for start, end in cut_at(text, places):
        found += [each for part in split_part(blocks(text[start:], size), before, end - start) for each in part]
        outliner = Outliner()
        for block in blocks(text[start:end], size):
            outliner.add(block)
        before = outliner.outline.after(before)
    return found


lists = st.lists(values, max_size=8).map(json.dumps)
broken = st.tuples(lists, st.text('[]{},"\\ a', max_size=6)).map("".join)


@given(lists | broken, st.lists(st.integers(0, 200), max_size=5), st.integers(1, 60))
def test_the_parts_of_a_list_have_the_elements_of_the_whole(document: str, places: list[int], size: int) -> None:
    text = document.encode()
    assert split_in_parts(text, places, size) == split(text)


# --- lines ---


@given(st.text("ab\r\n", max_size=30), st.integers(1, 40), st.lists(st.integers(1, 30), max_size=3))
def test_the_parts_of_a_text_have_the_lines_of_the_whole(document: str, size: int, places: list[int]) -> None:
    text = document.encode()
    starts = sorted({0, *(place for place in places if place < len(text))})
    found: list[bytes] = []
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        skipped, rest = skip_line(blocks(text[start - 1 :], size)) if start else (1, blocks(text, size))
        if end - start - (skipped - 1) > 0:
            found += [line for part in split_lines(rest, end - start - (skipped - 1)) for line in part]
    assert found == text.splitlines()
    assert [line for part in split_lines(blocks(text, size)) for line in part] == text.splitlines()
