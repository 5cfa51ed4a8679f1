"""The statements of a step, for every engine that speaks SQL, whether it is connected or not.

An engine defines its SQL (``type_systems.ddl``), the types of columns, and how it converts values. If it runs a step in
a special way (it copies a table because it lacks an ALTER), the destination writes the statements and leaves the other
steps to ``render``. Nothing in a schema file can end a statement and begin another: names, types and values are checked
here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time
from typing import Any, Final, Protocol, assert_never

from schemactl.errors import InputError
from schemactl.migration.effects import apply_to_model
from schemactl.migration.steps import (
    AddColumn,
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    CreateTable,
    DescribeTable,
    DropColumn,
    DropNotNull,
    DropPrimaryKey,
    DropTable,
    DropUnique,
    FillColumn,
    FoldVariant,
    OnlineStep,
    RenameColumn,
    RenameTable,
    SetNotNull,
    Step,
    Taken,
)
from schemactl.schema.coercion import coerce, type_of
from schemactl.schema.conversions import Conversion as Verdict
from schemactl.schema.structure import DATABASE_TYPE, NameLimits, description_of
from schemactl.schema.types import Column, DataType, Properties, Table
from schemactl.type_systems.ddl import ColumnType, Dialect

COPY_PREFIX: Final = "_schemactl_copy_"
"""How the name of a table begins that takes another one's rows and then its name."""

_NEW_COLUMN: Final = "__new_"


@dataclass(frozen=True, slots=True)
class Retype:
    """A conversion of the values of a column.

    Attributes:
        counts_seconds: whether numbers are seconds since 1970.
        is_strict: whether a value that loses digits, its time of day ... is refused.
    """

    before: Column
    after: Column
    counts_seconds: bool = False
    is_strict: bool = True


def retype_of(step: ChangeType | Backfill) -> Retype:
    """Return the retype of a step; digits may be lost if its verdict is that every value survives."""
    before, after = (step.before, step.after) if isinstance(step, ChangeType) else (step.source, step.target)
    return Retype(before, after, step.counts_seconds, is_strict=step.conversion is not Verdict.WHOLE)


class Conversion(Protocol):
    """The expressions of a value that is converted."""

    @property
    def fits(self) -> str:
        """The condition that the value survives."""
        ...

    @property
    def value(self) -> str:
        """The value in its new type; it fails if the value does not survive."""
        ...

    @property
    def or_null(self) -> str:
        """The value in its new type, null if it does not survive, and of a null."""
        ...


@dataclass(frozen=True, slots=True)
class CastOnly:
    """A conversion by the engine's own casts, which decide which values survive."""

    source: str
    kind: str

    @property
    def fits(self) -> str:
        return f"{self.or_null} IS NOT NULL"

    @property
    def value(self) -> str:
        return f"CAST({self.source} AS {self.kind})"

    @property
    def or_null(self) -> str:
        return f"TRY_CAST({self.source} AS {self.kind})"


@dataclass(frozen=True, slots=True)
class Engine:
    """The rules of one engine's statements.

    Attributes:
        sql: how it spells SQL.
        type_of: a column's type, checked.
        convert: how a value, not null, is converted.
        parts_of: the qualifiers of a table in a dataset.
        cast_type: the type that a text is cast to for a column; None if assignments convert texts.
        new_parts: the qualifiers of the new name of a renamed table.
        made_as: the end of the definition of a table.
        text: the type of texts.
        casts_nulls: whether conversions accept nulls.
        converts_in_place: whether a change of a type takes an expression of the values.
    """

    sql: Dialect
    type_of: ColumnType
    convert: Callable[[Retype, str], Conversion]
    limits: NameLimits = field(default_factory=NameLimits)
    parts_of: Callable[[str], Sequence[str]] = lambda dataset: (dataset,)
    cast_type: ColumnType | None = None
    new_parts: Sequence[str] = ()
    made_as: str = ""
    text: str = "VARCHAR"
    casts_nulls: bool = False
    converts_in_place: bool = False

    def shown(self, value: str, characters: int) -> str:
        """Return the start of a value, as the database writes it."""
        return f"substr(CAST({value} AS {self.text}), 1, {characters})"

    def checked(self, name: str) -> str:
        """Return a name unchanged, after checking that it can be a name."""
        try:
            name.encode()
        except UnicodeEncodeError:
            raise InputError(f"{name!r} cannot name anything: it is not Unicode") from None
        if not name or "\0" in name:
            raise InputError(f"{name!r} cannot name anything in a database")
        if len(f"{name}.".splitlines()) > 1:  # it would begin a line of a script as a separate statement
            hint = "rename it, or use a naming convention such as `snake_case`"
            raise InputError(f"{name!r} has a line break, which is not allowed in SQL", hint=hint)
        if self.limits.is_too_long(name):
            raise InputError(f"`{name}` is longer than {self.limits.max_bytes} bytes, the limit of the destination")
        return name

    def name(self, name: str) -> str:
        """Return a name, quoted and checked."""
        return self.sql.quote(self.checked(name))

    def table(self, dataset: str, name: str) -> str:
        """Return a table's full name."""
        return ".".join(self.name(identifier) for identifier in (*self.parts_of(dataset), name))

    def definition(self, column: Column, *, is_unique: bool = False) -> str:
        """Return the definition of a column."""
        self.checked(column.name)
        return self.sql.definition(column, self.type_of(column), is_unique=is_unique)


