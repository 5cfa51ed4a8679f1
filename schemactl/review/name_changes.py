"""What another naming convention makes of the names of a schema (docs/dlt.md §4.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from schemactl.errors import InputError
from schemactl.review.comparison import Comparison
from schemactl.schema.changes import ABSENT, NormalizerChanged
from schemactl.schema.collisions import BLANK, find_collisions
from schemactl.schema.naming import Naming, load_naming
from schemactl.schema.settings import DEFAULT_NAMING

_LEGACY: Final = "dlt.common.normalizers.names."
_DLT: Final = "dlt.common.normalizers.naming."


@dataclass(frozen=True, slots=True)
class NamingChange:
    """Another naming convention, by the references in the two schemas."""

    before: str
    after: str


def naming_changes(comparison: Comparison) -> Iterator[NamingChange]:
    """Yield the change of convention, if there is one; dlt's ways to write one and the same do not count."""
    for change in comparison.of(NormalizerChanged):
        if change.name == "names":
            before, after = _reference(change.before), _reference(change.after)
            if _short(before) != _short(after):
                yield NamingChange(before, after)


def naming_of(change: NamingChange) -> Naming | None:
    """Return the new convention, None where it is not installed here."""
    try:
        return load_naming(change.after)
    except InputError:
        return None


def new_names(comparison: Comparison, naming: Naming) -> Iterator[tuple[str, str | None, str]]:
    """Yield the tables and columns of the base schema that get another name: table, column, new name."""
    for table in comparison.base.schema.tables.values():
        renamed = table_name(table.name, naming)
        if renamed != table.name:
            yield table.name, None, renamed
        for column in table.columns:
            renamed = naming.normalize_path(column) or BLANK
            if renamed != column:
                yield table.name, column, renamed


def table_collisions(comparison: Comparison, naming: Naming) -> Mapping[str, tuple[str, ...]]:
    """Return the new table names that several tables of the base schema would get, with these tables."""
    groups: dict[str, list[str]] = {}
    for name in comparison.base.schema.tables:
        groups.setdefault(table_name(name, naming), []).append(name)
    return {name: tuple(same) for name, same in groups.items() if len(same) > 1}


def column_collisions(comparison: Comparison, naming: Naming) -> Iterator[tuple[str, Mapping[str, tuple[str, ...]]]]:
    """Yield the tables of the base schema where several columns would get one name: the table, and the names."""
    for table in comparison.base.schema.tables.values():
        if found := find_collisions(table.columns, naming):
            yield table.name, found


def table_name(name: str, naming: Naming) -> str:
    """Return a table's name under a convention."""
    return naming.normalize_tables_path(name) or BLANK


def _reference(stated: Any) -> str:
    return DEFAULT_NAMING if stated is ABSENT or not stated else str(stated)


def _short(reference: str) -> str:
    for package in (_LEGACY, _DLT):
        if reference.startswith(package):
            return reference.removeprefix(package).removesuffix(".NamingConvention")
    return reference
