"""Brings a dataset's tables to the schema before rows go in: what is missing is made, blockers are reported."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from schemactl.destinations._session import (
    Relation,
    Session,
    create_table,
    ddl_of,
    define_column,
    qualify,
    quote,
)
from schemactl.destinations._sql_bookkeeping import find_dataset
from schemactl.destinations._structure import Clash, cut
from schemactl.errors import DestinationError, InputError, Problem
from schemactl.schema.structure import NameLimits, description_of
from schemactl.schema.types import Column, Schema, Table


@dataclass(frozen=True, slots=True)
class ReadyTable:
    """A table that rows can go into.

    Attributes:
        name: its full name, quoted.
        types: of its columns, as the database writes them.
        unlike: names of columns that have another type there than dlt gives them.
    """

    name: str
    types: Mapping[str, str]
    unlike: tuple[str, ...] = ()


def choose_target(session: Session, asked: str | None, schema_name: str) -> str:
    """Return the dataset to load into: the one asked for, else the one loaded before, else one named as the schema.

    Raises:
        InputError: several datasets have been loaded with this schema.
    """
    with session.wrap_errors("read"):
        found = sorted(find_dataset(session, asked, schema_name))
    if len(found) > 1:
        listed = ", ".join(f"`{name}`" for name in found)
        message = f"`{session.shown}` holds {len(found)} datasets of schema `{schema_name}`: {listed}"
        raise InputError(message, hint=f"name one: `?dataset={found[0]}`")
    return found[0] if found else asked or schema_name


def check_names(schema: Schema, limits: NameLimits, shown: str) -> None:
    """Find out whether all names of a schema stay what they are.

    Raises:
        DestinationError: one is too long, or two are one there.
    """
    held = {name: table for name, table in schema.tables.items() if not table.is_new}
    _check(held, "tables", limits, shown)
    for table in held.values():
        complete = [name for name, column in table.columns.items() if column.is_complete]
        _check(complete, f"columns of table `{table.name}`", limits, shown)


def _check(names: Collection[str], what: str, limits: NameLimits, shown: str) -> None:
    for name in filter(limits.is_too_long, names):
        message = f"`{shown}` takes names of up to {limits.max_bytes} bytes; of {what} `{name}` is longer"
        raise DestinationError(message, hint="`schemactl infer SOURCE... --to DEST` makes names that fit")
    for one, other in limits.clashes(names):
        raise DestinationError(f"`{shown}` does not distinguish `{one}` from `{other}`: {what} are one there")


def make_ready(session: Session, dataset: str, tables: Iterable[Table]) -> dict[str, ReadyTable]:
    """Make the dataset, the tables and the columns that are missing; return the tables by name.

    Raises:
        DestinationError: something that is there is in the way, or making is refused.
    """
    known = {session.names.fold(name) for name in session.datasets()}
    if session.names.fold(dataset) not in known:
        with session.wrap_errors(f"make dataset `{dataset}`"):
            session.execute(ddl_of(session).create_dataset(dataset))
    with session.wrap_errors(f"read dataset `{dataset}`"):
        relations = session.relations(dataset)
    return {
        table.name: _make_table(session, dataset, table, relations.get(session.names.fold(table.name)))
        for table in tables
    }


def check_relations(session: Session, dataset: str, tables: Iterable[Table]) -> None:
    """Find out whether rows can be put into those of the tables that are there, once their rows are gone.

    Raises:
        DestinationError: they cannot.
    """
    with session.wrap_errors(f"read dataset `{dataset}`"):
        relations = session.relations(dataset)
    for table in tables:
        found = relations.get(session.names.fold(table.name))
        if found is not None:
            _check_table(session, qualify(dataset, found.name), table, found, [])


def _make_table(session: Session, dataset: str, table: Table, found: Relation | None) -> ReadyTable:
    columns = [column for column in table.columns.values() if column.is_complete]
    sql = ddl_of(session)
    if found is None:
        with session.wrap_errors(f"make table `{table.name}`"):
            complete = replace(table, columns={column.name: column for column in columns})
            session.execute(create_table(session, dataset, complete))
            for statement in sql.comments(sql.place(dataset, table.name), description_of(table), columns):
                session.execute(statement)
        return ReadyTable(qualify(dataset, table.name), {each.name: session.column_type(each) for each in columns})
    there = {session.names.fold(name): kind for name, kind in found.columns.items()}
    missing = [column for column in columns if session.names.fold(column.name) not in there]
    name = qualify(dataset, found.name)
    _check_table(session, name, table, found, missing)
    there |= _grow(session, name, table, there)
    for column in missing:
        with session.wrap_errors(f"add column `{column.name}` to table `{table.name}`"):
            place = sql.place(dataset, found.name)
            session.execute(sql.add_column(place, define_column(session, column)))
            for statement in sql.comments(place, None, [column]):
                session.execute(statement)
    types = {each.name: there.get(session.names.fold(each.name)) or session.column_type(each) for each in columns}
    unlike = tuple(each.name for each in columns if types[each.name] != session.column_type(each))
    return ReadyTable(name, types, unlike)


def _grow(session: Session, name: str, table: Table, types: Mapping[str, str]) -> dict[str, str]:
    """Give columns of structs or lists the fields that the load has more; return the new types, by folded names.

    Raises:
        DestinationError: a field is of another type there.
    """
    known = {each: kind for each in table.columns if (kind := types.get(session.names.fold(each))) is not None}
    found = {column: session.grown_type(table.columns[column], kind) for column, kind in known.items()}
    problems = tuple(
        Problem(each.describe(f"{table.name}.{column}")) for column, each in found.items() if isinstance(each, Clash)
    )
    if problems:
        message = f"structs or lists of table {name} in `{session.shown}` are not those of the schema"
        raise DestinationError(message, problems=problems, hint="load into another dataset: `?dataset=NAME`")
    wider = {column: kind for column, kind in found.items() if isinstance(kind, str)}
    for column, kind in wider.items():
        with session.wrap_errors(f"add fields to column `{column}` of table `{table.name}`"):
            session.execute(f"ALTER TABLE {name} ALTER COLUMN {quote(column)} SET DATA TYPE {kind}")
    return {session.names.fold(column): kind for column, kind in wider.items()}


def _check_table(session: Session, name: str, table: Table, found: Relation, missing: list[Column]) -> None:
    if not found.is_table:
        message = f"`{name}` in `{session.shown}` is a view or the like: no rows can be put into it"
        raise DestinationError(message, hint="rename it, or name another dataset: `?dataset=NAME`")
    if not found.is_ours:
        message = f"cannot put rows into table {name} in `{session.shown}`: permission denied"
        raise DestinationError(message, hint="grant the user SELECT, INSERT, UPDATE and DELETE on it")
    needed = [column for column in missing if not column.nullable]
    if not needed:
        return
    with session.wrap_errors(f"read table `{table.name}`"):
        is_empty = not session.query(f"SELECT 1 FROM {name} LIMIT 1")
    if is_empty:
        return
    key = next((column for column in needed if column.properties.get("row_key")), None)
    if key is not None:
        message = f"table {name} in `{session.shown}` is not one that dlt or schemactl has made"
        hint = f"it holds rows but no column `{key.name}`: rename it, or name another dataset: `?dataset=NAME`"
        raise DestinationError(message, hint=hint)
    listed = ", ".join(f"`{column.name}`" for column in needed)
    message = f"table {name} in `{session.shown}` holds rows, and {listed} may not be null: the column cannot be added"
    raise DestinationError(message, hint="drop `nullable: false` in the schema, or add the column with values there")


def fit(session: Session, table: Table, target: ReadyTable, stage: str) -> str:
    """Return the name of a stage with the types of the table that is there, once all values have proved to survive it.

    Raises:
        DestinationError: a value does not.
    """
    if not target.unlike:
        return stage
    for name in target.unlike:
        there, ours, column = target.types[name], session.column_type(table.columns[name]), quote(name)
        place = f"column `{name}` of table `{table.name}` (`{cut(there)}` there, `{cut(ours)}` in the schema)"
        hint = f"`schemactl migrate` gives it the type `{cut(ours)}` there; or name another dataset: `?dataset=NAME`"
        if not session.casts_to_columns:
            raise DestinationError(f"the load does not fit into {place}", hint=hint)
        back = f"CAST(CAST(CAST({column} AS {there}) AS {ours}) AS VARCHAR)"
        is_lost = f"{back} IS DISTINCT FROM CAST({column} AS VARCHAR)"
        with session.wrap_errors(f"put values into {place}", hint):
            lost = session.query(f"SELECT count(*) FROM {quote(stage)} WHERE {is_lost}")[0][0]
        if lost:
            raise DestinationError(f"{lost} values do not fit into {place}", hint=hint)
    selected = ", ".join(
        f"CAST({quote(name)} AS {target.types[name]}) AS {quote(name)}" if name in target.unlike else quote(name)
        for name in table.columns
        if name in target.types
    )
    session.execute(f"CREATE TEMPORARY VIEW {quote(f'{stage}_fit')} AS SELECT {selected} FROM {quote(stage)}")
    return f"{stage}_fit"
