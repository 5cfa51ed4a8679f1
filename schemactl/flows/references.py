"""Finds the schemas that a REF on the command line names.

A REF is ``NAME`` (the export folder's), ``import:NAME``, ``export:NAME``, a file, a folder, ``git:REV``,
``git:REV:PATH``, ``-`` for standard input, or a destination's address: ``duckdb:///PATH``, ``parquet:FOLDER`` ...
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from schemactl.destinations import DESTINATIONS, Destination
from schemactl.destinations.parquet import holds_tables
from schemactl.errors import InputError, nearest_or_all
from schemactl.flows.schemas import parse_named
from schemactl.formats.dlt import Document, read
from schemactl.migration.saved import mistaken_for_schema
from schemactl.schema.types import Schema
from schemactl.store.folder import (
    ENDINGS,
    SchemasFolder,
    TextFile,
    list_names,
    missing_schema,
    read_schema,
)
from schemactl.store.git import commit_of, find_repository
from schemactl.store.revision import read_revision
from schemactl.store.text import MAX_BYTES, decode, read_text

STDIN = "-"
STDIN_PATH = "<stdin>"


@dataclass(frozen=True, slots=True)
class Referred:
    """A schema that a REF names.

    Attributes:
        origin: the place that messages name; it tells no password.
        document: what it stands in; None for a destination's catalogue.
        destination: whose catalogue it is; None for a document.
        hashes: of the schemas that the destination was loaded with, the last one first.
        history: the file whose versions in git are older versions of the schema; None where it is no file.
    """

    schema: Schema
    origin: str
    document: Document | None = None
    destination: Destination | None = None
    history: Path | None = None
    hashes: tuple[str, ...] = ()

    @classmethod
    def of(cls, document: Document, origin: str, history: Path | None = None) -> Referred:
        """Return what a document says."""
        return cls(document.schema, origin, document, history=history)


def find_schemas(reference: str, folder: SchemasFolder) -> tuple[Referred, ...]:
    """Return the schemas that ``reference`` names, sorted by name; at least one.

    ``import:`` and ``export:`` without a name stand for all schemas of that folder. A schema of the export
    folder comes before a file of the same name; ``./NAME`` names the file. The path of ``git:REV:PATH``
    starts at the top of the repository, as git has it; with ``./`` or ``../``, at the working folder.

    Raises:
        InputError: there is no such schema, it cannot be read, or it is not valid.
        DestinationError: the destination cannot be read.
    """
    kind, _, rest = reference.partition(":")
    if reference == STDIN:
        return (_from_stdin(),)
    if kind == "git" and rest:
        return _from_git(rest, folder)
    if kind == "import":
        return _from_folder(folder.imports, rest)
    if kind == "export":
        return _from_folder(folder.exports, rest)
    if rest.startswith("//") or (rest and kind in DESTINATIONS):
        return (_from_destination(kind, reference),)
    if reference in list_names(folder.exports):
        return _from_folder(folder.exports, reference)
    path = Path(reference)
    if _is_there(reference):
        return _from_directory(path) if path.is_dir() else (_from_file(path),)
    refuse_revision(reference, folder)
    if _looks_like_path(reference):
        return (_from_file(path),)
    if not reference.isidentifier():
        raise InputError(
            f"`{reference}` names no schema",
            hint="NAME, import:NAME, export:NAME, a file, a folder, git:REV, git:REV:PATH, - or a destination "
            "(duckdb:///PATH, sqlite:///PATH, postgresql://USER@HOST/DATABASE, parquet:FOLDER, iceberg:FOLDER ...)",
        )
    raise missing_schema(folder, reference)


def find_schema(reference: str, folder: SchemasFolder) -> Referred:
    """Return the one schema that ``reference`` names.

    Raises:
        InputError: as ``find_schemas``, or the reference names several schemas.
        DestinationError: the destination cannot be read.
    """
    found = find_schemas(reference, folder)
    if len(found) > 1:
        names = ", ".join(f"`{each.schema.name}`" for each in found)
        raise InputError(f"`{reference}` names {len(found)} schemas: {names}", hint="name one of them")
    return found[0]


def refuse_revision(name: str, folder: SchemasFolder) -> None:
    """Refuse what git knows as a revision, and neither schema folder as a schema: ``git:NAME`` is meant.

    Raises:
        InputError: it is a revision in the repository of the schemas, where ``git:`` looks, too.
    """
    if name in (*list_names(folder.exports), *list_names(folder.imports)):
        return
    try:
        commit_of(find_repository(folder.exports), name)
    except InputError:
        return  # without git, a repository, or such a revision there is nothing to tell
    raise InputError(f"`{name}` names no schema", hint=f"git knows it as a revision: `git:{name}`")


def _from_stdin() -> Referred:
    content = sys.stdin.buffer.read(MAX_BYTES + 1)
    text = decode(content, STDIN_PATH)
    return Referred.of(_read(text, STDIN_PATH), STDIN_PATH)


def _from_file(path: Path) -> Referred:
    return Referred.of(_read(read_text(path), str(path)), str(path), path)


def _read(text: str, path: str) -> Document:
    try:
        return read(text, path)
    except InputError as error:
        if mistaken := mistaken_for_schema(text, path):
            raise mistaken from error
        raise


def _from_destination(kind: str, reference: str) -> Referred:
    destination = DESTINATIONS[kind]
    catalogue = destination.read_catalogue(reference).without_ours
    return Referred(catalogue.schema, catalogue.origin, destination=destination, hashes=catalogue.hashes)


def _from_folder(folder: Path, name: str) -> tuple[Referred, ...]:
    if not name:
        return _all_of(folder)
    file = read_schema(folder, name)
    if file is None:
        hint = nearest_or_all(name, list_names(folder))
        raise InputError(f"there is no schema `{name}` in `{folder}`", hint=hint)
    return (_named(file),)


def _from_directory(path: Path) -> tuple[Referred, ...]:
    """Return the schemas right in a folder, or, for the folder above ``export/``, those in ``export/``."""
    if not list_names(path) and holds_tables(path):
        raise InputError(f"there is no schema in `{path}`, but Parquet", hint=f"its tables: `parquet:{path}`")
    inner = path / "export"
    return _all_of(inner if not list_names(path) and inner.is_dir() else path)


def _all_of(folder: Path) -> tuple[Referred, ...]:
    files = [file for name in list_names(folder) if (file := read_schema(folder, name))]
    if not files:
        endings = ", ".join(f"`NAME.schema.{ending}`" for ending in ENDINGS)
        raise InputError(f"there is no schema in `{folder}`", hint=f"schema files are named {endings}")
    return tuple(_named(file) for file in files)


def _from_git(rest: str, folder: SchemasFolder) -> tuple[Referred, ...]:
    revision, _, inside = rest.partition(":")
    path = _git_path(inside) if inside else folder.exports
    files = read_revision(revision, path)
    top = find_repository(path)
    found = (replace(_named(file), history=top / str(file.path).removeprefix(f"{revision}:")) for file in files)
    return tuple(sorted(found, key=lambda each: each.schema.name))


def _git_path(inside: str) -> Path:
    if inside.startswith(("./", "../")) or inside in (".", ".."):
        return Path(inside)
    return find_repository(Path.cwd()) / inside


def _named(file: TextFile) -> Referred:
    return Referred.of(parse_named(file), str(file.path), file.path)


def _is_there(reference: str) -> bool:
    try:
        return bool(reference) and Path(reference).exists()
    except OSError:  # longer than a file name can be
        return False


def _looks_like_path(reference: str) -> bool:
    return os.sep in reference or reference.endswith(tuple(f".{ending}" for ending in ENDINGS))
