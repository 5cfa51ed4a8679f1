"""The models of a dbt project as a git revision has them: a manifest is built, so no revision has one.

Jinja is not run: sources and refs become the relations that the manifest names, and other templates are filled in.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from schemactl.readers.templates import REF_TAG, SOURCE_TAG, fill_in
from schemactl.store.file_trees import FileTree

TEMPLATE_LINE: Final = "schemactl_template_line"
"""The key of a node for the line of its first template that may be any SQL."""

_ENDING: Final = ".sql"
_WILDCARDS: Final = frozenset("*?[")
_KINDS: Final = ("model", "analysis", "test")
"""The types of nodes of which a file holds one, as its whole text."""


def find_project_folder(manifest: Path) -> Path:
    """Return the folder that the paths in a manifest start from: the nearest above it with a ``dbt_project.yml``."""
    folders = [folder for folder in manifest.parents if (folder / "dbt_project.yml").is_file()]
    if folders:
        return folders[0]
    return manifest.parent.parent if manifest.parent.name == "target" else Path()


def is_of_project(node: Mapping[str, Any], content: Mapping[str, Any]) -> bool:
    """Return whether a node is of the project itself, not of an installed package."""
    metadata = content.get("metadata")
    project = metadata.get("project_name") if isinstance(metadata, Mapping) else None
    return project is None or node.get("package_name") in (None, project)


def with_texts_of(files: FileTree, content: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return a manifest whose models have the SQL of some files, if that differs from its own.

    Models without a file go, and files that are no model of the manifest become models. If no model has a file, the
    project is elsewhere, and its models stay.

    Args:
        files: the files to read.
        content: the manifest; its sections are objects of objects.
        folder: of the project.
    """
    nodes: Mapping[str, Mapping[str, Any]] = content.get("nodes", {})
    texts_by_node = {
        node_id: os.path.normpath(folder / str(node["original_file_path"]))
        for node_id, node in nodes.items()
        if node.get("resource_type") in _KINDS and _is_plain_path(node.get("original_file_path"))
        if is_of_project(node, content)
    }
    kinds_by_folder = {
        PurePosixPath(nodes[node_id]["original_file_path"]).parts[0]: str(nodes[node_id]["resource_type"])
        for node_id in texts_by_node
    }
    nodes_by_path = {path: node_id for node_id, path in texts_by_node.items()}
    new_nodes = {node_id: node for node_id, node in nodes.items() if node_id not in texts_by_node}
    for top_folder, kind in kinds_by_folder.items():
        for file in files.find(os.path.normpath(folder / top_folder), _ENDING):
            path = os.path.normpath(file.path)
            node_id = nodes_by_path.get(path, f"{kind}.{path}")
            node = nodes.get(node_id) or _new_node(kind, file.path, folder)
            is_same = str(node.get("raw_code")).strip() == file.text.strip() and file.fault is None
            new_nodes[node_id] = node if is_same else _with_text(node, file.text, content)
    # A manifest of another repository has no files here: both sides have the same models.
    return {**content, "nodes": new_nodes if texts_by_node.keys() & new_nodes else nodes}


def _is_plain_path(path: object) -> bool:
    """Return whether a path is that of a SQL file below the project's folder: a manifest can name any path."""
    if not isinstance(path, str) or not path.endswith(_ENDING):
        return False
    names = PurePosixPath(path).parts
    return not path.startswith("/") and ".." not in names and not _WILDCARDS.intersection(names[0])


def _new_node(kind: str, path: Path, folder: Path) -> dict[str, Any]:
    return {
        "resource_type": kind,
        "name": path.stem,
        "original_file_path": Path(os.path.relpath(path, folder)).as_posix(),
    }


def _with_text(node: Mapping[str, Any], text: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a node with another text, filled in, and the nodes that it depends on."""
    parents = dict.fromkeys((*_old_parents(node), *_parents_in(text, content)))

    def relation(tag: re.Match[str]) -> str:
        source = _source_of(tag, content)
        if source is None:
            return tag.group()
        table = source[1].get("identifier") or source[1].get("name")
        return f"{source[1].get('schema')}.{table}" + "\n" * tag.group().count("\n")

    sql, template_line = fill_in(SOURCE_TAG.sub(relation, text))
    fields = {"raw_code": text, "compiled_code": sql, TEMPLATE_LINE: template_line}
    return {**node, **fields, "depends_on": {"nodes": list(parents)}}


def _old_parents(node: Mapping[str, Any]) -> list[str]:
    depends_on = node.get("depends_on")
    parents = depends_on.get("nodes") if isinstance(depends_on, Mapping) else None
    return [str(parent) for parent in parents] if isinstance(parents, list) else []


def _parents_in(text: str, content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the ids of the sources and models that a text names."""
    for tag in SOURCE_TAG.finditer(text):
        if source := _source_of(tag, content):
            yield source[0]
    for tag in REF_TAG.finditer(text):
        for node_id, node in content.get("nodes", {}).items():
            if node.get("name") == tag[3] and node.get("resource_type") == "model":
                yield node_id


def _source_of(tag: re.Match[str], content: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """Return the source that a tag names, with its id."""
    sources: Mapping[str, Mapping[str, Any]] = content.get("sources", {})
    names = (tag[2], tag[4])
    return next(
        (item for item in sources.items() if (item[1].get("source_name"), item[1].get("name")) == names),
        None,
    )
