"""dlt's schema files, YAML and JSON: the native format (docs/dlt.md §1).

A schema that dlt would refuse raises an error with the place in the file. What dlt does to a file on loading is done
too: old engine versions are brought up to date, names and defaults are filled in.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from schemactl.errors import InputError, Location, Problem
from schemactl.formats._dlt_form import completed, export_form, is_complete, plain, with_defaults, with_sections
from schemactl.formats._least_edit import least_edit
from schemactl.formats._line_merge import ConflictError, merge_lines, with_comments
from schemactl.formats._losses import Loss
from schemactl.garbage_collection import paused_collector
from schemactl.schema.hash import stored_hash
from schemactl.schema.types import ENGINE_VERSION, Schema, schema_from_dict
from schemactl.schema.upgrade import upgrade
from schemactl.schema.validation import check
from schemactl.trees import nodes
from schemactl.trees.json_text import parse_json
from schemactl.trees.nodes import Finder, Key, Keys, Node, Source, same
from schemactl.trees.yaml_text import parse_yaml

_FIRST_ENGINE_WITH_TODAYS_HASH = 6
"""Files of earlier engine versions do not hold all that their hashes were made of."""

_COMMENT = re.compile(r"(?:^|\s)(#.*)", re.MULTILINE)

_CONFLICT = re.compile(r"^(?:<{7}|\|{7}|>{7})(?: |$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Layout:
    """The form of a file: its text, its tree, and its content in the form of an export.

    ``renamed`` has the keys that are to have other names, by the way to the old ones; ``meaning`` has the new ones.
    """

    source: Source
    root: Node
    meaning: dict[str, Any]
    is_json: bool
    finder: Finder
    renamed: Mapping[Keys, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """A schema file that was read.

    Attributes:
        schema: its content in the current engine version, with defaults filled in, and with the file's version and
            hash.
        stated_hash: the ``version_hash`` in the file, if it has one.
        stated_engine_version: the ``engine_version`` in the file, before the upgrade.
        is_edited: whether the content does not match the file's hash; dlt gives such a file a new version on import.
            False before engine version 6, because it is unknown.
        layout: lets ``write`` keep comments and formatting.
    """

    schema: Schema
    stated_hash: str | None
    stated_engine_version: int
    is_edited: bool
    layout: Layout
    losses: tuple[Loss, ...] = ()

    def locate(self, *keys: Key) -> Location:
        """Return the line and column of a key or an item; if it is missing, of its nearest parent."""
        return self.layout.source.locate(self.layout.finder.find(keys))


def read(text: str, path: str) -> Document:
    """Return the content of a schema file.

    It is YAML or JSON by the path's ending, else by how the text starts.
    """
    with paused_collector():
        return _read(Source(path, text))


def _read(source: Source) -> Document:
    ending = source.path.lower().rpartition(".")[2]
    begins_as_json = source.text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[")
    is_json = ending == "json" or (ending not in ("yaml", "yml") and begins_as_json)
    root = _parse(source, is_json)
    finder = Finder(root)
    raw = completed(root_value := nodes.value_of(root), source.path)
    stored = _upgraded(raw, source, finder)
    if findings := check(stored):
        locations = (source.locate(finder.find(finding.keys)) for finding in findings)
        pairs = zip(findings, locations, strict=True)
        problems = tuple(Problem(finding.message, location, finding.hint) for finding, location in pairs)
        raise InputError("this is not a valid dlt schema", at=Location(source.path), problems=problems)
    filled = with_defaults(plain(stored))
    schema = schema_from_dict(with_sections(filled))
    engine: int = raw["engine_version"]
    is_current = engine == ENGINE_VERSION
    stated_hash = raw.get("version_hash") or None
    # A file written by hand keeps its partial form: writing it must not add the defaults.
    is_whole = is_current and is_complete(root_value)
    meaning = export_form(schema, keeps_import="imported_version_hash" in raw) if is_whole else plain(root_value)
    return Document(
        schema=schema,
        stated_hash=stated_hash,
        stated_engine_version=engine,
        is_edited=stated_hash is not None
        and engine >= _FIRST_ENGINE_WITH_TODAYS_HASH
        and stored_hash(filled if is_current else with_defaults(plain(raw))) != stated_hash,
        layout=Layout(source, root, meaning, is_json, finder),
    )


ENDINGS = (".schema.yaml", ".schema.yml", ".schema.json", ".yaml", ".yml", ".json")

_ENGINE_VERSION = re.compile(r"""\bengine_version["']?\s*:|^(?:tables|settings|normalizers)\s*:""", re.MULTILINE)
"""The key that every schema file of dlt has, in YAML or JSON, or top-level keys of files written by hand."""


