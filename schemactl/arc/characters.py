"""Sets of characters as Java's regular expressions name them, and their algebra.

Categories come from Python's ``unicodedata``, scripts from pyarrow's regular expressions (RE2); Java's version of
Unicode may be a little older or newer.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from typing import Any, Final, TypeAlias

Characters: TypeAlias = tuple[tuple[int, int], ...]
"""Ranges of code points, both ends included, sorted and apart from one another."""

_LAST: Final = sys.maxunicode


def union(*sets: Iterable[tuple[int, int]]) -> Characters:
    """Return the characters of all sets; ranges may overlap."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(characters for ranges in sets for characters in ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def negation(of: Characters) -> Characters:
    """Return all other characters."""
    lows = (0, *(high + 1 for _, high in of))
    highs = (*(low - 1 for low, _ in of), _LAST)
    return tuple((low, high) for low, high in zip(lows, highs, strict=True) if low <= high)


def intersection(first: Characters, second: Characters) -> Characters:
    """Return the characters that both sets have."""
    return negation(union(negation(first), negation(second)))


def both_cases(of: Characters) -> Characters:
    """Return a set with the other case of its ASCII letters: Java's ``(?i)`` only adds these."""
    letters = intersection(of, ASCII["Alpha"])
    return union(of, ((low ^ 32, high ^ 32) for low, high in letters)) if letters else of


def written(of: Characters) -> str:
    """Return Python's expression for one character of a set."""

    def letter(code: int) -> str:
        return chr(code) if chr(code).isalnum() and code < 128 else f"\\U{code:08x}"

    ranges = (letter(low) if low == high else f"{letter(low)}-{letter(high)}" for low, high in of)
    return f"[{''.join(ranges)}]" if of else "(?!)"


def of_texts(*texts: str) -> Characters:
    """Return the ranges from the first to the last character of each text."""
    return union((ord(text[0]), ord(text[-1])) for text in texts)


ASCII: Final = {
    "Alpha": of_texts("AZ", "az"), "Digit": of_texts("09"), "Alnum": of_texts("AZ", "az", "09"),
    "Upper": of_texts("AZ"), "Lower": of_texts("az"), "ASCII": of_texts("\x00\x7f"),
    "XDigit": of_texts("09", "af", "AF"), "Punct": of_texts("!/", ":@", "[`", "{~"), "Space": of_texts("\t\r", " "),
    "Blank": of_texts("\t", " "), "Cntrl": of_texts("\x00\x1f", "\x7f"), "Graph": of_texts("!~"),
    "Print": of_texts(" ~"),
}  # fmt: skip
"""The POSIX classes, of ASCII only."""

WORD: Final = union(ASCII["Alnum"], of_texts("_"))
LINE_ENDS: Final = of_texts("\n\r", "\x85", "\u2028\u2029")
BLANKS: Final = of_texts("\t", " ", "\xa0", "\u1680", "\u180e", "\u2000\u200a", "\u202f", "\u205f", "\u3000")

_GROUPS: Final = {"LC": ("Lu", "Ll", "Lt"), "LD": ("L", "Nd")}


@cache
def _categories() -> dict[str, Characters]:
    """Return the characters of each category; takes a fifth of a second, once."""
    categories: dict[str, list[tuple[int, int]]] = {}
    for code in range(_LAST + 1):
        ranges = categories.setdefault(unicodedata.category(chr(code)), [])
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1] = (ranges[-1][0], code)
        else:
            ranges.append((code, code))
    return {name: tuple(ranges) for name, ranges in categories.items()}


def category(name: str) -> Characters | None:
    """Return the characters of a category (``Lu``), or of all categories with an initial (``L``); None if unknown."""
    prefixes = _GROUPS.get(name, (name,))
    is_name = 0 < len(name) <= 2
    sets = [letters for category, letters in _categories().items() if is_name and category.startswith(prefixes)]
    return union(*sets) if sets else None


@cache
def property_of(name: str, *, is_any_case: bool) -> Characters | None:
    """Return the characters of a property by its name in braces; None if it is unknown.

    The name is of a POSIX class, of a category, or ``Is`` and a property or script of Unicode. With ``is_any_case``,
    for ``(?i)``, upper case, lower case and title case are one.
    """
    if name.startswith("Is"):
        binary = _unicode(name[2:].upper(), is_any_case=is_any_case)
        return binary or _general(name[2:], is_any_case=is_any_case) or script(name[2:])
    if named_script := re.fullmatch(r"(?i:sc|script)=(.*)", name):
        return script(named_script[1])
    if name in ASCII:
        return ASCII["Alpha" if is_any_case and name in ("Upper", "Lower") else name]
    named_category = re.fullmatch(r"(?i:gc|general_category)=(.*)", name)
    return _general(named_category[1] if named_category else name, is_any_case=is_any_case)


def _general(name: str, *, is_any_case: bool) -> Characters | None:
    other_sets = {"all": ((0, _LAST),), "ASCII": ASCII["ASCII"], "L1": ((0, 255),)}
    return other_sets.get(name) or category("LC" if is_any_case and name in _GROUPS["LC"] else name)


@cache
def script(name: str) -> Characters | None:
    """Return the characters of a script by its whole name in any case (``Old_Italic``); None if it is unknown.

    Without pyarrow all scripts are unknown.
    """
    title = "SignWriting" if name.lower() == "signwriting" else name.title()
    if not re.fullmatch("[A-Za-z_]+", name) or title == "Any" or category(title):
        return None
    with suppress(ImportError, ValueError):  # Arrow's errors of expressions are ValueErrors
        import pyarrow.compute as pc

        is_in_script = pc.match_substring_regex(_all_characters(), rf"\p{{{title}}}")
        return union((code, code) for code in pc.indices_nonzero(is_in_script).to_pylist())
    return None


@cache
def _all_characters() -> Any:
    """Return an Arrow array of all characters, with empty texts for surrogates; takes half a second, once."""
    import pyarrow as pa

    return pa.array(["" if 0xD800 <= code < 0xE000 else chr(code) for code in range(_LAST + 1)])


def _unicode(name: str, *, is_any_case: bool) -> Characters | None:
    cases = {"UPPERCASE": str.isupper, "UPPER": str.isupper, "LOWERCASE": str.islower, "LOWER": str.islower}
    if is_any_case and (name in cases or name == "TITLECASE"):
        return union(_where(str.isupper), _where(str.islower), category("Lt") or ())
    if name in cases:
        return _where(cases[name])
    match name:
        case "WHITE_SPACE" | "WHITESPACE" | "SPACE":
            return union(category("Z") or (), of_texts("\t\r", "\x85"))
        case "ASSIGNED":
            return negation(category("Cn") or ())
    categories = {
        "LETTER": "L", "DIGIT": "Nd", "TITLECASE": "Lt", "PUNCTUATION": "P", "PUNCT": "P", "CONTROL": "Cc",
        "CNTRL": "Cc",
    }  # fmt: skip
    return category(categories[name]) if name in categories else None


def _where(predicate: Callable[[str], bool]) -> Characters:
    return union((code, code) for code in range(_LAST + 1) if predicate(chr(code)))
