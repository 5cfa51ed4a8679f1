"""What a folder of Parquet knows of its loads: dlt's versions and loads (docs/dlt.md §9.1), and our inputs."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from schemactl.destinations._catalogue import VERSIONS_TABLE
from schemactl.destinations._package import INPUTS_TABLE, LoadedInput, LoadPackage
from schemactl.destinations.parquet.journal import Listing
from schemactl.errors import DestinationError
from schemactl.schema.naming import naming_of
from schemactl.schema.templates import LOADS_TABLE
from schemactl.schema.types import ENGINE_VERSION, Schema

INIT: Final = "init"
INIT_TEXT: Final = '{"initial_version":2,"current_version":2}'
"""What dlt puts into a new dataset: the version of the layout."""

ENDING: Final = ".jsonl"

_VERSION_FILE: Final = re.compile(r"(?P<name>\w+?)__(?P<time>\d+(?:\.\d+)?)__(?P<hash>[^.]*).*")


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A schema that a dataset was loaded with.

    Attributes:
        time: when it was first, in seconds since 1970.
        safe_hash: its hash in hexadecimal digits.
        path: the file that holds it.
    """

    name: str
    time: float
    safe_hash: str
    path: Path

    def version_hash(self) -> str:
        """Return the schema's hash.

        Raises:
            DestinationError: the file is not one of dlt's.
        """
        return str(self.line()["version_hash"])

    def line(self) -> dict[str, Any]:
        """Return what dlt has written: the hash, the schema as JSON in a text ...

        Raises:
            DestinationError: the file is not one of dlt's.
        """
        return lines_of(self.path, "version_hash")[0]


def stored_versions(listing: Listing, folder: str = VERSIONS_TABLE) -> list[StoredVersion]:
    """Return the schemas that dlt keeps there, the last one first."""
    found = ((_VERSION_FILE.fullmatch(name), path) for name, path in listing.of(folder).items())
    versions = [
        StoredVersion(match["name"], float(match["time"]), match["hash"], path) for match, path in found if match
    ]
    return sorted(versions, key=lambda each: each.time, reverse=True)


def load_ids(listing: Listing, schema_name: str, folder: str = LOADS_TABLE) -> frozenset[str]:
    """Return the ids of completed loads under a schema."""
    head = f"{schema_name}__"
    return frozenset(
        name.removeprefix(head).removesuffix(ENDING)
        for name in listing.of(folder)
        if name.startswith(head) and name.endswith(ENDING)
    )


def loaded_inputs(listing: Listing, schema_name: str) -> Mapping[str, LoadedInput]:
    """Return the files that were loaded, by path, the last load of each.

    Raises:
        DestinationError: a file is not what we write there.
    """
    found = [
        (held["inserted_at"], held["path"], held["bytes"], held["modified"])
        for name, path in listing.of(INPUTS_TABLE).items()
        if name.startswith(f"{schema_name}__")
        for held in lines_of(path, "path")
        if held["schema_name"] == schema_name
    ]
    return {path: LoadedInput(path, size, datetime.fromisoformat(at)) for _, path, size, at in sorted(found)}


def system_names(schema: Schema) -> tuple[str, str]:
    """Return the names of dlt's tables of versions and of loads under the schema's naming convention."""
    naming = naming_of(schema)
    return naming.normalize_tables_path(VERSIONS_TABLE), naming.normalize_tables_path(LOADS_TABLE)


def new_files(listing: Listing, package: LoadPackage) -> Iterator[tuple[str, str]]:
    """Yield what a load writes down, as paths in the dataset and texts; what makes it complete comes last.

    Args:
        listing: the dataset, without a load that is under way.
        package: the load.
    """
    schema, at = package.schema, package.inserted_at.isoformat()
    versions, loads = system_names(schema)
    if INIT not in listing.files:
        yield INIT, INIT_TEXT
    safe_hash = path_safe(schema.version_hash)
    if all(each.safe_hash != safe_hash for each in stored_versions(listing, versions)):
        yield version_file(listing, schema, package.inserted_at)
    if package.inputs:
        lines = (_input_text(package, each) for each in package.inputs)
        yield f"{INPUTS_TABLE}/{schema.name}__{package.load_id}{ENDING}", "\n".join(lines)
    yield f"{loads}/{schema.name}__{package.load_id}{ENDING}", _load_text(package, at)


def path_safe(version_hash: str) -> str:
    """Return a schema's hash as dlt has it in names of files."""
    return base64.b64decode(version_hash).hex()


def version_file(listing: Listing, schema: Schema, at: datetime) -> tuple[str, str]:
    """Return the file that makes a schema the current one, as its path in the dataset and its text.

    dlt takes the schema with the latest time for the current one, whatever the clock says.
    """
    versions, _ = system_names(schema)
    latest = max((each.time for each in stored_versions(listing, versions)), default=0.0)
    time = max(at.timestamp(), latest + 1e-6)
    name = f"{versions}/{schema.name}__{time:.6f}__{path_safe(schema.version_hash)}{ENDING}"
    return name, _version_text(schema, at.isoformat())


def _version_text(schema: Schema, at: str) -> str:
    return _json(
        version_hash=schema.version_hash,
        schema_name=schema.name,
        version=schema.version,
        engine_version=ENGINE_VERSION,
        inserted_at=at,
        schema=json.dumps(schema.to_dict(), ensure_ascii=False, separators=(",", ":")),
    )


def _load_text(package: LoadPackage, at: str) -> str:
    schema = package.schema
    return _json(
        load_id=package.load_id,
        schema_name=schema.name,
        status=0,
        inserted_at=at,
        schema_version_hash=schema.version_hash,
    )


def _input_text(package: LoadPackage, each: LoadedInput) -> str:
    return _json(
        load_id=package.load_id,
        schema_name=package.schema.name,
        inserted_at=package.inserted_at.isoformat(),
        path=each.path,
        bytes=each.bytes,
        modified=each.modified.isoformat(),
    )


def _json(**held: Any) -> str:
    return json.dumps(held, ensure_ascii=False, separators=(",", ":"))


def lines_of(path: Path, key: str) -> list[dict[str, Any]]:
    """Return the objects in a file of JSON lines.

    Raises:
        DestinationError: it cannot be read, holds none, or one without ``key``.
    """
    try:
        held = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
        if not held or not all(key in each for each in held):
            raise ValueError(f"it lacks `{key}`")
        return held
    except (OSError, ValueError, TypeError) as error:
        raise DestinationError(f"`{path}` is not what belongs there: {error}") from error
