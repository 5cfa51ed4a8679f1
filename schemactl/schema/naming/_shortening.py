"""Makes long identifiers fit, with a tag that keeps them apart (docs/dlt.md §4.1)."""

from __future__ import annotations

from base64 import b64encode
from hashlib import shake_128

from schemactl.errors import InputError

TAG_BYTES = 4
"""dlt allows one collision in a thousand tags; its formula gives four bytes for that."""

TAG_LENGTH = 6
"""Characters of a tag: four bytes in Base64, without padding."""


def shorten(identifier: str, source: str, max_length: int | None) -> str:
    """Return ``identifier`` in at most ``max_length`` characters; a tag of ``source`` replaces its middle.

    Args:
        identifier: the normalized name.
        source: the name before normalization; dlt keeps names apart that differ only here.
        max_length: in characters; None or 0 for no limit.

    Raises:
        InputError: if the limit leaves no room for the tag, or ``source`` holds half of a surrogate pair.
    """
    if not max_length or len(identifier) <= max_length:
        return identifier
    kept = max_length - TAG_LENGTH
    if kept < 0:
        raise InputError(
            f"`{identifier}` cannot be shortened to {max_length} characters",
            hint=f"a shortened identifier takes {TAG_LENGTH} characters or more",
        )
    tail = kept // 2
    return identifier[: kept - tail] + tag(source) + identifier[len(identifier) - tail :]


def tag(source: str) -> str:
    """Return six characters of ``[a-z0-9]`` that stand for ``source``.

    Raises:
        InputError: if ``source`` holds half of a surrogate pair, which has no UTF-8 form.
    """
    try:
        encoded = source.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"the name {source!a} is not valid Unicode") from error
    digest = b64encode(shake_128(encoded).digest(TAG_BYTES), altchars=b"ba")
    return digest[:TAG_LENGTH].decode("ascii").lower()