def recognises(text: str) -> bool:
    """Return whether a text looks as a schema file of dlt."""
    return _ENGINE_VERSION.search(text) is not None


def losses(schema: Schema) -> tuple[Loss, ...]:  # noqa: ARG001 - the form of all formats
    """Return nothing: the format is the schema's own."""
    return ()


def write(schema: Schema, path: str | None = None, layout: Layout | None = None) -> str:
    """Return the text of a schema file in the form of dlt's exports (docs/dlt.md §1.7), keeping version and hash.

    Without ``layout``, the text is JSON if ``path`` ends in ``.json``, and YAML otherwise. With the ``layout`` of the
    file to overwrite, only differences are changed: comments and formatting stay, YAML stays YAML and JSON stays JSON.
    """
    text = _written(schema, path, layout)
    Source(path or f"{schema.name}.schema.yaml", text).check_size()
    return text


def _written(schema: Schema, path: str | None, layout: Layout | None) -> str:
    # PyYAML takes long to import, and other formats do without it.
    from schemactl.formats._yaml_writer import json_text, yaml_text

    if layout is None:
        exported = export_form(schema)
        return json_text(exported) if (path or "").lower().endswith(".json") else yaml_text(exported)
    exported = export_form(schema, keeps_import="imported_version_hash" in layout.meaning)
    if same(layout.meaning, exported, _is_ordered) and not layout.renamed:
        return layout.source.text
    for text in _edits(layout, exported):
        if _means(text, layout, exported):
            return text
    raise InputError(
        "this file cannot be changed without losing comments and formatting; nothing changed",
        at=Location(layout.source.path),
        hint="edit the file by hand, or move comments out of braces and expand aliases (`*name`)",
    )


def write_merged(
    schema: Schema, path: str, base: Layout | None, ours: Layout, theirs: Layout
) -> tuple[str, tuple[str, ...]]:
    """Return the text of a schema with the comments and formatting of two files that grew from ``base``.

    If both sides formatted the same lines, our formatting wins.

    Returns:
        The text, and the comments of theirs that it lacks: their lines have another content in it.
    """
    our_text, their_text, base_text = (_written(schema, path, layout) for layout in (ours, theirs, base))
    line_end = "\r\n" if "\r\n" in our_text else "\n"
    if their_text in (our_text, base_text):
        return our_text, ()  # as with files that only programs write
    our_text, their_text, base_text = (text.replace("\r\n", "\n") for text in (our_text, their_text, base_text))
    exported = export_form(schema, keeps_import="imported_version_hash" in ours.meaning)
    candidates = [our_text]
    # All three say the same: the lines in which they differ are form and comments.
    for our_part, their_part in ((our_text, their_text), (their_text, our_text)):
        with suppress(ConflictError):
            candidates.append(merge_lines(base_text, their_part, our_part))
    new_comments = _comments(their_text) - _comments(base_text)
    candidates += [with_comments(text, their_text, new_comments - _comments(text)) for text in candidates]
    losses = {
        text: new_comments - _comments(text) for text in candidates if text == our_text or _means(text, ours, exported)
    }
    text = min(losses, key=lambda candidate: losses[candidate].total())
    Source(path, text).check_size()
    return text.replace("\n", line_end), tuple(losses[text])


def _comments(text: str) -> Counter[str]:
    """Return the texts in a YAML file that may be comments, with their counts."""
    return Counter(comment[1].strip() for comment in _COMMENT.finditer(text))


def without_defaults(document: Document) -> Layout:
    """Return the layout of a document whose next text leaves out the defaults that it leaves out."""
    if document.stated_engine_version != ENGINE_VERSION:
        return document.layout  # its text becomes one of the current version
    keeps_import = "imported_version_hash" in document.layout.meaning
    return replace(document.layout, meaning=export_form(document.schema, keeps_import=keeps_import))


