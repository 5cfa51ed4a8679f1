"""The subcommands, one module each; the module's name is the command's name. A package is a group of commands.

To add one, add ``NAME.py`` with

- a docstring: its first line is the command's help in the list, and all of it is the help page;
- ``Options``: a dataclass that extends `schemactl.cli.options.CommonOptions`, with a field for each argument;
- ``run(options: Options, terminal: Terminal) -> ExitCode``.

Listing the commands imports every module here, so import heavy libraries inside ``run``.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from keyword import iskeyword
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Protocol, TypeGuard

from schemactl.cli.options import CommonOptions
from schemactl.cli.terminal import Terminal
from schemactl.errors import ExitCode


class CommandModule(Protocol):
    """A module in `schemactl.cli.commands`.

    A package there is a group: its modules are its commands, its ``Options`` all their settings in a file.
    """

    __doc__: str | None
    Options: type[CommonOptions]

    def run(self, options: Any, terminal: Terminal) -> ExitCode: ...


@cache
def command_names(package: ModuleType = sys.modules[__name__]) -> tuple[str, ...]:
    """Return the names of the subcommands, with hyphens for underscores.

    A module whose name Python keeps for itself ends in ``_``.
    """
    modules = (module.name for module in iter_modules(package.__path__) if not module.name.startswith("_"))
    return tuple(sorted(name.removesuffix("_").replace("_", "-") for name in modules))


def load_command(name: str, package: ModuleType = sys.modules[__name__]) -> CommandModule:
    """Import a subcommand."""
    module_name = f"{name.replace('-', '_')}{'_' if iskeyword(name) else ''}"
    module: Any = import_module(f"{package.__name__}.{module_name}")
    return module  # type: ignore[no-any-return]


def is_group(module: CommandModule | ModuleType) -> TypeGuard[ModuleType]:
    """Return whether a module of commands is a package: a group of commands."""
    spec = module.__spec__ if isinstance(module, ModuleType) else None
    return spec is not None and spec.submodule_search_locations is not None


def all_options() -> dict[str, type[CommonOptions]]:
    """Return the options of all subcommands, by name."""
    return {name: load_command(name).Options for name in command_names()}
