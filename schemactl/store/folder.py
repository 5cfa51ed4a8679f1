"""The folder that a project keeps its schemas in: ``import/`` is the user's, ``export/`` is schemactl's."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from schemactl.errors import InputError, backquoted, did_you_mean
from schemactl.schema.templates import check_name
from schemactl.store.links import check_link, real_path, refuse_links
from schemactl.store.text import read_text

ENDINGS = ("yaml", "yml", "json")

_SCHEMA_FILE = re.compile(rf"(?P<name>[^.]+)\.schema\.(?:{'|'.join(ENDINGS)})")


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file with the text that it held when it was read."""

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class SchemasFolder:
    """The folders of the schema files; ``imports`` and ``exports`` may be one folder (docs/dlt.md §3).

    Attributes:
        root: the folder that is locked while a command writes; it follows from ``exports``.
    """

    root: Path
    imports: Path
    exports: Path

    @classmethod
    def at(
        cls, schemas: SchemasPlace, imports: str | Path | None = None, exports: str | Path | None = None
    ) -> SchemasFolder:
        """Return ``import/`` and ``export/`` below a folder, or other folders in their places."""
        if isinstance(schemas, SchemasFolder):
            return schemas
        root = Path(schemas)
        imported, exported = Path(imports or root / "import"), Path(exports or root / "export")
        # Calls that name the same export folder in different ways share one lock.
        return cls(exported.parent if exported.name == "export" else exported, imported, exported)

    @property
    def shown(self) -> str:
        """The folders in messages: one name for the usual layout and for a shared folder."""
        if self.is_usual or self.imports == self.exports:
            return f"`{self.root if self.is_usual else self.exports}`"
        return f"`{self.imports}` and `{self.exports}`"

    @property
    def is_usual(self) -> bool:
        """Return whether the folders are ``import/`` and ``export/`` below ``root``."""
        return (self.imports, self.exports) == (self.root / "import", self.root / "export")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the schemas in both folders, sorted."""
        return tuple(sorted({*list_names(self.imports), *list_names(self.exports)}))

    @property
    def is_shared(self) -> bool:
        """Return whether import and export are one folder, links followed."""
        return real_path(self.imports) == real_path(self.exports)


SchemasPlace: TypeAlias = str | Path | SchemasFolder
"""The place of a project's schemas: a folder of the usual layout, or import and export folders."""


def schema_name(path: Path) -> str | None:
    """Return NAME of a file called ``NAME.schema.yaml``, ``.yml`` or ``.json``; None for other files.

    A revision may precede the path, as in ``HEAD:shop.schema.yaml``.
    """
    match = _SCHEMA_FILE.fullmatch(path.name.rpartition(":")[2])
    return match["name"] if match else None


def list_names(folder: Path) -> tuple[str, ...]:
    """Return the names of the schemas in one folder, sorted; empty if it does not exist."""
    # On disk a colon is part of the name, so `a:b.schema.yaml` is no schema `b`.
    matches = (_SCHEMA_FILE.fullmatch(path.name) for path in _entries(folder))
    return tuple(sorted({match["name"] for match in matches if match}))


def find_file(folder: Path, name: str) -> Path | None:
    """Return the file of schema ``name`` in one folder, if it exists."""
    check_name(name)
    paths = [folder / f"{name}.schema.{ending}" for ending in ENDINGS]
    existing_paths = [path for path in paths if path.exists() or path.is_symlink()]
    if len(existing_paths) > 1:
        files = backquoted(path.name for path in existing_paths)
        raise InputError(f"`{folder}` contains schema `{name}` more than once: {files}", hint="delete the duplicates")
    return existing_paths[0] if existing_paths else None


def read_schema(folder: Path, name: str) -> TextFile | None:
    """Return the file of schema ``name`` with its text, if it exists."""
    path = find_file(folder, name)
    return TextFile(path, read_text(path)) if path else None


def refuse_linked_schemas(folder: SchemasFolder) -> None:
    """Refuse a folder if the folder, a parent or a schema file is a link of the repository."""
    for directory in (folder.root, folder.imports, folder.exports):
        refuse_links(directory)
        for path in _entries(directory):
            if schema_name(path):
                refuse_links(path)


def new_file(folder: Path, name: str, like: Path | None = None) -> Path:
    """Return the path for a new file of schema ``name``; it takes the ending of ``like``, else ``yaml``."""
    check_name(name)
    return folder / f"{name}.schema{like.suffix if like else '.yaml'}"


CREATE_SCHEMA: Final = (
    "create a schema with `schemactl infer SOURCE --name NAME`, "
    'or let your dlt pipeline write it: `dlt.pipeline(..., export_schema_path="schemas/export")`'
)
"""The hint for a folder without schemas."""


def missing_schema(folder: SchemasFolder, name: str) -> InputError:
    """Return the error for a schema that the export folder lacks, with the nearest way out as its hint."""
    message = f"there is no schema `{name}` in `{folder.exports}`"
    if name in list_names(folder.imports):
        return InputError(message, hint=f"the import folder has it: `import:{name}`")
    names = list_names(folder.exports)
    names_hint = f"known: {', '.join(names)}" if names else CREATE_SCHEMA
    return InputError(message, hint=did_you_mean(name, names) or names_hint)


def no_schema(searched_folders: str) -> InputError:
    """Return the error for folders without any schema."""
    endings = ", ".join(f"`NAME.schema.{ending}`" for ending in ENDINGS)
    hint = f"schema files are named {endings}; {CREATE_SCHEMA}"
    return InputError(f"there is no schema in {searched_folders}", hint=hint)


def _entries(folder: Path) -> tuple[Path, ...]:
    check_link(folder)
    try:
        return tuple(folder.iterdir())
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise InputError(f"cannot list `{folder}`: {error.strerror or error}") from error
