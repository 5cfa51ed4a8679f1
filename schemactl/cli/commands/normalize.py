"""Load data into a destination, updating the schema like `infer`.

A load is atomic: readers of the destination see all of it or none. A load ID that exists in the destination is not
loaded again. Loads nothing and exits with 1 if the data violates a frozen contract, contains a null in a required
column, or contains values that do not fit a column or that would overwrite each other. Rows and values that a
contract discards are saved with their reason and place, in the table `_rejects` or in files below --rejects DIR; they
do not change the exit code.

Examples:
    # Load a file into DuckDB
    schemactl normalize fixtures/customers.csv --to duckdb:///data.duckdb

    # Write Parquet files to `warehouse`; reject rows that need variant columns
    schemactl normalize fixtures/orders.jsonl --contract data_type=discard_row
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from schemactl.cli.declarations import CommandGroup, Group, Setting, flag, option
from schemactl.cli.options import DataOptions, FindingsOptions
from schemactl.cli.terminal import Terminal, agreeing, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(FindingsOptions, DataOptions):
    command_group: ClassVar[CommandGroup] = CommandGroup.DATA

    to: str = option(
        "The destination: a folder (Parquet), `duckdb:///PATH`, `postgresql://USER@HOST/DATABASE`, "
        "`mysql://USER@HOST/DATABASE`, `sqlite:///PATH`, `iceberg:FOLDER`, `delta:FOLDER`, "
        "`spark:CATALOG.SCHEMA`, `dlt:NAME` (a dlt destination); `?dataset=NAME` sets the database schema. Or "
        "a name from the settings: `[destinations.prod]`.",
        Group.LOAD,
        Setting(),
        metavar="DEST",
        is_destination=True,
        default="warehouse",
    )
    rejects: str | None = option(
        "Save rejects as Parquet files in DIR, not in the table `_rejects`.",
        Group.CONTRACT,
        Setting(is_path=True),
        metavar="DIR",
    )
    load_id: str | None = option(
        "The load ID. A load ID that exists in the destination is not loaded again.", Group.LOAD, metavar="ID"
    )
    new_only: bool = flag(
        "Skip files that are already loaded. Stop at changed and renamed files whose rows would be appended again.",
        Group.INPUT,
        Setting(),
    )
    lineage: bool = flag("Print where in the data each column comes from.", Group.OUTPUT)
    staging: str | None = option(
        "The folder for rows during the load. All machines of a cluster must reach it.",
        Group.LOAD,
        Setting(is_path=True),
        metavar="DIR",
    )


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Load, print the report, and return 1 where something in the data stopped the load."""
    from schemactl.render.progress import show_progress

    with (
        show_progress(terminal.progress) as progress,
        # With a folder for the rows Spark has another one for its own files.
        options.begun_engine(() if options.staging else options.all_sources()) as engine,
    ):
        from schemactl.flows.normalize import NormalizeRequest, normalize

        request = NormalizeRequest(
            inference=replace(options.make_inference(agreeing(terminal)), engine=engine),
            to=options.to,
            rejects=Path(options.rejects) if options.rejects else None,
            load_id=options.load_id,
            new_only=options.new_only,
            lineage=options.lineage,
            staging=Path(options.staging) if options.staging else None,
        )
        report = normalize(request, progress)
    from schemactl.render.normalize import print_load

    def findings(name: str) -> str:
        from schemactl.render.findings import render_data_findings

        return render_data_findings(report.inference, name, "schemactl normalize")

    return write_report(terminal, options, report, lambda of: of.to_dict(), print_load, findings, fails=report.stops)
