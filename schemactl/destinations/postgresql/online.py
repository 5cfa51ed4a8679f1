"""The PostgreSQL statements of steps during which other sessions read and write; see ``migration.retyping``.

A column that gets another type is filled a few pages of its table at a time, and a trigger fills rows that are written
meanwhile. So each row is filled once, even if it moves: no key is needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, assert_never

from schemactl.destinations._migration.conversion import FALSE, TRUE
from schemactl.destinations.postgresql.conversion import as_text, guarded, own_cast, type_of
from schemactl.migration.statements import Engine, Retype, new_column, render, retype_of
from schemactl.migration.steps import (
    AddPrimaryKey,
    AddUnique,
    Backfill,
    Phase,
    Prepare,
    RenameColumn,
    RestoreColumn,
    SetNotNull,
    SwapColumns,
    Taken,
)
from schemactl.schema.quoting import literal, qualify, quote
from schemactl.schema.types import Column, DataType, Table

_SYNC: Final = "BEGIN NEW.{target} := {value}; RETURN NEW; END"

_IS_WRITTEN: Final = "NEW.{source} IS DISTINCT FROM OLD.{source} OR NEW.{target} IS NULL"
"""When an UPDATE is followed: not that of a batch. What only dlt's coercion converts stays until its source changes."""

_SYNC_UNFIT: Final = """
BEGIN
    IF NEW.{source} IS NOT NULL AND NEW.{fitting} IS NULL THEN
        NEW.{target} := NEW.{source};
    ELSIF TG_OP = 'UPDATE' AND NEW.{source} IS DISTINCT FROM OLD.{source} THEN
        NEW.{target} := NULL;
    END IF;
    RETURN NEW;
END
"""

_SETTINGS: Final = "SET search_path = pg_catalog, pg_temp SET TimeZone = 'UTC' SET DateStyle = 'ISO'"
"""Casts of texts and timestamps depend on these, and each writer has its own."""

_NAME_KEY: Final = """
DECLARE
    chosen text := {name};
    number integer := 0;
BEGIN
    WHILE EXISTS (SELECT FROM pg_catalog.pg_class WHERE relnamespace = {schema}::regnamespace AND relname = chosen) LOOP
        number := number + 1;
        chosen := left({name}, 60 - length(number::text)) || number;
    END LOOP;
    EXECUTE pg_catalog.format(
        'ALTER TABLE %I.%I ADD CONSTRAINT %I {kind} USING INDEX %I', {dataset}, {table}, chosen, {index});
END
"""
"""Makes a key of its index, under a free name, as PostgreSQL does when it chooses one."""


def can_sync(before: Column, after: Column) -> bool:
    """Return whether PostgreSQL converts values by itself: a trigger cannot call dlt's coercion."""
    return own_cast(Retype(before, after), "value").is_sure != FALSE


def _own_name(kind: str, *parts: str) -> str:
    """Return the name of an object that a table has only while a plan runs."""
    return f"_schemactl_{kind}_{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:16]}"


def render_online(
    step: Prepare | SwapColumns | RestoreColumn, engine: Engine, dataset: str, table: Table | None
) -> tuple[str, ...]:
    """Return the statements of a step that only online plans have; the table is as the step finds it."""
    match step:
        case Prepare():
            return _phase(step, engine, dataset, table)
        case SwapColumns():
            return _swap_columns(step, engine, dataset)
        case RestoreColumn():
            return restore_column(step, engine, dataset, {})
        case _:
            assert_never(step)


