"""Records of XML as JSON documents, with the columns that Spark's XML source has for them.

An attribute has the key ``_NAME``, an element the key ``NAME``, and the text of an element that has attributes or
elements too the key ``_VALUE``. All values are texts, without the spaces around them. A name that an element has twice,
in any record, is a list in all records. So the columns come from all records, before the first one is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

import pyarrow as pa

from schemactl.engine.input import Input
from schemactl.engine.local.columns import SPARK_HINT
from schemactl.engine.xml_elements import XmlElements, XmlParser
from schemactl.errors import InputError

_VALUE: Final = "_VALUE"
_SPACES: Final = "\t\n\r "


class Kind(Enum):
    """The kinds of nodes that become columns."""

    ATTRIBUTE = "attribute"
    ELEMENT = "element"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class XmlColumn:
    """A column of records, or a key of a nested object.

    Attributes:
        is_list: whether an element may contain several of them.
        columns: the columns of an element that is an object; empty for a string.
    """

    name: str
    is_list: bool = False
    columns: tuple[XmlColumn, ...] = ()

    def type(self) -> pa.DataType:
        fields = [(column.name, column.type()) for column in self.columns]
        of = pa.struct(fields) if fields else pa.string()
        return pa.list_(pa.field("element", of)) if self.is_list else of


@dataclass(slots=True)
class Shape:
    """The forms of all elements of one path, or of all attributes or texts.

    Attributes:
        is_list: whether an element has several of it.
        is_text: whether an element has nothing but text.
        is_textless: whether an element has attributes or elements, but no text.
        fields: the shapes of attributes, elements and texts by the keys of their columns.
    """

    kind: Kind = Kind.ELEMENT
    is_list: bool = False
    is_text: bool = False
    is_textless: bool = False
    fields: dict[str, Shape] = field(default_factory=dict)

    def columns(self) -> tuple[XmlColumn, ...]:
        """Return the columns in the order of Spark, which compares names by UTF-16."""
        names = sorted(self.fields, key=lambda name: name.encode("utf-16-be"))
        return tuple(XmlColumn(name, self.fields[name].is_list, self.fields[name].columns()) for name in names)


@dataclass(slots=True)
class _OpenElement:
    """An open element of a record, with the names of its elements and its texts so far.

    Attributes:
        text_count: texts that are not blank; comments and elements divide texts.
    """

    shape: Shape
    is_structured: bool
    names: set[str] = field(default_factory=set)
    text_count: int = 0


class _TextParser(XmlParser):
    """A parser that takes texts, each as a whole."""

    def __init__(self, file: Input) -> None:
        super().__init__(file)
        self._parser.CharacterDataHandler = self._take_characters
        self._parser.CommentHandler = self._parser.ProcessingInstructionHandler = self._take_break
        self._characters: list[str] = []

    def text(self, text: str) -> None:
        """Take a text of the element that is open in a record."""

    def _take_characters(self, characters: str) -> None:
        if self.record_depth:
            self._characters.append(characters)

    def _take_break(self, *_: str) -> None:
        if self._characters:
            self.text("".join(self._characters))
            self._characters.clear()

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._take_break()
        super()._start(name, attributes)

    def _end(self, name: str) -> None:
        self._take_break()
        super()._end(name)


class ShapeParser(_TextParser, XmlElements):
    """Collects the shapes of records by encoding and element name, and the name of their elements."""

    def __init__(self, file: Input, shapes: dict[tuple[str, str], Shape]) -> None:
        super().__init__(file)
        self._shapes = shapes
        self._encoding = file.encoding
        self._open: list[_OpenElement] = []
        self._parser.AttlistDeclHandler = self._check_attribute_list

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        super().start(name, attributes)
        if not self.record_depth:
            return
        if self._open:
            parent = self._open[-1]
            shape = self._field(parent.shape, name, Kind.ELEMENT)
            shape.is_list |= name in parent.names
            parent.names.add(name)
            parent.is_structured = True
        else:
            shape = self._shapes.setdefault((self._encoding, self.tag), Shape())
        for attribute in attributes:
            self._field(shape, f"_{attribute}", Kind.ATTRIBUTE)
        self._open.append(_OpenElement(shape, bool(attributes)))

    def text(self, text: str) -> None:
        self._open[-1].text_count += bool(text.strip(_SPACES))

    def end(self, name: str) -> None:
        if not self._open:
            return
        element = self._open.pop()
        shape = element.shape
        if element.text_count > 1 or (element.text_count and (element.is_structured or not self._open)):
            self._field(shape, _VALUE, Kind.TEXT).is_list |= element.text_count > 1
        elif element.text_count:
            shape.is_text = True
        elif element.is_structured:
            shape.is_textless = True
        if self._open and shape.is_text and shape.is_textless:
            # Spark drops the attributes, or has the elements as XML, by the order in which it meets them.
            message = f"some elements `{name}` are text, but some have attributes or elements and no text"
            raise InputError(message, at=self.here(), hint=SPARK_HINT)

    def _field(self, shape: Shape, name: str, kind: Kind) -> Shape:
        child = shape.fields.setdefault(name, Shape(kind))
        if child.kind is not kind:
            message = f"`{name}` is the name of an {Kind.ELEMENT.value} and of another part of its parent"
            raise InputError(message, at=self.here(), hint=SPARK_HINT)
        return child

    def _check_attribute_list(self, _element: str, attribute: str, declared_type: str, *_: object) -> None:
        """Refuse attributes whose spaces a DTD has normalized: Spark ignores DTDs."""
        if declared_type != "CDATA":
            message = f"the file declares the attribute `{attribute}` as {declared_type}"
            raise InputError(message, at=self.here(), hint=SPARK_HINT)


class RecordParser(_TextParser):
    """Makes documents of records; ``documents`` has the complete ones that are not taken yet."""

    def __init__(self, file: Input, columns: tuple[XmlColumn, ...]) -> None:
        super().__init__(file)
        self.documents: list[dict[str, Any]] = []
        self._root = _Layout.of(columns)
        self._open: list[_OpenObject] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if not self.record_depth:
            return
        layout = self._root if not self._open else self._open[-1].layout.layouts.get(name, _UNKNOWN)
        values = {f"_{attribute}": value.strip(_SPACES) for attribute, value in attributes.items()}
        self._open.append(_OpenObject(layout, values))

    def text(self, text: str) -> None:
        element = self._open[-1]
        if not element.layout.is_object:
            element.texts.append(text)
        elif stripped := text.strip(_SPACES):
            element.add(_VALUE, stripped)

    def end(self, name: str) -> None:
        if not self._open:
            return
        element = self._open.pop()
        if not self._open:
            self.documents.append(element.ordered())
        else:
            value = element.ordered() if element.layout.is_object else "".join(element.texts).strip(_SPACES)
            self._open[-1].add(name, value)


@dataclass(frozen=True, slots=True)
class _Layout:
    """The columns of an element, prepared for lookups: their names in order, the names of lists, and their layouts."""

    names: tuple[str, ...]
    lists: frozenset[str]
    layouts: Mapping[str, _Layout]
    is_object: bool = True

    @classmethod
    def of(cls, columns: tuple[XmlColumn, ...], is_object: bool = True) -> _Layout:
        return cls(
            tuple(column.name for column in columns),
            frozenset(column.name for column in columns if column.is_list),
            {column.name: cls.of(column.columns, bool(column.columns)) for column in columns},
            is_object,
        )


_UNKNOWN: Final = _Layout.of(())
"""The layout of an element that was not in the file when its columns were collected."""


@dataclass(slots=True)
class _OpenObject:
    """An open element of a record, with its values and texts so far."""

    layout: _Layout
    values: dict[str, Any]
    texts: list[str] = field(default_factory=list)

    def add(self, name: str, value: Any) -> None:
        if name in self.layout.lists:
            self.values.setdefault(name, []).append(value)
        else:
            self.values[name] = value

    def ordered(self) -> dict[str, Any]:
        """Return the values in the order of the columns."""
        values = self.values
        return {name: values[name] for name in self.layout.names if name in values}


def read_documents(file: Input, columns: tuple[XmlColumn, ...]) -> Iterator[list[dict[str, Any]]]:
    """Yield the records of a file as documents, some at a time."""
    parser = RecordParser(file, columns)
    for _ in parser.blocks():
        if parser.documents:
            yield parser.documents
            parser.documents = []
