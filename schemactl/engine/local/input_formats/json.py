"""JSON files of one document each: an object is one record, a list has a record for each element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schemactl.engine.input import Input
from schemactl.engine.local.batches import LocalDocuments
from schemactl.engine.local.input_formats._files import read_documents
from schemactl.kernel.files import Form


def read(inputs: Sequence[Input], cores: int) -> Iterator[LocalDocuments]:
    """Yield the elements of lists, and all other documents."""
    yield from read_documents(inputs, Form.ELEMENTS, cores)
