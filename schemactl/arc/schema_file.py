"""Arc's schema format: how columns of texts become typed ones (docs/arc.md).

A file is the root table of a schema. What dlt's hints cannot say of a field stands in the column's ``x-typing``, its
metadata in ``x-metadata``, its id in ``x-id``; a column that states no typing is written with Arc's usual one.

Messages name the attribute in Arc's words. Where Arc ends with an exception of its parts, the fault is reported as
others are; a key that is unknown is a warning, as long as nothing else is wrong with the field.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, Final, TypeAlias

from schemactl.arc.date_patterns import EPOCHS, PatternError, has_lone_year, parse_pattern
from schemactl.arc.fields import (
    ERRORS_COLUMN,
    TYPES,
    Array,
    Binary,
    Boolean,
    Date,
    Decimal,
    Double,
    Field,
    FieldType,
    Integer,
    Long,
    String,
    Struct,
    Time,
    TimeOfDay,
    Timestamp,
    Typing,
    column_type,
    type_name,
)
from schemactl.arc.hocon import WrittenNumber, parse_hocon, plain_text
from schemactl.arc.number_patterns import parse_number_pattern
from schemactl.arc.regexes import RegexError, translate
from schemactl.arc.zones import find_zone
from schemactl.errors import CommandWarning, InputError, Location, Problem, did_you_mean
from schemactl.formats._losses import Document
from schemactl.formats._tables import file_table_name
from schemactl.formats._tree import Mapping, Node, Scalar, Sequence, Source, fields_of
from schemactl.schema.arrow_types import nested_type_of
from schemactl.schema.contract import system_prefix
from schemactl.schema.full_types import decimal_sizes
from schemactl.schema.hints import only_root
from schemactl.schema.naming import Naming, naming_of
from schemactl.schema.nested_types import Json, Leaf, ListOf, MapOf, NestedType, leaf_of
from schemactl.schema.nested_types import Struct as StructOf
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, DataType, Schema, Table

ENDINGS: Final = (".arc.json", ".arc.conf", ".arc", ".json", ".conf")
STATES_NAMES: Final = False

TYPING: Final = "x-typing"
"""The property of a column that has the attributes of its field, as Arc names them."""

ID: Final = "x-id"
METADATA: Final = "x-metadata"

_NULLABLE: Final = re.compile(r"""\bnullable["']?\s*[:=]""")
_FIELD: Final = re.compile(r"""\btype["']?\s*[:=]""")
_HINTED: Final = ("id", "description", "metadata", "nullable")


_OTHERS: Final = re.compile(r"""engine_version|"\$schema"\s*:|^\s*\{\s*"(?:type|fields|title)"\s*:""")
"""What stands in schemas of dlt, of JSON Schema, of Avro and of Spark, and in none of Arc's."""


def recognises(text: str) -> bool:
    """Return whether a text looks as an Arc schema: a list, or an object, of fields with a type and ``nullable``."""
    is_named = _OTHERS.search(text) is not None
    return not is_named and _NULLABLE.search(text) is not None and _FIELD.search(text) is not None


def read(text: str, path: str, naming: Naming | None = None) -> Document:
    """Return what an Arc schema says; its table is named after the file."""
    typing, schema = read_typing(text, path), new_schema("arc")
    naming = naming or naming_of(schema)
    name = naming.normalize_table_identifier(file_table_name(path))
    columns = table_columns(typing, naming, path)
    return Document(schema.with_table(Table(name, columns, {"write_disposition": "append", "resource": name})))


def table_columns(typing: Typing, naming: Naming, path: str) -> dict[str, Column]:
    """Return the columns of the fields of a typing, named as keys of data are; ``path`` names its file in messages."""
    columns: dict[str, Column] = {}
    origins: dict[str, str] = {}
    for field in typing.fields:
        name = naming.normalize_path(field.name)
        if not name:
            raise InputError(f"the name of the field `{field.name}` is blank", at=Location(path))
        if name in columns:
            message = f"the fields `{origins[name]}` and `{field.name}` become one column `{name}`"
            raise InputError(message, at=Location(path), hint="rename one of them")
        origins[name] = field.name
        columns[name] = Column(name, _properties(field, name))
    return columns


