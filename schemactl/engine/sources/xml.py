"""XML: the elements below the root are records; values are texts, and the detectors say what they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from pyspark.sql import SparkSession

from schemactl.engine.inputs import Input, read_head
from schemactl.engine.sources import Documents
from schemactl.engine.sources._rows import rows_as_documents
from schemactl.errors import InputError, Location

ENDINGS = (".xml",)


def read(spark: SparkSession, inputs: Sequence[Input]) -> Iterator[Documents]:
    """Yield the records of the files, those of one element name together.

    Raises:
        InputError: a file is no XML, or has no element below its root.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for each in inputs:
        groups.setdefault((each.encoding, _record_tag(each)), []).append(each.address)
    for (encoding, tag), paths in groups.items():
        options: dict[str, str | bool] = {"rowTag": tag, "inferSchema": False, "encoding": encoding, "mode": "FAILFAST"}
        yield rows_as_documents(spark.read.options(**options).xml(paths))


def _record_tag(file: Input) -> str:
    if not file.is_local:
        raise InputError("XML is read from local files only", at=Location(file.path))
    parser: XMLPullParser[Any] = XMLPullParser(events=("start",))
    try:
        parser.feed(read_head(file))
        started = [event[1] for event in cast(Iterable[tuple[str, Element]], parser.read_events())]
    except ParseError as error:
        line, column = error.position
        raise InputError(f"this is no XML: {error}", at=Location(file.path, line, column + 1)) from error
    if len(started) > 1:
        return str(started[1].tag).rpartition("}")[2]
    raise InputError("there is no element below the root", at=Location(file.path))
