"""Declare the options of a command as fields of a dataclass: names, variables, settings, help and completion.

A field ``NAME: TYPE = option(HELP, ...)`` is one option; `parsing` makes typer's of it, `settings` finds its value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cache
from inspect import get_annotations
from pathlib import Path
from types import NoneType
from typing import Any, Final, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from schemactl.errors import Location

VARIABLE_PREFIX: Final = "SCHEMACTL_"
"""The prefix of all variables that set options."""

OptionValues = Mapping[str, Any]
"""Values of options by name; None for options that the command line omits."""

T = TypeVar("T")

_SPEC: Final = "option"
"""The key of an option's declaration in the metadata of its field."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Marks an option that can be set in a settings file, and in the environment as ``SCHEMACTL_NAME``.

    Attributes:
        is_path: whether a relative value in a file is relative to the file's folder.
        in_environment: False for lists whose items may contain commas, because a variable separates items by commas.
        found_by: folder names; the default is the nearest folder that contains one of them, searched from the working
            folder up to the top of the repository.
        in_file_only: whether only a settings file can set it: a list of tables, as ``SettingsTable``.
        is_top_level: whether the list of tables counts for all commands, so that no command's table contains it.
        in_file: False for settings that a file must not decide, because the file may come from a stranger.
        section: its table and its key in a file, if they differ from the command's table and the option's key.
        only_with: option names; a file's value counts only if one of these options is set, too.
        gives_way_to: the name of an option that overrides this one if it is set nearer to the call.
    """

    is_path: bool = False
    in_environment: bool = True
    found_by: tuple[str, ...] = ()
    in_file: bool = True
    in_file_only: bool = False
    is_top_level: bool = False
    section: tuple[str, str] | None = None
    only_with: tuple[str, ...] = ()
    gives_way_to: str | None = None


_ON_COMMAND_LINE_ONLY: Final = Setting(in_environment=False, in_file=False)


class Group(StrEnum):
    """The heading below which help shows an option, in the order of the headings."""

    OPTIONS = "Options"
    INPUT = "Input"
    SCHEMA = "Schema"
    CONTRACT = "Contract"
    LOAD = "Load"
    PLAN = "Plan"
    SCRIPT = "Script"
    SPARK = "Spark"
    OUTPUT = "Output"
    GLOBAL = "Global options"


class CommandGroup(StrEnum):
    """The heading below which ``schemactl --help`` lists a command, in the order of the headings."""

    DATA = "Data"
    REVIEW = "Review"
    SCHEMAS = "Schemas"
    DATABASES = "Databases"
    SETTINGS = "Settings"


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionSpec:
    """An option or argument of a command, as its field declares it (`option`, `flag`, `argument`).

    `option_specs` fills in the attributes that follow from the field.

    Attributes:
        name: the name of its field.
        annotation: the type of its field.
        key: its name in settings files, for example ``on-bad-record``.
        variable: its name in the environment.
        words: its names on the command line.
        kind: the kind of its values: ``str``, ``bool`` or ``list``.
        choices: the allowed values; empty if any value is allowed.
        help: its help text; empty if it is not a command-line option.
        metavar: the name of its value in help; None to use the field's type.
        word: its name on the command line, if it differs from the field's name.
        short: a one-letter name on the command line.
        completes: returns the values that begin with a text, for shells.
        is_joined: whether it may be given more than once, and is then one value with commas between.
        is_value: returns whether the next word is its value, which can be omitted, and is an empty text then; None if
            it always needs a value.
        is_destination: whether it takes the address of a destination, or a name that settings give one.
        is_reference: whether it takes references to schemas, of which one may be the name of a destination.
        callback: called with its value before anything else is done; None for none.
        check: raises InputError for a value that it cannot have; None if it takes any, or the field's type limits them.
    """

    help: str
    group: Group = Group.OPTIONS
    setting: Setting = _ON_COMMAND_LINE_ONLY
    metavar: str | None = None
    name: str = ""
    key: str = ""
    variable: str = ""
    words: tuple[str, ...] = ()
    kind: type = str
    choices: tuple[str, ...] = ()
    word: str | None = None
    short: str | None = None
    annotation: Any = None
    default: Any = None
    is_required: bool = False
    is_argument: bool = False
    completes: Callable[..., list[str]] | None = None
    is_joined: bool = False
    is_value: Callable[[str], bool] | None = None
    is_destination: bool = False
    is_reference: bool = False
    callback: Callable[[bool], None] | None = None
    check: Callable[[str], object] | None = None

    def value_in(self, options: object) -> Any:
        """Return its value in a command's options."""
        return getattr(options, self.name)