def _phase(step: Prepare, engine: Engine, dataset: str, table: Table | None) -> tuple[str, ...]:
    table_name = engine.table(dataset, step.step.table)
    match step.phase:
        case Phase.ADD_CHECK:
            condition = " AND ".join(f"{quote(name)} IS NOT NULL" for name in _columns(step.step))
            if isinstance(step.step, Backfill):
                condition = f"{quote(step.step.source.name)} IS NULL OR {quote(step.step.target.name)} IS NOT NULL"
            return (f"ALTER TABLE {table_name} ADD CONSTRAINT {_check(step.step)} CHECK ({condition}) NOT VALID",)
        case Phase.VALIDATE_CHECK:
            return (f"ALTER TABLE {table_name} VALIDATE CONSTRAINT {_check(step.step)}",)
        case Phase.DROP_CHECK:
            return (_drop_check(step.step, table_name),)
        case Phase.BUILD_INDEX:
            index = _index(step.step)
            column_list = ", ".join(engine.name(name) for name in _columns(step.step))
            # A build that was killed leaves an index that is of no use.
            drop = f"DROP INDEX CONCURRENTLY IF EXISTS {qualify(dataset, index)}"
            return drop, f"CREATE UNIQUE INDEX CONCURRENTLY {quote(index)} ON {table_name} ({column_list})"
        case Phase.DROP_INDEX:
            return (f"DROP INDEX IF EXISTS {qualify(dataset, _index(step.step))}",)
        case Phase.START_SYNC:
            assert isinstance(step.step, Backfill)
            return _start_sync(step.step, engine, dataset, table)
        case Phase.STOP_SYNC:
            assert isinstance(step.step, Backfill)
            return _stop_sync(step.step, engine, dataset)
        case _:
            assert_never(step.phase)


def _columns(step: Backfill | SetNotNull | AddUnique | AddPrimaryKey) -> tuple[str, ...]:
    match step:
        case AddPrimaryKey():
            return step.columns
        case AddUnique():
            return (step.column,)
        case SetNotNull():
            return (step.column.name,)
        case Backfill():
            return step.source.name, step.target.name
        case _:
            assert_never(step)


def _check(step: Backfill | SetNotNull | AddUnique | AddPrimaryKey) -> str:
    return quote(_own_name("check", step.table, *_columns(step)))


def _index(step: Backfill | SetNotNull | AddUnique | AddPrimaryKey) -> str:
    return _own_name("key", step.table, *_columns(step))


def _drop_check(step: Backfill | SetNotNull | AddUnique | AddPrimaryKey, table_name: str) -> str:
    return f"ALTER TABLE {table_name} DROP CONSTRAINT IF EXISTS {_check(step)}"


def set_proven_not_null(step: SetNotNull, engine: Engine, dataset: str) -> tuple[str, ...]:
    """Return the statements that forbid nulls after a check has proven that the column has no nulls: no row is read."""
    table_name = engine.table(dataset, step.table)
    action = f"ALTER COLUMN {engine.name(step.column.name)} SET NOT NULL"
    return f"ALTER TABLE {table_name} {action}", _drop_check(step, table_name)


def key_by_index(step: AddUnique | AddPrimaryKey, engine: Engine, dataset: str, column: str | None = None) -> str:
    """Return the statement that makes a key of its index, named for ``column`` or that of the step."""
    for name in (dataset, step.table, *_columns(step)):
        engine.checked(name)
    is_primary = isinstance(step, AddPrimaryKey)
    parts = (step.table, "pkey") if is_primary else (step.table, column or _columns(step)[0], "key")
    # Cut by bytes, between two characters.
    name = "_".join(parts).encode()[:60].decode(errors="ignore")
    block = _NAME_KEY.format(
        name=literal(name),
        schema=literal(quote(dataset)),
        dataset=literal(dataset),
        table=literal(step.table),
        index=literal(_index(step)),
        kind="PRIMARY KEY" if is_primary else "UNIQUE",
    )
    return f"DO {literal(block)}"


def _start_sync(step: Backfill, engine: Engine, dataset: str, table: Table | None) -> tuple[str, ...]:
    table_name = engine.table(dataset, step.table)
    function = f"{engine.name(dataset)}.{quote(_sync(step))}"
    source, target = engine.name(step.source.name), engine.name(step.target.name)
    if step.taken is Taken.UNFIT:
        body = _SYNC_UNFIT.format(
            source=source,
            target=target,
            fitting=engine.name(new_column(step, table)),
        )
    else:
        cast = own_cast(retype_of(step), f"NEW.{source}")
        value = cast.cast if cast.is_sure == TRUE else f"CASE WHEN {cast.is_sure} THEN {cast.cast} END"
        body = _SYNC.format(target=target, value=value)
    followed = (
        {"INSERT OR UPDATE": ""}
        if step.taken is Taken.UNFIT
        else {
            "INSERT": "",
            "UPDATE": f"WHEN ({_IS_WRITTEN.format(source=source, target=target)}) ",
        }
    )
    statements = [
        f"CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql {_SETTINGS} AS {literal(body)}"
    ]
    for number, (event, condition) in enumerate(followed.items(), 1):
        trigger = quote(f"{_sync(step)}_{number}")
        statements += (
            f"CREATE TRIGGER {trigger} BEFORE {event} ON {table_name} FOR EACH ROW {condition}"
            f"EXECUTE FUNCTION {function}()",
            # What a subscription to another server's changes writes is filled, too.
            f"ALTER TABLE {table_name} ENABLE ALWAYS TRIGGER {trigger}",
        )
    return tuple(statements)


