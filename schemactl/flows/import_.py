"""``schemactl import``: a file of a format becomes the content of a named schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from schemactl.errors import InputError, Problem, nearest_or_all
from schemactl.flows.schemas import open_schemas, save, to_save, with_lineage
from schemactl.formats import FORMATS, Document, Loss, ReadableFormat, is_binary, is_readable
from schemactl.formats._losses import PROCESSING, describe_loss
from schemactl.schema.changes import Change
from schemactl.schema.diff import diff
from schemactl.schema.hash import bump
from schemactl.schema.hints import Hints, with_hints
from schemactl.schema.judgement import Violation, judge
from schemactl.schema.types import Schema, Table
from schemactl.store.folder import SchemasFolder, check_name
from schemactl.store.text import read_bytes, read_text


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """What ``schemactl import`` was asked for.

    Attributes:
        files: what to read.
        source: name of a format; None to infer it from the files' names, and where those do not say, by their texts.
        name: the schema's name.
        schemas: the folder of ``import/`` and ``export/``.
        is_check: whether nothing is to be written.
        is_merged: whether tables and columns that no file brings stay; they go otherwise.
        is_strict: whether something that the files say and the schema cannot is an error.
    """

    files: tuple[Path, ...]
    source: str | None
    name: str
    schemas: Path
    is_check: bool = False
    is_merged: bool = False
    is_strict: bool = False


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did, or would do.

    Attributes:
        before: the schema as it was stored, None where there was none.
        after: as it is stored now, or would be.
        changes: what changed in its content.
        violations: what the stored schema's contract does not let through; then nothing is written.
        written: the files written.
        losses: what the files say and the schema does not.
    """

    before: Schema | None
    after: Schema
    changes: tuple[Change, ...]
    violations: tuple[Violation, ...] = ()
    written: tuple[str, ...] = ()
    losses: tuple[Loss, ...] = ()

    @property
    def changes_schema(self) -> bool:
        """Whether the schema is new or its content changes."""
        return self.before is None or bool(self.changes)


def import_files(request: ImportRequest) -> Imported:
    """Read schemas from files and make their tables the content of the named schema.

    Of several files each brings tables of its own; what else a schema states comes from the first.

    Raises:
        InputError: a file cannot be read or is not of its format, two files bring the same table, or the schemas
            folder cannot be read or written.
    """
    check_name(request.name)
    documents = [(path, _read(path, request.source)) for path in request.files]
    losses = tuple(loss for _, document in documents for loss in document.losses)
    if request.is_strict and losses:
        problems = tuple(Problem(describe_loss(loss)) for loss in losses)
        raise InputError("a schema cannot hold all that the files say (--strict)", problems=problems)
    content = _merged([(path, document.schema) for path, document in documents])
    folder = SchemasFolder.at(request.schemas)
    opened = open_schemas(folder, request.name)
    if opened.schema is not None:
        is_whole = not request.is_merged
        content = (
            _with_marks(content, opened.schema) if is_whole else with_hints(opened.schema, Hints(schema=content), None)
        )
    new = _with_lineage(replace(content, name=request.name), opened.schema)
    after = to_save(folder, opened, new)
    # An edited import file has not been taken over before: it is compared with what the export file holds.
    stored = opened.stored or opened.schema
    changes = diff(stored, with_lineage(new, stored)) if stored else ()
    violations = judge(stored, new).violations if stored else ()
    if violations or request.is_check:
        return Imported(stored, after, changes, violations, losses=losses)
    written = save(folder, opened, new)
    return Imported(stored, after, changes, written=written, losses=losses)


def _with_marks(content: Schema, stored: Schema) -> Schema:
    """Return the content with the marks of loads that the stored tables have: other formats do not carry them."""
    tables = {name: _marked(table, stored.tables.get(name)) for name, table in content.tables.items()}
    return replace(content, tables=tables)


def _marked(table: Table, stored: Table | None) -> Table:
    known = stored.properties if stored else {}
    marks = {key: value for key, value in known.items() if key in PROCESSING and key not in table.properties}
    return replace(table, properties={**table.properties, **marks}) if marks else table


def _read(path: Path, source: str | None) -> Document:
    readable = {name: module for name in FORMATS if is_readable(module := FORMATS[name])}
    if source is None:
        binary = [m for m in readable.values() if is_binary(m) and path.name.lower().endswith(m.ENDINGS)]
        if len(binary) != 1:
            text = read_text(path)
            texts = {name: module for name, module in readable.items() if not is_binary(module)}
            return _format_of(path, text, texts).read(text, str(path))
        module = binary[0]
    else:
        module = _named(source, readable)
    return module.read(read_bytes(path) if is_binary(module) else read_text(path), str(path))


def _named(name: str, readable: Mapping[str, ReadableFormat]) -> ReadableFormat:
    if name in readable:
        return readable[name]
    if name in FORMATS:
        raise InputError(f"files of the format `{name}` are only written", hint=nearest_or_all(name, readable))
    raise FORMATS.unknown(name)


def _format_of(path: Path, text: str, readable: Mapping[str, ReadableFormat]) -> ReadableFormat:
    """Return the one format that has the file's ending; of several the one that recognizes the text."""
    found = [name for name, module in readable.items() if path.name.lower().endswith(module.ENDINGS)]
    if len(found) > 1:
        found = [name for name in found if readable[name].recognises(text)] or found
    if len(found) == 1:
        return readable[found[0]]
    hint = " or ".join(f"`--from {name}`" for name in found or readable)
    described = f"`{path}` may be of several formats" if found else f"the name of `{path}` does not say its format"
    raise InputError(described, hint=f"name it with {hint}")


def _merged(read: list[tuple[Path, Schema]]) -> Schema:
    (first, merged), *others = read
    origins = dict.fromkeys(merged.tables, first)
    for path, schema in others:
        for table in schema.tables.values():
            known = merged.tables.get(table.name)
            if known is not None and known != table:
                raise InputError(f"`{origins[table.name]}` and `{path}` bring different tables `{table.name}`")
            merged = merged.with_table(table)
            origins.setdefault(table.name, path)
    return merged


def _with_lineage(content: Schema, stored: Schema | None) -> Schema:
    """Return the content as the next version of the stored schema; a new schema keeps its file's history."""
    if stored is None:
        return replace(bump(content), imported_version_hash=None)
    return with_lineage(content, stored)
