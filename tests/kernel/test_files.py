"""Workers read files by themselves: all of one, or parts of it."""

from __future__ import annotations

import gzip
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from schemactl import memory
from schemactl.kernel.arrays import binary_array
from schemactl.kernel.cells import CsvLayout
from schemactl.kernel.files import FilePart, Form, UnreadableFileError, read_pieces, read_records, split_contents
from schemactl.kernel.partitions import RecordReader


def share(*parts: FilePart) -> bytes:
    return pickle.dumps(parts)


@pytest.mark.parametrize(("suffix", "encoding"), [("", "UTF-8"), (".gz", "UTF-8"), ("", "UTF-16LE")])
@pytest.mark.parametrize("form", [Form.ELEMENTS, Form.LINES])
def test_files_come_in_numbered_pieces(tmp_path: Path, suffix: str, encoding: str, form: Form) -> None:
    rows = [{"id": number, "text": "é" * 400} for number in range(9_000)]
    texts = [json.dumps(row, ensure_ascii=False) for row in rows]
    content = ("[" + ",".join(texts) + "]" if form is Form.ELEMENTS else "\r\n".join(texts)).encode(encoding)
    path = tmp_path / f"a.json{suffix}"
    path.write_bytes(gzip.compress(content) if suffix else content)
    asked = pa.RecordBatch.from_pydict({"share": [share(FilePart("file:/a.json", str(path), suffix, encoding, form))]})
    pieces = [piece for batch in read_pieces([asked]) for piece in batch.to_pylist()]
    assert [piece["block"] for piece in pieces] == list(range(len(pieces)))
    assert len(pieces) > 2
    assert [json.loads(text) for piece in pieces for text in pickle.loads(piece["texts"])] == rows


def test_parts_of_lines_have_each_line_once(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\xef\xbb\xbf1\r\n22\r\n\r\n4444\n\xef\xbb\xbf5")
    size = path.stat().st_size
    for first in range(1, size):
        bounds = [(0, first), (first, size - first)]
        parts = [FilePart("file:/a", str(path), "", "UTF-8", Form.LINES, start, length) for start, length in bounds]
        found = [text for part in parts for texts in read_records(part) for text in texts]
        assert found == [b"1", b"22", b"", b"4444", b"5"]


def test_contents_come_in_pieces_as_files_do() -> None:
    content = json.dumps([{"a": 1}, [2]]).encode()
    batch = pa.RecordBatch.from_pylist([{"file": "s3://a.json", "content": content}])
    (piece,) = (piece for each in split_contents([batch]) for piece in each.to_pylist())
    assert piece | {"texts": pickle.loads(piece["texts"])} == {
        "file": "s3://a.json", "block": 0, "texts": [b'{"a": 1}', b" [2]"]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (gzip.compress(b"1\n" * 9000, mtime=0)[:-12], "the compressed file ends too early"),
        (b"no gzip", "the file cannot be read: not a gzipped file"),
        (None, "the file cannot be read: no such file or directory"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_reason(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    path = tmp_path / "a.jsonl.gz"
    if content is not None:
        path.write_bytes(content)
    part = FilePart("file:///a.jsonl.gz", str(path), ".gz", "UTF-8", Form.LINES)
    with pytest.raises(UnreadableFileError, match=f"file:///a.jsonl.gz: {reason}"):
        list(read_records(part))


@pytest.mark.parametrize(
    ("name", "content", "form", "which"),
    [
        ("a.json", '{"a": [%s]}', Form.ELEMENTS, "document 1"),
        ("a.json", '[1, 2, {"a": [%s]}]', Form.ELEMENTS, "document 3"),
        ("a.jsonl", '{"a": 1}\n\n{"a": [%s]}\n', Form.LINES, "document 3"),
    ],
)
def test_a_document_too_large_for_the_memory_is_named_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str, form: Form, which: str
) -> None:
    monkeypatch.setattr(memory, "largest_document", lambda: 2 << 20)
    path = tmp_path / name
    path.write_text(content % ("1," * 1_600_000 + "1"))
    part = FilePart(f"file:{path}", str(path), "", "UTF-8", form)
    batch = pa.RecordBatch.from_arrays([binary_array([share(part)])], ["share"])
    with pytest.raises(UnreadableFileError, match=rf"file:{path}: {which} has 3 MB, .* than 2 MB can be parsed"):
        list(RecordReader("/here").read([batch]))


LAYOUT = CsvLayout(("a", "b"), ",", b"\n")


@pytest.mark.parametrize(
    ("content", "form", "kind"),
    [
        (b'{"a": 1}\n{"a": "%s"}', Form.LINES, "document"),
        (b'{"a": "%s"}', Form.ELEMENTS, "document"),
        (b'[1, {"a": "%s"}]', Form.ELEMENTS, "document"),
        (b"%s", Form.TEXTS, "document"),
        (b'a,b\n1,2\n3,"%s"\n', Form.ROWS, "row"),
    ],
)
def test_of_a_record_that_unpacks_to_more_than_the_memory_no_more_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, form: Form, kind: str
) -> None:
    monkeypatch.setattr(memory, "largest_document", lambda: 2 << 20)
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(content % (b"x" * (120 << 20)), 1))
    part = FilePart(f"file:{path}", str(path), ".gz", "UTF-8", form, layout=LAYOUT if form is Form.ROWS else None)
    reason = rf"file:{path}: a {kind} has more than \d MB, .* than 2 MB can be parsed"
    with memory.memory_limit(50 << 20, MemoryError), pytest.raises(UnreadableFileError, match=reason):
        list(read_records(part))


def test_very_many_empty_lines_come_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"\n" * (10 << 20)))
    part = FilePart(f"file:{path}", str(path), ".gz", "UTF-8", Form.LINES)
    pieces = list(read_pieces([pa.RecordBatch.from_pydict({"share": [share(part)]})]))
    assert len(pieces) >= 5


def test_a_list_of_more_than_the_memory_has_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "largest_document", lambda: 1 << 20)
    path = tmp_path / "a.json"
    path.write_text("[" + "1," * 1_000_000 + "1]")
    part = FilePart(f"file:{path}", str(path), "", "UTF-8", Form.ELEMENTS)
    assert sum(map(len, read_records(part))) == 1_000_001


def test_arrays_of_bytes_are_made_without_pandas() -> None:
    code = (
        "import sys; from schemactl.kernel.arrays import binary_array; "
        "assert binary_array([b'a', b'', b'bc']).to_pylist() == [b'a', b'', b'bc']; assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
