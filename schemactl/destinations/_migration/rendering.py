"""The statements of a step for a database with ALTER TABLE; what it lacks, it does by copying the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, assert_never

from schemactl.destinations import _ddl
from schemactl.destinations._migration.constants import constant
from schemactl.destinations._migration.conversion import Retype
from schemactl.destinations._migration.ddl import checked_texts, quoted
from schemactl.errors import InputError
from schemactl.migration.effects import effect
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
    DropTable,
    FillColumn,
    RenameColumn,
    RenameTable,
    SetNotNull,
    Step,
    Taken,
    primary_key,
    table_of,
)
from schemactl.schema.conversions import Conversion as Verdict
from schemactl.schema.structure import NameLimits
from schemactl.schema.types import Column, Table

COPY_PREFIX = "_schemactl_copy_"
"""How the name of a table begins that takes another one's rows and then its name."""

_NEW_COLUMN = "__new_"


class Conversion(Protocol):
    """The expressions of a value that is converted; see ``conversion.Converted``."""

    @property
    def fits(self) -> str: ...

    @property
    def value(self) -> str: ...

    @property
    def or_null(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one database's statements need.

    Attributes:
        limits: what it makes of names.
        type_of: a column's type, checked.
        convert: how a value, not null, is converted.
        unhex: bytes of a text of hexadecimal digits.
        text: the type of texts.
        sql: sqlglot's name for its SQL.
    """

    limits: NameLimits
    type_of: Callable[[Column], str]
    convert: Callable[[Retype, str], Conversion]
    unhex: Callable[[str], str]
    text: str
    sql: str

    def shown(self, value: str, characters: int) -> str:
        """Return the start of a value, as the database writes it."""
        return f"substr(CAST({value} AS {self.text}), 1, {characters})"

    def name(self, name: str) -> str:
        """Return a name, quoted and checked."""
        return quoted(name, self.limits)

    def checked(self, name: str) -> str:
        """Return a name as it is, once it is known that it can be one; what writes trees quotes it."""
        self.name(name)
        return name

    def table(self, dataset: str, name: str) -> str:
        """Return a table's full name."""
        return f"{self.name(dataset)}.{self.name(name)}"


def retype_of(step: ChangeType | Backfill) -> Retype:
    """Return what a step converts; digits may be lost where its verdict says that every value survives."""
    before, after = (step.before, step.after) if isinstance(step, ChangeType) else (step.source, step.target)
    return Retype(before, after, step.counts_seconds, is_strict=step.conversion is not Verdict.WHOLE)


def alter(dialect: Dialect, dataset: str, table: str, action: str) -> str:
    """Return ``ALTER TABLE`` with an action that converts values, whose names are quoted."""
    return _ddl.alter_table(dialect.checked(dataset), dialect.checked(table), action, dialect.sql)


def create_table(dialect: Dialect, dataset: str, table: Table, *, with_keys: bool = False) -> str:
    """Return the statement that makes a table, with its keys where they are asked for."""
    columns = list(table.columns.values())
    for name in (dataset, table.name, *table.columns):
        dialect.checked(name)
    primary = primary_key(table) if with_keys else ()
    return _ddl.create_table(
        dataset,
        table.name,
        columns,
        dialect.type_of,
        dialect.sql,
        is_unique=with_keys,
        primary_key=primary,
    )


def render_of_table(
    step: CreateTable | DropTable | RenameTable | DescribeTable, dialect: Dialect, dataset: str
) -> tuple[str, ...]:
    """Return the statements of a step about a whole table."""
    dialect.checked(dataset)
    match step:
        case CreateTable() if step.kept:
            return render_of_table(RenameTable(step.kept, step.table.name), dialect, dataset)
        case DropTable() if step.kept:
            return render_of_table(RenameTable(step.table.name, step.kept), dialect, dataset)
        case CreateTable():
            return (create_table(dialect, dataset, step.table),)
        case DropTable():
            return (_ddl.drop_table(dataset, dialect.checked(step.table.name), dialect.sql),)
        case RenameTable():
            before, after = dialect.checked(step.before), dialect.checked(step.after)
            return (_ddl.rename_table(dataset, before, after, dialect.sql),)
        case DescribeTable():
            place = dialect.table(dataset, step.table)
            return tuple(
                _ddl.comment_on(place, column and dialect.name(column), text) for column, text in checked_texts(step)
            )
        case _:
            assert_never(step)


def render_of_column(step: AddColumn | DropColumn | RenameColumn, dialect: Dialect, dataset: str) -> tuple[str, ...]:
    """Return the statements of a step that adds, drops or renames a column."""
    place = dialect.checked(dataset), dialect.checked(step.table)
    match step:
        case AddColumn():
            dialect.checked(step.column.name)
            return (_ddl.add_column(*place, step.column, dialect.type_of, dialect.sql, is_unique=False),)
        case DropColumn():
            return (_ddl.drop_column(*place, dialect.checked(step.column.name), dialect.sql),)
        case RenameColumn():
            before, after = dialect.checked(step.before), dialect.checked(step.after)
            return (_ddl.rename_column(*place, before, after, dialect.sql),)
        case _:
            assert_never(step)


def render_of_constraint(
    step: SetNotNull | DropNotNull | AddUnique | AddPrimaryKey, dialect: Dialect, dataset: str
) -> tuple[str, ...]:
    """Return the statements of a step about a constraint, for a database that has ALTER TABLE for it."""
    place = dialect.checked(dataset), dialect.checked(step.table)
    match step:
        case SetNotNull():
            return (_ddl.set_not_null(*place, dialect.checked(step.column.name), dialect.sql),)
        case DropNotNull():
            return (_ddl.drop_not_null(*place, dialect.checked(step.column.name), dialect.sql),)
        case AddUnique():
            return (_ddl.add_unique(*place, dialect.checked(step.column), dialect.sql),)
        case AddPrimaryKey():
            columns = [dialect.checked(column) for column in step.columns]
            return (_ddl.add_primary_key(*place, columns, dialect.sql),)
        case _:
            assert_never(step)


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a step writes into a column of stored rows, as SQL.

    Attributes:
        column: the column, quoted.
        value: what it gets.
        condition: of the rows that get it.
    """

    column: str
    value: str
    condition: str


def assignment_of(step: Backfill | FillColumn, dialect: Dialect, table: Table | None) -> Assignment:
    """Return what a step writes."""
    if isinstance(step, FillColumn):
        name = dialect.name(step.column.name)
        value = constant(step.value, step.column, dialect.type_of, dialect.unhex)
        return Assignment(name, value, f"{name} IS NULL")
    source, into = dialect.name(step.source.name), dialect.name(step.target.name)
    if step.taken is Taken.UNFIT:
        filled = dialect.name(new_column(step, table))
        return Assignment(into, source, f"{source} IS NOT NULL AND {filled} IS NULL")
    return Assignment(into, dialect.convert(retype_of(step), source).or_null, f"{source} IS NOT NULL")


def render_of_values(
    step: Backfill | FillColumn, dialect: Dialect, dataset: str, table: Table | None
) -> tuple[str, ...]:
    """Return the statements of a step that writes values of stored rows."""
    found = assignment_of(step, dialect, table)
    update = f"UPDATE {dialect.table(dataset, step.table)} SET {found.column} = {found.value}"
    return (f"{update} WHERE {found.condition}",)


def new_column(step: Backfill, table: Table | None) -> str:
    """Return the column that took the values which fit: the last one that was made for the source."""
    for name in reversed(tuple(table.columns if table is not None else ())):
        start, mark, number = name.rpartition(_NEW_COLUMN)
        if mark and number.isdecimal() and step.source.name.startswith(start):
            return name
    raise InputError(f"nothing says into which column `{step.table}.{step.source.name}` is converted")


def by_copy(step: Step, dialect: Dialect, dataset: str, table: Table | None) -> tuple[str, ...]:
    """Return the statements that copy a table into one that is as the step leaves it.

    Raises:
        InputError: the table is not known.
    """
    if table is None:
        raise InputError(f"there is no table `{table_of(step)}` to copy")
    return by_one_copy((step,), dialect, dataset, table)


def by_one_copy(steps: Sequence[Step], dialect: Dialect, dataset: str, table: Table) -> tuple[str, ...]:
    """Return the statements that copy a table into one that is as steps about its columns leave it.

    Args:
        steps: in their order; none gives a column another name, adds one, or converts one twice.
        dialect: of the database.
        dataset: that holds the table.
        table: as the first step finds it.
    """
    name, after = table.name, table
    for step in steps:
        left = effect(after, step)
        assert left is not None  # only steps about columns are taken this way
        after = left
    conversions = {step.before.name: step for step in steps if isinstance(step, ChangeType)}
    copy = replace(after, name=COPY_PREFIX + name)
    columns = [column.name for column in table.columns.values() if column.name in after.columns]
    values = [_copied(conversions.get(column), column, dialect) for column in columns]
    listed = ", ".join(dialect.name(column) for column in columns)
    old, new = dialect.table(dataset, name), dialect.table(dataset, copy.name)
    return (
        create_table(dialect, dataset, copy, with_keys=True),
        f"INSERT INTO {new} ({listed}) SELECT {', '.join(values)} FROM {old}",
        *render_of_table(DropTable(replace(table, name=name)), dialect, dataset),
        *render_of_table(RenameTable(copy.name, name), dialect, dataset),
    )


def _copied(conversion: ChangeType | None, column: str, dialect: Dialect) -> str:
    name = dialect.name(column)
    return name if conversion is None else convert_nulls_too(name, dialect.convert(retype_of(conversion), name).value)


def is_keyed(column: Column, table: Table | None = None) -> bool:
    """Return whether a column is unique or in a primary key: as a step has it, or as an earlier one has left it."""
    found = (column, table.columns.get(column.name, column) if table else column)
    return any(each.properties.get("unique") or each.properties.get("primary_key") for each in found)


def convert_nulls_too(name: str, value: str) -> str:
    """Return a conversion of values that may be null."""
    return f"CASE WHEN {name} IS NULL THEN NULL ELSE {value} END"
