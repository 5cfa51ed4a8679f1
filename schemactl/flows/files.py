"""``schemactl list``, ``check``, ``fmt`` and ``schema``: the schema files of a folder, one by one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Final

from schemactl.errors import InputError, Location, Problem
from schemactl.flows.effective_schemas import EffectiveSchema, read_all_effective
from schemactl.flows.normalizers import check_conventions
from schemactl.flows.schemas import parse_named
from schemactl.formats.dlt import Document, read, write
from schemactl.schema.faults import find_faults
from schemactl.schema.hash import bump
from schemactl.store.folder import (
    SchemasFolder,
    SchemasPlace,
    TextFile,
    find_file,
    list_names,
    no_schema,
    read_schema,
)
from schemactl.store.links import real_path
from schemactl.store.text import read_text, replace_file


def list_schemas(schemas: SchemasPlace) -> tuple[EffectiveSchema, ...]:
    """Return the schemas of a folder, by name."""
    folder = SchemasFolder.at(schemas)
    listed = read_all_effective(folder)
    if not listed:
        raise no_schema(folder.shown)
    return listed


def check_files(files: tuple[Path, ...], schemas: SchemasPlace) -> tuple[tuple[Path, tuple[Problem, ...]], ...]:
    """Return the problems of schema files: content, hash, naming convention and normalizer.

    By default all files of the schemas folder are checked; an edited file of ``export/`` is wrong.
    """
    folder = SchemasFolder.at(schemas)
    return tuple((path, tuple(_problems(path, folder))) for path in _find(files, folder))


def format_files(files: tuple[Path, ...], schemas: SchemasPlace, *, is_check: bool) -> tuple[tuple[Path, bool], ...]:
    """Write schema files in dlt's form, with their comments; a check writes nothing."""
    folder = SchemasFolder.at(schemas)
    schema_files = (TextFile(path, read_text(path)) for path in _find(files, folder))
    documents = [(file, _parse(file, folder)) for file in schema_files]
    texts = [(file, write(bump(document.schema), str(file.path), document.layout)) for file, document in documents]
    for file, text in texts:
        if text != file.text and not is_check:
            replace_file(file.path, text)
    return tuple((file.path, text != file.text) for file, text in texts)


def _find(files: tuple[Path, ...], folder: SchemasFolder) -> tuple[Path, ...]:
    """Return files, by default all of the schemas folder."""
    if files:
        return files
    directories = dict.fromkeys((folder.imports, folder.exports))
    existing_files = tuple(
        path for directory in directories for name in list_names(directory) if (path := find_file(directory, name))
    )
    if not existing_files:
        raise no_schema(folder.shown)
    return existing_files


def _problems(path: Path, folder: SchemasFolder) -> Iterator[Problem]:
    try:
        file = TextFile(path, read_text(path))
        document = _parse(file, folder)
        check_conventions(document)
    except InputError as error:
        if not path.exists():
            raise  # named by mistake
        yield from error.problems or (Problem(error.message, error.at, error.hint),)
        return
    other_tables = cache(partial(_all_tables, folder))  # read only if a reference needs them
    for fault in find_faults(document.schema, lambda table: table in other_tables()):
        yield Problem(fault.message, document.locate(*fault.keys), fault.hint)
    is_exported = not folder.is_shared and real_path(file.path).parent == real_path(folder.exports)
    if is_exported and document.is_edited:
        hint = (
            "dlt's next run overwrites this edit: edit the import file instead, or update version and hash with "
            "`schemactl fmt`"
        )
        yield Problem("the export file was edited by hand", document.locate("version_hash"), hint)


def _all_tables(folder: SchemasFolder) -> frozenset[str]:
    """Return the names of the tables of all schemas of a folder that can be read."""
    table_names: set[str] = set()
    for directory in dict.fromkeys((folder.imports, folder.exports)):
        for name in list_names(directory):
            with suppress(InputError):
                if file := read_schema(directory, name):
                    table_names |= read(file.text, str(file.path)).schema.tables.keys()
    return frozenset(table_names)


def _parse(file: TextFile, folder: SchemasFolder) -> Document:
    """Read a file; in the schemas folder it has the name of its schema, elsewhere any."""
    is_named = real_path(file.path).parent in (real_path(folder.imports), real_path(folder.exports))
    return parse_named(file) if is_named else read(file.text, str(file.path))


_LINES: Final = {
    ".yaml": "# yaml-language-server: $schema={}",
    ".yml": "# yaml-language-server: $schema={}",
    ".toml": "#:schema {}",
}
"""The comment that names a JSON Schema, by the ending of the file: of the YAML language server, and of Taplo."""


def name_schema(file: Path, schema: Path) -> bool:
    """Let the first comment of a YAML or TOML file name its JSON Schema, and return whether the file was written.

    The new line replaces a line that names another schema; nothing else changes. The JSON Schema's file is named by
    its path from there.
    """
    if file.suffix not in _LINES:
        hint = "YAML and TOML name it in a comment; of JSON files the editor's own settings do"
        raise InputError(f"a file `*{file.suffix}` cannot name a JSON Schema", at=Location(str(file)), hint=hint)
    text = read_text(file)
    address = Path(os.path.relpath(schema.absolute(), file.absolute().parent)).as_posix()
    line = _LINES[file.suffix].format(address)
    before = re.search(rf"^{re.escape(_LINES[file.suffix].partition('{}')[0])}.*$", text, re.MULTILINE)
    if before is not None:
        new_text = text[: before.start()] + line + ("\r" if before[0].endswith("\r") else "") + text[before.end() :]
    else:
        new_text = line + ("\r\n" if "\r\n" in text else "\n") + text
    if new_text != text:
        replace_file(file, new_text)
    return new_text != text
