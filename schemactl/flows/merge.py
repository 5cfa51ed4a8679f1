"""``schemactl merge`` and ``merge-driver``: merge schema files that two branches changed, with the comments of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemactl.errors import InputError
from schemactl.flows.conflict_markers import MARKER_SIZE, mark_conflicts
from schemactl.flows.effective_schemas import MOST_VERSIONS
from schemactl.flows.schemas import with_lineage
from schemactl.formats.dlt import read, with_keys, without_defaults, write_merged
from schemactl.inference import lineage
from schemactl.schema.branch_merge import Conflict, MergedFile, MergedSchema, merge_schemas
from schemactl.schema.changes import HeaderChanged
from schemactl.schema.diff import diff
from schemactl.schema.hash import bump
from schemactl.schema.types import Schema
from schemactl.store.folder import ENDINGS, SchemasFolder, TextFile, no_schema, schema_name
from schemactl.store.git import find_repository, merge_lines
from schemactl.store.history import RevisionFile, versions_of
from schemactl.store.links import check_link
from schemactl.store.revision import MissingInRevision, read_revision
from schemactl.store.text import STDIN, STDIN_PATH, read_stdin, read_text, replace_file

if TYPE_CHECKING:
    from schemactl.formats.dlt import Layout

FindImport = Callable[[str], TextFile | None]
"""Returns the import file whose content has a hash; None for none."""

_GIT: Final = "git:"


def merge_references(base: str, ours: str, theirs: str, folder: SchemasFolder) -> tuple[tuple[MergedFile, ...], bool]:
    """Merge schema files that three references name: each a file, a folder, ``git:REV`` or ``git:REV:PATH``.

    Of folders and revisions it merges the files that both branches have by their names; a file that one side lacks is
    added, deleted, or a conflict, as with git.

    Returns:
        The merged files, and whether the references are folders.
    """
    if [base, ours, theirs].count(STDIN) > 1:
        raise InputError("only one of BASE, OURS and THEIRS can be `-`")
    sides = [_read_side(reference, folder) for reference in (base, ours, theirs)]
    files = [side for side in sides if isinstance(side, TextFile)]
    if files:
        if len(files) < len(sides):
            hint = "name three files, or three folders or revisions"
            raise InputError("BASE, OURS and THEIRS are files and folders", hint=hint)
        base_file, our_file, their_file = files
        path = str(our_file.path) if our_file.path != Path(STDIN_PATH) else str(their_file.path)
        return (merge_texts(base_file.text, our_file.text, their_file.text, path),), False
    folders = [side for side in sides if not isinstance(side, TextFile)]
    paths = sorted({path for texts in folders for path in texts})
    find_import = _find_import_in(folders)
    merged = (_merge_file(path, [texts.get(path) for texts in folders], find_import) for path in paths)
    return tuple(file for file in merged if file is not None), True


def _find_import_in(folders: Sequence[Mapping[str, str]]) -> FindImport:
    """Return a function that finds an import file by its hash among the files that are merged."""

    @cache
    def files() -> dict[str, TextFile]:
        paths = {text: path for texts in folders for path, text in texts.items()}
        return {_hash_of(text, path): TextFile(Path(path), text) for text, path in paths.items()}

    return lambda link: files().get(link)


def _merge_file(path: str, texts: Sequence[str | None], find_import: FindImport) -> MergedFile | None:
    """Merge a file that may be missing on a side; None if it is gone from both."""
    base, ours, theirs = texts
    if ours is not None and theirs is not None:
        return merge_texts(base or "", ours, theirs, path, find_import=find_import)
    remaining = ours if theirs is None else theirs
    if remaining is None:
        return None
    if base is None:
        return MergedFile(path, remaining)
    if remaining == base:
        return MergedFile(path, None)
    sides = ("changed in ours", "deleted in theirs") if theirs is None else ("deleted in ours", "changed in theirs")
    return MergedFile(
        path, remaining, conflicts=(Conflict(None, None, None, (), f"`{path}` is {sides[0]} and {sides[1]}"),)
    )


def merge_for_git(
    base: Path, ours: Path, theirs: Path, marker_size: int, path: str, folder: SchemasFolder
) -> MergedFile:
    """Merge three files that git wrote and write the result over ``ours`` (gitattributes(5), merge drivers).

    If schemactl cannot read one of the files, git's line merge is written; an unchanged ``ours`` would hide the other
    side. ``base`` is empty if both branches added the file; ``path`` is the path of the file in the repository.
    """
    try:
        texts = [read_text(file) for file in (base, ours, theirs)]
        merged = merge_texts(
            texts[0], texts[1], texts[2], path, marker_size, _find_committed_import(Path(path), folder)
        )
    except InputError as error:
        content = merge_lines(base, ours, theirs, marker_size)
        replace_file(ours, content)
        return MergedFile(path, content.decode("utf-8", "replace"), fault=str(error))
    assert merged.text is not None, "git calls a driver for files that both sides have"
    replace_file(ours, merged.text)
    return merged


def merge_texts(
    base: str,
    ours: str,
    theirs: str,
    path: str,
    marker_size: int = MARKER_SIZE,
    find_import: FindImport | None = None,
) -> MergedFile:
    """Merge the texts of a file; an empty ``base`` means that both sides added it.

    ``find_import`` returns the import file with a hash. An export file names the hash of the import file that it
    adopted: if both sides adopted an edit, the merged one names the hash of the merged import file.
    """
    if ours in (base, theirs) or theirs == base:
        return MergedFile(path, theirs if ours == base else ours)
    if path.endswith(lineage.ENDING):
        our_lineage, their_lineage = (lineage.from_json(text, path) for text in (ours, theirs))
        return MergedFile(path, lineage.to_json(lineage.merge(our_lineage, their_lineage)))
    documents = [read(text, path) if text.strip() else None for text in (base, ours, theirs)]
    base_document, our_document, their_document = documents
    if our_document is None or their_document is None:
        side = "ours" if our_document is None else "theirs"
        raise InputError(f"`{path}` is empty in {side}", hint="restore it from the branch's last commit")
    has_hash = bool(our_document.stated_hash or their_document.stated_hash)
    base_schema = base_document.schema if base_document else None
    sides = [bump(document.schema) if has_hash else document.schema for document in (our_document, their_document)]
    our_schema, their_schema = sides
    merged = merge_schemas(base_schema, our_schema, their_schema)
    if base_schema is not None and find_import is not None:
        link = _merged_link(base_schema, our_schema, their_schema, find_import) or merged.schema.imported_version_hash
        merged = replace(merged, schema=replace(merged.schema, imported_version_hash=link))
    layouts = [without_defaults(document) if document else None for document in documents]
    text, lost_comments = _written(merged, path, layouts)
    if merged.conflicts:
        of_theirs = merge_schemas(base_schema, our_schema, their_schema, prefers_theirs=True)
        # The right hash depends on the sides that the user keeps; `schemactl fmt` writes it afterwards.
        same_header = replace(of_theirs, schema=with_lineage(of_theirs.schema, merged.schema))
        their_text, _ = _written(same_header, path, layouts)
        text = mark_conflicts(text, merged.conflicts, their_text, of_theirs.conflicts, path, marker_size)
    changes = diff(our_schema, merged.schema, guess_renames=False)
    content_changes = tuple(change for change in changes if not isinstance(change, HeaderChanged))
    return MergedFile(path, text, content_changes, merged.conflicts, lost_comments)


def _merged_link(base: Schema, ours: Schema, theirs: Schema, find_import: FindImport) -> str | None:
    """Return the hash of the merged import file if both sides adopted different files; None if it is unknown."""
    links = [schema.imported_version_hash for schema in (base, ours, theirs)]
    if len({*links}) < len(links):
        return None
    imports = [find_import(link) for link in links if link is not None]
    files = [file for file in imports if file is not None]
    if len(files) < len(links):
        return None
    base_file, our_file, their_file = files
    merged = merge_texts(base_file.text, our_file.text, their_file.text, str(our_file.path))
    return _hash_of(merged.text or "", merged.path) if merged.is_clean else None


def _hash_of(text: str, path: str) -> str:
    """Return the hash of a file's content, which the file may not state yet."""
    return bump(read(text, path).schema).version_hash


