"""Texts become documents, a batch at once; what is no JSON is found text by text."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from schemactl.kernel import parsing
from schemactl.kernel.parsing import Parsed, parse_text, parse_texts
from schemactl.kernel.splitting import runs_of_members

NO_JSON = [
    "{'a': 1}", "{a: 1}", '{"a": 01}', '{"a": .5}', '{"a": 1.}', '{"a": +1}', '{"a": NaN}', '{"a": -Infinity}',
    '{"a": 1,}', "[1,]", '{"a": 1', '{"a": 1}}', '{"a": 1} x', '1], "x"', "nul", '{"a": "\t"}',
    '{1234567890123456789012: 1}', '{"a": 1234567890123456789012x}', '{"a": 01234567890123456789012}',
    '{"a": "\x01\x02"}', "9" * 1001, '{"a": "\ufdd0', r'"\ud800 x"', r'"\udc00"', r'{"\ud83d": 1}',
    r'"\ud83d\ud83d\ude80"', r'"\\\ud83dx"', '1,"x":2', '{"a": 1},"b":{}', '{}},{"a":1', "1],[2", '"a', 'b"', "[3",
    "4]", "[[5", "6]]",
]  # fmt: skip


def encoded(texts: list[str]) -> list[bytes]:
    return [text.encode() for text in texts]


@pytest.mark.parametrize("text", NO_JSON)
def test_what_is_no_json_is_no_document(text: str) -> None:
    assert parse_texts([b"1", text.encode(), b"2"]) == Parsed([1, 2], [0, 2], (1,))


@given(st.permutations([*NO_JSON, "1", '{"a": 2}', "", " "]))
def test_texts_of_a_batch_do_not_make_up_for_one_another(texts: list[str]) -> None:
    parsed = parse_texts(encoded(texts))
    assert [texts[at] for at in parsed.bad] == [text for text in texts if text in NO_JSON]
    assert [json.loads(texts[at]) for at in parsed.places or ()] == parsed.documents


@pytest.mark.parametrize(
    "text", [r'"\\ud83d"', r'"\ud83d\ude80"', r'"\\\ud83d\ude80"', '"\ufffd"', ' {"a" : 1}\t', '"],["', "9" * 999]
)
def test_what_looks_like_no_json_is_a_document(text: str) -> None:
    assert parse_texts([text.encode()]) == Parsed([json.loads(text)])


def test_blank_texts_are_neither_documents_nor_bad() -> None:
    assert parse_texts([b"", b" \t\r", b"\xef\xbb\xbf", b"1"]) == Parsed([1], [3])


def test_a_byte_order_mark_is_left_off() -> None:
    assert parse_texts([b'\xef\xbb\xbf{"a": 1}', b"2"]).documents == [{"a": 1}, 2]


def test_what_is_no_unicode_is_no_document() -> None:
    assert parse_texts([b'"\xff"', b"1"]).bad == (0,)


@pytest.mark.parametrize(
    "number", [2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**64 + 1, -(2**63), -(2**63) - 1, 10**19, 10**40, -(10**40)]
)
def test_integers_are_exact(number: int) -> None:
    (document,) = parse_texts([f'{{"n": [{number}], "d": "12345678901234567890"}}'.encode()]).documents
    assert document["n"] == [number]
    assert type(document["n"][0]) is int


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1E+309", "9" * 400 + ".5", "-" + "9" * 309 + "e0", "1.8e308"])
@pytest.mark.parametrize("form", ["%s", '{"a": %s}', '[1, {"a": [%s]}]', '{"a": %s, "n": 18446744073709551616}'])
def test_numbers_past_all_doubles_are_refused(number: str, form: str) -> None:
    text = (form % number).encode()
    assert parse_texts([b"1", text, b"1.7e308"]) == Parsed([1, 1.7e308], [0, 2], (1,))
    assert parse_texts([text]).bad == (0,)


def test_numbers_past_all_doubles_are_refused_below_depths_that_only_python_reads() -> None:
    assert parse_texts([b"[" * 900 + b"1e400" + b"]" * 900]).bad == (0,)


def test_integers_past_all_doubles_are_exact() -> None:
    assert parse_texts([b"9" * 400, b"-" + b"9" * 1000]).documents == [int("9" * 400), -int("9" * 1000)]


def test_of_equal_keys_the_last_one_counts() -> None:
    assert parse_texts([b'{"a": 1, "a": 2}', b'{"n": 18446744073709551616, "a": 1, "a": 3}']).documents == [
        {"a": 2},
        {"n": 2**64, "a": 3},
    ]


def test_deep_documents_are_read_as_far_as_python_reads_them() -> None:
    assert parse_text(b"[" * 900 + b"]" * 900)
    assert parse_texts([b"[" * 100_000 + b"]" * 100_000, b"1"]) == Parsed([1], [1], (0,))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(json_values.map(json.dumps), max_size=6))
def test_a_batch_is_parsed_as_its_texts(texts: list[str]) -> None:
    good = [text for text in texts if "Infinity" not in text and "\\ud" not in text]
    assert parse_texts(encoded(good)).documents == [json.loads(text) for text in good]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(json_values, st.integers(1, 40), st.integers(1, 20), st.sampled_from([None, 1]))
def test_a_large_document_is_parsed_in_parts_as_the_whole(
    monkeypatch: pytest.MonkeyPatch, value: Any, large: int, size: int, indent: int | None
) -> None:
    text = json.dumps(value, indent=indent)
    assume("Infinity" not in text and "\\ud" not in text)
    with monkeypatch.context() as patched:
        patched.setattr(parsing, "_LARGE", large)
        patched.setattr(parsing, "runs_of_members", partial(runs_of_members, size=size))
        found = parse_text(f" {text}\n".encode())
    assert repr(found) == repr(json.loads(text))


@pytest.mark.parametrize("text", [*NO_JSON, '{"a": [1, 2}]', "[1,, 2]", "[, 1]", '{"a": [1, 2]]', '{"a", 1}', "[1, 2}"])
def test_what_is_no_json_is_none_in_parts(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    for size in (1, 2, 5):
        monkeypatch.setattr(parsing, "_LARGE", size)
        monkeypatch.setattr(parsing, "runs_of_members", partial(runs_of_members, size=size))
        assert parse_texts([text.encode()]).bad == (0,)


def test_a_large_document_is_parsed_without_the_parser_that_takes_it_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    loads = orjson.loads
    monkeypatch.setattr(parsing.orjson, "loads", lambda text: seen.append(len(text)) or loads(text))
    rows = [{"id": at, "tags": ["a", "b"], "name": "n" * 400} for at in range(45_000)]
    text = orjson.dumps({"exported": "2026-01-01", "rows": rows, "next": None})
    assert parse_text(text)["rows"] == rows
    assert max(seen) < len(text) / 8
