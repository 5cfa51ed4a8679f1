"""How alike two names are, by the words they are made of."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final, NamedTuple

_ABBREVIATED: Final = 0.9
"""Of a word that starts with the other one: ``cust`` and ``customer``, ``order`` and ``orders``."""

_MIN_ABBREVIATION: Final = 3
"""Letters of a word that may abbreviate another; ``id`` starts too many."""

_MIN_SPELLING: Final = 0.8
"""Ratio from which on two words are spellings of one: ``color`` and ``colour``."""

_SUBSTITUTED: Final = 0.75
"""Factor where either name has a word that the other lacks: ``first_name`` and ``last_name`` are two things."""

_NEGATIONS: Final = frozenset(("no", "not", "non"))
"""Words that make a name the opposite of itself."""

_HUMPS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NUMBER: Final = re.compile(r"(?<![\dvV])\d+")
"""Digits that are no version: `orders_v2` may well be `orders_v1` of before."""

_WORD: Final = re.compile(r"\d+|[^\W\d_]+")


def name_likeness(before: str, after: str) -> float:
    """Return how alike two names are: 1 for the same words however they are written, 0 for no word in common."""
    old, new = _name(before), _name(after)
    if old.initials.isdisjoint(new.initials):
        return 0.0
    if old.letters == new.letters:
        return 1.0
    odd, left = old.words - new.words, new.words - old.words
    if not _NEGATIONS.isdisjoint(odd | left):
        return 0.0
    matched = float(len(old.words) - len(odd))
    unmatched = len(odd)
    for word in sorted(odd) if left else ():
        near = [other for other in left if other[0] == word[0]]
        if near:
            likeness, best = max((_word_likeness(word, other), other) for other in near)
            if likeness:
                left -= {best}
                unmatched -= 1
                matched += likeness
    share = 2 * matched / (len(old.words) + len(new.words))
    return share * _SUBSTITUTED if left and unmatched else share


def have_other_numbers(before: str, after: str) -> bool:
    """Return whether both names hold numbers, and not the same: ``orders_2023`` and ``orders_2024`` are siblings."""
    old, new = _NUMBER.findall(before), _NUMBER.findall(after)
    return bool(old and new) and old != new


class _Name(NamedTuple):
    letters: str
    words: frozenset[str]
    initials: frozenset[str]


@lru_cache(maxsize=65536)
def _name(name: str) -> _Name:
    words = [word.casefold() for word in _WORD.findall(_HUMPS.sub("_", name))]
    return _Name("".join(words), frozenset(words), frozenset(word[0] for word in words))


@lru_cache(maxsize=65536)
def _word_likeness(before: str, after: str) -> float:
    if before == after:
        return 1.0
    # The first letter tells `valid` from `invalid`, and numbers are never spellings of each other.
    if before[0] != after[0] or before[0].isdigit():
        return 0.0
    short, long = sorted((before, after), key=len)
    if len(short) >= _MIN_ABBREVIATION and long.startswith(short):
        return _ABBREVIATED
    ratio = SequenceMatcher(None, before, after, autojunk=False).ratio()
    return ratio if ratio >= _MIN_SPELLING else 0.0
