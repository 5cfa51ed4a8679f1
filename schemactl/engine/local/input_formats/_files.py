"""Files of lines and of JSON documents as tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from schemactl.engine.input import Input
from schemactl.engine.local.batches import LocalDocuments
from schemactl.engine.local.tasks import FileTask, PackedFile
from schemactl.engine.parts import cut_files
from schemactl.kernel.files import Form

MOST_OF_TASK: Final = 1 << 24
"""Bytes that a task reads: few enough that all cores end at about the same time."""


def read_documents(form: Form, inputs: Sequence[Input], cores: int) -> Iterator[LocalDocuments]:
    """Yield the records of files."""
    files = cut_files(inputs, form, cores, MOST_OF_TASK)
    tasks, packed = map(FileTask, files.tasks), map(PackedFile, files.packed)
    yield LocalDocuments((*tasks, *packed))
