"""Removes values of rows from evidence before it is saved; the schema that it leads to stays the same."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from schemactl.examples import Examples, examples_of, mask_examples
from schemactl.inference.classes import classify, kind_of
from schemactl.inference.evidence import ClassEvidence, Evidence, PathEvidence
from schemactl.inference.resolve import Resolution
from schemactl.schema.paths import ELEMENT, Path
from schemactl.schema.personal import is_personal
from schemactl.schema.types import DataType

_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?")
_LONGEST_START: Final = 32
_SYNTAX: Final = "TtZzEeXx"
"""Letters of numbers and timestamps."""


def hide_values(evidence: Evidence, resolution: Resolution) -> Evidence:
    """Return evidence without the values that examples may not show: of personal columns, or of all columns.

    Witnesses get values of the same class, with as much of the true beginning as the class depends on. Ranges get the
    next powers of ten.
    """
    if examples_of(is_personal=True) is Examples.PLAIN:
        return evidence
    is_of_all = examples_of(is_personal=False) is not Examples.PLAIN
    personal = {
        path
        for table, column in resolution.taken
        if not is_of_all and is_personal(resolution.schema, table, column)
        for path in resolution.sources((table, column))
    }

    def is_hidden(path: Path) -> bool:
        return is_of_all or any(path[:end] in personal for end in range(len(path) + 1))

    return replace(
        evidence,
        paths=_hide_examples(evidence.paths, is_hidden),
        counted=_hide_examples(evidence.counted, is_hidden),
        witnesses={position: _hide(document, (), is_hidden) for position, document in evidence.witnesses.items()},
    )


def _hide_examples(paths: Mapping[Path, PathEvidence], is_hidden: Callable[[Path], bool]) -> dict[Path, PathEvidence]:
    def hide(name: str, class_evidence: ClassEvidence) -> ClassEvidence:
        examples = mask_examples(class_evidence.examples, is_personal=True)
        if kind_of(name) != DataType.TEXT:  # These are read as JSON again.
            examples = tuple(filter(_NUMBER.fullmatch, examples))
        least, greatest = _below(class_evidence.least), _above(class_evidence.greatest)
        return replace(class_evidence, examples=examples, least=least, greatest=greatest)

    return {
        path: {name: hide(name, class_evidence) for name, class_evidence in classes.items()}
        if is_hidden(path)
        else classes
        for path, classes in paths.items()
    }


def _above(value: float | None) -> float | None:
    """Return the least number that is zero or a power of ten and not below ``value``."""
    if value is None or not math.isfinite(value) or value == 0:
        return value
    if value < 0:
        below = _above(-value)
        assert below is not None
        return -below / 10 if below > -value else -below
    power = 10.0 ** math.ceil(math.log10(value))
    return power if power >= value else power * 10


def _below(value: float | None) -> float | None:
    above = _above(-value) if value is not None else None
    return None if above is None else -above


def _hide(value: Any, path: Path, is_hidden: Callable[[Path], bool]) -> Any:
    match value:
        case dict():
            return {key: _hide(item, (*path, key), is_hidden) for key, item in value.items()}
        case list():
            return [_hide(item, (*path, ELEMENT), is_hidden) for item in value]
        case None:
            return None
        case _:
            return stand_in(value) if is_hidden(path) else value


def stand_in(value: str | float | bool) -> str | float | bool:
    """Return a scalar of the same class: the shortest beginning that keeps the class, then ``a`` and ``1``.

    >>> stand_in("078-05-1120"), stand_in("2026-03-31"), stand_in(4711), stand_in(True)
    ('111-11-1111', '1111-11-11', 1111, False)
    """
    if isinstance(value, bool):
        return False
    kind, name = type(value), classify(value)
    text = value if isinstance(value, str) else repr(value)
    has_syntax_alone = all(letter in _SYNTAX for letter in text if letter.isalpha())
    for end in range(min(len(text), _LONGEST_START)):
        digits = ("1" if letter.isdigit() else letter for letter in text[end:])
        replaced = "".join(digits if has_syntax_alone else map(_replaced, text[end:]))
        try:
            candidate = kind(text[:end] + replaced)
        except (ValueError, OverflowError):
            continue
        if classify(candidate) == name:
            return candidate
    return value


def _replaced(letter: str) -> str:
    if letter.isalpha():
        return "A" if letter.isupper() else "a"
    return "1" if letter.isnumeric() else letter
