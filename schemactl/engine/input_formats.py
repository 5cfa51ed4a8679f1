"""Input formats (``--input-format``): their names, and the endings of their files.

Readers are modules named as users name the format, one folder for each engine: ``engine.spark.input_formats`` and
``engine.local.input_formats``. Third parties add readers by the entry-point groups ``schemactl.input_format`` for Spark
and ``schemactl.local_input_format`` for this machine (docs/extending.md): modules with ``ENDINGS``, how names of their
files end (lower case, with the dot, a compression's ending left off), and ``read``, which yields batches without
starting to read.

A SOURCE is something else: an argument of a user (a file, a folder, a glob, a table). ``engine.inputs`` finds its
files, each an ``Input`` with its input format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from schemactl.errors import InputError, nearest_or_all
from schemactl.registry import Registry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from schemactl.engine.input import Input
    from schemactl.engine.protocol import Batch

_ENDINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "arrow": (".arrow", ".feather", ".ipc", ".arrows"),
    "avro": (".avro",),
    "csv": (".csv",),
    "json": (".json",),
    "ndjson": (".jsonl", ".ndjson", ".jl"),
    "orc": (".orc",),
    "parquet": (".parquet",),
    "table": (),
    "text": (".txt", ".log"),
    "tsv": (".tsv", ".tab"),
    "xml": (".xml",),
}

TEXTS: Final = {name: _ENDINGS[name] for name in ("csv", "tsv", "xml")}
"""The formats whose values are all texts, and how names of their files end."""


class SparkInputFormat(Protocol):
    """A module that reads a format with Spark; only third parties' have endings."""

    ENDINGS: tuple[str, ...]

    def read(self, spark: SparkSession, inputs: Sequence[Input]) -> Iterator[Batch]:
        """Yield the inputs as batches; nothing is read yet."""
        ...


class LocalInputFormat(Protocol):
    """A module that reads a format on this machine; only third parties' have endings."""

    ENDINGS: tuple[str, ...]

    def read(self, inputs: Sequence[Input], cores: int) -> Iterator[Batch]:
        """Yield the inputs as batches for this number of workers; nothing is read except metadata."""
        ...


SPARK_FORMATS: Registry[SparkInputFormat] = Registry("input format", "schemactl.engine.spark.input_formats")
"""The readers for Spark by the name of their format, third parties' among them."""

LOCAL_FORMATS: Registry[LocalInputFormat] = Registry("local input format", "schemactl.engine.local.input_formats")
"""The readers for this machine by the name of their format, third parties' among them."""


def format_names() -> tuple[str, ...]:
    """Return the names of all input formats."""
    return tuple(dict.fromkeys((*_ENDINGS, *SPARK_FORMATS, *LOCAL_FORMATS)))


def unknown_format(name: str) -> InputError:
    """Return the error for a name that no input format has."""
    return InputError(f"there is no input format `{name}`", hint=nearest_or_all(name, format_names()))


def format_of_ending(ending: str, preferred: str) -> str | None:
    """Return the format of files with an ending (lower case, with the dot); third parties' formats come before ours.

    ``preferred`` wins if several formats of ours have the ending.
    """
    for registry in (SPARK_FORMATS, LOCAL_FORMATS):
        for name in registry.installed:
            if ending in registry[name].ENDINGS:
                return name
    names = [name for name, endings in _ENDINGS.items() if ending in endings]
    return preferred if preferred in names else next(iter(names), None)
