"""The same data gives the same on both engines: evidence, schemas, rows, keys, rejects, counts, warnings, errors.

The answer of Spark is compared with that of this machine; a difference is a fault of one of them.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import fastavro
import pytest
from engine_outcomes import Contract, infer_outcome, normalize_outcome, request, scan_outcome
from random_data import AVRO_TYPES, ORC_TYPES, TYPES, RandomData

from schemactl.kernel.dispatch import Dispatch

pytestmark = pytest.mark.spark

# --- the fixtures of the repository ---


def test_fixtures(contract: Contract, fixtures: Path) -> None:
    for name in ("customers.csv", "github_events.jsonl", "orders.jsonl", "products.json"):
        shutil.copy(fixtures / name, contract.data)
    files = request("../data", table=None, table_per_file=True)
    contract.check(scan_outcome, ("../data",))
    contract.sizes = (30_000, 50_000)
    assert contract.check(infer_outcome, replace(files, is_check=True)).error is None
    assert contract.check(normalize_outcome, files).error is None


HOSTILE = sorted(path.name for path in (Path(__file__).parents[2] / "fixtures" / "hostile").iterdir())


def test_hostile_fixtures(contract: Contract, fixtures: Path) -> None:
    shutil.copytree(fixtures / "hostile", contract.data, dirs_exist_ok=True)
    for name in HOSTILE:
        contract.check(infer_outcome, request(f"../data/{name}", is_check=True))
    unreadable = ("truncated.jsonl.gz", "not_gzip.jsonl.gz", "empty.jsonl", "deep_lists.jsonl", "deep_objects.jsonl")
    sources = [f"../data/{name}" for name in HOSTILE if name not in unreadable]
    contract.sizes = (50, 70)
    options = {"on_bad_record": "skip", "resolve_collisions": True, "naming": "direct"}
    outcome = contract.check(normalize_outcome, request(*sources, **options))
    assert outcome.error is None, outcome.error


# --- random data ---


@pytest.mark.parametrize("seed", range(3))
def test_random_documents(contract: Contract, seed: int) -> None:
    data = RandomData(seed)
    contents = {
        "a.jsonl": data.lines(60), "b.jsonl": data.lines(30, bad_share=0.1), "c.json": data.json_list(25),
        "d.json": data.json_text(data.document()).encode(), "e.csv": data.csv(40), "f.csv": data.odd_csv(40),
        "g.tsv": data.csv(15, "\t"), "h.txt": "".join(f"{data.scalar()}\n" for _ in range(10)).encode(),
    }  # fmt: skip
    names = [data.write_bytes(contract.data / name, content) for name, content in contents.items()]
    contract.sizes = (data.random.choice([100, 1000, 10**6]), data.random.choice([150, 5000, 10**6]))
    for name in names:
        contract.check(scan_outcome, (f"../data/{name}",))
    sources = [f"../data/{name}" for name in names]
    options = {"on_bad_record": "skip", "resolve_collisions": True}
    contract.check(infer_outcome, request(*sources, **options, evidence_file=Path("seen.evidence.json")))
    modes = ["columns=discard_row", "data_type=discard_value", "discard_row", "tables=discard_value"]
    mode = data.random.choice(modes)
    first = contract.check(normalize_outcome, request(*sources[1::2], **options))
    contract.check(normalize_outcome, request(*sources[::2], **options, contract=mode), load_id="2")
    contract.check(normalize_outcome, request(*sources, **options, contract="freeze"), load_id="3")
    assert first.error is None, first.error


@pytest.mark.parametrize("seed", range(3))
def test_random_xml(contract: Contract, seed: int) -> None:
    data = RandomData(seed)
    contents = {"a.xml": data.xml(30), "b.xml": data.xml(10), "c.xml": data.xml(5).decode().encode("utf-16")}
    names = [data.write_bytes(contract.data / name, content) for name, content in contents.items()]
    sources = [f"../data/{name}" for name in names]
    for source in sources:
        assert contract.check(scan_outcome, (source,)).error is None
    contract.check(scan_outcome, (sources[0],), "20")
    options = {"null_values": ["N/A", "12"], "resolve_collisions": True}
    contract.check(infer_outcome, request(*sources, **options, evidence_file=Path("seen.evidence.json")))
    first = contract.check(normalize_outcome, request(sources[0], **options))
    contract.check(normalize_outcome, request(*sources, **options, contract="columns=discard_value"), load_id="2")
    assert first.error is None, first.error
    (contract.data / "broken.xml").write_text("<a><b><c></b></a>")
    assert contract.check(scan_outcome, ("../data/broken.xml",)).error is not None


@pytest.mark.parametrize("seed", range(3))
def test_random_avro(contract: Contract, seed: int) -> None:
    data = RandomData(seed)
    data.write_avro(contract.data / "a.avro", list(AVRO_TYPES), 60)
    data.write_avro(contract.data / "b.avro", data.random.sample(list(AVRO_TYPES), 10), 30)
    for name in ("a.avro", "b.avro"):
        assert contract.check(scan_outcome, (f"../data/{name}",)).error is None
    contract.check(infer_outcome, request("../data", evidence_file=Path("seen.evidence.json")))
    first = contract.check(normalize_outcome, request("../data/b.avro"))
    contract.check(normalize_outcome, request("../data", contract="columns=discard_value"), load_id="2")
    assert first.error is None, first.error
    for name, content in {"empty": b"", "head": b"Obj\x01", "text": b"id\n1\n"}.items():
        (contract.data / f"{name}.avro").write_bytes(content)
        assert contract.check(scan_outcome, (f"../data/{name}.avro",)).error is not None


@pytest.mark.parametrize("seed", range(2))
def test_random_rows_of_all_types(contract: Contract, seed: int) -> None:
    data = RandomData(seed)
    data.write_parquet(contract.data / "a.parquet", list(TYPES), 60)
    data.write_parquet(contract.data / "b.parquet", data.random.sample(list(TYPES), 10), 30)
    data.write_orc(contract.data / "c.orc", ORC_TYPES, 40)
    contract.sizes = (data.random.choice([100, 10**6]), data.random.choice([1000, 10**6]))
    for name in ("a.parquet", "b.parquet", "c.orc"):
        contract.check(scan_outcome, (f"../data/{name}",))
    contract.check(infer_outcome, request("../data", evidence_file=Path("seen.evidence.json")))
    first = contract.check(normalize_outcome, request("../data/b.parquet"))
    contract.check(normalize_outcome, request("../data", contract="data_type=discard_row"), load_id="2")
    contract.check(normalize_outcome, request("../data", contract="columns=discard_value"), load_id="3")
    assert first.error is None, first.error


# --- samples ---


@pytest.mark.parametrize("sample", ["30%", "17", "1%"])
def test_samples(contract: Contract, sample: str) -> None:
    data = RandomData(5)
    contents = {"a.jsonl": data.lines(80, bad_share=0.1), "b.json": data.json_list(40), "c.csv": data.csv(60),
                "d.tsv": data.odd_csv(40), "e.txt": b"x\ny\nz\n" * 20}  # fmt: skip
    names = [data.write_bytes(contract.data / name, content) for name, content in contents.items()]
    data.write_parquet(contract.data / "f.parquet", ["int32", "string", "struct"], 90)
    data.write_parquet(contract.data / "g.parquet", ["int32", "list"], 40)
    data.write_orc(contract.data / "h.orc", ["int64", "string"], 70)
    elements = "".join(f"<b n='{number}'><t>é &amp; \"{number}/\"</t></b>" for number in range(60))
    (contract.data / "i.xml").write_text(f"<r>{elements}</r>", encoding="utf-8")
    with (contract.data / "j.avro").open("wb") as sink:
        fields = [{"name": "n", "type": "long"}]
        fastavro.writer(
            sink, {"type": "record", "name": "r", "fields": fields}, [{"n": n} for n in range(90)], "null", 99
        )
    contract.sizes = (200, 3000)
    for name in (*names, "f.parquet", "h.orc", "i.xml", "j.avro"):
        contract.check(scan_outcome, (f"../data/{name}",), sample)
    outcome = contract.check(infer_outcome, request("../data", sample=sample, on_bad_record="skip"))
    assert outcome.error is None, outcome.error
    of_tables = request("../data/*.parquet", sample=sample, table=None, dispatch=Dispatch(("string",)))
    contract.check(infer_outcome, of_tables)
