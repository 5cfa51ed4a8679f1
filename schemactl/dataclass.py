"""``dataclass`` as the standard library has it, but for the time that it takes at import.

A command declares a hundred classes and makes objects of half of them. Python 3.11 compiles up to seven methods of
each class at import, 0.4 ms a class: a third of the processor time of ``schemactl --help``. Here a method is compiled
when it is first called.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen: bool = False, slots: bool = False, kw_only: bool = False) -> Any:
        """Return the decorator; its arguments mean what they mean in the standard library."""

        def declare(cls: type) -> type:
            cls.__doc__ = cls.__doc__ or cls.__name__  # where there is none, Python writes the signature: another 2 ms
            declared = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
            own = declared.__dict__
            methods = {
                "__init__": _deferred(declared, "__init__", _frozen_init if frozen else _init),
                "__eq__": _deferred(declared, "__eq__", _eq),
                "__hash__": _deferred(declared, "__hash__", _hash) if frozen else None,
                "__repr__": _repr,
            }
            if frozen:
                methods |= {"__setattr__": _refuse_assignment, "__delattr__": _refuse_deletion}
                if slots:
                    methods |= {"__getstate__": _get_state, "__setstate__": _set_state}
            for name, method in methods.items():
                if own.get(name) is None:  # Python makes `__hash__` None where a class has an `__eq__` of its own
                    setattr(declared, name, method)
            return declared

        return declare


Source = tuple[str, dict[str, Any]]
"""The text of a function, and the values of the names in it."""


def _deferred(cls: type, name: str, write: Callable[[type], Source]) -> Any:
    """Return a method that compiles the one to take its place, and calls that."""

    def method(*args: Any, **stated: Any) -> Any:
        text, names = write(cls)
        exec(text, names)
        names[name].__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, names[name])
        return names[name](*args, **stated)

    return method


def _init(cls: Any, assign: str = "self.{0} = {1}") -> Source:
    names: dict[str, Any] = {"_set": object.__setattr__, "_made": MISSING}
    parameters, keywords, lines = ["self"], ["*"], []
    for each in fields(cls):
        if not each.init:
            continue
        name, default, value = each.name, "", each.name
        if each.default_factory is not MISSING:
            names[f"_make_{name}"], default = each.default_factory, " = _made"
            value = f"_make_{name}() if {name} is _made else {name}"
        elif each.default is not MISSING:
            names[f"_default_{name}"], default = each.default, f" = _default_{name}"
        (keywords if each.kw_only else parameters).append(name + default)
        lines.append(assign.format(name, value))
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    stated = ", ".join(parameters + keywords if len(keywords) > 1 else parameters)
    return f"def __init__({stated}):\n    " + "\n    ".join(lines or ["pass"]), names


def _frozen_init(cls: type) -> Source:
    return _init(cls, "_set(self, '{0}', {1})")


def _eq(cls: type) -> Source:
    same = f"{_values(cls, 'self')} == {_values(cls, 'other')}"
    return f"def __eq__(self, other):\n    return {same} if other.__class__ is self.__class__ else NotImplemented", {}


def _hash(cls: type) -> Source:
    return f"def __hash__(self):\n    return hash({_values(cls, 'self')})", {}


def _values(cls: Any, owner: str) -> str:
    return "(" + "".join(f"{owner}.{each.name}, " for each in fields(cls) if each.compare) + ")"


def _repr(self: Any) -> str:
    stated = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({stated})"


def _refuse_assignment(self: Any, name: str, value: Any) -> None:  # noqa: ARG001 - Python's signature
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(self: Any, name: str) -> None:  # noqa: ARG001 - Python's signature
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)
