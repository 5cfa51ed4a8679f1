"""Protocol Buffers: a proto3 message for each table; hints are in comments ``// x-dlt: {...}`` above.

https://protobuf.dev/programming-guides/proto3. Fields have the number in ``x-id``, or else follow the order of the
columns, which dlt only appends to. An exported file must be able to read old messages: if a field's type differs from
the default for its column's type, the hint ``x-proto-type`` contains it.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import count, starmap
from typing import Any, Final

from schemactl.errors import InputError, Location
from schemactl.formats._fields import Codec, losses_of
from schemactl.formats._losses import Document, Loss
from schemactl.formats._proto_text import Message, ProtoEnum, ProtoField, ProtoFile, Statement, parse_proto
from schemactl.formats._tables import (
    Record,
    data_tables,
    record,
    schema_hints,
    schema_of,
    table_hints,
    table_properties,
)
from schemactl.schema.expansion import Expansion, TooManyFieldsError
from schemactl.schema.presence import PROTO_SYNTAX
from schemactl.schema.types import Column, DataType, Schema, Table
from schemactl.trees.nodes import Source
from schemactl.type_systems.fields import HINTS, Field, field_of, fields_of, note, properties_of

ENDINGS: Final = (".proto",)

SCHEMA: Final = f"{HINTS}-schema"
"""The comment of the file: the schema-level properties."""

NAME: Final = f"{HINTS}-name"
"""The comment of a message whose table has a name that no message can have."""

TYPE: Final = "x-proto-type"
"""The hint with the declared type of a field, of its items or values: a scalar, a message of Google's, or an enum."""

ENUM: Final = "x-proto-enum"
"""The hint with the numbers of the values of the enum that ``x-proto-type`` names."""

KEY: Final = "x-proto-key"
"""The hint with the type of a map's keys."""

RESERVED_HINT: Final = "x-proto-reserved"
"""The hint of a table or an object with the numbers and names that no field may have."""

PACKAGE: Final = "x-proto-package"
"""The hint of a schema with the package of its messages."""

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
_PROPERTIES: Final = {**_SCALARS, **_KNOWN, **{name: {"data_type": "json"} for name in _ANY}}
_FILES: Final = {
    **{name: "google/protobuf/wrappers.proto" for name in _KNOWN if name.endswith("Value")},
    **dict.fromkeys(_ANY, "google/protobuf/struct.proto"), "google.protobuf.Any": "google/protobuf/any.proto",
    "google.protobuf.Timestamp": "google/protobuf/timestamp.proto",
    "google.protobuf.Duration": "google/protobuf/duration.proto", "google.type.Date": "google/type/date.proto",
    "google.type.TimeOfDay": "google/type/timeofday.proto", "google.type.Decimal": "google/type/decimal.proto",
}  # fmt: skip
"""The files that define messages of Google's."""
_KEYS: Final = frozenset((
    "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64", "bool",
    "string",
))  # fmt: skip

_NAME: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_USUAL: Final = re.compile("[a-z][a-z0-9]*(_[a-z][a-z0-9]*)*", re.ASCII)
"""Names that differ have different names in JSON."""

_LAST: Final = 2**29 - 1
_RESERVED: Final = range(19000, 20000)
_RANGE: Final = re.compile(r"\s*(\d{1,10})\s*(?:to\s+(\d{1,10}|max)\s*)?", re.ASCII)
_RESERVED_NAMES: Final = re.compile(r"""["']\w+["'](?:\s*,\s*["']\w+["'])*""", re.ASCII)
_PACKAGE_NAME: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


def recognises(text: str) -> bool:
    """Return whether a text looks as a ``.proto`` file."""
    return re.search(r"^\s*message\s+\w+\s*\{", text, re.MULTILINE) is not None


@dataclass(frozen=True, slots=True)
class Enum:
    """An enum by its name, with the numbers of its values."""

    name: str
    values: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Native:
    """A field of a message; the type is a name, an enum, or fields of a message.

    Attributes:
        key: the type of the keys of a map.
        reserved: numbers and names that no field of a message may have.
        lost_type: the name of a type that is read as any JSON: the file does not define it, or it holds itself.
        number: the number of a field in a foreign file, which the schema keeps; ignored in comparisons.
    """

    label: str
    type: str | Enum | tuple[tuple[str, Native], ...]
    comment: str = ""
    key: str = "string"
    reserved: tuple[str, ...] = ()
    lost_type: str = ""
    number: int | None = dataclasses.field(default=None, compare=False)


