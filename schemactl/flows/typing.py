"""Typing of texts (``--typing``): finds the typing that a call names, and makes hints of its columns."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Set
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemactl.arc.fields import ERRORS, ERRORS_COLUMN, OnError, String, Typing, TypingTask
from schemactl.arc.typing_file import read_typing
from schemactl.errors import InputError, nearest_or_all
from schemactl.examples import mask_examples
from schemactl.flows.request import APPLIED_TYPING, InferRequest, TypingSource
from schemactl.flows.schemas import open_schemas
from schemactl.formats.arc import TYPING, table_columns, typing_of
from schemactl.inference.source_names import root_table
from schemactl.redaction import redact, redact_text
from schemactl.schema.hints import ColumnHint, Hints, only_root
from schemactl.schema.naming import naming_of
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table
from schemactl.store.folder import SchemasFolder, list_names
from schemactl.store.sources import table_name
from schemactl.store.text import MAX_BYTES, decode, read_text

if TYPE_CHECKING:
    import pyarrow

    from schemactl.arc.proposal import DateOrder, DraftedField
    from schemactl.engine.input import Input
    from schemactl.flows.import_ import Imported


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
            raise InputError(
                f"the schema `{source}` does not have exactly one root table", hint="name an Arc schema file"
            )
        typing = typing_of(schema, root)
    else:
        hint = (
            nearest_or_all(source, list_names(folder.exports)) or "pass an Arc schema file, or a schema with one table"
        )
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
    """Return a schema whose root table declares how to type the strings of a file (``export --to arc --data``)."""
    from schemactl.arc.proposal import propose

    root = only_root(schema)
    if root is None:
        raise InputError(
            f"the schema `{schema.name}` does not have exactly one root table", hint="choose a table with `--table`"
        )
    texts = _read_texts(str(file), _ROW_FORMATS)
    naming, table = naming_of(schema), schema.tables[root]
    names = [name for name in texts if naming.normalize_path(name) in table.columns]
    if not names:
        raise InputError(f"`{file}` has no column of the table `{root}`")
    fields = tuple(propose(name, texts[name]) for name in names)
    proposed = table_columns(Typing(fields), naming, str(file))
    columns = {
        name: Column(name, {**column.properties, **proposed[name].properties}) if name in proposed else column
        for name, column in table.columns.items()
    }
    return schema.with_table(replace(table, columns=columns))


def draft_typing(
    source: str, order: DateOrder | None, ask: Callable[[str], DateOrder] | None
) -> tuple[DraftedField, ...]:
    """Return fields that type the strings of a source.

    Args:
        source: CSV, TSV or JSON files; in JSON documents, only top-level strings are typed.
        order: the order of day and month; None to find it in the strings.
        ask: asks the user for the order if all dates of a column allow both; None without a terminal.
    """
    from schemactl.arc.proposal import draft, draft_with_decimal_comma, has_decimal_comma

    drafted: list[DraftedField] = []
    texts_by_name = _read_texts(source, _TEXT_FORMATS)
    for name, texts in texts_by_name.items():
        column = draft(name, texts, order)
        if column.is_ambiguous:
            example = "".join(f" (`{text}`)" for text in mask_examples((texts.drop_null()[0].as_py(),), False))
            question = f"day and month of `{name}` could change places{example}"
            if ask is None:
                raise InputError(question, hint="add `--dates day-first` or `--dates month-first`")
            column = draft(name, texts, ask(question))
        drafted.append(column)
    if any(has_decimal_comma(column.field) for column in drafted):
        drafted = [
            draft_with_decimal_comma(column, texts)
            for column, texts in zip(drafted, texts_by_name.values(), strict=True)
        ]
    if all(isinstance(column.field.type, String) for column in drafted):
        raise InputError(f"no text of `{redact(source)}` is a date, a number or a truth value", hint="nothing to type")
    return tuple(drafted)


def apply_typing(typing: Typing, source: str, name: str, table: str | None, folder: SchemasFolder) -> Imported:
    """Save a typing in a schema: later runs of ``infer`` and ``normalize`` type the texts of its table.

    ``table`` is None for the schema's only root table; in a new schema, ``source`` gives the table its name.
    """
    from schemactl.flows.import_ import import_schema

    before = open_schemas(folder, name).schema
    schema = before or new_schema(name)
    root = root_table(schema, table or only_root(schema) or table_name([source], name))
    stored = schema.tables.get(root) or Table(root, {}, {"write_disposition": "append", "resource": root})
    typed = table_columns(typing, naming_of(schema), source)
    columns = dict(stored.columns)
    for column in typed.values():
        stored_column = stored.columns.get(column.name, Column(column.name, {}))
        columns[column.name] = replace(column, properties={**stored_column.properties, **column.properties})
    applied = replace(stored, columns=columns, properties={**stored.properties, APPLIED_TYPING: True})
    return import_schema(schema.with_table(applied), folder)


def applied_typing(request: InferRequest, schema: Schema, formats: Set[str]) -> TypingSource | None:
    """Return the typing of a schema for the table of a request (``typing draft --apply``); None without typing."""
    root = root_table(schema, request.table) if request.table is not None else only_root(schema)
    stored = schema.tables.get(root) if root is not None else None
    if stored is None or root is None or not stored.properties.get(APPLIED_TYPING) or not formats <= _TEXT_FORMATS:
        return None
    has_documents = not formats.isdisjoint(_DOCUMENT_FORMATS)
    # Documents have values of all types: only columns with a declared typing are typed.
    columns = {
        name: column for name, column in stored.columns.items() if not has_documents or TYPING in column.properties
    }
    tables = {root: replace(stored, columns=columns)} if has_documents else schema.tables
    typing = typing_of(replace(schema, tables=tables), root)
    on_error = OnError(request.typing_errors or OnError.COLUMN)
    return TypingSource(f"schema {schema.name}", TypingTask(typing, on_error, request.typing_errors is None))


_ROW_FORMATS: Final = frozenset({"csv", "tsv"})
_DOCUMENT_FORMATS: Final = frozenset({"json", "ndjson"})
_TEXT_FORMATS: Final = _ROW_FORMATS | _DOCUMENT_FORMATS


def _read_texts(source: str, formats: Set[str]) -> dict[str, pyarrow.Array]:
    """Read columns of strings, with the separator, encoding and compression that `infer` detects.

    The files are on this machine; in JSON, only top-level strings count.
    """
    import pyarrow as pa

    from schemactl.engine.inputs import find_inputs

    names = "CSV or TSV" if formats == _ROW_FORMATS else "CSV, TSV or JSON"
    hint = f"one file of {names} with a header" if formats == _ROW_FORMATS else f"files of {names} on this machine"
    columns: dict[str, list[pa.Array]] = {}
    try:
        for file in find_inputs([source]):
            if file.format not in formats or not file.is_readable_here:
                raise InputError(f"it is not a local file of {names}", hint=hint)
            read = _read_documents if file.format in _DOCUMENT_FORMATS else _read_rows
            for name, texts in read(file).items():
                columns.setdefault(name, []).append(texts)
    except InputError as error:
        raise InputError(f"cannot read `{redact(source)}`: {error.message}", at=error.at, hint=error.hint) from error
    except (OSError, EOFError, UnicodeDecodeError, pa.ArrowInvalid) as error:
        raise InputError(f"cannot read `{redact(source)}`: {str(error).splitlines()[0]}", hint=hint) from error
    return {name: pa.concat_arrays(parts) for name, parts in columns.items()}


def _read_rows(file: Input) -> dict[str, pyarrow.Array]:
    """Return the columns of a file of CSV or TSV."""
    import pyarrow as pa
    import pyarrow.csv

    from schemactl.engine.csv_header import SEPARATORS, read_header
    from schemactl.engine.input import open_input, read_head

    header = read_header(read_head(file), SEPARATORS.get(file.format))
    with open_input(file) as opened:
        content = pa.py_buffer(opened.read().decode(file.encoding).removeprefix("\ufeff").encode())
    reading = pyarrow.csv.ReadOptions(skip_rows=header.skipped_lines)
    parsing = pyarrow.csv.ParseOptions(delimiter=header.separator, newlines_in_values=True)
    with pyarrow.csv.open_csv(pa.BufferReader(content), reading, parsing) as stream:
        names = stream.schema.names
    types = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
    table = pyarrow.csv.read_csv(pa.BufferReader(content), reading, parsing, types)
    return {name: table.column(name).combine_chunks() for name in table.column_names}


def _read_documents(file: Input) -> dict[str, pyarrow.Array]:
    """Return the texts at the top of JSON documents, by key."""
    import pyarrow as pa

    from schemactl.engine.input import open_input

    with open_input(file) as opened:
        content = opened.read().decode(file.encoding).removeprefix("\ufeff")
    try:
        values = [json.loads(line) for line in content.splitlines() if line.strip()]
    except ValueError:
        try:
            values = [json.loads(content)]
        except ValueError as error:
            raise InputError(f"this is not JSON: {error}") from error
    records = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    texts: dict[str, list[str]] = {}
    for record in records:
        for key, value in record.items() if isinstance(record, dict) else ():
            if isinstance(value, str):
                texts.setdefault(key, []).append(value)
    return {key: pa.array(column, pa.string()) for key, column in texts.items()}


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
