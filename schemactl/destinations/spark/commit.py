"""Loads into a Spark catalog that are certain to complete: a table of steps exists until all steps are done.

Each step can be repeated, by the next load if a load was killed: rows are appended unless their key exists, tables are
overwritten, or the new table takes the old one's name. ``staging`` makes the steps.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from itertools import count
from typing import Final

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from schemactl.destinations._bookkeeping import is_bookkeeping
from schemactl.destinations._catalogue import OURS
from schemactl.destinations._journal import Pending, TableMove, journal_error, journal_text, read_journal
from schemactl.destinations.spark.tables import Tables, append_rows, find_views, mend_copies, refreshed, take_place
from schemactl.engine.spark.sql import quoted
from schemactl.errors import CommandWarning, DestinationError
from schemactl.store.text import MAX_BYTES

PENDING: Final = "_schemactl_pending_"
NEW: Final = "_schemactl_new_"
_LOAD: Final = "load"
"""The column of the table that makes a load certain."""


def read_pending(target: Tables) -> Pending | None:
    """Return the certain load of a killed command; None without one."""
    for name in sorted(target.stored):
        if not _is(name, PENDING):
            continue
        journal_name = target.namespace.table(name)
        # A view would read, with our rights, tables that the view's creator may not read.
        views = find_views(target.spark, target.namespace)
        if name in views:
            raise journal_error(journal_name, "it is a view")
        if list(target.stored[name].columns.items()) != [(_LOAD, "string")]:
            raise journal_error(journal_name, f"its only column is not `{_LOAD}`")
        # A table without a row was killed during its creation.
        for row in target.frame(name).select(F.substring(_LOAD, 1, MAX_BYTES + 1)).take(1):
            if row[0] is None or len(row[0]) > MAX_BYTES:
                raise journal_error(journal_name, "it is empty, or too long")
            pending = replace(read_journal(Pending, row[0], journal_name), table=name)
            for step in pending.steps:
                _check_step(step, name.removeprefix(PENDING), journal_name)
                if step.source in views:
                    raise journal_error(journal_name, f"`{step.source}` is a view")
            return pending
    return None


def _check_step(step: TableMove, number: str, journal_name: str) -> None:
    """Refuse a step that no load takes: of a table of ours, or with rows of a table that no load has staged.

    ``number`` is that of the lease under which the load was staged.
    """
    staged_name = re.compile(re.escape(f"{NEW}{number}_{step.table}") + r"(_\d+)?", re.IGNORECASE)
    if step.rows:
        is_ours = is_bookkeeping(step.table) and step == TableMove(step.table, None, rows=step.rows)
    elif step.source is None:
        is_ours = step == TableMove(step.table, None, overwrites=True)
    else:
        is_ours = staged_name.fullmatch(step.source) is not None
    if not is_ours or (step.table.startswith(OURS) and not step.rows):
        raise journal_error(journal_name, f"no load makes its step on `{step.table}`")


def _is(name: str, head: str) -> bool:
    return name.startswith(head) and name.removeprefix(head).partition("_")[0].isdecimal()


def recover(target: Tables) -> Tables:
    """Finish or forget a killed migration or load; return the tables afterwards."""
    mend_copies(target)
    target = refreshed(target)
    for name in target.stored:
        # Spark remembers the files of tables to which another machine may have written since.
        target.spark.catalog.refreshTable(target.namespace.table(name))
    if not any(_is(name, head) for name in target.stored for head in (PENDING, NEW)):
        return target
    pending = read_pending(target)
    if pending is not None:
        carry_out(target, pending, is_again=True)
        message = f"finished load `{pending.load_id}`, which was interrupted in {target.namespace}"
        warnings.warn(CommandWarning(message), stacklevel=2)
    else:
        forget(target)
    return refreshed(target)


def commit(target: Tables, pending: Pending) -> None:
    """Make a staged load certain, and carry it out."""
    frame = target.spark.createDataFrame(pa.table({_LOAD: [journal_text(pending)]}))
    target.check()
    for table in (target.namespace.table(step.table) for step in pending.steps if step.is_new):
        # The load has created this table. Unless another program has filled it, the table with rows replaces it.
        target.spark.catalog.refreshTable(table)
        if target.spark.table(table).isEmpty():
            target.spark.sql(f"DROP TABLE {table}")
    create_table(target, target.beside(PENDING), frame)
    carry_out(refreshed(target), pending, is_again=False)


def _check_whole(target: Tables, pending: Pending) -> None:
    """Raise ``DestinationError`` if a table that a step of a load needs is gone, before the first step is done."""
    needed: list[str] = []
    for step in pending.steps:
        is_renamed = step.takes_place or step.is_new
        if step.source is not None and not (is_renamed and step.table in target.stored):
            needed.append(step.source)
        if not is_renamed and (step.source is not None or step.rows):
            needed.append(step.table)
    gone = [name for name in needed if name not in target.stored]
    if gone:
        raise DestinationError(
            f"load `{pending.load_id}` into {target.namespace} was interrupted, and its table `{gone[0]}` is missing",
            hint=f"drop `{pending.table}` to cancel it, then load again",
        )
    for step in pending.steps:
        columns = {frozenset(row) for row in step.rows}
        if len(columns) > 1 or any(names - target.stored[step.table].columns.keys() for names in columns):
            raise journal_error(target.namespace.table(pending.table), f"its rows are not of `{step.table}`")


def carry_out(target: Tables, pending: Pending, *, is_again: bool) -> None:
    """Run the steps of a load that is certain; ``is_again``: some steps may have run before."""
    _check_whole(target, pending)
    for step in pending.steps:
        target.check()
        _take(target, step, is_again=is_again)
    forget(target)


def forget(target: Tables) -> None:
    """Drop the tables of uncertain and completed loads: this load's, and tables of earlier holders of the lease."""
    limit = target.lease.number if target.lease else 0
    # First the table that makes a load certain: without it, the other tables can be dropped at any time.
    for head in (PENDING, NEW):
        for name in target.stored:
            if _is(name, head) and int(name.removeprefix(head).partition("_")[0]) <= limit:
                target.spark.sql(f"DROP TABLE IF EXISTS {target.namespace.table(name)}")


