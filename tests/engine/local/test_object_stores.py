"""Objects of stores on this machine: they are listed, cut and read as files are."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from object_store import ObjectStore, serve_objects
from random_data import AVRO_TYPES, ORC_TYPES, TYPES, RandomData
from task_sizes import task_size

from schemactl.engine import choice
from schemactl.engine.choice import EngineName, EngineOptions, choose_engine, find_engine_inputs
from schemactl.engine.input import Input
from schemactl.engine.inputs import find_inputs
from schemactl.engine.local.engine import open_local_engine
from schemactl.engine.protocol import Engine
from schemactl.engine.scan import Scan, scan_inputs
from schemactl.engine.spark.options import SparkOptions
from schemactl.engine.store_listing import pattern_regex
from schemactl.errors import InputError
from schemactl.flows.infer import infer
from schemactl.flows.request import InferRequest
from schemactl.inference.sample import Sample
from schemactl.inference.saved_evidence import write_evidence
from schemactl.progress import no_progress

pytestmark = pytest.mark.usefixtures("work")

LOCAL = EngineOptions(EngineName.LOCAL)


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with pytest.MonkeyPatch.context() as patch, serve_objects() as store:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "test")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield store


@pytest.fixture(autouse=True)
def empty_store(store: ObjectStore) -> None:
    store.objects.clear()
    store.ranges.clear()
    store.is_refusing = False


@pytest.fixture(scope="module")
def engine(store: ObjectStore) -> Iterator[Engine]:
    with open_local_engine([], no_progress) as engine:
        yield engine


def scan(engine: Engine, *sources: str) -> Scan:
    return scan_inputs(engine, find_inputs(sources, lists_stores=True), Sample())


def write_all_formats(folder: Path) -> None:
    data = RandomData(1)
    contents = {
        "a.jsonl": data.lines(300), "b.jsonl": data.lines(40), "c.json": data.json_list(300), "d.csv": data.csv(300),
        "e.xml": data.xml(30), "f.txt": b"one\ntwo\n", "g h.tsv": data.csv(20, "\t"),
    }  # fmt: skip
    for name, content in contents.items():
        (folder / name).write_bytes(content)
        data.write_bytes(folder / f"packed_{name}", content)
    data.write_parquet(folder / "p.parquet", list(TYPES), 60)
    data.write_orc(folder / "q.orc", ORC_TYPES, 60)
    data.write_avro(folder / "r.avro", list(AVRO_TYPES), 60)


def test_objects_of_all_formats_give_what_files_give(engine: Engine, store: ObjectStore) -> None:
    Path("data").mkdir()
    write_all_formats(Path("data"))
    store.objects.update({f"shop/data/{file.name}": file.read_bytes() for file in Path("data").iterdir()})
    for file in sorted(Path("data").iterdir()):
        with task_size(engine, 3000):
            of_file, of_object = scan(engine, str(file)), scan(engine, store.address(f"shop/data/{file.name}"))
        shown = write_evidence(of_file.evidence).replace(f'"data/{file.name}', f'"s3://shop/data/{file.name}')
        assert json.loads(write_evidence(of_object.evidence)) == json.loads(shown), file.name
    assert max(store.ranges) <= 1 << 20


def test_a_large_object_is_read_in_ranges_by_several_tasks(engine: Engine, store: ObjectStore) -> None:
    store.objects["shop/a.jsonl"] = b'{"id": 1, "text": "%s"}\n' % (b"x" * 1000) * 20_000
    found = find_inputs([store.address("shop/a.jsonl")], lists_stores=True)
    store.ranges.clear()
    with task_size(engine, 5_000_000):
        (batch,) = engine.read(found)
        assert len(batch.records()) > 2
        assert sum(engine.run(batch.records(), "schemactl.kernel.partitions", "count_partition")) == 20_000
    assert max(store.ranges) < 3_000_000


def test_folders_and_patterns_list_objects_by_path(store: ObjectStore) -> None:
    hidden = ["a/_hidden/x.jsonl", "_SUCCESS", ".x.jsonl"]
    for key in ("b.jsonl", "a.jsonl", "a/z.jsonl", "day=1/c.jsonl", *hidden):
        store.objects[f"shop/in/{key}"] = b'{"id": 1}\n'
    store.objects["shop/in/README.md"] = b"# Read me"
    store.objects["shop/inner.jsonl"] = b"{}"

    def listed(source: str) -> list[str]:
        return [
            file.path.removeprefix("s3://shop/") for file in find_inputs([store.address(source)], lists_stores=True)
        ]

    with pytest.warns(match="README.md"):
        assert listed("shop/in") == ["in/a.jsonl", "in/a/z.jsonl", "in/b.jsonl", "in/day=1/c.jsonl"]
    assert listed("shop/in/*.jsonl") == ["in/a.jsonl", "in/b.jsonl"]
    assert listed("shop/in/{a,day=?}") == ["in/a/z.jsonl", "in/day=1/c.jsonl"]
    assert listed("shop/in/[ab].jsonl") == ["in/a.jsonl", "in/b.jsonl"]
    assert listed("shop/in/**/*.jsonl") == ["in/a/z.jsonl", "in/day=1/c.jsonl"]


def test_patterns_are_those_of_spark() -> None:
    assert pattern_regex("a*/b?.{x,y*}") == r"a[^/]*/b[^/]\.(?:x|y[^/]*)"
    assert pattern_regex("[!a-c]/[") == r"[^a-c]/\["


def test_a_table_is_made_of_objects(store: ObjectStore) -> None:
    store.objects["shop/orders.jsonl"] = b'{"id": 1}\n{"id": 2}\n'
    request = InferRequest(
        (store.address("shop/orders.jsonl"),), "shop", table="orders", schemas="schemas", engine=LOCAL
    )
    report = infer(request, None)
    assert report.reading is not None
    assert (report.reading.engine, report.reading.bytes) == ("local", 20)
    assert "endpoint_override" not in str(report.to_dict())


@pytest.mark.parametrize(
    ("key", "content", "message"),
    [
        ("none.jsonl", None, "there is no `s3://shop/none.jsonl`"),
        ("*.jsonl", None, "no file matches `s3://shop/*.jsonl`"),
        ("a.unknown", b"\x00", "cannot recognize the format"),
        ("a.jsonl.gz", b"\x1f\x8b\x08", "the compressed file ends too early"),
        ("a.parquet", b"PAR1broken", "the file cannot be read"),
        ("a.jsonl.snappy", b"x", "this machine does not unpack `.snappy`"),
    ],
)
def test_errors_name_the_object(
    engine: Engine, store: ObjectStore, key: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        store.objects[f"shop/{key}"] = content
    with pytest.raises(InputError) as caught:
        scan(engine, store.address(f"shop/{key}"))
    assert message in str(caught.value)
    assert f"s3://shop/{key}" in str(caught.value)
    assert "endpoint_override" not in str(caught.value)


def test_a_store_that_refuses_is_reported_with_the_address(store: ObjectStore) -> None:
    store.is_refusing = True
    with pytest.raises(InputError, match=r"the object store cannot be listed: .*ACCESS_DENIED") as caught:
        find_engine_inputs(LOCAL, [store.address("shop/refused.jsonl")])
    assert str(caught.value.at) == "s3://shop/refused.jsonl"
    assert "AWS_PROFILE" in str(caught.value.hint)


def test_auto_reads_small_objects_here_and_leaves_others_to_spark(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "_is_installed", lambda _: True)
    auto = EngineOptions(EngineName.AUTO)
    store.objects["shop/a.jsonl"] = b"{}\n"
    small = find_engine_inputs(auto, [store.address("shop/a.jsonl")])
    assert choose_engine(auto, small).name is EngineName.LOCAL
    large = Input("s3://shop/b.jsonl", "ndjson", size=129 << 20)
    assert choose_engine(auto, [*small, large]).name is EngineName.SPARK
    store.is_refusing = True
    unlisted = find_engine_inputs(auto, [store.address("shop/a.jsonl")])
    assert unlisted[0].size is None
    assert choose_engine(auto, unlisted).name is EngineName.SPARK


def test_spark_lists_stores_by_itself(store: ObjectStore) -> None:
    store.is_refusing = True
    options = EngineOptions(EngineName.AUTO, SparkOptions(master="local[1]"))
    (found,) = find_engine_inputs(options, ["s3a://shop/a.jsonl"])
    assert (found.path, found.size) == ("s3a://shop/a.jsonl", None)


def test_an_address_of_a_file_is_its_path(engine: Engine) -> None:
    Path("a b.jsonl").write_text('{"id": 1}\n')
    assert scan(engine, f"file://{Path.cwd()}/a%20b.jsonl").files.keys() == {"a b.jsonl"}
