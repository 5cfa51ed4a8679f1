"""Staged documents: Spark's own reader gives what texts give, whatever the lines are like."""

from dataclasses import replace

import pytest

from schemactl.engine import stage as stage_module
from schemactl.engine.inputs import find_inputs
from schemactl.engine.scan import scan_inputs
from schemactl.engine.stage import stage
from schemactl.inference.resolve import resolve
from schemactl.inference.sample import Sample
from schemactl.normalization.choose import make_plan
from schemactl.normalization.request import PlanRequest
from schemactl.schema.judgement import judge
from schemactl.schema.templates import new_schema

pytestmark = pytest.mark.spark

ODD_KEYS = b"""{"_metadata": {"file_path": "mine"}, "file": 1, "id": "a", "block": [1, 2], "document": {"text": "x"}}
{"a.b": 1, "a`b": "x", "A.B": true, "": 2, " ": {"": [1]}, "Id": 3, "ID": "y", "\\u00e9": "z", "key": null}
"""
KINDS = b"""{"a": 1, "b": 1.5, "c": "x", "d": [1, "x", {"y": 2}], "e": {"f": [[1], [2, 3]]}, "g": "2024-01-02"}
{"a": "x", "b": 1, "c": null, "d": null, "e": {"f": []}, "g": "2024-01-02T03:04:05Z", "h": {"i": "\\ud83d\\ude00"}}
{"a": true, "b": 1e3, "c": "", "d": [], "e": {}, "e": {"f": [[4]]}, "g": 7}
{}
"""


def staged_both_ways(spark, folder, files):
    """Return what is staged of files, as read by Spark's reader where it can be, and of texts; and which of the two."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    scan = scan_inputs(spark, find_inputs([str(folder)]), Sample())
    before = new_schema("made")
    resolution = resolve(scan.evidence, before, "t")
    plan = make_plan(PlanRequest(scan.evidence, resolution, judge(before, resolution.schema, None)))
    (reading,) = scan.survey.readings
    of_texts = replace(scan.survey, readings=(replace(reading, parsed=None),))
    found = []
    for number, survey in enumerate((scan.survey, of_texts)):
        (staged,) = stage(spark, survey, plan, "load1", folder.parent / f"staged-{number}")
        rows = staged.frame.selectExpr("file", "number", "key", "to_json(struct(doc)) as doc")
        found.append(sorted(tuple(row) for row in rows.collect()))
    return (*found, reading.parsed is not None)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(ODD_KEYS, id="odd keys"),
        pytest.param(KINDS, id="kinds that mix"),
        pytest.param(KINDS.replace(b"\n", b"\r\n"), id="CRLF"),
        pytest.param(b"\xef\xbb\xbf" + KINDS, id="byte order mark"),
        pytest.param(KINDS + b"\xef\xbb\xbf" + KINDS, id="byte order mark within"),
        pytest.param(KINDS + b"null\n" + KINDS, id="null"),
        pytest.param(b'{"a": [' + b"1," * 50_000 + b'1]}\n{"b": "' + b"x" * 100_000 + b'"}\n', id="long"),
        pytest.param(b"".join(b'{"a": %d, "b": {"c": "%d"}}\n' % (n, n) for n in range(5_000)), id="many"),
    ],
)
def test_the_reader_gives_what_texts_give(spark, tmp_path, content):
    folder = tmp_path / "data"
    folder.mkdir()
    parsed, texts, is_parsed = staged_both_ways(spark, folder, {"a.jsonl": content})
    assert is_parsed
    assert parsed == texts
    assert len(parsed) == content.count(b"\n")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b'{"a": 1}\n\n  \n{"a": 2}\n', id="blank lines"),
        pytest.param(b'{"a": 1}\n{"a": \n{"a": 2}\n', id="no JSON"),
        pytest.param(b'{"a": 1}\n{"a": "\xff"}\n{"a": 2}\n', id="no UTF-8"),
        pytest.param(b'{"a": 1}\n{"a": 123456789012345678901234567890}\n', id="large integers"),
    ],
)
def test_what_the_reader_would_number_or_read_otherwise_is_read_as_texts(spark, tmp_path, content):
    folder = tmp_path / "data"
    folder.mkdir()
    parsed, texts, is_parsed = staged_both_ways(spark, folder, {"a.jsonl": content})
    assert not is_parsed
    assert parsed == texts


def test_records_of_many_files_keep_their_places(spark, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    files = {
        f"{at:02d}.jsonl": b"".join(b'{"file": %d, "number": %d}\n' % (at, number) for number in range(1, at + 2))
        for at in range(40)
    }
    parsed, texts, is_parsed = staged_both_ways(spark, folder, files)
    assert is_parsed
    assert parsed == texts
    for file, number, _, document in parsed:
        assert f'"file":{int(file[-8:-6])},"number":{number}' in document


def test_documents_that_the_reader_leaves_out_are_read_as_texts(spark, tmp_path, monkeypatch):
    """A file that someone writes to between the survey and the load is the load's to refuse, by its count."""
    parsed_frame = stage_module._parsed_frame
    monkeypatch.setattr(stage_module, "_parsed_frame", lambda *given: parsed_frame(*given).where("number != 2"))
    folder = tmp_path / "data"
    folder.mkdir()
    parsed, texts, is_parsed = staged_both_ways(spark, folder, {"a.jsonl": KINDS})
    assert is_parsed
    assert parsed == texts
    assert [number for _, number, *_ in parsed] == [1, 2, 3, 4]


def test_json_that_is_kept_as_text_is_spelled_alike(spark, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    lists = b'{"a": {"b": [1, {"c" : 1.50}]}, "n": 1}\n{"a": {"b": 2}, "n": 2}\n'
    parsed, texts, _ = staged_both_ways(spark, folder, {"a.jsonl": lists})
    assert parsed == texts
