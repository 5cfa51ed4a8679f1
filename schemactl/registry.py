"""Finds plug-ins: a module's file name is the plug-in's name, the module itself is the plug-in.

A name costs a directory listing, a value costs one import. Third parties add theirs through entry points of the
group ``schemactl.KIND`` (``schemactl.detector``, ``schemactl.input_format`` ...; docs/extending.md).

A schema file may come from a stranger, so it can name only plug-ins that are built in or installed. Another module is
imported only if the user admits it, on the command line or in the environment, never because a file names it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Generic, TypeVar, cast

from schemactl.errors import InputError, did_you_mean, nearest_or_all

Plugin = TypeVar("Plugin")


_admitted: frozenset[str] = frozenset()


@contextmanager
def admit_modules(modules: Iterable[str]) -> Iterator[None]:
    """Let schemas name these modules while the context is open; files must not decide which."""
    global _admitted
    before, _admitted = _admitted, _admitted | frozenset(modules)
    try:
        yield
    finally:
        _admitted = before


def is_admitted(reference: str) -> bool:
    """Return whether the user has admitted the module of this path."""
    return reference in _admitted


def import_module_if_exists(reference: str, kind: str) -> ModuleType | None:
    """Import the module of a dotted path; return None if no module has this path.

    Args:
        reference: the dotted path, from a user or another package.
        kind: the kind of plug-in, for messages: ``detector``.
    """
    if not all(name.isidentifier() for name in reference.split(".")):
        return None
    try:
        return import_module(reference)
    except ModuleNotFoundError as error:
        # A part of the path is missing, not something that the module needs.
        if error.name and f"{reference}.".startswith(f"{error.name}."):
            return None
        raise _broken(reference, kind, error) from error
    except (Exception, SystemExit) as error:  # a third-party module may raise anything
        raise _broken(reference, kind, error) from error


def _broken(reference: str, kind: str, error: BaseException) -> InputError:
    return InputError(f"the {kind} `{reference}` does not import: {str(error) or type(error).__name__}")


def optional_attribute(plugin: object, name: str, default: Any = None) -> Any:
    """Return an optional attribute of a plug-in, or the default."""
    return getattr(plugin, name, default)


@cache
def _may_add(entry: str) -> bool:
    """Return whether an entry of ``sys.path`` may hold plug-ins: asking importlib.metadata takes many times as long."""
    path = Path(entry)
    if path.is_file():  # an archive
        return True
    return any(b"[schemactl." in file.read_bytes() for file in path.glob("*-info/entry_points.txt"))


class Registry(Mapping[str, Plugin], Generic[Plugin]):
    """A read-only mapping of plug-in names to modules; built-in names come first, each group in alphabetical order.

    Args:
        kind: the name of a plug-in in messages and, blanks as ``_``, in its entry-point group, for example
            ``detector``.
        package: the package whose modules are the built-in plug-ins; names that start with ``_`` are not.
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self.package = package
        self._loaded: dict[str, Plugin] = {}

    @cached_property
    def _builtin(self) -> tuple[str, ...]:
        path = import_module(self.package).__path__
        return tuple(sorted(module.name for module in iter_modules(path) if not module.name.startswith("_")))

    @cached_property
    def _installed(self) -> dict[str, str]:
        # Packaging tools do not allow blanks in the group's name.
        group = f"schemactl.{self.kind.replace(' ', '_')}"
        # Anybody may have written the files of the working folder: they are not installed.
        plugin_paths = [entry for entry in sys.path if Path(entry).resolve() != Path.cwd() and _may_add(entry)]
        if not plugin_paths:
            return {}
        from importlib.metadata import distributions

        values_by_name: dict[str, str] = {}
        for distribution in distributions(path=plugin_paths):
            for entry in distribution.entry_points:
                if entry.group == group:
                    values_by_name.setdefault(entry.name, entry.value)
        return dict(sorted(values_by_name.items()))

    @property
    def installed(self) -> tuple[str, ...]:
        """The names that third parties have added."""
        return tuple(name for name in self._installed if name not in self._builtin)

    def __getitem__(self, name: str) -> Plugin:
        # Detectors are looked up by name for each value.
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def _load(self, name: str) -> Plugin:
        if name in self._builtin:
            return cast(Plugin, import_module(f"{self.package}.{name}"))
        if name not in self._installed:
            raise self.unknown(name)
        module = import_module_if_exists(self._installed[name], self.kind)
        if module is None:
            raise InputError(
                f"the {self.kind} `{name}` is installed as `{self._installed[name]}`, which is not a module"
            )
        return cast(Plugin, module)

    def __iter__(self) -> Iterator[str]:
        yield from self._builtin
        yield from self.installed

    def __len__(self) -> int:
        return len(tuple(iter(self)))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._builtin or name in self._installed)

    def unknown(self, name: str) -> InputError:
        """Return the error for an unknown plug-in name, with the nearest known name."""
        return InputError(f"there is no {self.kind} `{name}`", hint=nearest_or_all(name, self))

    def refused(self, reference: str) -> InputError:
        """Return the error for a reference to neither a plug-in nor a module that the user has admitted."""
        is_path = all(name.isidentifier() for name in reference.split("."))
        if is_admitted(reference) or not is_path or did_you_mean(reference.rpartition(".")[2], self):
            return self.unknown(reference)
        hint = (
            f"to use a Python module, pass `--naming-module {reference}` or set SCHEMACTL_NAMING_MODULE; "
            "settings files cannot allow it"
        )
        return InputError(f"there is no {self.kind} `{reference}`", hint=hint)
