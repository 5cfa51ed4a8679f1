"""Run the steps that bring a destination to a schema, after showing them and asking.

With --dir, the migrations of a folder that the destination does not have yet, in their order and nothing else: each is
a run of its own, which `rollback` undoes. A destination that does not have the schema that one begins with is refused.

REF is a schema, with --to DEST, or a plan that `schemactl migrate plan --out FILE` has kept: it is refused where the
destination is another than it was. All steps run in one transaction where the engine can, and the tables are read
again before it ends: they are as the schema says, or as they were. With --step-by-step each step is kept when it is
done; a run that was killed is taken up again by the next `apply`, or undone by `rollback`.

Examples:
    # Show the steps, ask, and run them
    schemactl migrate apply crm --to duckdb:///data.duckdb

    # Run the migrations of a folder that are pending
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
    reference: str | None = ref("[REF|PLAN]", "The schema, or a plan `*.plan.json`.")
    batch_rows: str = option(
        "How many rows a transaction fills with `--online`.", setting=Setting(), metavar="N", default="5000"
    )
    step_by_step: bool = flag("Keep each step when it is done, not all of them at the end.")


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
        raise InputError("name what is to be applied", hint="`apply REF`, `apply FILE.plan.json`, or `apply --dir DIR`")
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
        shown = print_plan_report(report, look)
        return options.agree(terminal, question(report.plan), shown, loses_data=report.plan.is_destructive)

    def agree_to_all(report: FolderApplyReport) -> bool:
        shown = print_pending(report, look)
        return options.agree(terminal, folder_question(report), shown, loses_data=report.is_destructive)

    if options.dir is not None:
        done = apply_folder(Path(options.dir), request, agree_to_all, lambda: show_progress(terminal.progress))
        printed = partial(folder_apply_document, options.dir)
        return write_report(terminal, options, done, printed, print_folder_applied, fails=done.is_refused)
    report = apply_migration(request, agree, lambda: show_progress(terminal.progress))
    return write_report(terminal, options, report, document, print_applied, fails=report.is_refused)
