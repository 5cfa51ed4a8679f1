"""The filters of tables: which columns are left out before anything is inferred from them (docs/dlt.md §5.7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from schemactl.schema.naming import Naming
from schemactl.schema.settings import Pattern, compile_pattern
from schemactl.schema.types import Schema


@dataclass(frozen=True, slots=True)
class _Rules:
    excludes: tuple[Pattern, ...]
    includes: tuple[Pattern, ...]

    def drop(self, path: str) -> bool:
        is_excluded = any(pattern.search(path) for pattern in self.excludes)
        return is_excluded and not any(pattern.search(path) for pattern in self.includes)


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of a schema's tables; those of a table hold for the tables whose names go on from its own."""

    _naming: Naming
    _rules: Mapping[str, _Rules] = field(default_factory=dict)

    @classmethod
    def of(cls, schema: Schema, naming: Naming) -> Filters:
        """Read the filters of all tables; includes without excludes have no effect.

        Raises:
            InputError: a pattern is not a regular expression.
        """
        stated = {name: table.properties.get("filters") or {} for name, table in schema.tables.items()}
        rules = {
            name: _Rules(_compiled(filters["excludes"]), _compiled(filters.get("includes")))
            for name, filters in stated.items()
            if filters.get("excludes")
        }
        return cls(naming, rules)

    def drops(self, table: str, column: str) -> bool:
        """Return whether rows of ``table`` lose their ``column``, one of dlt's own included."""
        if not self._rules:
            return False
        parts = self._naming.break_path(table)
        for end in range(len(parts), 0, -1):
            rules = self._rules.get(self._naming.make_path(*parts[:end]))
            if rules and rules.drop(self._naming.make_path(*parts[end:], column)):
                return True
        return False


def _compiled(patterns: Iterable[Any] | None) -> tuple[Pattern, ...]:
    return tuple(compile_pattern(str(pattern)) for pattern in patterns or ())
