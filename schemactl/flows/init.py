"""``schemactl init``: sets up a project: its folders, settings, git, CI, pre-commit and editor, and its first schemas.

Existing files stay unchanged; the report contains the text that they lack.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from shlex import quote
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from schemactl.destinations import find_address
from schemactl.errors import InputError
from schemactl.flows.effective_schemas import read_all_effective
from schemactl.flows.files import name_schema
from schemactl.flows.import_ import import_schema, read_source
from schemactl.flows.references import find_schemas
from schemactl.formats._tables import UNNAMED
from schemactl.installation import pinned_requirement
from schemactl.redaction import redact
from schemactl.schema.naming import load_naming
from schemactl.schema.settings import DEFAULT_NAMING
from schemactl.schema.templates import check_name, is_name
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder, list_names
from schemactl.store.git import create_repository, remote_addresses
from schemactl.store.links import repository_top
from schemactl.store.merge_driver import install_diff_driver, install_merge_driver
from schemactl.store.project_files import (
    CI_FILES,
    PRE_COMMIT_FILE,
    SCHEMA_FILE_SCHEMA,
    SETTINGS_FILE,
    SETTINGS_SCHEMA,
    CiSystem,
    Initialized,
    ProjectFile,
    UnchangedFile,
    ci_file,
    editor_file,
    pre_commit_file,
    settings_file,
)
from schemactl.store.text import read_text, replace_file

_PIPELINE_STATE: Final = "state.json"
"""The file with which dlt marks the working folder of a pipeline; its schemas are in the same folder."""


@dataclass(frozen=True, slots=True)
class ProjectParts:
    """The parts of a project that ``init`` can set up.

    Attributes:
        git: the attributes and settings by which git uses schemactl, and a repository if it is missing.
        ci: the CI system that reviews changes of schemas; None for no CI.
        pre_commit: the hooks of pre-commit.
        editor: the JSON Schemas by which an editor completes and checks schema files.
    """

    git: bool
    ci: CiSystem | None
    pre_commit: bool
    editor: bool


@dataclass(frozen=True, slots=True)
class InitRequest:
    """The request of ``schemactl init``, which sets up the working folder.

    Attributes:
        schemas: the schemas folder, absolute or from the working folder.
        parts: the other parts to set up.
        source: a folder of a dlt pipeline, or the address of a dataset or database, with the first schemas.
        name: the name for the schema of the source; None for its own name.
        settings: the project's settings file, if it has one.
        settings_table: what that file sets.
        editor_schemas: the texts of the JSON Schemas for editors, by their files.
    """

    schemas: SchemasFolder
    parts: ProjectParts
    source: str | None
    name: str | None
    settings: Path | None
    settings_table: Mapping[str, Any]
    editor_schemas: Mapping[str, str]


def default_parts(project: Path) -> ProjectParts:
    """Return the parts that fit the files of a project: git in a repository, CI and hooks if it uses them already."""
    top = repository_top(project)
    has_editor_settings = any((folder / ".vscode").is_dir() for folder in (project, top or project))
    if top is None:
        return ProjectParts(git=False, ci=None, pre_commit=False, editor=has_editor_settings)
    addresses = " ".join(remote_addresses(top))
    ci: CiSystem | None = None
    if (top / ".github").is_dir() or "github.com" in addresses:
        ci = "github"
    elif (top / CI_FILES["gitlab"]).exists() or "gitlab" in addresses:
        ci = "gitlab"
    return ProjectParts(True, ci, (top / PRE_COMMIT_FILE).exists(), has_editor_settings)


def init_project(request: InitRequest) -> Initialized:
    """Set up the working folder as a project; read the schemas of the source first, because this can fail."""
    project = Path.cwd()
    if request.name is not None:
        check_name(request.name)
    files = _FileWriter(project)
    source = _read_source(request) if request.source is not None else None
    folder = source.folder if source else request.schemas
    for schema in source.schemas if source else ():
        files.add_schema(folder, schema)
    if not folder.names:
        for directory in dict.fromkeys((folder.imports, folder.exports)):
            files.write(directory, ProjectFile(".gitkeep", ""))
    top = repository_top(project)
    if request.parts.git and top is None:
        create_repository(project)
        top = project
    if request.settings is None:
        files.write(project, settings_file(_folder_settings(folder, project)))
    else:
        folder_settings = _folder_settings(folder, request.settings.parent)
        is_complete = folder_settings.items() <= request.settings_table.items()
        files.leave(request.settings, "" if is_complete else settings_file(folder_settings).addition)
    if request.parts.git:
        assert top is not None
        files.note_changes(top, [*install_diff_driver(folder), *install_merge_driver(folder)])
    _write_checks(request.parts, files, folder, top or project)
    if request.parts.editor:
        _write_editor_files(request, files, folder)
    return Initialized(
        tuple(files.created),
        tuple(files.unchanged),
        folder.names,
        redact(request.source) if request.source else None,
        _next_commands(folder.names, source),
    )


class _FileWriter:
    """Create the missing files of a project, and note existing files."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self.created: list[str] = []
        self.unchanged: list[UnchangedFile] = []

    def write(self, folder: Path, file: ProjectFile) -> None:
        """Create a file below a folder unless it exists."""
        path = folder / file.path
        if path.exists() or path.is_symlink():
            self.leave(path, file.addition, file.text)
            return
        replace_file(path, file.text)
        self.created.append(self._shown(path))

    def note_changes(self, folder: Path, paths: Sequence[str]) -> None:
        """Note files that were created, or got more lines; paths start from a folder."""
        self.created += dict.fromkeys(self._shown(folder / path) for path in paths)

    def leave(self, path: Path, addition: str, text: str = "") -> None:
        """Note a file that exists, and the lines that it lacks, unless it has them or is the same as a new one."""
        existing_text = read_text(path).replace("\r\n", "\n") if addition else ""
        is_complete = addition.strip() in existing_text or existing_text == text
        self.unchanged.append(UnchangedFile(self._shown(path), "" if is_complete else addition))

    def add_schema(self, folder: SchemasFolder, schema: Schema) -> None:
        """Save a schema of the source, unless the folder has a schema with its name."""
        if schema.name in folder.names:
            names = (f"{schema.name}.schema.{ending}" for ending in ("yaml", "yml", "json"))
            paths = (directory / name for name in names for directory in (folder.imports, folder.exports))
            self.unchanged += (UnchangedFile(self._shown(path), "") for path in paths if path.exists())
            return
        self.created += map(self._shown, map(Path, import_schema(schema, folder).written))

    def _shown(self, path: Path) -> str:
        return Path(os.path.relpath(path, self._project)).as_posix()


