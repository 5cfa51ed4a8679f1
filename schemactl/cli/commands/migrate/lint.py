"""Check migrations for locks, data loss and irreversible steps.

DIR is a folder of migrations: `lint` runs `schemactl migrate check`, then checks the lock, the written rows and the
undo of each step. With --since git:main..., it checks only the migrations that this branch adds. PLAN is a file that
`schemactl migrate plan --out` saved. `lint` runs no migration and needs no destination. Exits with 1 if a finding
reaches the severity of --fail-on; settings files cannot change that, because they may come with the migration.

Examples:
    # Check all migrations of a folder
    schemactl migrate lint migrations

    # Check a plan, for a Markdown comment
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
    target: str = argument("DIR|PLAN", "A migrations folder, or a plan file `*.plan.json`.")
    since: str | None = option(
        "Check only migrations that are not in this revision. Other migrations must match the revision.",
        metavar="git:REV",
    )
    fail_on: Literal["error", "warn", "never"] = option(
        "The lowest severity that makes `lint` exit with 1.", default="error"
    )
    output: str | None = output_file()

    def surround(self, read: Callable[[], Surroundings]) -> Surroundings:
        """Return the settings; with `--since`, of that revision instead of the head."""
        from schemactl.cli.policy import files_for
        from schemactl.store.git import revision_of

        return read() if revision_of(self.since) is None else Surroundings(os.environ, files_for(self.since))


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Check the migrations, print the findings, and return 1 if a finding reaches ``--fail-on``."""
    from schemactl.cli.commands.diff import exit_code_of
    from schemactl.flows.migrate.lint import judge
    from schemactl.render.findings import lint_document, print_findings, render_findings

    judged = judge(Path(options.target), options.since)
    return write_report(
        terminal,
        options,
        judged.report,
        lambda report: lint_document(report, judged.plans),
        lambda report, _: print_findings(report),
        lambda form: render_findings(judged.report, judged.plans, form, "Migrations"),
        fails=exit_code_of(judged.report, options.fail_on) is ExitCode.FINDINGS,
        output=options.output,
    )
