"""Arc's schema files <-> the fields of a typing.

Messages use Arc's words for attributes. If Arc ends with an exception of a library, the fault is reported like any
other; an unknown key is a warning, unless the field has another fault.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, Final, TypeAlias

from schemactl.arc.date_patterns import EPOCHS, PatternError, has_lone_year, parse_pattern
from schemactl.arc.fields import (
    TYPES,
    Array,
    Date,
    Decimal,
    Double,
    Field,
    FieldType,
    Integer,
    Long,
    Struct,
    Time,
    TimeOfDay,
    Timestamp,
    Typing,
    type_name,
)
from schemactl.arc.hocon import WrittenNumber, parse_hocon, plain_text
from schemactl.arc.number_patterns import parse_number_pattern
from schemactl.arc.regexes import RegexError, translate
from schemactl.arc.zones import find_zone
from schemactl.errors import CommandWarning, InputError, Location, Problem, did_you_mean
from schemactl.field_values import field_values
from schemactl.trees.nodes import Mapping, Node, Scalar, Sequence, Source, fields_of

_NULLABLE: Final = re.compile(r"""\bnullable["']?\s*[:=]""")
_TYPE: Final = re.compile(r"""\btype["']?\s*[:=]""")
_FOREIGN: Final = re.compile(r"""engine_version|"\$schema"\s*:|^\s*\{\s*"(?:type|fields|title)"\s*:""")
"""Words that begin schemas of dlt, JSON Schema, Avro and Spark, and no file of Arc."""


def recognises(text: str) -> bool:
    """Return whether a text looks like an Arc schema: fields with a type and ``nullable``."""
    return bool(not _FOREIGN.search(text) and _NULLABLE.search(text) and _TYPE.search(text))


_TRUE: Final = frozenset(("true", "yes", "on"))
_FALSE: Final = frozenset(("false", "no", "off"))
_TIME: Final = {"hour": 23, "minute": 59, "second": 59, "nano": 999_999_999}
_MOST_DIGITS: Final = 38


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of an attribute of a field, in Arc's words; ``path`` names the fields around it, outermost first."""

    path: tuple[str, ...]
    attribute: str
    message: str
    offset: int
    hint: str | None = None


def read_typing(text: str, path: str) -> Typing:
    """Return the typing of a file."""
    source = Source(path, text)
    typing, faults = read_fields(source)
    if faults:
        problems = tuple(
            Problem(
                f"`{fault.attribute}` of `{'.'.join(fault.path)}`: {fault.message}",
                source.locate(fault.offset),
                fault.hint,
            )
            for fault in faults
        )
        raise InputError("this is not a valid Arc schema", at=Location(path), problems=problems)
    return typing


def read_fields(source: Source) -> tuple[Typing, tuple[Fault, ...]]:
    """Return the valid fields, and the faults of all other fields in the order of the file."""
    source.check_size()
    no_schema = "this is not an Arc schema: expected a list of fields, or `schema` with a list"
    try:
        root = parse_hocon(source)
    except InputError as error:
        if source.text.lstrip()[:1] in ("[", "{") or "schema" in source.text or recognises(source.text):
            raise
        hint = "it is JSON or HOCON: `[{name: id, type: integer, nullable: false, trim: true}]`"
        raise source.refuse(no_schema, 0, hint) from error
    field_list = root
    if isinstance(root, Mapping) and _items(root) is None:
        if "schema" not in fields_of(root):
            raise source.refuse(no_schema, root.start)
        field_list = fields_of(root)["schema"]
    items = _items(field_list)
    if items is None:
        raise source.refuse("`schema` must be a list of fields", field_list.start)
    reader = _Reader(source)
    fields = []
    for item in items:
        if not isinstance(item, Mapping):
            raise source.refuse("a field is an object with a name and a type", item.start)
        fields.append(reader.field(item, ()))
    return Typing(tuple(field for field in fields if field is not None)), tuple(reader.faults)