def render(  # noqa: C901, PLR0911, PLR0912 - a case for each step
    step: Step, table: Table | None, engine: Engine, dataset: str = ""
) -> tuple[str, ...]:
    """Return the statements of a step."""
    sql, target = engine.sql, engine.table(dataset, step.table_name)
    match step:
        case CreateTable() if step.kept:
            return render(RenameTable(step.kept, step.table.name), None, engine, dataset)
        case DropTable() if step.kept:
            return render(RenameTable(step.table.name, step.kept), None, engine, dataset)
        case CreateTable():
            return (create_table(engine, dataset, step.table),)
        case DropTable():
            return (f"DROP TABLE {target}",)
        case RenameTable():
            return (sql.rename_table(target, *engine.new_parts, engine.checked(step.after)),)
        case DescribeTable():
            return tuple(_describe(step, column, text, table, engine, target) for column, text in checked_texts(step))
        case AddColumn():
            return (sql.add_column(target, engine.definition(step.column)),)
        case DropColumn():
            return (sql.alter(target, f"DROP COLUMN {engine.name(step.column.name)}"),)
        case RenameColumn():
            return (sql.rename_column(target, engine.checked(step.before), engine.checked(step.after)),)
        case ChangeType():
            value = engine.convert(retype_of(step), engine.name(step.before.name)).value
            return (change_type(step, engine, dataset, value if engine.converts_in_place else "", table),)
        case Backfill() | FillColumn():
            assignment = assignment_of(step, replace(engine, sql=sql.of_rows), table)
            return (sql.of_rows.update(target, assignment.column, assignment.value, assignment.condition),)
        case SetNotNull() | DropNotNull():
            column = step.column if table is None else table.columns.get(step.column.name, step.column)
            name = engine.checked(step.column.name)
            after = Column(name, {"nullable": isinstance(step, DropNotNull), **_description(name, table)})
            return (sql.change_nulls(target, after, engine.type_of(column) if sql.restates_columns else ""),)
        case AddUnique():
            return (sql.alter(target, f"ADD UNIQUE ({engine.name(step.column)})"),)
        case DropUnique():
            return (sql.alter(target, f"DROP UNIQUE ({engine.name(step.column)})"),)
        case AddPrimaryKey():
            return (sql.alter(target, f"ADD {sql.primary_key(map(engine.checked, step.columns))}"),)
        case DropPrimaryKey():
            return (sql.alter(target, "DROP PRIMARY KEY"),)
        case OnlineStep():
            raise InputError("the destination does not support `--online`")
        case _:
            assert_never(step)


def create_table(engine: Engine, dataset: str, table: Table, *, with_keys: bool = False) -> str:
    """Return the statement that makes a table, with its keys if requested."""
    parts = [
        engine.definition(column, is_unique=with_keys and bool(column.properties.get("unique")))
        for column in table.columns.values()
    ]
    if with_keys and (primary := table.hinted("primary_key")):
        parts.append(engine.sql.primary_key(primary))
    return engine.sql.create_table(engine.table(dataset, table.name), parts) + engine.made_as


def change_type(step: ChangeType, engine: Engine, dataset: str, using: str = "", table: Table | None = None) -> str:
    """Return the statement that changes a column's type: by an expression of its values, or by the engine's own cast.

    Engines that lose the description with the type take it from ``table``.
    """
    name, kind = engine.checked(step.before.name), engine.type_of(step.after)
    after = Column(name, {"nullable": step.before.nullable, **_description(name, table)})
    return engine.sql.change_type(engine.table(dataset, step.table), after, kind, using)


