"""Show migration steps with SQL, reason, risk and undo.

Writes nothing. Counts and reports stored values that would not survive a step, and exits with 1 if there are any.
--out FILE saves the plan, so `schemactl migrate apply FILE` runs exactly these steps.

With --dir, writes the next migration of a folder that you keep in git: the steps from the schema of the last
migration, for each destination with that schema. With --to, `plan` also counts values in that destination.

With --draft-sql DIR, writes the migration with SQL files for views that block its steps. Review them: `apply --dir DIR`
runs them with the steps.

With --dialect and without --to, prints an SQL script for an engine that is not connected: the steps from the --from
schema, or from an empty database.

Examples:
    # Preview the migration of a database
    schemactl migrate plan crm --to duckdb:///data.duckdb

    # Write the next migration file, to review and commit
    schemactl migrate plan crm --dir migrations --name add_amount
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemactl.cli.commands.migrate._options import (
    FolderOptions,
    PlanningOptions,
    SigningOptions,
    check_is_plain,
    with_spark,
)
from schemactl.cli.completing import complete_dialects
from schemactl.cli.declarations import VARIABLE_PREFIX, Group, flag, option, option_specs
from schemactl.cli.options import FindingsOptions, ReadersOptions, check_file_to_write, complete_references, ref
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode, InputError
from schemactl.redaction import redact

if TYPE_CHECKING:
    from schemactl.cli.settings import Surroundings
    from schemactl.migration.reports import PlanReport
    from schemactl.render.console import Look
    from schemactl.review.readers import StepReaders


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(FindingsOptions, PlanningOptions, SigningOptions, FolderOptions, ReadersOptions):
    reference: str = ref("REF", "The schema: NAME, a file, git:REV ...")
    out: str | None = option(
        "Save the plan to FILE, named `*.plan.json`.",
        Group.OUTPUT,
        metavar="FILE",
        short="-o",
        check=check_file_to_write,
    )
    check: bool = flag("Exit with 1 if the plan has steps.")
    dialect: str | None = option(
        "Print an SQL script for `snowflake`, `bigquery`, `redshift` ... With --dir: the destination kinds of "
        "the first migration: `postgresql`, or `duckdb,postgresql`.",
        Group.SCRIPT,
        metavar="D",
        completes=complete_dialects,
    )
    start: str | None = option(
        "With --dialect: the current schema of the engine; a reference to several schemas (`git:main`) "
        "selects the schema with the same name. With --dir: the schema that the first migration starts from.",
        Group.SCRIPT,
        metavar="REF",
        completes=complete_references,
        is_reference=True,
        word="--from",
    )

    name: str | None = option(
        "With --dir: the name of the migration. Default: named after its first step.", metavar="NAME"
    )
    draft_sql: str | None = option(
        "Write the next migration to DIR, as --dir does, with SQL files that drop the views that block its steps, and "
        "create them again with their owners, privileges and comments. Needs --to.",
        metavar="DIR",
    )

    def surround(self, read: Callable[[], Surroundings]) -> Surroundings:
        """Return the settings, without the destination if the result is a script or a migration."""
        surroundings = read()
        if not (self.dialect or self.dir):
            return surroundings

        def without_to(table: Mapping[str, Any]) -> dict[str, Any]:
            return {key: without_to(item) if key == "migrate" else item for key, item in table.items() if key != "to"}

        files = tuple(replace(file, table=without_to(file.table)) for file in surroundings.files)
        return replace(surroundings, files=files, environ={**surroundings.environ, f"{VARIABLE_PREFIX}TO": ""})


@with_spark
def run(options: Options, terminal: Terminal) -> ExitCode:
    """Plan, print, and return 1 if a step is blocked or, with ``--check``, if steps are pending."""
    if (folder := options.draft_sql or options.dir) is not None:
        return _write_next(options, terminal, Path(folder))
    if options.name is not None:
        raise InputError("`--name` needs `--dir`", hint="add `--dir DIR`")
    if options.dialect is not None:
        return _print_script(options, terminal, options.dialect)
    if options.start is not None:
        raise InputError("`--from` needs `--dialect` or `--dir`", hint="add `--dialect D`, or remove `--from`")
    if options.sign_key is not None and options.out is None:
        raise InputError("`--sign-key` needs `--out`", hint="add `--out FILE.plan.json`")
    from schemactl.flows.migrate.plan import PlanRequest, plan_migration
    from schemactl.render.progress import show_progress

    request = PlanRequest(
        reference=options.reference,
        to=options.to,
        schemas=options.schemas_folder,
        options=options.planning(),
        allows_destructive=options.allow_destructive,
        out=Path(options.out) if options.out else None,
        key=options.key(),
    )
    with show_progress(terminal.progress) as progress:
        report = plan_migration(request, progress)
    from schemactl.render.findings import render_findings, report_of_plan
    from schemactl.render.migrate import print_plan_report
    from schemactl.render.migrate_json import document
    from schemactl.render.readers import print_step_readers, step_readers_document

    step_readers = _step_readers(options, report)

    def print_report(report: PlanReport, look: Look) -> str:
        readers = print_step_readers(step_readers, look)
        return print_plan_report(report, look) + (f"\n{readers}" if readers else "")

    def plan_document(report: PlanReport) -> dict[str, Any]:
        return {**document(report), "readers": step_readers_document(step_readers)}

    findings = partial(render_findings, report_of_plan(report, step_readers), (report.plan,), title="Migration plan")
    fails = report.stops or (options.check and report.plan.steps)
    code = write_report(terminal, options, report, plan_document, print_report, findings, fails=fails)
    if options.format == "text" and report.plan.steps and not report.stops and not options.quiet:
        terminal.write(f"\nTo apply it: {_command(options)}\n")
    if options.out and not options.quiet:
        terminal.report(f"wrote {options.out}\n")
    return code


def _step_readers(options: Options, report: PlanReport) -> tuple[StepReaders, ...]:
    """Return the declared readers that the steps break."""
    sources = options.reader_sources()
    if not sources:
        return ()
    from schemactl.flows.migrate.step_readers import find_step_readers

    return find_step_readers(sources, report.plan)


def _command(options: Options) -> str:
    """Return the command that applies the plan, without secrets."""
    words = [options.out or options.reference, "--to", redact(options.to or "")]
    words += ["--allow-destructive"] if options.allow_destructive else []
    if options.out is None:
        # The command must plan the same steps again.
        specs = {spec.name: spec for spec in option_specs(type(options))}
        for name in ("schemas", "unique", "primary_keys", "on_unfit", "guess_renames", "online"):
            value = specs[name].value_in(options)
            if value != specs[name].default:
                words += [specs[name].words[0], *([] if value is True else [value])]
    return shlex.join(["schemactl", "migrate", "apply", *words])


def _print_script(options: Options, terminal: Terminal, dialect: str) -> ExitCode:
    from schemactl.flows.migrate.script import write_script

    check_is_plain(options.formats, "scripts are always text")
    if options.to is not None:
        raise InputError("`--dialect` writes a script offline", hint="remove `--to`")
    if options.out is not None or options.sign_key is not None:
        hint = "redirect the script instead: `... > FILE.sql`"
        raise InputError("`--out` and `--sign-key` cannot be used with a script", hint=hint)
    report = write_script(options.reference, options.start, dialect, options.schemas_folder, options.planning())
    from schemactl.render.migrate import print_script
    from schemactl.render.migrate_json import document

    fails = report.stops or (options.check and report.plan.steps)
    return write_report(terminal, options, report, document, lambda of, _: print_script(of), fails=fails)


def _write_next(options: Options, terminal: Terminal, folder: Path) -> ExitCode:
    from schemactl.flows.migrate.migration_folder import NextRequest, next_migration
    from schemactl.flows.migrate.pending import plan_next_there
    from schemactl.render.migrate import print_next
    from schemactl.render.migrate_json import document

    if options.draft_sql is not None and options.dir is not None:
        raise InputError("`--draft-sql` names the folder of the migrations", hint="leave `--dir` out")
    if options.draft_sql is not None and options.to is None:
        raise InputError("`--draft-sql` reads the views of a destination", hint="name it: `--to DEST`")
    check_is_plain(options.formats, "`schemactl migrate lint DIR` supports all formats")
    if options.out is not None or options.sign_key is not None:
        hint = "remove them: the migration goes into the folder"
        raise InputError("`--out` and `--sign-key` cannot be used with `--dir`", hint=hint)
    if options.to is not None and options.dialect is not None:
        raise InputError("`--to` and `--dialect` cannot be used together", hint="remove `--dialect`")
    request = NextRequest(
        reference=options.reference,
        folder=folder,
        schemas=options.schemas_folder,
        options=options.planning(),
        dialects=tuple(dialect.strip() for dialect in options.dialect.split(",")) if options.dialect else (),
        allows_destructive=options.allow_destructive,
        title=options.name,
        start=options.start,
    )
    if options.to is None:
        report = next_migration(request)
    else:
        report = plan_next_there(request, options.to, drafts_sql=options.draft_sql is not None)
    if report.is_written and report.migration is not None and not options.quiet:
        files = [own_sql.file for plan in report.migration.plans.values() for own_sql in plan.own]
        terminal.report("".join(f"wrote {folder / file}\n" for file in files))
    fails = report.blockers or (options.check and report.migration is not None)
    return write_report(terminal, options, report, document, print_next, fails=fails)
