"""Measures ``normalize --new-only`` over a store of a million objects, of which a thousand are new: time and memory.

    uv run --group dev python benchmarks/new_files.py --files 1000000 --new 1000

A server of this machine speaks S3 and makes up the objects, 10,000 in a folder. The ledger in a DuckDB file has the
others, written there as a load would write them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

import duckdb

FOLDER_FILES = 10_000
PAGE_KEYS = 1_000
MODIFIED = "2024-05-01T10:00:00.000Z"
OTHER_NAMES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


def key_of(number: int) -> str:
    """Return the key of an object."""
    return f"landing/day={number // FOLDER_FILES:04}/events-{number:08}.jsonl"


def content_of(number: int) -> bytes:
    """Return the only record of an object."""
    return f'{{"id": "{number:08}", "kind": "view"}}\n'.encode()


class MadeUpStore(BaseHTTPRequestHandler):
    """Answers requests for objects that follow from their keys."""

    protocol_version = "HTTP/1.1"
    files: ClassVar[int]

    def do_HEAD(self) -> None:
        self._answer(has_body=False)

    def do_GET(self) -> None:
        self._answer(has_body=True)

    def log_message(self, *_: object) -> None:
        """Write no log."""

    def _answer(self, *, has_body: bool) -> None:
        url = urlsplit(self.path)
        query = parse_qs(url.query, keep_blank_values=True)
        name = unquote(url.path).strip("/").partition("/")[2]
        if "list-type" in query:
            after = query.get("continuation-token", [""])[0]
            self._send(200, self._list(query.get("prefix", [""])[0], after), has_body)
        elif name.endswith(".jsonl"):
            self._send(200, content_of(int(name[-14:-6])), has_body)
        else:
            self._send(404 if name else 200, b"", has_body)

    def _send(self, status: int, content: bytes, has_body: bool) -> None:
        first, _, last = self.headers.get("Range", "").removeprefix("bytes=").partition("-")
        size = len(content)
        if status == 200 and has_body and last:
            content = content[int(first) : int(last) + 1]
            status = 206
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{size}"')
        self.send_header("Last-Modified", "Wed, 01 May 2024 10:00:00 GMT")
        if status == 206:
            self.send_header("Content-Range", f"bytes {first}-{int(first) + len(content) - 1}/{size}")
        self.end_headers()
        if has_body:
            self.wfile.write(content)

    def _list(self, prefix: str, after: str) -> bytes:
        """Return a page of the folders in the landing folder, or of the objects in a folder."""
        day = prefix.partition("day=")[2].strip("/")
        if not day:
            days = range(-(-self.files // FOLDER_FILES))
            entries = "".join(
                f"<CommonPrefixes><Prefix>landing/day={number:04}/</Prefix></CommonPrefixes>" for number in days
            )
            return self._page(entries, len(days), None)
        start = int(after or int(day) * FOLDER_FILES)
        end = min(start + PAGE_KEYS, (int(day) + 1) * FOLDER_FILES, self.files)
        entries = "".join(
            f"<Contents><Key>{key_of(number)}</Key><LastModified>{MODIFIED}</LastModified><ETag>1</ETag>"
            f"<Size>{len(content_of(number))}</Size><StorageClass>STANDARD</StorageClass></Contents>"
            for number in range(start, end)
        )
        is_last = end >= min((int(day) + 1) * FOLDER_FILES, self.files)
        return self._page(entries, end - start, None if is_last else end)

    def _page(self, entries: str, count: int, after: int | None) -> bytes:
        token = "" if after is None else f"<NextContinuationToken>{after}</NextContinuationToken>"
        head = f"<KeyCount>{count}</KeyCount><IsTruncated>{'false' if after is None else 'true'}</IsTruncated>{token}"
        return f'<?xml version="1.0"?><ListBucketResult><Name>shop</Name>{head}{entries}</ListBucketResult>'.encode()


def serve(files: int) -> int:
    """Serve the store for the life of this process; return its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (MadeUpStore,), {"files": files}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def fill_ledger(database: Path, files: int, size: int) -> None:
    """Write files into the ledger as if the only load of the database had loaded them."""
    with duckdb.connect(str(database)) as connection:
        connection.execute(
            f"""
            INSERT INTO shop.shop._schemactl_inputs
            SELECT load_id, schema_name,
                's3://shop/landing/day=' || lpad((n // {FOLDER_FILES})::text, 4, '0')
                    || '/events-' || lpad(n::text, 8, '0') || '.jsonl',
                {size}, TIMESTAMPTZ '2024-05-01 10:00:00+00', '"{size}"', 1, 0, NULL
            FROM shop.shop._schemactl_inputs, range(1, {files}) AS numbers (n)
            """
        )


def measure(command: Sequence[str], folder: Path) -> tuple[float, float, float]:
    """Return the seconds and the processor seconds of a command, and the megabytes that its process holds at most."""
    environment = {**os.environ, "AWS_EC2_METADATA_DISABLED": "true", **dict.fromkeys(OTHER_NAMES, "none")}
    begin = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"`{' '.join(command)}` failed")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--new", type=int, default=1_000)
    arguments = parser.parse_args()
    options = f"?endpoint_override=127.0.0.1%3A{serve(arguments.files)}&scheme=http&region=us-east-1"
    program = [str(Path(sys.executable).with_name("schemactl")), "normalize"]
    more = ["--name", "shop", "--table", "events", "--to", "duckdb:///shop.duckdb", "--engine", "local", "--quiet"]
    with tempfile.TemporaryDirectory(prefix="schemactl-benchmark-") as name:
        folder = Path(name)
        measure([*program, f"s3://shop/{key_of(0)}{options}", *more], folder)
        fill_ledger(folder / "shop.duckdb", arguments.files - arguments.new, len(content_of(0)))
        command = [*program, f"s3://shop/landing{options}", *more, "--new-only"]
        for label in (f"{arguments.new:,} new", "none new"):
            seconds, processor_seconds, megabytes = measure(command, folder)
            with duckdb.connect(str(folder / "shop.duckdb"), read_only=True) as connection:
                rows = connection.execute("SELECT count(*) FROM shop.shop.events").fetchall()[0][0]
            assert rows == arguments.new + 1, rows
            times = f"{seconds:.0f} s, of which {processor_seconds:.0f} s of processor time"
            print(f"{arguments.files:,} files, {label}: {times}, {megabytes:.0f} MB", flush=True)


if __name__ == "__main__":
    main()
