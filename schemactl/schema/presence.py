"""Tells whether a field that a record lacks has a value all the same, as fields of proto3 do."""

from __future__ import annotations

from typing import Final

from schemactl.schema.types import Properties, Schema

PROTO_SYNTAX: Final = "x-proto-syntax"
"""The hint of a schema with the syntax of the Protocol Buffers file that it comes from."""

IMPLICIT_PRESENCE: Final = "proto3"
"""The syntax in which a message that lacks a field without a label means the default value of its type.

https://protobuf.dev/programming-guides/field_presence
"""


def has_implicit_presence(schema: Schema, properties: Properties) -> bool:
    """Return whether records need no value for a column that may not be null, and readers find one nevertheless."""
    return has_implicit_fields(schema) and type(properties.get("x-id")) is int


def has_implicit_fields(schema: Schema) -> bool:
    """Return whether the fields inside columns of a schema are those of messages of proto3."""
    return schema.extensions.get(PROTO_SYNTAX) == IMPLICIT_PRESENCE