def _description(column: str, table: Table | None) -> Properties:
    current_column = table.columns.get(column) if table is not None else None
    text = None if current_column is None else description_of(current_column)
    return {} if text is None else {"description": text}


def checked_texts(step: DescribeTable) -> tuple[tuple[str, str | None], ...]:
    """Return the descriptions that a step sets, by column, the table's under the empty name."""
    for column, text in step.after.items():
        if text is not None and (not isinstance(text, str) or not text or "\0" in text):
            raise InputError(f"the description of `{step.table}{column and '.'}{column}` is not text: {text!r}")
    return tuple(step.after.items())


def _describe(
    step: DescribeTable, column: str, text: str | None, table: Table | None, engine: Engine, target: str
) -> str:
    if not column:
        return engine.sql.describe(target, None, text)
    named_column = Column(engine.checked(column))
    if not engine.sql.states_types:
        return engine.sql.describe(target, named_column, text)
    if table is None:
        raise InputError(f"there is no table `{step.table}` to describe")
    return engine.sql.describe(target, table.columns[column], text, engine.type_of(table.columns[column]))


# --- values ---


@dataclass(frozen=True, slots=True)
class Assignment:
    """The value that a step writes into a column of stored rows, as SQL.

    Attributes:
        column: the column, quoted.
        condition: of the rows that get it.
    """

    column: str
    value: str
    condition: str


def assignment_of(
    step: Backfill | FillColumn, engine: Engine, table: Table | None, values: Mapping[str, str] | None = None
) -> Assignment:
    """Return the assignment of a step: with the columns themselves, or with the SQL of their values by then."""

    def value_of(column: str) -> str:
        return engine.name(column) if values is None else values[column]

    if isinstance(step, FillColumn):
        into = value_of(step.column.name)
        return Assignment(into, constant(step.value, step.column, engine), f"{into} IS NULL")
    source, into = value_of(step.source.name), value_of(step.target.name)
    if step.taken is Taken.UNFIT:
        filled = value_of(new_column(step, table if values is None else values))
        return Assignment(into, source, f"{source} IS NOT NULL AND {filled} IS NULL")
    if step.taken is Taken.NONE:
        return Assignment(into, "NULL", f"{source} IS NOT NULL")
    # A run that was killed may have folded before.
    condition = f"{source} IS NOT NULL" + (f" AND {into} IS NULL" if isinstance(step, FoldVariant) else "")
    return Assignment(into, engine.convert(retype_of(step), source).or_null, condition)


def new_column(step: Backfill, candidates: Iterable[str] | Table | None) -> str:
    """Return the column that took the values which fit: the last one that was made for the source."""
    columns = candidates.columns if isinstance(candidates, Table) else candidates or ()
    for name in reversed(tuple(columns)):
        start, mark, number = name.rpartition(_NEW_COLUMN)
        if mark and number.isdecimal() and step.source.name.casefold().startswith(start.casefold()):
            return name
    raise InputError(f"the new column of `{step.table}.{step.source.name}` is unknown")


def constant(value: Any, column: Column, engine: Engine) -> str:
    """Return a value, as dlt would store it in a column, as an expression."""
    kind = column.data_type
    if kind is None and DATABASE_TYPE in column.properties:
        kind = DataType.TEXT  # which the engine converts to its own type
    if kind is None:
        raise InputError(f"column `{column.name}` has no type")
    try:
        stored = coerce(value, type_of(value), kind)
    except (ValueError, TypeError) as error:
        raise InputError(f"{value!r} is not a value for column `{column.name}` of type `{kind}`") from error
    if isinstance(stored, bytes):
        return engine.sql.binary(stored)
    text = _text(stored, column, is_cast=engine.cast_type is not None)
    if "\0" in text:
        raise InputError(f"the value for column `{column.name}` contains a NUL character")
    if engine.cast_type is None and kind is DataType.BOOL:
        return str(int(stored))
    if column.data_type is DataType.TEXT or engine.cast_type is None:
        return engine.sql.text(text)  # a cast would cut it
    return f"CAST({engine.sql.text(text)} AS {engine.cast_type(column)})"


