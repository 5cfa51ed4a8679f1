"""The severities of a change for readers, writers and stored rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Severity(StrEnum):
    """The severity of a change on one axis; ``DEPENDS`` is decided by rows, and a warning until they are counted."""

    NONE = "none"
    INFO = "info"
    DEPENDS = "depends"
    WARN = "warn"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """The higher the worse; ``DEPENDS`` counts as ``WARN``."""
        return _RANKS[self]


_RANKS: Final = {Severity.NONE: 0, Severity.INFO: 1, Severity.DEPENDS: 2, Severity.WARN: 2, Severity.ERROR: 3}


class Direction(StrEnum):
    """The effect of a change on the set of data that fits the schema."""

    TIGHTENS = "tightens"
    LOOSENS = "loosens"
    BOTH = "both"
    UNDETERMINED = "undetermined"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Impact:
    """The severity of a change for readers, writers and stored rows.

    Attributes:
        readers: queries and programs that read the tables and know the base schema.
        writers: pipelines that still write by the base schema.
        data: the rows that are stored already.
    """

    readers: Severity = Severity.NONE
    writers: Severity = Severity.NONE
    data: Severity = Severity.NONE

    @property
    def by_axis(self) -> Mapping[str, Severity]:
        """The three severities by their names."""
        return {"readers": self.readers, "writers": self.writers, "data": self.data}


BREAKS_ALL: Final = Impact(readers=Severity.ERROR, writers=Severity.ERROR, data=Severity.ERROR)
BREAKS_NOBODY: Final = Impact(readers=Severity.INFO, writers=Severity.INFO)
