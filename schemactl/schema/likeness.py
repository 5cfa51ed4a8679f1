"""How alike two names are, by the words they are made of.

Words are alike where they are one word: in another spelling, in the plural, or abbreviated. Letters in common say
nothing (``country`` and ``county``), and a further word makes another thing (``email`` and ``email_hash``).
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final, NamedTuple

_ABBREVIATED: Final = 0.9
"""Of a word and its abbreviation or plural: ``cust`` and ``customer``, ``order`` and ``orders``."""

_ABBREVIATIONS: Final = {
    short: word
    for word, shorts in {
        "account": "acct acc", "address": "addr", "amount": "amt", "average": "avg", "category": "cat categ",
        "code": "cd", "configuration": "config conf cfg", "country": "ctry", "currency": "curr ccy", "customer": "cust",
        "date": "dt", "department": "dept", "description": "desc descr", "destination": "dest dst", "document": "doc",
        "employee": "emp", "identifier": "ident", "image": "img", "information": "info", "invoice": "inv",
        "language": "lang", "latitude": "lat", "location": "loc", "longitude": "lon lng", "manager": "mgr",
        "maximum": "max", "message": "msg", "minimum": "min", "number": "num nr no", "organization": "org",
        "parameter": "param", "password": "pwd passwd", "percent": "pct perc", "position": "pos", "previous": "prev",
        "product": "prod", "quantity": "qty", "reference": "ref", "sequence": "seq", "source": "src",
        "telephone": "tel", "temperature": "temp", "timestamp": "ts", "timezone": "tz", "transaction": "txn tx",
        "user": "usr", "value": "val", "version": "ver",
    }.items()
    for short in shorts.split()
}  # fmt: skip
"""Words by what people write for them."""

_SPELLINGS: Final = (("ss", "s"), ("our", "or"), ("tre", "ter"), ("ogue", "og"), ("is", "iz"), ("ys", "yz"))
"""Letters of British and American spelling; the first stand for the second."""

_ENDINGS: Final = (
    *(("ies", "y", 5), ("ches", "ch", 6), ("shes", "sh", 6), ("sses", "ss", 6), ("xes", "x", 5)),
    *(("ss", "ss", 2), ("us", "us", 2), ("s", "", 4), ("ing", "", 7)),
)
"""Of the plural and of what goes on (``ship``, ``shipping``), what stands instead, and the least length of words."""

_HUMPS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NUMBER: Final = re.compile(r"(?<![\dvV])\d+")
"""Digits that are no version: `orders_v2` may well be `orders_v1` of before."""

_WORD: Final = re.compile(r"\d+|[^\W\d_]+")
_DOUBLED: Final = re.compile(r"(.)\1")


def name_likeness(before: str, after: str) -> float:
    """Return how alike two names are: 1 for the same words however they are written, 0 for two things."""
    old, new = _name(before), _name(after)
    common = old.meant & new.meant
    if not common:
        return 0.0
    if old.letters == new.letters:
        return 1.0
    if not all(word in _EMPTY_WORDS or len(word) == 1 for word in old.meant ^ new.meant):
        return 0.0
    equal = min(len(old.words & new.words), len(common))
    return 2 * (equal + _ABBREVIATED * (len(common) - equal)) / (len(old.meant) + len(new.meant))


def are_siblings(before: str, after: str) -> bool:
    """Return whether two names have other numbers, or other words beside a common one: ``sales_eu``, ``sales_us``."""
    numbers = _NUMBER.findall(before), _NUMBER.findall(after)
    if all(numbers) and numbers[0] != numbers[1]:
        return True
    old, new = ({word for word in _name(name).meant if not word.isdigit()} for name in (before, after))
    return all((old & new, old - new, new - old))


class _Name(NamedTuple):
    """The letters and words of a name, and what the words mean however they are written."""

    letters: str
    words: frozenset[str]
    meant: frozenset[str]


@lru_cache(maxsize=65536)
def _name(name: str) -> _Name:
    words = [word.casefold() for word in _WORD.findall(_HUMPS.sub("_", name))]
    return _Name("".join(words), frozenset(words), frozenset(map(_meant, words)))


@lru_cache(maxsize=65536)
def _meant(word: str) -> str:
    """Return a word in full and in the singular, without accents, doubled letters, and what is only British."""
    stem = _ABBREVIATIONS.get(word, word)
    for ending, instead, least in _ENDINGS:
        if stem.endswith(ending) and len(stem) >= least:
            stem = stem.removesuffix(ending) + instead
            break
    letters = "".join(each for each in unicodedata.normalize("NFKD", stem) if not unicodedata.combining(each))
    for british, american in _SPELLINGS:
        letters = letters.replace(british, american)
    return _DOUBLED.sub(r"\1", letters)


_EMPTY_WORDS: Final = frozenset(
    map(_meant, ("of", "the", "for", "in", "at", "on", "address", "value", "field", "column"))
)
"""Words that make no other thing of a name: ``email`` and ``email_address``, ``created`` and ``created_at``."""
