"""Judge migrations in CI: what they lock, what they lose, and what cannot be undone. Nothing of a file is run.

DIR is a folder of migrations: it is checked as `schemactl migrate check` does, and each step is judged by the lock that
it takes, the rows that it writes, and its undo. With --since git:main... only those that the branch adds. PLAN is a
plan that `schemactl migrate plan --out` has kept. No destination is needed. The exit code is 1 where a finding is as
bad as --fail-on says; no settings file decides that, as it may come with the migration.

Examples:
    # Judge all migrations of a folder
    schemactl migrate lint migrations

    # Judge a plan, as a comment in Markdown
    schemactl migrate lint crm.plan.json --format markdown
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from schemactl.cli.declarations import argument, option
from schemactl.cli.options import FindingsOptions, ReviewOptions, output_file
from schemactl.cli.settings import Surroundings
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(FindingsOptions, ReviewOptions):
    target: str = argument("DIR|PLAN", "A folder of migrations, or a plan `*.plan.json`.")
    since: str | None = option(
        "Judge only migrations that this revision does not have; others must be as it has them.", metavar="git:REV"
    )
    fail_on: Literal["error", "warn", "never"] = option("How bad a finding has to be for exit code 1.", default="error")
    output: str | None = output_file()

    def surround(self, read: Callable[[], Surroundings]) -> Surroundings:
        """Return the settings: with `--since` those of the revision, none of the head's."""
        from schemactl.cli.policy import files_for, revision_of

        return read() if revision_of(self.since) is None else Surroundings(os.environ, files_for(self.since))


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Judge, print the findings, and return 1 where one is bad enough."""
    from schemactl.cli.commands.diff import exit_code_of
    from schemactl.flows.migrate.lint import judge
    from schemactl.render.findings import lint_document, print_findings, render_findings

    judged = judge(Path(options.target), options.since)
    return write_report(
        terminal,
        options,
        judged,
        lambda lint_result: lint_document(lint_result.report, lint_result.plans),
        lambda lint_result, _: print_findings(lint_result.report),
        lambda form: render_findings(judged.report, judged.plans, form, "Migrations"),
        fails=exit_code_of(judged.report, options.fail_on) is ExitCode.FINDINGS,
        output=options.output,
    )
