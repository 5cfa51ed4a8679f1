"""Types texts of JSON documents: they become the texts and numbers that JSON writes for values of their types."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from schemactl.arc.fields import ERRORS, Array, Struct, TypingTask
from schemactl.arc.text_columns import ColumnTyper


class DocumentTyper:
    """Types the texts below the keys that a typing names; other values, other keys and missing keys stay.

    A text that cannot be typed becomes null, and the document's key ``_errors`` has its field and message.
    """

    def __init__(self, task: TypingTask) -> None:
        self._typers = [
            (field.name, ColumnTyper(field))
            for field in task.typing.fields
            if not isinstance(field.type, Struct | Array)
        ]

    def type_documents(self, documents: Sequence[Any]) -> list[Any]:
        """Return the documents with typed values; values that are not objects stay unchanged."""
        typed: list[Any] = [
            {**document, ERRORS: []} if isinstance(document, dict) else document for document in documents
        ]
        for name, typer in self._typers:
            indexes = [
                index
                for index, document in enumerate(typed)
                if isinstance(document, dict) and isinstance(document.get(name), str)
            ]
            if not indexes:
                continue
            column = typer.run(pa.array([typed[index][name] for index in indexes], pa.string()))
            messages = column.messages.to_pylist()
            for index, value, message in zip(indexes, column.values.to_pylist(), messages, strict=True):
                write = _WRITERS.get(type(value))
                typed[index][name] = value if write is None else write(value)
                if message is not None:
                    typed[index][ERRORS].append({"field": name, "message": message})
        return typed


_WRITERS: Final[dict[type, Callable[[Any], str]]] = {
    datetime: datetime.isoformat,
    date: date.isoformat,
    Decimal: lambda value: format(value, "f"),
    bytes: lambda value: base64.b64encode(value).decode("ascii"),
}
"""How values are written that JSON lacks; the type of their column reads them again."""
