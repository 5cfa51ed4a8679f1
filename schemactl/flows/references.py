"""Finds the schemas that REFs on the command line name, and pairs them for comparison.

A REF is ``NAME`` (the export folder's), ``import:NAME``, ``export:NAME``, a file, a folder, ``git:REV``, ``git:REV...``
(the merge base with REV), ``git:REV:PATH``, ``-`` for standard input, or a destination's address:
``duckdb:///PATH``, ``parquet:FOLDER`` ... ``import:NAME``, a folder and a revision name effective schemas
(``flows.effective_schemas``).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from schemactl.destinations import DESTINATIONS, Destination, find_address
from schemactl.errors import CommandWarning, InputError, Location, backquoted, nearest_or_all
from schemactl.flows.effective_schemas import EffectiveSchema, read_all_effective, read_effective, read_effective_at
from schemactl.flows.schemas import parse_named
from schemactl.formats.dlt import Document, read
from schemactl.redaction import redact
from schemactl.review.wording import listed
from schemactl.schema.changes import Change, ColumnsReordered
from schemactl.schema.renames import is_related
from schemactl.schema.structure import structure_of
from schemactl.schema.types import Column, Properties, Schema
from schemactl.store.file_trees import RevisionFiles
from schemactl.store.folder import (
    CREATE_SCHEMA,
    ENDINGS,
    SchemasFolder,
    TextFile,
    find_file,
    list_names,
    missing_schema,
    no_schema,
    read_schema,
    refuse_linked_schemas,
)
from schemactl.store.git import commit_of, find_repository, path_inside, revision_of
from schemactl.store.links import refuse_links
from schemactl.store.revision import MissingInRevision, read_revision
from schemactl.store.text import STDIN, STDIN_PATH, read_stdin, read_text


@dataclass(frozen=True, slots=True)
class Referred:
    """A schema that a REF names.

    Attributes:
        origin: the place that messages name; it holds no password.
        document: its file; None for a destination's catalog.
        destination: whose catalog it is; None for a document.
        address: the address of the destination, which may contain a password; None for a document.
        hashes: the hashes of the schemas that the destination was loaded with, newest first.
        history: the file whose versions in git are older versions of the schema, if there is such a file.
        commit: the full hash of the git revision that it was read from, if any.
        effective: the effective schema that it comes from, if any.
        unfilled: as in ``review.comparison.Side``.
    """

    schema: Schema
    origin: str
    document: Document | None = None
    destination: Destination | None = None
    address: str | None = field(default=None, repr=False)
    history: Path | None = None
    commit: str | None = None
    hashes: tuple[str, ...] = ()
    effective: EffectiveSchema | None = None
    unfilled: tuple[tuple[str, str], ...] = ()

    def locate(self, keys: tuple[str | int, ...]) -> Location | None:
        """Return the place of a key in its file, or of the nearest existing key above it; None without a file."""
        if self.effective is not None:
            return self.effective.locate(keys)
        return self.document.locate(*keys) if self.document else None

    @classmethod
    def of(cls, document: Document, origin: str, history: Path | None = None) -> Referred:
        """Return the schema of a document."""
        return cls(document.schema, origin, document, history=history)

    @classmethod
    def of_effective(cls, effective: EffectiveSchema, history: Path | None) -> Referred:
        """Return the effective schema of a schemas folder."""
        schema = effective.document.schema if effective.document else effective.schema
        return cls(schema, effective.origin, effective.document, history=history, effective=effective)


def find_schemas(reference: str, folder: SchemasFolder) -> tuple[Referred, ...]:
    """Return the schemas that ``reference`` names, sorted by name; at least one.

    ``import:`` and ``export:`` without a name mean all schemas of that folder. A schema of the export
    folder comes before a file of the same name; ``./NAME`` names the file. The path of ``git:REV:PATH``
    starts at the top of the repository, as git has it; with ``./`` or ``../``, at the working folder.
    """
    kind, _, remainder = reference.partition(":")
    if reference == STDIN:
        return (Referred.of(_read(read_stdin(), STDIN_PATH), STDIN_PATH),)
    if kind == "git" and remainder:
        return _from_git(remainder, folder)
    if kind in ("import", "export"):
        return _from_imports(folder, remainder) if kind == "import" else _from_folder(folder.exports, remainder)
    if address := find_address(reference):
        destination, url = DESTINATIONS[address[0]], address[1]
        tables = destination.read_catalogue(url).without_ours
        return (Referred(tables.schema, tables.origin, destination=destination, address=url, hashes=tables.hashes),)
    if remainder.startswith("//"):
        raise DESTINATIONS.unknown(kind)
    if reference in list_names(folder.exports):
        return _from_folder(folder.exports, reference)
    path = Path(reference)
    if _names_path(reference):
        return _from_directory(path) if path.is_dir() else (_from_file(path),)
    refuse_revision(reference, folder)
    has_folder = any(mark in reference for mark in (os.sep, os.altsep) if mark)
    if has_folder or reference.endswith(tuple(f".{ending}" for ending in ENDINGS)):
        return (_from_file(path),)
    if not reference.isidentifier():
        raise InputError(
            f"`{redact(reference)}` does not name a schema",
            hint="NAME, import:NAME, export:NAME, a file, a folder, git:REV, git:REV:PATH, - or a destination "
            "(duckdb:///PATH, sqlite:///PATH, postgresql://USER@HOST/DATABASE, parquet:FOLDER, iceberg:FOLDER ...)",
        )
    raise missing_schema(folder, reference)


def find_schema(reference: str, folder: SchemasFolder) -> Referred:
    """Return the only schema that ``reference`` names."""
    schemas = find_schemas(reference, folder)
    if len(schemas) > 1:
        names = backquoted(referred.schema.name for referred in schemas)
        raise InputError(f"`{reference}` names {len(schemas)} schemas: {names}", hint="name one of them")
    return schemas[0]


def refuse_revision(name: str, folder: SchemasFolder) -> None:
    """Raise an error if a name is a git revision and not a schema: the user means ``git:NAME``."""
    if name in folder.names:
        return
    try:
        commit_of(find_repository(folder.exports), name)
    except InputError:
        return  # without git, a repository, or such a revision there is nothing to report
    raise InputError(f"`{name}` does not name a schema", hint=f"`{name}` is a git revision: write `git:{name}`")


def _from_file(path: Path) -> Referred:
    return Referred.of(_read(read_text(path), str(path)), str(path), path)


def _read(text: str, path: str) -> Document:
    try:
        return read(text, path)
    except InputError as error:
        from schemactl.migration.plan_documents import mistaken_for_schema

        if mistaken := mistaken_for_schema(text, path):
            raise mistaken from error
        raise


def _from_folder(folder: Path, name: str) -> tuple[Referred, ...]:
    if not name:
        return _all_of(folder)
    file = read_schema(folder, name)
    if file is None:
        hint = nearest_or_all(name, list_names(folder))
        raise InputError(f"there is no schema `{name}` in `{folder}`", hint=hint)
    return (_read_named(file),)


def _from_imports(folder: SchemasFolder, name: str) -> tuple[Referred, ...]:
    if not name:
        return effective_schemas(folder) or _all_of(folder.imports)
    if find_file(folder.imports, name) is None:
        return _from_folder(folder.imports, name)  # reports it
    return (effective_schema(folder, name),)


def find_exported(folder: SchemasFolder, name: str | None = None) -> tuple[Referred, ...]:
    """Return the schemas of the export folder, or only the schema with this name, if it exists."""
    names = list_names(folder.exports)
    selection = names if name is None else (name,) if name in names else ()
    return tuple(_read_named(file) for selected in selection if (file := read_schema(folder.exports, selected)))


def effective_schemas(folder: SchemasFolder) -> tuple[Referred, ...]:
    """Return the effective schemas of a folder, sorted by name."""
    return tuple(_effective_schema(effective) for effective in read_all_effective(folder))


def effective_schema(folder: SchemasFolder, name: str) -> Referred:
    """Return the effective schema of a name, which must exist."""
    return _effective_schema(read_effective(folder, name))


def _effective_schema(effective: EffectiveSchema) -> Referred:
    file = effective.opened.export_file or effective.opened.import_file
    return Referred.of_effective(effective, file.path if file else None)


def _from_directory(path: Path) -> tuple[Referred, ...]:
    """Return the schemas in a folder, as effective schemas if it has ``import/`` and ``export/``."""
    if list_names(path):
        return _all_of(path)
    from schemactl.destinations.parquet.catalogue import holds_tables

    if holds_tables(path):
        raise InputError(f"`{path}` contains Parquet files, not schemas", hint=f"its tables: `parquet:{path}`")
    return effective_schemas(SchemasFolder.at(path)) or _all_of(path)


def _all_of(folder: Path) -> tuple[Referred, ...]:
    files = [file for name in list_names(folder) if (file := read_schema(folder, name))]
    if not files:
        raise no_schema(f"`{folder}`")
    return tuple(_read_named(file) for file in files)


def _from_git(revision_and_path: str, folder: SchemasFolder) -> tuple[Referred, ...]:
    revision, _, inside = revision_and_path.partition(":")
    path = folder.exports
    if inside:
        is_here = inside.startswith(("./", "../")) or inside in (".", "..")
        path = Path(inside) if is_here else find_repository(Path.cwd()) / inside
    top = find_repository(path)
    commit = commit_of(top, revision)

    def history(file: TextFile) -> Path:
        return top / str(file.path).removeprefix(f"{revision}:")

    if inside:
        with suppress(MissingInRevision):
            files = read_revision(revision, path)
            schemas = [replace(_read_named(file), history=history(file), commit=commit) for file in files]
            return tuple(sorted(schemas, key=lambda schema: schema.schema.name))
    return tuple(
        replace(Referred.of_effective(effective, history(file) if file else None), commit=commit)
        for effective in read_effective_at(revision, SchemasFolder.at(path) if inside else folder)
        for file in (effective.opened.export_file or effective.opened.import_file,)
    )


def revision_files(reference: str | None, folder: SchemasFolder) -> RevisionFiles | None:
    """Return the files of the git revision that a reference names; None for another reference."""
    revision = revision_of(reference)
    if reference is None or revision is None:
        return None
    has_path = reference != f"git:{revision}"
    return RevisionFiles(revision, find_repository(Path.cwd() if has_path else folder.exports))


def _read_named(file: TextFile) -> Referred:
    return Referred.of(parse_named(file), str(file.path), file.path)


def _names_path(reference: str) -> bool:
    try:
        return bool(reference) and Path(reference).exists()
    except OSError:  # longer than a file name can be
        return False


# --- pairs of schemas ---


@dataclass(frozen=True, slots=True)
class Pair:
    """The two sides of a schema; one side may be missing."""

    base: Referred | None
    head: Referred | None

    @property
    def any_side(self) -> Referred:
        """The head, or the base without a head."""
        side = self.head or self.base
        assert side is not None, "a pair has a side"
        return side

    @property
    def name(self) -> str:
        """The name of the schema."""
        return self.any_side.schema.name

    @property
    def has_catalogue(self) -> bool:
        """Return whether a side is a destination's catalog."""
        return any(side is not None and side.destination is not None for side in (self.base, self.head))


