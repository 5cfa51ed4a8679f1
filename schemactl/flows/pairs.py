"""Pair the schemas of two references that are compared, and bring a catalog and a schema to what both can hold."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from schemactl.errors import CommandWarning, InputError
from schemactl.flows.references import Referred, find_exported, find_schemas, meant, meant_by, refuse_revision
from schemactl.schema.changes import Change, ColumnsReordered
from schemactl.schema.renames import is_related
from schemactl.schema.structure import structure_of
from schemactl.schema.types import Column, Properties, Schema
from schemactl.store.folder import SchemasFolder, missing_schema
from schemactl.store.revision import MissingInRevision


@dataclass(frozen=True, slots=True)
class Pair:
    """The two sides of one schema; one of them may be missing."""

    base: Referred | None
    head: Referred | None

    @property
    def any_side(self) -> Referred:
        """The head, the base where there is no head."""
        found = self.head or self.base
        assert found is not None, "a pair has a side"
        return found

    @property
    def name(self) -> str:
        """The name of the schema."""
        return self.any_side.schema.name

    @property
    def has_catalogue(self) -> bool:
        """Return whether a side is a destination's catalog."""
        return any(side is not None and side.destination is not None for side in (self.base, self.head))


def find_pairs(base: str | None, head: str | None, folder: SchemasFolder) -> tuple[Pair, ...]:
    """Return what is compared with what: one schema with one, else schemas of the same name.

    Without references the export folder is compared with what the schemas folder means, edits of import files taken
    over; a bare ``NAME`` is that schema in both. Any other base alone is compared with what the folder means: a folder
    or revision with all of its schemas, so that those which only one side has are found; anything else with the schema
    of its name. Of a folder or revision only that schema counts which a head that is no folder names.

    Raises:
        InputError: a reference names no schema, or one side has no schema of a name that was asked for.
    """
    if base == head == "-":
        raise InputError("standard input can be one of the two only")
    if base is None:
        return _by_name(find_exported(folder), meant_by(folder)) or _refuse_empty(folder)
    if head is None and (base in folder.names or base.isidentifier()):
        refuse_revision(base, folder)
        if base not in folder.names:
            raise missing_schema(folder, base)
        return _by_name(find_exported(folder, base), (meant(folder, base),))
    bases = _bases(base, folder)
    heads = _heads(base, bases, head, folder)
    if head is not None and len(heads) == 1 < len(bases) and not _holds_several(head) and _holds_several(base):
        bases = tuple(each for each in bases if each.schema.name == heads[0].schema.name)
    if len(bases) == len(heads) == 1 and (not _holds_several(base) or is_related(bases[0].schema, heads[0].schema)):
        return (Pair(bases[0], heads[0]),)
    return _by_name(bases, heads)


def _heads(base: str, bases: tuple[Referred, ...], head: str | None, folder: SchemasFolder) -> tuple[Referred, ...]:
    if head is not None:
        return find_schemas(head, folder)
    if not bases or _holds_several(base):
        return meant_by(folder) or (() if bases else _refuse_empty(folder))
    for each in bases:
        if each.schema.name not in folder.names:
            raise missing_schema(folder, each.schema.name)
    return tuple(meant(folder, each.schema.name) for each in bases)


def _by_name(bases: tuple[Referred, ...], heads: tuple[Referred, ...]) -> tuple[Pair, ...]:
    by_name = ({each.schema.name: each for each in bases}, {each.schema.name: each for each in heads})
    names = sorted(by_name[0].keys() | by_name[1].keys())
    return tuple(Pair(by_name[0].get(name), by_name[1].get(name)) for name in names)


def _refuse_empty(folder: SchemasFolder) -> NoReturn:
    hint = "`schemactl infer SOURCE --name NAME` makes the first one"
    raise InputError(f"there is no schema in `{folder.root}`", hint=hint)


def _bases(reference: str, folder: SchemasFolder) -> tuple[Referred, ...]:
    try:
        return find_schemas(reference, folder)
    except MissingInRevision as error:
        # A whole revision may come from before the first schema; a path in it that is not there is a slip.
        if reference.count(":") > 1:
            raise
        if error.elsewhere:
            hint = f"it has some at `{error.elsewhere}`: `{reference}:{error.elsewhere}`"
            raise InputError(error.message, hint=hint) from error
        warnings.warn(f"{error.message}, nor anywhere else: all is new", CommandWarning, stacklevel=1)
        return ()


def _holds_several(reference: str) -> bool:
    """Return whether a reference is of a place for any number of schemas: a folder, or a whole revision."""
    is_revision = reference.startswith("git:") and reference.count(":") == 1
    return is_revision or reference in ("import:", "export:") or Path(reference).is_dir()


def comparable(base: Referred, head: Referred) -> tuple[Schema, Schema]:
    """Return two schemas, of which one is a catalog at least, such that what differs is drift.

    Two catalogs of one kind of destination are compared as they are.
    """
    kinds = [side.destination for side in (base, head) if side.destination]
    if len(kinds) == 2 and kinds[0] is kinds[1]:
        return base.schema, replace(head.schema, name=base.schema.name)

    def stored(column: Column) -> Properties:
        for kind in kinds:
            column = Column(column.name, kind.stored(column))
        return column.properties

    name = (head if base.destination else base).schema.name
    sides = structure_of(base.schema, head.schema, stored), structure_of(head.schema, base.schema, stored)
    return replace(sides[0], name=name), replace(sides[1], name=name)


def reported(changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """Return the changes that say something of a catalog: its columns stand in the order in which they were made."""
    return tuple(change for change in changes if not isinstance(change, ColumnsReordered))
