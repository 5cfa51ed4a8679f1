"""Infer or update a schema from data, and explain each change.

Saves the schema in the export folder, and in the import folder if it has no import file. If the data violates a
frozen contract, writes nothing and exits with 1. Rows and values that a contract discards are reported, but do not
change the schema or the exit code. With --check, writes nothing and exits with 1 if the schema would change.

In folders and patterns, skips files of unknown formats and text files next to files of records, and lists them on
standard error.

Examples:
    # Infer the schema `shop` from a file
    schemactl infer fixtures/orders.jsonl --name shop

    # Set a key and write nothing (exits with 1: the schema is new)
    schemactl infer fixtures/customers.csv --column id:bigint,primary_key --check
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from schemactl.cli.declarations import CommandGroup, Group, Setting, argument, flag, option
from schemactl.cli.options import DataOptions, FindingsOptions, check_file_to_write
from schemactl.cli.terminal import Terminal, agreeing, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(FindingsOptions, DataOptions):
    command_group: ClassVar[CommandGroup] = CommandGroup.DATA

    sources: Sequence[str] = argument(
        "SOURCE...",
        "Files, globs, folders, object-store paths, `table:CATALOG.SCHEMA.TABLE`, or evidence files "
        "(`*.evidence.json`) that `infer --evidence` saved.",
        default=[],
    )
    to: str | None = option(
        "The destination that the schema is for: limits the length of names, and restores tables and columns "
        "that are in its `_dlt_version` but missing in the schema file. Does not write to the destination.",
        Group.SCHEMA,
        metavar="DEST",
        is_destination=True,
    )
    sample: str = option(
        "How much of the data to read.", Group.INPUT, Setting(), metavar="10%|ROWS|full", default="full"
    )
    check: bool = flag("Write nothing; exit with 1 if the schema would change.")
    evidence: str | None = option(
        "Save the evidence from all sources as `NAME.evidence.json`, to use as a source later.",
        Group.OUTPUT,
        metavar="FILE",
        check=check_file_to_write,
    )


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Infer the schema, print the report, and return 1 if it contains findings."""
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
