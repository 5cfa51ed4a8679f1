"""Resolves JSON Schemas: a schema with all that it includes by ``$ref``, ``allOf`` and a lone alternative to null.

References: https://json-schema.org/draft/2020-12/json-schema-core#section-8. A schema is the conjunction of the schemas
that it includes. A keyword that two of them set is combined if a combination exists; else the first value holds, and
the other one is in ``FlatSchema.overridden``, for the report of losses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote, urldefrag, urljoin

from schemactl.schema.expansion import Expansion
from schemactl.trees import nodes
from schemactl.trees.nodes import Node, Source, fields_of, follow

_SCHEMA_MAPS: Final = frozenset(
    ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies", "schemas")
)
"""Keywords whose values are schemas by name."""
_NO_SCHEMAS: Final = frozenset(("enum", "const", "default", "examples", "example", "paths", "webhooks"))
"""Keywords whose values are data, in which ``$ref`` is a key as any other, or other parts of OpenAPI."""

_ANNOTATIONS: Final = frozenset(
    ("title", "description", "$id", "$anchor", "$schema", "$comment", "$defs", "definitions", "x-dlt")
)
"""Keywords that describe a schema itself: a schema does not get them from an included schema."""
_LARGEST: Final = frozenset(("minimum", "exclusiveMinimum", "minLength", "minItems"))
_SMALLEST: Final = frozenset(("maximum", "exclusiveMaximum", "maxLength", "maxItems"))

TYPES_OF_VALUES: Final = {
    type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object",
}  # fmt: skip


@dataclass(slots=True)
class FlatSchema:
    """A schema with the keywords of all included schemas.

    Attributes:
        keywords: without ``allOf`` and lone alternatives; ``$ref`` remains if it leads out of the document.
        overridden: values of keywords that an earlier part overrides, and ``false`` as a schema.
        definitions: the included definitions, by identity; one within itself is any JSON.
        excludes_null: whether it has several alternatives but no null.
    """

    keywords: dict[str, Any] = field(default_factory=dict)
    overridden: list[tuple[str, Any]] = field(default_factory=list)
    definitions: frozenset[int] = frozenset()
    excludes_null: bool = False

    def include(self, other: FlatSchema) -> None:
        """Add the keywords of an included schema."""
        for word, value in other.keywords.items():
            if word not in self.keywords:
                self.keywords[word] = value
            elif self.keywords[word] != value and word not in _ANNOTATIONS:
                combined = _combined(word, self.keywords[word], value)
                if combined is None:
                    self.overridden.append((word, value))
                else:
                    self.keywords[word] = combined
        self.overridden += other.overridden
        self.definitions |= other.definitions
        self.excludes_null |= other.excludes_null


def _combined(word: str, first: Any, second: Any) -> Any:  # noqa: C901, PLR0911 - by keyword
    """Return the keyword value that combines two values; None if they contradict each other or cannot be combined."""
    match word, first, second:
        case "properties", dict(), dict():
            both = {name: {"allOf": [first[name], second[name]]} for name in first if name in second}
            return {**first, **second, **both}
        case "required", list(), list():
            return [*first, *(name for name in second if name not in first)]
        case "items" | "additionalProperties", dict(), dict():
            return {"allOf": [first, second]}
        case (("additionalProperties" | "items"), True, other):
            return other
        case (("additionalProperties" | "items"), other, True):
            return other
        case "type", _, _:
            return _common_types(types_of({"type": first}), types_of({"type": second})) or None
        case "enum", list(), list():
            return [value for value in first if value in second] or None
        case (("nullable" | "uniqueItems" | "deprecated"), bool(), bool()):
            return first or second
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in (first, second)):
        if word in _LARGEST:
            return max(first, second)
        if word in _SMALLEST:
            return min(first, second)
    return None


def _common_types(first: list[str], second: list[str]) -> list[str]:
    def permits(types: list[str], name: str) -> bool:
        return name in types or (name == "integer" and "number" in types)

    names = dict.fromkeys((*first, *second))
    return [name for name in names if permits(first, name) and permits(second, name)]


def types_of(keywords: Mapping[str, Any]) -> list[str]:
    """Return the types that a schema permits, without ``type`` the types of its values; empty for any type."""
    declared = keywords.get("type")
    if isinstance(declared, str):
        return [declared]
    if isinstance(declared, list):
        return [name for name in declared if isinstance(name, str)]
    if "properties" in keywords:
        return ["object"]
    values = keywords.get("enum") or ([keywords["const"]] if "const" in keywords else [])
    return list(dict.fromkeys(TYPES_OF_VALUES[type(value)] for value in values)) if isinstance(values, list) else []


class Resolver:
    """Resolves the schemas of a document; ``expansion`` counts the included schemas."""

    def __init__(self, source: Source, tree: Node, root: dict[str, Any], expansion: Expansion) -> None:
        self._source, self._tree, self._root, self._expansion = source, tree, root, expansion
        self._bases: dict[int, str] = {}
        """The base URI of each schema, by identity."""
        self._resources: dict[str, dict[str, Any]] = {"": root}
        self._anchors: dict[str, dict[str, Any]] = {}
        """The schemas by the URIs of their anchors, and by their bare anchors."""
        self._referenced: set[int] = set()
        schemas = list(self._index(root, ""))
        for schema in schemas:
            if isinstance(reference := schema.get("$ref"), str):
                self._referenced.add(id(self.target(schema, reference)))

    def is_referenced(self, schema: Any) -> bool:
        """Return whether a ``$ref`` of the document leads to a schema."""
        return id(schema) in self._referenced

    def _index(self, schema: dict[str, Any], base: str) -> Iterator[dict[str, Any]]:
        identity = schema.get("$id")
        if isinstance(identity, str):
            uri, anchor = _joined(base, identity)
            if anchor:
                self._anchors.setdefault(anchor, schema)
            elif uri:
                base = uri
                self._resources.setdefault(uri, schema)
        name = schema.get("$anchor")
        if isinstance(name, str):
            self._anchors.setdefault(f"{base}#{name}", schema)
            self._anchors.setdefault(name, schema)
        self._bases[id(schema)] = base
        yield schema
        for included in _subschemas(schema):
            yield from self._index(included, base)

    def offset_of(self, schema: Mapping[str, Any], word: str) -> int:
        """Return the offset in the text at which a schema has a keyword; 0 for a schema that is not in the text."""
        pairs: list[tuple[Any, Any]] = [(follow(self._tree), self._root)]
        while pairs:
            node, value = pairs.pop()
            if isinstance(node, nodes.Mapping):
                if value is schema:
                    return next((entry.key.start for entry in node.entries if entry.key.value == word), node.start)
                pairs += [(follow(inner), value[key]) for key, inner in fields_of(node).items()]
            elif isinstance(node, nodes.Sequence):
                pairs += zip(map(follow, node.items), value, strict=True)
        return 0

    def target(self, schema: Mapping[str, Any], reference: str) -> Any:
        """Return the schema that a reference in a schema leads to; None if it leads out of the document."""
        uri, fragment = _joined(self._bases.get(id(schema), ""), reference)
        resource = self._resources.get(uri)
        if resource is None:
            return None
        if not fragment:
            return resource
        for start in (resource, self._root):  # few tools write pointers from the nearest `$id`
            definition = _pointed(start, fragment) if fragment.startswith("/") else None
            if isinstance(definition, dict | bool):
                return definition
        anchored = self._anchors.get(f"{uri}#{fragment}", self._anchors.get(fragment))
        if anchored is None:
            message = f"`$ref: {reference}` leads nowhere"
            raise self._source.refuse(message, self.offset_of(schema, "$ref"), "add the definition that it names")
        return anchored

    def flatten(self, schema: Any, outer_definitions: frozenset[int] = frozenset(), level: int = 0) -> FlatSchema:
        """Return a schema with the keywords of all included schemas; its own keywords come first.

        ``outer_definitions`` are the definitions that contain the schema, by identity; ``level`` counts the schemas
        around it that include each other.
        """
        self._expansion.follow(level)
        if not isinstance(schema, dict):
            return FlatSchema(overridden=[("schema", False)] if schema is False else [])
        flat = FlatSchema(_without_old_bounds({word: schema[word] for word in schema if word not in ("$ref", "allOf")}))
        if isinstance(reference := schema.get("$ref"), str):
            target = self.target(schema, reference)
            if target is None:
                flat.keywords["$ref"] = reference
            elif id(target) not in outer_definitions:
                flat.definitions = frozenset((id(target),))
                flat.include(self.flatten(target, outer_definitions | {id(target)}, level + 1))
        included_schemas = schema.get("allOf")
        for included in included_schemas if isinstance(included_schemas, list) else ():
            flat.include(self.flatten(included, outer_definitions, level + 1))
        for word in ("anyOf", "oneOf"):
            alternatives = schema.get(word)
            if isinstance(alternatives, list):
                self._include_alternative(flat, word, alternatives, outer_definitions, level)
        if flat.keywords.get("nullable") is True and "type" in flat.keywords:  # of OpenAPI 3.0
            flat.keywords["type"] = list(dict.fromkeys((*types_of(flat.keywords), "null")))
        return flat

    def _include_alternative(
        self, flat: FlatSchema, word: str, alternatives: list[Any], outer_definitions: frozenset[int], level: int
    ) -> None:
        """Include the only alternative that is not null, if there is one."""
        schemas = [self.flatten(alternative, outer_definitions, level + 1) for alternative in alternatives]
        values = [schema for schema in schemas if types_of(schema.keywords) != ["null"]]
        if len(values) != 1:
            types = [types_of(schema.keywords) for schema in schemas]
            flat.excludes_null |= all(names and "null" not in names for names in types)
            return
        (schema,) = values
        if len(schemas) > 1 and (names := types_of(schema.keywords)):
            schema.keywords["type"] = list(dict.fromkeys((*names, "null")))
        del flat.keywords[word]
        flat.include(schema)


def _joined(base: str, reference: str) -> tuple[str, str]:
    """Return the URI and the fragment of a reference."""
    try:
        uri, fragment = urldefrag(urljoin(base, reference))
    except ValueError:  # it is not a URI
        return reference, ""
    return uri, unquote(fragment)


def _pointed(value: Any, pointer: str) -> Any:
    """Return the value that a JSON pointer (RFC 6901) leads to, None if it leads nowhere."""
    for key in pointer.split("/")[1:]:
        name = key.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and re.fullmatch(r"\d{1,9}", name, re.ASCII) and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value


def _subschemas(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schemas directly within a schema, also within unknown keywords."""
    for word, value in schema.items():
        if word in _NO_SCHEMAS or word.startswith("x-"):
            continue
        inner = value.values() if word in _SCHEMA_MAPS and isinstance(value, dict) else (value,)
        for member in inner:
            items = member if isinstance(member, list) else (member,)
            yield from (item for item in items if isinstance(item, dict))


def _without_old_bounds(keywords: dict[str, Any]) -> dict[str, Any]:
    """Return keywords with ``exclusiveMinimum: true`` of drafts up to 4 and OpenAPI 3.0 as a number."""
    for word, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if keywords.get(word) is True and bound in keywords:
            keywords[word] = keywords.pop(bound)
        elif keywords.get(word) is False:
            del keywords[word]
    return keywords
