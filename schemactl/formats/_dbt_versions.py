"""Models of dbt by their versions, with the names of the relations that dbt creates for them.

https://docs.getdbt.com/reference/resource-properties/versions. Each version has the columns of its model, except for
columns that the version excludes, adds or overrides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from schemactl.errors import InputError
from schemactl.formats._fields import entries, mapping
from schemactl.formats._losses import Loss

KINDS: Final = ("models", "seeds", "snapshots")

_ALL: Final = ("*", "all")
_TESTS: Final = ("data_tests", "tests")


class Choice(StrEnum):
    """The versions of models that become tables."""

    LATEST = "latest"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Relation:
    """A source table, model, seed or snapshot: its name for `ref` and `source`, and its name in the database.

    Attributes:
        native: its properties; for a version, including the properties of its model.
        version: its version; None if the model has no versions.
        is_latest: whether `ref` without a version refers to it.
    """

    name: str
    table: str
    native: Mapping[str, Any]
    version: str | None = None
    is_latest: bool = True
    losses: tuple[Loss, ...] = ()

    def answers_to(self, name: str, version: str | None) -> bool:
        """Return whether `ref` or `source` of a name, and a version if it is not None, means this relation."""
        return name == self.name and (self.is_latest if version is None else version == self.version)


def relations_of(root: Mapping[str, Any], choice: Choice) -> Iterator[Relation]:
    """Yield the relations of a properties file."""
    for kind in KINDS:
        for native in entries(root.get(kind)):
            yield from _models(native, choice)
    for source in root.get("sources") or ():
        for native in entries(source.get("tables")):
            yield Relation(native["name"], _text(native.get("identifier")) or native["name"], native)


def _models(native: Mapping[str, Any], choice: Choice) -> Iterator[Relation]:
    name, versions = native["name"], native.get("versions") or ()
    if not versions:
        yield Relation(name, _alias(native) or name, native)
        return
    numbers = [_number(version["v"]) for version in versions]
    latest_version = native.get("latest_version")
    latest = _number(latest_version) if latest_version is not None else max(numbers, key=_order(numbers))
    if latest not in numbers:
        raise InputError(f"`{name}` has no version {latest}, its `latest_version`", hint=f"known: {', '.join(numbers)}")
    skipped = [number for number in numbers if choice is Choice.LATEST and number != latest]
    for number, version in zip(numbers, versions, strict=True):
        if number in skipped:
            continue
        table = _alias(version) or f"{_alias(native) or name}{'' if choice is Choice.LATEST else f'_v{number}'}"
        columns, losses = _columns(native, version, f"{name}.v{number}")
        skips = tuple(Loss(table, "version", skipped_number) for skipped_number in skipped)
        yield Relation(name, table, _merge(native, version, columns), number, number == latest, (*losses, *skips))


def _number(version: Any) -> str:
    """Return a version as `ref` and names of relations spell it: 2 for 2.0."""
    return str(int(version)) if isinstance(version, float) and version.is_integer() else str(version)


def _order(versions: Sequence[str]) -> Any:
    """Return the key by which dbt compares versions: as numbers, if all of them are."""
    try:
        numbers = {version: float(version) for version in versions}
    except ValueError:
        return str
    return numbers.__getitem__


def _merge(native: Mapping[str, Any], version: Mapping[str, Any], columns: list[Any]) -> dict[str, Any]:
    overrides = {key: value for key, value in version.items() if key not in ("v", "columns", "config", "defined_in")}
    if any(key in version for key in _TESTS):
        native = {key: value for key, value in native.items() if key not in _TESTS}
    config = {**mapping(native.get("config")), **mapping(version.get("config"))}
    model_properties = {key: value for key, value in native.items() if key not in ("versions", "latest_version")}
    return {**model_properties, **overrides, "columns": columns, **({"config": config} if config else {})}


def _columns(
    native: Mapping[str, Any], version: Mapping[str, Any], holder: str
) -> tuple[list[dict[str, Any]], tuple[Loss, ...]]:
    """Return the columns of a version, and losses for names that its model lacks."""
    overrides = version.get("columns") or ()
    choices = [column for column in overrides if "name" not in column]
    choice = choices[0] if choices else {}
    included, excluded = _names(choice.get("include", "all")), _names(choice.get("exclude"))
    base = {column["name"]: column for column in entries(native.get("columns"))}
    has_all = not set(_ALL).isdisjoint(included)
    chosen = [name for name in base if (has_all or name in included) and name not in excluded]
    columns = {name: base[name] for name in chosen}
    columns |= {column["name"]: column for column in entries(list(overrides))}
    unknown = [
        Loss(holder, word, name)
        for word, names in (("include", included), ("exclude", excluded))
        for name in names
        if name not in (*base, *_ALL)
    ]
    return list(columns.values()), (*unknown, *(Loss(holder, "columns", extra) for extra in choices[1:]))


def _names(selection: Any) -> list[str]:
    return [selection] if isinstance(selection, str) else list(selection or ())


def _alias(native: Mapping[str, Any]) -> str | None:
    return _text(native.get("alias")) or _text(mapping(native.get("config")).get("alias"))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