def _properties(field: Field, name: str) -> dict[str, Any]:
    hints = {"description": field.description, "nullable": field.nullable, ID: field.id}
    typing = {key: value for key, value in attributes(field).items() if key not in _HINTED}
    if field.name == name:
        del typing["name"]
    stated = {**column_type(field.type), **hints, METADATA: dict(field.metadata) or None, TYPING: typing}
    return {key: value for key, value in stated.items() if value is not None}


def write(schema: Schema, path: str | None = None) -> str:  # noqa: ARG001 - one form for all endings
    """Return the Arc schema of the root table of a schema, tables that are nested in it as lists."""
    name = only_root(schema)
    if name is None:
        hint = "an Arc schema describes one table: export a schema that has one"
        raise InputError(f"the schema `{schema.name}` has several root tables, or none", hint=hint)
    text = json.dumps([attributes(field) for field in typing_of(schema, name).fields], indent=2, ensure_ascii=False)
    return f"{text}\n"


def typing_of(schema: Schema, name: str) -> Typing:
    """Return the typing of a table: as its columns state it, else what texts of their types usually look like.

    Raises:
        InputError: a column states what is no typing.
    """
    return Typing(tuple(_fields(schema, schema.tables[name])))


def _fields(schema: Schema, table: Table) -> Iterator[Field]:
    prefix = system_prefix(naming_of(schema))
    for column in table.columns.values():
        is_made = all(column.properties.get(name) == value for name, value in ERRORS_COLUMN.items())
        is_data = not column.name.startswith(prefix) and not column.is_variant and not is_made
        if column.is_complete and is_data:
            yield _field(column, table.name)
    for nested in schema.tables.values():
        if nested.parent == table.name:
            fields = tuple(_fields(schema, nested))
            is_plain = [field.name for field in fields] == ["value"]
            name = nested.name.removeprefix(f"{table.name}__")
            element = fields[0] if is_plain else Field(name="element", type=Struct(fields), nullable=True)
            yield Field(name=name, type=Array(element), nullable=True)


def _field(column: Column, table: str) -> Field:
    stated = column.properties.get(TYPING)
    properties = {"id": ID, "description": "description", "metadata": METADATA}
    hints = {key: column.properties.get(name) for key, name in properties.items()}
    given = {key: value for key, value in {**hints, "nullable": column.nullable}.items() if value is not None}
    if isinstance(stated, dict):
        text = json.dumps([{"name": column.name, **stated, **given}])
        return read_typing(text, f"`{TYPING}` of the column `{table}.{column.name}`").fields[0]
    own = _usual_type(column)
    field = Field(name=column.name, type=own, nullable=column.nullable, trim=not isinstance(own, Struct | Array))
    (usual,) = read_typing(json.dumps([{**attributes(field), **given}]), f"the column `{table}.{column.name}`").fields
    return usual


_TIMES: Final = ("HH:mm:ss", "HH:mm:ss.SSSSSS", "HH:mm")
_INSTANTS: Final = ("uuuu-MM-dd'T'HH:mm:ss[.SSSSSS][.SSS]XXX", "uuuu-MM-dd HH:mm:ss[.SSSSSS][.SSS]XXX")
_LOCAL: Final = ("uuuu-MM-dd'T'HH:mm:ss[.SSSSSS][.SSS]", "uuuu-MM-dd HH:mm:ss[.SSSSSS][.SSS]", "uuuu-MM-dd HH:mm")


def _usual_type(column: Column) -> FieldType:
    properties = column.properties
    match column.data_type:
        case DataType.BIGINT:
            return Integer() if (properties.get("precision") or 64) <= 32 else Long()
        case DataType.BOOL:
            return Boolean(("true", "True", "TRUE"), ("false", "False", "FALSE"))
        case DataType.TIMESTAMP:
            return Timestamp((*_INSTANTS, *_LOCAL), "UTC")
        case DataType.DECIMAL:
            digits, places = decimal_sizes(properties)
            return Decimal(min(digits, 38), places)
        case DataType.JSON:
            return _nested_type(nested_type_of(column) or Json())
    return _nested_type(leaf_of(properties))


def _nested_type(of: NestedType) -> FieldType:
    match of:
        case StructOf(fields):
            return Struct(tuple(Field(name=name, type=_nested_type(inner), nullable=True) for name, inner in fields))
        case ListOf(element):
            return Array(Field(name="element", type=_nested_type(element), nullable=True))
        case Leaf(name):
            return _leaf_type(name)
        case Json() | MapOf():
            return String()


