"""Evidence of batches is that of ``observe``, which looks at documents one by one, however they are cut."""

from __future__ import annotations

import json
import math
import tracemalloc
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hostile_json import HARD_TEXTS, keys, records, values, write_json
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from schemactl.inference.classes import is_row_key
from schemactl.inference.evidence import Evidence, Position, merge, observe
from schemactl.kernel import observation
from schemactl.kernel.observation import Observer
from schemactl.kernel.parsing import parse_texts

Places = list[tuple[bytes, Position]]
"""Lines with where they stand."""


def placed(lines: list[bytes], file: str = "a") -> Places:
    return [(line, Position(file, number)) for number, line in enumerate(lines, 1)]


def observed(places: Places, size: int) -> Evidence:
    observer = Observer()
    for start in range(0, len(places), size):
        batch = places[start : start + size]
        parsed = parse_texts([line for line, _ in batch])
        kept = range(len(parsed.documents)) if parsed.places is None else parsed.places
        observer.add(parsed.documents, [batch[at][1] for at in kept])
    return observer.evidence()


def reference(places: Places) -> Evidence:
    whole = ((line, position) for line, position in places if line.strip() and b"1e400" not in line)
    return observe((position, json.loads(line)) for line, position in whole)


def assert_same(found: Evidence, expected: Evidence) -> None:
    assert found.paths == expected.paths
    assert found.witnesses == expected.witnesses
    # As texts: the order of keys decides that of columns.
    assert {at: json.dumps(each) for at, each in found.witnesses.items()} == {
        at: json.dumps(each) for at, each in expected.witnesses.items()
    }


@settings(suppress_health_check=list(HealthCheck))
@given(
    st.lists(records | values, min_size=1, max_size=25),
    st.integers(1, 30),
    st.integers(0, 25),
    st.randoms(use_true_random=True),
)
def test_made_up_documents_are_seen_as_they_are(documents: list[Any], size: int, cut: int, chance: Random) -> None:
    lines = [write_json(document).encode() for document in documents]
    one, other = placed(lines[:cut], "a"), placed(lines[cut:], "b")
    expected = reference([*one, *other])
    assert_same(observed([*one, *other], size), expected)
    note("batches in any order")
    assert_same(observed(chance.sample([*one, *other], len(lines)), 1), expected)
    note("evidence of parts, merged")
    assert_same(merge(observed(other, 3), observed(one, 3)), expected)


@pytest.mark.parametrize("name", ["github_events.jsonl", "orders.jsonl"])
def test_fixtures_are_seen_as_they_are(fixtures: Path, name: str) -> None:
    lines = (fixtures / name).read_bytes().split(b"\n")
    assert_same(observed(placed(lines), 100), reference(placed(lines)))


@pytest.mark.parametrize("name", [
    "collisions", "deep_lists", "deep_objects", "duplicate_keys", "keys", "late_column", "mixed_kinds", "numbers",
    "texts",
])  # fmt: skip
def test_hostile_documents_are_seen_as_they_are(fixtures: Path, name: str) -> None:
    lines = (fixtures / "hostile" / f"{name}.jsonl").read_bytes().split(b"\n")
    assert_same(observed(placed(lines), 7), reference(placed(lines)))


def test_the_example_is_the_first_value_of_the_first_document() -> None:
    """Elements of several forms are seen in the order in which they stand, not form by form."""
    lines = [b'{"l": [{"b": 1, "a": "second"}, {"a": "third"}, {"b": 2, "a": "x"}]}', b'{"l": [{"a": "later"}]}']
    (seen,) = observed(placed(lines), 10).paths["l", None, "a"].values()
    assert seen.examples == ("second",)


@pytest.mark.parametrize("size", [1, 3])
def test_numbers_have_a_range_beside_nan(size: int) -> None:
    """A model may make NaN and infinities of what documents state."""
    values = [math.nan, math.inf, math.nan, math.nan, -math.inf, 1.5]
    places = [(Position("a", at), {"x": value}) for at, value in enumerate(values, 1)]
    observer = Observer()
    for start in range(0, len(values), size):
        positions, documents = zip(*places[start : start + size], strict=True)
        observer.add(documents, positions)
    assert_same(observer.evidence(), observe(places))


def test_thousands_of_keys_are_all_seen() -> None:
    rows = [{f"key {number}": number for number in range(start, start + 2_500)} for start in (0, 2_500, 1_000)]
    lines = [json.dumps(row).encode() for row in rows]
    assert_same(observed(placed(lines), 2), reference(placed(lines)))


cells = st.none() | st.sampled_from([each for each in HARD_TEXTS if each]) | st.text(min_size=1, max_size=8)


@settings(suppress_health_check=list(HealthCheck))
@given(st.data(), st.lists(keys.filter(lambda key: not is_row_key(key)), min_size=1, max_size=5, unique=True))
def test_cells_of_columns_are_seen_as_documents_without_the_empty_ones(data: st.DataObject, names: list[str]) -> None:
    rows = data.draw(st.lists(st.lists(cells, min_size=len(names), max_size=len(names)), min_size=1, max_size=30))
    size = data.draw(st.integers(1, 12))
    observer = Observer()
    for start in data.draw(st.permutations(range(0, len(rows), size))):
        part = rows[start : start + size]
        columns = [pa.array(column, pa.string()) for column in zip(*part, strict=True)]
        observer.add_cells(names, columns, Position("a", start + 1))

    documents = [{name: cell for name, cell in zip(names, row, strict=True) if cell is not None} for row in rows]
    assert_same(observer.evidence(), observe((Position("a", at), each) for at, each in enumerate(documents, 1)))


@pytest.mark.parametrize("is_backwards", [False, True])
def test_documents_of_many_small_files_are_observed_together(
    fixtures: Path, monkeypatch: pytest.MonkeyPatch, is_backwards: bool
) -> None:
    lines = (fixtures / "github_events.jsonl").read_bytes().splitlines()[:60]
    files = [placed(lines[start : start + 3], f"{start:03}") for start in range(0, len(lines), 3)]
    observer, batches, observe_batch = Observer(), [], Observer._observe
    monkeypatch.setattr(observation, "_MOST_WAITING_BYTES", 10_000)
    monkeypatch.setattr(
        Observer, "_observe", lambda self, *batch: (batches.append(len(batch[0])), observe_batch(self, *batch))
    )
    for places in reversed(files) if is_backwards else files:
        texts = [text for text, _ in places]
        observer.add(parse_texts(texts).documents, [position for _, position in places], sum(map(len, texts)))
    observer.flush()
    assert_same(observer.evidence(), reference([place for places in files for place in places]))
    assert sum(batches) == len(lines)
    assert (max(batches) > 3) is not is_backwards


def test_a_long_list_is_observed_in_little_memory() -> None:
    rows = 200_000
    documents = [{"rows": [{"a": at, "b": at} for at in range(rows)]}]
    tracemalloc.start()
    try:
        Observer().add(documents, [Position("a.json", 1)])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak / rows < 120  # bytes: some references to each row, and nothing as large as the row


def test_long_lists_are_seen_as_they_are(fixtures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observation, "_MOST_AT_ONCE", 3)
    lines = (fixtures / "github_events.jsonl").read_bytes().split(b"\n")

    assert_same(observed(placed(lines), 100), reference(placed(lines)))