def _find_committed_import(export_path: Path, folder: SchemasFolder) -> FindImport:
    """Return a function that finds an import file by its hash in the history of all branches."""
    name = schema_name(export_path)
    directories = dict.fromkeys((folder.imports, export_path.parent.with_name("import")))
    paths = [directory / f"{name}.schema.{ending}" for directory in directories for ending in ENDINGS]

    @cache
    def versions() -> dict[str, TextFile]:
        by_hash: dict[str, TextFile] = {}
        for path in paths:
            committed: tuple[RevisionFile, ...] = ()
            with suppress(InputError):  # there is no such file
                committed = versions_of(path, is_on_all_branches=True)[:MOST_VERSIONS]
            for version in committed:
                with suppress(InputError):  # an old commit may have any content
                    file = TextFile(Path(version.path), version.text)
                    by_hash.setdefault(_hash_of(file.text, version.path), file)
        return by_hash

    return lambda link: versions().get(link)


def _written(merged: MergedSchema, path: str, layouts: Sequence[Layout | None]) -> tuple[str, tuple[str, ...]]:
    base, ours, theirs = (
        layout and (with_keys(layout, renamed) if renamed else layout)
        for layout, renamed in zip(layouts, merged.renames, strict=True)
    )
    assert ours is not None, "our file was read"
    assert theirs is not None, "their file was read"
    return write_merged(merged.schema, path, base, ours, theirs)


