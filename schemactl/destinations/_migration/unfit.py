"""The queries that count the values of a table that block a step, or do not come back, with examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from schemactl.destinations._migration.conversion import has_spellings
from schemactl.migration.records import MOST_EXAMPLES, Example, Unfit
from schemactl.migration.statements import Engine, Retype, retype_of
from schemactl.migration.steps import (
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    FoldVariant,
    SetNotNull,
    Step,
    Taken,
)

SHOWN_CHARACTERS = 200


def count_query(step: Step, table: str, keys: Sequence[str], engine: Engine) -> str | None:
    """Return the query of the values that block a step, as ``unfit_of`` reads it; None if no value can.

    ``table`` is the full name, ``keys`` are the columns that distinguish rows.
    """
    value_and_condition = _condition(step, table, engine)
    if value_and_condition is None:
        return None
    return _counting(*value_and_condition, table, keys, engine)


def overlap_query(step: FoldVariant, table: str, keys: Sequence[str], engine: Engine) -> str:
    """Return the query of the rows that hold values in both columns of a step; arguments as in ``count_query``."""
    source, target = engine.name(step.source.name), engine.name(step.target.name)
    return _counting(source, f"{source} IS NOT NULL AND {target} IS NOT NULL", table, keys, engine)


def _counting(value: str, condition: str, table: str, keys: Sequence[str], engine: Engine) -> str:
    """Return the query of the rows for which a condition holds, with a value of each."""
    key_texts = [f"CAST({engine.name(key)} AS {engine.text}) AS k{number}" for number, key in enumerate(keys)]
    column_list = ", ".join(
        ["count(*) OVER () AS unfit", f"{engine.shown(value, SHOWN_CHARACTERS)} AS shown", *key_texts]
    )
    bad = f"SELECT {column_list} FROM {table} WHERE {condition} LIMIT {MOST_EXAMPLES}"
    total = f"SELECT count(*) AS all_rows FROM {table}"
    return f"SELECT total.all_rows, bad.* FROM ({total}) AS total LEFT JOIN ({bad}) AS bad ON 1 = 1"


def undo_query(step: ChangeType, table: str, keys: Sequence[str], engine: Engine) -> str | None:
    """Return the query of the texts that an undo of a step changes: ``007`` becomes ``7``.

    ``undone_of`` reads its rows; None if all values come back. Arguments as in ``count_query``.
    """
    retype = retype_of(step)
    if not has_spellings(retype):
        return None
    name, back = engine.name(step.before.name), Retype(step.after, step.before, is_strict=False)
    undone = engine.convert(back, "made").or_null
    key_texts = "".join(f", CAST({engine.name(key)} AS {engine.text}) AS k{number}" for number, key in enumerate(keys))
    key_names = "".join(f", k{number}" for number in range(len(keys)))
    converted = engine.convert(retype, name).or_null
    # Each in a separate part: a conversion mentions its value many times.
    return (
        f"WITH converted AS MATERIALIZED (SELECT {name} AS given, {converted} AS made{key_texts} FROM {table} "
        f"WHERE {name} IS NOT NULL), "
        f"undone AS MATERIALIZED (SELECT given, {undone} AS again{key_names} FROM converted WHERE made IS NOT NULL), "
        f"other AS (SELECT count(*) OVER () AS unfit, {engine.shown('given', SHOWN_CHARACTERS)} AS shown, "
        f"{engine.shown('again', SHOWN_CHARACTERS)} AS again{key_names} FROM undone "
        f"WHERE coalesce(again <> given, TRUE) LIMIT {MOST_EXAMPLES}) "
        f"SELECT total.all_rows, other.* FROM (SELECT count(*) AS all_rows FROM {table}) AS total "
        "LEFT JOIN other ON 1 = 1"
    )


def undone_of(rows: Sequence[tuple[Any, ...]], keys: Sequence[str]) -> Unfit:
    """Return the result of an ``undo_query`` from its rows."""
    unfit = unfit_of([(*row[:3], *row[4:]) for row in rows], keys)
    examples = tuple(replace(example, becomes=row[3]) for example, row in zip(unfit.examples, rows, strict=False))
    return replace(unfit, examples=examples)


def _condition(step: Step, table: str, engine: Engine) -> tuple[str, str] | None:
    """Return the column, and the condition under which its value blocks the step."""
    match step:
        case ChangeType():
            name = engine.name(step.before.name)
        case Backfill(taken=Taken.FITTING):
            name = engine.name(step.source.name)
        case SetNotNull():
            name = engine.name(step.column.name)
            return name, f"{name} IS NULL"
        case AddUnique():
            name = engine.name(step.column)
            twice = f"SELECT {name} FROM {table} WHERE {name} IS NOT NULL GROUP BY {name} HAVING count(*) > 1"
            return name, f"{name} IN ({twice})"
        case AddPrimaryKey():
            # By its key, which has a null, or which another row has.
            names = [engine.name(name) for name in step.columns]
            name_list, is_null = ", ".join(names), " OR ".join(f"{name} IS NULL" for name in names)
            twice = f"SELECT {name_list} FROM {table} GROUP BY {name_list} HAVING count(*) > 1"
            texts = [f"coalesce(CAST({name} AS {engine.text}), 'null')" for name in names]
            value = names[0] if len(names) == 1 else " || ', ' || ".join(texts)
            return value, f"({is_null} OR ({name_list}) IN ({twice}))"
        case _:
            return None
    return name, f"{name} IS NOT NULL AND NOT coalesce({engine.convert(retype_of(step), name).fits}, FALSE)"


def unfit_of(rows: Sequence[tuple[Any, ...]], keys: Sequence[str]) -> Unfit:
    """Return the result of a ``count_query`` from its rows."""
    all_rows, count, *_ = rows[0]
    if not count:
        return Unfit(0, all_rows)
    examples = tuple(
        Example({name: str(value) for name, value in zip(keys, key, strict=True)}, text) for _, _, text, *key in rows
    )
    return Unfit(count, all_rows, examples)
