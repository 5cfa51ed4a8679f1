"""Match the columns of a source with the fields of a typing, and return the resulting columns."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from schemactl.arc.fields import ERRORS, Array, Field, OnError, Struct, TypingTask, column_type, spark_type, type_name
from schemactl.errors import CommandWarning, InputError, backquoted, did_you_mean
from schemactl.schema.paths import ELEMENT, Path


def match_columns(fields: Sequence[Field], cells: Mapping[str, str]) -> list[str]:
    """Return the column of the data for each field of a typing.

    Columns are matched by name; if no name is a field's, by position, as in Arc. ``cells`` are the engine's own names
    of columns, by their names in the data.
    """
    names = [field.name for field in fields]
    if not names:
        raise InputError("the typing has no fields", hint="add a field for each column of the source")
    if set(names) == cells.keys():
        return [cells[name] for name in names]
    if len(names) == len(cells) and not set(names) & cells.keys():
        pairs = ", ".join(f"`{cell}` as `{name}`" for cell, name in zip(cells, names, strict=True))
        message = f"no column has the name of a field: matching columns by position, {pairs}"
        warnings.warn(CommandWarning(message), stacklevel=2)
        return list(cells.values())
    missing = [name for name in names if name not in cells]
    extra = [name for name in cells if name not in names]
    differences = [f"the source does not have {backquoted(missing)}"] if missing else []
    differences += [f"the typing has no field for {backquoted(extra)}"] if extra else []
    redraft_hint = "change the typing, or draft it again: `schemactl typing draft SOURCE --name NAME --apply`"
    hint = (did_you_mean(missing[0], extra) or redraft_hint) if missing else f"add a field for it, or {redraft_hint}"
    counts = f"the typing has {len(names)} fields and the data {len(cells)} columns"
    raise InputError(f"{counts}: {'; '.join(differences)}", hint=hint)


def check_column_type(field: Field, column_type: str | None) -> None:
    """Refuse a column that is neither text nor of the field's type, given in Spark's words; None for text."""
    if column_type is None and not isinstance(field.type, Struct | Array):
        return
    if column_type != spark_type(field.type):
        described = f"`{column_type or 'string'}`, not text that could become `{type_name(field.type)}`"
        hint = "a typing reads text columns, and columns that already have the type of the field"
        raise InputError(f"the column `{field.name}` is {described}", hint=hint)


def no_columns() -> InputError:
    """Return the error for documents if columns are required."""
    return InputError("documents do not have typed text columns")


def documents_cannot(on_error: OnError) -> InputError:
    """Return the error for a treatment of errors that JSON documents do not have."""
    message = f"`--typing-errors {on_error}` does not work for JSON documents"
    return InputError(message, hint="`--typing-errors column` puts errors in the column `_errors`")


def column_types(task: TypingTask) -> dict[Path, dict[str, Any]]:
    """Return the properties of the columns that texts become, by path."""
    types: dict[Path, dict[str, Any]] = {(field.name,): column_type(field.type) for field in task.typing.fields}
    if task.on_error is OnError.COLUMN:
        types |= {(ERRORS, ELEMENT, name): {"data_type": "text"} for name in ("field", "message")}
    return types
