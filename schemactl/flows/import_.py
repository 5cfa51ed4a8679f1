"""``schemactl import``: a file of a format, or the tables of a destination, become the content of a named schema."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar, cast

from schemactl.destinations import find_address, is_defined
from schemactl.errors import InputError, Problem, nearest_or_all
from schemactl.flows.schemas import open_schemas, save, to_save, with_lineage
from schemactl.formats import (
    FORMATS,
    Document,
    Format,
    Loss,
    ReadableFormat,
    _losses,
    in_dialect,
    in_versions,
    is_binary,
    is_readable,
    sql,
)
from schemactl.formats._losses import describe_loss
from schemactl.formats._tables import Record, data_tables, names_between, schema_of, table_properties
from schemactl.schema.arrow_hint import NESTED_TYPE
from schemactl.schema.changes import Change
from schemactl.schema.diff import diff
from schemactl.schema.hash import bump
from schemactl.schema.hints import Hints, with_hints
from schemactl.schema.judgment import Violation, judge_edit
from schemactl.schema.naming import convention_name
from schemactl.schema.nested_types import SPARK_TYPE, structure_in, write_type
from schemactl.schema.settings import NormalizerConfig
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.templates import check_name, new_schema
from schemactl.schema.types import Properties, Schema, Table
from schemactl.store.folder import SchemasFolder, SchemasPlace
from schemactl.store.text import STDIN, STDIN_PATH, read_bytes, read_stdin, read_text
from schemactl.type_systems.arrow_types import restate
from schemactl.type_systems.fields import PROCESSING

if TYPE_CHECKING:
    from schemactl.flows.references import Referred

_CREATES_VIEW: Final = re.compile(r"create\s+(?:\w+\s+){0,3}?view\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """The request of ``schemactl import``.

    Attributes:
        files: paths of files, and addresses of destinations.
        source: the name of a format; None to infer it from the file names, or if these are ambiguous, from the content.
        is_merged: whether to keep stored tables and columns that no file contains.
        is_strict: whether information that a schema cannot express is an error.
        dialect: the dialect of SQL, and of types in dbt files; None for PostgreSQL, and for any dialect in dbt files.
        versions: the versions of dbt models to read, ``latest`` or ``all``; None for the latest.
        naming: the naming convention of a new schema from a database; None for snake_case.
        model: a Pydantic model, ``MODULE:CLASS``, that declares more tables.
        table: the table of a model that is not a union; None for the name of its class.
    """

    files: tuple[str | Path, ...]
    source: str | None
    name: str
    schemas: SchemasPlace
    is_check: bool = False
    is_merged: bool = False
    is_strict: bool = False
    model: str | None = None
    table: str | None = None
    dialect: str | None = None
    versions: str | None = None
    naming: str | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """The outcome of an import, or of its check.

    Attributes:
        before: the stored schema before, if it existed.
        after: the schema that was saved, or would be without ``--check``.
        violations: changes that the stored contract forbids; if any, nothing is written.
        losses: information in the files that the schema cannot express.
        names: pairs of a name in SQL or a database (table or ``table.column``) and its name in the schema, if they
            differ.
        kept_by: the option that would keep the names of a database in a new schema; None if it was given.
    """

    before: Schema | None
    after: Schema
    changes: tuple[Change, ...]
    violations: tuple[Violation, ...] = ()
    written: tuple[str, ...] = ()
    losses: tuple[Loss, ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    kept_by: str | None = None

    @property
    def changes_schema(self) -> bool:
        """Return whether the schema is new or its content changes."""
        return self.before is None or bool(self.changes)


def import_files(request: ImportRequest) -> Imported:
    """Read schemas from files and replace the content of the named schema with their tables.

    All files contribute their tables; other settings of the schema come from the first file.
    """
    check_name(request.name)
    template = stored = open_schemas(SchemasFolder.at(request.schemas), request.name).schema
    if template is None and request.naming is not None:
        template = new_schema(request.name, request.naming)
    options = (request.source, request.schemas, request.dialect, request.versions, template)
    documents = [document for file in request.files for document in read_source(file, *options)]
    schemas = [(origin, document.schema) for origin, document in documents]
    if request.naming is not None:
        _check_naming(request.naming, schemas)
    losses = tuple(loss for _, document in documents for loss in document.losses)
    names = tuple(
        pair for _, document in documents if isinstance(document, _losses.Document) for pair in document.names
    )
    if request.is_strict and losses:
        problems = tuple(Problem(describe_loss(loss)) for loss in losses)
        raise InputError("a schema cannot express the whole files (--strict)", problems=problems)
    if request.model is not None:
        from schemactl.flows.models import find_model, schema_of

        # The stored schema names the tables.
        start = new_schema(request.name)
        start = start if stored is None else replace(start, normalizers=stored.normalizers)
        model = find_model(request.model, None)
        if model.table is None and request.table is not None:
            message = f"`--table` cannot name the tables of `{request.model}`, which has a table for each variant"
            raise InputError(message, hint="leave it out")
        schemas.append((request.model, schema_of(model, start, request.table)))
    if not schemas:
        raise InputError("no files or model given", hint="name files, or `--model MODULE:CLASS`")
    (first_origin, merged), *further_schemas = schemas
    origins = dict.fromkeys(merged.tables, first_origin)
    for path, schema in further_schemas:
        for table in schema.tables.values():
            earlier_table = merged.tables.get(table.name)
            if earlier_table is not None and earlier_table != table:
                raise InputError(f"`{origins[table.name]}` and `{path}` contain different tables `{table.name}`")
            merged = merged.with_table(table)
            origins.setdefault(table.name, path)
    content = replace(merged, name=request.name)
    imported = import_schema(content, request.schemas, is_check=request.is_check, is_merged=request.is_merged)
    is_new_database = imported.before is None and all(_is_destination(file) for file in request.files)
    kept_by = "--naming direct" if is_new_database and request.naming is None else None
    return replace(imported, losses=losses, names=names, kept_by=kept_by)


def _check_naming(naming: str, schemas: Sequence[tuple[str, Schema]]) -> None:
    """Raise an error for a naming convention if the schema already has another one, or if files have no choice."""
    for origin, schema in schemas:
        stored = NormalizerConfig.of(schema.normalizers).naming
        if convention_name(stored) != convention_name(naming):
            message = f"the schema of `{origin}` has the naming convention `{stored}`"
            hint = "`--naming` is for a new schema from a database without dlt's tables; remove the option"
            raise InputError(message, hint=hint)


def _is_destination(file: str | Path) -> bool:
    return find_address(str(file)) is not None and not Path(file).exists()


def import_schema(
    content: Schema, schemas: SchemasPlace, *, is_check: bool = False, is_merged: bool = False
) -> Imported:
    """Save tables as the content of the schema with this name in a schemas folder."""
    folder = SchemasFolder.at(schemas)
    opened = open_schemas(folder, content.name)
    current = opened.schema
    if current is not None and is_merged:
        content = with_hints(current, Hints(schema=content), None)
    elif current is not None:
        tables = {name: _marked(table, current.tables.get(name)) for name, table in content.tables.items()}
        content = replace(content, tables=tables)
    # The next version of the stored schema; a new schema keeps its file's history.
    new = with_lineage(content, current) if current else replace(bump(content), imported_version_hash=None)
    after = to_save(folder, opened, new)
    # An edited import file without a sync is not applied yet: compare it with the schema in the export file.
    stored = opened.stored or opened.schema
    changes = diff(stored, with_lineage(new, stored)) if stored else ()
    violations = judge_edit(stored, new) if stored else ()
    if violations or is_check:
        return Imported(stored, after, changes, violations)
    return Imported(stored, after, changes, written=save(folder, opened, new))


def _marked(table: Table, stored: Table | None) -> Table:
    """Return a table with the properties that other formats lack: marks of loads, and dlt's hint on nested types."""
    if stored is None:
        return table
    marks = {
        key: value for key, value in stored.properties.items() if key in PROCESSING and key not in table.properties
    }
    columns = {
        name: replace(column, properties=restate(column.properties, stored.columns[name].properties[NESTED_TYPE]))
        for name, column in table.columns.items()
        if name in stored.columns and stored.columns[name].properties.get(NESTED_TYPE)
    }
    return replace(table, properties={**table.properties, **marks}, columns={**table.columns, **columns})