def _items(node: Node) -> tuple[Node, ...] | None:
    """Return the items of a list, or of an object whose keys count them; None for anything else."""
    if isinstance(node, Sequence):
        return node.items
    if isinstance(node, Mapping) and node.entries and all(entry.key.value.isdecimal() for entry in node.entries):
        return tuple(entry.value for entry in sorted(node.entries, key=lambda entry: int(entry.key.value)))
    return None


class _InvalidValueError(Exception):
    """A value has the right type and is invalid; ``faults`` are messages with their hints."""

    def __init__(self, *faults: tuple[str, str | None]) -> None:
        super().__init__(*faults)
        self.faults = faults


def _string(node: Node) -> str | None:
    return None if not isinstance(node, Scalar) or node.value is None else plain_text(node.value)


def _boolean(node: Node) -> bool | None:
    match node:
        case Scalar(value=bool(value)):
            return value
        case Scalar(value=str(value)) if value in _TRUE | _FALSE:
            return value in _TRUE
    return None


def _integer(node: Node) -> int | None:
    match node:
        case Scalar(value=bool()):
            return None
        case Scalar(value=int() | float() as value) if abs(value) < 2**63:
            number = int(value)
        case Scalar(value=str(value)) if value.isascii() and value.removeprefix("-").isdecimal() and len(value) < 20:
            number = int(value)
        case _:
            return None
    return number if -(2**31) <= number < 2**31 else None


def _strings(node: Node) -> tuple[str, ...] | None:
    texts = [_string(item) for item in _items(node) or ()]
    return None if _items(node) is None or None in texts else tuple(text for text in texts if text is not None)


def _date_patterns(node: Node) -> tuple[str, ...] | None:
    formatters = _strings(node)
    faults = []
    for pattern in formatters or ():
        if pattern not in EPOCHS:
            try:
                parse_pattern(pattern)
            except PatternError as error:
                faults.append((str(error), f"in the pattern `{pattern}`"))
    if faults:
        raise _InvalidValueError(*faults)
    return formatters


def _regex(node: Node) -> str | None:
    regex = _string(node)
    try:
        translate(regex or "")
    except RegexError as error:
        raise _InvalidValueError((str(error), None)) from error
    return regex


def _one_of(*names: str) -> Callable[[Node], str | None]:
    def read(node: Node) -> str | None:
        name = _string(node)
        if name is not None and name not in names:
            listed = ",".join(f"'{valid}'" for valid in names)
            raise _InvalidValueError((f"Invalid value. Valid values are [{listed}].", did_you_mean(name, names)))
        return name

    return read


def _time(node: Node) -> TimeOfDay:
    if not isinstance(node, Mapping):
        hint = "an object with hour, minute, second and nano"
        raise _InvalidValueError(("Wrong type, expected: 'object'.", hint))
    nodes = fields_of(node)
    numbers = {name: number for name in _TIME if name in nodes and (number := _integer(nodes[name])) is not None}
    if missing := [name for name in _TIME if name not in numbers]:
        words = dict.fromkeys(nodes, "Wrong type, expected: 'int'.")
        described = ", ".join(words.get(name, f"Missing required attribute '{name}'.") for name in missing)
        raise _InvalidValueError((f"Invalid value. {described}", None))
    if beyond := [name for name, most in _TIME.items() if not 0 <= numbers[name] <= most]:
        raise _InvalidValueError((f"Invalid value. `{beyond[0]}` must be 0 to {_TIME[beyond[0]]}.", None))
    return TimeOfDay(**numbers)


_Read: TypeAlias = Callable[[Node], Any]
"""Returns the value of an attribute, None if it has a wrong type."""

_NUMBER_ATTRIBUTES: Final[dict[str, _Read]] = {"formatters": _strings, "decimalSeparator": _one_of(".", ",")}