def _stop_sync(step: Backfill, engine: Engine, dataset: str) -> tuple[str, ...]:
    # With its triggers.
    return (f"DROP FUNCTION IF EXISTS {engine.name(dataset)}.{quote(_sync(step))}() CASCADE",)


def _sync(step: Backfill) -> str:
    # Triggers fire in the order of their names: unfit values are known after the trigger for fitting values.
    order = "sync_2" if step.taken is Taken.UNFIT else "sync_1"
    return _own_name(order, step.table, step.source.name, step.target.name)


def _swap_columns(step: SwapColumns, engine: Engine, dataset: str) -> tuple[str, ...]:
    """Return the statements that rename the new column to the old one's name; only the catalog changes."""
    backfill = step.backfill
    name, table_name = backfill.table, engine.table(dataset, backfill.table)
    source, target = backfill.source.name, backfill.target.name
    statements = list(_stop_sync(backfill, engine, dataset))
    if step.variant is not None:
        unfit = replace(backfill, target=replace(backfill.target, name=step.variant), taken=Taken.UNFIT)
        statements += _stop_sync(unfit, engine, dataset)
    if step.is_required:
        statements += set_proven_not_null(SetNotNull(name, backfill.target), engine, dataset)
    if step.is_checked:
        statements.append(_drop_check(backfill, table_name))
    if step.is_unique:
        statements.append(key_by_index(AddUnique(name, target), engine, dataset, source))
    if not backfill.source.nullable:
        statements.append(f"ALTER TABLE {table_name} ALTER COLUMN {engine.name(source)} DROP NOT NULL")
    statements += render(RenameColumn(name, source, step.kept), None, engine, dataset)
    statements += render(RenameColumn(name, target, source), None, engine, dataset)
    return tuple(statements)


def restore_column(step: RestoreColumn, engine: Engine, dataset: str, coerced: Mapping[str, str]) -> tuple[str, ...]:
    """Return the statements that undo a swap; values that were written since are converted back first.

    ``coerced`` maps the old values that PostgreSQL does not cast to their coerced texts.
    """
    swap = step.swap
    backfill = swap.backfill
    name, table_name = backfill.table, engine.table(dataset, backfill.table)
    source, target, kept_column = backfill.source.name, backfill.target.name, engine.name(swap.kept)
    current = engine.name(source)
    back, filled = backward_retype(swap), kept_backfill(swap)
    taken_over = batches_of(filled, engine, dataset, None).filled(coerced)
    value = f"CASE WHEN {current} IS NOT NULL THEN {guarded(back, current)} END"
    statements = [
        f"LOCK TABLE {table_name} IN ACCESS EXCLUSIVE MODE",
        f"UPDATE {table_name} SET {kept_column} = {value} WHERE {current} IS DISTINCT FROM {taken_over}",
    ]
    if swap.is_required:
        statements.append(f"ALTER TABLE {table_name} ALTER COLUMN {current} DROP NOT NULL")
    statements += render(RenameColumn(name, source, target), None, engine, dataset)
    statements += render(RenameColumn(name, swap.kept, source), None, engine, dataset)
    if not backfill.source.nullable:
        statements.append(f"ALTER TABLE {table_name} ALTER COLUMN {current} SET NOT NULL")
    return tuple(statements)


def kept_backfill(swap: SwapColumns) -> Backfill:
    """Return the backfill of the new column from the kept old one."""
    return replace(swap.backfill, source=replace(swap.backfill.source, name=swap.kept))


