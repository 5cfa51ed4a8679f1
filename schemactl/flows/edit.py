"""``schemactl edit``: edits an import file, whose comments and form stay; renames all names."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from schemactl.errors import CommandWarning, InputError, did_you_mean
from schemactl.flows.effective_schemas import EffectiveSchema, read_effective
from schemactl.flows.lineage import lineage_in, write_lineage
from schemactl.flows.schemas import (
    check_unchanged,
    open_schemas,
    save,
    with_lineage,
    without_processing_hints,
)
from schemactl.formats.dlt import read, with_keys, write
from schemactl.inference.lineage import merge
from schemactl.inference.renaming import find_names
from schemactl.schema.changes import Change, ColumnAdded, TableAdded
from schemactl.schema.contract import CONTRACT, PROMOTION_HINT, Entity, split_promotion
from schemactl.schema.diff import diff
from schemactl.schema.edits import Agree, Editor, Edits
from schemactl.schema.hash import bump
from schemactl.schema.hints import ColumnHint, only_root, with_hints
from schemactl.schema.likeness import misspelled_name
from schemactl.schema.naming import convention_name, naming_of
from schemactl.schema.settings import NormalizerConfig
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder, SchemasPlace, missing_schema, new_file
from schemactl.store.lock import locked_schemas
from schemactl.store.text import read_text, replace_file


@dataclass(frozen=True, slots=True)
class Edited:
    """The outcome of an edit.

    Attributes:
        name: the name of the schema.
        path: the import file, or the only file if there is no import folder.
        is_taken_over: whether the export file has it already.
    """

    name: str
    path: str
    changes: tuple[Change, ...]
    written: tuple[str, ...] = ()
    is_taken_over: bool = False


def edit_import(name: str, schemas: SchemasPlace, edits: Edits, agree: Agree | None = None) -> Edited:
    """Edit the import file; a missing file begins as the stored schema, or as a new one.

    ``agree`` asks the user whether a similar name is meant; None without a terminal.
    """
    folder = SchemasFolder.at(schemas)
    opened = open_schemas(folder, name)
    document = opened.import_document
    stored = without_processing_hints(opened.stored) if opened.stored else None
    before = document.schema if document else stored or new_schema(name)
    effective = EffectiveSchema(opened, folder).merged.schema if opened.schema else None
    if effective is None and not edits.can_begin_schema:
        hint = did_you_mean(name, folder.names) or "add `--table TABLE` to create a schema"
        raise InputError(f"there is no schema `{name}` in {folder.shown}", hint=hint)
    sources = lineage_in(folder.exports, name).sources
    editor = Editor(before, without_processing_hints(effective or before), stored, sources, agree)
    after = _edited(editor, edits)
    for group in editor.unfolded:
        for variant in group.unfoldable:
            variant_name, kinds = f"{group.table}.{variant.name}", f"{group.column.data_type} and {variant.data_type}"
            reason = f"only text can hold both {kinds} (`--fold {variant_name}` makes it text)"
            warnings.warn(CommandWarning(f"`{variant_name}` is not folded: {reason}"), stacklevel=2)
    file = opened.import_file
    path = file.path if file else new_file(folder.imports, name)
    changes = diff(before, after, guess_renames=False)
    if not changes and document is not None:
        return Edited(name, str(path), changes)
    content = bump(replace(after, imported_version_hash=None)) if document is None else bump(after)
    layout = with_keys(document.layout, editor.renamed) if document else None
    with locked_schemas(folder.root):
        check_unchanged(folder, opened)
        replace_file(path, write(content, str(path), layout))
    if effective is not None:
        # The file may have hints that the schema has from data already.
        edited = with_lineage(read_effective(folder, name).merged.schema, effective)
        changes = diff(effective, edited, guess_renames=False, heeds_moves=True)
        _warn_of_slips(changes, effective)
    stored_tables = opened.stored.tables if opened.stored else {}
    for table, column in editor.renamed:
        is_loaded = table in stored_tables and stored_tables[table].normalizer_hint("seen-data")
        # A pipeline loads the columns whose keys the lineage does not know.
        if column is not None and is_loaded and (table, column) not in editor.sources:
            message = f"a dlt pipeline adds `{table}.{column}` again, unless you also rename its key in the pipeline"
            warnings.warn(CommandWarning(message), stacklevel=2)
    for column_name, source_path in editor.unmapped:
        message = f"later data adds `{column_name}` again from `{source_path}`: its new name is not in the same object"
        warnings.warn(CommandWarning(message), stacklevel=2)
    return Edited(name, str(path), changes, (str(path),))


def _edited(editor: Editor, edits: Edits) -> Schema:
    """Return the edited content of the import file."""
    for new_table in edits.tables:
        near = misspelled_name(new_table, editor.effective.tables)
        question = f"`{new_table}` is like the table `{near}`: add `{new_table}`"
        if near is not None and editor.agree is not None and not editor.agree(question):
            raise InputError(f"the table `{new_table}` was not added", hint=f"did you mean `{near}`?")
        editor.add_table(new_table)
    table = edits.table
    editor.root = naming_of(editor.schema).normalize_tables_path(table) if table else only_root(editor.effective)
    editor.apply(edits)
    hints = replace(edits.hints, columns=tuple(_meant_hint(hint, editor) for hint in edits.hints.columns))
    editor.schema = with_hints(editor.schema, hints, editor.root, editor.effective)
    for described_name, description in edits.descriptions:
        editor.describe(described_name, description)
    editor.refuse_reused_names()
    if edits.contract is None:
        return editor.schema
    modes, promotion = split_promotion(edits.contract)
    settings = {key: value for key, value in editor.schema.settings.items() if key != PROMOTION_HINT}
    hint = {} if promotion is None else {PROMOTION_HINT: {Entity.DATA_TYPE.value: promotion}}
    return replace(editor.schema, settings={**settings, CONTRACT: modes, **hint})


def _meant_hint(hint: ColumnHint, editor: Editor) -> ColumnHint:
    """Return a hint with the names of the existing table and column that the user means."""
    if hint.table is not None and not editor.has_column(hint.table, hint.name):
        hint = replace(hint, table=editor.similar_table(hint.table))
    table = editor.table_named(hint.table) if hint.table else editor.root
    if table is None or editor.has_column(hint.table, hint.name):
        return hint
    return replace(hint, name=editor.similar_column(table, hint.name))


def _warn_of_slips(changes: Iterable[Change], schema: Schema) -> None:
    """Warn of new tables and columns whose names seem to be misspelled names of the schema."""
    for change in changes:
        match change:
            case TableAdded():
                kind, name = "table", change.table.name
                fragment = name.removeprefix(change.table.parent or "")
                near = misspelled_name(name, schema.tables) or misspelled_name(fragment, schema.tables)
            case ColumnAdded():
                table = schema.tables.get(change.table)
                kind, name = f"column of `{change.table}`", change.column.name
                near = misspelled_name(name, table.columns if table else ())
            case _:
                continue
        if near is not None:
            warnings.warn(CommandWarning(f"`{name}` is a new {kind}; did you mean `{near}`?"), stacklevel=2)


def rename_by_convention(name: str, schemas: SchemasPlace, convention: str) -> Edited:
    """Rename everything in both files and the lineage by another convention.

    The import file is written first, and lineage keeps the old names until the export file has new ones, so the next
    command can continue after a kill.
    """
    folder = SchemasFolder.at(schemas)
    opened = open_schemas(folder, name)
    if opened.schema is None:
        raise missing_schema(folder, opened.name)
    schema, imported = opened.stored or opened.schema, opened.import_document
    is_begun = imported is not None and _naming_of(imported.schema) == convention_name(convention)
    if opened.stored is not None and opened.import_adopted is not None and not is_begun:
        message = f"the import file of `{opened.name}` has unapplied edits"
        raise InputError(message, hint=f"`schemactl sync {opened.name}`, then `schemactl edit` again")
    file = opened.export_file or opened.import_file
    assert file is not None, "a schema is in a file"
    if _naming_of(schema) == convention_name(convention):
        return Edited(opened.name, str(file.path), ())
    lineage = lineage_in(folder.exports, opened.name)
    renaming = find_names(schema, convention, lineage)
    after = renaming.of_schema(schema)
    written: tuple[str, ...] = ()
    with locked_schemas(folder.root):
        if imported is not None and opened.import_file is not None and not (is_begun or folder.is_shared):
            path = opened.import_file.path
            check_unchanged(folder, opened)
            layout = with_keys(imported.layout, renaming.renamed)
            replace_file(path, write(bump(renaming.of_schema(imported.schema)), str(path), layout))
            written = (str(path),)
            opened = open_schemas(folder, opened.name)
        if opened.export_file is not None:
            linked = opened.schema.imported_version_hash if opened.schema else None
            if (exported := opened.export_document) is not None:
                layout = with_keys(exported.layout, renaming.renamed)
                opened = replace(opened, export_document=replace(exported, layout=layout))
            renamed = renaming.of_lineage(lineage)
            write_lineage(folder, opened.name, merge(lineage, renamed))
            written += save(folder, opened, replace(after, imported_version_hash=linked))
            written += write_lineage(folder, opened.name, renamed)
    return Edited(opened.name, str(file.path), diff(schema, after, guess_renames=False), written, is_taken_over=True)


def _naming_of(schema: Schema) -> str:
    return convention_name(NormalizerConfig.of(schema.normalizers).naming)


def read_hints(path: Path) -> Schema:
    """Return a hints file: a schema file with only the settings that its author cares about."""
    return read(read_text(path), str(path)).schema
