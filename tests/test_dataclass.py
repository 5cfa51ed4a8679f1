"""Our ``dataclass`` does what the standard library's does."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields, replace
from typing import Any

import pytest

from schemactl.dataclass import dataclass


def declare(decorator: Callable[..., Any]) -> dict[str, Any]:
    """Return classes of each kind, made by a decorator."""

    @decorator(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 2
        tags: list[str] = field(default_factory=list, compare=False)
        secret: str = field(default="s", repr=False)

    @decorator(frozen=True, slots=True)
    class Sized(Point):
        size: float = 1.0

    @decorator(frozen=True, slots=True, kw_only=True)
    class Stated:
        name: str
        value: int = 0

    @decorator(slots=True)
    class Draft:
        names: list[str]
        count: int = field(init=False)

        def __post_init__(self) -> None:
            self.count = len(self.names)

    @decorator(frozen=True)
    class Open:
        x: int

    @decorator(frozen=True, slots=True)
    class Empty:
        pass

    @decorator(frozen=True, slots=True)
    class Own:
        x: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __repr__(self) -> str:
            return "own"

    return {each.__name__: each for each in (Point, Sized, Stated, Draft, Open, Empty, Own)}


OURS, PYTHONS = declare(dataclass), declare(dataclasses.dataclass)

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Point", (1,), {}),
    ("Point", (1, 3, ["a"]), {"secret": "t"}),
    ("Sized", (1,), {"size": 2.5}),
    ("Stated", (), {"name": "a"}),
    ("Draft", (["a", "b"],), {}),
    ("Open", (1,), {}),
    ("Empty", (), {}),
    ("Own", (1,), {}),
]


@pytest.mark.parametrize(("name", "args", "stated"), CALLS)
def test_an_object_reads_compares_and_hashes_as_the_standard_one_does(
    name: str, args: tuple[Any, ...], stated: dict[str, Any]
) -> None:
    ours, pythons = OURS[name](*args, **stated), PYTHONS[name](*args, **stated)
    assert repr(ours) == repr(pythons)
    assert dataclasses.asdict(ours) == dataclasses.asdict(pythons)
    assert [each.name for each in fields(ours)] == [each.name for each in fields(pythons)]
    assert OURS[name].__match_args__ == PYTHONS[name].__match_args__
    assert ours == OURS[name](*args, **stated)
    assert ours != pythons
    assert ours != 1
    if PYTHONS[name].__hash__ is None:
        assert OURS[name].__hash__ is None
    elif name != "Empty":
        assert hash(ours) == hash(pythons)
    assert copy.copy(ours) == ours


@pytest.mark.parametrize(
    ("name", "args", "stated"),
    [("Point", (), {}), ("Point", (1,), {"other": 1}), ("Stated", ("a",), {}), ("Empty", (1,), {})],
)
def test_a_wrong_call_fails_with_the_same_message(name: str, args: tuple[Any, ...], stated: dict[str, Any]) -> None:
    with pytest.raises(TypeError) as pythons:
        PYTHONS[name](*args, **stated)
    for _ in range(2):  # the first call compiles
        with pytest.raises(TypeError) as ours:
            OURS[name](*args, **stated)
        assert str(ours.value) == str(pythons.value)


def test_fields_that_are_not_compared_make_no_difference() -> None:
    point = OURS["Point"]
    assert point(1, tags=["a"]) == point(1, tags=["b"])
    assert point(1) != point(2)
    assert OURS["Sized"](1) != point(1)


def test_each_object_has_a_default_of_its_own() -> None:
    first, second = OURS["Point"](1), OURS["Point"](1)
    first.tags.append("a")
    assert second.tags == []


def test_replacing_a_value_leaves_the_others() -> None:
    assert replace(OURS["Sized"](1, 5, size=3.0), y=6) == OURS["Sized"](1, 6, size=3.0)


@pytest.mark.parametrize("name", ["Point", "Open"])
def test_a_frozen_object_takes_no_assignment(name: str) -> None:
    made = OURS[name](1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        made.x = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del made.x
    assert made.x == 1


@dataclass(frozen=True, slots=True)
class Sent:
    """A class that pickle finds by its name."""

    x: int
    tags: tuple[str, ...] = ()


def test_a_frozen_object_with_slots_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Sent(1, ("a",)))) == Sent(1, ("a",))
    assert {Sent(1): "found"}[Sent(1)] == "found"
