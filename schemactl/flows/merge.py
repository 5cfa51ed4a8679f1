"""``schemactl merge`` and ``merge-driver``: merge schema files that two branches changed, with the comments of both."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemactl.errors import InputError
from schemactl.flows.conflict_markers import MARKER_SIZE, mark_conflicts
from schemactl.flows.schemas import with_lineage
from schemactl.formats.dlt import read, with_keys, without_defaults, write_merged
from schemactl.inference import lineage
from schemactl.schema.branch_merge import Conflict, MergedFile, MergedSchema, merge_schemas
from schemactl.schema.changes import HeaderChanged
from schemactl.schema.diff import diff
from schemactl.schema.hash import bump
from schemactl.store.folder import SchemasFolder, TextFile, no_schema, schema_name
from schemactl.store.git import find_repository, merge_lines
from schemactl.store.links import check_link
from schemactl.store.revision import MissingInRevision, read_revision
from schemactl.store.text import STDIN, STDIN_PATH, read_stdin, read_text, replace_file

if TYPE_CHECKING:
    from schemactl.formats.dlt import Layout

_GIT: Final = "git:"


def merge_references(base: str, ours: str, theirs: str, folder: SchemasFolder) -> tuple[tuple[MergedFile, ...], bool]:
    """Merge schema files that three references name: each a file, a folder, ``git:REV`` or ``git:REV:PATH``.

    Of folders and revisions it merges the files that both branches have by their names; a file that one side lacks is
    added, deleted, or a conflict, as with git.

    Returns:
        The merged files, and whether the references are folders.

    Raises:
        InputError: a reference names no schema file, or a file that cannot be read.
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
    merged = (_merge_file(path, *(texts.get(path) for texts in folders)) for path in paths)
    return tuple(file for file in merged if file is not None), True


def _merge_file(path: str, base: str | None, ours: str | None, theirs: str | None) -> MergedFile | None:
    """Merge a file that may be missing on a side; None if it is gone from both."""
    if ours is not None and theirs is not None:
        return merge_texts(base or "", ours, theirs, path)
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


def merge_for_git(base: Path, ours: Path, theirs: Path, marker_size: int, path: str) -> MergedFile:
    """Merge three files that git wrote and write the result over ``ours`` (gitattributes(5), merge drivers).

    If schemactl cannot read one of them, git's merge of lines is written: otherwise the user would see our side alone.

    Args:
        base: their common ancestor; empty if both branches added the file.
        ours: our version.
        theirs: their version.
        marker_size: the length of conflict markers.
        path: the path of the file in the repository.
    """
    try:
        merged = merge_texts(read_text(base), read_text(ours), read_text(theirs), path, marker_size)
    except InputError as error:
        content = merge_lines(base, ours, theirs, marker_size)
        replace_file(ours, content)
        return MergedFile(path, content.decode("utf-8", "replace"), fault=str(error))
    assert merged.text is not None, "git calls a driver for files that both sides have"
    replace_file(ours, merged.text)
    return merged


def merge_texts(base: str, ours: str, theirs: str, path: str, marker_size: int = MARKER_SIZE) -> MergedFile:
    """Merge the texts of a file; an empty ``base`` means that both sides added it.

    Raises:
        InputError: one of the texts is not a schema file or a lineage file that schemactl reads.
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
    layouts = [without_defaults(document) if document else None for document in documents]
    text, lost_comments = _written(merged, path, layouts)
    if merged.conflicts:
        of_theirs = merge_schemas(base_schema, our_schema, their_schema, prefers_theirs=True)
        # Which hash is right depends on what a person keeps: `schemactl fmt` writes it then.
        same_header = replace(of_theirs, schema=with_lineage(of_theirs.schema, merged.schema))
        their_text, _ = _written(same_header, path, layouts)
        text = mark_conflicts(text, merged.conflicts, their_text, of_theirs.conflicts, path, marker_size)
    changes = diff(our_schema, merged.schema, guess_renames=False)
    content_changes = tuple(change for change in changes if not isinstance(change, HeaderChanged))
    return MergedFile(path, text, content_changes, merged.conflicts, lost_comments)


def _written(merged: MergedSchema, path: str, layouts: Sequence[Layout | None]) -> tuple[str, tuple[str, ...]]:
    base, ours, theirs = (
        layout and (with_keys(layout, renamed) if renamed else layout)
        for layout, renamed in zip(layouts, merged.renames, strict=True)
    )
    assert ours is not None, "our file was read"
    assert theirs is not None, "their file was read"
    return write_merged(merged.schema, path, base, ours, theirs)


def write_files(merged: Sequence[MergedFile], output: Path, *, is_folder: bool) -> tuple[MergedFile, ...]:
    """Write the merged texts to the file ``output``, or below a folder by their paths, and return where they are.

    Raises:
        InputError: a file cannot be written.
    """
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
