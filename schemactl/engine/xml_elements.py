"""Parses XML files once before their records are read: which elements are records, and whether the file is well-formed.

Files are not trusted: entities of a file, deep nesting and records that this machine cannot hold are refused.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Never
from xml.parsers.expat import ErrorString, ExpatError, ParserCreate

from schemactl.engine.input import Input, open_input, read_errors, wrong_encoding
from schemactl.errors import InputError, Location, Problem, did_you_mean
from schemactl.kernel.opening import SUFFIXES
from schemactl.memory import why_too_large

_DECLARATION: Final = re.compile(r"^\s*<\?xml.*?\?>", re.DOTALL)
_BLOCK_BYTES: Final = 1 << 18
_MOST_NAMED: Final = 5
_MOST_DEPTH: Final = 100
"""An element and the list that it is in are two levels of JSON; orjson writes 254."""


class XmlParser:
    """Parses a file block by block; subclasses collect the elements that they need.

    Attributes:
        path: the path of the file as shown to people.
        tag: the name of the elements that are records; if the call does not set it, empty before the first element
            below the root.
        depth: the number of open elements.
        record_depth: the depth of the record that is open; 0 outside of records.
    """

    def __init__(self, file: Input) -> None:
        self.path = file.path
        self.tag = file.record_tag
        self.depth = self.record_depth = 0
        self._file = file
        self._record_start = 0
        self._parser = ParserCreate()
        # Defaults of attributes that a DTD declares are not part of the document: Spark ignores DTDs.
        self._parser.specified_attributes = True
        self._parser.StartElementHandler, self._parser.EndElementHandler = self._start, self._end
        self._parser.EntityDeclHandler = self._parser.SkippedEntityHandler = self._refuse_entity

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Take the start of an element, whose depth is ``depth``."""

    def end(self, name: str) -> None:
        """Take the end of the element whose depth is ``depth``."""

    def blocks(self) -> Iterator[None]:
        """Parse the file, and yield after every block."""
        try:
            for text in _blocks(self._file):
                self._parser.Parse(text, False)
                size = self._parser.CurrentByteIndex - self._record_start
                if self.record_depth and (reason := why_too_large(size)):
                    raise InputError(f"a record has more than {reason}", at=self.here())
                yield
            self._parser.Parse("", True)
        except ExpatError as error:
            location = Location(self.path, error.lineno, error.offset + 1)
            raise InputError(f"this is not XML: {ErrorString(error.code)}", at=location) from error
        except EOFError as error:
            raise InputError("the compressed file ends too early", at=Location(self.path)) from error
        yield

    def here(self) -> Location:
        """Return the place of the current event."""
        return Location(self.path, self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise InputError(f"elements nest deeper than {_MOST_DEPTH} levels", at=self.here())
        if self.depth == 2 and not self.tag:
            self.tag = name
        if not self.record_depth and name == self.tag:
            self.record_depth, self._record_start = self.depth, self._parser.CurrentByteIndex
        self.start(name, attributes)

    def _end(self, name: str) -> None:
        self.end(name)
        if self.depth == self.record_depth:
            self.record_depth = 0
        self.depth -= 1

    def _refuse_entity(self, name: str, *_: object) -> Never:
        # Spark knows no entities of a file, and expanding nested ones fills the memory ("billion laughs").
        hint = "write them out: `xmllint --noent --dropdtd FILE`, if you trust the file"
        raise InputError(f"the file defines an XML entity, `{name}`", at=self.here(), hint=hint)


@dataclass(slots=True)
class _Tag:
    """The elements of one name below the root: how many there are, and the place of the first."""

    first: Location
    count: int = 0


class XmlElements(XmlParser):
    """The names of the elements of a file.

    Spark reports neither lines nor reasons for faults in XML, so the whole file is parsed before it is read.
    """

    def __init__(self, file: Input) -> None:
        if not file.has_size:
            raise InputError("XML is read from local files only", at=Location(file.path))
        if not file.is_reachable:
            endings = ", ".join(f"`{suffix}`" for suffix in SUFFIXES if suffix)
            raise InputError(f"compressed XML is read with these endings only: {endings}", at=Location(file.path))
        super().__init__(file)
        self._root = ""
        self._names: set[str] = set()
        self._below_root: dict[str, _Tag] = {}

    def start(self, name: str, attributes: Mapping[str, str]) -> None:  # noqa: ARG002 - for subclasses
        self._names.add(name)
        if self.depth == 1:
            self._root = name
        elif self.depth == 2:
            if name not in self._below_root:
                self._below_root[name] = _Tag(self.here())
            self._below_root[name].count += 1

    def record_tag(self) -> str:
        """Parse the file, and return the name of the elements that are records, as it is written.

        It is the name from the call, or else the only name below the root: elements with another name would be lost.
        """
        for _ in self.blocks():
            pass
        file = self._file
        if file.record_tag:
            if file.record_tag not in self._names:
                hint = did_you_mean(file.record_tag, self._names)
                raise InputError(f"there is no element `{file.record_tag}`", at=Location(file.path), hint=hint)
            return file.record_tag
        if not self._below_root:
            raise InputError("there is no element below the root", at=Location(file.path))
        if len(self._below_root) == 1:
            return next(iter(self._below_root))
        raise self._several()

    def _several(self) -> InputError:
        """Return the error for records of several names, with the ways to choose one."""
        tags = list(self._below_root.items())
        problems = [
            Problem(f"{tag.count:,} {'element' if tag.count == 1 else 'elements'} `{name}`, first here", tag.first)
            for name, tag in tags[:_MOST_NAMED]
        ]
        if len(tags) > _MOST_NAMED:
            problems.append(Problem(f"and {len(tags) - _MOST_NAMED:,} more names", Location(self.path)))
        most_frequent = max(tags, key=lambda named_tag: named_tag[1].count)[0]
        hint = (
            f"read only the elements `{most_frequent}` with `--input-format xml:{most_frequent}`, or the file as one "
            f"record with `--input-format xml:{self._root}`"
        )
        message = "the elements below the root have different names, so the records are ambiguous"
        return InputError(message, at=Location(self.path), hint=hint, problems=tuple(problems))


def _blocks(file: Input) -> Iterator[str]:
    """Yield the text of a file, without the declaration: it may name another encoding than that of our text."""
    decoder = getincrementaldecoder(file.encoding)()
    line, is_first = 1, True
    with read_errors(file.path), open_input(file) as stream:
        while block := stream.read(_BLOCK_BYTES):
            try:
                text = decoder.decode(block)
            except UnicodeDecodeError as error:
                raise wrong_encoding(file, line + error.object[: error.start].count(b"\n")) from error
            line += text.count("\n")
            if is_first:
                text = _DECLARATION.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text.lstrip("\ufeff"))
                is_first = False
            yield text
