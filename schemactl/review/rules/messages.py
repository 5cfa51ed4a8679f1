"""Rules about the Protocol Buffers messages of columns: C220."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from schemactl.review.hints import PROTO_ENUM, PROTO_KEY, PROTO_TYPE, hint_match, is_unset
from schemactl.review.nested_fields import properties_of, value_hints
from schemactl.review.rule import BREAKS_ALL, BREAKS_NOBODY, Comparison, Direction, Matches, Rule
from schemactl.schema.types import Properties

_VARINT: Final = "varint"
_ENCODINGS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("int32", "int64", "uint32", "uint64", "bool"), _VARINT),
    **dict.fromkeys(("sint32", "sint64"), "zigzag"),
    **dict.fromkeys(("fixed32", "sfixed32"), "4 octets"),
    **dict.fromkeys(("fixed64", "sfixed64"), "8 octets"),
    **dict.fromkeys(("string", "bytes"), "octets"),
}
"""The forms in which messages carry scalars; types of one form are compatible
(https://protobuf.dev/programming-guides/proto3/#updating)."""
_USUAL: Final = {
    "bigint": "int64", "bool": "bool", "double": "double", "binary": "bytes", "timestamp": "google.protobuf.Timestamp",
}  # fmt: skip
"""The types that an export writes for columns without `x-proto-type`; the default is `string`."""


def find_wire_type_changed(comparison: Comparison) -> Matches:
    """Yield each column and field that messages carry as another type, or another number of a value of its enum."""
    for change in value_hints(comparison, PROTO_TYPE, PROTO_KEY):
        before, after = properties_of(comparison, change)
        names = [_declared_type(properties, change.name) for properties in (before, after)]
        forms = set(map(_form, names, (before, after)))
        # Of items of a list the usual type is not looked up.
        is_same = len(forms) == 1 or forms in ({None, _VARINT}, {None, "octets"})
        type_label = "type" if change.name == PROTO_TYPE else "type of keys"
        old, new = (f"the {type_label} `{name}`" if name else f"its usual {type_label}" for name in names)
        ending = ", which has the same encoding" if is_same else ""
        impact = BREAKS_NOBODY if is_same else None
        yield hint_match(change, f"has {new} in messages instead of {old}{ending}", impact)
    for change in value_hints(comparison, PROTO_ENUM):
        sides = (change.before, change.after)
        before_numbers, after_numbers = (side if isinstance(side, Mapping) else {} for side in sides)
        for value, number in before_numbers.items():
            if value in after_numbers and after_numbers[value] != number:
                phrase = f"has the number {after_numbers[value]} for `{value}` in messages instead of {number}"
                yield hint_match(change, phrase, aspect=value)


def _declared_type(properties: Properties, hint: str) -> str | None:
    """Return the type that a field or its keys have in messages; None for the usual one of list items."""
    declared = properties.get(hint)
    if not is_unset(declared):
        return str(declared)
    data_type = str(properties.get("data_type"))
    return "string" if hint == PROTO_KEY else None if data_type == "json" else _USUAL.get(data_type, "string")


def _form(declared_type: str | None, properties: Properties) -> str | None:
    """Return the form in which messages carry a type; an enum is an integer there."""
    is_enum = declared_type == properties.get(PROTO_TYPE) and isinstance(properties.get(PROTO_ENUM), Mapping)
    return _VARINT if is_enum else _ENCODINGS.get(declared_type or "", declared_type)


C220 = Rule(
    title="type in messages changed",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="Protocol Buffers messages encode a field by its declared type: an `int32` that is read as a `sint32` is "
    "another value, and a reader that expects a `fixed64` fails on a `double` or gets another number. `x-proto-type`, "
    "`x-proto-key` and `x-proto-enum` hold the declarations of a `.proto` file, and an export writes them again. "
    "Types with the same encoding, such as `int32` and `uint64`, or `string` and `bytes`, are compatible.",
    fix="Keep the declared type. To use another type, add a field with a new number, and reserve the old number once "
    "no one reads it.",
    find=find_wire_type_changed,
)
