"""Reads texts from files and streams: UTF-8, of a bounded size, with line ends as they are."""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path

from schemactl.errors import InputError, Location

MAX_BYTES = 64 * 1024 * 1024
"""The longest text that is read; the largest schema files known are a few MB."""


def read_text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        InputError: there is no such file, it cannot be read, is not UTF-8, or is longer than MAX_BYTES.
    """
    try:
        # A pipe or a device has no size to ask for: reading one byte too many finds out.
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise InputError(f"there is no file `{path}`") from error
    except IsADirectoryError as error:
        raise InputError(f"`{path}` is a folder, not a file") from error
    except OSError as error:
        raise InputError(f"cannot read `{path}`: {error.strerror or error}") from error
    return decode(content, str(path))


def decode(content: bytes, path: str) -> str:
    """Return ``content`` as text; ``path`` names it in errors.

    Raises:
        InputError: the content is not UTF-8 (reported with line and column) or longer than MAX_BYTES.
    """
    if len(content) > MAX_BYTES:
        hint = "is it a schema file? the largest have a few MiB"
        raise InputError(f"`{path}` is longer than {MAX_BYTES // 1024**2} MiB", hint=hint)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        column = len(before.rpartition(b"\n")[2].decode("utf-8")) + 1
        place = Location(path, before.count(b"\n") + 1, column)
        is_utf_16 = content.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
        hint = "it is UTF-16: save it as UTF-8" if is_utf_16 else "save the file as UTF-8; is it a text file at all?"
        raise InputError("the text is not UTF-8", at=place, hint=hint) from error
