"""Find the keys of documents that a Pydantic model ignores: the document is valid, and their values are lost."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, TypeAlias

from pydantic import AliasChoices, AliasPath, BaseModel, RootModel

from schemactl.kernel.outcome import IgnoredKey
from schemactl.type_systems.pydantic_models import extra_of

_Loc: TypeAlias = tuple[str | int, ...]
_Key: TypeAlias = str | AliasPath


def ignored_keys(model: Any, document: Any, extra: str | None, loc: _Loc = ()) -> Iterator[IgnoredKey]:
    """Yield the keys of a document that Pydantic would refuse under ``extra="forbid"``, at all levels.

    A key with a null is left out: a null violates no contract. ``model`` is the document once it is valid, ``extra``
    the setting of the call, which overrides all models; None if each model has its own.
    """
    if isinstance(model, RootModel):
        yield from ignored_keys(model.root, document, extra, loc)
    elif isinstance(model, list | tuple) and isinstance(document, list | tuple):
        if len(model) == len(document):  # a validator may leave elements out
            for index, (inner, element) in enumerate(zip(model, document, strict=True)):
                yield from ignored_keys(inner, element, extra, (*loc, index))
    elif not isinstance(document, dict):
        return
    elif isinstance(model, BaseModel):
        yield from _ignored_by_model(model, document, extra, loc)
    elif isinstance(model, dict) or dataclasses.is_dataclass(model):
        yield from _ignored_by_mapping(model, document, extra, loc)


def _ignored_by_model(model: BaseModel, document: dict[str, Any], extra: str | None, loc: _Loc) -> Iterator[IgnoredKey]:
    model_type = type(model)
    ignored = document.keys() - _read_keys(model_type)
    if ignored and (extra or extra_of(model_type) or "ignore") == "ignore":
        ignored = _without_consumed(model_type, document, ignored)
        yield from (
            IgnoredKey((*loc, key), value) for key, value in document.items() if key in ignored if value is not None
        )
    for name, keys in _fields(model_type):
        value = vars(model).get(name)
        if isinstance(value, BaseModel | list | tuple | dict) or dataclasses.is_dataclass(value):
            path = next((path for path in map(_path, keys) if _value_at(document, path) is not None), None)
            if path is not None:
                yield from ignored_keys(value, _value_at(document, path), extra, (*loc, *path))


def _ignored_by_mapping(model: Any, document: dict[str, Any], extra: str | None, loc: _Loc) -> Iterator[IgnoredKey]:
    """Yield the same of a dict, a ``TypedDict`` or a dataclass."""
    values = dict(model) if isinstance(model, dict) else vars(model)
    # The keys of a dict may have another type, and so another text, once they are validated.
    in_order = tuple(values.values()) if isinstance(model, dict) and len(model) == len(document) else ()
    read = frozenset() if isinstance(model, dict) else _dataclass_keys(type(model))
    for index, (key, value) in enumerate(document.items()):
        if key in values or in_order:
            yield from ignored_keys(values[key] if key in values else in_order[index], value, extra, (*loc, key))
        elif value is not None and key not in read:
            yield IgnoredKey((*loc, key), value)


def _without_consumed(model: type[BaseModel], document: dict[str, Any], ignored: set[str]) -> set[str]:
    """Return the keys that remain after validators of the whole document, which may use some under other names."""
    if all(validator.info.mode == "after" for validator in model.__pydantic_decorators__.model_validators.values()):
        return ignored
    try:
        extra = model.model_validate(dict(document), extra="allow").model_extra or {}
    except Exception:  # a validator of the model may raise anything
        return ignored
    return ignored & extra.keys()


@cache
def _read_keys(model: type[BaseModel]) -> frozenset[str]:
    """Return the keys of data that a model reads, and the keys of its computed fields, which it fills itself."""
    computed = {key for name, field in model.model_computed_fields.items() for key in (name, field.alias or name)}
    return frozenset(computed | {str(_path(key)[0]) for _, keys in _fields(model) for key in keys})


@cache
def _fields(model: type[BaseModel]) -> tuple[tuple[str, tuple[_Key, ...]], ...]:
    """Return the fields of a model with the keys that validation reads, in the order in which it tries them."""
    config = model.model_config
    by_alias = config.get("validate_by_alias", True)
    by_name = config.get("validate_by_name") or config.get("populate_by_name")
    return tuple(
        (
            name,
            (
                *(_choices(field.validation_alias) if by_alias else ()),
                *((name,) if by_name or field.validation_alias is None else ()),
            ),
        )
        for name, field in model.model_fields.items()
    )


def _dataclass_keys(of: type) -> frozenset[str]:
    fields = getattr(of, "__pydantic_fields__", {}).values()
    return frozenset(str(_path(key)[0]) for field in fields for key in _choices(field.validation_alias))


def _choices(alias: str | AliasPath | AliasChoices | None) -> Sequence[_Key]:
    if alias is None:
        return ()
    return alias.choices if isinstance(alias, AliasChoices) else (alias,)


def _path(key: _Key) -> _Loc:
    return tuple(key.path) if isinstance(key, AliasPath) else (key,)


def _value_at(document: Any, path: _Loc) -> Any:
    try:
        for step in path:
            document = document[step]
    except (LookupError, TypeError):
        return None
    return document
