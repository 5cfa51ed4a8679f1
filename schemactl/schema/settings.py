"""The ``settings`` and ``normalizers`` sections of a schema, and the name patterns in them (docs/dlt.md §1.4).

A pattern is dlt's SimpleRegex. Python's own engine searches, since dlt's results are its results; it may take years for
a pattern such as ``(a+)+$``, on which dlt hangs, and a schema may be a stranger's: so a search stops after
``LIMIT_SECONDS`` of processor time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, Final

from schemactl.errors import InputError
from schemactl.schema.changes import TYPE_PROPERTIES
from schemactl.schema.paths import PREFIX, Path, PathPattern, compile_path
from schemactl.schema.types import DataType, Properties
from schemactl.time_limit import time_limit

LIMIT_SECONDS: Final = 1.0
"""The limit of processor time for matching one name; good patterns take microseconds."""

_REGEX_PREFIX: Final = "re:"
_MOST_CHOICES: Final = 5
_LONGEST_QUICK: Final = 1000
"""Letters of a name that a quick pattern may match without a clock: its time grows with their square."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern; ``text`` is its form in the schema."""

    text: str
    _regex: re.Pattern[str]
    _is_quick: bool = True

    def search(self, name: str) -> bool:
        """Return whether the pattern matches somewhere in a name."""
        if self._is_quick and len(name) <= _LONGEST_QUICK:
            return self._regex.search(name) is not None
        short_name = name if len(name) <= 80 else f"{name[:80]}…"
        message = f"the pattern `{self.text}` takes too long to match `{short_name}`"
        hint = "a repetition of repetitions, as in `(a+)+$`, tries every way to part the name: write `a+$`"
        with time_limit(LIMIT_SECONDS, partial(InputError, message, hint=hint), of_processor=True):
            return self._regex.search(name) is not None


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> Pattern:
    """Compile dlt's SimpleRegex.

    It is ``re:`` and a regular expression that is searched for anywhere, or else a whole name.
    """
    if not pattern.startswith(_REGEX_PREFIX):
        return Pattern(pattern, re.compile(f"^{re.escape(pattern)}$"))
    try:
        regex = pattern.removeprefix(_REGEX_PREFIX)
        return Pattern(pattern, re.compile(regex), _is_quick(regex))
    except (re.error, OverflowError, RecursionError) as error:
        hint = "a pattern without `re:` matches a whole name"
        raise InputError(f"`{pattern}` is not a regular expression: {error}", hint=hint) from error


def compile_any(pattern: str) -> Pattern | PathPattern:
    """Compile a pattern of names or of paths (``path:$.orders[*].id``)."""
    return compile_path(pattern) if pattern.startswith(PREFIX) else compile_pattern(pattern)


def _is_met(pattern: Pattern | PathPattern, name: str, path: Path | None) -> bool:
    if isinstance(pattern, Pattern):
        return pattern.search(name)
    return path is not None and pattern.is_at(path)


def _is_quick(regex: str) -> bool:
    """Return whether a search cannot take long (one repetition, or few choices), so that no clock is needed."""
    repetitions = sum(map(regex.count, "*+{"))
    choices = sum(map(regex.count, "?|"))
    return choices <= _MOST_CHOICES if repetitions == 0 else repetitions == 1 and choices == 0


DEFAULT_NAMING = "snake_case"

UNLIMITED_NESTING = 1000
"""dlt's default of ``max_nesting``."""

# dlt writes a default hint on a column only if its value is not the property's default (docs/dlt.md §1.3).
# False is not a default of these, so a name that does not match gets them as well:
_STATED_UNMATCHED = frozenset(("name", *TYPE_PROPERTIES, "nullable", "x-active-record-timestamp"))
# and True is the default of these:
_UNSTATED_MATCHED = frozenset(("timezone", "nullable"))


