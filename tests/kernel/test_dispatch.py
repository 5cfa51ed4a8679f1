"""Records of one stream are sorted to tables: evidence and rows of each, with the places that they have in the data."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import accumulate, chain

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows_contract import LOAD, NOW, with_table
from test_package import BEFORE, FILE, HERE, A, B, lines, read

from schemactl.inference.evidence import Evidence, Position, observe
from schemactl.inference.resolve import resolve
from schemactl.kernel.columnar import ColumnarSource
from schemactl.kernel.dispatch import BLOCK_SHIFT, MOST_TABLES, Dispatch, gather
from schemactl.kernel.package import RowsJob, write_columnar, write_documents
from schemactl.kernel.partitions import observe_partition, observe_rows_partition
from schemactl.kernel.reading import ReadOptions
from schemactl.normalization.normalizers import make_plan
from schemactl.normalization.request import PlanRequest
from schemactl.normalization.tally import LoadTime
from schemactl.schema.judgment import judge

EVENTS = [
    {"type": "click", "x": 1},
    {"type": "buy", "items": [{"n": 1}, {"n": 2}]},
    {"type": "click", "x": 2},
    {"type": "Buy", "items": []},
    {"x": 3},
]
RECORDS = [(A, 0, json.dumps(event)) for event in EVENTS]


def observed(batches, dispatch):
    return observe_partition(batches, HERE, options=ReadOptions(dispatch=dispatch))


def plan_for(table, documents):
    before = with_table()
    evidence = observe((Position(FILE, at), document) for at, document in enumerate(documents, 1))
    resolution = resolve(evidence, before, table)
    return make_plan(PlanRequest(evidence, resolution, judge(before, resolution.schema)))


@pytest.mark.parametrize(
    ("value", "table"),
    [
        ("click", "clicks"),
        ("other", "other"),
        (7, "7"),
        ("", None),
        (" \t\u00a0", None),
        (None, None),
        (True, None),
        (1.5, None),
        ({}, None),
    ],
)
def test_the_value_of_the_field_names_the_table(value, table):
    assert Dispatch(("type",), {"click": "clicks"}).tables_of([value]) == [table]
    assert Dispatch(("type",), {"click": "clicks"}, "rest").tables_of([value]) == [table or "rest"]


def test_evidence_is_that_of_the_documents_of_each_table():
    part = observed([lines(*RECORDS, (B, 0, RECORDS[0][2]))], Dispatch(("type",)))

    assert set(part.result) == {"click", "buy", "Buy", None}
    places = [(Position(FILE, at), EVENTS[at]) for at in (0, 2)]
    wanted = observe([*places, (Position("other.jsonl", 0), EVENTS[0])])
    assert replace(part.result["click"].evidence, files=wanted.files) == wanted
    assert part.result["click"].documents == {FILE: 2, "other.jsonl": 1}
    assert (part.result[None].documents, part.result[None].first) == ({FILE: 1}, Position(FILE, 4))
    assert part.blocks[FILE, 0].documents == 5


def test_texts_that_look_as_if_they_went_elsewhere_go_where_their_field_says():
    """Texts are brought together by what the field seems to be; nested keys, escapes and bad records mislead it."""
    kinds = [
        '{"type": "a", "n": %d}',
        '{"type": "b", "n": %d}',
        '{"inner": {"type": "b"}, "type": "a", "n": %d}',
        r'{"t\u0079pe": "b", "n": %d}',
        r'{"type": "\u0061", "n": %d, "x": 1}',
        '{"type": "a", "n": %d, "type": "b", "y": [1]}',
        '{"type": "a", "n": %d',
    ]
    texts = [random.Random(at).choice(kinds) % at for at in range(7_000)]
    documents = {at: json.loads(text) for at, text in enumerate(texts) if text.endswith("}")}

    part = observed([lines(*((A, 0, text) for text in texts))], Dispatch(("type",)))

    for table in ("a", "b"):
        own = {at: document for at, document in documents.items() if document["type"] == table}
        wanted = observe((Position(FILE, at), document) for at, document in own.items())
        assert replace(part.result[table].evidence, files=wanted.files) == wanted
        assert part.result[table].documents == {FILE: len(own)}
        assert part.result[table].first == Position(FILE, min(own))
    bad = [at for at in range(len(texts)) if at not in documents]
    assert [record.position.number for record in part.bad_records] == bad[:20]
    counts = part.blocks[FILE, 0]
    assert (counts.lines, counts.documents, counts.bad) == (7_000, len(documents), len(bad))
    assert counts.first_bad == bad[0]


@given(
    st.lists(st.lists(st.sampled_from([b'{"type": "a"}', b'{"type":\n"b"}', b'{"type": 1}', b"{}", b"[", b"", b"\n"]))),
    st.integers(1, 5),
)
def test_each_record_is_gathered_once_in_ascending_order(runs, enough):
    starts = list(accumulate(map(len, runs), initial=0))
    gathered = list(gather(zip(runs, starts, strict=False), Dispatch(("type",)), enough))

    assert all(len(texts) == len(numbers) <= enough for texts, numbers in gathered)
    assert all(list(numbers) == sorted(numbers) for _, numbers in gathered)
    found = sorted((number, text) for texts, numbers in gathered for text, number in zip(texts, numbers, strict=True))
    assert found == list(enumerate(chain.from_iterable(runs)))


def test_a_field_within_objects_names_tables():
    records = [
        (A, 0, json.dumps(each)) for each in ({"meta": {"kind": "a"}}, {"meta": {"kind": "b"}}, {"meta": 1}, [1])
    ]
    assert set(observed([lines(*records)], Dispatch(("meta", "kind"), rest="rest")).result) == {"a", "b", "rest"}


def test_a_field_that_stands_twice_in_one_text_and_in_another_not_misplaces_no_record():
    texts = ['{"type": "a", "of": {"type": "b"}}', '{"of": 1}', '{"type": "b"}']
    found = observed([lines(*((A, 0, text) for text in texts))], Dispatch(("type",), rest="rest")).result
    assert {table: share.first.number for table, share in found.items()} == {"a": 0, "rest": 1, "b": 2}


def test_more_values_than_tables_are_found_out():
    records = [(A, 0, json.dumps({"id": at})) for at in range(MOST_TABLES + 1)]
    part = observed([lines(*records)], Dispatch(("id",)))
    assert part.too_many
    assert not observed([lines(*records[1:])], Dispatch(("id",))).too_many


def test_rows_of_each_table_keep_their_places(tmp_path):
    (tmp_path / "files").mkdir()
    clicks, buys = plan_for("click", [EVENTS[0], EVENTS[2]]), plan_for("buy", [EVENTS[1], EVENTS[3]])
    plans = {("click",): clicks, ("buy", "Buy"): buys}
    job = RowsJob(
        plans, LoadTime(LOAD, NOW), {}, (tmp_path / "files").as_uri(), ReadOptions(dispatch=Dispatch(("type",)))
    )

    part = write_documents([lines(*RECORDS)], job, HERE, BEFORE)

    rows = {table: read(tmp_path / "files", file) for table, file in part.files.tables.items()}
    assert {table: len(found) for table, found in rows.items()} == {"click": 2, "buy": 2, "buy__items": 2}
    assert [row["x"] for row in rows["click"]] == [1, 2]
    assert set(rows["click"][0]) == {"type", "x", "_dlt_load_id", "_dlt_id"}
    assert [outcome.tables["click"].read for outcome in part.outcomes[:1]] == [2]
    assert part.outcomes[1].tables["buy"].read == 2
    # A row's key is made of its place in the file, which is the same without the dispatch.
    whole = RowsJob({("",): plan_for("click", EVENTS)}, LoadTime(LOAD, NOW), {}, (tmp_path / "files").as_uri())
    alone = write_documents([lines(*RECORDS)], whole, HERE, BEFORE)
    keys = [row["_dlt_id"] for row in read(tmp_path / "files", alone.files.tables["click"])]
    assert [row["_dlt_id"] for row in rows["click"]] == [keys[0], keys[2]]


def test_rows_that_state_their_types_are_sorted_too(tmp_path):
    (tmp_path / "files").mkdir()
    kinds, numbers = pa.array(["click", "buy", "click", None]), pa.array([1, 2, 3, 4])
    places = {"file": pa.array([A] * 4), "block": pa.array([0] * 4)}
    rows = pa.RecordBatch.from_pydict({"c0": kinds, "c1": numbers, **places})
    dispatch = Dispatch(("type",))

    types = {("type",): "text", ("n",): "bigint"}
    found = observe_rows_partition([rows], HERE, ("type", "n"), types, dispatch).result
    assert {table: share.documents for table, share in found.items()} == {
        "click": {FILE: 2}, "buy": {FILE: 1}, None: {FILE: 1}
    }  # fmt: skip
    assert found["buy"].first == Position(FILE, (0 << BLOCK_SHIFT) + 1)
    assert (found["buy"].evidence.paths, found[None].evidence) == ({}, Evidence())
    assert found["buy"].evidence.counted[("n",)]["bigint"].count == 1

    plans = {("click",): plan_for("click", [{"type": "click", "n": 1}])}
    job = RowsJob(plans, LoadTime(LOAD, NOW), {}, (tmp_path / "files").as_uri(), ReadOptions(dispatch=dispatch))
    source = ColumnarSource(("type", "n"))
    part = write_columnar([rows], job, HERE, BEFORE, source)
    assert [row["n"] for row in read(tmp_path / "files", part.files.tables["click"])] == [1, 3]
