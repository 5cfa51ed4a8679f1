"""Pydantic models as tables: the columns of a model, as dlt 1.31 makes them (``dlt.common.libs.pydantic``).

The columns have more facts than dlt's: ``max_digits`` and ``decimal_places`` of a decimal are its precision and scale,
and computed fields have types. Models within models are columns of JSON, as with dlt; under ``skip_nested_types`` their
fields are columns and nested tables, whose types are declared here and inferred by dlt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, is_dataclass, replace
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from pydantic import AliasChoices, AliasPath, BaseModel, RootModel
from pydantic.fields import FieldInfo

from schemactl.errors import InputError
from schemactl.schema.coercion import type_of_class
from schemactl.schema.contract import Entity, Mode
from schemactl.schema.expansion import Expansion, TooManyFieldsError
from schemactl.schema.paths import ELEMENT, Path
from schemactl.schema.types import DataType, Properties


@dataclass(frozen=True, slots=True)
class ModelField:
    """A column of a model: the keys to its values, and its properties, empty if a value may have any type."""

    path: Path
    properties: Properties


@dataclass(frozen=True, slots=True)
class Variants:
    """The models of a discriminated union by the values of the discriminator, whose key in the data is ``key``."""

    key: str
    models: Mapping[str, type[BaseModel]]


def as_model(of: Any) -> type[BaseModel]:
    """Return a model; another type that Pydantic takes, as a union of models, is made the root of one."""
    if isinstance(of, type) and issubclass(of, BaseModel):
        return _complete(of)
    if isinstance(of, type) and (issubclass(of, Enum) or type_of_class(of) not in (None, DataType.JSON)):
        raise ValueError("no document is of this type")
    if is_dataclass(of):
        raise ValueError("it is a dataclass")
    return _complete(cast(type[BaseModel], RootModel[of]))


def _complete(model: type[BaseModel]) -> type[BaseModel]:
    """Return a model whose forward references are resolved."""
    if model is not BaseModel:  # which Pydantic does not rebuild; it represents a root that is no model
        model.model_rebuild()
    return model


def config(model: type[BaseModel], key: str) -> Any:
    """Return an option of a model's ``dlt_config``, None if unset."""
    return (getattr(model, "dlt_config", None) or {}).get(key)


def variants_of(model: type[BaseModel]) -> Variants | None:
    """Return the variants of a root model that is a union with a discriminator of texts; None for other models."""
    root = model.model_fields.get("root") if issubclass(model, RootModel) else None
    name = None if root is None else _discriminator(root)
    if root is None or name is None:
        return None
    models: dict[str, type[BaseModel]] = {}
    members = [candidate for candidate in get_args(_bare(root.annotation)) if isinstance(candidate, type)]
    key = name
    for member in members:
        field = member.model_fields.get(name) if issubclass(member, BaseModel) else None
        if field is not None:
            key = field.alias or name
            values = get_args(_bare(field.annotation)) or (field.default,)
            models.update(
                {
                    str(candidate.value if isinstance(candidate, Enum) else candidate): _complete(member)
                    for candidate in values
                }
            )
    return Variants(key, models) if models else None


def _discriminator(field: FieldInfo) -> str | None:
    """Return the field by which the members of a union differ; before Pydantic 2.13 the annotation notes it."""
    annotation: Any = field.annotation
    notes = annotation.__metadata__ if get_origin(annotation) is Annotated else ()
    discriminators = (candidate.discriminator for candidate in (field, *notes) if isinstance(candidate, FieldInfo))
    return next((candidate for candidate in discriminators if isinstance(candidate, str)), None)


def contract_of(model: type[BaseModel]) -> dict[str, str]:
    """Return the default contract of a model's table: dlt's, by the model's ``extra``."""
    columns = {"forbid": Mode.FREEZE, "allow": Mode.EVOLVE}.get(extra_of(model) or "ignore", Mode.DISCARD_VALUE)
    modes = {Entity.TABLES: Mode.EVOLVE, Entity.COLUMNS: columns, Entity.DATA_TYPE: Mode.FREEZE}
    return {str(entity): str(mode) for entity, mode in modes.items()}


def extra_of(model: type[BaseModel]) -> str | None:
    """Return a model's ``extra``: its treatment of unknown keys."""
    return model.model_config.get("extra")


def keys_of(model: type[BaseModel]) -> frozenset[str]:
    """Return the keys of data that a model has fields for, under any of their names."""
    keys: set[str] = set()
    for name, field in _unrooted(model).model_fields.items():
        aliases = field.validation_alias.choices if isinstance(field.validation_alias, AliasChoices) else ()
        names = (name, field.alias, field.serialization_alias, field.validation_alias, *aliases)
        keys.update(
            str(key.path[0]) if isinstance(key, AliasPath) else key for key in names if isinstance(key, str | AliasPath)
        )
    return frozenset(keys.union(_unrooted(model).model_computed_fields))


def fields_of(model: type[BaseModel]) -> tuple[ModelField, ...]:
    """Return the columns of a model, in order; of a discriminated union the columns that all variants have."""
    variants = variants_of(model)
    if variants is None:
        try:
            return tuple(_fields(_unrooted(model), (), Expansion(), skips=bool(_skips(model))))
        except TooManyFieldsError as error:
            message = f"the models within `{model.__name__}` have too many columns: {error}"
            raise InputError(message, hint="without `skip_nested_types`, each nested model is one column") from error
    fields_by_variant = [fields_of(variant) for variant in dict.fromkeys(variants.models.values())]
    shared = set.intersection(*({field.path for field in fields} for fields in fields_by_variant))
    return tuple(field for field in fields_by_variant[0] if field.path in shared)


