"""Typing, models and data that is at fault: the same on both engines (``test_engine_contract``)."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_outcomes import Contract, Outcome, infer_outcome, normalize_outcome, request, scan_outcome
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_data import RandomData

from schemactl.errors import ExitCode
from schemactl.flows.models import find_model
from schemactl.flows.typing import find_typing
from schemactl.kernel.dispatch import Dispatch
from schemactl.schema.record_selection import parse_selection
from schemactl.store.folder import SchemasFolder

pytestmark = pytest.mark.spark


# --- typing ---

FIELDS: list[dict[str, Any]] = [
    {"id": "1", "name": "id", "type": "integer", "nullable": False, "trim": True, "nullReplacementValue": None,
     "nullableValues": ["", "null"], "formatters": ["#,##0;-#,##0"]},
    {"id": "2", "name": "paid", "type": "boolean", "nullable": True, "trim": True, "nullableValues": [""],
     "trueValues": ["yes", "true"], "falseValues": ["no", "false"]},
    {"id": "3", "name": "day", "type": "date", "nullable": True, "trim": True, "nullableValues": [""],
     "formatters": ["uuuu-MM-dd"]},
    {"id": "4", "name": "note", "type": "string", "nullable": True, "trim": True, "nullableValues": [""]},
]  # fmt: skip
ROWS = [
    ("1", "yes", "2024-01-31", " a "), (" 2 ", "no", "", "b"), ("x", "yes", "2024-02-30", ""),
    ("", "maybe", "2024-01-01", "c"), ("5", "true", "31.01.2024", "d"), ("6", "false", "2024-02-29", "null"),
]  # fmt: skip


@pytest.mark.parametrize("on_error", ["column", "reject", "fail", None])
@pytest.mark.parametrize("container", ["csv", "parquet"])
def test_typing(contract: Contract, container: str, on_error: str | None) -> None:
    file = contract.data / "fields.arc"
    file.write_text(json.dumps(FIELDS))
    names = [field["name"] for field in FIELDS]
    rows = ROWS * 20
    if container == "csv":
        lines = [",".join(names), *(",".join(f'"{cell}"' for cell in row) for row in rows)]
        (contract.data / "a.csv").write_text("\n".join([*lines, "7,yes,2024-01-01,e,too many", ""]))
    else:
        columns = {name: list(cells) for name, cells in zip(names, zip(*rows, strict=True), strict=True)}
        pq.write_table(pa.table(columns), contract.data / "a.parquet", row_group_size=11)
    typing = find_typing(str(file), on_error, SchemasFolder.at(contract.data / "schemas"))
    contract.sizes = (100, 700)
    call = request(f"../data/a.{container}", typing=typing, on_bad_record="skip")
    contract.check(infer_outcome, call)
    contract.check(normalize_outcome, call)


# --- records inside documents ---


@pytest.mark.parametrize("form", ["json", "list", "lines", "gz", "utf16"])
def test_records_inside_documents(contract: Contract, form: str) -> None:
    pages: list[dict[str, Any]] = [
        {"page": number, "data": [{"id": 40 * number + row, "note": "x" * row} for row in range(40)], "end": number % 2}
        for number in range(30)
    ]
    pages[7]["data"][3]["id"] = "text"
    pages[9] = {"error": "no data"}
    path, keep, lines = "data", ["page", "end"], "".join(json.dumps(page) + "\n" for page in pages)
    match form:
        case "json":
            name, content = "a.json", json.dumps({"pages": pages, "last": 1}).encode()
            path, keep = "pages[*].data", ["last"]
        case "list":
            name, content = "a.json", json.dumps(pages, indent=1).encode()
        case "lines":
            name, content = "a.jsonl", lines.encode()
        case "gz":
            name, content = "a.jsonl.gz", gzip.compress(lines.encode())
        case _:
            name, content = "a.jsonl", lines.encode("utf-16")
    (contract.data / name).write_bytes(content)
    contract.sizes = (1000, 7000)
    call = request(f"../data/{name}", selection=parse_selection(path, keep), on_bad_record="skip")
    contract.check(infer_outcome, call)
    contract.check(normalize_outcome, replace(call, contract="data_type=discard_row"))


# --- models ---

MODELS = """
from datetime import date
from typing import Annotated, Literal, Union
from pydantic import BaseModel, Field, RootModel


class Click(BaseModel):
    kind: Literal["click"]
    id: int
    x: float | None = None


class Buy(BaseModel):
    kind: Literal["buy"]
    id: int
    day: date | None = None
    lines: list[str] = []


class Event(RootModel[Annotated[Union[Click, Buy], Field(discriminator="kind")]]):
    pass
