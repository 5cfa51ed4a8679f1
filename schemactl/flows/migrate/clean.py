"""``schemactl migrate clean``: what destructive plans have kept is dropped for good."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from schemactl.destinations import Patience
from schemactl.flows.migrate.target import find_name, find_target
from schemactl.migration.reports import CleanReport, Outcome

Agree = Callable[[CleanReport], bool]


@dataclass(frozen=True, slots=True)
class CleanRequest:
    """A call of ``schemactl migrate clean``.

    Attributes:
        to: the destination's address; None where none was named.
        patience: how long to wait for others.
    """

    to: str | None
    patience: Patience = field(default_factory=Patience)


def clean(request: CleanRequest, agree: Agree) -> CleanReport:
    """Drop what is kept; nothing else is touched.

    Raises:
        InputError: the call is wrong, or there is nobody to ask.
        DestinationError: the destination failed; what was kept still is, as far as it says.
    """
    target = find_target(request.to)
    name = find_name(target)
    with target.open_for_reading(name) as session:
        report = CleanReport(target.place(session), session.kept(), Outcome.DONE)
    if not report.kept:
        return replace(report, outcome=Outcome.NOTHING)
    if not agree(report):
        return replace(report, outcome=Outcome.DECLINED)
    with target.open_for_writing(name, request.patience) as session:
        there = session.kept()
        session.drop_kept([name for name in report.kept if name in there])
    return report