def _take(target: Tables, step: TableMove, *, is_again: bool) -> None:
    spark, table = target.spark, target.namespace.table(step.table)
    if step.source is not None and (step.takes_place or step.is_new):
        if step.source not in target.stored:
            return  # it has the name already
        if step.takes_place:
            take_place(target, step.table, step.source)
            return
        if step.table not in target.stored:
            new_name = target.namespace.new_name(step.table)
            spark.sql(f"ALTER TABLE {target.namespace.table(step.source)} RENAME TO {new_name}")
            return
    if step.rows:
        append_rows(target, step.table, step.rows, is_again=is_again)
        return
    if step.source is None:
        if step.table in target.stored:
            spark.sql(f"TRUNCATE TABLE {table}")
        return
    source = target.namespace.table(step.source)
    columns = list(target.stored[step.source].columns)
    column_list = ", ".join(quoted(name) for name in columns)
    if step.overwrites:
        nulls = [name for name in target.stored[step.table].columns if name not in columns]
        values = ", ".join([column_list, *(f"NULL AS {quoted(name)}" for name in nulls)])
        spark.sql(f"INSERT OVERWRITE TABLE {table} BY NAME SELECT {values} FROM {source}")
        return
    added = f"INSERT INTO {table} ({column_list}) SELECT {column_list} FROM {source} n"
    if is_again:
        key = [step.key] if step.key else columns
        same = " AND ".join(f"n.{quoted(name)} <=> t.{quoted(name)}" for name in key)
        added += f" WHERE NOT EXISTS (SELECT 1 FROM {table} t WHERE {same})"
    spark.sql(added)


def create_table(target: Tables, name: str, frame: DataFrame) -> str:
    """Make a table of a frame; a table of this name that a killed load left is gone by then.

    In Spark's own catalog the table is created before its files: files without a table would make every later load
    fail, and no SQL statement would remove them.

    Returns:
        The table's name: another name if files without a table have this one.
    """
    if not target.namespace.has_files:
        frame.write.mode("errorifexists").saveAsTable(target.namespace.table(name))
        return name
    for number in count(1):
        table_name = name if number == 1 else f"{name}_{number}"
        try:
            target.spark.catalog.createTable(target.namespace.table(table_name), source="parquet", schema=frame.schema)
            break
        except PySparkException as error:
            if error.getCondition() != "LOCATION_ALREADY_EXISTS":
                raise
    frame.write.insertInto(target.namespace.table(table_name))
    return table_name
