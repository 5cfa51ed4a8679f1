"""Protocol Buffers: a message of proto3 for each table; hints stand in comments ``// x-dlt: {...}`` above.

https://protobuf.dev/programming-guides/proto3. The numbers of fields are those of ``x-id``, where columns state one,
else they follow the order of the columns, which dlt only adds to.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from schemactl.errors import InputError, Location
from schemactl.formats._fields import HINTS, Codec, Field, fields_of, losses_of, note
from schemactl.formats._losses import Document, Loss
from schemactl.formats._proto_text import Message, ProtoField, ProtoFile, parse_proto
from schemactl.formats._tables import Record, data_tables, record, schema_hints, schema_of, table_hints
from schemactl.formats._tree import Source
from schemactl.schema.expansion import Expansion, TooManyFieldsError
from schemactl.schema.types import DataType, Schema

ENDINGS: Final = (".proto",)

SCHEMA: Final = f"{HINTS}-schema"
"""The comment of the file: what the schema states beside its tables."""

NAME: Final = f"{HINTS}-name"
"""The comment of a message whose table has a name that no message can have."""

_VALUE: Final = "google.protobuf.Value"
_TYPES: Final = {
    DataType.TEXT: "string", DataType.DOUBLE: "double", DataType.BOOL: "bool", DataType.BINARY: "bytes",
    DataType.TIMESTAMP: "google.protobuf.Timestamp", DataType.BIGINT: "int64", DataType.JSON: _VALUE,
    DataType.DECIMAL: "string", DataType.WEI: "string", DataType.DATE: "string", DataType.TIME: "string",
}  # fmt: skip
_SCALARS: Final[dict[str, dict[str, Any]]] = {
    "string": {"data_type": "text"}, "double": {"data_type": "double"}, "float": {"data_type": "double"},
    "bool": {"data_type": "bool"}, "bytes": {"data_type": "binary"},
    **{name: {"data_type": "bigint"} for name in ("int64", "sint64", "sfixed64", "uint32", "fixed32")},
    **{name: {"data_type": "bigint", "precision": 32} for name in ("int32", "sint32", "sfixed32")},
    **{name: {"data_type": "wei"} for name in ("uint64", "fixed64")},
}  # fmt: skip
_KNOWN: Final[dict[str, dict[str, Any]]] = {
    "google.protobuf.Timestamp": {"data_type": "timestamp"},
    "google.protobuf.StringValue": {"data_type": "text"}, "google.protobuf.BytesValue": {"data_type": "binary"},
    "google.protobuf.BoolValue": {"data_type": "bool"}, "google.protobuf.Int64Value": {"data_type": "bigint"},
    "google.protobuf.Int32Value": {"data_type": "bigint", "precision": 32},
    "google.protobuf.UInt32Value": {"data_type": "bigint"}, "google.protobuf.UInt64Value": {"data_type": "wei"},
    "google.protobuf.DoubleValue": {"data_type": "double"}, "google.protobuf.FloatValue": {"data_type": "double"},
    "google.protobuf.Duration": {"data_type": "text"}, "google.type.Date": {"data_type": "date"},
    "google.type.TimeOfDay": {"data_type": "time"}, "google.type.Decimal": {"data_type": "decimal"},
}  # fmt: skip
_ANY: Final = (_VALUE, "google.protobuf.Struct", "google.protobuf.ListValue", "google.protobuf.Any")

_NAME: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_USUAL: Final = re.compile("[a-z][a-z0-9]*(_[a-z][a-z0-9]*)*", re.ASCII)
"""Names that differ have different names in JSON."""

_LAST: Final = 2**29 - 1
_RESERVED: Final = range(19000, 20000)


def recognises(text: str) -> bool:
    """Return whether a text looks as a ``.proto`` file."""
    return re.search(r"^\s*message\s+\w+\s*\{", text, re.MULTILINE) is not None


@dataclass(frozen=True, slots=True)
class Native:
    """A field of a message; the type is a name, values of an enum, or fields of a message.

    Attributes:
        unknown: the name of a type that the file does not define, in whose place any JSON stands.
        number: of a field in a file of others, which the schema keeps; no part of what the field is.
    """

    label: str
    type: str | tuple[str, ...] | tuple[tuple[str, Native], ...]
    comment: str = ""
    unknown: str = ""
    number: int | None = dataclasses.field(default=None, compare=False)


def write(schema: Schema, path: str | None = None) -> str:  # noqa: ARG001 - one form for all endings
    """Return a file of proto3 with a message for each table of a schema."""
    messages = []
    for table in data_tables(schema):
        fields = fields_of(table)
        body = list(_lines(fields, {field.name: CODEC.hints(field) for field in fields}))
        hints = table_hints(table)
        name = _safe(table.name)
        above = [
            *_comment(table.properties.get("description") or ""),
            *([f"// {NAME}: {json.dumps(table.name, ensure_ascii=False)}"] if name != table.name else []),
            *([_hint_line(hints)] if hints else []),
        ]
        messages.append("\n".join([*above, f"message {name} {{", *(f"  {line}" for line in body), "}"]))
    body_text = "\n\n".join(messages)
    imports = [
        f'import "google/protobuf/{file}.proto";'
        for file, name in (("struct", _VALUE), ("timestamp", _TYPES[DataType.TIMESTAMP]))
        if f"{name} " in body_text or f"{name}>" in body_text
    ]
    head = [f"// {SCHEMA}: {json.dumps(schema_hints(schema), ensure_ascii=False)}", 'syntax = "proto3";', ""]
    parts = ["\n".join([*head, f"package {_safe(schema.name)};"]), "\n".join(imports), body_text]
    return "\n\n".join(part for part in parts if part) + "\n"


def _hint_line(hints: dict[str, Any]) -> str:
    return f"// {HINTS}: {json.dumps(hints, ensure_ascii=False)}"


def _comment(text: str) -> list[str]:
    return [f"// {line}" if line else "//" for line in text.split("\n")] if text else []


def _safe(name: str) -> str:
    safe = re.sub("[^A-Za-z0-9_]", lambda found: f"_x{ord(found.group()):x}_", name)
    return safe if _NAME.fullmatch(safe) else f"_{safe}"


def _numbers(fields: Sequence[Field]) -> dict[str, int]:
    stated: dict[str, int] = {}
    for field in fields:
        number = field.properties.get("x-id")
        if not isinstance(number, int) or isinstance(number, bool) or not 0 < number <= _LAST:
            continue
        if number not in _RESERVED and number not in stated.values():
            stated[field.name] = number
    taken = {*stated.values(), *_RESERVED}
    free = (number for number in range(1, _LAST) if number not in taken)
    return {field.name: stated[field.name] if field.name in stated else next(free) for field in fields}


def _lines(fields: Sequence[Field], hints: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of the body of a message, nested messages before the fields that they describe."""
    numbers = _numbers(fields)
    identifiers = _identifiers(field.name for field in fields)
    taken = {*identifiers.values()}
    # One name of its own in JSON may be what another field is called there by default.
    is_usual = all(name == made and _USUAL.fullmatch(name) for name, made in identifiers.items())
    for field in fields:
        name, native = field.name, _write(field)
        of = native.type
        if not isinstance(of, str):
            inner = "".join(part[:1].upper() + part[1:] for part in identifiers[name].split("_")) or "Record"
            inner = inner if _NAME.fullmatch(inner) else f"M{inner}"
            while inner in taken:
                inner += "Record"
            taken.add(inner)
            below = field.element or field.values or field
            yield f"message {inner} {{"
            yield from (f"  {line}" for line in _lines(below.fields, {}))
            yield "}"
            of = inner
        yield from _comment(native.comment)
        if hints.get(name):
            yield _hint_line(hints[name])
        if of.startswith("google."):
            of = f".{of}"  # or else a column `google` would be looked into
        typed = f"map<string, {of}>" if native.label == "map" else f"{native.label} {of}".strip()
        option = "" if is_usual else f" [json_name = {json.dumps(name, ensure_ascii=False)}]"
        yield f"{typed} {identifiers[name]} = {numbers[name]}{option};"


