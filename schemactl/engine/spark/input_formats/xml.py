"""XML: the elements below the root are records; values are texts, and the detectors say what they are."""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Never
from xml.parsers.expat import ErrorString, ExpatError, ParserCreate

from pyspark.sql import SparkSession

from schemactl.engine.input import Input, open_input, wrong_encoding
from schemactl.engine.spark.batches import Documents
from schemactl.engine.spark.reading.rows import rows_as_documents
from schemactl.errors import InputError, Location, Problem, did_you_mean
from schemactl.kernel.opening import SUFFIXES

_DECLARATION: Final = re.compile(r"^\s*<\?xml.*?\?>", re.DOTALL)
_BLOCK_BYTES: Final = 1 << 18
_MOST_NAMED: Final = 5


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[Documents]:
    """Yield the records of the files, those of one element name together.

    Raises:
        InputError: a file is not XML, has entities of its own, or does not say which of its elements are records.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for each in inputs:
        groups.setdefault((each.encoding, _record_tag(each)), []).append(each.address)
    for (encoding, tag), paths in groups.items():
        options: dict[str, str | bool] = {"rowTag": tag, "inferSchema": False, "encoding": encoding, "mode": "FAILFAST"}
        yield rows_as_documents(spark.read.options(**options).xml(paths))


def _record_tag(file: Input) -> str:
    """Return the name of the elements that are records, as it is written: Spark too finds elements by that.

    It is the one that the call states, else the only one below the root: Spark reads elements of one name, and others
    would be lost.
    """
    found = _Elements(file)
    if file.record_tag:
        if file.record_tag not in found.names:
            hint = did_you_mean(file.record_tag, found.names)
            raise InputError(f"there is no element `{file.record_tag}`", at=Location(file.path), hint=hint)
        return file.record_tag
    if not found.below_root:
        raise InputError("there is no element below the root", at=Location(file.path))
    if len(found.below_root) == 1:
        return next(iter(found.below_root))
    raise found.several()


@dataclass(slots=True)
class _Tag:
    """The elements of one name below the root: how many there are, and where the first one stands."""

    first: Location
    count: int = 0


class _Elements:
    """The names of the elements of a file, of which no more than a block is held at once.

    Spark has neither lines nor reasons for what is wrong with XML, so the whole file is parsed before it is read.

    Raises:
        InputError: the file is not XML, has entities of its own, or cannot be read here.
    """

    def __init__(self, file: Input) -> None:
        if not file.is_local:
            raise InputError("XML is read from local files only", at=Location(file.path))
        if not file.is_readable_here:
            known = ", ".join(f"`{suffix}`" for suffix in SUFFIXES if suffix)
            raise InputError(f"compressed XML is read with these endings only: {known}", at=Location(file.path))
        self.root = ""
        self.names: set[str] = set()
        self.below_root: dict[str, _Tag] = {}
        self._path, self._depth, self._parser = file.path, 0, ParserCreate()
        self._parser.StartElementHandler, self._parser.EndElementHandler = self._start, self._end
        self._parser.EntityDeclHandler = self._parser.SkippedEntityHandler = self._refuse_entity
        try:
            for text in _blocks(file):
                self._parser.Parse(text, False)
            self._parser.Parse("", True)
        except ExpatError as error:
            at = Location(file.path, error.lineno, error.offset + 1)
            raise InputError(f"this is not XML: {ErrorString(error.code)}", at=at) from error
        except EOFError as error:
            raise InputError("the compressed file ends too early", at=Location(file.path)) from error

    def _start(self, name: str, _: object) -> None:
        self._depth += 1
        self.names.add(name)
        if self._depth == 1:
            self.root = name
        elif self._depth == 2:
            if name not in self.below_root:
                self.below_root[name] = _Tag(self._here())
            self.below_root[name].count += 1

    def _end(self, _: str) -> None:
        self._depth -= 1

    def _refuse_entity(self, name: str, *_: object) -> Never:
        # Spark knows no entities of a file, and nested ones fill the memory where they are expanded ("billion laughs").
        hint = "write them out: `xmllint --noent --dropdtd FILE`, if you trust the file"
        raise InputError(f"the file has an entity of its own, `{name}`", at=self._here(), hint=hint)

    def _here(self) -> Location:
        return Location(self._path, self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1)

    def several(self) -> InputError:
        """Return the error for records of several names, with the ways to state which are meant."""
        tags = list(self.below_root.items())
        problems = [
            Problem(f"{tag.count:,} {'element' if tag.count == 1 else 'elements'} `{name}`, first here", tag.first)
            for name, tag in tags[:_MOST_NAMED]
        ]
        if len(tags) > _MOST_NAMED:
            problems.append(Problem(f"and {len(tags) - _MOST_NAMED:,} more names", Location(self._path)))
        most = max(tags, key=lambda each: each[1].count)[0]
        hint = (
            f"`--input-format xml:{most}` reads the elements `{most}` alone, "
            f"`--input-format xml:{self.root}` the file as one record"
        )
        message = "the elements below the root have several names: which of them are records?"
        return InputError(message, at=Location(self._path), hint=hint, problems=tuple(problems))


def _blocks(file: Input) -> Iterator[str]:
    """Yield the text of a file, without the declaration: it may name another encoding than that of our text."""
    decoder = getincrementaldecoder(file.encoding)()
    line, is_first = 1, True
    with open_input(file) as stream:
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
