"""Short names without clashes, whatever the keys of the data are: dlt's early documentation has such a convention.

A name is the hash of its source, 17 characters, and so is the name of a path. Names that dlt itself gives
stay. dlt 1.31 does not know the convention, and does not read a schema that has it.
"""

from __future__ import annotations

import re
from base64 import b32encode
from hashlib import sha256
from typing import Final

from schemactl.errors import InputError
from schemactl.schema.naming import Convention, unchanged

_LENGTH: Final = 17
"""Of a million names two are alike with a chance of one in a trillion."""

_DLTS_WORDS: Final = frozenset({
    "version", "engine_version", "inserted_at", "schema_name", "version_hash", "schema",
    "load_id", "status", "schema_version_hash", "value", "list",
})  # fmt: skip
"""Columns of dlt's own tables, and keys that it wraps values in."""


def hash_name(identifier: str, _source: str, max_length: int | None) -> str:
    """Return the hash of a name, or of a joined path; a hash stays, so that no name is hashed twice."""
    length = min(_LENGTH, max_length or _LENGTH)
    is_dlts = identifier.startswith("_dlt") and CONVENTION.path_separator not in identifier
    is_own = identifier in _DLTS_WORDS or is_dlts
    fits = not max_length or len(identifier) <= max_length
    if not identifier or (is_own and fits) or re.fullmatch(f"h[a-z2-7]{{{length - 1}}}", identifier):
        return identifier
    try:
        digest = sha256(identifier.encode()).digest()
    except UnicodeEncodeError as error:
        raise InputError(f"the name {identifier!a} is not valid Unicode") from error
    return f"h{b32encode(digest).decode('ascii').lower()}"[:length]


CONVENTION = Convention(unchanged, is_case_sensitive=False, shorten=hash_name)
