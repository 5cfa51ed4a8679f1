"""The models and tests of a dbt project as its files have them, in a git revision or since the manifest was built.

Jinja is not run: sources and refs become the relations that the manifest names, and other templates are filled in.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeGuard

from schemactl.readers.dbt_tests import ProjectNodes, parents_of, read_column_tests
from schemactl.readers.templates import REF_TAG, SOURCE_TAG, fill_in
from schemactl.store.file_trees import FileTree, TreeFile, WorkingFiles

TEMPLATE_LINE: Final = "schemactl_template_line"
"""The key of a node for the line of its first template that may be any SQL."""

_ENDING: Final = ".sql"
_YAML_ENDINGS: Final = (".yml", ".yaml")
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


@dataclass(frozen=True, slots=True)
class BuildTimes:
    """The times of a manifest, in ns since 1970.

    Attributes:
        generated: when dbt read the project's files; a copy of the manifest has the same one.
        written: when the file was written.
    """

    generated: int
    written: int


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """A manifest with the content of the project's files.

    Attributes:
        content: the sections of the manifest.
        changed_paths: the files that the manifest does not have in this form.
    """

    content: dict[str, Any]
    changed_paths: tuple[str, ...]


def read_project_files(files: FileTree, content: Mapping[str, Any], folder: Path, built: BuildTimes) -> ProjectFiles:
    """Return a manifest whose models have the SQL of some files, and whose columns have the tests of the YAML files.

    Models without a file go, and files that are no model of the manifest become models. If no model has a file, the
    project is elsewhere, and its models stay. Files on disk count only if they are newer than the manifest.

    Args:
        files: the files to read.
        content: the manifest; its sections are objects of objects.
        folder: of the project.
        built: the times of the manifest.
    """
    nodes: Mapping[str, Mapping[str, Any]] = content.get("nodes", {})
    texts_by_node = {
        node_id: os.path.normpath(folder / str(node["original_file_path"]))
        for node_id, node in nodes.items()
        if node.get("resource_type") in _KINDS and _is_plain_path(node.get("original_file_path"), _ENDING)
        if is_of_project(node, content)
    }
    kinds_by_folder = {
        PurePosixPath(nodes[node_id]["original_file_path"]).parts[0]: str(nodes[node_id]["resource_type"])
        for node_id in texts_by_node
    }
    nodes_by_path = {path: node_id for node_id, path in texts_by_node.items()}
    disabled_paths = set(_disabled_paths(content, folder))
    new_nodes = dict(nodes)
    changed_paths: list[str] = []
    all_paths: set[str] = set()
    for top_folder, kind in kinds_by_folder.items():
        paths, changed_files = _model_files(files, os.path.normpath(folder / top_folder), built)
        all_paths |= paths
        for file in changed_files:
            path = os.path.normpath(file.path)
            node_id = nodes_by_path.get(path, f"{kind}.{path}")
            node = nodes.get(node_id)
            is_same = node is not None and file.fault is None and _has_text(node, file.text, files)
            if not is_same and path not in disabled_paths:
                changed_paths.append(path)
                new_nodes[node_id] = _with_text(node or _new_node(kind, file.path, folder), file.text, content)
    # A manifest of another repository has no files here: both sides have the same models.
    if not all_paths & nodes_by_path.keys():
        return ProjectFiles(dict(content), ())
    for path in nodes_by_path.keys() - all_paths:
        nearest_folder = next((folder for folder in Path(path).parents if folder.is_dir()), Path())
        if not files.is_on_disk or _is_newer(nearest_folder, built.generated):
            del new_nodes[nodes_by_path[path]]
            changed_paths.append(path)
    new_content = {**content, "nodes": new_nodes}
    packages = {node_id for node_id, node in nodes.items() if not is_of_project(node, content)}
    for file in _yaml_files(files, new_content, folder, kinds_by_folder, built):
        path = Path(os.path.relpath(file.path, folder)).as_posix()
        tests = read_column_tests(file.text, path)
        project = ProjectNodes(new_content["nodes"], content.get("sources", {}), packages)
        if tests is not None and (test_nodes := project.merge_tests(path, tests)):
            changed_paths.append(os.path.normpath(file.path))
            tested_nodes = {**new_content["nodes"], **test_nodes}
            new_content["nodes"] = {node_id: node for node_id, node in tested_nodes.items() if node is not None}
    return ProjectFiles(new_content, tuple(sorted(changed_paths)))


def _model_files(files: FileTree, folder: str, built: BuildTimes) -> tuple[set[str], list[TreeFile]]:
    """Return the paths of the SQL files below a folder, and the files that may differ from the manifest."""
    if not files.is_on_disk:
        found_files = list(files.find(folder, _ENDING))
        return {os.path.normpath(file.path) for file in found_files}, found_files
    paths = {os.path.normpath(path) for path in Path(folder).rglob(f"*{_ENDING}")}
    newer_paths = sorted(path for path in paths if _is_newer(Path(path), built.generated))
    return paths, [file for path in newer_paths for file in files.find(glob.escape(path), "")]


def _is_newer(path: Path, moment: int) -> bool:
    """Return whether a file or folder was changed after a moment, in ns."""
    try:
        return path.stat().st_mtime_ns > moment
    except OSError:
        return False


def _yaml_files(
    files: FileTree, content: Mapping[str, Any], folder: Path, top_folders: Iterable[str], built: BuildTimes
) -> Iterator[TreeFile]:
    """Yield the YAML files that the manifest may not have: newer files, or files that differ from the disk."""
    if files.is_on_disk:
        for path in sorted(os.path.normpath(folder / path) for path in _yaml_paths(content)):
            if _is_newer(Path(path), built.written):
                yield from files.find(glob.escape(path), "")
        return
    yaml_folders = {PurePosixPath(path).parts[0] for path in _yaml_paths(content)}
    for top_folder in sorted({*top_folders, *yaml_folders}):
        for ending in _YAML_ENDINGS:
            for file in files.find(os.path.normpath(folder / top_folder), ending):
                file_on_disk = next(WorkingFiles().find(glob.escape(str(file.path)), ""), None)
                if file.fault is None and (file_on_disk is None or file_on_disk.text != file.text):
                    yield file


def _yaml_paths(content: Mapping[str, Any]) -> set[str]:
    """Return the paths of the YAML files of the project that describe nodes and sources, or test them."""
    paths = set()
    for node in (*content["nodes"].values(), *content.get("sources", {}).values()):
        if is_of_project(node, content):
            patch_path = str(node.get("patch_path") or "").rpartition("://")[2]
            paths |= {
                path
                for path in (patch_path, node.get("original_file_path"))
                if any(_is_plain_path(path, ending) for ending in _YAML_ENDINGS)
            }
    return paths


def _disabled_paths(content: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """Yield the paths of the models that the manifest lists as disabled."""
    disabled = content.get("disabled")
    for nodes in disabled.values() if isinstance(disabled, Mapping) else ():
        for node in nodes if isinstance(nodes, list) else ():
            path = node.get("original_file_path") if isinstance(node, Mapping) else None
            if isinstance(path, str):
                yield os.path.normpath(folder / path)


def _has_text(node: Mapping[str, Any], text: str, files: FileTree) -> bool:
    """Return whether a node has this text, by its text or its checksum, which dbt strips.

    Without both, only a file on disk counts as the same.
    """
    stripped_text = _strip(text)
    if isinstance(raw_code := node.get("raw_code"), str):
        return _strip(raw_code) == stripped_text
    match node.get("checksum"):
        case {"name": "sha256", "checksum": str(checksum)}:
            return hashlib.sha256(stripped_text.encode()).hexdigest() == checksum
        case _:
            return files.is_on_disk


def _strip(text: str) -> str:
    return text.strip().replace("\r\n", "\n")


def _is_plain_path(path: object, ending: str) -> TypeGuard[str]:
    """Return whether a path is that of a file below the project's folder: a manifest can name any path."""
    if not isinstance(path, str) or not path.endswith(ending):
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
    parents = dict.fromkeys((*parents_of(node), *_parents_in(text, content)))

    def relation(tag: re.Match[str]) -> str:
        source = _source_of(tag, content)
        if source is None:
            return tag.group()
        table = source[1].get("identifier") or source[1].get("name")
        return f"{source[1].get('schema')}.{table}" + "\n" * tag.group().count("\n")

    sql, template_line = fill_in(SOURCE_TAG.sub(relation, text))
    fields = {"raw_code": text, "compiled_code": sql, TEMPLATE_LINE: template_line}
    return {**node, **fields, "depends_on": {"nodes": list(parents)}}


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
    return next((item for item in sources.items() if (item[1].get("source_name"), item[1].get("name")) == names), None)
