"""Read data with Spark, evolve the schema NAME under its contract, and print what is new and why.

Files of a folder or a pattern that have no known format are skipped, and so are plain texts beside files of records;
standard error names them.

The schema is saved in the export folder (and in the import folder where there is none yet). Where the data
violates a frozen contract nothing is written, and the exit code is 1. What a contract rejects does not enter
the schema and is reported; that alone is not a failure. With --check nothing is written at all, and the exit code is 1
where the schema would change.

Examples:
    # Infer the schema `shop` from a file
    schemactl infer fixtures/orders.jsonl --name shop

    # State a key, and write nothing (exits with 1: the schema is new)
    schemactl infer fixtures/customers.csv --column id:bigint,primary_key --check
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from schemactl.cli.declarations import Group, Setting, argument, flag, option
from schemactl.cli.options import DataOptions, FindingsOptions, check_file_to_write
from schemactl.cli.terminal import Terminal, agreeing, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(FindingsOptions, DataOptions):
    sources: Sequence[str] = argument(
        "SOURCE...",
        "Files, globs, folders, object-store paths, `table:CATALOG.SCHEMA.TABLE`, or evidence that `infer "
        "--evidence` has saved (`*.evidence.json`), which stands for the data it was collected from.",
        default=[],
    )
    to: str | None = option(
        "The destination that the schema is for: names get no longer than it keeps them, and what its "
        "`_dlt_version` has and the schema's file has lost comes back. Nothing is written there.",
        Group.SCHEMA,
        metavar="DEST",
        is_destination=True,
    )
    sample: str = option(
        "How much of the data is looked at.", Group.INPUT, Setting(), metavar="10%|ROWS|full", default="full"
    )
    check: bool = flag("Write nothing; exit with 1 where the schema would change.")
    evidence: str | None = option(
        "Save what was seen in all sources as `NAME.evidence.json`, which can be a source of a later call.",
        Group.OUTPUT,
        metavar="FILE",
        check=check_file_to_write,
    )


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Infer, print the report, and return 1 where it holds findings."""
    from schemactl.render.progress import show_progress

    with show_progress(terminal.progress) as progress, options.begun_engine(options.all_sources()) as engine:
        from schemactl.flows.infer import infer

        request = replace(
            options.make_inference(agreeing(terminal)),
            to=options.to,
            sample=options.sample,
            is_check=options.check,
            evidence_file=Path(options.evidence) if options.evidence else None,
            engine=engine,
        )
        report = infer(request, progress)
    from schemactl.render.infer import print_inference

    def findings(name: str) -> str:
        from schemactl.render.findings import render_data_findings

        return render_data_findings(report, name, "schemactl infer")

    fails = report.is_refused or (report.is_check and report.changes_schema)
    return write_report(terminal, options, report, lambda of: of.to_dict(), print_inference, findings, fails=fails)
