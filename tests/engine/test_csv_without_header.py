"""Files of CSV whose first row is a record: found by its looks, and read with `--no-header`."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from schemactl.engine.bad_records import explain_bad_records
from schemactl.engine.csv_header import looks_like_record
from schemactl.engine.inputs import find_inputs
from schemactl.engine.protocol import Engine
from schemactl.engine.scan import Scan, scan_inputs
from schemactl.inference.sample import Sample
from schemactl.store.sources import LeftOutWarning

pytestmark = pytest.mark.usefixtures("work")


def scan(engine: Engine, content: str, has_header: bool | None, name: str = "a.csv") -> tuple[Scan, list[str]]:
    Path(name).write_bytes(content.encode())
    inputs = [replace(file, has_header=has_header) for file in find_inputs([name])]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LeftOutWarning)
        found = scan_inputs(engine, inputs, Sample())
    return found, [str(warning.message) for warning in caught if issubclass(warning.category, LeftOutWarning)]


WAY = "use `--no-header` to read it as a record, or `--header` to end this warning"


@pytest.mark.parametrize(("content", "is_warned"), [
    ("1,Ann,2026-01-01\n2,Bob,2026-01-02\n", True), ("Ann;true\nBob;false\nCy;true\n", True),
    ("1,Ann\n,Bob\n3,Cy\n", True), ("id,name\n1,Ann\n", False), ("id,2026-01-01\n1,2026-01-02\n", False),
    ("Ann,Berlin\nBob,Paris\n", False), ("1,Ann\n", False),
])  # fmt: skip
def test_a_first_row_that_looks_like_a_record_is_warned_of(engine: Engine, content: str, is_warned: bool) -> None:
    _, warned = scan(engine, content, has_header=None)
    assert [message.endswith(WAY) for message in warned if "looks like a record" in message] == [True] * is_warned
    assert not scan(engine, content, has_header=True)[1]


@pytest.mark.parametrize("broken", ["", '4,"open\n'])
@pytest.mark.parametrize("start", ["", "sep=,\n", "\n\n"])
def test_without_a_header_the_first_row_is_a_record(engine: Engine, start: str, broken: str) -> None:
    found, warned = scan(engine, f"{start}1,Ann\n\n2,Bob\n3\n{broken}", has_header=False)
    assert (found.evidence.documents, len(found.bad_records), warned) == (3, 1 if broken else 0, [])
    assert sorted(path[0] for path in found.evidence.paths if path) == ["_c0", "_c1"]
    assert sum(seen.count for seen in found.evidence.paths[("_c0",)].values()) == 3


def test_rows_without_a_header_have_their_own_number(engine: Engine) -> None:
    found, _ = scan(engine, "1,Ann\n\n2,Bob,surplus\n", has_header=False)
    (problem,) = explain_bad_records(found.bad_records, found.inputs)
    assert str(problem.at) == "a.csv:3, row 3"


def test_names_that_are_values_of_another_kind_are_names() -> None:
    assert looks_like_record(["1", "x"], [["2", "y"], ["3", "z"]])
    assert not looks_like_record(["true", "x"], [["2", "y"]])
    assert not looks_like_record(["1"], [])
