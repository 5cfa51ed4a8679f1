"""Finds what the command line leaves open: in the environment, in a settings file, in the options' defaults.

The file is the nearest one upward from the working folder: ``schemactl.toml``, or a ``pyproject.toml`` that
has a table ``[tool.schemactl]``. Files further up are not read. What it leaves open the user's own file says:
``schemactl/config.toml`` below ``XDG_CONFIG_HOME``, which is ``~/.config`` by default. The options
of a command stand in a table of its name:

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

from schemactl.cli.options import VARIABLE_PREFIX, CommonOptions, OptionSpec, StatedTable, option_specs
from schemactl.cli.parsing import Stated
from schemactl.cli.removed import REMOVED_OPTIONS
from schemactl.errors import CommandWarning, InputError, Location, did_you_mean, nearest_or_all
from schemactl.store.text import read_text

Options = TypeVar("Options", bound=CommonOptions)

FILE_NAME = "schemactl.toml"
PROJECT_FILE_NAME = "pyproject.toml"
OWN_FILE_NAME = "config.toml"

DESTINATIONS = "destinations"
"""The table whose tables name destinations."""
OF_DESTINATIONS = ("address", "address-env", "dataset", "protected")
"""Their keys, beside settings of commands."""
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
        path: the file; of a revision, `REV:PATH`.
        folder: what its relative paths start from.
        table: the part of it that is ours.
    """

    path: Path
    folder: Path
    text: str = ""
    table: Mapping[str, Any] = field(default_factory=dict)

    def locate(self, key: str) -> Location:
        """Return the place of a key: the first line that sets such a key, since tomllib keeps no places."""
        return self.places(key)[0]

    def places(self, key: str) -> list[Location]:
        """Return the places of all lines that set such a key, the file's own where none does."""
        shown = shown_path(self.path)
        lines = _lines_by_key(self.text).get(key.replace("_", "-"), ())
        return [Location(shown, line) for line in lines] or [Location(shown)]