def _identifiers(names: Iterable[str]) -> dict[str, str]:
    """Return names as proto permits them; their default names in JSON must differ, whatever ``json_name`` says.

    Usual names stay as they are.
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(names, key=lambda name: _USUAL.fullmatch(name) is None):
        made = _safe(name)
        while made.replace("_", "").lower() in taken:
            made += "_x"
        found[name] = made
        taken.add(made.replace("_", "").lower())
    return found


def _write(field: Field) -> Native:
    comment = field.description or ""
    if field.fields:
        return Native("optional" if field.nullable else "", _inner(field), comment)
    # A list or a map of lists or maps is no field: it needs a message of its own.
    below = field.element or field.values
    if below is not None and below.element is None and below.values is None:
        label = "repeated" if field.element else "map"
        return Native(label, _inner(below) if below.fields else _scalar_type(below), comment)
    return Native("optional" if field.nullable else "", _scalar_type(field), comment)


def _inner(field: Field) -> tuple[tuple[str, Native], ...]:
    return tuple((each.name, _write(each)) for each in field.fields)


def _scalar_type(field: Field) -> str:
    if field.data_type is DataType.BIGINT and (field.precision or 64) <= 32:
        return "int32"
    return _TYPES[field.data_type]


def read(text: str, path: str) -> Document:
    """Return the schema of the messages of a file.

    What ``write`` made comes back as its tables. Of others each message is a table that no other one has as a field.
    """
    source = Source(path, text)
    file = parse_proto(source)
    _, hints = _parted(file.comment, SCHEMA, path)
    is_own = f"// {SCHEMA}:" in text
    if not file.root.messages and not is_own:
        raise source.refuse("this file has no message", 0)
    resolver = _Resolver(file, Expansion(Location(path), len(text)), is_own=is_own)
    used = frozenset[str]() if is_own else resolver.used()
    tables = [each for each in file.root.messages.values() if each.name not in used]
    records, losses = [], list[Loss]()
    for message in tables or file.root.messages.values():
        table, lost = _record(message, resolver, path)
        records.append(table)
        losses += lost
    return Document(schema_of(records, hints, path), tuple(losses))


def _parted(comment: str, key: str, path: str) -> tuple[str, Any]:
    """Return a comment without the line of a key, and the JSON that stands there; None where there is none."""
    kept, found = [], None
    for line in comment.split("\n"):
        if line.startswith(f"{key}: "):
            try:
                found = json.loads(line.removeprefix(f"{key}: "))
            except ValueError as error:
                raise InputError(f"the comment `{key}` is not JSON", at=Location(path)) from error
        else:
            kept.append(line)
    return "\n".join(kept), found


def _record(message: Message, resolver: _Resolver, path: str) -> tuple[Record, list[Loss]]:
    comment, hints = _parted(message.comment, HINTS, path)
    description, name = _parted(comment, NAME, path)
    table = name if isinstance(name, str) else message.name
    columns, losses = [], [Loss(table, each) for each in message.unread]
    for each in message.fields:
        column = each.options.get("json_name", each.name)
        losses += _unread(f"{table}.{column}", each)
        own_comment, more = _parted(each.comment, HINTS, path)
        native, lost = resolver.column(replace(each, comment=own_comment), message)
        losses += (Loss(f"{table}.{column}", *unread) for unread in lost)
        properties = CODEC.restored(column, native, more, path)
        losses += losses_of([_read(column, native)], table)
        if each.options.get("deprecated") == "true":
            properties.setdefault("x-deprecated", True)
        columns.append((column, properties))
    return record(table, columns, description, hints), losses


def _unread(place: str, field: ProtoField) -> Iterator[Loss]:
    for name, value in field.options.items():
        if name not in ("json_name", "deprecated", "packed"):
            yield Loss(place, name, value)
    if field.label == "oneof":
        yield Loss(place, "oneof")


class _Resolver:
    """Finds the messages and enums that fields name."""

    def __init__(self, file: ProtoFile, expansion: Expansion, *, is_own: bool) -> None:
        self._file = file
        self._expansion = expansion
        self._is_own = is_own

    def used(self) -> frozenset[str]:
        """Return the names of messages at the top that fields of other messages have as their type."""
        found: set[str] = set()

        def visit(message: Message, scopes: tuple[Message, ...]) -> None:
            for each in message.fields:
                target = self._find(each.type, scopes)
                if isinstance(target, Message) and target is not scopes[0]:
                    found.add(target.name)
            for inner in message.messages.values():
                visit(inner, (*scopes, inner))

        for message in self._file.root.messages.values():
            visit(message, (message,))
        return frozenset(found)

    def column(self, field: ProtoField, message: Message) -> tuple[Native, tuple[tuple[str, str, None], ...]]:
        """Return a field of a table, and any JSON in place of too many nested fields, with what is lost by that."""
        self._expansion.start_column()
        try:
            return self._native(field, (message,), ()), ()
        except TooManyFieldsError as error:
            self._expansion.start_column()
            return self._native(replace(field, type=_VALUE), (message,), ()), (error.lost,)

    def _native(self, field: ProtoField, scopes: tuple[Message, ...], seen: tuple[int, ...]) -> Native:
        """Return a field with the message that it has as its type; one that holds itself is any JSON."""
        of = field.type.removeprefix(".")
        known: Any = of
        unknown = ""
        is_named = of not in _SCALARS and of not in _KNOWN and of not in _ANY
        target = self._find(field.type, scopes) if is_named else None
        symbols = target if isinstance(target, list) else ()
        self._expansion.count(len(seen), field.name, field.comment, *field.options.values(), *symbols)
        if is_named:
            if isinstance(target, Message):
                known = _VALUE
                if id(target) not in seen and all(target is not each for each in scopes) and target.fields:
                    below = (*scopes, target), (*seen, id(target))
                    names = (each.options.get("json_name", each.name) for each in target.fields)
                    known = tuple(zip(names, (self._native(each, *below) for each in target.fields), strict=True))
            else:
                known = tuple(target) if target else _VALUE
                unknown = of if target is None else ""
        # Of others a message may be left out; in our files `optional` says so.
        is_enum = isinstance(known, tuple) and all(isinstance(each, str) for each in known)
        has_default = self._is_own or is_enum or (isinstance(known, str) and known in _SCALARS)
        is_there = field.label == "required" or (field.label == "" and has_default)
        plain = field.label if field.label in ("repeated", "map") else "" if is_there else "optional"
        return Native(plain, known, field.comment, unknown, None if self._is_own else field.number)

    def _find(self, name: str, scopes: tuple[Message, ...]) -> Message | list[str] | None:
        plain = name.removeprefix(".").removeprefix(f"{self._file.package}." if self._file.package else "")
        for scope in (*reversed(scopes), self._file.root):
            at: Message | None = scope
            *way, last = plain.split(".")
            for part in way:
                at = at.messages.get(part) if at else None
            if at is not None and last in at.messages:
                return at.messages[last]
            if at is not None and last in at.enums:
                return at.enums[last]
        return None


def _read(name: str, native: Native) -> Field:
    described = {**note(native.comment), **({} if native.number is None else {"x-id": native.number})}
    if native.label in ("repeated", "map"):
        below = _read("element", Native("", native.type, unknown=native.unknown))
        if native.label == "repeated":
            return Field(name, {"data_type": "json", "nullable": True, **described}, element=below)
        return Field(name, {"data_type": "json", "nullable": True, **described}, values=replace(below, name="value"))
    stated: dict[str, Any] = {"nullable": native.label == "optional", **described}
    match native.type:
        case str(of):
            lost = ("type", {"type": native.unknown}, {"data_type": "json"})
            properties = {**_SCALARS.get(of, _KNOWN.get(of, {"data_type": "json"})), **stated}
            return Field(name, properties, unread=(lost,) if native.unknown else ())
        case (str(), *_) as symbols:
            return Field(name, {"data_type": "text", **stated, "x-enum": list(symbols)})
    fields = tuple(_read(each[0], each[1]) for each in native.type if isinstance(each, tuple))
    return Field(name, {"data_type": "json", **stated}, fields=fields)


CODEC: Final = Codec(_write, _read)
