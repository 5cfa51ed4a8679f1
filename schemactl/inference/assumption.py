"""What can be said of data before its values are looked at: evidence that takes the best of them for granted.

Where a schema is known, most data brings nothing new. Given the kinds of values at each path, the assumption is that
every value fits the column that is there for it. If the schema would then stay as it is, the data can be loaded under
it, and the load itself finds out whether each value did fit. Nothing else can change a schema: not the order of
values, nor how many there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from schemactl.inference.classes import LIST, OBJECT
from schemactl.inference.evidence import ClassEvidence, Evidence, FileEvidence, Position
from schemactl.inference.paths import ELEMENT, Path
from schemactl.inference.values import TypedValue
from schemactl.schema.types import DataType


@dataclass(frozen=True, slots=True)
class Kinds:
    """The values that may stand at one path: their own types, and whether there are objects and lists."""

    scalars: frozenset[DataType] = frozenset()
    is_object: bool = False
    is_list: bool = False


_PAST_ALL: Final = Position("\U0010ffff", 0)
"""Behind all files: the order of keys is that of documents that were looked at, where there are any."""


def assume(
    kinds: Mapping[Path, Kinds],
    files: Mapping[str, FileEvidence],
    types: Mapping[Path, Mapping[str, Any]],
    stated: Mapping[Path, frozenset[DataType]],
) -> Evidence:
    """Return evidence of data whose values all fit, as far as their kinds can.

    Args:
        kinds: what stands at each path, paths before those below; a path without any has nulls alone.
        files: what was read, by input.
        types: columns whose types the sources state (``Evidence.typed``).
        stated: all types of those that sources do not agree about (``Evidence.stated``).
    """
    one = ClassEvidence(1, _PAST_ALL)
    paths = {path: dict.fromkeys(names_of(found), one) for path, found in kinds.items()}
    witnesses = {replace(_PAST_ALL, number=number): document for number, document in enumerate(_documents(kinds))}
    return Evidence(paths=paths, witnesses=witnesses, files=files, typed=types, stated=stated)


def behind(first: Evidence, assumed: Evidence) -> Evidence:
    """Return what is assumed of data whose first documents are known."""
    return replace(assumed, witnesses={**first.witnesses, **assumed.witnesses})


def names_of(found: Kinds) -> Iterable[str]:
    """Yield the names of kinds, as ``classes.kind_of`` gives them."""
    yield from map(str, found.scalars)
    if found.is_object:
        yield OBJECT
    if found.is_list:
        yield LIST


def _documents(kinds: Mapping[Path, Kinds]) -> list[Any]:
    """Return documents that together hold a value of each kind at each path."""
    documents: list[Any] = []
    for path, found in kinds.items():
        for value in _values(found):
            if not any(_plant(document, path, value) for document in documents):
                documents.append(_holding(path, value))
    return documents


def _values(found: Kinds) -> list[Any]:
    values: list[Any] = [TypedValue({"data_type": str(kind)}, is_assumed=True) for kind in sorted(found.scalars)]
    values += [{}] if found.is_object else []
    values += [[]] if found.is_list else []
    return values or [None]


def _holding(path: Path, value: Any) -> Any:
    for step in reversed(path):
        value = [value] if step is ELEMENT else {step: value}
    return value


def _plant(container: Any, path: Path, value: Any) -> bool:
    """Put ``value`` at ``path``; return whether there was room. Elements of a list stand side by side."""
    if not path:
        return False
    step, rest = path[0], path[1:]
    if step is ELEMENT:
        if isinstance(container, list) and not rest:
            container.append(value)
            return True
        return isinstance(container, list) and any(_plant(inner, rest, value) for inner in container)
    if not isinstance(container, dict):
        return False
    if not rest:
        is_free = step not in container
        container.setdefault(step, value)
        return is_free
    return step in container and _plant(container[step], rest, value)
