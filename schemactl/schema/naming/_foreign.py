"""Puts a class in dlt's manner, a user's own ``NamingConvention``, in the place of a ``Naming``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from schemactl.errors import InputError
from schemactl.schema.naming._convention import Convention
from schemactl.schema.naming._naming import Naming

_METHODS = (
    "normalize_identifier",
    "normalize_table_identifier",
    "normalize_path",
    "normalize_tables_path",
    "break_path",
    "make_path",
    "shorten_fragments",
)


class ForeignNaming(Naming):
    """A dlt-style class at work. What the class has is the class's; what it lacks is as in ``Naming``.

    The class must have ``normalize_identifier``, which shortens by itself. It need not come from dlt's base
    class, so dlt need not be installed.

    Args:
        made_by: the class; called with ``max_length`` as its one argument.
        max_length: longest identifier in characters, None for no limit.
    """

    def __init__(self, made_by: Callable[[int | None], Any], max_length: int | None) -> None:
        made = made_by(max_length)
        convention = Convention(
            clean=made.normalize_identifier,
            is_case_sensitive=bool(getattr(made, "is_case_sensitive", True)),
            path_separator=getattr(made, "PATH_SEPARATOR", "__"),
        )
        super().__init__(convention, getattr(made, "max_length", max_length))
        for method in _METHODS:
            own = getattr(made, method, None)
            if own is not None:
                setattr(self, method, _with_our_errors(own))


def _with_our_errors(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*names: str) -> Any:
        try:
            return method(*names)
        # what dlt's base class raises: blank names and bad Unicode, no room for the tag
        except (ValueError, AssertionError) as error:
            told = ", ".join(f"`{name}`" for name in names)
            raise InputError(f"the naming convention refuses {told}: {error or type(error).__name__}") from error

    return call
