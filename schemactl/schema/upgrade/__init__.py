"""Old schema files, brought to the current engine version step by step as dlt does it (docs/dlt.md §1.8).

A module ``vNN_to_vMM`` is one step. Its ``upgrade(stored)`` changes a stored schema in place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from types import ModuleType
from typing import Any

from schemactl.errors import InputError, Location
from schemactl.registry import Registry
from schemactl.schema.types import ENGINE_VERSION

STEPS: Registry[ModuleType] = Registry("upgrade step", "schemactl.schema.upgrade")


def upgrade(stored: Mapping[str, Any], source: str | None = None) -> dict[str, Any]:
    """Return the stored schema in the form of ``ENGINE_VERSION``.

    The numeric version and the hash stay; ``hash.bump`` finds that the content changed.

    Args:
        stored: a schema as its file holds it, of any engine version, not validated.
        source: path of the file, for messages.

    Raises:
        InputError: the engine version is missing, unknown or newer, or the content is not of that version.
    """
    at = Location(source) if source else None
    engine = _engine_of(stored, at)
    if engine == ENGINE_VERSION and not any(_null_only_columns(stored)):
        return dict(stored)
    upgraded = dict(deepcopy(stored))
    for number in range(engine, ENGINE_VERSION):
        _take_step(upgraded, number, at)
    upgraded["engine_version"] = ENGINE_VERSION
    _drop_null_only_columns(upgraded)
    return upgraded


def _engine_of(stored: Mapping[str, Any], at: Location | None) -> int:
    engine = stored.get("engine_version")
    if engine is None:
        hint = f"a schema file states `engine_version: {ENGINE_VERSION}`"
        raise InputError("`engine_version` is missing", at=at, hint=hint)
    if not isinstance(engine, int) or isinstance(engine, bool) or engine < 1:
        hint = f"a whole number from 1 to {ENGINE_VERSION}"
        raise InputError(f"`engine_version` is `{engine}`", at=at, hint=hint)
    if engine > ENGINE_VERSION:
        hint = f"this schemactl knows versions up to {ENGINE_VERSION}; a newer one may know it"
        raise InputError(f"the schema is of engine version {engine}", at=at, hint=hint)
    return engine


def _take_step(stored: dict[str, Any], engine: int, at: Location | None) -> None:
    step = STEPS[f"v{engine:02}_to_v{engine + 1:02}"]
    try:
        step.upgrade(stored)
    except KeyError as error:
        key = error.args[0]
        raise InputError(f"`{key}` is missing in a schema of engine version {engine}", at=at) from error
    except (AttributeError, TypeError) as error:
        raise InputError(f"the file is not a schema of engine version {engine}", at=at) from error


def _drop_null_only_columns(stored: dict[str, Any]) -> None:
    """Drop dlt 1.22's notes on columns that had only seen null; those without a type go (docs/dlt.md §1.6)."""
    for columns, name in _null_only_columns(stored):
        column = columns[name]
        if "data_type" not in column:
            del columns[name]
            continue
        del column["x-normalizer"]["seen-null-first"]
        if not column["x-normalizer"]:
            del column["x-normalizer"]


def _null_only_columns(stored: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    for table in _dicts_in(stored.get("tables")).values():
        columns: Any = table.get("columns")
        for name, column in _dicts_in(columns).items():
            marks = column.get("x-normalizer")
            if isinstance(marks, dict) and marks.get("seen-null-first"):
                yield columns, name


def _dicts_in(value: Any) -> dict[Any, dict[Any, Any]]:
    # Validation comes later: here a file may still hold anything anywhere.
    if not isinstance(value, dict):
        return {}
    return {key: item for key, item in value.items() if isinstance(item, dict)}