def write_files(merged: Sequence[MergedFile], output: Path, *, is_folder: bool) -> tuple[MergedFile, ...]:
    """Write the merged texts to the file ``output``, or to their paths below that folder; return them with paths."""
    written = []
    for file in merged:
        if file.text is not None:
            target = output / file.path if is_folder else output
            replace_file(target, file.text)
            file = replace(file, written=str(target))
        written.append(file)
    return tuple(written)


def _read_side(reference: str, folder: SchemasFolder) -> TextFile | dict[str, str]:
    """Return the file that a reference names, or the texts of a folder or revision by their paths in it."""
    if reference == STDIN:
        return TextFile(Path(STDIN_PATH), read_stdin())
    if reference.startswith(_GIT):
        return _read_revision(reference.removeprefix(_GIT), folder)
    path = Path(reference)
    if not path.is_dir():
        return TextFile(path, read_text(path))
    check_link(path)
    names = (entry.relative_to(path) for pattern in ("*", "*/*") for entry in path.glob(pattern))
    texts = {name.as_posix(): read_text(path / name) for name in names if schema_name(name)}
    if not texts:
        raise no_schema(f"`{path}`")
    return texts


def _read_revision(revision_and_path: str, folder: SchemasFolder) -> TextFile | dict[str, str]:
    revision, _, inside = revision_and_path.partition(":")
    if inside:
        is_relative = inside.startswith(("./", "../")) or inside in (".", "..")
        path = Path(inside) if is_relative else find_repository(Path.cwd()) / inside
        files = read_revision(revision, path)
        if len(files) == 1 and files[0].path.as_posix().endswith(path.name):
            return TextFile(Path(inside), files[0].text)
        return {file.path.name: file.text for file in files}
    texts: dict[str, str] = {}
    for directory in dict.fromkeys((folder.imports, folder.exports)):
        with suppress(MissingInRevision):
            texts |= {f"{directory.name}/{file.path.name}": file.text for file in read_revision(revision, directory)}
    if not texts:
        raise InputError(f"revision `{revision}` has no schema in {folder.shown}", hint="`git:REV:PATH` names a file")
    return texts
