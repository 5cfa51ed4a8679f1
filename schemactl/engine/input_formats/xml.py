"""XML: the elements below the root are records; values are texts, and the detectors say what they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.parsers.expat import ErrorString, ExpatError, ParserCreate

from pyspark.sql import SparkSession

from schemactl.engine.input import TEXTS, Input, read_head
from schemactl.engine.input_formats import Documents
from schemactl.engine.reading.rows import rows_as_documents
from schemactl.errors import InputError, Location

ENDINGS = TEXTS["xml"]

_DECLARATION = re.compile(r"^\s*<\?xml.*?\?>", re.DOTALL)


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
    """Return the name of the first element below the root, as it is written: Spark too finds elements by that."""
    if not file.is_local:
        raise InputError("XML is read from local files only", at=Location(file.path))
    started: list[str] = []
    parser = ParserCreate()
    parser.StartElementHandler = lambda name, _: started.append(name)
    text = read_head(file)
    try:
        # Without its declaration, which may name another encoding than that of our text.
        parser.Parse(_DECLARATION.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text), False)
    except ExpatError as error:
        at = Location(file.path, error.lineno, error.offset + 1)
        raise InputError(f"this is not XML: {ErrorString(error.code)}", at=at) from error
    if len(started) < 2:
        raise InputError("there is no element below the root", at=Location(file.path))
    return started[1]