def find_pairs(base: str | None, head: str | None, folder: SchemasFolder) -> tuple[Pair, ...]:
    """Return the pairs to compare: a schema with a schema, or else schemas of the same name.

    Without references, the export folder is compared with the effective schemas, which include import edits; a bare
    ``NAME`` does the same for one schema. Any other base without a head is compared with the effective schemas: a
    folder or revision with all of them, to find schemas that only one side has; anything else with the schema of its
    name. If the head is a single schema, only the schema of this name counts in a base folder or revision.
    """
    if base == head == STDIN:
        raise InputError("BASE and HEAD cannot both be `-`")
    if base is None:
        return _by_name(find_exported(folder), effective_schemas(folder)) or _refuse_empty(folder)
    is_review = any(map(_is_of_git, (base, head)))
    for reference in (base, head) if is_review else ():
        if _is_of_git(reference):
            continue  # reading a revision checks its links
        refuse_linked_schemas(folder)
        if reference is not None and _names_path(reference):
            path = Path(reference)
            refuse_linked_schemas(SchemasFolder.at(path)) if path.is_dir() else refuse_links(path)
    if head is None and (base in folder.names or base.isidentifier()):
        refuse_revision(base, folder)
        if base not in folder.names:
            raise missing_schema(folder, base)
        return _by_name(find_exported(folder, base), (effective_schema(folder, base),))
    bases = _bases(base, head, folder)
    heads = _heads(base, bases, head, folder)
    if head is not None and len(heads) == 1 < len(bases) and not _holds_several(head) and _holds_several(base):
        bases = tuple(base_schema for base_schema in bases if base_schema.schema.name == heads[0].schema.name)
    if len(bases) == len(heads) == 1 and (not _holds_several(base) or is_related(bases[0].schema, heads[0].schema)):
        return (Pair(bases[0], heads[0]),)
    return _by_name(bases, heads)


