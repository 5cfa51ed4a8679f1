"""Show current schema, pending steps, drift, variant columns and past runs.

Compares the destination with REF. Without REF, compares it with the latest schema in its ledger, which shows only
drift. With --dir, shows the applied and pending migrations of a folder; without --to, for all destinations in the
settings. With --check, exits with 1 if there is drift or a pending step.

Examples:
    # Show drift and past runs
    schemactl migrate status --to duckdb:///data.duckdb

    # Show the pending migrations of a folder
    schemactl migrate status --dir migrations --to duckdb:///data.duckdb
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from schemactl.cli.commands.migrate._options import FolderOptions, PlanningOptions, with_spark
from schemactl.cli.declarations import flag
from schemactl.cli.options import FindingsOptions, ref
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode, InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(FindingsOptions, PlanningOptions, FolderOptions):
    reference: str | None = ref("[REF]", "The schema. Default: the schema in the ledger.")
    skip_rows: bool = flag("List variant columns without counting their values.")
    check: bool = flag("Exit with 1 if a step is pending or unfinished, or if there is drift.")


@with_spark
def run(options: Options, terminal: Terminal) -> ExitCode:
    """Print the state; with ``--check``, return 1 if steps are pending or the tables have drifted."""
    if options.dir is not None:
        return _print_folder(options, terminal, options.dir)
    from schemactl.flows.migrate.inspection import find_status

    report = find_status(
        options.reference, options.to, options.schemas_folder, options.planning(), looks_at_rows=not options.skip_rows
    )
    from schemactl.render.findings import render_findings, report_of_status
    from schemactl.render.migrate import print_status
    from schemactl.render.migrate_json import document

    plans = (report.planned.plan,) if report.planned else ()
    findings = partial(render_findings, report_of_status(report), plans, title="State of the destination")
    fails = options.check and not report.is_settled
    return write_report(terminal, options, report, document, print_status, findings, fails=fails)


def _print_folder(options: Options, terminal: Terminal, folder: str) -> ExitCode:
    from schemactl.flows.migrate.pending import find_folder_status

    if options.reference is not None:
        raise InputError("`--dir` and REF cannot be used together")
    addresses = [options.to] if options.to is not None else _all_destinations()
    statuses = [find_folder_status(Path(folder), address) for address in addresses]
    from schemactl.render.findings import render_findings, report_of_folders
    from schemactl.render.migrate import print_folder_statuses
    from schemactl.render.migrate_json import folder_statuses_document

    document = partial(folder_statuses_document, folder)
    findings = partial(render_findings, report_of_folders(statuses), (), title="Migrations")
    fails = options.check and not all(status.is_settled for status in statuses)
    return write_report(terminal, options, statuses, document, print_folder_statuses, findings, fails=fails)


def _all_destinations() -> list[str]:
    """Return the addresses of all destinations that settings name, at least one."""
    from schemactl.cli.environments import environment_names, find_environment
    from schemactl.cli.settings import Surroundings, find_files

    surroundings = Surroundings(os.environ, find_files(Path.cwd()))
    environments = [find_environment(name, surroundings) for name in environment_names(surroundings)]
    if not environments:
        raise InputError("no destination given", hint="pass `--to DEST`, or add `[destinations.NAME]` to the settings")
    return [environment.address for environment in environments if environment is not None]
