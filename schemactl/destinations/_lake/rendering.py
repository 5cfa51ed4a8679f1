"""Steps of migrations of tables on files, as people read SQL: nothing runs these statements, they say what is done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from schemactl.errors import InputError
from schemactl.migration import statements
from schemactl.migration.abilities import Abilities, writes_all
from schemactl.migration.effects import apply_to_model
from schemactl.migration.statements import CastOnly, Engine
from schemactl.migration.steps import DescribeTable, Step
from schemactl.schema.ddl import Dialect
from schemactl.schema.structure import DATABASE_TYPE, NameLimits
from schemactl.schema.types import Column, DataType, Table

REWRITES: Final = "-- rewrites the files"
"""What follows a statement that writes all rows anew."""


def render(step: Step, table: Table | None, dataset: str, abilities: Abilities) -> tuple[str, ...]:  # noqa: ARG001
    """Return a step as one statement with dlt's types; ``dataset`` is not shown. See ``destinations.Migrator``.

    Raises:
        InputError: a name, a type or a value cannot be written.
    """
    found = statements.render(step, table, _engine(abilities.names))
    is_rewritten = not isinstance(step, DescribeTable) and writes_all(step, abilities)
    return tuple(f"{statement} {REWRITES}" for statement in found) if is_rewritten else found


def render_together(steps: Sequence[Step], table: Table, names: NameLimits) -> tuple[str, ...]:
    """Return what writing a table's rows anew once does for several steps, as one statement.

    Columns may be new between the steps; ``table`` is as the first of them finds it.

    Raises:
        InputError: a name, a type or a value cannot be written.
    """
    engine, after = _engine(names), {table.name: table}
    apply_to_model(after, steps)
    columns = after[table.name].columns
    values = statements.values_after(steps, table, engine)
    # A type that only a database knows is called as the database calls it.
    kinds = {name: columns[name].properties.get(DATABASE_TYPE) or type_words(columns[name]) for name in values}
    listed = ", ".join(engine.sql.definition(columns[name], str(kind)) for name, kind in kinds.items())
    place = engine.name(table.name)
    rows = f"SELECT {', '.join(values.values())} FROM {place}"
    return (f"CREATE OR REPLACE TABLE {place} ({listed}) AS {rows} {REWRITES}",)


def _engine(names: NameLimits) -> Engine:
    return Engine(
        Dialect(""),
        type_words,
        lambda retype, value: CastOnly(value, type_words(retype.after)),
        names,
        parts_of=lambda _: (),
        cast_type=type_words,
        casts_nulls=True,
    )


def type_words(column: Column) -> str:
    """Return a column's type in dlt's words.

    >>> type_words(Column("total", {"data_type": "decimal", "precision": 10, "scale": 2}))
    'decimal(10, 2)'

    Raises:
        InputError: it has none, or one that only a database knows, or its sizes are no numbers.
    """
    properties = column.properties
    if DATABASE_TYPE in properties or column.data_type is None:
        raise InputError(f"column `{column.name}` has no type of dlt's")
    sizes = [properties[name] for name in ("precision", "scale") if properties.get(name) is not None]
    if any(isinstance(size, bool) or not isinstance(size, int) for size in sizes):
        raise InputError(f"a size of column `{column.name}` is no integer: {sizes!r}")
    listed = f"({', '.join(map(str, sizes))})" if sizes else ""
    is_naive = column.data_type is DataType.TIMESTAMP and properties.get("timezone") is False
    return f"{column.data_type}{listed}{' without time zone' if is_naive else ''}"