def _is_of_git(reference: str | None) -> bool:
    return reference is not None and reference.startswith("git:")


def _heads(base: str, bases: tuple[Referred, ...], head: str | None, folder: SchemasFolder) -> tuple[Referred, ...]:
    if head is not None:
        return find_schemas(head, folder)
    if not bases or _holds_several(base):
        return effective_schemas(folder) or (() if bases else _refuse_empty(folder))
    for base_schema in bases:
        if base_schema.schema.name not in folder.names:
            raise missing_schema(folder, base_schema.schema.name)
    return tuple(effective_schema(folder, base_schema.schema.name) for base_schema in bases)


def _by_name(bases: tuple[Referred, ...], heads: tuple[Referred, ...]) -> tuple[Pair, ...]:
    by_name = ({side.schema.name: side for side in bases}, {side.schema.name: side for side in heads})
    names = sorted(by_name[0].keys() | by_name[1].keys())
    return tuple(Pair(by_name[0].get(name), by_name[1].get(name)) for name in names)


def _refuse_empty(folder: SchemasFolder) -> NoReturn:
    raise InputError(f"there is no schema in {folder.shown}", hint=CREATE_SCHEMA)


def _bases(reference: str, head: str | None, folder: SchemasFolder) -> tuple[Referred, ...]:
    try:
        return find_schemas(reference, folder)
    except MissingInRevision as error:
        # A whole revision may come from before the first schema; a path in it that is not there is a slip.
        if reference.count(":") > 1:
            raise
        if error.elsewhere:
            raise InputError(error.message, hint=_hint_elsewhere(reference, head, folder, error.elsewhere)) from error
        warnings.warn(
            f"{error.message}, and the revision has no other schema file: everything is new",
            CommandWarning,
            stacklevel=1,
        )
        return ()


