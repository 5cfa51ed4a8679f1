"""Pydantic's models as Python source, which validate the documents that a schema describes. Only written.

https://docs.pydantic.dev/latest/concepts/models/. Nested tables are folded back into nested models; hints are in
``json_schema_extra`` as ``x-dlt``.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from schemactl.formats._folding import fold
from schemactl.formats._losses import Loss, unstated
from schemactl.formats._python_names import free_name, python_name
from schemactl.formats._tables import data_tables, table_hints
from schemactl.schema.full_types import decimal_sizes
from schemactl.schema.nested_types import FIELDS, SPARK_TYPE
from schemactl.schema.types import DataType, Schema
from schemactl.type_systems.fields import HINTS, Field, fields_of, note, plain_properties

ENDINGS: Final = (".py",)

_TYPES: Final = {
    DataType.TEXT: "str", DataType.DOUBLE: "float", DataType.BOOL: "bool", DataType.TIMESTAMP: "datetime.datetime",
    DataType.BIGINT: "int", DataType.BINARY: "bytes", DataType.JSON: "Any", DataType.DECIMAL: "Decimal",
    DataType.WEI: "Decimal", DataType.DATE: "datetime.date", DataType.TIME: "datetime.time",
}  # fmt: skip
_BITS: Final = (8, 16, 32)
_LIMITS: Final = {
    "x-minimum": "ge", "x-maximum": "le", "x-exclusive-minimum": "gt", "x-exclusive-maximum": "lt",
    "x-multiple-of": "multiple_of",
}  # fmt: skip
_WIDTH: Final = 116

_HEAD: Final = """\
import datetime
from decimal import Decimal
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Document(BaseModel):
    model_config = ConfigDict(
        extra="allow",
        coerce_numbers_to_str=True,
        regex_engine="python-re",
        validate_by_name=True,
        validate_by_alias=True,
    )
"""
_TAKEN: Final = frozenset({
    "datetime", "Decimal", "Any", "Literal", "BaseModel", "ConfigDict", "Field", "Document",
    "str", "int", "float", "bool", "bytes", "list", "dict",
    # Attributes of BaseModel, in addition to names that begin with `model_`.
    "construct", "copy", "from_orm", "json", "parse_file", "parse_obj", "parse_raw", "schema", "schema_json",
    "update_forward_refs", "validate",
})  # fmt: skip
"""Names that a field would hide from the annotations after it, or that models have already."""


def losses(schema: Schema) -> tuple[Loss, ...]:
    """Return the losses of the models: schema-level properties, and hints of nested tables."""
    nested = ((table.name, plain_properties(table.properties)) for table in data_tables(schema) if table.is_nested)
    hints = (Loss(name, key, of) for name, hints in nested for key, of in hints.items() if key != "parent")
    return (*unstated(replace(schema, tables={}, description=None), ()), *hints)


def write(schema: Schema, path: str | None = None) -> str:  # noqa: ARG001 - one form for all endings
    """Return a module with a model for each root table, and for each object in its documents."""
    described = f": {' '.join(schema.description.split())}" if schema.description else ""
    classes = _Classes()
    for table in data_tables(fold(schema)):
        config = {"title": table.name, **_extra(table_hints(table))}
        classes.add(table.name, tuple(fields_of(table)), table.properties.get("description"), config)
    return f"{_docstring(f'Models of the documents of {schema.name}{described}')}\n\n{_HEAD}{''.join(classes.texts)}"


class _Classes:
    """The classes of a module, each after the classes that it refers to."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        constants = (word for word in keyword.kwlist if word[0].isupper())
        self._names = {name.lower() for name in (*_TAKEN, *constants)}

    def add(
        self,
        path: str,
        fields: tuple[Field, ...],
        text: Any,
        config: dict[str, Any] | None = None,
        siblings: Iterable[str] = (),
    ) -> str:
        """Write a class and return its name, which differs from ``siblings`` because they would hide it."""
        stem = "".join(word[:1].upper() + word[1:] for word in python_name(path).split("_")) or "Item"
        name = stem if stem.isidentifier() else f"Item{stem}"
        while name.lower() in self._names or name in siblings:
            name += "_"
        self._names.add(name.lower())
        lines = [f"    {_docstring(text)}\n"] if text else []
        if config is not None:
            lines += ["\n"] * bool(lines) + [f"    model_config = ConfigDict({_arguments(config)})\n"]
        names = _field_names(fields)
        body = [f"    {self._field(path, field, names)}\n" for field in fields]
        lines += ["\n"] * bool(lines and body) + body
        self.texts.append(f"\n\nclass {name}(Document):\n{''.join(lines) or '    pass' + chr(10)}")
        return name

    def _field(self, path: str, field: Field, names: Mapping[str, str]) -> str:
        name = names[field.name]
        native = _native(field)
        alias = {} if name == field.name else {"alias": field.name}
        arguments = {**alias, **note(field.description), **native[1], **_extra(_hints(field, native))}
        annotation = _nullable(self._type(path, field, native[0], names), field)
        if not arguments:
            return f"{name}: {annotation}{' = None' if field.nullable else ''}"
        text = _arguments({**({"default": None} if field.nullable else {}), **arguments})
        line = f"{name}: {annotation} = Field({text})"
        return line if len(line) <= _WIDTH else line.replace(f"({text})", f"(\n        {text}\n    )")

    def _type(self, path: str, field: Field, plain: str, names: Mapping[str, str]) -> str:
        if field.fields:
            return self.add(f"{path}_{field.name}", field.fields, None, siblings=names.values())
        if field.element:
            # Elements of a list are named as the list.
            inner = replace(field.element, name=field.name) if field.element.fields else field.element
            of = self._type(path, inner, _native(field.element)[0], names)
            return f"list[{_nullable(of, field.element)}]"
        if field.values:
            of = self._type(path, field.values, _native(field.values)[0], names)
            return f"dict[str, {_nullable(of, field.values)}]"
        return plain


