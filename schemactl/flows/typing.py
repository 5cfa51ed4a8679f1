"""Typing of texts (``--typing``): finds the typing that a call names, and states its columns as hints do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from schemactl.errors import InputError, nearest_or_all
from schemactl.flows.request import InferRequest, TypingSource
from schemactl.flows.schemas import open_schemas
from schemactl.formats._arc_fields import read_typing
from schemactl.formats.arc import table_columns, typing_of
from schemactl.schema.hints import ColumnHint, Hints, only_root
from schemactl.schema.naming import naming_of
from schemactl.schema.types import Schema
from schemactl.schema.typing.model import ERRORS, ERRORS_COLUMN, OnError, TypingTask
from schemactl.store.folder import SchemasFolder, list_names
from schemactl.store.text import read_text


def find_typing(stated: str, on_error: str, folder: SchemasFolder) -> TypingSource:
    """Read the typing that a call names.

    Args:
        stated: a file, or the name of a schema of the folder.
        on_error: a value of ``OnError``.
        folder: of schemas.

    Raises:
        InputError: there is no such file or schema, or it is no typing.
    """
    if Path(stated).is_file():
        typing = read_typing(read_text(Path(stated)), stated)
    elif stated.isidentifier() and (schema := open_schemas(folder, stated).schema) is not None:
        root = only_root(schema)
        if root is None:
            raise InputError(f"the schema `{stated}` has several root tables, or none", hint="name an Arc schema file")
        typing = typing_of(schema, root)
    else:
        hint = nearest_or_all(stated, list_names(folder.exports)) or "name an Arc schema file, or a schema of one table"
        raise InputError(f"there is no file and no schema `{stated}` (`--typing`)", hint=hint)
    names = [field.name for field in typing.fields]
    if ERRORS in names:
        raise InputError(f"a field cannot be called `{ERRORS}`: errors have a column of that name", hint="rename it")
    return TypingSource(stated, TypingTask(typing, OnError(on_error)))


def with_typing(request: InferRequest, before: Schema) -> InferRequest:
    """Return a request with hints for the columns of its typing; what the call states of columns goes before them.

    Raises:
        InputError: two fields become one column.
    """
    if request.typing is None:
        return request
    task = request.typing.task
    columns = table_columns(task.typing, naming_of(before), request.typing.stated)
    stated = [ColumnHint(None, name, column.properties) for name, column in columns.items()]
    if task.on_error is OnError.COLUMN:
        stated.append(ColumnHint(None, ERRORS, ERRORS_COLUMN))
    own = request.hints or Hints()
    return replace(request, hints=replace(own, columns=(*stated, *own.columns)))
