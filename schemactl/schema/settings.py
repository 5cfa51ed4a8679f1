"""The ``settings`` and ``normalizers`` sections of a schema: what a new column gets by its name, for one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from schemactl.errors import InputError
from schemactl.schema.types import DataType

DEFAULT_NAMING = "snake_case"

UNLIMITED_NESTING = 1000
"""dlt's ``max_nesting`` where none is set."""

_REGEX_PREFIX = "re:"

# dlt states a default hint on a column only where its value is not the property's default (docs/dlt.md §1.3).
# False is no default of these, so a name that does not match gets them as well:
_STATED_UNMATCHED = frozenset(
    ("name", "data_type", "precision", "scale", "timezone", "nullable", "x-active-record-timestamp")
)
# and True is the default of these:
_UNSTATED_MATCHED = frozenset(("timezone", "nullable"))


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile dlt's SimpleRegex; use ``search`` on the result (docs/dlt.md §1.4).

    Args:
        pattern: ``re:`` and a regular expression that is searched for anywhere, or else a whole name.

    Raises:
        InputError: the regular expression is not one.
    """
    if not pattern.startswith(_REGEX_PREFIX):
        return re.compile(f"^{re.escape(pattern)}$")
    try:
        return re.compile(pattern.removeprefix(_REGEX_PREFIX))
    except re.error as error:
        hint = "a pattern without `re:` stands for a whole name"
        raise InputError(f"`{pattern}` is not a regular expression: {error}", hint=hint) from error


def _compile_all(patterns: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(compile_pattern(pattern) for pattern in patterns)


@dataclass(frozen=True, slots=True)
class Settings:
    """The ``settings`` section.

    Attributes:
        detections: names of the type detectors for text and numbers, in the order they are asked.
        schema_contract: the contract as stated: a mode, modes by entity, or None.
    """

    detections: tuple[str, ...] = ()
    schema_contract: Mapping[str, str] | str | None = None
    _hints: tuple[tuple[str, tuple[re.Pattern[str], ...]], ...] = field(default=(), repr=False)
    _preferred: tuple[tuple[re.Pattern[str], DataType], ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, section: Mapping[str, Any]) -> Settings:
        """Read the section as it is stored.

        Raises:
            InputError: a pattern is not a regular expression.
        """
        hints = section.get("default_hints") or {}
        preferred = section.get("preferred_types") or {}
        return cls(
            detections=tuple(section.get("detections") or ()),
            schema_contract=section.get("schema_contract"),
            _hints=tuple((hint, _compile_all(patterns)) for hint, patterns in hints.items()),
            _preferred=tuple((compile_pattern(key), DataType(name)) for key, name in preferred.items()),
        )

    def column_hints(self, name: str) -> dict[str, bool]:
        """Return the properties that a new column ``name`` gets, ``nullable`` first (docs/dlt.md §6.6).

        As in dlt, a ``nullable`` entry of ``default_hints`` makes names that it does not match not nullable.
        """
        matched = {hint: any(p.search(name) for p in patterns) for hint, patterns in self._hints}
        hints = {"nullable": not matched.pop("not_null", False)}
        for hint, is_matched in matched.items():
            if hint not in _UNSTATED_MATCHED if is_matched else hint in _STATED_UNMATCHED:
                hints[hint] = is_matched
        return hints

    def preferred_type(self, name: str) -> DataType | None:
        """Return the type of a new column ``name`` whatever its value; the first matching pattern decides."""
        return next((data_type for pattern, data_type in self._preferred if pattern.search(name)), None)


@dataclass(frozen=True, slots=True)
class NormalizerConfig:
    """The ``normalizers`` section, with the config of dlt's relational normaliser.

    Attributes:
        naming: reference of the naming convention.
        max_nesting: levels that are flattened.
        root_key_propagation: whether nested tables get the row key of their root table; None where merges decide.
        propagation_root: root column -> column of every descendant that takes its value.
        propagation_tables: the same for the descendants of single tables.
        use_break_path_on_normalize: whether ``__`` in a source key parts it; false in schemas of old engines.
        detections: type detectors of old schemas, which hold where ``settings`` names none.
    """

    naming: str = DEFAULT_NAMING
    max_nesting: int = UNLIMITED_NESTING
    root_key_propagation: bool | None = None
    propagation_root: Mapping[str, str] = field(default_factory=dict)
    propagation_tables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    use_break_path_on_normalize: bool = True
    detections: tuple[str, ...] = ()

    @classmethod
    def of(cls, normalizers: Mapping[str, Any]) -> NormalizerConfig:
        """Read the section as it is stored, with dlt's defaults for what it leaves out (docs/dlt.md §1.5)."""
        config = (normalizers.get("json") or {}).get("config") or {}
        propagation = config.get("propagation") or {}
        nesting = config.get("max_nesting")
        return cls(
            naming=normalizers.get("names") or DEFAULT_NAMING,
            max_nesting=UNLIMITED_NESTING if nesting is None else nesting,
            root_key_propagation=config.get("root_key_propagation"),
            propagation_root=propagation.get("root") or {},
            propagation_tables=propagation.get("tables") or {},
            use_break_path_on_normalize=bool(normalizers.get("use_break_path_on_normalize", True)),
            detections=tuple(normalizers.get("detections") or ()),
        )
