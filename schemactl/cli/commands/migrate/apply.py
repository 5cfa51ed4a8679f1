"""Show the plan, ask for confirmation, and run it.

REF is a schema (with --to DEST) or a plan saved by `schemactl migrate plan --out FILE`. `apply` stops if the
destination has changed since the plan was saved. All steps run in one transaction if the engine supports it, and the
tables are checked before the commit: they match the schema, or they stay unchanged. With --step-by-step, each step
commits separately; if a run is interrupted, the next `apply` resumes it, and `rollback` undoes it.

With --dir, `apply` runs the pending migrations of a folder, in order. Each migration is a separate run for
`rollback`. `apply` stops if the destination does not have the schema that the next migration starts from.

Examples:
    # Show the steps, ask, and run them
    schemactl migrate apply crm --to duckdb:///data.duckdb

    # Run the pending migrations of a folder
    schemactl migrate apply --dir migrations --to duckdb:///data.duckdb
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from schemactl.cli.commands.migrate._options import (
    FolderOptions,
    PlanningOptions,
    SigningOptions,
    WritingOptions,
    with_spark,
)
from schemactl.cli.declarations import Setting, flag, option
from schemactl.cli.options import read_count, ref, text_or_json
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode, InputError

if TYPE_CHECKING:
    from schemactl.migration.reports import FolderApplyReport, PlanReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(PlanningOptions, WritingOptions, SigningOptions, FolderOptions):
    format: str = text_or_json()
    reference: str | None = ref("[REF|PLAN]", "A schema, or a plan file `*.plan.json`.")
    batch_rows: str = option(
        "Rows per transaction when `--online` fills columns.", setting=Setting(), metavar="N", default="5000"
    )
    step_by_step: bool = flag("Commit each step separately, not all steps at the end.")


@with_spark
def run(options: Options, terminal: Terminal) -> ExitCode:
    """Apply, print the outcome, and return 1 if a blocker stops it."""
    from schemactl.flows.migrate.apply import ApplyRequest, apply_migration
    from schemactl.flows.migrate.pending import apply_folder
    from schemactl.render.migrate import (
        folder_question,
        print_applied,
        print_folder_applied,
        print_pending,
        print_plan_report,
        question,
    )
    from schemactl.render.migrate_json import document, folder_apply_document
    from schemactl.render.progress import show_progress

    if (options.reference is None) == (options.dir is None):
        hint = "run `apply REF`, `apply FILE.plan.json` or `apply --dir DIR`"
        raise InputError("no schema, plan or folder given", hint=hint)
    request = ApplyRequest(
        reference=options.reference or "",
        to=options.to,
        schemas=options.schemas_folder,
        options=options.planning(),
        allows_destructive=options.allow_destructive,
        patience=replace(options.patience(), batch_rows=read_count(options.batch_rows, "--batch-rows")),
        is_step_by_step=options.step_by_step,
        key=options.key(),
    )
    look = terminal.look(options)

    def agree(report: PlanReport) -> bool:
        plan_text = print_plan_report(report, look)
        return options.agree(terminal, question(report.plan), plan_text, loses_data=report.plan.is_destructive)

    def agree_to_all(report: FolderApplyReport) -> bool:
        plan_text = print_pending(report, look)
        return options.agree(terminal, folder_question(report), plan_text, loses_data=report.is_destructive)

    if options.dir is not None:
        applied = apply_folder(Path(options.dir), request, agree_to_all, lambda: show_progress(terminal.progress))
        form = partial(folder_apply_document, options.dir)
        return write_report(terminal, options, applied, form, print_folder_applied, fails=applied.is_refused)
    report = apply_migration(request, agree, lambda: show_progress(terminal.progress))
    return write_report(terminal, options, report, document, print_applied, fails=report.is_refused)