@dataclass(frozen=True, slots=True)
class _Source:
    """The source of a project's first schemas.

    Attributes:
        folder: the schemas folder of the project.
        schemas: the schemas to save in it; empty if the folder belongs to the pipeline.
        name: the first schema.
        address: the address of a database that can be migrated, without a password; None for other sources.
        has_ledger: whether the address has a ledger that names the schemas.
    """

    folder: SchemasFolder
    schemas: tuple[Schema, ...]
    name: str
    address: str | None = None
    has_ledger: bool = False


def _read_source(request: InitRequest) -> _Source:
    """Read the schemas of the source; if a pipeline lies in the project, keep its files in its folder."""
    assert request.source is not None
    source, name, path = request.source, request.name, Path(request.source)
    address = None if path.exists() else find_address(source)
    if address and address[0] == "dlt":
        schemas = _select(tuple(referred.schema for referred in find_schemas(source, request.schemas)), request)
        return _Source(request.schemas, schemas, schemas[0].name)
    if address:
        database_schemas = tuple(document.schema for _, document in read_source(source, None, request.schemas))
        has_ledger = all(schema.name != UNNAMED for schema in database_schemas)
        if has_ledger:
            schemas = _select(database_schemas, request)
        else:
            schemas = tuple(replace(schema, name=name or _database_name(source)) for schema in database_schemas)
        return _Source(request.schemas, schemas, schemas[0].name, redact(source), has_ledger)
    if not path.is_dir():
        hint = "a folder of a dlt pipeline, or an address such as `duckdb:///data.duckdb` or `dlt:NAME?dataset=DATASET`"
        raise InputError(f"`{redact(source)}` is not a folder", hint=hint)
    folder = _find_pipeline_folder(path)
    if folder is None:
        hint = 'give the pipeline `export_schema_path="schemas/export"` and run it, or name the dataset that it loads'
        raise InputError(f"`{source}` has no schema files of dlt", hint=hint)
    schemas = _select(tuple(effective.schema for effective in read_all_effective(folder)), request)
    is_working_folder = (folder.exports.parent / _PIPELINE_STATE).exists()
    if not is_working_folder and Path(os.path.normpath(folder.root.absolute())).is_relative_to(Path.cwd()):
        return _Source(folder, (), schemas[0].name)
    return _Source(request.schemas, schemas, schemas[0].name)


