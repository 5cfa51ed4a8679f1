"""Read data with Spark, evolve the schema NAME as infer does, and load the relational tables into a destination.

All or nothing: a reader of the destination sees all of a load or none of it, and a load of the same id is not loaded
twice. Nothing is loaded, and the exit code is 1, where the data violates a frozen contract, holds a null where the
schema allows none, or holds values that no column can take or that would overwrite one another. Rows and values that
a contract rejects are kept with their reason and place (table `_rejects`, or files below --rejects DIR); that alone
is not a failure.

Examples:
    # Load a file into DuckDB
    schemactl normalize fixtures/customers.csv --to duckdb:///data.duckdb

    # Load Parquet files into `warehouse`; reject rows that need variants
    schemactl normalize fixtures/orders.jsonl --contract data_type=discard_row
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from schemactl.cli.declarations import Group, Setting, flag, option
from schemactl.cli.options import DataOptions, FindingsOptions
from schemactl.cli.terminal import Terminal, agreeing, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(FindingsOptions, DataOptions):
    to: str = option(
        "Where the tables go: a folder (of Parquet), `duckdb:///PATH`, `postgresql://USER@HOST/DATABASE`, "
        "`mysql://USER@HOST/DATABASE`, `sqlite:///PATH`, `iceberg:FOLDER`, `delta:FOLDER`, `spark:CATALOG.SCHEMA`, "
        "`dlt:NAME` (any destination of dlt's); `?dataset=NAME` names the database schema. Or a name "
        "that settings give one: `[destinations.prod]`.",
        Group.LOAD,
        Setting(),
        metavar="DEST",
        is_destination=True,
        default="warehouse",
    )
    rejects: str | None = option(
        "Keep rejected rows and values as Parquet files in DIR, not in a table beside the others.",
        Group.CONTRACT,
        Setting(is_path=True),
        metavar="DIR",
    )
    load_id: str | None = option(
        "The load's id; a load that is there already is not repeated.", Group.LOAD, metavar="ID"
    )
    new_only: bool = flag(
        "Skip files that were loaded before. Stop at changed and renamed files whose rows would be appended again.",
        Group.INPUT,
        Setting(),
    )
    lineage: bool = flag("Print where in the data each column comes from.", Group.OUTPUT)
    staging: str | None = option(
        "Where rows are kept while they are made, on disk; a cluster's machines must all reach it.",
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
