"""From a reference in a schema file to a naming convention."""

from __future__ import annotations

import re
from types import ModuleType
from typing import Protocol

from schemactl.errors import InputError
from schemactl.registry import Registry, import_if_there, is_admitted
from schemactl.schema.naming._convention import Convention
from schemactl.schema.naming._foreign import ForeignNaming
from schemactl.schema.naming._naming import Naming


class ConventionModule(Protocol):
    """A module that is a naming convention."""

    CONVENTION: Convention


CONVENTIONS: Registry[ConventionModule] = Registry("naming convention", "schemactl.schema.naming")

_DLT_PACKAGE = "dlt.common.normalizers.naming."
_DLT_CLASS = "NamingConvention"
_DLT_MODULE = re.compile(r"dlt\.(?:common\.normalizers\.naming\.[a-z]\w*|destinations\.impl\.[a-z]\w*\.(?:ci_)?naming)")
_LEGACY = {"dlt.common.normalizers.names.snake_case": "snake_case"}


def load_naming(reference: str, max_length: int | None = None) -> Naming:
    """Return the naming convention that a schema's ``normalizers.names`` refers to (docs/dlt.md §1.5).

    Args:
        reference: a built-in or installed convention; dlt's path of a built-in one, which needs no dlt; another
            convention of dlt's; a module that the user has admitted (``registry.admit_modules``), with
            ``CONVENTION`` (ours) or a class ``NamingConvention`` (dlt's manner); or the path of such a class.
        max_length: longest identifier of the destination in characters; None for the convention's own limit.

    Raises:
        InputError: if there is no such convention, it does not import, or ``max_length`` is beyond its limit.
    """
    name = convention_name(reference)
    if name in CONVENTIONS:
        return _naming_of(CONVENTIONS[name], name, max_length)
    path, _, class_name = reference.rpartition(".")
    if _is_trusted(reference):
        module = import_if_there(reference, CONVENTIONS.kind)
        if module is not None:
            return _naming_of(module, reference, max_length)
    if _is_trusted(path) or is_admitted(reference):
        found = getattr(import_if_there(path, CONVENTIONS.kind), class_name, None)
        if isinstance(found, type):
            return _naming_by_class(found, reference, max_length)
    raise CONVENTIONS.refused(name)


def _is_trusted(path: str) -> bool:
    """Return whether a schema file may have this module imported: dlt's own, or admitted by the user."""
    return _DLT_MODULE.fullmatch(path) is not None or is_admitted(path)


def convention_name(reference: str) -> str:
    """Return the name of a built-in convention for dlt's ways to write it, any other reference as it is.

    >>> convention_name("dlt.common.normalizers.naming.direct"), convention_name("acme.shouting")
    ('direct', 'acme.shouting')
    """
    if reference in _LEGACY:
        return _LEGACY[reference]
    return reference.removeprefix(_DLT_PACKAGE).removesuffix(f".{_DLT_CLASS}")


def _naming_of(module: ConventionModule | ModuleType, reference: str, max_length: int | None) -> Naming:
    convention = getattr(module, "CONVENTION", None)
    if isinstance(convention, Convention):
        return Naming(convention, max_length)
    by_class = getattr(module, _DLT_CLASS, None)
    if isinstance(by_class, type):
        return _naming_by_class(by_class, reference, max_length)
    raise InputError(
        f"the module `{reference}` holds no naming convention",
        hint=f"it needs a `CONVENTION` or a class `{_DLT_CLASS}`",
    )


def _naming_by_class(by_class: type, reference: str, max_length: int | None) -> Naming:
    try:
        return ForeignNaming(by_class, max_length)
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the naming convention `{reference}` cannot be made: {error}") from error
