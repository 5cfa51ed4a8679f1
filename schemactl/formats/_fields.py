"""The native form of a column in a format, and the hints next to it.

A format writes the native form of a field and reads it back (``Codec``). This module computes the information that the
native form lacks, so that all formats agree: formats with room for foreign keys carry it as ``x-dlt``, other formats
lose it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from schemactl.errors import InputError, Location, Problem
from schemactl.formats._losses import Loss
from schemactl.schema.arrow_hint import NESTED_TYPE
from schemactl.schema.full_types import MAX_DIGITS, check_scale
from schemactl.schema.nested_types import FIELDS, SPARK_TYPE
from schemactl.schema.types import Column, DataType
from schemactl.schema.validation import check_column
from schemactl.type_systems.arrow_types import restate
from schemactl.type_systems.fields import HINTS, Field, field_of, joined, properties_of, properties_to_add, unread_facts

_TYPE: Final = frozenset(("data_type", "precision", "scale", "timezone", SPARK_TYPE, FIELDS, NESTED_TYPE))

Native = TypeVar("Native")


@dataclass(frozen=True, slots=True)
class Codec(Generic[Native]):
    """Writes one field in a format's own words, and reads it back."""

    write: Callable[[Field], Native]
    read: Callable[[str, Native], Field]

    def hints(self, field: Field) -> dict[str, Any]:
        """Return the properties of a column that its native form lacks."""
        return properties_to_add(field.properties, properties_of(self.read(field.name, self.write(field))))

    def restored(self, name: str, native: Native, hints: Any, path: str) -> dict[str, Any]:
        """Return the properties of a column from its native form and the hints next to it.

        If the native type was edited since, the hints about the type are outdated and do not count.
        """
        native_properties = properties_of(self.read(name, native))
        if hints is None:
            return native_properties
        if not isinstance(hints, Mapping):
            raise InputError(f"`{HINTS}` of `{name}` is not a mapping", at=Location(path))
        all_properties = joined(native_properties, hints)
        if problems := tuple(Problem(problem.message, hint=problem.hint) for problem in check_column(all_properties)):
            message = f"`{HINTS}` of `{name}` sets a hint that is invalid for a column"
            raise InputError(message, at=Location(path), problems=problems)
        if self.write(field_of(Column(name, all_properties))) == native:
            return all_properties
        untyped = joined(native_properties, {key: value for key, value in hints.items() if key not in _TYPE})
        # A column with a type from dlt keeps that type.
        return dict(restate(untyped, hints[NESTED_TYPE])) if hints.get(NESTED_TYPE) else untyped


def entries(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list that have a name."""
    items = value if isinstance(value, list) else ()
    return [item for item in items if isinstance(item, dict) and isinstance(item.get("name"), str)]


def mapping(value: Any) -> dict[str, Any]:
    """Return a value that is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def hint_item(hints: Any, outer_key: str | None = None) -> dict[str, Any]:
    """Return hints as an entry of their key, within an object of ``outer_key`` if it is given; empty without hints."""
    entry = {HINTS: hints} if hints else {}
    return {outer_key: entry} if entry and outer_key else entry


def is_wide_decimal(field: Field, holder: str) -> bool:
    """Return whether a decimal has too many digits for Spark and tables of files, which store it as text."""
    if field.data_type is not DataType.DECIMAL:
        return False
    digits = field.precision or MAX_DIGITS
    check_scale(field.name, digits, field.scale or 0, holder)
    return digits > MAX_DIGITS


def losses_of(fields: Iterable[Field], holder: str) -> Iterator[Loss]:
    """Yield the facts about columns in a file that no property has; ``holder`` is their table."""
    return (Loss(fact.path, fact.word, fact.value, fact.after) for fact in unread_facts(fields, holder))
