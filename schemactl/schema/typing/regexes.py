"""Java's regular expressions in Python's: translated where both mean the same, refused where only Java knows."""

from __future__ import annotations

import re
from typing import Final

_DOT: Final = "[^\\n\\r\\u0085\\u2028\\u2029]"
_END: Final = "(?!(?<=\\r)\\n)(?=(?:\\r\\n|[\\n\\r\\u0085\\u2028\\u2029])?\\Z)"
_SAME_ESCAPES: Final = frozenset("dDwWtnrf\\.[]{}()*+?^$|/-'\"!@#%&=:;<>,~` _0123456789")
_CLASSES: Final = {
    "Alpha": "a-zA-Z", "Digit": "0-9", "Alnum": "a-zA-Z0-9", "Upper": "A-Z", "Lower": "a-z", "ASCII": "\\x00-\\x7f",
    "XDigit": "0-9a-fA-F", "Punct": "!-/:-@\\[-`{-~", "Space": " \\t\\n\\x0b\\f\\r", "Blank": " \\t",
    "Cntrl": "\\x00-\\x1f\\x7f", "Graph": "!-~", "Print": " -~",
}  # fmt: skip
_SPACES: Final = " \\t\\n\\x0b\\f\\r"


class RegexError(ValueError):
    """A regular expression is wrong, or only Java knows what it means."""


def translate(regex: str) -> re.Pattern[str]:
    """Return Python's expression that fully matches (``fullmatch``) what Java's ``matches`` does.

    Raises:
        RegexError: Java refuses it, with Java's words where they are known; or Python cannot match as Java does.
    """
    text = _Translator(regex).translate()
    try:
        return re.compile(text, re.ASCII)
    except re.error as error:
        raise RegexError(f"{error.msg[:1].upper()}{error.msg[1:]}\n{regex}") from error


class _Translator:
    def __init__(self, regex: str) -> None:
        self._regex = regex
        self._at = 0

    def translate(self) -> str:
        made: list[str] = []
        while self._at < len(self._regex):
            made.append(self._next())
        return "".join(made)

    def _next(self) -> str:
        letter = self._regex[self._at]
        if letter == "\\":
            return self._escape(is_in_class=False)
        if letter == "[":
            return self._class()
        self._at += 1
        if letter == ".":
            return _DOT
        if letter == "(" and self._regex.startswith("?", self._at):
            return "(" + self._group()
        return _END if letter == "$" else letter

    def _group(self) -> str:
        """Return what follows the parenthesis of a group that is no plain one."""
        rest = self._regex[self._at :]
        flags = re.match(r"\?(-?i|i-i)([:)])", rest)
        if flags:
            return self._switch(flags[1], flags[2])
        for known in ("?:", "?=", "?!", "?>", "?<=", "?<!"):
            if rest.startswith(known):
                self._at += len(known)
                return known
        named = re.match(r"\?<([a-zA-Z][a-zA-Z0-9]*)>", rest)
        if named is None:
            raise self._unknown(rest[:3])
        self._at += named.end()
        return f"?P<{named[1]}>"

    def _switch(self, flags: str, end: str) -> str:
        """Return a group with another sense of case: Python has these only for the rest of a group, in a group."""
        self._at += len(flags) + 2
        if end == ":":
            return f"?{flags}:"
        # `(?i)rest` is `(?i:rest)` up to the end of the group that it stands in.
        inner: list[str] = []
        depth = 0
        while self._at < len(self._regex) and (depth or self._regex[self._at] != ")"):
            before = self._regex[self._at]
            made = self._next()
            inner.append(made)
            depth += {"(": 0 if made.endswith(")") else 1, ")": -1}.get(before, 0)
        if any(part == "|" for part in inner):
            raise self._unknown(f"(?{flags}) before `|`")
        return f"?{flags}:{''.join(inner)})"

    def _escape(self, *, is_in_class: bool) -> str:
        letter = self._regex[self._at + 1 : self._at + 2]
        self._at += 2
        if letter == "s":
            return _SPACES if is_in_class else f"[{_SPACES}]"
        if letter == "S" and not is_in_class:
            return f"[^{_SPACES}]"
        if letter == "p":
            return self._property(is_in_class=is_in_class)
        if letter == "Q" and not is_in_class:
            end = self._regex.find("\\E", self._at)
            text = self._regex[self._at : end if end >= 0 else len(self._regex)]
            self._at = end + 2 if end >= 0 else len(self._regex)
            return re.escape(text)
        if letter in ("A", "z") and not is_in_class:
            return "\\A" if letter == "A" else "\\Z"
        if letter and letter in _SAME_ESCAPES:
            return f"\\{letter}"
        if letter in ("u", "x") and (
            found := re.match(r"[0-9a-fA-F]{4}" if letter == "u" else r"[0-9a-fA-F]{2}", self._regex[self._at :])
        ):
            self._at += found.end()
            return f"\\{letter}{found[0]}"
        raise self._unknown(f"\\{letter}")

    def _property(self, *, is_in_class: bool) -> str:
        found = re.match(r"\{(?:Is)?(\w+)\}", self._regex[self._at :])
        if found is None or found[1] not in _CLASSES:
            raise self._unknown(f"\\p{found[0] if found else ''}")
        self._at += found.end()
        return _CLASSES[found[1]] if is_in_class else f"[{_CLASSES[found[1]]}]"

    def _class(self) -> str:
        made = ["["]
        start = self._at
        self._at += 1
        if self._regex.startswith("^", self._at):
            made.append("^")
            self._at += 1
        first = self._at
        while True:
            letter = self._regex[self._at : self._at + 1]
            if not letter:
                # Java's words, the caret below the last character.
                last = len(self._regex) - 1
                raise RegexError(f"Unclosed character class near index {last}\n{self._regex}\n{' ' * last}^")
            if letter == "\\":
                made.append(self._escape(is_in_class=True))
                continue
            if letter == "]" and self._at > first:
                self._at += 1
                return "".join((*made, "]"))
            if letter == "[" or letter == "]" or self._regex.startswith("&&", self._at):
                raise self._unknown(self._regex[start : self._at + 2])
            made.append(letter)
            self._at += 1

    def _unknown(self, what: str) -> RegexError:
        return RegexError(f"`{what}` in `{self._regex}` means something only to Java: write it in another way")
