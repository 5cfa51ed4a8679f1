"""``schemactl sync``: applies edited import files without data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from schemactl.errors import InputError, nearest_or_all
from schemactl.flows.effective_schemas import EffectiveSchema, read_all_effective, read_effective
from schemactl.flows.schemas import save, to_save, with_lineage
from schemactl.schema.changes import ColumnRemoved, TableRemoved, VariantFolded
from schemactl.schema.diff import diff
from schemactl.schema.import_merge import Synced
from schemactl.schema.structure import has_type
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder, SchemasPlace


def sync_schemas(
    names: tuple[str, ...],
    schemas: SchemasPlace,
    agree: Callable[[tuple[Synced, ...]], bool],
    *,
    is_check: bool = False,
    to: str | None = None,
) -> tuple[Synced, ...]:
    """Apply the edits of import files, all or none.

    Without names it applies the edits of all schemas. ``agree`` shows the plan, and returns whether the user agrees to
    drop tables and columns from data. Tables and columns that ``to``, a destination, has and the export file lost are
    restored.
    """
    folder = SchemasFolder.at(schemas)
    selected = _find(names, folder)
    contents = tuple(_content(effective, to) for effective in selected)
    planned = tuple(_plan(folder, effective, content) for effective, content in zip(selected, contents, strict=True))
    if is_check or any(schema.open_questions for schema in planned):
        return planned
    if any(schema.dropped for schema in planned) and not agree(planned):
        return planned
    return tuple(
        replace(plan, written=save(folder, effective.opened, content)) if plan.is_pending else plan
        for effective, content, plan in zip(selected, contents, planned, strict=True)
    )


def _find(names: tuple[str, ...], folder: SchemasFolder) -> tuple[EffectiveSchema, ...]:
    if not names:
        return read_all_effective(folder)
    known_names = folder.names
    for name in names:
        if name not in known_names:
            raise InputError(f"there is no schema `{name}` in {folder.shown}", hint=nearest_or_all(name, known_names))
    return tuple(read_effective(folder, name) for name in dict.fromkeys(names))


def _content(effective: EffectiveSchema, to: str | None) -> Schema:
    content = effective.merged.schema
    if to is None:
        return content
    from schemactl.flows.migrate.ledger_schemas import with_lost
    from schemactl.flows.target import find_destination

    return with_lost(content, find_destination(to))


def _plan(folder: SchemasFolder, effective: EffectiveSchema, content: Schema) -> Synced:
    opened = effective.opened
    stored = opened.stored
    if opened.import_adopted is None and content == opened.schema:
        return Synced(stored, content, (), is_pending=False)
    after = to_save(folder, opened, content)
    # Only declared renames count; a guess must not hide a dropped column.
    changes = diff(stored, with_lineage(after, stored), guess_renames=False, heeds_moves=True) if stored else ()
    stored_tables = stored.tables if stored else {}
    dropped: list[str] = []  # with data
    for change in changes:
        match change:
            case TableRemoved() if change.table.normalizer_hint("seen-data"):
                dropped.append(change.table.name)
            case VariantFolded():
                pass  # a migration moves its values
            case ColumnRemoved() if has_type(change.column):
                table = stored_tables.get(change.table)
                if table is None or table.normalizer_hint("seen-data"):
                    dropped.append(f"{change.table}.{change.column.name}")
    return Synced(stored, after, changes, True, tuple(dropped), effective.merged.open_questions)
