"""Tells whether a field that a record lacks has a value all the same, as fields of Protocol Buffers do."""

from __future__ import annotations

from typing import Final

from schemactl.schema.types import Properties, Schema

PROTO_SYNTAX: Final = "x-proto-syntax"
"""The hint of a schema with the syntax of its Protocol Buffers file: ``proto3``, or the year of an edition.

In a message of proto3 or an edition no field is required: one that is missing has the default value of its type. proto2
and a feature of editions have required fields: schemas with them have no such hint.
https://protobuf.dev/programming-guides/field_presence
"""


def has_implicit_presence(schema: Schema, properties: Properties) -> bool:
    """Return whether records need no value for a column that may not be null, and readers find one nevertheless."""
    return has_implicit_fields(schema) and type(properties.get("x-id")) is int


def has_implicit_fields(schema: Schema) -> bool:
    """Return whether columns of a schema contain messages without required fields."""
    return isinstance(schema.extensions.get(PROTO_SYNTAX), str)
