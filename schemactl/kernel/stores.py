"""Object stores as pyarrow reads them: S3, Google Cloud Storage and Azure, with credentials from the environment."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow.fs

_ADDRESS: Final = re.compile(
    r"(?P<scheme>s3[an]?|gs|gcs|abfss?)://(?P<store>[^/?]+)(?P<key>.*?)(?P<query>\?\w+=[^/]*)?"
)
"""A query has options of pyarrow's filesystem: ``s3://bucket/key?endpoint_override=localhost:9000&scheme=http``."""


def is_store(path: str) -> bool:
    """Return whether a path is an address in an object store that pyarrow reads."""
    return _ADDRESS.fullmatch(path) is not None


def split_address(address: str) -> tuple[str, str, str]:
    """Return the scheme with the bucket or container, the key, which begins with ``/``, and the query of an address.

    >>> split_address("s3://shop/2024/a.jsonl?region=eu-west-1")
    ('s3://shop', '/2024/a.jsonl', '?region=eu-west-1')
    """
    match = _ADDRESS.fullmatch(address)
    assert match is not None, address
    return f"{match['scheme']}://{match['store']}", match["key"], match["query"] or ""


def open_store(address: str) -> tuple[pyarrow.fs.FileSystem, str]:
    """Return the filesystem of an address, and the path in it.

    Raises:
        OSError: pyarrow has no credentials or cannot reach the store.
    """
    root, key, query = split_address(address)
    filesystem, folder = _filesystem(re.sub(r"^s3[an]:", "s3:", root) + query)
    return filesystem, folder.rstrip("/") + key


def open_object(address: str) -> Any:
    """Return an object of a store as a file of pyarrow's (``pyarrow.NativeFile``), which can seek.

    Raises:
        OSError: it cannot be read.
    """
    filesystem, path = open_store(address)
    return filesystem.open_input_file(path)


def object_version(address: str) -> str | None:
    """Return the mark that changes with an object's content: its version, or its ETag; None if the store has neither.

    Raises:
        OSError: it cannot be read.
    """
    filesystem, path = open_store(address)
    with filesystem.open_input_stream(path) as stream:
        facts = {str(key).lower(): value.decode() for key, value in (stream.metadata() or {}).items()}
    return facts.get("versionid") or facts.get("etag")


@lru_cache(maxsize=16)
def _filesystem(address: str) -> tuple[pyarrow.fs.FileSystem, str]:
    import pyarrow
    from pyarrow.fs import FileSystem

    try:
        filesystem, folder = FileSystem.from_uri(address)
    except pyarrow.ArrowException as error:
        raise OSError(str(error)) from error
    return filesystem, folder
