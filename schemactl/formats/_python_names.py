"""Makes names of Python of the names of tables and columns."""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Collection


def python_name(text: str) -> str:
    """Return a text with ``_`` for all that no name of Python holds; it may begin with a digit, or be empty.

    It is in the form in which Python compares names (NFKC): ``ﬁ`` and ``fi`` are one.
    """
    normal = unicodedata.normalize("NFKC", text)
    return "".join(character if f"a{character}".isidentifier() else "_" for character in normal)


def free_name(name: str, *used_names: Collection[str]) -> str:
    """Return a name with ``_`` appended until it is neither taken nor a keyword."""
    while keyword.iskeyword(name) or name == "__debug__" or any(name in names for names in used_names):
        name += "_"
    return name