def backward_retype(swap: SwapColumns) -> Retype:
    """Return the retype of a rollback."""
    retype = retype_of(swap.backfill)
    return Retype(retype.after, retype.before, retype.counts_seconds, is_strict=False)


def not_restored(step: RestoreColumn, engine: Engine) -> str:
    """Return the condition of the rows whose values were written since, and do not go back."""
    kept_column, current = engine.name(step.swap.kept), engine.name(step.swap.backfill.source.name)
    cast, back = (
        own_cast(retype_of(kept_backfill(step.swap)), kept_column),
        own_cast(backward_retype(step.swap), current),
    )
    taken_over = f"CASE WHEN {cast.is_sure} THEN {cast.cast} END"
    return f"{current} IS NOT NULL AND {current} IS DISTINCT FROM {taken_over} AND ({back.is_sure}) IS NOT TRUE"


@dataclass(frozen=True, slots=True)
class Batches:
    """The statements that fill a column a few pages at a time.

    Attributes:
        place: the table's full name.
        text: the source as text.
        is_sure: the condition that PostgreSQL converts the source by itself.
        value: the source as PostgreSQL converts it.
        target: the column, quoted.
        kind: its type.
        is_binary: whether coerced values are hexadecimal digits.
        condition: of the rows that are not filled yet.
    """

    place: str
    text: str
    is_sure: str
    value: str
    target: str
    kind: str
    is_binary: bool
    condition: str

    def count(self, first: str, end: str) -> str:
        """Return the query of values to fill in some pages: texts to coerce, null for all other values; with counts."""
        return (
            f"SELECT CASE WHEN {self.is_sure} THEN NULL ELSE {self.text} END, count(*) FROM {self.place} "
            f"WHERE {self._within(first, end)} AND {self.condition} GROUP BY 1"
        )

    def fill(self, first: str, end: str, coerced: Mapping[str, str]) -> str:
        """Return the statement that fills rows of some pages, without rows that other sessions lock."""
        condition = f"({self.is_sure}) IS TRUE"
        if coerced:
            condition = f"({condition} OR {self.text} IN ({', '.join(map(literal, coerced))}))"
        free = (
            f"SELECT ctid FROM {self.place} WHERE {self._within(first, end)} AND {self.condition} AND {condition} "
            "FOR UPDATE SKIP LOCKED"
        )
        return f"UPDATE {self.place} SET {self.target} = {self.filled(coerced)} WHERE ctid = ANY (ARRAY({free}))"

    def filled(self, coerced: Mapping[str, str]) -> str:
        """Return the value that a row gets; null if it does not survive. ``coerced``: PostgreSQL cannot cast these."""
        if coerced:
            rows = ", ".join(f"({literal(text)}, {literal(coerced_text)})" for text, coerced_text in coerced.items())
            value = "decode(made, 'hex')" if self.is_binary else "made"
            mapping = f"(VALUES {rows}) AS m(given, made)"
            lookup = f"(SELECT CAST({value} AS {self.kind}) FROM {mapping} WHERE given = {self.text})"
            return f"CASE WHEN {self.is_sure} THEN {self.value} ELSE {lookup} END"
        return self.value if self.is_sure == TRUE else f"CASE WHEN {self.is_sure} THEN {self.value} END"

    @staticmethod
    def _within(first: str, end: str) -> str:
        return f"ctid >= '({first},0)' AND ctid < '({end},0)'"


def batches_of(step: Backfill, engine: Engine, dataset: str, table: Table | None) -> Batches:
    """Return the statements that fill a column in batches."""
    source, target = engine.name(step.source.name), engine.name(step.target.name)
    condition, retype = f"{source} IS NOT NULL AND {target} IS NULL", retype_of(step)
    is_sure, value = TRUE, source
    if step.taken is Taken.UNFIT:
        condition += f" AND {engine.name(new_column(step, table))} IS NULL"
    else:
        cast = own_cast(retype, source)
        is_sure, value = cast.is_sure, cast.cast
    return Batches(
        place=engine.table(dataset, step.table),
        text=as_text(source, step.source),
        is_sure=is_sure,
        value=value,
        target=target,
        kind=type_of(step.target),
        is_binary=step.target.data_type is DataType.BINARY,
        condition=condition,
    )
