"""``schemactl migrate compare``: how two destinations differ, staging and production for example."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from schemactl.destinations import RunState
from schemactl.flows.migrate.status import there_now
from schemactl.flows.migrate.target import Found, Target, find_name, find_target, read_state
from schemactl.flows.pairs import comparable, reported
from schemactl.flows.references import Referred
from schemactl.migration.comparison import is_bookkeeping
from schemactl.migration.reports import Compared, CompareReport
from schemactl.migration.saved import mark_in
from schemactl.schema.diff import diff
from schemactl.schema.types import Schema


def compare_destinations(base: str, head: str) -> CompareReport:
    """Return how the tables and the ledgers of two destinations differ; nothing is written.

    Raises:
        InputError: an address is none, or a ledger names several schemas.
        DestinationError: one of them cannot be reached or read.
    """
    targets = find_target(base), find_target(head)
    names = [find_name(target) for target in targets]
    sides, referred = [], []
    with ExitStack() as open_sessions:
        for target, name in zip(targets, names, strict=True):
            session = open_sessions.enter_context(target.open_for_reading(name))
            found = read_state(session, name)
            sides.append(Compared(target.place(session), there_now(found), _last_migration(found)))
            referred.append(_own_tables(found, target, name))
    changes = reported(diff(*comparable(*referred), guess_renames=False))
    return CompareReport(sides[0], sides[1], changes)


def _last_migration(found: Found) -> str | None:
    marks = [mark_in(run.plan) for run in found.runs if run.state is RunState.DONE]
    return next((mark.name for mark in reversed(marks) if mark is not None), None)


def _own_tables(found: Found, target: Target, name: str) -> Referred:
    """Return the tables of a destination without those of bookkeeping."""
    catalogue = found.catalogue.schema
    tables = {key: table for key, table in catalogue.tables.items() if not is_bookkeeping(key)}
    own: Schema = replace(catalogue, name=name, tables=tables)
    return Referred(own, found.catalogue.origin, destination=target.module)