def read_source(
    file: str | Path,
    source: str | None,
    schemas: SchemasPlace,
    dialect: str | None = None,
    versions: str | None = None,
    template: Schema | None = None,
) -> tuple[tuple[str, Document], ...]:
    """Return the schemas of a file, of standard input (``-``) or of a destination, with the origin for messages.

    ``source`` is the format; None to infer it. The naming convention of ``template`` names the tables of a destination;
    None for snake_case.
    """
    path = Path(file)
    if _is_destination(file):
        if source is not None:
            raise InputError("`--from` names the format of a file, and this is a destination", hint="leave it out")
        return _read_destination(str(file), schemas, template)
    text: tuple[str, str] | None = None
    if source is None and dialect is not None:
        source = "dbt" if _has_ending(path, FORMATS["dbt"]) else "sql"
    if source is None:
        binary = [name for name, module in _readable().items() if is_binary(module) and _has_ending(path, module)]
        text = None if len(binary) == 1 else _text_of(path)
        source = binary[0] if text is None else _format_of(path, text[1])
    if not is_readable(FORMATS[source]):
        hint = nearest_or_all(source, _readable())
        raise InputError(f"files of the format `{source}` are only written", hint=hint)
    module = cast(ReadableFormat, in_versions(in_dialect(FORMATS[source], source, dialect), source, versions))
    if is_binary(module):
        return ((str(path), module.read(read_bytes(path), str(path))),)
    origin, content = text or _text_of(path)
    return ((origin, module.read(content, origin)),)