_TYPE_ATTRIBUTES: Final[dict[str, dict[str, _Read]]] = {
    "binary": {"encoding": _one_of("base64", "hexadecimal")},
    "boolean": {"trueValues": _strings, "falseValues": _strings},
    "date": {"formatters": _date_patterns, "caseSensitive": _boolean},
    "decimal": {"precision": _integer, "scale": _integer, **_NUMBER_ATTRIBUTES},
    **dict.fromkeys(("double", "integer", "long"), _NUMBER_ATTRIBUTES),
    "string": {"minLength": _integer, "maxLength": _integer, "regex": _regex},
    "time": {"formatters": _strings},  # Arc looks at these patterns only when it parses by them
    "timestamp": {"formatters": _date_patterns, "timezoneId": _string, "time": _time, "caseSensitive": _boolean},
}
"""The attributes of types; the attributes of a struct and of an array are fields."""

_EXPECTED: Final[dict[_Read, str]] = {
    _boolean: "boolean", _integer: "int", _strings: "string array", _date_patterns: "string array",
}  # fmt: skip
"""The expected types of values other than strings, in Arc's words."""

_COMMON: Final = (
    *("id", "name", "description", "type", "metadata", "nullable", "trim", "nullableValues", "nullReplacementValue"),
)


def _argument(attribute: str) -> str:
    """Return the name in Python of an attribute of a type."""
    return re.sub("([A-Z])", lambda capital: f"_{capital[1].lower()}", attribute)


