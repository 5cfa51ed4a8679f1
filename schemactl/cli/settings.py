"""Finds values of options: on the command line, in the environment, in a settings file, in the defaults.

The file is the nearest one upward from the working folder: ``schemactl.toml``, or a ``pyproject.toml`` that
has a table ``[tool.schemactl]``. Files further up are not read. Other settings are in the user's own file:
``schemactl/config.toml`` below ``XDG_CONFIG_HOME``, which is ``~/.config`` by default. The options
of a command are in a table of its name:

    [tool.schemactl]
    schemas = "contracts"

    [tool.schemactl.infer]
    sample = "10%"
"""

from __future__ import annotations

import difflib
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeVar

from schemactl.cli.declarations import (
    VARIABLE_PREFIX,
    OptionSpec,
    OptionValues,
    SettingsTable,
    option_specs,
    table_specs,
)
from schemactl.cli.removed import REMOVED_OPTIONS
from schemactl.errors import CommandWarning, InputError, Location, did_you_mean, nearest_or_all
from schemactl.store.cache_folder import VARIABLE as CACHE_VARIABLE
from schemactl.store.text import read_text

Options = TypeVar("Options")

FILE_NAME = "schemactl.toml"
PROJECT_FILE_NAME = "pyproject.toml"
OWN_FILE_NAME = "config.toml"

DESTINATIONS = "destinations"
"""The table whose tables name destinations."""
OF_DESTINATIONS = ("address", "address-env", "dataset", "protected")
"""Their keys; a destination can also contain settings of commands."""
LOCAL_ADDRESS: Final = re.compile(r"(?i:duckdb|sqlite|parquet|delta):/{0,4}[^:]*")
"""Addresses of files and folders of this machine: nothing is sent anywhere."""
TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off"})

MAX_BYTES: Final = 1024 * 1024
"""The longest settings file: room for thousands of silences, and for the settings of other tools."""
MAX_KEY_PARTS: Final = 64
"""The most parts of a dotted key: tomllib needs the square of their number in memory."""
_KEY_PART: Final = r"""(?>(?<![\w-])[\w-]++|(?<!\\)"(?>[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_DEEP_KEY: Final = re.compile(rf"{_KEY_PART}(?>[ \t]*+\.[ \t]*+{_KEY_PART}){{{MAX_KEY_PARTS}}}")
_HEADER_PARTS: Final = re.compile(_KEY_PART)
_FIRST_PART: Final = re.compile(rf"({_KEY_PART})[ \t]*+[=.]")


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A settings file.

    Attributes:
        path: the file; for a file of a revision, `REV:PATH`.
        folder: the base of its relative paths.
        table: the settings of schemactl in it.
    """

    path: Path
    folder: Path
    text: str = ""
    table: Mapping[str, Any] = field(default_factory=dict)

    def locate(self, key: str) -> Location:
        """Return the place of a key: the first line that sets such a key, since tomllib keeps no places."""
        return self.places(key)[0]

    def places(self, key: str) -> list[Location]:
        """Return the locations of all lines that set a key; the file itself if no line sets it."""
        path = shown_path(self.path)
        lines = _lines_by_key(self.text).get(key.replace("_", "-"), ())
        return [Location(path, line) for line in lines] or [Location(path)]