def option(
    help: str,
    group: Group = Group.OPTIONS,
    setting: Setting = _ON_COMMAND_LINE_ONLY,
    *,
    default: T | None = None,
    **more: Any,
) -> T:
    """Declare an option, in place of its field's default; ``more`` are attributes of `OptionSpec`."""
    spec = OptionSpec(help=help, group=group, setting=setting, default=default, **more)
    start: dict[str, Any] = {"default_factory": default.copy} if isinstance(default, list) else {"default": default}
    return cast("T", field(**({} if spec.is_required else start), metadata={_SPEC: spec}))


def flag(help: str, group: Group = Group.OPTIONS, setting: Setting = _ON_COMMAND_LINE_ONLY, **more: Any) -> bool:
    """Declare an option that takes no value and is False by default."""
    return option(help, group, setting, default=False, **more)


def argument(metavar: str, help: str, *, default: T | None = None, **more: Any) -> T:
    """Declare an argument: required if it has no default, and its metavar is not in brackets."""
    is_required = default is None and not metavar.startswith("[")
    return option(help, metavar=metavar, default=default, is_argument=True, is_required=is_required, **more)


@dataclass(frozen=True, slots=True)
class SettingsTable:
    """A table of a settings file.

    Attributes:
        at: its place.
        folder: the folder that relative paths in it start from.
        is_own: whether the file is the user's own, which no repository contains.
    """

    values: Mapping[str, Any]
    at: Location
    folder: Path = Path()
    is_own: bool = False


def _option_specs(options: Any) -> tuple[OptionSpec, ...]:
    """Return the options that a dataclass declares: first its own, then the inherited options."""
    types = get_type_hints(options)
    # The last class in the order that declares an option declared it first.
    class_ranks = {name: rank for rank, cls in enumerate(options.__mro__) for name in get_annotations(cls)}
    specs = {declared.name: declared.metadata[_SPEC] for declared in fields(options)}
    return tuple(
        _derived(specs[name], name, specs[name].annotation or types[name])
        for name in sorted(specs, key=class_ranks.__getitem__)
    )


def _derived(spec: OptionSpec, name: str, annotation: Any) -> OptionSpec:
    """Return an option with the attributes that follow from its field."""
    types = get_args(annotation)
    value_type = next(kind for kind in types if kind is not NoneType) if NoneType in types else annotation
    origin, key = get_origin(value_type), name.replace("_", "-")
    return replace(
        spec,
        name=name,
        annotation=annotation,
        key=key,
        variable=VARIABLE_PREFIX + name.upper(),
        words=tuple(filter(None, (spec.word or f"--{key}", spec.short))),
        kind=list if origin is Sequence else bool if value_type is bool else str,
        choices=get_args(value_type) if origin is Literal else (),
    )


option_specs: Final[Callable[[Any], tuple[OptionSpec, ...]]] = cache(_option_specs)
"""The cached function; without this type, mypy compares the hash of a class's instances, not of the class."""


def table_specs(options: type[Any]) -> list[OptionSpec]:
    """Return the options that the table of a command can set in a settings file."""
    settings = ((spec, spec.setting) for spec in option_specs(options))
    return [spec for spec, of in settings if of.in_file and of.section is None and not of.is_top_level]
