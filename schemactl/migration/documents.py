"""Plans, their steps and all in them as JSON data and back: a mapping of the fields of a value, with its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import Enum
from typing import Any, Final, TypeVar, get_args

from schemactl.migration.abilities import Lock, Way
from schemactl.migration.notes import Note, NoteKind
from schemactl.migration.own import OwnSql, When
from schemactl.migration.plan import MigrationMark, Place
from schemactl.migration.planner import PlannedStep, Risk, Undo
from schemactl.migration.steps import Phase, Step, Taken
from schemactl.schema.changes import ABSENT, Change
from schemactl.schema.conversions import Conversion
from schemactl.schema.types import Column, Table

T = TypeVar("T")


def to_document(
    value: Step | Change | Note | Place | Lock | Undo | OwnSql | MigrationMark | PlannedStep, *, is_tagged: bool = False
) -> dict[str, Any]:
    """Return a value's fields as JSON data; what is not stated on a side of a change is left out.

    Args:
        value: what holds plain JSON data in its fields.
        is_tagged: whether ``kind`` states the type, which steps and changes need to be read again.
    """
    kind = {"kind": type(value).__name__} if is_tagged else {}
    stated = {
        field.name: getattr(value, field.name)
        for field in fields(value)
        if not (field.metadata.get("later") and getattr(value, field.name) == field.default)
    }
    return {**kind, **{name: _plain(each) for name, each in stated.items() if each is not ABSENT}}


def from_document(kind: type[T], document: Any) -> T:
    """Read a value that is no step and no change.

    Raises:
        ValueError: a field is missing, unknown or of another type.
    """
    types = {field.name: str(field.type) for field in fields(kind)}  # type: ignore[arg-type]
    if not isinstance(document, dict) or not document.keys() <= types.keys():
        raise ValueError(f"`{document!r}` is no {kind.__name__}")
    later = {each.name: each.default for each in fields(kind) if each.metadata.get("later")}  # type: ignore[arg-type]
    absent = {name for name in types if name not in document and name not in later}
    if any(types[name] != "Any" for name in absent):
        raise ValueError(f"a {kind.__name__} lacks {', '.join(sorted(absent))}")
    stated = {name: _reader(types[name])(value) for name, value in document.items()}
    return kind(**{**dict.fromkeys(absent, ABSENT), **later, **stated})


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
            return [_plain(each) for each in value]
        case Lock() | Undo():
            return to_document(value)
        case _ if type(value).__name__ in _STEPS or type(value).__name__ in _CHANGES:
            return to_document(value, is_tagged=True)
        case _:
            return value


def _reader(annotation: str) -> Callable[[Any], Any]:
    """Return how a field is read, by its annotation."""
    if annotation in _READERS:
        return _READERS[annotation]
    if annotation.endswith(" | None"):
        read = _reader(annotation.removesuffix(" | None"))
        return lambda value: None if value is None else read(value)
    each = _reader(annotation.removeprefix("tuple[").removesuffix(", ...]"))
    return lambda value: tuple(map(each, _of(list)(value)))


def _of(kind: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise ValueError(f"`{value!r}` is no {kind.__name__}")
        return value

    return read


def _tagged(kinds: Mapping[str, type]) -> Callable[[Any], Any]:
    def read(document: Any) -> Any:
        kind = document.get("kind") if isinstance(document, dict) else None
        if not isinstance(kind, str) or kind not in kinds:
            raise ValueError(f"there is no `{kind}`")
        return from_document(kinds[kind], {name: value for name, value in document.items() if name != "kind"})

    return read


def _built(kind: type) -> Callable[[Any], Any]:
    return lambda document: from_document(kind, document)


def _planned(document: Any) -> PlannedStep:
    # What it says of being destructive follows from its risk.
    return from_document(PlannedStep, {name: value for name, value in document.items() if name != "is_destructive"})


def _column(document: Any) -> Column:
    return Column(_of(str)(document["name"]), _of(dict)(document["properties"]))


def _table(document: Any) -> Table:
    columns = [_column(each) for each in document["columns"]]
    return Table(_of(str)(document["name"]), {each.name: each for each in columns}, _of(dict)(document["properties"]))


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "Any": lambda value: value,
    "bool": _of(bool),
    "int": _of(int),
    "str": _of(str),
    "Properties": _of(dict),
    "Column": _column,
    "Table": _table,
    **dict.fromkeys(
        ("Step", "Backfill", "Backfill | SetNotNull | AddUnique | AddPrimaryKey", "SwapColumns"), _tagged(_STEPS)
    ),
    "Change": _tagged(_CHANGES),
    "PlannedStep": _planned,
    **{kind.__name__: _built(kind) for kind in (Lock, MigrationMark, Note, OwnSql, Place, Undo)},
    **{kind.__name__: kind for kind in (Conversion, NoteKind, Phase, Risk, Taken, Way, When)},
}
