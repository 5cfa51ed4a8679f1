"""``schemactl migrate clean``: drop the tables and file copies that destructive plans have kept."""

from __future__ import annotations

from dataclasses import replace

from schemactl.flows.migrate.apply import Agree
from schemactl.flows.migrate.state import find_name
from schemactl.flows.target import migratable
from schemactl.migration.migration_plan import Place
from schemactl.migration.records import Patience
from schemactl.migration.reports import CleanReport, Outcome


def clean(to: str | None, patience: Patience, agree: Agree[CleanReport]) -> CleanReport:
    """Drop the kept tables and file copies; nothing else is touched."""
    target = migratable(to)
    name = find_name(target)
    with target.open_for_reading(name) as session:
        report = CleanReport(Place(target.kind, session.origin, session.dataset), session.kept(), Outcome.DONE)
    if not report.kept:
        return replace(report, outcome=Outcome.NOTHING)
    if not agree(report):
        return replace(report, outcome=Outcome.DECLINED)
    with target.open_for_writing(name, patience) as session:
        kept_names = session.kept()
        session.drop_kept([name for name in report.kept if name in kept_names])
    return report