@lru_cache(maxsize=4)
def _lines_by_key(text: str) -> Mapping[str, Sequence[int]]:
    """Return the numbers of the lines of a TOML text that name a key, in a header or at their start, by the key.

    Keys have hyphens for underscores. Each line is read once, because a hostile text could make other algorithms slow.
    """
    lines_by_key: dict[str, list[int]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        start = line.lstrip()
        first = _FIRST_PART.match(start)
        words = _HEADER_PARTS.findall(start.partition("]")[0]) if start.startswith("[") else [first[1]] if first else []
        for key in dict.fromkeys(word.strip("\"'").replace("_", "-") for word in words):
            lines_by_key.setdefault(key, []).append(number)
    return lines_by_key


def shown_path(path: Path) -> str:
    """Return how messages call a settings file: from the working folder, where that or one above holds it."""
    working_folder = Path.cwd()
    return os.path.relpath(path) if path.parent in (working_folder, *working_folder.parents) else str(path)


@dataclass(frozen=True, slots=True)
class _Value:
    """A value and its origin, as shown to the user.

    Attributes:
        distance: the distance from the call: 0 for the command line, 1 for the environment, more for files.
    """

    value: Any
    origin: str
    at: Location | None = None
    distance: int = 0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The surroundings of a command: the variables, and the settings files, strongest first."""

    environ: Mapping[str, str]
    files: tuple[SettingsFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a command.

    Attributes:
        command: the name of its table in settings files.
        layers: the option values of its command line, nearest first.
    """

    command: str
    layers: tuple[OptionValues, ...]
    surroundings: Surroundings


def find_surroundings() -> Surroundings:
    """Return this process's environment and the settings files that hold for its working folder."""
    return Surroundings(os.environ, find_files(_working_folder()))


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise InputError("the working folder was removed", hint="use an existing folder") from None


def resolve(options: type[Options], call: Call) -> Options:
    """Return the options with every value filled in.

    The first source that sets a value decides: the parts of the command line in the given order, the environment, the
    command's table of a file, the file, the default. Lists are concatenated, weakest source first.
    """
    values: dict[str, Any] = {}
    working_folder = _working_folder()
    specs = {spec.name: spec for spec in option_specs(options)}
    for spec in specs.values():
        if spec.setting.in_file_only:
            files = call.surroundings.files
            values[spec.name] = [table for file in files for table in _tables(spec, call.command, file)]
            continue
        candidates = _applicable_values(spec, specs, call)
        if spec.kind is list:
            items = [item for candidate in reversed(candidates) for item in _convert(spec, candidate)]
            values[spec.name] = items or [*spec.default]
        elif candidates:
            values[spec.name] = _convert(spec, candidates[0])
        else:
            values[spec.name] = _find_folder(spec, working_folder) if spec.setting.found_by else spec.default
    return options(**values)


def configured_value(spec: OptionSpec, call: Call) -> Any:
    """Return an option's configured value, without its default."""
    nearest = next(_configured_values(spec, call), None)
    return nearest.value if nearest is not None else None


def find_place(message: str, options: type[Any], call: Call) -> Location | None:
    """Return the place in a settings file of the value that a message names, if it is from a file."""
    specs = {spec.name: spec for spec in option_specs(options)}
    for spec in specs.values():
        if spec.setting.in_file_only:
            continue  # a table; errors in it know their lines
        candidates = _applicable_values(spec, specs, call)
        for candidate in candidates if spec.kind is list else candidates[:1]:
            items = _convert(spec, candidate) if spec.kind is list else (setting_text(candidate.value),)
            # For a pair, `KEY=VALUE`, a message names the key or the value.
            texts = (text for item in items for text in (item, *item.split("=", 1)))
            if candidate.at is not None and any(f"`{text}`" in message for text in texts):
                return candidate.at
    return None


_OTHER_VARIABLES: Final = frozenset(
    (CACHE_VARIABLE, *(f"{VARIABLE_PREFIX}{name}" for name in ("COMPLETE", "DEBUG", "PROGRESS_SECONDS")))
)
"""The variables that are no options."""


def warn_of_misspelt(
    environ: Mapping[str, str], options: type[Any], commands: Callable[[], Mapping[str, type[Any]]]
) -> None:
    """Warn of misspelled variables: unknown names that resemble a variable of schemactl."""
    command_variables = {spec.variable for spec in option_specs(options)} | _OTHER_VARIABLES
    # Variables of any name hold the addresses of destinations.
    address_prefix = f"{VARIABLE_PREFIX}TO_"
    names = [name for name in environ if name.startswith(VARIABLE_PREFIX) and not name.startswith(address_prefix)]
    if command_variables.issuperset(names):
        return
    known_variables = {spec.variable for group in (options, *commands().values()) for spec in option_specs(group)}
    known_variables |= _OTHER_VARIABLES
    by_suffix = {name.removeprefix(VARIABLE_PREFIX): name for name in known_variables}
    for name in names:
        suffix = name.removeprefix(VARIABLE_PREFIX)
        if suffix not in by_suffix and (near := difflib.get_close_matches(suffix, by_suffix, n=1, cutoff=0.7)):
            message = f"`{name}` is not a variable of schemactl and was ignored: did you mean `{by_suffix[near[0]]}`?"
            warnings.warn(CommandWarning(message), stacklevel=2)


def warn_of_removed(surroundings: Surroundings) -> None:
    """Warn of variables and settings of removed options: they have no effect."""
    for name, hint in REMOVED_OPTIONS.items():
        variable = VARIABLE_PREFIX + name.upper().replace("-", "_")
        names = [f"`{variable}`"] if variable in surroundings.environ else []
        for file in surroundings.files:
            tables = (file.table, *file.table.values(), *file.table.get(DESTINATIONS, {}).values())
            keys = {key.replace("_", "-") for table in tables if isinstance(table, Mapping) for key in table}
            names += [f"{location}: `{name}`" for location in file.places(name) if name in keys]
        for removed in names:
            warnings.warn(CommandWarning(f"{removed} was removed and has no effect: {hint}"), stacklevel=2)


def _find_folder(spec: OptionSpec, working_folder: Path) -> Any:
    """Return the default of a folder option: the folder is looked for upward, as git looks for its own."""
    for folder in (working_folder, *working_folder.parents):
        candidate_folder = folder / spec.default
        if any((candidate_folder / name).is_dir() for name in spec.setting.found_by):
            return os.path.relpath(candidate_folder)
        if (folder / ".git").exists():
            break
    return spec.default


def _applicable_values(spec: OptionSpec, specs: Mapping[str, OptionSpec], call: Call) -> list[_Value]:
    """Return the values of an option, nearest first, without a file's if they need an option that is not set.

    ``specs``: all options of its command, by name.
    """
    values = list(_configured_values(spec, call))
    if spec.setting.gives_way_to is not None:
        nearest = next(_configured_values(specs[spec.setting.gives_way_to], call), None)
        values = [value for value in values if nearest is None or value.distance <= nearest.distance]
    required = [specs[name] for name in spec.setting.only_with if name in specs]
    if not required or any(configured_value(option, call) is not None for option in required):
        return values
    return [value for value in values if value.at is None]


def _configured_values(spec: OptionSpec, call: Call) -> Iterator[_Value]:
    for layer in call.layers:
        if layer.get(spec.name) is not None:
            yield _Value(layer[spec.name], f"`{spec.name.upper() if spec.is_argument else spec.words[0]}`")
    if spec.setting.in_environment and call.surroundings.environ.get(spec.variable):
        yield _Value(call.surroundings.environ[spec.variable], f"`{spec.variable}`", distance=1)
    if spec.setting.in_file:
        section, name = spec.setting.section or (None, spec.key)
        for distance, file in enumerate(call.surroundings.files, start=2):
            table = _command_table(section or call.command, file)
            for key, value in (*table.items(), *(() if section else file.table.items())):
                if key.replace("_", "-") == name:
                    if spec.setting.is_path and isinstance(value, str):
                        # Convert a path relative to the file to a path relative to the working folder.
                        path = Path(value).expanduser() if value.startswith("~/") else Path(value)
                        value = str(path) if path.is_absolute() else os.path.relpath(file.folder / path)
                    yield _Value(value, f"`{key}`", file.locate(key), distance)


def _tables(spec: OptionSpec, command: str, file: SettingsFile) -> list[SettingsTable]:
    parent = file.table if spec.setting.is_top_level else _command_table(command, file)
    tables = parent.get(spec.key, [])
    if spec.setting.is_top_level and isinstance(tables, dict):
        tables = [tables]  # `[readers.datasets]` without `[[readers]]`
    if not tables:
        return []
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        hint = f"write each item as a table `[[{spec.key}]]`" if spec.setting.is_top_level else None
        raise InputError(f"`{spec.key}` must be a list of tables", at=file.locate(spec.key), hint=hint)
    locations = file.places(spec.key)
    if len(locations) != len(tables):  # the tables are in one list
        locations = locations[:1] * len(tables)
    is_own = file.path.name == OWN_FILE_NAME
    return [
        SettingsTable(table, location, file.folder, is_own) for table, location in zip(tables, locations, strict=True)
    ]


def _command_table(command: str, file: SettingsFile) -> Mapping[str, Any]:
    """Return the settings of one command; an empty table if its name is the key of a list of tables."""
    table = file.table.get(command, {})
    return table if isinstance(table, Mapping) else {}


def _convert(spec: OptionSpec, candidate: _Value) -> Any:
    value = _converted(spec, candidate.value, candidate.origin, candidate.at)
    if spec.check is not None:
        try:
            for item in value if spec.kind is list else [value]:
                spec.check(item)
        except InputError as error:
            error.at = error.at or candidate.at
            raise
    return value


def _converted(spec: OptionSpec, value: Any, origin: str, location: Location | None) -> Any:
    if spec.kind is bool:
        return read_flag(value, origin, location)
    if spec.kind is list:
        match value:
            case dict():
                return [f"{key}={setting_text(item)}" for key, item in value.items()]
            case str() if location is None:
                return [item.strip() for item in value.split(",")]
            case list() | tuple() if all(isinstance(item, str) for item in value):
                return list(value)
            case _:
                raise InputError(f"{origin} must be a table or a list of strings", at=location)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise InputError(f"{origin} must be a string", at=location)
    if spec.setting.is_path and not isinstance(value, str):
        raise InputError(f"{origin} must be a path, in quotes", at=location)
    text = str(value)
    if spec.choices and text not in spec.choices:
        raise InputError(f"`{text}` is not a value of {origin}", at=location, hint=nearest_or_all(text, spec.choices))
    return text


def read_flag(value: Any, origin: str, location: Location | None) -> bool:
    """Return whether a value of settings or of the environment is true."""
    text = str(value).strip().lower()
    if text in TRUE or text in FALSE:
        return text in TRUE
    raise InputError(f"`{value}` is not a value of {origin}", at=location, hint="use `true` or `false`")


def address_in(
    variable: str, environ: Mapping[str, str], owner: str, kind: str, location: Location | None = None
) -> str:
    """Return the address in an environment variable; messages say whose address it is, and of which kind."""
    from schemactl.destinations import find_address

    address = environ.get(variable)
    if not address:
        message = f"environment variable `{variable}`, the address of {owner}, is not set"
        raise InputError(message, at=location, hint=f"`export {variable}=postgresql://USER@HOST/DATABASE`")
    if find_address(address) is None:
        # It may be a secret of another kind, that a file wants to see printed.
        raise InputError(f"`{variable}` is not {kind}", at=location)
    return address


def setting_text(value: Any) -> str:
    """Return a value of a settings file as a string, as the command line spells it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def find_files(folder: Path) -> tuple[SettingsFile, ...]:
    """Return the nearest settings file at or above ``folder``, and the user's own, if they exist."""
    return tuple(file for file in (find_file(folder), find_own_file()) if file)


def find_own_file() -> SettingsFile | None:
    """Return the user's own settings file, if it exists (XDG Base Directory Specification 0.8)."""
    config_home = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    try:
        folder = config_home if config_home.is_absolute() else Path.home() / ".config"
    except RuntimeError:  # a user without a home
        return None
    return read_file(folder / "schemactl" / OWN_FILE_NAME)


def find_file(folder: Path) -> SettingsFile | None:
    """Return the settings file nearest upward from ``folder``, if one exists."""
    return next(filter(None, map(read_file, file_paths(folder))), None)


def file_paths(folder: Path) -> Iterator[Path]:
    """Yield the possible paths of a settings file, the nearest folder first."""
    for parent in (folder, *folder.parents):
        yield from (parent / FILE_NAME, parent / PROJECT_FILE_NAME)


def read_file(path: Path) -> SettingsFile | None:
    """Return a settings file, None if it does not exist, or is a project file without settings of schemactl."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        pass  # reading it reports why
    if path.is_dir():
        return None
    return parse_file(read_text(Path(shown_path(path)), MAX_BYTES).removeprefix("\ufeff"), path, path.parent)


def parse_file(text: str, path: Path, folder: Path) -> SettingsFile | None:
    """Return a settings file of this text, None for a project file without settings of schemactl."""
    is_project = path.name.rpartition(":")[2] == PROJECT_FILE_NAME
    if is_project and "schemactl" not in text:
        return None
    document = _parse(text, path)
    ours = _subtable(_subtable(document, "tool", path), "schemactl", path)
    if not is_project:
        return SettingsFile(path, folder, text, {**{key: document[key] for key in document if key != "tool"}, **ours})
    return SettingsFile(path, folder, text, ours) if "schemactl" in document.get("tool", {}) else None


def _parse(text: str, path: Path) -> dict[str, Any]:
    import tomllib

    if deep_key := _DEEP_KEY.search(text):
        location = Location(shown_path(path), text.count("\n", 0, deep_key.start()) + 1)
        raise InputError(f"a key has more than {MAX_KEY_PARTS} parts", at=location)
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise InputError("this TOML is nested too deeply", at=Location(shown_path(path))) from error
    except ValueError as error:  # a TOMLDecodeError, or a number of more digits than Python reads
        message, _, position = str(error).partition(" (at ")
        line, column, *_ = (*re.findall(r"\d+", position), None, None)
        location = Location(shown_path(path), int(line) if line else None, int(column) if column else None)
        raise InputError(f"this is not TOML: {message.lower()}", at=location) from error


def _subtable(table: Mapping[str, Any], key: str, path: Path) -> Mapping[str, Any]:
    subtable = table.get(key, {})
    if not isinstance(subtable, Mapping):
        raise InputError(f"`{key}` must be a table", at=Location(shown_path(path)))
    return subtable


def check_keys(file: SettingsFile, commands: Mapping[str, type[Any]]) -> None:
    """Raise InputError if a file has an unknown key, or a key that its command lacks."""
    specs = [spec for options in commands.values() for spec in option_specs(options)]
    list_keys = {spec.key for spec in specs if spec.setting.is_top_level}
    keys_by_command = {name: tuple(spec.key for spec in table_specs(options)) for name, options in commands.items()}
    shared = sorted(list_keys.union(*keys_by_command.values()))
    keys_of_destinations = [key for name in ("migrate", "normalize") for key in keys_by_command.get(name, ())]
    sections: dict[str, tuple[str, ...]] = {}
    for section, key in sorted({spec.setting.section for spec in specs if spec.setting.section}):
        sections[section] = (*sections.get(section, ()), key)
    keys_by_table = {**sections, **keys_by_command}
    for key, value in file.table.items():
        if key in list_keys:
            continue  # its reader checks the tables
        if key == DESTINATIONS:
            for name, destination in _subtable({key: value}, key, file.path).items():
                for inner_key in _subtable({name: destination}, name, file.path):
                    _check_key(inner_key, f"{key}.{name}.", (*OF_DESTINATIONS, *keys_of_destinations), file, {})
        elif key in keys_by_table:
            for inner_key in _subtable({key: value}, key, file.path):
                _check_key(inner_key, f"{key}.", keys_by_table[key], file, {} if key in sections else sections)
        else:
            _check_key(key, "", (*shared, *keys_by_table), file, sections)


def _check_key(
    key: str, prefix: str, known_keys: tuple[str, ...], file: SettingsFile, sections: Mapping[str, tuple[str, ...]]
) -> None:
    """Raise InputError if a key is unknown; the hint also suggests keys of ``sections``."""
    name = key.replace("_", "-")
    if name in known_keys or name in REMOVED_OPTIONS:
        return
    sectioned = {word: f"{word}` in `[{section}]" for section, keys in sections.items() for word in keys}
    hint = did_you_mean(name, known_keys) or did_you_mean(name, sectioned, sectioned.__getitem__)
    hint = hint or nearest_or_all(name, known_keys)
    raise InputError(f"there is no setting `{prefix}{key}`", at=file.locate(key), hint=hint)
