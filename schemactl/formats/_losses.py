"""Finds and describes the losses of a schema on its way through a format."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from schemactl.schema.arrow_hint import NESTED_TYPE, describe
from schemactl.schema.contract import system_prefix
from schemactl.schema.full_types import full_type
from schemactl.schema.naming import naming_of
from schemactl.schema.nested_types import FIELDS, SPARK_TYPE, write_type
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Properties, Schema
from schemactl.type_systems.arrow_types import nested_type_of
from schemactl.type_systems.fields import PROCESSING

_DEFAULTS: Final = {"nullable": True, "timezone": True, "write_disposition": "append"}
_NESTED: Final = (SPARK_TYPE, NESTED_TYPE, FIELDS)
_TYPE: Final = ("data_type", "precision", "scale", "timezone", *_NESTED)
_LONGEST: Final = 80


@dataclass(frozen=True, slots=True)
class Loss:
    """Information that a file lacks, or expresses differently.

    Attributes:
        path: ``table.column``, a table, or empty for the schema.
        item: the property, ``type``, ``column`` or ``table``; of a foreign file its own word.
        after: the value that comes back, if any.
    """

    path: str
    item: str
    before: Any = None
    after: Any = None


@dataclass(frozen=True, slots=True)
class Document:
    """A file of a format that preserves no formatting.

    Attributes:
        losses: information that no column property can hold.
        names: pairs of a name in a database (table or ``table.column``) and its name in the schema, if they differ.
    """

    schema: Schema
    losses: tuple[Loss, ...] = ()
    names: tuple[tuple[str, str], ...] = ()


def losses_between(before: Schema, after: Schema) -> tuple[Loss, ...]:
    """Return the losses of ``after`` against ``before``, by meaning: a written default equals an absent property.

    Names, versions and hashes of schemas, dlt's own tables and the marks of loads do not count.
    """
    return tuple(_losses(before, after))


def unstated(schema: Schema, properties: Iterable[str]) -> tuple[Loss, ...]:
    """Return the losses of a file that shows tables, columns, their types and only these properties."""
    visible_properties = frozenset((*properties, "type"))
    start = new_schema("shown", schema.normalizers.get("names") or "snake_case")
    losses = (loss for loss in _losses(schema, start, with_tables=False) if loss.before is not None)
    return tuple(loss for loss in losses if loss.item.partition(".")[0] not in visible_properties)


def _losses(before: Schema, after: Schema, *, with_tables: bool = True) -> Iterator[Loss]:
    prefix = system_prefix(naming_of(before))
    sections = (
        {"settings": side.settings, "normalizers": side.normalizers, "description": side.description, **side.extensions}
        for side in (before, after)
    )
    yield from _differences("", *map(_facts, sections))
    for name, table in before.tables.items():
        if name.startswith(prefix):
            continue
        other = after.tables.get(name)
        if with_tables and other is None:
            yield Loss(name, "table")
            continue
        yield from _differences(name, _facts(table.properties, name), _facts(other.properties if other else {}, name))
        for column in table.columns.values():
            path = f"{name}.{column.name}"
            twin = other.columns.get(column.name) if other else None
            if with_tables and twin is None:
                yield Loss(path, "column")
            else:
                yield from _differences(path, _facts(column.properties), _facts(twin.properties if twin else {}))


def _facts(properties: Properties, name: str | None = None) -> dict[str, Any]:
    """Return properties without defaults; ``name`` is the table's name."""
    defaults = {**_DEFAULTS, "resource": name}
    return {
        key: value
        for key, value in properties.items()
        if value is not None
        and key not in PROCESSING
        and not (isinstance(value, bool | str) and defaults.get(key, False) == value)
    }


def _differences(path: str, before: Properties, after: Properties) -> Iterator[Loss]:
    types = [{key: value for key, value in properties.items() if key in _TYPE} for properties in (before, after)]
    if any(properties.get(NESTED_TYPE) for properties in types) and types[0] != types[1]:
        types = [_in_spark(properties) for properties in types]
    # Both may mean the same, with dlt's default sizes written in only one.
    if full_type(types[0]) != full_type(types[1]) or any(types[0].get(e) != types[1].get(e) for e in _NESTED):
        yield Loss(path, "type", types[0], types[1])
    for key in {**before, **after}:
        # Additional hints are not losses.
        if key not in _TYPE and (key in before or not key.startswith("x-")):
            yield from _changed(path, key, before.get(key), after.get(key))


def _changed(path: str, key: str, before: Any, after: Any) -> Iterator[Loss]:
    """Yield the differences; in mappings, the differences of the innermost keys."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in {**before, **after}:
            yield from _changed(path, f"{key}.{name}", before.get(name), after.get(name))
    elif before != after:
        yield Loss(path, key, before, after)


def _in_spark(properties: Properties) -> dict[str, Any]:
    """Return the type of a column, with nested types as Spark DDL, whichever hint declares them."""
    nested_type = nested_type_of(Column("", properties))
    other_properties = {key: value for key, value in properties.items() if key not in _NESTED}
    return other_properties if nested_type is None else {**other_properties, SPARK_TYPE: write_type(nested_type)}


def describe_loss(loss: Loss) -> str:
    """Return a loss in words: ``orders.id: `primary_key: true` ``, with the value that is read back instead."""
    prefix = f"{loss.path}: " if loss.path else ""
    if loss.before is None and loss.after is None:
        return f"{prefix}{loss.item}"
    before = f"`{loss.item}: {_shown(loss.item, loss.before)}`" if loss.item != "type" else _shown_type(loss.before)
    if loss.after is None or (loss.item == "type" and not loss.after):
        return f"{prefix}{before}"
    after = _shown_type(loss.after) if loss.item == "type" else f"`{loss.item}: {_shown(loss.item, loss.after)}`"
    return f"{prefix}{before} becomes {after}"


def _shown_type(properties: Any) -> str:
    sizes = ", ".join(f"{key}: {_shown(key, value)}" for key, value in properties.items())
    return f"type `{sizes or 'unknown'}`"


def _shown(key: str, value: Any) -> str:
    value = describe(value) if key == NESTED_TYPE and isinstance(value, str) else value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