@lru_cache(maxsize=4)
def _lines_by_key(text: str) -> Mapping[str, Sequence[int]]:
    """Return the numbers of the lines of a TOML text that name a key, in a header or at their start, by the key.

    Keys have hyphens for underscores. Each line is read once, whatever is in it: the text may be written to take long.
    """
    lines_by_key: dict[str, list[int]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        start = line.lstrip()
        first = _FIRST_PART.match(start)
        parts = _HEADER_PARTS.findall(start.partition("]")[0]) if start.startswith("[") else [first[1]] if first else []
        for key in dict.fromkeys(part.strip("\"'").replace("_", "-") for part in parts):
            lines_by_key.setdefault(key, []).append(number)
    return lines_by_key


def shown_path(path: Path) -> str:
    """Return how messages call a settings file: from the working folder, where that or one above holds it."""
    here = Path.cwd()
    return os.path.relpath(path) if path.parent in (here, *here.parents) else str(path)


@dataclass(frozen=True, slots=True)
class _Value:
    """A value with where it comes from, for a person.

    Attributes:
        distance: from the call: 0 for the command line, 1 for the environment, more for files.
    """

    value: Any
    origin: str
    at: Location | None = None
    distance: int = 0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The surroundings of a command: the variables, and the settings files, of which the first decides."""

    environ: Mapping[str, str]
    files: tuple[SettingsFile, ...] = ()


def find_surroundings() -> Surroundings:
    """Return this process's environment and the settings files that hold for its working folder."""
    return Surroundings(os.environ, find_files(_working_folder()))


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise InputError("the working folder was removed", hint="change to one that is there") from None


def resolve(options: type[Options], command: str, stated: tuple[Stated, ...], surroundings: Surroundings) -> Options:
    """Return the options with every value filled in.

    The first of these that states a value decides: the parts of the command line in the given order, the
    environment, the command's own table of a file, the file, the default. Lists add up, least first.

    Raises:
        InputError: a value is not one that its option can have.
    """
    values: dict[str, Any] = {}
    for spec in option_specs(options):
        found = _counting(spec, options, command, stated, surroundings)
        if spec.setting.in_file_only:
            values[spec.name] = [table for file in surroundings.files for table in _tables(spec, command, file)]
        elif spec.kind is list:
            items = [item for each in reversed(found) for item in _convert(spec, each)]
            values[spec.name] = items or [*spec.default]
        elif found:
            values[spec.name] = _convert(spec, found[0])
        else:
            values[spec.name] = _default(spec)
    return options(**values)


def stated_value(spec: OptionSpec, command: str, stated: tuple[Stated, ...], surroundings: Surroundings) -> Any:
    """Return what an option is stated to be, its default left out; None where nothing states it."""
    found = next(_found(spec, command, stated, surroundings), None)
    return found.value if found is not None else None


def find_place(
    message: str, options: type[CommonOptions], command: str, stated: tuple[Stated, ...], surroundings: Surroundings
) -> Location | None:
    """Return where a settings file states the value that a message complains of; None where no file does."""
    for spec in option_specs(options):
        if spec.setting.in_file_only:
            continue  # tables, which have places of their own
        values = _counting(spec, options, command, stated, surroundings)
        for found in values if spec.kind is list else values[:1]:
            items = _convert(spec, found) if spec.kind is list else (_plain(found.value),)
            # Of a pair, `KEY=VALUE`, a message names one of the two.
            parts = (part for item in items for part in (item, *item.split("=", 1)))
            if found.at is not None and any(f"`{part}`" in message for part in parts):
                return found.at
    return None


def warn_of_misspelt(
    environ: Mapping[str, str], options: type[CommonOptions], commands: Callable[[], Mapping[str, type[CommonOptions]]]
) -> None:
    """Warn of variables that are none of ours and look like one."""
    own = {spec.variable for spec in option_specs(options)}
    others = [name for name in environ if name.startswith(VARIABLE_PREFIX) and name not in own]
    others = [name for name in others if not name.startswith(f"{VARIABLE_PREFIX}TO_")]  # addresses of destinations
    if not others:
        return
    known = own | {spec.variable for each in commands().values() for spec in option_specs(each)}
    bare = {name.removeprefix(VARIABLE_PREFIX): name for name in known}
    for name in (name for name in others if name not in known):
        near = difflib.get_close_matches(name.removeprefix(VARIABLE_PREFIX), bare, n=1, cutoff=0.7)
        if near:
            message = f"`{name}` is not a variable of schemactl and was ignored: did you mean `{bare[near[0]]}`?"
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


def _default(spec: OptionSpec) -> Any:
    """Return an option's default; that of a folder is looked for upward, as git looks for its own."""
    holds = spec.setting.found_by
    here = _working_folder()
    for folder in (here, *here.parents) if holds else ():
        found = folder / spec.default
        if any((found / name).is_dir() for name in holds):
            return os.path.relpath(found)
        if (folder / ".git").exists():
            break
    return spec.default


def _counting(
    spec: OptionSpec,
    options: type[CommonOptions],
    command: str,
    stated: tuple[Stated, ...],
    surroundings: Surroundings,
) -> list[_Value]:
    """Return the values of an option, nearest first, without a file's where they need an option that is not stated."""
    found = list(_found(spec, command, stated, surroundings))
    if spec.setting.gives_way_to is not None:
        other = next(each for each in option_specs(options) if each.name == spec.setting.gives_way_to)
        nearest = next(_found(other, command, stated, surroundings), None)
        found = [each for each in found if nearest is None or each.distance <= nearest.distance]
    others = [each for each in option_specs(options) if each.name in spec.setting.only_with]
    if not others or any(stated_value(each, command, stated, surroundings) is not None for each in others):
        return found
    return [each for each in found if each.at is None]


def _found(spec: OptionSpec, command: str, stated: tuple[Stated, ...], surroundings: Surroundings) -> Iterator[_Value]:
    for part in stated:
        if part.get(spec.name) is not None:
            yield _Value(part[spec.name], f"`{spec.name.upper() if spec.is_argument else spec.words[0]}`")
    if spec.setting.in_environment and surroundings.environ.get(spec.variable):
        yield _Value(surroundings.environ[spec.variable], f"`{spec.variable}`", distance=1)
    if spec.setting.in_file:
        section, name = spec.setting.section or (None, spec.key)
        for distance, file in enumerate(surroundings.files, start=2):
            tables = (file.table.get(command, {}), file.table) if section is None else (file.table.get(section, {}),)
            for key, value in (item for table in tables for item in table.items()):
                if key.replace("_", "-") == name:
                    if spec.setting.is_path and isinstance(value, str):
                        # A path that is relative to the file becomes one that is relative to the working folder.
                        path = Path(value).expanduser() if value.startswith("~/") else Path(value)
                        value = str(path) if path.is_absolute() else os.path.relpath(file.folder / path)
                    yield _Value(value, f"`{key}`", file.locate(key), distance)


def _tables(spec: OptionSpec, command: str, file: SettingsFile) -> list[StatedTable]:
    stated = file.table.get(command, {}).get(spec.key, [])
    if not stated:
        return []
    if not isinstance(stated, list) or not all(isinstance(table, dict) for table in stated):
        raise InputError(f"`{spec.key}` must be a list of tables", at=file.locate(spec.key))
    places = file.places(spec.key)
    if len(places) != len(stated):  # the tables stand in one list
        places = places[:1] * len(stated)
    return [StatedTable(table, at) for table, at in zip(stated, places, strict=True)]


def _convert(spec: OptionSpec, found: _Value) -> Any:
    value = _converted(spec, found)
    if spec.check is not None:
        try:
            for each in value if spec.kind is list else [value]:
                spec.check(each)
        except InputError as error:
            error.at = error.at or found.at
            raise
    return value


def _converted(spec: OptionSpec, found: _Value) -> Any:
    if spec.kind is bool:
        return read_flag(found.value, found.origin, found.at)
    if spec.kind is list:
        match found.value:
            case dict():
                return [f"{key}={_plain(value)}" for key, value in found.value.items()]
            case str() if found.at is None:
                return [item.strip() for item in found.value.split(",")]
            case list() | tuple() if all(isinstance(item, str) for item in found.value):
                return list(found.value)
            case _:
                raise InputError(f"{found.origin} must be a table or a list of texts", at=found.at)
    if isinstance(found.value, bool) or not isinstance(found.value, (str, int, float)):
        raise InputError(f"{found.origin} must be a text", at=found.at)
    if spec.setting.is_path and not isinstance(found.value, str):
        raise InputError(f"{found.origin} must be a path, in quotes", at=found.at)
    value = str(found.value)
    if spec.choices and value not in spec.choices:
        hint = nearest_or_all(value, spec.choices)
        raise InputError(f"`{value}` is not a value of {found.origin}", at=found.at, hint=hint)
    return value


def read_flag(value: Any, origin: str, at: Location | None) -> bool:
    """Return whether a value of settings or of the environment says yes."""
    text = str(value)
    if is_true(text) or text.strip().lower() in FALSE:
        return is_true(text)
    raise InputError(f"`{value}` is not a value of {origin}", at=at, hint="known: `true`, `false`")


def is_true(text: str) -> bool:
    """Return whether a text says yes, in one of the spellings that environment variables use."""
    return text.strip().lower() in TRUE


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def find_files(folder: Path) -> tuple[SettingsFile, ...]:
    """Return the settings file nearest upward from ``folder`` and the user's own, as far as there are such."""
    return tuple(file for file in (find_file(folder), find_own_file()) if file)


def find_own_file() -> SettingsFile | None:
    """Return the user's own settings file, None where there is none (XDG Base Directory Specification 0.8)."""
    stated = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    try:
        folder = stated if stated.is_absolute() else Path.home() / ".config"
    except RuntimeError:  # a user without a home
        return None
    return read_file(folder / "schemactl" / OWN_FILE_NAME)


def find_file(folder: Path) -> SettingsFile | None:
    """Return the settings file nearest upward from ``folder``, None where there is none."""
    return next((file for path in file_paths(folder) if (file := read_file(path))), None)


def file_paths(folder: Path) -> Iterator[Path]:
    """Yield where a settings file may be, the nearest place first."""
    for each in (folder, *folder.parents):
        yield from (each / FILE_NAME, each / PROJECT_FILE_NAME)


def read_file(path: Path) -> SettingsFile | None:
    """Return a settings file, None where there is none, or it is of a project that states no settings of ours."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        pass  # reading it reports why
    if path.is_dir():
        return None
    text = read_text(Path(shown_path(path)), MAX_BYTES).removeprefix("\ufeff")
    return parse_file(text, path, path.parent)


def parse_file(text: str, path: Path, folder: Path) -> SettingsFile | None:
    """Return a settings file of this text, None where it is of a project that states no settings of ours."""
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

    if deep := _DEEP_KEY.search(text):
        at = Location(shown_path(path), text.count("\n", 0, deep.start()) + 1)
        raise InputError(f"a key has more than {MAX_KEY_PARTS} parts", at=at)
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise InputError("this TOML is nested too deeply", at=Location(shown_path(path))) from error
    except ValueError as error:  # a TOMLDecodeError, or a number of more digits than Python reads
        message, _, place = str(error).partition(" (at ")
        line, column, *_ = (*re.findall(r"\d+", place), None, None)
        at = Location(shown_path(path), int(line) if line else None, int(column) if column else None)
        raise InputError(f"this is not TOML: {message.lower()}", at=at) from error


def _subtable(table: Mapping[str, Any], key: str, path: Path) -> Mapping[str, Any]:
    found = table.get(key, {})
    if not isinstance(found, Mapping):
        raise InputError(f"`{key}` must be a table", at=Location(shown_path(path)))
    return found


def check_keys(file: SettingsFile, commands: Mapping[str, type[CommonOptions]]) -> None:
    """Raise InputError where a file has a key that is no setting, or no setting of its command."""
    per_command = {
        name: tuple(spec.key for spec in option_specs(options) if spec.setting.in_file and not spec.setting.section)
        for name, options in commands.items()
    }
    shared = sorted({key for keys in per_command.values() for key in keys})
    specs = (spec for options in commands.values() for spec in option_specs(options))
    sections: dict[str, tuple[str, ...]] = {}
    for section, key in sorted({spec.setting.section for spec in specs if spec.setting.section}):
        sections[section] = (*sections.get(section, ()), key)
    tables = {**sections, **per_command}
    for key, value in file.table.items():
        if key == DESTINATIONS:
            for name, stated in _subtable({key: value}, key, file.path).items():
                for inner in _subtable({name: stated}, name, file.path):
                    known = (*OF_DESTINATIONS, *per_command.get("migrate", ()), *per_command.get("normalize", ()))
                    _check_key(inner, f"{key}.{name}.", known, file, {})
        elif key in tables:
            for inner in _subtable({key: value}, key, file.path):
                _check_key(inner, f"{key}.", tables[key], file, {} if key in sections else sections)
        else:
            _check_key(key, "", (*shared, *tables), file, sections)


def _check_key(
    key: str, prefix: str, known: tuple[str, ...], file: SettingsFile, sections: Mapping[str, tuple[str, ...]]
) -> None:
    """Raise InputError where a key is not known; ``sections`` are keys of tables of their own that may be meant."""
    name = key.replace("_", "-")
    if name in known or name in REMOVED_OPTIONS:
        return
    elsewhere = {stated: f"{stated}` in `[{section}]" for section, keys in sections.items() for stated in keys}
    hint = did_you_mean(name, known) or did_you_mean(name, elsewhere, elsewhere.__getitem__)
    hint = hint or nearest_or_all(name, known)
    raise InputError(f"there is no setting `{prefix}{key}`", at=file.locate(key), hint=hint)
