"""One input of a command, and a look at its first bytes."""

from __future__ import annotations

import codecs
import os
import re
import shlex
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Final
from urllib.parse import unquote

from schemactl.errors import InputError, Location
from schemactl.kernel.opening import SUFFIXES, open_bytes, reason_of
from schemactl.redaction import redact
from schemactl.schema.record_selection import RecordSelection
from schemactl.store.sources import is_local

UTF8: Final = "UTF-8"
COMPRESSIONS: Final = (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate")
"""How names of compressed files end."""
MAGIC: Final = {b"PAR1": "parquet", b"ORC": "orc", b"Obj\x01": "avro"}
"""How files of binary formats start."""

RECORD_TAG: Final = "xml:"
"""The beginning of a format that names the elements which are records: ``xml:book``."""

_TITLES = {"parquet": "Parquet", "orc": "ORC", "avro": "Avro"}
_PEEK_BYTES = 1 << 20
_COMPRESSED = {rb"\x1f\x8b": ".gz", rb"BZh[1-9]1AY&SY": ".bz2", rb"\x28\xb5\x2f\xfd": ".zst"}
_GLOB_MARKS = re.compile(r"[\[\]{}*?\\]")
# The mark of UTF-32LE begins as that of UTF-16LE does.
_BOMS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16LE",
    codecs.BOM_UTF16_BE: "UTF-16BE",
}


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a command.

    Attributes:
        path: as shown to people: a path, an object-store address, or ``table:NAME``.
        format: the name of its input format.
        encoding: the encoding of text formats.
        full_address: the address of the call if it contains a secret, which ``path`` does not show.
        record_tag: for XML, the name of the elements that are records; empty for the only name below the root.
        has_header: for CSV and TSV, whether the first row contains column names; None for yes, with a warning if it
            looks like a record.
        size: the size in bytes of a listed store object; None for other inputs.
        selection: the selection of records inside JSON documents; None if each document is a record.
        modified: the time of the last change in UTC, as ``size``.
    """

    path: str
    format: str
    encoding: str = UTF8
    full_address: str = field(default="", repr=False)
    record_tag: str = ""
    has_header: bool | None = None
    size: int | None = None
    selection: RecordSelection | None = None
    modified: datetime | None = None

    @property
    def is_local(self) -> bool:
        return is_local(self.path)

    @property
    def is_readable_here(self) -> bool:
        """Return whether it is a file of this machine that can be read without Spark."""
        return self.is_local and compression_of(self.path) in SUFFIXES

    @property
    def is_reachable(self) -> bool:
        """Return whether it can be read without Spark, as a file of this machine or a listed object of a store."""
        return self.has_size and compression_of(self.path) in SUFFIXES

    @property
    def has_size(self) -> bool:
        """Return whether its size is known: of a file of this machine, and of a listed object of a store."""
        return self.is_local or self.size is not None

    def stored_size(self) -> int | None:
        """Return the size in bytes, compressed if it is; None if it is not known, or if the file is gone by now."""
        if self.size is not None or not self.is_local:
            return self.size
        try:
            return os.stat(self.path).st_size  # noqa: PTH116 - thousands of files
        except OSError:
            return None  # reading it reports why

    @property
    def address(self) -> str:
        """Return the address for Spark: the marks of globs in names of files mean themselves."""
        return (
            _GLOB_MARKS.sub(r"\\\g<0>", str(Path.cwd() / self.path))
            if self.is_local
            else self.full_address or self.path
        )


def compression_of(path: str) -> str:
    """Return the ending that marks a file as compressed; empty for other files."""
    # Spark too recognizes compressions by endings in lower case.
    suffix = os.path.splitext(path)[1]  # noqa: PTH122 - of thousands of files
    return suffix if suffix in COMPRESSIONS else ""


def open_input(file: Input) -> IO[bytes]:
    """Open a file that is reachable here, decompressed."""
    return open_bytes(file.path if file.is_local else file.address, compression_of(file.path))


@contextmanager
def read_errors(path: str) -> Iterator[None]:
    """Name a file in the errors of opening and reading it in the block."""
    try:
        yield
    except EOFError as error:
        raise InputError("the compressed file ends too early", at=Location(path)) from error
    except (OSError, zlib.error) as error:
        raise InputError(f"the file cannot be read: {reason_of(error)}", at=Location(path)) from error


def peek(path: str, address: str = "") -> bytes:
    """Return the first bytes of a file or an object of a store, decompressed; none if only Spark can decompress it.

    ``path`` is shown to people, ``address`` names a store object.
    """
    suffix = compression_of(path)
    if suffix not in SUFFIXES:
        return b""
    with read_errors(path), open_bytes(address or path, suffix) as file:
        head = _read_head(file)
    for magic, ending in _COMPRESSED.items():
        if re.match(magic, head):
            hint = f"rename the file to end with `{ending}`: Spark detects compression by name"
            raise InputError("the file is compressed, but its name does not show it", at=Location(path), hint=hint)
    return head


def _read_head(file: IO[bytes]) -> bytes:
    """Read up to a megabyte; a compressed file that breaks off later is the reader's to find."""
    read = bytearray()
    while len(read) < _PEEK_BYTES:
        try:
            block = file.read(min(1 << 16, _PEEK_BYTES - len(read)))
        except EOFError:
            if not read:
                raise
            break
        if not block:
            break
        read += block
    return bytes(read)