def _skips(model: type[BaseModel]) -> Any:
    skips = config(model, "skip_nested_types")
    return config(model, "skip_complex_types") if skips is None else skips


def _unrooted(model: type[BaseModel]) -> type[BaseModel]:
    """Return the model at the root of a root model, which describes its data."""
    if not issubclass(model, RootModel):
        return model
    inner = _bare(model.model_fields["root"].annotation)
    return _unrooted(inner) if isinstance(inner, type) and issubclass(inner, BaseModel) else BaseModel


def _fields(
    model: type[BaseModel], above: Path, expansion: Expansion, *, skips: bool, is_inferred: bool = False
) -> Iterator[ModelField]:
    for name, field in _complete(model).model_fields.items():
        key = field.serialization_alias or field.alias or name
        yield from _columns(
            (*above, key), field.annotation, field.metadata, expansion, skips=skips, is_inferred=is_inferred
        )
    for name, computed in model.model_computed_fields.items():
        key = computed.alias or name
        yield from map(_as_nullable, _columns((*above, key), computed.return_type, (), expansion, skips=skips))


def _columns(
    path: Path, annotation: Any, notes: Sequence[Any], expansion: Expansion, *, skips: bool, is_inferred: bool = False
) -> Iterator[ModelField]:
    """Yield the columns of a value; ``is_inferred`` if dlt leaves them to the data, below skipped lists."""
    expansion.count(len(path), *path)
    of, is_optional, notes = _inner(annotation, notes)
    if of is Any or of is None:
        yield ModelField(path, {})
        return
    if skips and isinstance(of, type) and issubclass(of, BaseModel) and not issubclass(of, RootModel):
        # As in dlt, a nested model decides itself whether it skips its nested types.
        for field in _fields(of, path, expansion, skips=is_inferred or bool(_skips(of)), is_inferred=is_inferred):
            yield _as_nullable(field) if is_optional else field
        return
    data_type = _data_type(of)
    if skips and data_type is DataType.JSON:
        element = next(iter(get_args(of)), None)
        origin = get_origin(of)
        is_list = isinstance(origin, type) and issubclass(origin, Sequence | AbstractSet)
        if element is not None and is_list and not issubclass(origin, str | bytes):
            inner = _inner(element, ())[0]
            is_model = isinstance(inner, type) and issubclass(inner, BaseModel)
            below = (*path, ELEMENT) if is_model else (*path, ELEMENT, "value")
            for field in _columns(below, element, (), expansion, skips=True, is_inferred=True):
                # A model cannot know which values the rows of a nested table lack: dlt infers such tables.
                yield _as_nullable(field)
        return
    sizes = _sizes(notes) if data_type is DataType.DECIMAL else {}
    yield ModelField(path, {"data_type": str(data_type), "nullable": is_optional, **sizes})


def _as_nullable(field: ModelField) -> ModelField:
    return replace(field, properties={**field.properties, "nullable": True}) if field.properties else field


def _inner(of: Any, notes: Sequence[Any]) -> tuple[Any, bool, Sequence[Any]]:
    """Return the type in an annotation, whether it may be null, and its metadata (``Annotated``)."""
    if get_origin(of) is Annotated:
        return _inner(of.__origin__, (*notes, *of.__metadata__))
    if get_origin(of) in (Union, UnionType):
        parts = [member for member in get_args(of) if member is not type(None)]
        inner, is_null, metadata = _inner(parts[0], notes)
        return inner, is_null or len(parts) < len(get_args(of)), metadata
    if get_origin(of) is Literal:
        values = [value for value in get_args(of) if value is not None]
        return (type(values[0]) if values else Any), len(values) < len(get_args(of)), notes
    for attribute in ("__supertype__", "__value__"):  # NewType, and `type X = ...`
        if hasattr(of, attribute) and not isinstance(of, type):
            return _inner(getattr(of, attribute), notes)
    return of, of is type(None), notes


def _bare(annotation: Any) -> Any:
    """Return an annotation without ``Annotated``."""
    return _bare(annotation.__origin__) if get_origin(annotation) is Annotated else annotation


def _data_type(of: Any) -> DataType:
    """Return the type of a column as dlt finds it; text if dlt does not know it."""
    base = get_origin(of) or of
    if not isinstance(base, type):
        return DataType.TEXT
    if is_dataclass(base) or issubclass(base, BaseModel | AbstractSet):
        return DataType.JSON
    return type_of_class(base) or DataType.TEXT


def _sizes(notes: Sequence[Any]) -> dict[str, int]:
    """Return precision and scale of ``Field(max_digits=..., decimal_places=...)``."""
    flat = [item for note in notes for item in (note.metadata if isinstance(note, FieldInfo) else (note,))]
    digits = next((item.max_digits for item in flat if getattr(item, "max_digits", None) is not None), None)
    places = next((item.decimal_places for item in flat if getattr(item, "decimal_places", None) is not None), 0)
    return {} if digits is None else {"precision": digits, "scale": places}