def _text(stored: Any, column: Column, *, is_cast: bool) -> str:
    """Return the text of a value to cast, or as dlt's loader stores it, since engines may store it unchanged."""
    if column.data_type is DataType.JSON:
        return json.dumps(stored, separators=(",", ":") if is_cast else None)
    digits = "auto" if is_cast else "microseconds"
    match stored:
        case bool():
            return "true" if stored else "false"
        case datetime():
            moment = stored.replace(tzinfo=UTC) if stored.tzinfo is None else stored.astimezone(UTC)
            is_zoned = is_cast and not column.is_naive
            return (moment if is_zoned else moment.replace(tzinfo=None)).isoformat(" ", digits)
        case time():
            return stored.isoformat(digits)
        case date():
            return stored.isoformat()
        case _:
            return str(stored)


# --- copies ---

Written = AddColumn | ChangeType | Backfill | FillColumn
"""Steps after which a column holds other values, or is new."""


def values_after(steps: Sequence[Step], table: Table, engine: Engine) -> dict[str, str]:
    """Return the columns after some steps, each with its value as SQL, in their order."""
    values = {column: engine.name(column) for column in table.columns}
    for step in steps:
        match step:
            case DropColumn():
                del values[step.column.name]
            case RenameColumn():
                values = {step.after if name == step.before else name: value for name, value in values.items()}
            case AddColumn():
                values[step.column.name] = f"CAST(NULL AS {engine.type_of(step.column)})"
            case FillColumn():
                filled = assignment_of(step, engine, table, values)
                values[step.column.name] = f"coalesce({filled.column}, {filled.value})"
            case ChangeType():
                values[step.before.name] = convert_nulls_too(step, values[step.before.name], engine)
            case Backfill():
                assignment = assignment_of(step, engine, table, values)
                chosen = f"CASE WHEN {assignment.condition} THEN {assignment.value} ELSE {assignment.column} END"
                values[step.target.name] = chosen
            case _:
                pass
    return values


def convert_nulls_too(step: ChangeType, value: str, engine: Engine) -> str:
    """Return a conversion of values that may be null."""
    converted = engine.convert(retype_of(step), value).value
    return converted if engine.casts_nulls else f"CASE WHEN {value} IS NULL THEN NULL ELSE {converted} END"


def by_one_copy(
    steps: Sequence[Step], engine: Engine, dataset: str, table: Table | None, *, prefix: str = COPY_PREFIX
) -> tuple[str, ...]:
    """Return the statements that copy a table into one that is as steps about its columns leave it."""
    if table is None:
        raise InputError(f"there is no table `{steps[0].table_name}` to copy")
    tables = {table.name: table}
    apply_to_model(tables, steps)
    copy = replace(tables[table.name], name=prefix + table.name)
    values = values_after(steps, table, engine)
    column_list = ", ".join(engine.name(column) for column in values)
    old, new = engine.table(dataset, table.name), engine.table(dataset, copy.name)
    return (
        create_table(engine, dataset, copy, with_keys=True),
        f"INSERT INTO {new} ({column_list}) SELECT {', '.join(values.values())} FROM {old}",
        f"DROP TABLE {old}",
        engine.sql.rename_table(new, *engine.new_parts, engine.checked(table.name)),
    )


def is_keyed(column: Column, table: Table | None = None) -> bool:
    """Return whether a column is unique or in a primary key, in the step or in the table before it."""
    versions = (column, table.columns.get(column.name, column) if table else column)
    return any(version.properties.get("unique") or version.properties.get("primary_key") for version in versions)


# --- types ---

_PART_OF_TYPE: Final = re.compile(r"""[A-Za-z0-9_ .:<>\[\]]+|"(?:[^"\0]|"")*"|'(?:[^'\\\0]|'')*'|[(),]""")


def checked_type(column: Column, column_type: ColumnType) -> str:
    """Return a column's type."""
    for name in ("precision", "scale"):
        size = column.properties.get(name)
        if size is not None and (isinstance(size, bool) or not isinstance(size, int)):
            raise InputError(f"`{name}` of column `{column.name}` is not an integer: {size!r}")
    try:
        written = column_type(column)
    except ValueError as error:
        raise InputError(str(error)) from error
    if DATABASE_TYPE in column.properties and not _is_type(written):
        raise InputError(f"`{DATABASE_TYPE}` of column `{column.name}` is not a type: `{written}`")
    return written


def _is_type(written: str) -> bool:
    """Return whether a text stays within its place: brackets are closed, and no comma is outside of them."""
    depth = position = 0
    while position < len(written):
        match = _PART_OF_TYPE.match(written, position)
        if match is None:
            return False
        position = match.end()
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth < 0 or (match[0] == "," and depth == 0):
            return False
    return depth == 0