def _leaf_type(name: str) -> FieldType:
    sized = re.fullmatch(r"decimal\((\d+),(\d+)\)", name)
    if sized is not None:
        return Decimal(int(sized[1]), int(sized[2]))
    known: dict[str, FieldType] = {
        "int": Integer(), "smallint": Integer(), "tinyint": Integer(), "bigint": Long(), "double": Double(),
        "float": Double(), "boolean": Boolean(("true",), ("false",)), "date": Date(("uuuu-MM-dd",)),
        "timestamp": Timestamp(_INSTANTS, "UTC"), "timestamp_ntz": Timestamp(_LOCAL, "UTC"), "binary": Binary("base64"),
    }  # fmt: skip
    return Time(_TIMES) if name.startswith("time(") else known.get(name, String())


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
    """Return the typing that a file states.

    Raises:
        InputError: it is no Arc schema; with the places of all that is wrong.
    """
    source = Source(path, text)
    typing, faults = read_fields(source)
    if faults:
        named = ((f"`{each.attribute}` of `{'.'.join(each.path)}`: {each.message}", each) for each in faults)
        problems = tuple(Problem(message, source.locate(fault.offset), fault.hint) for message, fault in named)
        raise InputError("this is not a valid Arc schema", at=Location(path), problems=problems)
    return typing


def read_fields(source: Source) -> tuple[Typing, tuple[Fault, ...]]:
    """Return the fields that are right, and the faults of the others in the order of the file.

    Raises:
        InputError: the text is no list of fields at all.
    """
    source.check_size()
    no_schema = "this is not an Arc schema: a list of fields, or `schema` with one, must stand here"
    try:
        root = parse_hocon(source)
    except InputError as error:
        if source.text.lstrip()[:1] in ("[", "{") or "schema" in source.text or recognises(source.text):
            raise
        hint = "it is JSON or HOCON: `[{name: id, type: integer, nullable: false, trim: true}]`"
        raise source.refuse(no_schema, 0, hint) from error
    listed = root
    if isinstance(root, Mapping) and _items(root) is None:
        stated = fields_of(root).get("schema")
        if stated is None:
            raise source.refuse(no_schema, root.start)
        listed = stated
    items = _items(listed)
    if items is None:
        raise source.refuse("`schema` must be a list of fields", listed.start)
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


class _WrongError(Exception):
    """A value is of the right type, and wrong: in messages with their hints."""

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
        raise _WrongError(*faults)
    return formatters


def _regex(node: Node) -> str | None:
    regex = _string(node)
    try:
        translate(regex or "")
    except RegexError as error:
        raise _WrongError((str(error), None)) from error
    return regex


def _one_of(*known: str) -> Callable[[Node], str | None]:
    def read(node: Node) -> str | None:
        found = _string(node)
        if found is not None and found not in known:
            names = ",".join(f"'{each}'" for each in known)
            raise _WrongError((f"Invalid value. Valid values are [{names}].", did_you_mean(found, known)))
        return found

    return read


def _time(node: Node) -> TimeOfDay:
    if not isinstance(node, Mapping):
        hint = "an object with hour, minute, second and nano"
        raise _WrongError(("Wrong type, expected: 'object'.", hint))
    stated = fields_of(node)
    found = {name: _integer(stated[name]) for name in _TIME if name in stated}
    numbers = {name: number for name, number in found.items() if number is not None}
    if missing := [name for name in _TIME if name not in numbers]:
        words = dict.fromkeys(found, "Wrong type, expected: 'int'.")
        described = ", ".join(words.get(name, f"Missing required attribute '{name}'.") for name in missing)
        raise _WrongError((f"Invalid value. {described}", None))
    if beyond := [name for name, most in _TIME.items() if not 0 <= numbers[name] <= most]:
        raise _WrongError((f"Invalid value. `{beyond[0]}` must be 0 to {_TIME[beyond[0]]}.", None))
    return TimeOfDay(**numbers)


_Read: TypeAlias = Callable[[Node], Any]
"""Returns the value of an attribute, None for one of a wrong type."""

_OWN: Final[dict[str, dict[str, _Read]]] = {
    "binary": {"encoding": _one_of("base64", "hexadecimal")},
    "boolean": {"trueValues": _strings, "falseValues": _strings},
    "date": {"formatters": _date_patterns, "caseSensitive": _boolean},
    "decimal": {"precision": _integer, "scale": _integer, "formatters": _strings},
    **{name: {"formatters": _strings} for name in ("double", "integer", "long")},
    "string": {"minLength": _integer, "maxLength": _integer, "regex": _regex},
    "time": {"formatters": _strings},  # Arc looks at these patterns only when it parses by them
    "timestamp": {"formatters": _date_patterns, "timezoneId": _string, "time": _time, "caseSensitive": _boolean},
}
"""The attributes of types; those of a struct and of an array are fields."""

