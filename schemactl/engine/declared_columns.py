"""Turns the types that sources declare into dlt's column properties, by one walk for Arrow and for Spark.

Structs and lists are flattened like documents. Maps stay whole, because their keys are data, with their type
(``widening.MAPS``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from schemactl.inference.nested_schema import are_distinct_names
from schemactl.inference.widening import MAPS
from schemactl.schema.nested_types import Json, ListOf, MapOf, NestedType, Struct, leaf_of, write_type
from schemactl.schema.paths import ELEMENT, Path
from schemactl.schema.types import DataType

Type = TypeVar("Type")


@dataclass(frozen=True, slots=True)
class TypeReader(Generic[Type]):
    """The types of a library. Each function but ``scalar`` returns None for types of another kind.

    Attributes:
        fields: returns the fields of a struct.
        element: returns the type of a list's elements.
        entries: returns the type of a map's values, and whether texts can represent its keys.
        scalar: returns dlt's column properties of any other type.
    """

    fields: Callable[[Type], Iterable[tuple[str, Type]] | None]
    element: Callable[[Type], Type | None]
    entries: Callable[[Type], tuple[Type, bool] | None]
    scalar: Callable[[Type], Mapping[str, Any]]

    def columns(self, of: Type, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield dlt's column properties of a type, flattened, by path."""
        if (fields := self.fields(of)) is not None:
            for name, inner in fields:
                yield from self.columns(inner, (*path, name))
        elif (element := self.element(of)) is not None:
            yield from self.columns(element, (*path, ELEMENT))
        elif self.entries(of) is not None:
            map_type = self._nested_type(of)
            maps = {} if isinstance(map_type, Json) else {MAPS: [write_type(map_type)]}
            yield path, {"data_type": str(DataType.JSON), **maps}
        else:
            properties = self.scalar(of)
            yield path, {**properties, "data_type": str(properties["data_type"])}

    def _nested_type(self, of: Type) -> NestedType:
        """Return the type that keeps values within a map."""
        if (fields := self.fields(of)) is not None:
            nested_fields = tuple((name, self._nested_type(inner)) for name, inner in fields)
            is_kept = bool(nested_fields) and are_distinct_names(name for name, _ in nested_fields)
            return Struct(nested_fields) if is_kept else Json()
        if (element := self.element(of)) is not None:
            nested_element = self._nested_type(element)
            return nested_element if isinstance(nested_element, Json) else ListOf(nested_element)
        if (entries := self.entries(of)) is not None:
            value = self._nested_type(entries[0]) if entries[1] else Json()
            return value if isinstance(value, Json) else MapOf(value)
        return leaf_of(self.scalar(of))
