"""What several steps make of a table's columns at once: the value of each column, of those before the first step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from schemactl.migration.steps import (
    AddColumn,
    Backfill,
    ChangeType,
    DropColumn,
    FillColumn,
    RenameColumn,
    Step,
)
from schemactl.schema.types import Table

Written = AddColumn | ChangeType | Backfill | FillColumn
"""Steps after which a column holds other values, or is new."""

Write = Callable[[Written, Mapping[str, str]], str]
"""Returns the value that a step writes, given those of all columns, by the names that the step finds."""


def composed(
    steps: Sequence[Step], table: Table, name: Callable[[str], str], write: Write
) -> tuple[tuple[str, str], ...]:
    """Return the columns after some steps, each with its value as SQL, in their order.

    Args:
        steps: about columns of one table, in their order; those about nulls leave the values as they are.
        table: as the first of them finds it.
        name: quotes a column's name.
        write: of the engine.
    """
    values = {column: name(column) for column in table.columns}
    for step in steps:
        match step:
            case DropColumn():
                del values[step.column.name]
            case RenameColumn():
                values = {step.after if each == step.before else each: value for each, value in values.items()}
            case AddColumn() | FillColumn():
                values[step.column.name] = write(step, values)
            case ChangeType():
                values[step.before.name] = write(step, values)
            case Backfill():
                values[step.target.name] = write(step, values)
            case _:
                pass
    return tuple(values.items())
