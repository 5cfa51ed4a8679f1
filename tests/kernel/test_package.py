"""Partitions write files of Parquet, and say what they have written; what is nobody's is never listed."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, date, datetime, time
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet
import pytest
from rows_contract import LOAD, NOW, as_set, root_key, with_table

from schemactl.inference.evidence import Position, observe
from schemactl.inference.resolve import resolve
from schemactl.kernel.columnar import ColumnarSource
from schemactl.kernel.outcome import tally_of
from schemactl.kernel.package import RowsJob, WrittenFile, drop_superseded, write_columnar, write_documents
from schemactl.normalization.normalizers import make_plan
from schemactl.normalization.request import PlanRequest
from schemactl.normalization.tally import LoadTime, RowCounts
from schemactl.schema.judgment import judge

FILE = "data.jsonl"
BEFORE = {(FILE, 0): 0, (FILE, 100): 3, ("other.jsonl", 0): 0}
HERE = "/here"
A, B = "file:/here/data.jsonl", "file:/here/other.jsonl"


def plan_of(documents, before=None, contract=None):
    before = before or with_table()
    evidence = observe((Position(FILE, at), document) for at, document in enumerate(documents, 1))
    resolution = resolve(evidence, before, "t")
    return make_plan(PlanRequest(evidence, resolution, judge(before, resolution.schema, contract)))


def job_of(plan, folder, **compared):
    folder.mkdir(exist_ok=True)
    return RowsJob({("",): plan}, LoadTime(LOAD, NOW), compared, folder.as_uri())


def lines(*records):
    files, blocks, texts = zip(*records, strict=True)
    columns = [pa.array(files), pa.array(blocks), pa.array([text.encode() for text in texts])]
    return pa.RecordBatch.from_arrays(columns, ["file", "block", "text"])


def read(folder, file):
    return pyarrow.parquet.read_table(folder / file.name).to_pylist()


def test_lines_are_numbered_over_blocks_and_files(tmp_path):
    documents = [{"n": number, "l": [number]} for number in range(4)]
    texts = [json.dumps(document) for document in documents]
    plan = plan_of(documents)
    first = lines((A, 100, texts[3]), (A, 100, "  "), (A, 100, "{no"))
    second = lines((A, 100, texts[0]), (B, 0, texts[1]))

    part = write_documents([first, second], job_of(plan, tmp_path / "files"), HERE, BEFORE)

    assert part.first == (FILE, 4)
    assert part.files.tables["t"].rows == part.files.tables["t__l"].rows == 3
    rows = {row["n"]: row["_dlt_id"] for row in read(tmp_path / "files", part.files.tables["t"])}
    assert rows == {3: root_key(FILE, 4), 0: root_key(FILE, 7), 1: root_key("other.jsonl", 1)}
    assert part.outcomes[0].tables["t"].read == 3


def test_partitions_add_up_to_the_whole(tmp_path):
    documents = [{"n": at if at % 7 else "odd", "l": [{"x": at}] * (at % 3), "new": 1} for at in range(1, 40)]
    plan = plan_of(documents, with_table(n={"data_type": "bigint"}), "data_type=discard_row")
    job = job_of(plan, tmp_path / "files")
    before = {(FILE, at): at for at in range(len(documents))}
    records = [(A, at, json.dumps(document)) for at, document in enumerate(documents)]

    whole = write_documents([lines(*records)], job, HERE, before)
    parts = [write_documents([lines(*records[at : at + 10])], job, HERE, before) for at in range(0, 40, 10)]

    outcome = parts[0].outcomes[0]
    for part in parts[1:]:
        outcome.merge(part.outcomes[0])
    problems = job.makers()[0].problems
    assert tally_of(outcome, problems, plan) == tally_of(whole.outcomes[0], problems, plan)
    rejected = [row for part in parts if part.files.rejects for row in read(tmp_path / "files", part.files.rejects[0])]
    assert as_set(rejected) == as_set(read(tmp_path / "files", whole.files.rejects[0]))
    assert {row["line"] for row in rejected} == {7, 14, 21, 28, 35}
    for table in ("t", "t__l"):
        rows = [
            row
            for part in parts
            if table in part.files.tables
            for row in read(tmp_path / "files", part.files.tables[table])
        ]
        assert as_set(rows) == as_set(read(tmp_path / "files", whole.files.tables[table]))


def test_each_attempt_has_files_of_its_own(tmp_path):
    plan = plan_of([{"n": 1}])
    job = job_of(plan, tmp_path / "files")
    answers = [write_documents([lines((A, 0, '{"n": 1}'))], job, HERE, BEFORE) for _ in range(2)]
    names = [part.files.tables["t"].name for part in answers]
    assert len(set(names)) == 2
    first, second = (read(tmp_path / "files", part.files.tables["t"]) for part in answers)
    assert first == second


def test_a_folder_out_of_reach_is_reported(tmp_path):
    job = RowsJob({("",): plan_of([{"n": 1}])}, LoadTime(LOAD, NOW), {}, (tmp_path / "far").as_uri())
    with pytest.raises(FileNotFoundError, match="does not reach the staging folder"):
        write_documents([], job, HERE, BEFORE)


def test_superseded_rows_leave_with_what_is_nested_in_them(tmp_path):
    documents = [{"id": 1, "l": [1, 2]}, {"id": 2, "l": [3]}, {"id": 1, "l": [4]}]
    plan = plan_of(documents, with_table(id={"data_type": "bigint", "primary_key": True}))
    files = tmp_path / "files"
    job = job_of(plan, files, t=("id",))
    batch = lines(*((A, 0, json.dumps(document)) for document in documents))
    part = write_documents([batch], job, HERE, BEFORE)
    places = read(files, part.files.places["t"])
    assert [(row["ordinal"], row["file"], row["line"], row["c0"]) for row in places] == [
        (0, FILE, 1, 1), (1, FILE, 2, 2), (2, FILE, 3, 1),
    ]  # fmt: skip
    assert [row["ordinal"] for row in read(files, part.files.places["t__l"])] == [0, 0, 1, 2]

    (tmp_path / "superseded").mkdir()
    superseded = pa.table({"part": [7, 8], "ordinal": [2, 0]})
    pyarrow.parquet.write_table(superseded, tmp_path / "superseded" / "part-0.parquet")
    asked = [
        json.dumps([7, name, part.files.tables[name].name, part.files.places[name].name]) for name in ("t", "t__l")
    ]
    found = drop_superseded(
        [pa.RecordBatch.from_pydict({"part": asked})], files.as_uri(), (tmp_path / "superseded").as_uri(),
        ["t"],
    )  # fmt: skip
    answers = {table: (kept, others) for _, table, kept, others in found}

    assert [row["id"] for row in pyarrow.parquet.read_table(files / answers["t"][0].name).to_pylist()] == [1, 2]
    assert [row["id"] for row in pyarrow.parquet.read_table(files / answers["t"][1].name).to_pylist()] == [1]
    left = pyarrow.parquet.read_table(files / answers["t__l"][0].name).to_pylist()
    assert [row["value"] for row in left] == [1, 2, 3]
    assert answers["t__l"][1] == WrittenFile("", 1)


TYPED = pa.table(
    {
        "id": pa.array([1, 2], pa.int32()),
        "amount": pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)),
        "at": pa.array([datetime(2024, 1, 2, tzinfo=UTC), None], pa.timestamp("us", "Europe/Warsaw")),
        "naive": pa.array([datetime(2024, 1, 2, 3), None], pa.timestamp("us")),
        "far": pa.array([2**62, None], pa.int64()).cast(pa.timestamp("us")),
        "day": pa.array([date(1500, 1, 2), None]),
        "clock": pa.array([time(1, 2, 3, 4), None]),
        "raw": pa.array([b"\x00\xff", None]),
        "ratio": pa.array([0.5, None], pa.float32()),
        "who": pa.array([{"name": "a", "age": 1}, None], pa.struct([("name", pa.string()), ("age", pa.int16())])),
        "items": pa.array(
            [[{"sku": "x", "prices": [Decimal("2.25")]}, None], []],
            pa.list_(pa.struct([("sku", pa.string()), ("prices", pa.list_(pa.decimal128(8, 2)))])),
        ),
        "attributes": pa.array([[(True, 1)], None], pa.map_(pa.bool_(), pa.int64())),
    }
)
STATED = {
    ("id",): {"data_type": "bigint", "precision": 32},
    ("amount",): {"data_type": "decimal", "precision": 10, "scale": 2},
    ("at",): {"data_type": "timestamp", "precision": 6},
    ("naive",): {"data_type": "timestamp", "precision": 6, "timezone": False},
    ("far",): {"data_type": "timestamp", "precision": 6, "timezone": False},
    ("day",): {"data_type": "date"},
    ("clock",): {"data_type": "time"},
    ("raw",): {"data_type": "binary"},
    ("ratio",): {"data_type": "double"},
    ("who", "name"): {"data_type": "text"},
    ("who", "age"): {"data_type": "bigint", "precision": 16},
    ("items", None, "sku"): {"data_type": "text"},
    ("items", None, "prices", None): {"data_type": "decimal", "precision": 8, "scale": 2},
    ("attributes",): {"data_type": "json"},
    ("any",): {"data_type": "json"},
}


def test_columns_of_stated_types_keep_them(tmp_path):
    from schemactl.inference.evidence import Evidence, FileEvidence

    evidence = Evidence(files={FILE: FileEvidence(2)}, declared=STATED)
    resolution = resolve(evidence, with_table(), "t")
    plan = make_plan(PlanRequest(evidence, resolution, judge(with_table(), resolution.schema)))
    table = TYPED.append_column("any", pa.array(['{"b":[1],"a":null}', "5"]))
    table = table.append_column("file", pa.array([FILE] * 2)).append_column("block", pa.array([0, 0]))
    source = ColumnarSource(tuple(table.column_names[:-2]), json_paths=frozenset({("any",)}))

    job = job_of(plan, tmp_path / "files")
    part = write_columnar(table.to_batches(), job, "", {(FILE, 0): 0}, source)

    assert tally_of(part.outcomes[0], job_of(plan, tmp_path).makers()[0].problems, plan).tables == {
        "t": RowCounts(2), "t__items": RowCounts(2), "t__items__prices": RowCounts(1),
    }  # fmt: skip
    written = pyarrow.parquet.read_table(tmp_path / "files" / part.files.tables["t"].name)
    assert written["far"].cast(pa.int64()).to_pylist() == [2**62, None]
    first, second = written.drop_columns(["far"]).to_pylist()
    assert {name: value for name, value in first.items() if not name.startswith("_dlt")} == {
        "id": 1,
        "amount": Decimal("1.50"),
        "at": datetime(2024, 1, 2, tzinfo=UTC),
        "naive": datetime(2024, 1, 2, 3, tzinfo=UTC),
        "day": date(1500, 1, 2),
        "clock": time(1, 2, 3, 4),
        "raw": b"\x00\xff",
        "ratio": 0.5,
        "who__name": "a",
        "who__age": 1,
        "attributes": '{"true":1}',
        "any": '{"b":[1],"a":null}',
    }
    assert second["any"] == "5"
    items = read(tmp_path / "files", part.files.tables["t__items"])
    assert Counter(row["sku"] for row in items) == Counter(["x", None])
    prices = read(tmp_path / "files", part.files.tables["t__items__prices"])
    assert [row["value"] for row in prices] == [Decimal("2.25")]


def test_plans_of_the_same_documents_are_equal():
    documents = [{"n": 1, "l": [{"x": 1}]}]

    assert plan_of(documents) == plan_of(documents)
    assert plan_of(documents) != plan_of([{"n": "text"}])
