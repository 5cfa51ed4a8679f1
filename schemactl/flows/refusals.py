"""Reports a load that a contract forbids because numbers of documents have no room in a column."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from schemactl.flows.evolution import Evolution
from schemactl.flows.packing import Made, counted
from schemactl.inference.report import ViolationFinding
from schemactl.inference.values import TYPED
from schemactl.normalization.report import NormalizeReport
from schemactl.schema.contract import Entity, Mode
from schemactl.schema.judgement import Judgement


def is_refused_by_size(evolution: Evolution) -> bool:
    """Return whether a frozen column would have to grow for documents, and no null stops the load anyway."""
    report = evolution.report
    frozen = (each for each in report.violations if each.mode == Mode.FREEZE)
    return not report.nulls and any(_is_by_size(each, evolution) for each in frozen)


def as_discarded(judgement: Judgement) -> Judgement:
    """Return a judgment under which each refused value is found by itself, also in rows that others are refused in."""
    violations = tuple(
        replace(each, mode=Mode.DISCARD_VALUE) if each.column is not None else each for each in judgement.violations
    )
    return replace(judgement, violations=violations)


def with_unfit_counted(report: NormalizeReport, evolution: Evolution, made: Made) -> NormalizeReport:
    """Return the report with the values that refused sizes keep out: how many, where first, an example.

    Args:
        report: of a load that stopped.
        evolution: under the contract.
        made: the rows ``as_discarded``.
    """
    assert report.inference is not None
    findings = report.inference.violations
    described = tuple(
        exact if _is_by_size(finding, evolution) else finding
        for finding, exact in zip(findings, counted(findings, made.rejected, evolution.resolution.schema), strict=True)
    )
    return replace(report, inference=replace(report.inference, violations=described))


def _is_by_size(finding: ViolationFinding, evolution: Evolution) -> bool:
    """Return whether a column would have to grow for documents: they state no sizes, their values have them."""
    if finding.entity != Entity.DATA_TYPE or finding.variant_of is not None or finding.column is None:
        return False
    classes = _classes(finding.table, finding.column, evolution)
    return bool(classes) and TYPED not in classes


def _classes(table: str, column: str, evolution: Evolution) -> Set[str]:
    return {name for _, name in evolution.resolution.taken.get((table, column), ())}
