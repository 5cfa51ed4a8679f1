"""Plain text: a row for each line, in the column ``value``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schemactl.engine.input import Input
from schemactl.engine.local.batches import LocalDocuments
from schemactl.engine.local.input_formats._files import read_documents
from schemactl.kernel.files import Form


def read(inputs: Sequence[Input], cores: int) -> Iterator[LocalDocuments]:
    """Yield the lines as documents ``{"value": LINE}``."""
    yield from read_documents(inputs, Form.TEXTS, cores)