_EXPECTED: Final[dict[_Read, str]] = {
    _boolean: "boolean", _integer: "int", _strings: "string array", _date_patterns: "string array",
}  # fmt: skip
"""What values have to be, in Arc's words, where that is no string."""

_COMMON: Final = (
    *("id", "name", "description", "type", "metadata", "nullable", "trim", "nullableValues", "nullReplacementValue"),
)


def _argument(attribute: str) -> str:
    """Return what an attribute of a type is called here."""
    return re.sub("([A-Z])", lambda found: f"_{found[1].lower()}", attribute)


class _Reader:
    """Reads fields, and keeps the faults of all of them."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.faults: list[Fault] = []

    def field(self, node: Mapping, above: tuple[str, ...]) -> Field | None:
        """Return a field, None where something is wrong with it."""
        count = len(self.faults)
        stated = _Stated(self, node, (*above, "unnamed meta"))
        id_, name = stated.read("id", _string), stated.read("name", _string, is_required=True)
        stated.path = (*above, name if name is not None else "unnamed" if above else "unnamed meta")
        description = stated.read("description", _string)
        kind = stated.read("type", _one_of(*TYPES), is_required=True)
        if name is None or kind is None:
            return None
        metadata = stated.metadata()
        nullable = stated.read("nullable", _boolean, is_required=True)
        own: dict[str, Any]
        match kind:
            case "struct":
                names, own = ["fields"], {"fields": self._fields(stated)}
            case "array":
                names, own = ["elementType"], {"element": self._element(stated)}
            case _:
                names, own = [*_OWN[kind]], stated.own(kind)
        is_text = kind in _OWN
        trim = stated.read("trim", _boolean) if is_text else False
        null_values = stated.read("nullableValues", _strings) if is_text else ()
        replacement = stated.read("nullReplacementValue", _string) if is_text else None
        stated.check_names((*_COMMON, *names), is_faulty=len(self.faults) > count)
        if len(self.faults) > count:
            return None
        made = TYPES[kind](**{_argument(key): value for key, value in own.items() if value is not None})
        stated.warn_of_patterns(made)
        return Field(
            name=name,
            type=made,
            nullable=nullable,
            id=id_,
            description=description,
            trim=bool(trim),
            nullable_values=null_values or (),
            null_replacement=replacement,
            metadata=metadata,
        )

    def _fields(self, stated: _Stated) -> tuple[Field, ...]:
        node = stated.node("fields", is_required=True)
        items = _items(node) if node is not None else ()
        if items is None or not all(isinstance(item, Mapping) for item in items):
            stated.fault("fields", "'fields' must be of type list.", "a list of objects, each a field")
            return ()
        if node is not None and not items:
            stated.fault("fields", "'fields' must have at least 1 element.")
        fields = [self.field(item, stated.path) for item in items if isinstance(item, Mapping)]
        return tuple(field for field in fields if field is not None)

    def _element(self, stated: _Stated) -> Field | None:
        node = stated.node("elementType", is_required=True)
        if isinstance(node, Mapping):
            return self.field(node, stated.path)
        if node is not None:
            stated.fault("elementType", "'elementType' must be of type object.")
        return None


class _Stated:
    """What a file states of one field."""

    def __init__(self, reader: _Reader, node: Mapping, path: tuple[str, ...]) -> None:
        self.path = path
        self._reader = reader
        self._at = node.start
        self._nodes = fields_of(node)
        self._places = {entry.key.value: entry.key.start for entry in node.entries}

    def node(self, name: str, *, is_required: bool = False) -> Node | None:
        """Return the value of an attribute, None where it is not stated or null."""
        node = self._nodes.get(name)
        if node is None or (isinstance(node, Scalar) and node.value is None):
            if is_required:
                self.fault(name, f"Missing required attribute '{name}'.")
            return None
        return node

    def read(self, name: str, read: _Read, *, is_required: bool = False) -> Any:
        """Return the value of an attribute, None where it is not stated or wrong."""
        node = self.node(name, is_required=is_required)
        if node is None:
            return None
        try:
            found = read(node)
        except _WrongError as error:
            for message, hint in error.faults:
                self.fault(name, message, hint)
            return None
        if found is None:
            self.fault(name, f"Wrong type, expected: '{_EXPECTED.get(read, 'string')}'.")
        return found

    def own(self, kind: str) -> dict[str, Any]:
        """Return the attributes of a scalar type, None for those that are not stated or wrong."""
        required = {each.name for each in fields(TYPES[kind]) if each.default is MISSING}
        own = _OWN[kind].items()
        found = {name: self.read(name, read, is_required=_argument(name) in required) for name, read in own}
        precision, scale = found.get("precision"), found.get("scale")
        if precision is not None and scale is not None:
            if not 0 <= precision <= _MOST_DIGITS:
                self.fault("precision", f"Invalid value. A decimal has at most {_MOST_DIGITS} digits.")
            if not 0 <= scale <= precision:
                self.fault("scale", f"Invalid value. Valid values are 0 to {precision}, the precision.")
        return found

    def check_names(self, known: tuple[str, ...], *, is_faulty: bool) -> None:
        """Report unknown attributes: as Arc does they are faults only beside others."""
        for name in self._nodes:
            if name not in known:
                hint = did_you_mean(name, known)
                if is_faulty:
                    self.fault(name, f"Invalid attribute '{name}'.", hint)
                else:
                    self.warn(name, f"the attribute is unknown and ignored{f': {hint}' if hint else ''}")

    def warn_of_patterns(self, of: FieldType) -> None:
        """Warn of what Arc accepts and no value then fits."""
        parse: Callable[[str], object] = parse_number_pattern
        patterns: tuple[str, ...] | None = ()
        match of:
            case Date(formatters=formatters) | Timestamp(formatters=formatters):
                if has_lone_year(formatters):
                    self.warn("formatters", "a single `y` never makes a date: write `u`")
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
            self.warn("timezoneId", f"Java knows no time zone `{of.timezone_id}`: all values will be errors")

    def fault(self, name: str, message: str, hint: str | None = None) -> None:
        self._reader.faults.append(Fault(self.path, name, message, self._places.get(name, self._at), hint))

    def warn(self, name: str, message: str) -> None:
        at = self._reader.source.locate(self._places.get(name, self._at))
        warnings.warn(CommandWarning(f"{at}: `{name}` of `{'.'.join(self.path)}`: {message}"), stacklevel=2)

    def metadata(self) -> dict[str, Any]:
        """Return ``metadata``: what Spark's column metadata can hold."""
        node = self.node("metadata")
        if isinstance(node, Scalar) and isinstance(node.value, str):
            node = _parsed(node.value)
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
                    shown = name + "}" if "nested" in fault else name
                    self.fault(name, f"Metadata attribute '{shown}' cannot contain {fault}")
                return [self._value(item, name) for item in items if not isinstance(item, Sequence)]
            case Scalar(value=WrittenNumber() as number):
                return int(number) if number.is_integer() else float(number)
            case Scalar(value=value):
                return value
        return None