@dataclass(frozen=True, slots=True)
class Settings:
    """The ``settings`` section: detectors in the order they run, and the contract in its stored form, or None."""

    detections: tuple[str, ...] = ()
    schema_contract: Mapping[str, str] | str | None = None
    _hints: tuple[tuple[str, tuple[Pattern | PathPattern, ...]], ...] = field(default=(), repr=False)
    _preferred: tuple[tuple[str, Pattern | PathPattern, DataType], ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, section: Mapping[str, Any]) -> Settings:
        """Read the stored section."""
        hints = section.get("default_hints") or {}
        preferred = section.get("preferred_types") or {}
        return cls(
            detections=tuple(section.get("detections") or ()),
            schema_contract=section.get("schema_contract"),
            _hints=tuple((hint, tuple(map(compile_any, patterns))) for hint, patterns in hints.items()),
            _preferred=tuple((key, compile_any(key), DataType(name)) for key, name in preferred.items()),
        )

    def column_hints(self, name: str, path: Path | None = None) -> dict[str, bool]:
        """Return the properties that a new column ``name`` gets, ``nullable`` first (docs/dlt.md §6.6).

        As in dlt, a ``nullable`` entry of ``default_hints`` makes names that it does not match not nullable. ``path``
        is the path of its first value in the data.
        """
        matched = {hint: any(_is_met(pattern, name, path) for pattern in patterns) for hint, patterns in self._hints}
        hints = {"nullable": not matched.pop("not_null", False)}
        for hint, is_matched in matched.items():
            if hint not in _UNSTATED_MATCHED if is_matched else hint in _STATED_UNMATCHED:
                hints[hint] = is_matched
        return hints

    def preferred_type(self, name: str, path: Path | None = None) -> DataType | None:
        """Return the type of a new column ``name`` for any value; the first matching pattern decides."""
        preferred = self.preferred(name, path)
        return preferred[1] if preferred else None

    def preferred(self, name: str, path: Path | None = None) -> tuple[str, DataType] | None:
        """Return the first matching pattern of ``preferred_types``, as the schema has it, and its type."""
        return next(((text, kind) for text, pattern, kind in self._preferred if _is_met(pattern, name, path)), None)


@dataclass(frozen=True, slots=True)
class NormalizerConfig:
    """The ``normalizers`` section, with the config of dlt's relational normalizer.

    Attributes:
        module: the module of the JSON normalizer; None for dlt's relational normalizer.
        root_key_propagation: whether nested tables get the row key of their root table; None if merges decide.
        propagation_root: root column -> column of every descendant that takes its value.
        propagation_tables: the same for the descendants of single tables.
        use_break_path_on_normalize: whether ``__`` splits a source key; False in schemas of old engines.
        detections: type detectors of old schemas, used if ``settings`` does not name detectors.
    """

    naming: str = DEFAULT_NAMING
    module: str | None = None
    max_nesting: int = UNLIMITED_NESTING
    root_key_propagation: bool | None = None
    propagation_root: Mapping[str, str] = field(default_factory=dict)
    propagation_tables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    use_break_path_on_normalize: bool = True
    detections: tuple[str, ...] = ()

    @classmethod
    def of(cls, normalizers: Mapping[str, Any]) -> NormalizerConfig:
        """Read the stored section, with dlt's defaults for missing keys (docs/dlt.md §1.5)."""
        section = normalizers.get("json") or {}
        config = section.get("config") or {}
        propagation = config.get("propagation") or {}
        nesting = config.get("max_nesting")
        return cls(
            naming=normalizers.get("names") or DEFAULT_NAMING,
            module=section.get("module") or None,
            max_nesting=UNLIMITED_NESTING if nesting is None else nesting,
            root_key_propagation=config.get("root_key_propagation"),
            propagation_root=propagation.get("root") or {},
            propagation_tables=propagation.get("tables") or {},
            use_break_path_on_normalize=bool(normalizers.get("use_break_path_on_normalize", True)),
            detections=tuple(normalizers.get("detections") or ()),
        )


def is_normalizer(normalizers: Properties, name: str) -> bool:
    """Return whether a ``normalizers`` section names a JSON normalizer, by its path or by its bare name."""
    return str(NormalizerConfig.of(normalizers).module or "").rpartition(".")[2] == name


def with_propagation_tables(normalizers: Properties, tables: Mapping[str, Mapping[str, str]]) -> Properties:
    """Return a ``normalizers`` section under which these root tables pass on these columns (docs/dlt.md §5.5)."""
    section = normalizers.get("json") or {}
    config = section.get("config") or {}
    config = {**config, "propagation": {**(config.get("propagation") or {}), "tables": tables}}
    return {**normalizers, "json": {**section, "config": config}}