def write(schema: Schema, path: str | None = None) -> str:  # noqa: ARG001 - one form for all endings
    """Return a file of proto3 with a message for each table of a schema."""
    messages = []
    for table in data_tables(schema):
        fields = fields_of(table)
        reserved = _reserved(table)
        body = list(_lines(fields, {field.name: CODEC.hints(field) for field in fields}, reserved))
        native = table_properties(table.name, table.properties.get("description"))
        hints = table_hints(table, native | ({RESERVED_HINT: list(reserved)} if reserved else {}))
        name = _safe(table.name)
        heading = [
            *_comment(table.properties.get("description") or ""),
            *([f"// {NAME}: {json.dumps(table.name, ensure_ascii=False)}"] if name != table.name else []),
            *([_hint_line(hints)] if hints else []),
        ]
        messages.append("\n".join([*heading, f"message {name} {{", *(f"  {line}" for line in body), "}"]))
    body_text = "\n\n".join(messages)
    files = {file: None for name, file in _FILES.items() if f".{name} " in body_text or f".{name}>" in body_text}
    imports = [f'import "{file}";' for file in files]
    head = [f"// {SCHEMA}: {json.dumps(schema_hints(schema), ensure_ascii=False)}", 'syntax = "proto3";', ""]
    package = schema.extensions.get(PACKAGE)
    is_package = isinstance(package, str) and _PACKAGE_NAME.fullmatch(package)
    sections = ["\n".join([*head, f"package {package if is_package else _safe(schema.name)};"])]
    sections += ["\n".join(imports), body_text]
    return "\n\n".join(section for section in sections if section) + "\n"


def _hint_line(hints: dict[str, Any]) -> str:
    return f"// {HINTS}: {json.dumps(hints, ensure_ascii=False)}"


def _comment(text: str) -> list[str]:
    return [f"// {line}" if line else "//" for line in text.split("\n")] if text else []


def _safe(name: str) -> str:
    safe = re.sub("[^A-Za-z0-9_]", lambda match: f"_x{ord(match.group()):x}_", name)
    return safe if _NAME.fullmatch(safe) else f"_{safe}"


def _reserved(holder: Table | Field) -> tuple[str, ...]:
    """Return the statements that reserve numbers or names; invalid ones are left out."""
    reserved_hint = holder.properties.get(RESERVED_HINT)
    texts = [text for text in reserved_hint if isinstance(text, str)] if isinstance(reserved_hint, list) else []
    return tuple(text for text in texts if _reserved_ranges(text) is not None or _RESERVED_NAMES.fullmatch(text))


def _reserved_ranges(text: str) -> list[range] | None:
    """Return the numbers that a statement reserves; None if it reserves names."""
    ranges = []
    for range_text in text.split(","):
        match = _RANGE.fullmatch(range_text)
        if match is None:
            return None
        last = _LAST if match[2] == "max" else int(match[2] or match[1])
        ranges.append(range(int(match[1]), last + 1))
    return ranges


def _numbers(fields: Sequence[Field], reserved: Sequence[range]) -> dict[str, int]:
    declared_numbers: dict[str, int] = {}
    for field in fields:
        number = field.properties.get("x-id")
        if not isinstance(number, int) or isinstance(number, bool) or not 0 < number <= _LAST:
            continue
        if number not in _RESERVED and number not in declared_numbers.values():
            declared_numbers[field.name] = number
    unused_numbers = _free_numbers({*declared_numbers.values()}, (_RESERVED, *reserved))
    try:
        names = [field.name for field in fields]
        return {name: declared_numbers[name] if name in declared_numbers else next(unused_numbers) for name in names}
    except StopIteration:
        message = "the numbers that are not reserved are too few for the fields"
        raise InputError(message, hint=f"shorten `{RESERVED_HINT}`") from None


def _free_numbers(used_numbers: Set[int], reserved: Sequence[range]) -> Iterator[int]:
    number = 1
    while number <= _LAST:
        numbers = next((numbers for numbers in reserved if number in numbers), None)
        if numbers is not None:
            number = numbers.stop
            continue
        if number not in used_numbers:
            yield number
        number += 1