def _parsed(text: str) -> Node | None:
    """Return the tree of metadata that are written as a text, quotes escaped once more or not."""
    for each in (text, text.replace('\\"', '"')):
        with suppress(InputError):
            return parse_hocon(Source("metadata", each))
    return Sequence(0, ())


def _list_fault(items: tuple[Node, ...]) -> str | None:
    """Return why a list cannot be metadata, None where it can."""
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


def attributes(of: Field) -> dict[str, Any]:
    """Return a field as the object that a file states it by, defaults left out."""
    kind = type_name(of.type)
    own = {name: _plain(getattr(of.type, _argument(name))) for name in _OWN.get(kind, ())}
    match of.type:
        case Struct(fields):
            own = {"fields": [attributes(field) for field in fields]}
        case Array(element):
            own = {"elementType": attributes(element)}
    stated: dict[str, Any] = {
        "id": of.id,
        "name": of.name,
        "description": of.description,
        "type": kind,
        "trim": of.trim or None,
        "nullable": of.nullable,
        "nullableValues": list(of.nullable_values) or None,
        "nullReplacementValue": of.null_replacement,
        **own,
        "metadata": dict(of.metadata) or None,
    }
    return {name: value for name, value in stated.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return asdict(value) if isinstance(value, TimeOfDay) else None if value is False else value