"""
EVENTS = [
    {"kind": "click", "id": 1, "x": 1.5}, {"kind": "buy", "id": "2", "day": "2024-01-31", "lines": ["a", "b"]},
    {"kind": "click", "id": "x"}, {"kind": "view", "id": 4}, {"id": 5}, {"kind": "buy", "id": 6, "more": True},
    {"kind": "buy", "id": 7, "day": "2024-02-30"}, [], {"kind": ["click"], "id": 8},
]  # fmt: skip


@pytest.mark.parametrize("mode", [None, "data_type=discard_row", "columns=evolve,data_type=discard_row", "freeze"])
def test_models_with_tables_by_a_field(contract: Contract, monkeypatch: pytest.MonkeyPatch, mode: str | None) -> None:
    monkeypatch.syspath_prepend(contract.data)
    (contract.data / "contract_models.py").write_text(MODELS)
    lines = [json.dumps(event) for event in EVENTS * 10]
    (contract.data / "a.jsonl").write_text("\n".join([*lines, '{"kind": "buy"', ""]))
    kinds = [event.get("kind") for event in EVENTS if isinstance(event, dict)] * 10
    texts = [kind if isinstance(kind, str) else None for kind in kinds]
    pq.write_table(pa.table({"kind": texts, "id": range(len(texts))}), contract.data / "b.parquet", row_group_size=13)
    contract.sizes = (100, 900)
    options = {"table": None, "dispatch": Dispatch(("kind",)), "contract": mode, "on_bad_record": "skip"}
    model = find_model("contract_models:Event", mode)
    for source in ("../data/a.jsonl", "../data/b.parquet"):
        contract.check(infer_outcome, request(source, **options))
        contract.check(infer_outcome, request(source, model=model, name="modelled", **options))
    contract.check(normalize_outcome, request("../data/a.jsonl", "../data/b.parquet", model=model, **options))


# --- faults ---

BAD = {
    "a.jsonl": b'{"id": 1}\n{"id": \n\n[1, 2\n{"id": 01}\n{"id": 5}\n\xff\n',
    "b.json": b'[{"id": 1}, {"id": 2},\n {"id": }]',
    "c.csv": b'id,name\n1,a\n2,b,c\n3,"d\n4,e\n',
    "d.tsv": b"id\tname\n1\ta\tb\n",
    "e.json": b'{"id": 1',
}


@pytest.mark.parametrize("name", BAD)
def test_bad_records_are_reported_with_their_places(contract: Contract, name: str) -> None:
    (contract.data / name).write_bytes(BAD[name])
    outcome = contract.check(infer_outcome, request(f"../data/{name}"))
    assert outcome.error is not None
    assert (outcome.error[0], outcome.error[3]) == ("InputError", ExitCode.BAD_INPUT)
    assert f"{contract.data}/{name}" in f"{outcome.error}"
    contract.check(normalize_outcome, request(f"../data/{name}", on_bad_record="skip"))


@pytest.mark.parametrize(("ending", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress)])
@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv", "a.txt"])
def test_compressed_files_that_break_off(
    contract: Contract, name: str, ending: str, compress: Callable[[bytes], bytes]
) -> None:
    data = RandomData(1)
    content = {"a.json": data.json_list, "a.csv": data.csv}.get(name, data.lines)(300)
    octets = compress(content)
    (contract.data / f"{name}.{ending}").write_bytes(octets[: len(octets) // 2])
    error = contract.check(infer_outcome, request("../data")).error
    assert error is not None
    assert error[:2] == ("InputError", f"{contract.data}/{name}.{ending}: the compressed file ends too early")


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv", "a.parquet", "a.orc"])
def test_a_file_that_is_removed_after_it_was_listed_is_named(contract: Contract, name: str) -> None:
    file = contract.data / name

    def write() -> None:
        data = RandomData(2)
        match file.suffix:
            case ".parquet":
                data.write_parquet(file, ["int32"], 30)
            case ".orc":
                data.write_orc(file, ["int32"], 30)
            case _:
                file.write_bytes(data.json_list(20) if name == "a.json" else data.csv(20))

    @contextmanager
    def removed(engine: Any) -> Iterator[Any]:
        file.unlink()
        try:
            yield engine
        finally:
            write()

    write()
    (contract.data / "b.jsonl").write_text('{"id": 1}\n')
    error = contract.check(infer_outcome, request("../data"), opened=removed).error
    assert error is not None
    assert error[:2] == ("InputError", f"{file}: the file cannot be read: no such file or directory")
    assert error[3] == ExitCode.BAD_INPUT


def test_columns_that_differ_between_files(contract: Contract) -> None:
    (contract.data / "a.csv").write_text("id,name\n1,a\n")
    (contract.data / "b.csv").write_text("name,id,extra\nb,2,true\n")
    (contract.data / "c.csv").write_text("id\n3\n")
    (contract.data / "d.jsonl").write_text('{"id": "x", "more": {"deep": [1]}}\n{"ID": 1.5}\n')
    pq.write_table(pa.table({"id": [4], "at": [None]}), contract.data / "e.parquet")
    pq.write_table(pa.table({"name": ["z"], "id": pa.array([5], pa.int16())}), contract.data / "f.parquet")
    outcome = contract.check(normalize_outcome, request("../data", resolve_collisions=True))
    assert outcome.error is None, outcome.error
    contract.check(normalize_outcome, request("../data", resolve_collisions=True, contract="freeze"), load_id="2")


# --- random documents, cut in random places ---

scalars = st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats() | st.text(max_size=5)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "B", "b ", "ß"]), inner),
    max_leaves=6,
)
documents = st.dictionaries(st.sampled_from(["id", "a", "A", "a b", "x.y"]), values, max_size=4)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(documents, min_size=1, max_size=25), st.integers(1, 400), st.integers(1, 400), st.integers(1, 24))
def test_documents_of_any_form_in_partitions_of_any_size(
    contract: Contract, records: list[Any], local_size: int, spark_size: int, first_file: int
) -> None:
    for number, group in enumerate((records[:first_file], records[first_file:])):
        lines = "".join(json.dumps(record) + "\n" for record in group)
        (contract.data / f"{number}.jsonl").write_text(lines)
    contract.sizes = (local_size, spark_size)
    outcome: Outcome = contract.check(scan_outcome, ("../data",))
    assert outcome.report is not None
