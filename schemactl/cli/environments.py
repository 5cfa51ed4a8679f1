"""Resolves named destinations of the settings, ``[destinations.prod]``, in arguments that take an address.

A settings file may come with a stranger's pull request, so a file of the repository cannot name a server: such an
address comes from an environment variable or from the user's own file. Messages show the value of a variable only if it
is an address, and redact it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from schemactl.cli import settings
from schemactl.cli.declarations import VARIABLE_PREFIX, option_specs
from schemactl.cli.options import CommonOptions
from schemactl.cli.settings import DESTINATIONS, Call, SettingsFile, Surroundings, configured_value, read_flag
from schemactl.errors import InputError

_Resolved = TypeVar("_Resolved", bound=CommonOptions)

_NAME: Final = re.compile(r"\w[\w-]*")
"""Names that can be used as a REF; ``git:main`` and ``-`` have another meaning."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A destination that settings name.

    Attributes:
        is_protected: whether the user has to type its name before data is lost there.
        options: settings of commands for this destination.
    """

    name: str
    address: str
    is_protected: bool
    options: Mapping[str, Any]


def environment_names(surroundings: Surroundings) -> tuple[str, ...]:
    """Return the names of all destinations that settings name."""
    return tuple(dict.fromkeys(name for file in surroundings.files for name in file.table.get(DESTINATIONS, {})))


def find_environment(name: str, surroundings: Surroundings) -> Environment | None:
    """Return the destination of this name in the settings, if it has one."""
    for file in surroundings.files:
        table = file.table.get(DESTINATIONS, {}).get(name)
        if table is not None:
            settings_table = {str(key).replace("_", "-"): value for key, value in table.items()}
            options = {key: value for key, value in settings_table.items() if key not in settings.OF_DESTINATIONS}
            address, dataset = _address(name, settings_table, file, surroundings.environ), settings_table.get("dataset")
            if dataset is not None and not re.search(r"[?&]dataset=", address):
                address += f"{'&' if '?' in address else '?'}dataset={dataset}"
            is_protected = read_flag(settings_table.get("protected", False), "`protected`", file.locate(name))
            return Environment(name, address, is_protected, options)
    return None


def _address(name: str, settings_table: Mapping[str, Any], file: SettingsFile, environ: Mapping[str, str]) -> str:
    location = file.locate(name)
    address = settings_table.get("address")
    variable = str(settings_table.get("address-env") or f"{VARIABLE_PREFIX}TO_{re.sub('[^A-Z0-9]', '_', name.upper())}")
    if address is None:
        return settings.address_in(variable, environ, f"`{name}`", "a destination address", location)
    if not isinstance(address, str):
        raise InputError(f"the address of `{name}` must be a string", at=location)
    if file.path.name != settings.OWN_FILE_NAME and not settings.LOCAL_ADDRESS.fullmatch(address):
        message = f"the address of `{name}` names a server, which a repository file cannot set"
        hint = f'set the address in an environment variable: `address-env = "{variable}"`'
        raise InputError(message, at=location, hint=hint)
    return address


def at_environment(options: type[CommonOptions], call: Call) -> Call:
    """Return a call in which addresses replace the names of destinations.

    The options of the destination named by ``--to`` override the options of the command in files.
    """
    if not any(file.table.get(DESTINATIONS) for file in call.surroundings.files):
        return call
    addresses: dict[str, Any] = {}
    for spec in (spec for spec in option_specs(options) if spec.is_destination):
        value = configured_value(spec, call)
        environment = find_environment(value, call.surroundings) if isinstance(value, str) else None
        if environment is None:
            continue
        addresses[spec.name] = environment.address
        if spec.name == "to":
            destination = {"name": environment.name, "protected": environment.is_protected}
            table = {call.command: {**environment.options, "named-destination": [destination]}}
            file = SettingsFile(Path(f"[{DESTINATIONS}.{environment.name}]"), Path.cwd(), "", table)
            call = replace(call, surroundings=replace(call.surroundings, files=(file, *call.surroundings.files)))
    return replace(call, layers=(addresses, *call.layers)) if addresses else call


def at_references(options: _Resolved, surroundings: Surroundings) -> _Resolved:
    """Return the options of a command with the names of destinations among its REFs replaced by their addresses.

    A schema, file or folder with this name takes precedence: a stranger's settings cannot replace it.
    """
    names = {name for name in environment_names(surroundings) if _NAME.fullmatch(name)}
    if not names:
        return options

    schema_names = options.schemas_folder.names

    def address_of(reference: str) -> str:
        is_named = reference in names and reference not in schema_names and not Path(reference).exists()
        environment = find_environment(reference, surroundings) if is_named else None
        return environment.address if environment is not None else reference

    replaced_values: dict[str, Any] = {}
    for spec in (spec for spec in option_specs(type(options)) if spec.is_reference):
        value = spec.value_in(options)
        references = value if isinstance(value, list) else [value]
        if names.intersection(references):
            addresses = list(map(address_of, references))
            replaced_values[spec.name] = addresses if isinstance(value, list) else addresses[0]
    return replace(options, **replaced_values)
