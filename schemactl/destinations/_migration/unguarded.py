"""Retypes with a guard, which fail on a value that does not survive; and without, where a look has found none.

Where nobody else writes and a guard costs several times the conversion itself, a migration looks at all values before
its first step, in the transaction that then converts them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from schemactl.destinations._migration.rendering import Dialect, convert_nulls_too, retype_of
from schemactl.destinations._migration.words import FALSE, TRUE, Converted
from schemactl.migration.steps import ChangeType


@dataclass(frozen=True, slots=True)
class Unguarded:
    """A retype where every value goes well.

    Attributes:
        query: gives no row where every value goes well.
        statements: do the step.
    """

    query: str
    statements: tuple[str, ...]


Once = Callable[[str, Callable[[str], str]], str]
"""Returns an expression that mentions a value many times, in the way that costs least."""


def _plainly(value: str, body: Callable[[str], str]) -> str:
    return body(value)


def guarded_value(step: ChangeType, dialect: Dialect, once: Once = _plainly) -> str:
    """Return what a column's values become; what does not survive fails.

    Args:
        step: the retype.
        dialect: of the database.
        once: how its ALTER TABLE mentions a column.
    """
    name = dialect.name(step.before.name)
    found = _converted(step, dialect)
    if found is not None and TRUE in (found.goes_well, found.first):
        return found.quick

    def convert(each: str) -> str:
        value = dialect.value(retype_of(step), each)
        return convert_nulls_too(each, value) if found is None or found.first == FALSE else value

    return once(name, convert)


def tell_quick(value: str, step: ChangeType, dialect: Dialect, run: Callable[[str], str]) -> str:
    """Return a guarded value with a comment: what is run in its place where a look finds that every value goes well.

    Args:
        value: the guarded one.
        step: the retype.
        dialect: of the database.
        run: how it is run.
    """
    quick = quick_value(step, dialect)
    if quick is None or quick == value or "/*" in quick or "*/" in quick:  # a name could end the comment
        return value
    return f"{value} /* {run(quick)} where a look at all values finds that it gives the same */"


def quick_value(step: ChangeType, dialect: Dialect) -> str | None:
    """Return what a column's values become where every one goes well; None where a look would say nothing."""
    found = _converted(step, dialect)
    return None if found is None or found.goes_well == TRUE else found.quick


def look(step: ChangeType, dialect: Dialect, dataset: str) -> str:
    """Return the query that gives a row where not every value goes well."""
    name = dialect.name(step.before.name)
    found = _converted(step, dialect)
    well, usual = (found.goes_well, found.usual) if found else (FALSE, FALSE)
    # As a part of its own, the quick condition is the one that a database asks first.
    table, is_odd = dialect.table(dataset, step.table), f"{name} IS NOT NULL AND NOT coalesce({well}, FALSE)"
    if usual == FALSE:
        return f"SELECT 1 FROM {table} WHERE {is_odd} LIMIT 1"
    # Apart, so that the quick condition alone is asked of most values: beside another one it costs twice as much.
    rare = f"SELECT {name} FROM {table} WHERE ({usual}) IS NOT TRUE AND {name} IS NOT NULL"
    return f"WITH rare AS MATERIALIZED ({rare}) SELECT 1 FROM rare WHERE {is_odd} LIMIT 1"


def _converted(step: ChangeType, dialect: Dialect) -> Converted | None:
    """Return the conversion where it has a quick form."""
    if dialect.converted is None:
        return None
    found = dialect.converted(retype_of(step), dialect.name(step.before.name))
    return found if found.quick else None