def _database_name(address: str) -> str:
    """Return a valid schema name for an address's dataset, file or database."""
    location = urlsplit(address)
    names = (*parse_qs(location.query).get("dataset", ()), PurePath(location.path).stem)
    name = load_naming(DEFAULT_NAMING).normalize_identifier(names[0]) if names[0] else ""
    if not is_name(name):
        raise InputError(f"`{redact(address)}` does not name a schema", hint="name it: `--name NAME`")
    return name


def _find_pipeline_folder(path: Path) -> SchemasFolder | None:
    """Return the schemas folder in a folder of a dlt pipeline: its own one, or that of its working folder."""
    if path.name in ("import", "export") and list_names(path):
        return SchemasFolder.at(path.parent)
    for directory in (path, path / "schemas"):
        if (folder := SchemasFolder.at(directory)).names:
            return folder
        if list_names(directory):
            return SchemasFolder.at(directory, exports=directory)
    return None


def _select(schemas: tuple[Schema, ...], request: InitRequest) -> tuple[Schema, ...]:
    """Return all schemas of a source, or the schema that the request names."""
    selection = tuple(schema for schema in schemas if request.name in (None, schema.name))
    if not selection:
        names = ", ".join(schema.name for schema in schemas)
        raise InputError(f"`{redact(request.source or '')}` has no schema `{request.name}`", hint=f"it has {names}")
    return selection


def _folder_settings(folder: SchemasFolder, project: Path) -> dict[str, str]:
    """Return the settings that name a schemas folder, from the project."""

    def relative(path: Path) -> str:
        return Path(os.path.relpath(path, project)).as_posix()

    if folder.is_usual:
        return {"schemas": relative(folder.root)}
    return {"import-schemas": relative(folder.imports), "export-schemas": relative(folder.exports)}


def _write_checks(parts: ProjectParts, files: _FileWriter, folder: SchemasFolder, top: Path) -> None:
    """Write the files of CI and of pre-commit, which belong to the top of a repository."""
    project = Path(os.path.relpath(Path.cwd(), top)).as_posix()
    folders = _folder_settings(folder, top)
    if parts.ci is not None:
        files.write(top, ci_file(parts.ci, project, tuple(folders.values()), redact(pinned_requirement())))
    if parts.pre_commit:
        options = "" if project == "." else " ".join(f"--{key} {quote(value)}" for key, value in folders.items())
        files.write(top, pre_commit_file(options))


def _write_editor_files(request: InitRequest, files: _FileWriter, folder: SchemasFolder) -> None:
    """Write the JSON Schemas and the settings of VS Code; files that ``init`` has created name their JSON Schema."""
    project = Path.cwd()
    new_files = [Path(path) for path in files.created]
    for path, text in request.editor_schemas.items():
        files.write(project, ProjectFile(path, text))
    directories = dict.fromkeys((folder.imports, folder.exports))
    files.write(project, editor_file([Path(os.path.relpath(path, project)).as_posix() for path in directories]))
    for file in new_files:
        if file.name == SETTINGS_FILE:
            name_schema(file, project / SETTINGS_SCHEMA)
        elif file.suffix in (".yaml", ".yml") and file.absolute().parent == folder.imports.absolute():
            name_schema(file, project / SCHEMA_FILE_SCHEMA)


def _next_commands(names: tuple[str, ...], source: _Source | None) -> tuple[str, ...]:
    """Return three commands for the user's next steps."""
    if not names:
        return (
            "schemactl infer orders.jsonl --name shop",
            "schemactl show shop",
            "schemactl normalize orders.jsonl --name shop --to duckdb:///shop.duckdb",
        )
    name = source.name if source else names[0]
    if source is None or source.address is None:
        return ("schemactl list", f"schemactl show {name}", "schemactl diff")
    status = f"schemactl migrate status {name} --to {quote(source.address)}"
    if source.has_ledger:
        return ("schemactl list", f"schemactl show {name}", status)
    return (f"schemactl show {name}", f"schemactl migrate baseline {name} --to {quote(source.address)}", status)