def _has_ending(path: Path, module: Format) -> bool:
    return path.name.lower().endswith(module.ENDINGS)


def _text_of(path: Path) -> tuple[str, str]:
    """Return the place of a text, for messages, and the text: that of a file or of standard input.

    A byte order mark, which editors of Windows write, is left out: most formats do not allow one.
    """
    origin, text = (STDIN_PATH, read_stdin()) if str(path) == STDIN else (str(path), read_text(path))
    return origin, text.removeprefix("\ufeff")


def _read_destination(address: str, schemas: SchemasPlace, template: Schema | None) -> tuple[tuple[str, Document], ...]:
    """Return the schemas in a destination's ledger, or else the schema of its tables, as ``export`` does.

    Foreign keys become references; other properties of the tables, except columns and keys, are lost.
    """
    from schemactl.flows.migrate.ledger_schemas import stored_schemas
    from schemactl.flows.references import find_schemas

    (database,) = find_schemas(address, SchemasFolder.at(schemas))
    if stored := stored_schemas(address, database, None):
        return tuple((database.origin, _losses.Document(schema)) for schema in stored)
    tables = list(data_tables(database.schema))
    references, losses = _read_definitions(database, tables)
    records, type_losses = [], []
    for table in tables:
        columns = tuple((column.name, _with_structure(column.properties)) for column in table.columns.values())
        properties = table_properties(table.name, table.properties.get("description"))
        properties |= {"references": references[table.name]} if references.get(table.name) else {}
        records.append(Record(table.name, columns, properties))
        type_losses += [
            Loss(
                f"{table.name}.{name}", "type", {"type": column[DATABASE_TYPE]}, {DATABASE_TYPE: column[DATABASE_TYPE]}
            )
            for name, column in columns
            if DATABASE_TYPE in column
        ]
    schema = schema_of(records, {"normalizers": dict(template.normalizers)} if template else None, database.origin)
    document = _losses.Document(schema, (*type_losses, *losses), names_between(records, schema))
    return ((database.origin, document),)