def check_magic(path: str, name: str, head: bytes) -> None:
    """Raise an error if a file is not in the binary format ``name``, before Spark fails on it.

    ``head`` is the beginning of the file; empty if only Spark can decompress it.
    """
    if not head and not compression_of(path):
        raise InputError("the file is empty", at=Location(path))
    magic = next(start for start, format_name in MAGIC.items() if format_name == name)
    # Parquet with an encrypted footer starts with `PARE`.
    if head and not head.startswith(magic[:3]):
        hint = "is it another format? `--input-format` names it"
        raise InputError(
            f"this is not a valid {_TITLES[name]} file: its first bytes are wrong", at=Location(path), hint=hint
        )


def encoding_of(head: bytes) -> str:
    """Return the encoding of a text that starts with these bytes."""
    for mark, name in _BOMS.items():
        if head.startswith(mark):
            return name
    # Data begins with a mark and a letter, or with two marks: both are ASCII.
    match [bool(byte) for byte in head[:4]]:
        case [True, False, True, False]:
            return "UTF-16LE"
        case [False, True, False, True]:
            return "UTF-16BE"
    return UTF8


def read_head(file: Input) -> str:
    """Return the first megabyte of a local file as text, without a byte order mark; empty if only Spark can read it."""
    head = peek(file.path, "" if file.is_local else file.address)
    try:
        # The last letter may be cut.
        text = codecs.getincrementaldecoder(file.encoding)().decode(head)
    except UnicodeDecodeError as error:
        line = head[: error.start].count(b"\n") + 1
        raise wrong_encoding(file, line) from error
    return text.lstrip("\ufeff")


def wrong_encoding(file: Input, line: int) -> InputError:
    """Return the error for a text that is not in its encoding, with the first such line."""
    old, new = shlex.quote(file.path), shlex.quote(f"utf8-{Path(file.path).name}")
    is_plain = file.encoding == UTF8 and is_local(file.path) and not compression_of(file.path)
    hint = f"convert it: `iconv -f latin1 -t utf-8 {old} > {new}`, if Latin-1 is its encoding" if is_plain else None
    return InputError(f"the file is not {file.encoding}", at=Location(file.path, line), hint=hint)


def shown_path(uri: str) -> str:
    """Return the path of a Spark address as shown to people: relative if it is below the working folder."""
    if not uri.startswith("file:"):
        return redact(uri)
    path = unquote("/" + uri.removeprefix("file:").lstrip("/"))
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path
