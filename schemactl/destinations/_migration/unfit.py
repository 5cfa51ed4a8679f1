"""The query that counts what of a table's data stands in a step's way, with examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from schemactl.destinations._migration.records import MOST_EXAMPLES, Example, Unfit
from schemactl.destinations._migration.rendering import Dialect, retype_of
from schemactl.migration.steps import AddPrimaryKey, AddUnique, Backfill, ChangeType, SetNotNull, Step, Taken

_SHOWN_CHARACTERS = 200


def count_query(step: Step, column: str | None, table: str, keys: Sequence[str], dialect: Dialect) -> str | None:
    """Return the query; None where no data can stand in the step's way.

    Args:
        step: what is to be done.
        column: the name of its column now, where it is another one than the step finds.
        table: the table's full name now.
        keys: names of the columns that tell rows apart.
        dialect: of the database.

    Returns:
        A query whose rows ``unfit_of`` reads.
    """
    found = _condition(step, column, table, dialect)
    if found is None:
        return None
    value, condition = found
    shown = [f"CAST({dialect.name(key)} AS {dialect.text}) AS k{number}" for number, key in enumerate(keys)]
    listed = ", ".join(["count(*) OVER () AS unfit", f"{dialect.shown(value, _SHOWN_CHARACTERS)} AS shown", *shown])
    bad = f"SELECT {listed} FROM {table} WHERE {condition} LIMIT {MOST_EXAMPLES}"
    total = f"SELECT count(*) AS all_rows FROM {table}"
    return f"SELECT total.all_rows, bad.* FROM ({total}) AS total LEFT JOIN ({bad}) AS bad ON 1 = 1"


def _condition(step: Step, column: str | None, table: str, dialect: Dialect) -> tuple[str, str] | None:
    """Return the column, and the condition under which its value stands in the way."""
    match step:
        case ChangeType():
            name = dialect.name(column or step.before.name)
        case Backfill(taken=Taken.FITTING):
            name = dialect.name(column or step.source.name)
        case SetNotNull():
            name = dialect.name(column or step.column.name)
            return name, f"{name} IS NULL"
        case AddUnique():
            name = dialect.name(column or step.column)
            twice = f"SELECT {name} FROM {table} WHERE {name} IS NOT NULL GROUP BY {name} HAVING count(*) > 1"
            return name, f"{name} IN ({twice})"
        case AddPrimaryKey():
            return _of_key([dialect.name(name) for name in step.columns], table, dialect)
        case _:
            return None
    return name, f"{name} IS NOT NULL AND NOT coalesce({dialect.fits(retype_of(step), name)}, FALSE)"


def _of_key(names: Sequence[str], table: str, dialect: Dialect) -> tuple[str, str]:
    """Return what tells a row by its key, and the condition that the key has a null, or another row has it."""
    listed, is_null = ", ".join(names), " OR ".join(f"{name} IS NULL" for name in names)
    twice = f"SELECT {listed} FROM {table} GROUP BY {listed} HAVING count(*) > 1"
    shown = [f"coalesce(CAST({name} AS {dialect.text}), 'null')" for name in names]
    value = names[0] if len(names) == 1 else " || ', ' || ".join(shown)
    return value, f"({is_null} OR ({listed}) IN ({twice}))"


def unfit_of(rows: Sequence[tuple[Any, ...]], keys: Sequence[str]) -> Unfit:
    """Return what the rows of a ``count_query`` say."""
    all_rows, count, *_ = rows[0]
    if not count:
        return Unfit(0, all_rows)
    examples = tuple(
        Example({name: str(value) for name, value in zip(keys, key, strict=True)}, shown) for _, _, shown, *key in rows
    )
    return Unfit(count, all_rows, examples)
