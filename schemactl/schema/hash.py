"""dlt's ``version_hash`` and the numeric version that follows it (docs/dlt.md §2)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, time
from decimal import Decimal
from hashlib import sha3_256
from typing import Any

from schemactl.errors import InputError
from schemactl.schema.types import Schema

MAX_PREVIOUS_HASHES = 10


def version_hash(schema: Schema) -> str:
    """Return the hash of the schema's content, as dlt 1.31 computes it: Base64 of 32 bytes, 44 characters."""
    return stored_hash(schema.to_dict())


def stored_hash(stored: Mapping[str, Any]) -> str:
    """Return the hash of a stored schema of any engine version, without upgrading it (docs/dlt.md §2.1)."""
    # Not the standard library's json: it writes small numbers another way (1e-05, orjson: 0.00001).
    import orjson

    no_content = ("version", "version_hash", "imported_version_hash", "previous_hashes")
    content = {key: value for key, value in stored.items() if key not in no_content}
    try:
        text = orjson.dumps(content, default=_encode, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    except TypeError as error:
        hint = "text must be valid Unicode, integers fit 64 bits"
        raise InputError(f"the schema cannot be hashed: {error}", hint=hint) from error
    digest = sha3_256(text)
    tables = stored.get("tables") or {}
    for name in sorted(tables):
        # JSON with sorted keys loses the order of columns, which counts.
        digest.update(name.encode())
        for column in tables[name].get("columns") or ():
            digest.update(column.encode())
    return b64encode(digest.digest()).decode("ascii")


def bump(schema: Schema) -> Schema:
    """Return the schema with its content's hash, and the next version if that changed (docs/dlt.md §2.3).

    A schema without a hash is new: it gets one and keeps its version.
    """
    current, stored_hash = version_hash(schema), schema.version_hash
    if not stored_hash:
        return replace(schema, version=schema.version or 1, version_hash=current)
    if current == stored_hash:
        return schema
    previous = schema.previous_hashes
    if stored_hash not in previous:
        previous = (stored_hash, *previous)[:MAX_PREVIOUS_HASHES]
    return replace(schema, version=schema.version + 1, version_hash=current, previous_hashes=previous)


def _encode(value: Any) -> Any:
    """Convert values that YAML has and JSON lacks, like dlt."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, (date, time)):
        return value.isoformat()
    raise TypeError(f"`{value!r}` is not JSON data")
