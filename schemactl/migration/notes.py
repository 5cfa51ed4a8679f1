"""What a plan leaves alone, and says so."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class NoteKind(StrEnum):
    """What a note is about."""

    DRIFT = "drift"
    """The destination has it, and no schema that is known; it is left alone."""
    LEFT_OUT = "left out"
    """The schema has it no more; to drop it loses data, which nobody has allowed."""
    KEPT = "kept"
    """An old column that an earlier plan kept beside its successor."""
    STAYS = "stays"
    """What hangs on a column stays with it when another one takes its name."""
    WAITS = "waits"
    """The schema has it, and dlt makes it when data comes; so does schemactl."""
    RENAME = "rename"
    """Something is gone and something is new that looks like it; nothing says that it is the same."""
    NULLABLE = "nullable"
    """A column is added as nullable, although the schema says otherwise: stored rows have no value."""
    PRIMARY_KEY = "primary key"
    """A primary key, or that nulls are allowed, is not planned: no column of a key may be null."""
    VARIANT = "variant"
    """A variant column that the schema does not know yet takes values."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something to report beside the steps.

    Attributes:
        table, column: where; no column for a whole table.
        message: what is so, names in backquotes.
        hint: what can be done about it; may be empty.
    """

    kind: NoteKind
    table: str
    column: str | None
    message: str
    hint: str = ""
