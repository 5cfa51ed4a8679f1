"""CSV with tabs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schemactl.engine.csv_header import SEPARATORS
from schemactl.engine.input import Input
from schemactl.engine.local.batches import LocalDocuments
from schemactl.engine.local.input_formats import csv


def read(inputs: Sequence[Input], cores: int) -> Iterator[LocalDocuments]:
    """Yield the rows of the files."""
    yield from csv.read(inputs, cores, SEPARATORS["tsv"])