def _hint_elsewhere(reference: str, head: str | None, folder: SchemasFolder, elsewhere: Sequence[Path]) -> str:
    """Return the command that compares other schema folders of a revision, or the folder moved to ``folder``."""
    removed_paths = [folder_path for folder_path in elsewhere if not folder_path.exists()] if folder.names else []
    nearest = (removed_paths or elsewhere)[0]
    nearest_path = os.path.relpath(nearest)
    if removed_paths or list_names(nearest):
        inside = path_inside(find_repository(nearest), nearest)
        command = f"{reference}:{inside} {head or (folder.root if removed_paths else nearest_path)}"
    else:
        command = f"--schemas {nearest_path}"
    folders = listed([os.path.relpath(folder_path) for folder_path in elsewhere])
    return f"the revision has schema files in {folders}: `{command}`"


def _holds_several(reference: str) -> bool:
    """Return whether a reference is of a place for any number of schemas: a folder, or a whole revision."""
    is_revision = reference.startswith("git:") and reference.count(":") == 1
    return is_revision or reference in ("import:", "export:") or Path(reference).is_dir()


def comparable(base: Referred, head: Referred) -> tuple[Schema, Schema]:
    """Return two schemas, at least one of them a catalog, so that their differences are drift.

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
    """Return the changes that matter for a catalog, whose columns are in the order of their creation."""
    return tuple(change for change in changes if not isinstance(change, ColumnsReordered))
