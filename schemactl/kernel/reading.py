"""Options for reading records of sources: nulls and types of texts, models that validate, tables of records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from schemactl.arc.fields import TypingTask
from schemactl.kernel.dispatch import Dispatch, Piece

if TYPE_CHECKING:
    from schemactl.kernel.models import ModelTask, RejectedDocuments


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options for reading the records of sources.

    Attributes:
        null_values: texts of CSV, TSV and XML that mean null.
        task: how texts are typed; None if they are not.
        dispatch: names the table of each record; None if all go to one.
        model: validates documents; None without one.
    """

    null_values: tuple[str, ...] = ()
    task: TypingTask | None = None
    dispatch: Dispatch | None = None
    model: ModelTask | None = None


AS_THEY_ARE: Final = ReadOptions()


class Sorter:
    """Take the documents of one partition to their tables, through a typing or a model if there is one."""

    def __init__(self, options: ReadOptions) -> None:
        self._dispatch, self._validator, self._typer = options.dispatch, None, None
        if options.task is not None:
            # It loads Java's patterns, which take a quarter of a second.
            from schemactl.kernel.document_typing import DocumentTyper

            self._typer = DocumentTyper(options.task)
        if options.model is not None:
            # Pydantic takes a quarter of a second to load.
            from schemactl.kernel.models import Validator

            self._validator = Validator(options.model)

    def sort(self, pieces: Iterable[Piece]) -> Iterator[Piece | RejectedDocuments]:
        """Yield the documents of each table, and the documents that the model rejects, in the order of the piece."""
        for piece in pieces:
            if self._typer is not None:
                yield replace(piece, documents=self._typer.type_documents(piece.documents), texts=None)
            elif self._validator is not None:
                yield from self._validator.sort(piece, self._dispatch)
            elif self._dispatch is not None:
                yield from self._dispatch.sort(replace(piece, texts=None))
            else:
                yield piece
