"""The ``settings`` and ``normalizers`` sections of a schema: what a new column gets by its name, for one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from schemactl.schema.patterns import Pattern, compile_pattern
from schemactl.schema.types import DataType

DEFAULT_NAMING = "snake_case"

UNLIMITED_NESTING = 1000
"""dlt's ``max_nesting`` where none is set."""

# dlt states a default hint on a column only where its value is not the property's default (docs/dlt.md §1.3).
# False is no default of these, so a name that does not match gets them as well:
_STATED_UNMATCHED = frozenset(
    ("name", "data_type", "precision", "scale", "timezone", "nullable", "x-active-record-timestamp")
)
# and True is the default of these:
_UNSTATED_MATCHED = frozenset(("timezone", "nullable"))


def _compile_all(patterns: Iterable[str]) -> tuple[Pattern, ...]:
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
    _hints: tuple[tuple[str, tuple[Pattern, ...]], ...] = field(default=(), repr=False)
    _preferred: tuple[tuple[str, Pattern, DataType], ...] = field(default=(), repr=False)

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
            _preferred=tuple((key, compile_pattern(key), DataType(name)) for key, name in preferred.items()),
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
        found = self.preferred(name)
        return found[1] if found else None

    def preferred(self, name: str) -> tuple[str, DataType] | None:
        """Return the first pattern of ``preferred_types`` that matches ``name``, as it is stated, and its type."""
        return next(((stated, of) for stated, pattern, of in self._preferred if pattern.search(name)), None)


@dataclass(frozen=True, slots=True)
class NormalizerConfig:
    """The ``normalizers`` section, with the config of dlt's relational normalizer.

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
