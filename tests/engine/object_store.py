"""A server of objects that speaks as much of S3 as pyarrow asks: list, head, get of a range."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

MODIFIED = datetime(2024, 5, 1, 10, tzinfo=UTC)


class ObjectStore:
    """Buckets of objects in memory.

    Attributes:
        objects: contents by ``bucket/key``.
        etags, modified: of objects that have others than all.
        heads: the objects whose facts were asked for, or that were read whole.
        folders: prefixes of the folders that were listed one by one.
        ranges: how many bytes each request of an object asked for.
        is_refusing: whether requests are refused, as without the right to read.
    """

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.etags: dict[str, str] = {}
        self.modified: dict[str, datetime] = {}
        self.heads: list[str] = []
        self.folders: list[str] = []
        self.ranges: list[int] = []
        self.is_refusing = False
        self.port = 0

    def address(self, key: str) -> str:
        """Return the address of a bucket and key, with the options by which pyarrow finds this server."""
        return f"s3://{key}?endpoint_override=127.0.0.1%3A{self.port}&scheme=http&region=us-east-1"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store: ObjectStore

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, with_body: bool) -> None:
        url, objects = urlsplit(self.path), self.store.objects
        path, query = unquote(url.path).strip("/"), parse_qs(url.query, keep_blank_values=True)
        if self.store.is_refusing:
            self._send(403, b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>", with_body)
        elif "list-type" in query:
            prefix, has_folders = query.get("prefix", [""])[0], "delimiter" in query
            if has_folders and prefix.endswith("/"):
                self.store.folders.append(prefix)
            self._send(200, _listing(self.store, path, prefix, has_folders), with_body)
        elif "/" not in path:
            exists = any(name.startswith(f"{path}/") for name in objects)
            self._send(200 if exists else 404, b"", with_body)
        elif path not in objects:
            self._send(404, b"<Error><Code>NoSuchKey</Code></Error>", with_body)
        elif (byte_range := self.headers.get("Range")) and with_body:
            first, _, last = byte_range.removeprefix("bytes=").partition("-")
            content, size = objects[path][int(first) : int(last) + 1], len(objects[path])
            self.store.ranges.append(len(content))
            self._send(206, content, True, f"bytes {first}-{int(first) + len(content) - 1}/{size}", path)
        else:
            self.store.heads.append(path)
            self._send(200, objects[path], with_body, path=path)

    def _send(self, status: int, content: bytes, with_body: bool, content_range: str = "", path: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{self.store.etags.get(path, "1")}"')
        self.send_header("Last-Modified", format_datetime(self.store.modified.get(path, MODIFIED), usegmt=True))
        if content_range:
            self.send_header("Content-Range", content_range)
        self.end_headers()
        if with_body:
            self.wfile.write(content)


@contextmanager
def serve_objects() -> Iterator[ObjectStore]:
    """Serve an object store of this machine in a block."""
    store = ObjectStore()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"store": store}))
    store.port = server.server_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()


def _listing(store: ObjectStore, bucket: str, prefix: str, has_folders: bool) -> bytes:
    keys = sorted(name.removeprefix(f"{bucket}/") for name in store.objects if name.startswith(f"{bucket}/{prefix}"))
    folders: list[str] = []
    if has_folders:
        ends = {key: key.find("/", len(prefix)) + 1 for key in keys}
        folders = sorted({key[:end] for key, end in ends.items() if end})
        keys = [key for key, end in ends.items() if not end]
    contents = "".join(
        f"<Contents><Key>{escape(key)}</Key><LastModified>"
        f"{store.modified.get(f'{bucket}/{key}', MODIFIED):%Y-%m-%dT%H:%M:%S.000Z}</LastModified><ETag>1</ETag>"
        f"<Size>{len(store.objects[f'{bucket}/{key}'])}</Size><StorageClass>STANDARD</StorageClass></Contents>"
        for key in keys
    )
    contents += "".join(f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>" for folder in folders)
    head = f"<Name>{bucket}</Name><KeyCount>{len(keys) + len(folders)}</KeyCount><IsTruncated>false</IsTruncated>"
    return f'<?xml version="1.0"?><ListBucketResult>{head}{contents}</ListBucketResult>'.encode()