class _Reader:
    """Reads fields, and collects their faults."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.faults: list[Fault] = []

    def field(self, node: Mapping, outer_path: tuple[str, ...]) -> Field | None:
        """Return a field, None if it has faults."""
        count = len(self.faults)
        attributes = _Attributes(self, node, (*outer_path, "unnamed meta"))
        id_, name = attributes.read("id", _string), attributes.read("name", _string, is_required=True)
        attributes.path = (*outer_path, name if name is not None else "unnamed" if outer_path else "unnamed meta")
        description = attributes.read("description", _string)
        kind = attributes.read("type", _one_of(*TYPES), is_required=True)
        if name is None or kind is None:
            return None
        metadata = attributes.metadata()
        nullable = attributes.read("nullable", _boolean, is_required=True)
        arguments: dict[str, Any]
        match kind:
            case "struct":
                names, arguments = ["fields"], {"fields": self._fields(attributes)}
            case "array":
                names, arguments = ["elementType"], {"element": self._element(attributes)}
            case _:
                names, arguments = [*_TYPE_ATTRIBUTES[kind]], attributes.type_arguments(kind)
        is_text = kind in _TYPE_ATTRIBUTES
        trim = attributes.read("trim", _boolean) if is_text else False
        null_values = attributes.read("nullableValues", _strings) if is_text else ()
        replacement = attributes.read("nullReplacementValue", _string) if is_text else None
        attributes.check_names((*_COMMON, *names), is_faulty=len(self.faults) > count)
        if len(self.faults) > count:
            return None
        type_ = TYPES[kind](**arguments)
        attributes.warn_of_patterns(type_)
        return Field(
            name=name,
            type=type_,
            nullable=nullable,
            id=id_,
            description=description,
            trim=bool(trim),
            nullable_values=null_values or (),
            null_replacement=replacement,
            metadata=metadata,
        )

    def _fields(self, attributes: _Attributes) -> tuple[Field, ...]:
        node = attributes.node("fields", is_required=True)
        items = _items(node) if node is not None else ()
        if items is None or not all(isinstance(item, Mapping) for item in items):
            attributes.fault("fields", "'fields' must be of type list.", "a list of objects, each a field")
            return ()
        if node is not None and not items:
            attributes.fault("fields", "'fields' must have at least 1 element.")
        fields = [self.field(item, attributes.path) for item in items if isinstance(item, Mapping)]
        return tuple(field for field in fields if field is not None)

    def _element(self, attributes: _Attributes) -> Field | None:
        node = attributes.node("elementType", is_required=True)
        if isinstance(node, Mapping):
            return self.field(node, attributes.path)
        if node is not None:
            attributes.fault("elementType", "'elementType' must be of type object.")
        return None


class _Attributes:
    """The attributes of one field in a file."""

    def __init__(self, reader: _Reader, node: Mapping, path: tuple[str, ...]) -> None:
        self.path = path
        self._reader = reader
        self._start = node.start
        self._nodes = fields_of(node)
        self._key_starts = {entry.key.value: entry.key.start for entry in node.entries}

    def node(self, name: str, *, is_required: bool = False) -> Node | None:
        """Return the value of an attribute, None if it is missing or null."""
        node = self._nodes.get(name)
        if node is None or (isinstance(node, Scalar) and node.value is None):
            if is_required:
                self.fault(name, f"Missing required attribute '{name}'.")
            return None
        return node

    def read(self, name: str, read: _Read, *, is_required: bool = False) -> Any:
        """Return the value of an attribute, None if it is missing or wrong."""
        node = self.node(name, is_required=is_required)
        if node is None:
            return None
        try:
            value = read(node)
        except _InvalidValueError as error:
            for message, hint in error.faults:
                self.fault(name, message, hint)
            return None
        if value is None:
            self.fault(name, f"Wrong type, expected: '{_EXPECTED.get(read, 'string')}'.")
        return value

    def type_arguments(self, kind: str) -> dict[str, Any]:
        """Return the attributes of a scalar type that are present and right, by their names in Python."""
        required = {argument.name for argument in fields(TYPES[kind]) if argument.default is MISSING}
        values = {
            argument: self.read(name, read, is_required=argument in required)
            for name, read in _TYPE_ATTRIBUTES[kind].items()
            if (argument := _argument(name))
        }
        precision, scale = values.get("precision"), values.get("scale")
        if precision is not None and scale is not None:
            if not 0 <= precision <= _MOST_DIGITS:
                self.fault("precision", f"Invalid value. A decimal has at most {_MOST_DIGITS} digits.")
            if not 0 <= scale <= precision:
                self.fault("scale", f"Invalid value. Valid values are 0 to {precision}, the precision.")
        return {argument: value for argument, value in values.items() if value is not None}

    def check_names(self, valid_names: tuple[str, ...], *, is_faulty: bool) -> None:
        """Report unknown attributes: as in Arc they are faults only of a field that has other faults."""
        for name in self._nodes:
            if name not in valid_names:
                hint = did_you_mean(name, valid_names)
                if is_faulty:
                    self.fault(name, f"Invalid attribute '{name}'.", hint)
                else:
                    self.warn(name, f"the attribute is unknown and ignored{f': {hint}' if hint else ''}")

    def warn_of_patterns(self, of: FieldType) -> None:
        """Warn of patterns and zones that Arc accepts and that no value fits."""
        parse: Callable[[str], object] = parse_number_pattern
        patterns: tuple[str, ...] | None = ()
        match of:
            case Date(formatters=formatters) | Timestamp(formatters=formatters):
                if has_lone_year(formatters):
                    self.warn("formatters", "a single `y` never results in a date: write `u`")
            case Time(formatters=formatters):
                parse, patterns = parse_pattern, formatters
            case Integer(formatters) | Long(formatters) | Double(formatters) | Decimal(formatters=formatters):
                patterns = formatters
        for pattern in patterns or ():
            try:
                parse(pattern)
            except PatternError as error:
                self.warn("formatters", f"no value will fit `{pattern}`: {error}")
        if isinstance(of, Timestamp) and find_zone(of.timezone_id) is None:
            self.warn("timezoneId", f"Java has no time zone `{of.timezone_id}`: all values will be errors")

    def fault(self, name: str, message: str, hint: str | None = None) -> None:
        self._reader.faults.append(Fault(self.path, name, message, self._key_starts.get(name, self._start), hint))

    def warn(self, name: str, message: str) -> None:
        location = self._reader.source.locate(self._key_starts.get(name, self._start))
        warnings.warn(CommandWarning(f"{location}: `{name}` of `{'.'.join(self.path)}`: {message}"), stacklevel=2)

    def metadata(self) -> dict[str, Any]:
        """Return ``metadata``, checked as Spark's column metadata."""
        node = self.node("metadata")
        if isinstance(node, Scalar) and isinstance(node.value, str):
            node = _parse_metadata(node.value)
        if node is not None and not isinstance(node, Mapping):
            self.fault("metadata", "Wrong type, expected: 'object'.")
            return {}
        return self._object(node, "") if node is not None else {}

    def _object(self, node: Mapping, prefix: str) -> dict[str, Any]:
        return {name: self._value(value, f"{prefix}{name}") for name, value in fields_of(node).items()}

    def _value(self, node: Node, name: str) -> Any:
        match node:
            case Mapping():
                return self._object(node, f"{name}.")
            case Sequence(items=items):
                if fault := _list_fault(items):
                    attribute_text = name + "}" if "nested" in fault else name
                    self.fault(name, f"Metadata attribute '{attribute_text}' cannot contain {fault}")
                return [self._value(item, name) for item in items if not isinstance(item, Sequence)]
            case Scalar(value=WrittenNumber() as number):
                return int(number) if number.is_integer() else float(number)
            case Scalar(value=value):
                return value
        return None