def _field_names(fields: tuple[Field, ...]) -> dict[str, str]:
    """Return the fields' Python names, which differ from the names of other fields, as models accept both."""
    keys = {field.name for field in fields}
    names: dict[str, str] = {}
    used_names = set(_TAKEN)
    for field in fields:
        name = python_name(field.name).lstrip("_") or "field"
        name = f"field_{name}" if not name.isidentifier() or name.startswith("model_") else name
        names[field.name] = free_name(name, used_names, keys - {field.name})
        used_names.add(names[field.name])
    return names


def _nullable(of: str, field: Field) -> str:
    return f"{of} | None" if field.nullable and of != "Any" else of


def _extra(hints: dict[str, Any]) -> dict[str, Any]:
    return {"json_schema_extra": {HINTS: hints}} if hints else {}


def _arguments(values: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in values.items())


def _docstring(text: str) -> str:
    """Return the source of a docstring."""
    # If both kinds of quotes occur, `repr` escapes the single quotes.
    lines = (repr(f"'\"{line}")[4:-1].replace("\\'", "'") for line in text.split("\n"))
    return '"""' + re.sub(r'"(?="|\Z)', r'\\"', "\n".join(lines).rstrip()) + '"""'


def _native(field: Field) -> tuple[str, dict[str, Any]]:
    """Return the type of a scalar and the arguments of its ``Field``."""
    values = _enum(field)
    if values is not None:
        return f"Literal[{', '.join(map(repr, values))}]", {}
    return _TYPES.get(field.data_type, "Any") if field.properties.get("data_type") else "Any", dict(_limits(field))


def _enum(field: Field) -> list[Any] | None:
    values = field.properties.get("x-enum")
    value_type = {"text": str, "bigint": int}.get(str(field.properties.get("data_type")))
    is_enum = value_type is not None and isinstance(values, list) and bool(values)
    return values if is_enum and all(type(value) is value_type for value in values or ()) else None


def _limits(field: Field) -> Iterator[tuple[str, Any]]:  # noqa: C901 - a case for each keyword
    properties, size = field.properties, field.precision
    match properties.get("data_type"):
        # Of bytes the size is a hint: documents hold them as Base64, which is longer.
        case "text" if size is not None:
            yield "max_length", size
        case "decimal" if size is not None:
            yield "max_digits", size
            yield "decimal_places", decimal_sizes(properties)[1]
    if properties.get("data_type") == "text":
        pattern, least = properties.get("x-pattern"), properties.get("x-min-length")
        if isinstance(pattern, str):
            with suppress(re.error):
                yield "pattern", re.compile(pattern).pattern
        if isinstance(least, int) and not isinstance(least, bool) and least >= 0:
            yield "min_length", least
    if properties.get("data_type") in ("bigint", "double", "decimal", "wei"):
        for hint, word in _LIMITS.items():
            value = properties.get(hint)
            if isinstance(value, int | float) and not isinstance(value, bool) and (word != "multiple_of" or value > 0):
                yield word, value
        if properties.get("data_type") == "bigint" and size in _BITS:
            if "x-minimum" not in properties:
                yield "ge", -(2 ** (size - 1))
            if "x-maximum" not in properties:
                yield "le", 2 ** (size - 1) - 1


def _hints(field: Field, native: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the properties of a field that its type and the arguments of its ``Field`` do not cover."""
    annotation, limits = native
    kind = field.properties.get("data_type")
    covered = {"nullable", "description", SPARK_TYPE, FIELDS}
    covered |= {hint for hint, word in _LIMITS.items() if word in limits}
    covered |= {"data_type"} if kind != DataType.WEI else set()
    covered |= {"x-enum"} if annotation.startswith("Literal") else set()
    covered |= {hint for word, hint in (("pattern", "x-pattern"), ("min_length", "x-min-length")) if word in limits}
    has_limits = bool({"x-minimum", "x-maximum"} & field.properties.keys())
    is_sized = kind == "bigint" and field.precision in _BITS and not has_limits
    covered |= {"precision", "scale"} if is_sized or {"max_length", "max_digits"} & limits.keys() else set()
    return {key: value for key, value in plain_properties(field.properties).items() if key not in covered}
