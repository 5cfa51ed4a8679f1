"""Text from data, made safe to show: characters that steer a terminal, or are invisible, are shown as escapes."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from schemactl.errors import LOG_COMMANDS

_JOINERS = frozenset("\u200c\u200d")
"""They are invisible as well, but several scripts and emoji cannot be written without them."""
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def escape(text: str) -> str:
    r"""Return ``text`` on one line, without control, direction, or surrogate characters.

    >>> print(escape("a\tb\x1b[31m\u202e"))
    a\tb\x1b[31m\u202e
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape_character(character) if is_unsafe(character) else character for character in text)


def is_unsafe(character: str) -> bool:
    """Return whether a character does something other than being shown."""
    return character not in _JOINERS and unicodedata.category(character) in _UNSAFE


def _escape_character(character: str) -> str:
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def quote(text: str) -> str:
    r"""Return a value of the data for a sentence.

    >>> print(quote('say "hi"'))
    "say \"hi\""
    """
    return '"' + escape(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def show_name(name: str) -> str:
    """Return a name from the data, in quotes if its ends would be invisible or it begins like a command in a log.

    >>> print(show_name("user_id"), show_name(" "), show_name("::error::"))
    user_id " " "::error::"
    """
    return escape(name) if name and name == name.strip() and not name.startswith(LOG_COMMANDS) else quote(name)


def show_place(table: str, column: str | None) -> str:
    """Return a table, or a column with its table, as a sentence names it."""
    return show_name(table) if column is None else f"{show_name(table)}.{show_name(column)}"


def show_sources(sources: Iterable[str]) -> str:
    """Return source paths for a sentence."""
    return ", ".join(escape(source) for source in sources)