def _parse_metadata(text: str) -> Node | None:
    """Return the tree of metadata in a string, whose quotes may be escaped once more."""
    for candidate in (text, text.replace('\\"', '"')):
        with suppress(InputError):
            return parse_hocon(Source("metadata", candidate))
    return Sequence(0, ())


def _list_fault(items: tuple[Node, ...]) -> str | None:
    """Return why a list cannot be metadata, None if it can."""
    kinds = [_kind(item) for item in items]
    match kinds[:1]:
        case []:
            return "empty `arrays`."
        case ["null"]:
            return "`null` values inside `array`."
        case ["list"]:
            return "nested `arrays` inside `array`."
    if len(set(kinds)) == 1:
        return None
    if all(kind in ("int", "long", "double") for kind in kinds):
        return "`number` arrays of different types (all values must be `integers` or all values must be `doubles`)."
    return "arrays of different types."


def _kind(node: Node) -> str:
    match node:
        case Sequence():
            return "list"
        case Mapping():
            return "object"
        case Scalar(value=None):
            return "null"
        case Scalar(value=bool()):
            return "boolean"
        case Scalar(value=str()):
            return "string"
        case Scalar(value=int() | float() as number) if float(number).is_integer():
            return "int" if abs(number) < 2**31 else "long"
    return "double"


def attributes(field: Field) -> dict[str, Any]:
    """Return the object of a field in a file, without defaults."""
    kind = type_name(field.type)
    match field.type:
        case Struct(fields):
            type_attributes: dict[str, Any] = {"fields": [attributes(inner) for inner in fields]}
        case Array(element):
            type_attributes = {"elementType": attributes(element)}
        case _:
            arguments = field_values(field.type)
            type_attributes = {name: _plain(arguments[_argument(name)]) for name in _TYPE_ATTRIBUTES[kind]}
    all_attributes: dict[str, Any] = {
        "id": field.id,
        "name": field.name,
        "description": field.description,
        "type": kind,
        "trim": field.trim or None,
        "nullable": field.nullable,
        "nullableValues": list(field.nullable_values) or None,
        "nullReplacementValue": field.null_replacement,
        **type_attributes,
        "metadata": dict(field.metadata) or None,
    }
    return {name: value for name, value in all_attributes.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return asdict(value) if isinstance(value, TimeOfDay) else None if value is False else value
