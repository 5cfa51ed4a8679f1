"""Typing of texts (``--typing``): finds the typing that a call names, and makes hints of its columns."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from schemactl.arc.fields import ERRORS, ERRORS_COLUMN, OnError, Typing, TypingTask
from schemactl.arc.format import table_columns, typing_of
from schemactl.arc.typing_file import read_typing
from schemactl.errors import InputError, nearest_or_all
from schemactl.flows.request import InferRequest, TypingSource
from schemactl.flows.schemas import open_schemas
from schemactl.redaction import redact, redact_text
from schemactl.schema.hints import ColumnHint, Hints, only_root
from schemactl.schema.naming import naming_of
from schemactl.schema.types import Column, Schema
from schemactl.store.folder import SchemasFolder, list_names
from schemactl.store.text import MAX_BYTES, decode, read_text

if TYPE_CHECKING:
    import pyarrow


def find_typing(source: str, on_error: str | None, folder: SchemasFolder) -> TypingSource:
    """Read the typing that a call names: a file, the address of one in an object store, or a schema of the folder.

    Without ``on_error`` errors go to their column, and a column all of whose texts are errors stops the command.
    """
    if Path(source).is_file():
        typing = read_typing(read_text(Path(source)), source)
    elif "://" in source:
        typing = read_typing(_read_address(source), source)
    elif source.isidentifier() and (schema := open_schemas(folder, source).schema) is not None:
        root = only_root(schema)
        if root is None:
            raise InputError(f"the schema `{source}` has several root tables, or none", hint="name an Arc schema file")
        typing = typing_of(schema, root)
    else:
        hint = nearest_or_all(source, list_names(folder.exports)) or "name an Arc schema file, or a schema of one table"
        raise InputError(f"there is no file and no schema `{source}` (`--typing`)", hint=hint)
    if ERRORS in (field.name for field in typing.fields):
        raise InputError(f"a field cannot be called `{ERRORS}`: errors have a column of that name", hint="rename it")
    return TypingSource(source, TypingTask(typing, OnError(on_error or OnError.COLUMN), on_error is None))


def _read_address(address: str) -> str:
    """Return the text of a file in a store that pyarrow reaches: S3, Google Cloud Storage, Azure, HDFS, `file://`."""
    import pyarrow as pa
    import pyarrow.fs

    try:
        # Spark calls S3 by the name of its client.
        system, path = pyarrow.fs.FileSystem.from_uri(re.sub(r"^s3[an]://", "s3://", address))
        with system.open_input_stream(path) as stream:
            return decode(stream.read(MAX_BYTES + 1), redact(address))
    except (OSError, pa.ArrowInvalid) as error:
        reason = redact_text(str(error)).splitlines()[0]
        raise InputError(f"cannot read the typing `{redact(address)}`: {reason}") from error


def with_proposals(schema: Schema, file: Path) -> Schema:
    """Return a schema whose root table states how the texts of a file can be typed (``export --to arc --data``)."""
    from schemactl.arc.proposal import propose

    root = only_root(schema)
    if root is None:
        raise InputError(f"the schema `{schema.name}` has several root tables, or none", hint="name one with `--table`")
    texts = _read_texts(file)
    naming, table = naming_of(schema), schema.tables[root]
    names = [name for name in texts.column_names if naming.normalize_path(name) in table.columns]
    if not names:
        raise InputError(f"`{file}` has no column of the table `{root}`")
    fields = tuple(propose(name, texts.column(name).combine_chunks()) for name in names)
    proposed = table_columns(Typing(fields), naming, str(file))
    columns = {
        name: Column(name, {**column.properties, **proposed[name].properties}) if name in proposed else column
        for name, column in table.columns.items()
    }
    return schema.with_table(replace(table, columns=columns))


def _read_texts(file: Path) -> pyarrow.Table:
    """Read the columns of CSV or TSV as texts, with the separator, encoding and compression that `infer` finds."""
    import pyarrow as pa
    import pyarrow.csv

    from schemactl.engine.csv_header import SEPARATORS, read_header
    from schemactl.engine.input import open_input, read_head
    from schemactl.engine.inputs import find_inputs

    hint = "one file of CSV or TSV with a header"
    try:
        inputs = find_inputs([str(file)])
        if len(inputs) != 1 or inputs[0].format not in ("csv", "tsv") or not inputs[0].is_readable_here:
            raise InputError("it is not a local file of CSV or TSV", hint=hint)
        header = read_header(read_head(inputs[0]), SEPARATORS.get(inputs[0].format))
        with open_input(inputs[0]) as opened:
            content = pa.py_buffer(opened.read().decode(inputs[0].encoding).removeprefix("\ufeff").encode())
        reading = pyarrow.csv.ReadOptions(skip_rows=header.skipped_lines)
        parsing = pyarrow.csv.ParseOptions(delimiter=header.separator, newlines_in_values=True)
        with pyarrow.csv.open_csv(pa.BufferReader(content), reading, parsing) as stream:
            names = stream.schema.names
        types = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
        return pyarrow.csv.read_csv(pa.BufferReader(content), reading, parsing, types)
    except InputError as error:
        raise InputError(f"cannot read `{file}`: {error.message}", at=error.at, hint=error.hint) from error
    except (OSError, EOFError, UnicodeDecodeError, pa.ArrowInvalid) as error:
        raise InputError(f"cannot read `{file}`: {str(error).splitlines()[0]}", hint=hint) from error


def with_typing(request: InferRequest, before: Schema) -> InferRequest:
    """Return a request with hints for the columns of its typing; the request's own hints override them."""
    if request.typing is None:
        return request
    task = request.typing.task
    columns = table_columns(task.typing, naming_of(before), request.typing.source)
    column_hints = [ColumnHint(None, name, column.properties) for name, column in columns.items()]
    if task.on_error is OnError.COLUMN:
        column_hints.append(ColumnHint(None, ERRORS, ERRORS_COLUMN))
    hints = request.hints or Hints()
    return replace(request, hints=replace(hints, columns=(*column_hints, *hints.columns)))