def _lines(fields: Sequence[Field], hints: dict[str, dict[str, Any]], reserved: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the body of a message, messages and enums in it before the fields that they describe."""
    reserved_numbers = [numbers for text in reserved for numbers in _reserved_ranges(text) or ()]
    numbers = _numbers(fields, reserved_numbers)
    identifiers = _identifiers(field.name for field in fields)
    taken_names = {*identifiers.values()}
    yield from (f"reserved {text};" for text in reserved if _is_free(text, numbers.values(), taken_names))
    # One custom JSON name may equal the default JSON name of another field.
    is_usual = all(name == identifier and _USUAL.fullmatch(name) for name, identifier in identifiers.items())
    enums: dict[Enum, str] = {}
    for field in fields:
        name, native = field.name, _write(field)
        match native.type:
            case str(type_name):
                # Without the dot, a column `google` would be looked into.
                declared_type = f".{type_name}" if type_name.startswith("google.") else type_name
            case Enum() as enum:
                if enum not in enums:
                    enums[enum], lines = _enum_lines(enum, taken_names)
                    yield from lines
                declared_type = enums[enum]
            case _:
                declared_type = _message_name(identifiers[name], taken_names)
                child = field.element or field.values or field
                yield f"message {declared_type} {{"
                yield from (f"  {line}" for line in _lines(child.fields, {}, native.reserved))
                yield "}"
        yield from _comment(native.comment)
        if hints.get(name):
            yield _hint_line(hints[name])
        is_map = native.label == "map"
        field_type = f"map<{native.key}, {declared_type}>" if is_map else f"{native.label} {declared_type}".strip()
        option = "" if is_usual else f" [json_name = {json.dumps(name, ensure_ascii=False)}]"
        yield f"{field_type} {identifiers[name]} = {numbers[name]}{option};"


def _is_free(reserved: str, numbers: Iterable[int], names: Iterable[str]) -> bool:
    """Return whether no field has a number or a name that a statement reserves."""
    ranges = _reserved_ranges(reserved)
    if ranges is None:
        return not any(f'"{name}"' in reserved for name in names)
    return not any(number in reserved_range for number in numbers for reserved_range in ranges)


def _message_name(identifier: str, taken_names: set[str]) -> str:
    """Return a name for the message that a field has as its type, and take it."""
    name = "".join(word[:1].upper() + word[1:] for word in identifier.split("_")) or "Record"
    name = name if _NAME.fullmatch(name) else f"M{name}"
    while name in taken_names:
        name += "Record"
    taken_names.add(name)
    return name


def _enum_lines(enum: Enum, taken_names: set[str]) -> tuple[str, list[str]]:
    """Return the type of fields of an enum, and the lines that declare it; register its names.

    The values of enums are names in their message: if the message already has such a name, the enum gets a separate
    message.
    """
    numbers = [number for _, number in enum.values]
    has_aliases = len({*numbers}) < len(numbers)
    values = [f"  {value} = {number};" for value, number in enum.values]
    lines = [f"enum {enum.name} {{", *(["  option allow_alias = true;"] if has_aliases else []), *values, "}"]
    names = {enum.name, *(value for value, _ in enum.values)}
    if taken_names.isdisjoint(names):
        taken_names |= names
        return enum.name, lines
    scope = _message_name(f"{enum.name}_scope", taken_names)
    return f"{scope}.{enum.name}", [f"message {scope} {{", *(f"  {line}" for line in lines), "}"]


def _identifiers(names: Iterable[str]) -> dict[str, str]:
    """Return names as proto permits them; their default names in JSON must differ, whatever ``json_name`` says.

    Usual names stay as they are.
    """
    identifiers: dict[str, str] = {}
    folded_names: set[str] = set()
    for name in sorted(names, key=lambda name: _USUAL.fullmatch(name) is None):
        identifier = _safe(name)
        while identifier.replace("_", "").lower() in folded_names:
            identifier += "_x"
        identifiers[name] = identifier
        folded_names.add(identifier.replace("_", "").lower())
    return identifiers


def _write(field: Field) -> Native:
    comment, hints = field.description or "", field.properties
    reserved = _reserved(field)
    label = "optional" if field.nullable else ""
    if field.fields:
        return Native(label, _inner(field), comment, reserved=reserved)
    # A list or a map of lists or maps cannot be a field: it needs a separate message.
    below = field.element or field.values
    if below is not None and below.element is None and below.values is None:
        of = _inner(below) if below.fields else _declared_type(below, hints)
        if field.element:
            return Native("repeated", of, comment, reserved=reserved)
        key = hints.get(KEY)
        return Native("map", of, comment, key if isinstance(key, str) and key in _KEYS else "string", reserved)
    return Native(label, _declared_type(field, hints), comment)


def _inner(field: Field) -> tuple[tuple[str, Native], ...]:
    return tuple((child.name, _write(child)) for child in field.fields)


def _declared_type(field: Field, hints: Mapping[str, Any]) -> str | Enum:
    """Return the type that hints state for a field, unless the field has another type by now; else the usual one."""
    name, numbers = hints.get(TYPE), hints.get(ENUM)
    if not isinstance(name, str):
        return _scalar_type(field)
    if isinstance(numbers, Mapping):
        enum = _enum(name, numbers, hints.get("x-enum"))
        return _scalar_type(field) if enum is None or field.data_type is not DataType.TEXT else enum
    described = _PROPERTIES.get(name, {})
    # Of items and values `x-spark-type` says less than the properties of a column.
    spellings = (described, _item_properties(described))
    sizes = ("data_type", "precision", "scale")
    is_same = any(all(properties.get(key) == field.properties.get(key) for key in sizes) for properties in spellings)
    return name if is_same else _scalar_type(field)


def _item_properties(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the properties that an item of a list has after a schema has kept the list."""
    items = properties_of(Field("items", {"data_type": "json"}, element=Field("element", properties)))
    element = field_of(Column("items", items)).element
    return {} if element is None else element.properties


def _enum(name: str, numbers: Mapping[str, Any], values: Any) -> Enum | None:
    """Return an enum with the numbers that its values have; a new value gets the next number.

    None if a value is not a name, or a number is not a number of an enum.
    """
    symbols = values if isinstance(values, list) and values else list(numbers)
    if not _NAME.fullmatch(name) or not all(isinstance(symbol, str) and _NAME.fullmatch(symbol) for symbol in symbols):
        return None
    if not all(type(number) is int and -(2**31) <= number < 2**31 for number in numbers.values()):
        return None
    new = count(max(numbers.values(), default=-1) + 1)
    numbered = [(symbol, numbers[symbol] if symbol in numbers else next(new)) for symbol in dict.fromkeys(symbols)]
    # The first value of an enum of proto3 is 0.
    zero = [pair for pair in numbered if pair[1] == 0] or [(f"{name}_UNSPECIFIED".upper(), 0)]
    return Enum(name, (*zero, *(pair for pair in numbered if pair[1] != 0)))


def _scalar_type(field: Field) -> str:
    if field.data_type is DataType.BIGINT and (field.precision or 64) <= 32:
        return "int32"
    return _TYPES[field.data_type]


def read(text: str, path: str) -> Document:
    """Return the schema of the messages of a file.

    A file from ``write`` returns its tables. In other files, each message is a table unless another message has it as a
    field.
    """
    source = Source(path, text)
    file = parse_proto(source)
    _, hints = _parted(file.comment, SCHEMA, path)
    is_own = f"// {SCHEMA}:" in text
    if not file.root.messages and not is_own:
        raise source.refuse("this file declares no message", 0)
    resolver = _Resolver(file, Expansion(Location(path), len(text)), is_own=is_own)
    records, losses = [], [_statement_loss("", statement) for statement in file.root.unread]
    tables = list(file.root.messages.values()) if is_own else resolver.tables()
    for message in tables:
        table, lost = _record(message, resolver, path)
        records.append(table)
        losses += lost
    losses += resolver.losses(file.root, "", tables)
    if not is_own:
        hints = {PACKAGE: file.package} if file.package else {}
        may_require = file.syntax == "proto2" or "LEGACY_REQUIRED" in text
        hints |= {} if may_require else {PROTO_SYNTAX: file.syntax}
    return Document(schema_of(records, hints, path), tuple(losses))


def _statement_loss(holder: str, statement: Statement) -> Loss:
    """Return the loss of a statement; of one with a body its head."""
    text = statement.text if statement.word not in ("service", "extend") else statement.text.partition("{")[0].rstrip()
    return Loss(holder, statement.word, text or None)


def _parted(comment: str, key: str, path: str) -> tuple[str, Any]:
    """Return a comment without the line of a key, and the JSON in that line, if any."""
    other_lines, value = [], None
    for line in comment.split("\n"):
        if line.startswith(f"{key}: "):
            try:
                value = json.loads(line.removeprefix(f"{key}: "))
            except ValueError as error:
                raise InputError(f"the comment `{key}` is not JSON", at=Location(path)) from error
        else:
            other_lines.append(line)
    return "\n".join(other_lines), value


def _record(message: Message, resolver: _Resolver, path: str) -> tuple[Record, list[Loss]]:
    comment, hints = _parted(message.comment, HINTS, path)
    description, name = _parted(comment, NAME, path)
    table = name if isinstance(name, str) else message.name
    columns, losses = [], [_statement_loss(table, statement) for statement in message.unread]
    for message_field in message.fields:
        column = message_field.options.get("json_name", message_field.name)
        losses += _unread(f"{table}.{column}", message_field)
        field_comment, field_hints = _parted(message_field.comment, HINTS, path)
        native, lost_facts = resolver.column(replace(message_field, comment=field_comment), message)
        losses += (Loss(f"{table}.{column}", *unread) for unread in lost_facts)
        properties = CODEC.restored(column, native, field_hints, path)
        losses += losses_of([_read(column, native)], table)
        if message_field.options.get("deprecated") == "true":
            properties.setdefault("x-deprecated", True)
        columns.append((column, properties))
    reserved = {RESERVED_HINT: _quote_names(message.reserved)} if message.reserved else {}
    return record(table, columns, description, hints, **reserved), losses


def _quote_names(reserved: Sequence[str]) -> list[str]:
    """Return reserved names in quotes, which editions leave out."""
    return [
        text if _reserved_ranges(text) is not None else re.sub(r"""["']?([A-Za-z_]\w*)["']?""", r'"\1"', text)
        for text in reserved
    ]


def _unread(holder: str, field: ProtoField) -> Iterator[Loss]:
    for name, value in field.options.items():
        if name not in ("json_name", "deprecated", "packed"):
            yield Loss(holder, name, value)
    if field.label == "oneof":
        yield Loss(holder, "oneof")


class _Resolver:
    """Finds the messages and enums that fields name."""

    def __init__(self, file: ProtoFile, expansion: Expansion, *, is_own: bool) -> None:
        self._file = file
        self._expansion = expansion
        self._is_own = is_own
        self._targets = {id(message): {*self._types_in(message, (message,))} for message in file.root.messages.values()}
        self._used = frozenset().union(*self._targets.values())

    def _types_in(self, message: Message, scopes: tuple[Message, ...]) -> Iterator[int]:
        """Yield the identities of messages and enums that fields have as their type, but for that of the table."""
        for field in message.fields:
            target = self._find(field.type, scopes)
            if target is not None and target is not scopes[0]:
                yield id(target)
        for inner in message.messages.values():
            yield from self._types_in(inner, (*scopes, inner))

    def tables(self) -> list[Message]:
        """Return the top-level messages that no field has as its type, and messages that only refer to each other."""
        messages = self._file.root.messages.values()
        waiting = [id(message) for message in messages if not self.is_used(message)]
        tables, reached = {*waiting}, {*waiting}
        while waiting:
            new = self._targets.get(waiting.pop(), set()) - reached
            reached |= new
            waiting += new
        return [message for message in messages if id(message) in tables or id(message) not in reached]

    def is_used(self, of: Message | ProtoEnum) -> bool:
        """Return whether a field has a message or an enum as its type."""
        return id(of) in self._used

    def losses(self, message: Message, message_path: str, tables: Sequence[Message]) -> Iterator[Loss]:
        """Yield the unused messages and enums within a message, and the losses of used ones.

        Losses of ``tables`` themselves are left out.
        """
        for name, inner_message in message.messages.items():
            inner_path = f"{message_path}.{name}".removeprefix(".")
            # In our files a message may be there for the enum in it.
            if not message_path or self.is_used(inner_message) or not inner_message.fields:
                if not any(inner_message is table for table in tables):
                    yield from (_statement_loss(inner_path, statement) for statement in inner_message.unread)
                    for field in inner_message.fields:
                        yield from _unread(f"{inner_path}.{field.name}", field)
                        if field.options.get("deprecated") == "true":
                            yield Loss(f"{inner_path}.{field.name}", "deprecated", True)
                yield from self.losses(inner_message, inner_path, tables)
            else:
                yield Loss(message_path, "message", name)
        for name, enum in message.enums.items():
            if not self.is_used(enum):
                yield Loss(message_path, "enum", name)
                continue
            enum_path = f"{message_path}.{name}".removeprefix(".")
            unread_statements = (statement for statement in enum.unread if not statement.text.startswith("allow_alias"))
            yield from (_statement_loss(enum_path, statement) for statement in unread_statements)

    def column(self, field: ProtoField, message: Message) -> tuple[Native, tuple[tuple[str, str, None], ...]]:
        """Return a field of a table, with JSON in place of too many nested fields, and the resulting losses."""
        self._expansion.start_column()
        try:
            return self._native(field, (message,), ()), ()
        except TooManyFieldsError as error:
            self._expansion.start_column()
            return self._native(replace(field, type=_VALUE), (message,), ()), (error.lost,)

    def _native(self, field: ProtoField, scopes: tuple[Message, ...], message_ids: tuple[int, ...]) -> Native:
        """Return a field with the message of its type; a recursive message is any JSON."""
        type_name = field.type.removeprefix(".")
        kind: Any = type_name
        lost_type = ""
        reserved: tuple[str, ...] = ()
        is_named = type_name not in _SCALARS and type_name not in _KNOWN and type_name not in _ANY
        target = self._find(field.type, scopes) if is_named else None
        symbols = [symbol for symbol, _ in target.values] if isinstance(target, ProtoEnum) else []
        self._expansion.count(len(message_ids), field.name, field.comment, *field.options.values(), *symbols)
        if is_named:
            kind, lost_type = _VALUE, type_name
            if isinstance(target, ProtoEnum) and target.values:
                kind, lost_type = Enum(target.name, target.values), ""
            elif isinstance(target, Message) and target.fields and not self._holds_itself(target, scopes, message_ids):
                inner_scope = (*scopes, target), (*message_ids, id(target))
                names = (child.options.get("json_name", child.name) for child in target.fields)
                kind = tuple(zip(names, (self._native(child, *inner_scope) for child in target.fields), strict=True))
                reserved, lost_type = tuple(_quote_names(target.reserved)), ""
        # In foreign files a message may be absent; in our files `optional` decides.
        has_default = self._is_own or isinstance(kind, Enum) or (isinstance(kind, str) and kind in _SCALARS)
        is_present = field.label == "required" or (field.label == "" and has_default)
        label = field.label if field.label in ("repeated", "map") else "" if is_present else "optional"
        number = None if self._is_own else field.number
        return Native(label, kind, field.comment, field.key, reserved, lost_type, number)

    def _holds_itself(self, message: Message, scopes: tuple[Message, ...], message_ids: tuple[int, ...]) -> bool:
        return id(message) in message_ids or any(message is scope for scope in scopes)

    def _find(self, name: str, scopes: tuple[Message, ...]) -> Message | ProtoEnum | None:
        relative_name = name.removeprefix(".").removeprefix(f"{self._file.package}." if self._file.package else "")
        for scope in (*reversed(scopes), self._file.root):
            message: Message | None = scope
            *outer_names, inner_name = relative_name.split(".")
            for word in outer_names:
                message = message.messages.get(word) if message else None
            if message is not None and inner_name in message.messages:
                return message.messages[inner_name]
            if message is not None and inner_name in message.enums:
                return message.enums[inner_name]
        return None


def _read(name: str, native: Native) -> Field:
    common = {**note(native.comment), **({} if native.number is None else {"x-id": native.number})}
    common |= {RESERVED_HINT: list(native.reserved)} if native.reserved else {}
    if native.label in ("repeated", "map"):
        child = _read("element", Native("", native.type, lost_type=native.lost_type))
        hints = {hint: child.properties[hint] for hint in (TYPE, ENUM) if hint in child.properties}
        hints |= {KEY: native.key} if native.key != "string" else {}
        properties = {"data_type": "json", "nullable": True, **common, **hints}
        if native.label == "repeated":
            return Field(name, properties, element=child)
        return Field(name, properties, values=replace(child, name="value"))
    common["nullable"] = native.label == "optional"
    match native.type:
        case str(of_type):
            lost_fact = ("type", {"type": native.lost_type}, {"data_type": "json"})
            field = Field(name, {**_PROPERTIES[of_type], **common}, unread=(lost_fact,) if native.lost_type else ())
            hints = {TYPE: of_type} if _scalar_type(field) != of_type else {}
            return replace(field, properties={**field.properties, **hints})
        case Enum() as enum:
            numbers = dict(enum.values)
            hints = {"x-enum": list(numbers), TYPE: enum.name, ENUM: numbers}
            return Field(name, {"data_type": "text", **common, **hints})
        case fields:
            return Field(name, {"data_type": "json", **common}, fields=tuple(starmap(_read, fields)))


CODEC: Final = Codec(_write, _read)