def _read_definitions(
    database: Referred, tables: Sequence[Table]
) -> tuple[Mapping[str, Sequence[Properties]], Sequence[Loss]]:
    """Return the foreign keys of a database's tables, and the parts of its statements that a schema cannot express."""
    if database.destination is None or database.address is None or not is_defined(database.destination):
        return {}, ()
    definitions = database.destination.read_definitions(database.address)
    created = dict(reversed([(definition.table, definition.sql) for definition in definitions]))
    names = {table.name for table in tables} | {name for name, sql in created.items() if _CREATES_VIEW.match(sql)}
    relevant = [(definition.table, definition.sql) for definition in definitions if definition.table in names]
    foreign_keys, losses = sql.in_dialect(database.address.partition(":")[0]).read_definitions(relevant)
    references: dict[str, list[Properties]] = {}
    for table, keys in foreign_keys.items():
        for key in keys:
            if (reference := _as_in_catalog(key, table, tables)) is not None:
                references.setdefault(table, []).append(reference)
            else:
                text = f"REFERENCES {key['referenced_table']} ({', '.join(key['referenced_columns'])})"
                losses.append(Loss(f"{table}.{','.join(key['columns'])}", "constraint", text))
    return references, losses


def _as_in_catalog(reference: Properties, table_name: str, tables: Sequence[Table]) -> Properties | None:
    """Return a reference with names as the catalog spells them; None if the other table is not in the dataset.

    SQLite, DuckDB and MySQL find names in statements whatever their case.
    """
    target = _named(reference["referenced_table"], {table.name: table for table in tables})
    table = next(table for table in tables if table.name == table_name)
    if target is None:
        return None
    columns = [_named(name, {column: column for column in table.columns}) for name in reference["columns"]]
    target_columns = [
        _named(name, {column: column for column in target.columns}) for name in reference["referenced_columns"]
    ]
    return {"columns": columns, "referenced_table": target.name, "referenced_columns": target_columns}


Named = TypeVar("Named")


def _named(name: str, candidates: Mapping[str, Named]) -> Named | None:
    """Return the candidate of a name, or else the candidate whose name differs only in case."""
    folded = {candidate.casefold(): value for candidate, value in candidates.items()}
    return candidates.get(name, folded.get(name.casefold()))


def _with_structure(properties: Properties) -> Properties:
    """Return the properties of a catalog column, with objects and lists as ``json`` with their type, as from files."""
    structure = structure_in(str(properties.get(DATABASE_TYPE, "")))
    if structure is None:
        return properties
    hints = {key: value for key, value in properties.items() if key != DATABASE_TYPE}
    return {"data_type": "json", **hints, SPARK_TYPE: write_type(structure)}


def _readable() -> Mapping[str, ReadableFormat]:
    return {name: module for name in FORMATS if is_readable(module := FORMATS[name])}


def _format_of(path: Path, text: str) -> str:
    """Return the format with the longest matching file ending; if several match, the content decides.

    An ending with the format's own name (``.arc.json``) decides, whatever the content is. Other endings
    (``.schema.json``) can also belong to another format if only that format recognizes the content.
    """
    readable = {name: module for name, module in _readable().items() if not is_binary(module)}
    ending_by_format = {
        name: max((ending for ending in module.ENDINGS if path.name.lower().endswith(ending)), key=len, default="")
        for name, module in readable.items()
    }
    endings = {name: ending for name, ending in ending_by_format.items() if ending}
    if not endings:
        hint = " or ".join(f"`--from {name}`" for name in readable)
        raise InputError(f"the name of `{path}` does not show its format", hint=f"name it with {hint}")
    longest = max(endings.values(), key=len)
    by_ending = [name for name, ending in endings.items() if ending == longest]
    if len(by_ending) == 1 and f".{by_ending[0]}" in longest:
        return by_ending[0]
    by_text = [name for name in endings if readable[name].recognises(text)]
    by_both = [name for name in by_ending if name in by_text]
    for candidates in (by_both, by_text, by_ending):
        if len(candidates) == 1:
            return candidates[0]
    hint = " or ".join(f"`--from {name}`" for name in by_both or by_text or by_ending)
    raise InputError(f"`{path}` matches several formats", hint=f"name it with {hint}")
