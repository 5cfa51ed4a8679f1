"""A scan with Spark sees what ``observe`` sees in plain Python, however the data is cut into files and partitions."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile_json import HARD_KEYS, HARD_TEXTS, records, values, write_json
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from outside_data import OutsideData

from schemactl.engine.input import shown_path
from schemactl.engine.inputs import find_inputs
from schemactl.engine.protocol import Engine
from schemactl.engine.scan import Scan, scan_inputs
from schemactl.errors import InputError
from schemactl.inference.evidence import MOST_LEVELS, ClassEvidence, Evidence, Position, observe
from schemactl.inference.resolve import resolve
from schemactl.inference.sample import Sample, parse_sample
from schemactl.kernel.partitions import MAX_BAD_RECORDS
from schemactl.schema import paths
from schemactl.schema.templates import new_schema

FULL = Sample()


# --- the two sides ---


def scan(engine: Engine, *sources: Path, sample: Sample = FULL) -> Scan:
    return scan_inputs(engine, find_inputs([str(source) for source in sources]), sample)


def documents_of(file: Path) -> Iterator[tuple[Position, Any]]:
    for number, line in enumerate(file.read_bytes().decode("utf-8-sig").split("\n"), start=1):
        if line.strip():
            yield Position(shown_path(file.as_uri()), number), json.loads(line)


def reference(*files: Path) -> Evidence:
    return observe(pair for file in files for pair in documents_of(file))


def facts(evidence: Evidence) -> dict[str, dict[str, Any]]:
    """What is known of each path, but for examples."""
    return {
        paths.format_path(path): {name: _facts(seen) for name, seen in classes.items()}
        for path, classes in evidence.paths.items()
    }


def _facts(seen: ClassEvidence) -> tuple[Any, ...]:
    return seen.count, str(seen.first), seen.shortest, seen.longest, seen.least, seen.greatest


def inferred(evidence: Evidence) -> dict[str, Any]:
    """What inference makes of the evidence: tables, and columns in their order."""
    schema = resolve(evidence, new_schema("made"), "rows").schema
    return {name: (list(table.columns.items()), table.properties) for name, table in schema.tables.items()}


def assert_same(found: Evidence, expected: Evidence) -> None:
    assert facts(found) == facts(expected)
    assert dict(found.files) == dict(expected.files)
    assert inferred(found) == inferred(expected)


def write_lines(file: Path, lines: Iterable[str]) -> Path:
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")
    return file


# --- data of every day ---


@pytest.mark.parametrize("name", ["github_events.jsonl", "orders.jsonl"])
def test_a_fixture_is_seen_as_it_is(engine: Engine, fixtures: Path, name: str) -> None:
    assert_same(scan(engine, fixtures / name).evidence, reference(fixtures / name))


def test_documents_of_the_field_are_seen_as_they_are(engine: Engine, conformance: OutsideData, tmp_path: Path) -> None:
    rows: list[Any] = []
    for file in sorted(conformance("dlt/documents").glob("*.json")):
        document = json.loads(file.read_text(encoding="utf-8"))
        rows += document if isinstance(document, list) else [document]
    assert rows
    file = write_lines(tmp_path / "rows.jsonl", (json.dumps(row, ensure_ascii=False) for row in rows))
    assert_same(scan(engine, file).evidence, reference(file))


def test_examples_are_the_first_values_as_they_stand_in_the_data(engine: Engine, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "rows.jsonl", ['{"a": null, "b": 1.50}', '{"a": "x", "b": 9223372036854775808}'])
    paths_seen = scan(engine, file).evidence.paths
    assert [seen.examples for seen in paths_seen[("a",)].values() if seen.examples] == [("x",)]
    assert {seen.examples for seen in paths_seen[("b",)].values()} == {("1.5",), ("9223372036854775808",)}


def test_texts_like_the_marks_of_large_integers_and_nulls_are_texts(engine: Engine, tmp_path: Path) -> None:
    texts = ("\0null", "\ufdd0", "\ufdd0 1", "\ufdd0-12", "VOID", "BIGINT 1")
    documents: list[Any] = [{"a": text, "b": [text, None], "c": {"d": text}} for text in texts]
    documents += [{"a": 2**64, "b": [2**65]}, {"c": 2**66}]
    plain = write_lines(tmp_path / "plain.jsonl", map(json.dumps, documents[: len(texts)]))
    assert_same(scan(engine, plain).evidence, reference(plain))
    mixed = write_lines(tmp_path / "mixed.jsonl", (json.dumps(each, ensure_ascii=False) for each in documents))
    assert_same(scan(engine, mixed).evidence, reference(mixed))


# --- hostile data ---

MADE_UP = 12
"""Datasets; hypothesis begins with the smallest one."""

datasets = st.lists(records | values, min_size=1, max_size=25) | st.lists(records, min_size=1, max_size=25)


def made_up_datasets(count: int) -> list[list[Any]]:
    """Return the same datasets each time: some of records alone, some of anything."""
    found: list[list[Any]] = []

    @settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(documents=datasets)
    def collect(documents: list[Any]) -> None:
        found.append(documents)

    collect()
    return found


def test_made_up_documents_are_seen_as_they_are(engine: Engine, tmp_path: Path) -> None:
    """Each dataset stands under a key of its own: one scan, and yet what is in one does not mix with another.

    A scan costs what its queries cost, however few the documents: one for each level on which kinds mix, and for each
    part of what nests deep.
    """
    made = made_up_datasets(MADE_UP)
    assert len(made) == MADE_UP
    lines = (write_json(((f"set {at}", document),)) for at, documents in enumerate(made) for document in documents)
    file = write_lines(tmp_path / "rows.jsonl", lines)
    assert_same(scan(engine, file).evidence, reference(file))


def test_made_up_documents_that_are_no_objects_are_seen_as_they_are(engine: Engine, tmp_path: Path) -> None:
    made = next(each for each in made_up_datasets(MADE_UP) if kinds_of(each) == {"object", "list", "scalar"})
    file = write_lines(tmp_path / "rows.jsonl", map(write_json, made))
    assert_same(scan(engine, file).evidence, reference(file))


def kinds_of(documents: list[Any]) -> set[str]:
    return {{tuple: "object", list: "list"}.get(type(document), "scalar") for document in documents}


FLAT = (
    "blank_lines", "bom", "collisions", "crlf", "duplicate_keys", "keys", "late_column", "mixed_kinds",
    "no_final_newline", "texts",
)  # fmt: skip


@pytest.mark.parametrize(
    "names",
    [FLAT, (*FLAT, "not_objects"), ("deep_lists",), ("deep_objects",)],
    ids=["typed", "untyped", "deep lists", "deep objects"],
)
def test_the_hostile_fixtures_are_seen_as_they_are(engine: Engine, fixtures: Path, names: tuple[str, ...]) -> None:
    """All that are whole: the flat ones at once, alone and beside documents that are no objects.

    What nests deep is scanned by itself: where kinds mix above it, each of its levels costs a query.
    The rest of the fixtures have their outcomes in test_input_formats.py.
    """
    found = [fixtures / "hostile" / f"{name}.jsonl" for name in names]
    assert_same(scan(engine, *found).evidence, reference(*found))


DEEP = [('{"b":', MOST_LEVELS - 1), ("[", MOST_LEVELS - 1), ('[{"c":', 90), ('[1,{"d":', 90)]


@pytest.mark.parametrize(("opening", "times"), DEEP)
def test_deep_nesting_is_seen_to_its_end(engine: Engine, tmp_path: Path, opening: str, times: int) -> None:
    file = write_lines(tmp_path / "rows.jsonl", [f'{{"a": {nested(opening, times)}}}', '{"a": 1}'])
    assert_same(scan(engine, file).evidence, reference(file))


def test_what_nests_deeper_is_refused_with_its_place(engine: Engine, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "rows.jsonl", ["{}", nested('{"b":', MOST_LEVELS + 1), nested("[", 900)])
    with pytest.raises(InputError, match="deeper than 200 levels") as caught:
        scan(engine, file)
    assert str(caught.value.at) == f"{shown_path(file.as_uri())}:2"


@pytest.mark.parametrize("depth", [900, 250])
@pytest.mark.parametrize("before", [[], ["[]"]], ids=["alone", "after a list"])
def test_nesting_that_is_too_deep_is_reported(engine: Engine, tmp_path: Path, depth: int, before: list[str]) -> None:
    """Spark survives it; where it did not, all tests after this one would fail."""
    file = write_lines(tmp_path / "rows.jsonl", [*before, nested('{"a":', depth)])
    with pytest.raises(InputError) as caught:
        scan(engine, file)
    assert caught.value.message == "a record nests deeper than 200 levels"


def nested(opening: str, times: int) -> str:
    closing = "".join({"{": "}", "[": "]"}[mark] for mark in reversed(opening) if mark in "{[")
    return f'{opening * times}"x"{closing * times}'


def test_thousands_of_keys_are_all_seen(engine: Engine, tmp_path: Path) -> None:
    rows = [{f"key {number}": number for number in range(start, start + 2_500)} for start in (0, 2_500)]
    file = write_lines(tmp_path / "rows.jsonl", map(json.dumps, rows))
    assert facts(scan(engine, file).evidence) == facts(reference(file))


# --- documents of one form: values are read as what they are, fields and lists apart ---


def formed_documents(count: int) -> list[Any]:
    """Return documents whose values are of one kind under each key; some keys are absent at times, others null."""
    rng = random.Random(5)
    scalars: list[Callable[[], Any]] = [
        lambda: rng.choice(HARD_TEXTS),
        lambda: rng.choice([0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63), 1_700_000_000]),
        lambda: rng.random() < 0.5,
        lambda: rng.choice([0.5, 1e300, -0.25]),
    ]
    forms = {key: scalars[at % 4] for at, key in enumerate(HARD_KEYS)}
    nulls = set(rng.sample(HARD_KEYS, 12))

    def fields() -> dict[str, Any]:
        kept = [key for key in HARD_KEYS if rng.random() < 0.8]
        return {key: None if key in nulls and rng.random() < 0.3 else forms[key]() for key in kept}

    def document() -> dict[str, Any]:
        listed = [
            {"id": number, "note": rng.choice([None, "", "null"]), "tags": rng.choice([None, [], ["x"]])}
            for number in range(rng.randrange(3))
        ]
        lists = {"texts": ["x", None, ""][: rng.randrange(4)], "numbers": [[number] for number in range(3)]}
        inner = {"_dlt_id": rng.choice(["", "k"]), "deep": {"of": fields()}, "only": {"lists": [rng.random() < 0.5]}}
        at_times = rng.choice([{}, {"owner": None}, {"owner": {"boss": None}}, {"owner": {"boss": {"id": 1}}}])
        return {**fields(), "inner": inner, "listed": rng.choice([None, listed, listed]), **lists, **at_times}

    return [document() for _ in range(count)]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([], id="of one form"),
        pytest.param([""], id="a blank line"),
        pytest.param(["null"], id="a null"),
        pytest.param(['{"late": {"x": [{}]}}'], id="an object in a list"),
        pytest.param(['{"größe": [18446744073709551616]}'], id="a large integer"),
    ],
)
def test_documents_of_one_form_are_seen_as_they_are(engine: Engine, tmp_path: Path, lines: list[str]) -> None:
    made = [json.dumps(document, ensure_ascii=False) for document in formed_documents(40)]
    file = write_lines(tmp_path / "rows.jsonl", [*made[:20], *lines, *made[20:]])
    assert_same(scan(engine, file).evidence, reference(file))


# --- objects with many keys ---


def test_keys_that_are_data_are_each_seen_as_they_are(engine: Engine, tmp_path: Path) -> None:
    """Each key's values differ in number, length and first place, so that none can be taken for another's."""
    rows: list[Any] = [{"users": {}}, {"users": None}]
    for number in range(22):
        key = f"it's {number}"
        user = {
            "n": number,
            "list": ["x" * number] * (number % 3),
            "inner": [{"y": number}],
            "_dlt_id": "x"[number % 2 :],
        }
        mixed = [{"m": number}, [number], None, "x" * number][number % 4]
        rows += [{"users": {key: user}, "scalars": {key: number}, "texts": {key: "x" * number}}] * (number % 3 + 1)
        rows += [{"lists": {key: [[number, None]] * (number % 4 + 1)}, "mixed": {key: {"a": mixed}}}]
        rows += [{"users": {key: None}, "mixed": {key: {"a": {"b": 1.5}}}, "days": [{key: {str(number % 7): number}}]}]
    rows += [{"users": {f"it's {number}": {"n": number} for number in range(20)}}]
    file = write_lines(tmp_path / "rows.jsonl", map(json.dumps, rows))
    assert_same(scan(engine, file).evidence, reference(file))


def test_of_equal_keys_among_many_the_last_one_counts(engine: Engine, tmp_path: Path) -> None:
    pairs = [(f"k{number % 500}", [number] * (number % 7)) for number in range(500 + 20)]
    file = write_lines(tmp_path / "rows.jsonl", [write_json((("a", tuple(pairs)),))])
    assert_same(scan(engine, file).evidence, reference(file))


# --- however it is cut ---


def test_partitions_and_files_make_no_difference(engine: Engine, cut, fixtures: Path, tmp_path: Path) -> None:
    lines = (fixtures / "orders.jsonl").read_text(encoding="utf-8").splitlines()
    whole = write_lines(tmp_path / "whole" / "rows.jsonl", lines)
    files = [
        write_lines(tmp_path / "parts" / f"rows_{start:04}.jsonl", lines[start : start + 90])
        for start in range(0, len(lines), 90)
    ]
    expected = reference(whole)
    with cut(whole.stat().st_size // 7 + 1):
        parts = scan(engine, whole)
        assert len(engine.run(parts.documents[0].records, "schemactl.kernel.partitions", "count_partition")) == 7
        assert_same(parts.evidence, expected)
    found = scan(engine, tmp_path / "parts").evidence
    assert_same(found, reference(*files))
    assert inferred(found) == inferred(expected)


def test_a_sample_is_the_same_however_the_data_is_cut(engine: Engine, cut, tmp_path: Path) -> None:
    lines = [json.dumps({"id": number, f"k{number % 7}": number}) for number in range(1_000)]
    whole = write_lines(tmp_path / "rows.jsonl", lines)
    half = parse_sample("30%")
    found = scan(engine, whole, sample=half).evidence
    assert 200 < found.documents < 400
    assert found.files[shown_path(whole.as_uri())].records == 1_000
    with cut(3000):
        assert scan(engine, whole, sample=half).evidence == found
    assert 200 < scan(engine, whole, sample=parse_sample("300")).evidence.documents < 400
    assert scan(engine, whole, sample=parse_sample("5000")).evidence.documents == 1_000


# --- what cannot be read ---


def test_bad_records_are_reported_by_file_and_line_in_every_block(engine: Engine, cut, tmp_path: Path) -> None:
    lines = [json.dumps({"id": number}) for number in range(1_000)]
    bad = {17: "{oops", 501: '{"id": NaN}', 777: '{"id": 1} {"id": 2}', 1000: '{"id": "cut'}
    for number, text in bad.items():
        lines[number - 1] = text
    file = write_lines(tmp_path / "rows.jsonl", lines)
    shown = shown_path(file.as_uri())
    with cut(2000):
        found = scan(engine, file)
    assert [(record.position, record.text) for record in found.bad_records] == [
        (Position(shown, number), text) for number, text in bad.items()
    ]
    seen = found.evidence.files[shown]
    assert (seen.documents, seen.bad, seen.first_bad, seen.records) == (996, 4, 17, 1_000)


def test_bad_records_are_shown_up_to_a_limit_and_all_counted(engine: Engine, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "rows.jsonl", ["{}", *["x" * 500] * 50])
    found = scan(engine, file)
    assert len(found.bad_records) == MAX_BAD_RECORDS
    assert len(found.bad_records[0].text) == 200
    assert found.evidence.files[shown_path(file.as_uri())].bad == 50


NO_JSON = [
    "{'a': 1}", "{a: 1}", '{"a": 01}', '{"a": .5}', '{"a": 1.}', '{"a": +1}', '{"a": NaN}', '{"a": -Infinity}',
    '{"a": 1,}', "[1,]", '{"a": 1', '{"a": 1}}', '{"a": 1} x', '1], "x"', '"end of the document"]', "nul",
    '{"a": "\t"}'.replace("\\t", "\t"), '{1234567890123456789012: 1}', '{"a": 1234567890123456789012x}',
    '{"a": 01234567890123456789012}', '{"a": "\x01\x02"}', "9" * 1001, '{"a": "\ufdd0', r'"\ud800 x"',
    r'"\udc00"', r'{"\ud83d": 1}', r'"\ud83d\ud83d\ude80"', r'"\\\ud83dx"',
]  # fmt: skip


AS_IF_WRAPPED = ['1,"x":2', '{"a": 1},"b":{}', '{}},{"a":1', '{"a": 1},"b":{"c":1']
"""What would do as part of an object: `parse.Wrapper` makes one of each line."""


@pytest.mark.parametrize("bad", [NO_JSON, [*NO_JSON, *AS_IF_WRAPPED]], ids=["no JSON", "parts of objects"])
def test_each_line_that_is_no_json_is_found(engine: Engine, tmp_path: Path, bad: list[str]) -> None:
    for at, line in enumerate(bad):
        write_lines(tmp_path / "rows" / f"{at:02}.jsonl", ['{"a": 1}', line, '{"a": 2}'])
    found = scan(engine, tmp_path / "rows")
    assert [(file.documents, file.bad, file.first_bad) for file in found.evidence.files.values()] == [(2, 1, 2)] * len(
        bad
    )
    assert found.evidence.paths.keys() == {(), ("a",)}
