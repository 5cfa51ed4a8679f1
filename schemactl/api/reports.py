"""Defines the reports that the API returns: the reports of the flows, which also print as the commands print them.

``str(report)`` is the text of the command, without color and as wide as the terminal (80 columns without a terminal).
Notebooks show the same text with its colors. The classes add no data.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from schemactl.field_values import field_values
from schemactl.flows import import_
from schemactl.inference import report as inference
from schemactl.migration import reports as migration
from schemactl.normalization import report as normalization
from schemactl.review import report as reviews
from schemactl.schema.wording import counted

if TYPE_CHECKING:
    from rich.text import Text

    from schemactl.render.console import Look


class _Printable:
    """A report that prints as its command prints it."""

    __slots__ = ()

    @classmethod
    def of(cls, report: Any) -> Self:
        """Return the report of a flow as one of this class."""
        return cls(**field_values(report))

    def __str__(self) -> str:
        return self._print(_look(color=False)).rstrip("\n")

    def __repr__(self) -> str:
        from schemactl.render.escaping import escape

        return f"<{type(self).__name__} {escape(self._summary())}>"

    def _repr_html_(self) -> str:
        """Return the report for notebooks (IPython calls this method)."""
        from schemactl.render.html import render_html

        return render_html(self._styled_text())

    def _styled_text(self) -> Text:
        """Return the text in its colors. Renderers escape values from data, so only they can set colors."""
        from rich.text import Text

        return Text.from_ansi(self._print(_look(color=True)).rstrip("\n"))

    def _print(self, look: Look) -> str:
        """Return the output of the command."""
        raise NotImplementedError

    def _summary(self) -> str:
        """Return the report in a few words."""
        raise NotImplementedError


def _look(*, color: bool) -> Look:
    from schemactl.render.console import Look

    return Look(shutil.get_terminal_size((80, 24)).columns, color)


class InferenceReport(_Printable, inference.InferenceReport):
    __slots__ = ()
    __doc__ = inference.InferenceReport.__doc__

    def _print(self, look: Look) -> str:
        from schemactl.render.infer import print_inference

        return print_inference(self, look)

    def _summary(self) -> str:
        return f"{self.name}: {'refused' if self.is_refused else 'saved' if self.saved else 'not saved'}"


class NormalizeReport(_Printable, normalization.NormalizeReport):
    __slots__ = ()
    __doc__ = normalization.NormalizeReport.__doc__

    if TYPE_CHECKING:
        inference: InferenceReport | None

    @classmethod
    def of(cls, report: normalization.NormalizeReport) -> Self:
        inferred = None if report.inference is None else InferenceReport.of(report.inference)
        return super().of(replace(report, inference=inferred))

    def _print(self, look: Look) -> str:
        from schemactl.render.normalize import print_load

        return print_load(self, look)

    def _summary(self) -> str:
        return f"{self.name}: {self.outcome}, {counted(self.rows_loaded, 'row')} loaded"


class Report(_Printable, reviews.Report):
    __slots__ = ()
    __doc__ = reviews.Report.__doc__

    def _print(self, look: Look) -> str:
        from schemactl.render.review_text import print_review

        return print_review(self, look)

    def _summary(self) -> str:
        return counted(len(self.findings), "finding")


class Imported(_Printable, import_.Imported):
    __slots__ = ()
    __doc__ = import_.Imported.__doc__

    def _print(self, look: Look) -> str:
        from schemactl.render.files import print_import

        return print_import(self.before, self.after, self.changes, self.violations, self.written, look)

    def _summary(self) -> str:
        state = "refused" if self.violations else "written" if self.written else "not written"
        return f"{self.after.name}: {counted(len(self.changes), 'change')}, {state}"


class PlanReport(_Printable, migration.PlanReport):
    __slots__ = ()
    __doc__ = migration.PlanReport.__doc__

    def _print(self, look: Look) -> str:
        from schemactl.render.migrate import print_plan_report

        return print_plan_report(self, look)

    def _summary(self) -> str:
        blockers = f", {counted(len(self.blockers), 'blocker')}" if self.blockers else ""
        return f"{self.plan.target.name}: {counted(len(self.plan.steps), 'step')}{blockers}"


class ScriptReport(PlanReport):
    """A plan for an engine that is not connected; it prints as a SQL script."""

    __slots__ = ()

    def _print(self, look: Look) -> str:  # noqa: ARG002 - statements are not wrapped
        from schemactl.render.migrate import print_script

        return print_script(self)

    def _styled_text(self) -> Text:
        from rich.text import Text

        # Quoted names in SQL keep their control characters, which must not turn into styles or links.
        return Text(str(self))


class ApplyReport(_Printable, migration.ApplyReport):
    __slots__ = ()
    __doc__ = migration.ApplyReport.__doc__

    if TYPE_CHECKING:
        planned: PlanReport

    @classmethod
    def of(cls, report: migration.ApplyReport) -> Self:
        return super().of(replace(report, planned=PlanReport.of(report.planned)))

    def _print(self, look: Look) -> str:
        from schemactl.render.migrate import print_applied, print_plan_report

        # The command shows the plan when it asks for consent, so its final output omits the plan.
        plan = print_plan_report(self.planned, look) if self.outcome is migration.Outcome.DONE else ""
        return plan + print_applied(self, look)

    def _summary(self) -> str:
        return f"{self.planned.plan.target.name}: {self.outcome}"
