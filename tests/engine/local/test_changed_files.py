"""Files that are removed or cut off while a load reads them: the error names the file, whatever reads it by then."""

from __future__ import annotations

import bz2
import gzip
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

from schemactl.engine.protocol import Engine
from schemactl.errors import ExitCode, InputError
from schemactl.flows.normalize import NormalizeRequest, normalize
from schemactl.flows.request import InferRequest

pytestmark = pytest.mark.usefixtures("work")

RECORDS = [{"id": number, "note": "x" * 40 + str(number * 7919)} for number in range(300)]
LINES = "".join(json.dumps(record) + "\n" for record in RECORDS).encode()
CSV = ("id,note\n" + "".join(f"{record['id']},{record['note']}\n" for record in RECORDS)).encode()
LIST = json.dumps(RECORDS).encode()
XML = ("<r>" + "".join(f"<b><id>{record['id']}</id></b>" for record in RECORDS) + "</r>").encode()
TABLE = pa.Table.from_pylist(RECORDS)


def write_arrow(path: str) -> None:
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=100)


def write_stream(path: str) -> None:
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_stream(sink, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=500)


def write_avro(path: str) -> None:
    fields = [{"name": "id", "type": "long"}, {"name": "note", "type": "string"}]
    with Path(path).open("wb") as sink:
        fastavro.writer(sink, {"type": "record", "name": "r", "fields": fields}, RECORDS)


def write_octets(octets: bytes) -> Callable[[str], Any]:
    return lambda path: Path(path).write_bytes(octets)


PLAIN = {"a.jsonl": LINES, "a.csv": CSV, "a.tsv": CSV.replace(b",", b"\t"), "a.json": LIST, "a.txt": CSV}
COMPRESSED = {
    "a.jsonl.gz": gzip.compress(LINES), "a.jsonl.bz2": bz2.compress(LINES),
    "a.jsonl.zst": pa.compress(LINES, "zstd", asbytes=True), "a.csv.gz": gzip.compress(CSV),
    "a.json.gz": gzip.compress(LIST), "a.xml.gz": gzip.compress(XML),
}  # fmt: skip
CONTAINERS: dict[str, Callable[[str], Any]] = {
    "a.parquet": lambda path: pq.write_table(TABLE, path, row_group_size=100),
    "a.orc": lambda path: pyarrow.orc.write_table(TABLE, path, stripe_size=4096),
    "a.arrow": write_arrow,
    "a.arrows": write_stream,
    "a.avro": write_avro,
    "a.xml": write_octets(XML),
}
WRITERS = {name: write_octets(octets) for name, octets in (PLAIN | COMPRESSED).items()} | CONTAINERS
MOMENTS = ("the engine opens", "reading documents", "making rows")


def load(engine: Engine, name: str, moment: str, change: Callable[[str], None]) -> None:
    """Load a file that changes at a moment."""

    @contextmanager
    def open_engine(*_: Any) -> Iterator[Engine]:
        progress("the engine opens", None)
        yield engine

    def progress(stage: str, _share: float | None) -> None:
        if stage == moment:
            change(name)

    WRITERS[name](name)
    inference = InferRequest((name,), "shop", "data", "schemas", on_bad_record="skip")
    normalize(NormalizeRequest(inference, "warehouse"), progress, open_engine)


def cut_off(name: str) -> None:
    os.truncate(name, Path(name).stat().st_size // 2)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("name", WRITERS)
def test_a_file_that_is_removed_is_named(local_engine: Engine, name: str, moment: str) -> None:
    with pytest.raises(InputError, match="the file cannot be read: no such file or directory") as caught:
        load(local_engine, name, moment, lambda path: Path(path).unlink(missing_ok=True))
    assert (str(caught.value.at), caught.value.code) == (name, ExitCode.BAD_INPUT)
    assert not Path("warehouse").exists()


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("name", [*COMPRESSED, *CONTAINERS])
def test_a_file_that_is_cut_off_is_named(local_engine: Engine, name: str, moment: str) -> None:
    with pytest.raises(InputError) as caught:
        load(local_engine, name, moment, cut_off)
    assert str(caught.value.at).startswith(name)
    assert caught.value.code == ExitCode.BAD_INPUT
    assert not Path("warehouse").exists()


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.json", "a.txt"])
def test_texts_that_are_cut_off_between_two_readings_are_named(local_engine: Engine, name: str) -> None:
    with pytest.raises(InputError, match=r"documents, then [\d,]+") as caught:
        load(local_engine, name, "making rows", cut_off)
    assert (str(caught.value.at), caught.value.code) == (name, ExitCode.BAD_INPUT)