def with_keys(layout: Layout, renamed: Mapping[tuple[str, str | None], str]) -> Layout:
    """Return the layout with other keys for tables and columns, in their old places, with their comments.

    Columns are renamed by the old name of their table.
    """
    ways: dict[Keys, str] = {
        ("tables", table) if column is None else ("tables", table, "columns", column): name
        for (table, column), name in renamed.items()
    }
    return replace(layout, meaning=_rename_keys(layout.meaning, ways), renamed=ways)


def _rename_keys(meaning: dict[str, Any], renamed: Mapping[Keys, str]) -> dict[str, Any]:
    tables = {}
    for name, table in (meaning.get("tables") or {}).items():
        path: Keys = ("tables", name)
        columns = (table or {}).get("columns")
        if columns:
            renamed_columns = {
                renamed.get((*path, "columns", column), column): properties for column, properties in columns.items()
            }
            table = {**table, "columns": renamed_columns}
        tables[renamed.get(path, name)] = table
    return {**meaning, "tables": tables} if tables else meaning


def _edits(layout: Layout, exported: dict[str, Any]) -> Iterator[str]:
    """Yield the text of a file with another content, in the form that it has; the first that says it is right."""
    from schemactl.formats._yaml_writer import yaml_text

    text, raw = layout.source.text, nodes.value_of(layout.root)
    new_content = least_edit(_rename_keys(raw, layout.renamed), layout.meaning, exported, _is_ordered)
    if layout.is_json or _is_json_text(text):
        yield from _json_edits(text, raw, new_content)
    elif yaml_text(raw) == text:
        yield yaml_text(new_content)
    else:
        from schemactl.formats._yaml_edit import edits

        yield from edits(text, layout.root, new_content, layout.renamed)


def _json_edits(text: str, old: Any, new: Any) -> Iterator[str]:
    """Yield JSON with another value: in its own lines, then as a whole in its indentation."""
    indented = re.match(r"\s*[{[][^\S\n]*\n([ \t]+)", text)
    options: dict[str, Any] = {
        "indent": indented[1] if indented else None,
        "separators": ("," if indented or '", "' not in text else ", ", ": " if '": ' in text else ":"),
        "ensure_ascii": text.isascii() and "\\u" in text,
    }
    end = text[len(text.rstrip()) :]
    before, after = (json.dumps(value, **options) + end for value in (old, new))
    with suppress(ConflictError):
        yield merge_lines(before, text, after)
    yield after


def _is_json_text(text: str) -> bool:
    """Return whether YAML is JSON, too."""
    try:
        return text[:1] == "{" and bool(json.loads(text))
    except ValueError:
        return False


def _means(text: str, layout: Layout, exported: dict[str, Any]) -> bool:
    """Return whether a text has the intended content."""
    source = Source(layout.source.path, text)
    try:
        root = _parse(source, layout.is_json)
        stored = _upgraded(completed(nodes.value_of(root), source.path), source, Finder(root))
        schema = schema_from_dict(with_sections(with_defaults(plain(stored))))
    except (InputError, KeyError, AttributeError):
        return False
    return same(export_form(schema, keeps_import="imported_version_hash" in exported), exported, _is_ordered)


def _is_ordered(keys: tuple[Key, ...]) -> bool:
    # Only the order of columns counts for the hash (docs/dlt.md §2.1).
    return len(keys) == 3 and keys[0] == "tables" and keys[2] == "columns"


def _parse(source: Source, is_json: bool) -> Node:
    source.check_size()
    # Searching for the bare marks first is five times as fast as the pattern.
    has_marks = any(mark * 7 in source.text for mark in "<|>")
    if has_marks and (conflict := _CONFLICT.search(source.text)):
        hint = "resolve the merge conflict first"
        raise source.refuse("the file contains a merge conflict", conflict.start(), hint)
    root = parse_json(source) if is_json else parse_yaml(source)
    if not isinstance(root, nodes.Mapping):
        hint = "write keys such as `name:` and `tables:` at the top"
        raise source.refuse("the file is not a mapping", root.start, hint)
    return root


def _upgraded(raw: dict[str, Any], source: Source, finder: Finder) -> dict[str, Any]:
    try:
        return upgrade(raw, source.path)
    except InputError as error:
        location = source.locate(finder.find(("engine_version",)))
        raise InputError(error.message, at=location, hint=error.hint, problems=error.problems) from error
