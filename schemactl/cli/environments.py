"""Finds the destinations that settings name, ``[destinations.prod]``, where a command takes an address.

A settings file may come with a stranger's pull request. So a file of the repository can name no server: such an address
stands in a variable of the environment, or in the user's own file. What a variable holds is never shown but as an
address, redacted, and only where it is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from schemactl.cli import settings
from schemactl.cli.options import VARIABLE_PREFIX, CommonOptions, option_specs
from schemactl.cli.parsing import Stated
from schemactl.cli.settings import DESTINATIONS, SettingsFile, Surroundings, read_flag, stated_value
from schemactl.errors import InputError

_LOCAL: Final = re.compile(r"(?i:duckdb|sqlite|parquet|delta):/{0,4}[^:]*")
"""Addresses of files and folders of this machine: nothing is sent anywhere."""

_Resolved = TypeVar("_Resolved", bound=CommonOptions)

_NAME: Final = re.compile(r"\w[\w-]*")
"""Names that can stand for a REF: none that would mean something else, as `git:main` or `-`."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A destination that settings name.

    Attributes:
        is_protected: whether a person has to type its name before data is lost there.
        options: settings of commands that hold for it.
    """

    name: str
    address: str
    is_protected: bool
    options: Mapping[str, Any]


def environment_names(surroundings: Surroundings) -> tuple[str, ...]:
    """Return the names of all destinations that settings name."""
    return tuple(dict.fromkeys(name for file in surroundings.files for name in file.table.get(DESTINATIONS, {})))


def find_environment(name: str, surroundings: Surroundings) -> Environment | None:
    """Return the destination that settings name so; None where there is none."""
    for file in surroundings.files:
        table = file.table.get(DESTINATIONS, {}).get(name)
        if table is not None:
            stated = {str(key).replace("_", "-"): value for key, value in table.items()}
            options = {key: value for key, value in stated.items() if key not in settings.OF_DESTINATIONS}
            address, dataset = _address(name, stated, file, surroundings.environ), stated.get("dataset")
            if dataset is not None and not re.search(r"[?&]dataset=", address):
                address += f"{'&' if '?' in address else '?'}dataset={dataset}"
            is_protected = read_flag(stated.get("protected", False), "`protected`", file.locate(name))
            return Environment(name, address, is_protected, options)
    return None


def _address(name: str, stated: Mapping[str, Any], file: SettingsFile, environ: Mapping[str, str]) -> str:
    at = file.locate(name)
    written = stated.get("address")
    variable = str(stated.get("address-env") or f"{VARIABLE_PREFIX}TO_{re.sub('[^A-Z0-9]', '_', name.upper())}")
    if written is None:
        found = environ.get(variable)
        if not found:
            hint = f"`export {variable}=postgresql://USER@HOST/DATABASE`"
            raise InputError(f"the environment has no `{variable}`, the address of `{name}`", at=at, hint=hint)
        from schemactl.destinations import find_address

        if find_address(found) is None:
            # It may be a secret of another kind, that a file wants to see printed.
            raise InputError(f"what `{variable}` holds is not the address of a destination", at=at)
        return found
    if not isinstance(written, str):
        raise InputError(f"the address of `{name}` must be a text", at=at)
    if file.path.name != settings.OWN_FILE_NAME and not _LOCAL.fullmatch(written):
        message = f"the address of `{name}` names a server, and this file may be anybody's"
        raise InputError(message, at=at, hint=f'put the address into the environment: `address-env = "{variable}"`')
    return written


def at_environment(
    options: type[CommonOptions], command: str, stated: tuple[Stated, ...], surroundings: Surroundings
) -> tuple[tuple[Stated, ...], Surroundings]:
    """Return what is stated and the settings with the destinations that are named replaced by what they stand for.

    The options of the one that ``--to`` names go before those of the command in files.
    """
    if not any(file.table.get(DESTINATIONS) for file in surroundings.files):
        return stated, surroundings
    found: dict[str, Any] = {}
    for spec in (spec for spec in option_specs(options) if spec.is_destination):
        value = stated_value(spec, command, stated, surroundings)
        environment = find_environment(value, surroundings) if isinstance(value, str) else None
        if environment is None:
            continue
        found[spec.name] = environment.address
        if spec.name == "to":
            named = {"name": environment.name, "protected": environment.is_protected}
            table = {command: {**environment.options, "named-destination": [named]}}
            own = SettingsFile(Path(f"[{DESTINATIONS}.{environment.name}]"), Path.cwd(), "", table)
            surroundings = replace(surroundings, files=(own, *surroundings.files))
    return ((found, *stated) if found else stated), surroundings


def at_references(options: _Resolved, surroundings: Surroundings) -> _Resolved:
    """Return the options of a command with the names of destinations among its REFs replaced by their addresses.

    A schema, file or folder of the name goes before: a stranger's settings cannot put another thing in its place.
    """
    names = {each for each in environment_names(surroundings) if _NAME.fullmatch(each)}
    if not names:
        return options

    taken = options.schemas_folder.names

    def address_of(reference: str) -> str:
        is_named = reference in names and reference not in taken and not Path(reference).exists()
        found = find_environment(reference, surroundings) if is_named else None
        return found.address if found is not None else reference

    changed: dict[str, Any] = {}
    for spec in (spec for spec in option_specs(type(options)) if spec.is_reference):
        value = getattr(options, spec.name)
        stated = value if isinstance(value, list) else [value]
        if names.intersection(stated):
            found = list(map(address_of, stated))
            changed[spec.name] = found if isinstance(value, list) else found[0]
    return replace(options, **changed)
