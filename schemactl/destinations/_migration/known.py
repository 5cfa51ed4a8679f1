"""What an open transaction has found out about values: the retypes of which every value goes well.

Where nobody else writes, a guarded retype costs several times the cast itself: a migration looks at all values before
its first step, in the transaction that then converts them. What was found holds until a step writes such values, and
under the new names once a step renames a table or a column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from schemactl.migration.steps import (
    Backfill,
    ChangeType,
    DropColumn,
    DropTable,
    FillColumn,
    RenameColumn,
    RenameTable,
    Step,
    table_of,
)


@dataclass(frozen=True, slots=True)
class Unguarded:
    """A retype where every value goes well.

    Attributes:
        query: gives no row where every value goes well.
        statements: do the step.
    """

    query: str
    statements: tuple[str, ...]


class Known:
    """What a transaction has found out; nothing where none is open."""

    def __init__(self) -> None:
        self._steps: list[ChangeType] | None = None

    @property
    def is_open(self) -> bool:
        """Whether a transaction is open, in which what was found stays true."""
        return self._steps is not None

    def begin(self) -> None:
        """Take note from now on."""
        self._steps = []

    def end(self) -> None:
        """Forget all: others may write."""
        self._steps = None

    def note(self, step: ChangeType) -> None:
        """Take note that every value of a step goes well."""
        if self._steps is not None:
            self._steps.append(step)

    def holds(self, step: Step) -> bool:
        """Return whether every value of a step is known to go well."""
        return self._steps is not None and step in self._steps

    def follow(self, step: Step) -> None:
        """Forget what a step that has run may have changed, and take over the names that it has given."""
        if self._steps is not None:
            self._steps = [after for each in self._steps if (after := _after(each, step)) is not None]


def _after(known: ChangeType, step: Step) -> ChangeType | None:
    """Return what is known of a retype once a step has run; None where the step may have changed its values."""
    if not _is_same(known.table, table_of(step)):
        return known
    match step:
        case RenameTable():
            return replace(known, table=step.after)
        case RenameColumn() if _is_same(known.before.name, step.before):
            before, after = (replace(column, name=step.after) for column in (known.before, known.after))
            return replace(known, before=before, after=after)
        case DropTable():
            return None
        case _:
            written = _written(step)
            return None if written is not None and _is_same(known.before.name, written) else known


def _written(step: Step) -> str | None:
    """Return the column of which a step writes the values, or drops them; None where it leaves all as they are."""
    match step:
        case ChangeType():
            return step.before.name
        case Backfill():
            return step.target.name
        case FillColumn() | DropColumn():
            return step.column.name
        case _:
            return None


def _is_same(name: str, other: str) -> bool:
    return name.casefold() == other.casefold()
