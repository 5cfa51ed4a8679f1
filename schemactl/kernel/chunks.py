"""A chunk: some hundred documents of one file, in the order of the file, as readers hand them to the row maker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import pyarrow as pa

from schemactl.kernel.outcome import IgnoredKey
from schemactl.kernel.stored import python_values
from schemactl.schema.coercion import coerce
from schemactl.schema.paths import Path
from schemactl.schema.types import DataType

NO_KEYS: Final[dict[str, Any]] = {}
"""A document whose keys are all in columns."""


@dataclass(frozen=True)
class Chunk:
    """Some hundred documents of one file, in the order of the file.

    Attributes:
        file: its name as shown to people.
        numbers: the number of each document in the file, from 1.
        documents: the parsed documents. For sources with declared types, without the keys in ``columns``.
        columns: top-level scalars of a declared type, by key.
        names: all top-level keys in order, if ``columns`` is not empty. Empty if each document has its own keys, which
            columns then follow.
        json_paths: paths that sources declare as JSON: every value at the path is JSON.
        omits_nulls: whether documents lack the keys of columns that are null.
        ignored: for each document, the keys that its model ignores; empty if no document has any.
        originals: the texts of documents that a model has changed since; None for unchanged documents.
        load_id: the load that the documents first came with, if they are replayed; ``file`` and ``numbers`` belong to
            it.
    """

    file: str
    numbers: Sequence[int]
    documents: Sequence[Any]
    columns: Mapping[str, pa.Array] = field(default_factory=dict)
    names: Sequence[str] = ()
    json_paths: frozenset[Path] = frozenset()
    omits_nulls: bool = False
    ignored: Sequence[Sequence[IgnoredKey]] = ()
    load_id: str | None = None
    originals: Sequence[bytes] | None = None

    def record_text(self, index: int) -> str:
        """Return a record as JSON, unchanged."""
        if self.originals is not None:
            return self.originals[index].decode("utf-8", "replace")
        return str(coerce(self.whole_documents[index], DataType.JSON, DataType.TEXT))

    @cached_property
    def whole_documents(self) -> Sequence[Any]:
        """The documents together with their values in ``columns``."""
        if not self.columns:
            return self.documents
        values_by_key = {key: python_values(column) for key, column in self.columns.items()}
        if not self.names:
            rows = (
                dict(zip(values_by_key, values, strict=True)) for values in zip(*values_by_key.values(), strict=True)
            )
            return [document | _without_nulls(row) for document, row in zip(self.documents, rows, strict=True)]
        columns = [
            values_by_key[name] if name in values_by_key else [document[name] for document in self.documents]
            for name in self.names
        ]
        documents = [dict(zip(self.names, values, strict=True)) for values in zip(*columns, strict=True)]
        return [_without_nulls(document) for document in documents] if self.omits_nulls else documents


def _without_nulls(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}
