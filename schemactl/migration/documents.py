"""Steps, changes, notes as JSON data and back: a mapping of their fields, with their kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import Enum
from typing import Any, Final, get_args

from schemactl.migration.abilities import Lock
from schemactl.migration.notes import Note, NoteKind
from schemactl.migration.plan import Place
from schemactl.migration.steps import Phase, Step, Taken
from schemactl.schema.changes import ABSENT, Change
from schemactl.schema.conversions import Conversion
from schemactl.schema.types import Column, Table


def to_document(value: Step | Change | Note | Place | Lock, *, is_tagged: bool = True) -> dict[str, Any]:
    """Return a value's fields as JSON data; what is not stated on a side of a change is left out.

    Args:
        value: what holds plain JSON data in its fields.
        is_tagged: whether ``kind`` states the type.
    """
    kind = {"kind": type(value).__name__} if is_tagged else {}
    stated = {
        field.name: getattr(value, field.name)
        for field in fields(value)
        if not (field.metadata.get("later") and getattr(value, field.name) == field.default)
    }
    return {**kind, **{name: _plain(each) for name, each in stated.items() if each is not ABSENT}}


def step_from(document: Any) -> Step:
    """Read a step.

    Raises:
        ValueError: there is no such step, or a field is missing, unknown or of another type.
    """
    found: Step = _read(_STEPS, document)
    return found


def change_from(document: Any) -> Change:
    """Read a change.

    Raises:
        ValueError: as ``step_from``.
    """
    found: Change = _read(_CHANGES, document)
    return found


def note_from(document: Any) -> Note:
    """Read a note.

    Raises:
        ValueError: as ``step_from``.
    """
    found: Note = _build(Note, document)
    return found


def place_from(document: Any) -> Place:
    """Read a place.

    Raises:
        ValueError: as ``step_from``.
    """
    found: Place = _build(Place, document)
    return found


_STEPS: Final[Mapping[str, type]] = {kind.__name__: kind for kind in get_args(Step)}
_CHANGES: Final[Mapping[str, type]] = {kind.__name__: kind for kind in get_args(Change)}


def _plain(value: Any) -> Any:
    match value:
        case Table():
            columns = [_plain(column) for column in value.columns.values()]
            return {"name": value.name, "columns": columns, "properties": dict(value.properties)}
        case Column():
            return {"name": value.name, "properties": dict(value.properties)}
        case Enum():
            return value.value
        case Mapping():
            return dict(value)
        case tuple():
            return list(value)
        case _ if type(value) in _STEPS.values():
            return to_document(value)
        case _:
            return value


def _read(kinds: Mapping[str, type], document: Any) -> Any:
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise ValueError(f"there is no `{kind}`")
    return _build(kinds[kind], {name: value for name, value in document.items() if name != "kind"})


def _build(kind: type, document: Any) -> Any:
    types = {field.name: str(field.type) for field in fields(kind)}
    if not isinstance(document, dict) or not document.keys() <= types.keys():
        raise ValueError(f"`{document!r}` is no {kind.__name__}")
    later = {field.name: field.default for field in fields(kind) if field.metadata.get("later")}
    document = {**{name: value for name, value in later.items() if name not in document}, **document}
    absent = {name for name in types if name not in document}
    if any(types[name] != "Any" for name in absent):
        raise ValueError(f"a {kind.__name__} lacks {', '.join(sorted(absent))}")
    return kind(**{name: _READERS[types[name]](document.get(name, ABSENT)) for name in types})


def _of(kind: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise ValueError(f"`{value!r}` is no {kind.__name__}")
        return value

    return read


def _column(document: Any) -> Column:
    return Column(_of(str)(document["name"]), _of(dict)(document["properties"]))


def _table(document: Any) -> Table:
    columns = [_column(each) for each in document["columns"]]
    return Table(_of(str)(document["name"]), {each.name: each for each in columns}, _of(dict)(document["properties"]))


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(_of(str)(each) for each in _of(list)(value))


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "Any": lambda value: value,
    "bool": _of(bool),
    "str": _of(str),
    "str | None": lambda value: None if value is None else _of(str)(value),
    "tuple[str, ...]": _texts,
    "Properties": _of(dict),
    "Column": _column,
    "Table": _table,
    "Backfill": step_from,
    "Backfill | SetNotNull | AddUnique | AddPrimaryKey": step_from,
    "SwapColumns": step_from,
    "Conversion": Conversion,
    "Phase": Phase,
    "Taken": Taken,
    "NoteKind": NoteKind,
}
"""How a field is read, by its annotation."""
