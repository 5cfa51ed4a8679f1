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

from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

from schemactl.cli.declarations import CommandGroup, Group, Setting, flag, option
from schemactl.cli.options import DataOptions, FindingsOptions, read_count, read_size, staging_folder
from schemactl.cli.terminal import Terminal, agreeing, deferred_interrupt, write_report
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
        "Skip files that are already loaded. `--changed`, `--max-files` and `--max-bytes` do so, too.",
        Group.INPUT,
        Setting(),
    )
    changed: Literal["load", "skip", "fail"] | None = option(
        "What to do with files that have changed since they were loaded, and with copies. By default they are loaded "
        "into tables with `replace` or a key to merge by; otherwise the load stops, as rows would come twice.",
        Group.INPUT,
        Setting(),
    )
    max_files: str | None = option(
        "Load at most N files at a time, the oldest first, until all are loaded. Ctrl-C ends after the current load.",
        Group.LOAD,
        Setting(),
        metavar="N",
    )
    max_bytes: str | None = option(
        "Load at most this much at a time, such as `500MB` or `10GB`; as `--max-files`.",
        Group.LOAD,
        Setting(),
        metavar="SIZE",
    )
    promote_max_rows: str = option(
        "With `data_type=promote`: the largest number of stored rows that a load rewrites to widen a column.",
        Group.CONTRACT,
        Setting(),
        metavar="ROWS",
        default="10000000",
    )
    promote_locks: Literal["wait", "fail"] = option(
        "With `data_type=promote`: wait for other sessions that use the table, a minute at most, or fail at once.",
        Group.CONTRACT,
        Setting(),
        default="wait",
    )
    lineage: bool = flag("Print where in the data each column comes from.", Group.OUTPUT)
    staging: str | None = staging_folder()


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Load, print the report, and return 1 if the data stopped the load."""
    from schemactl.render.progress import show_progress

    max_files = read_count(options.max_files, "--max-files") if options.max_files else None
    max_bytes = read_size(options.max_bytes, "--max-bytes") if options.max_bytes else None
    max_rows = read_count(options.promote_max_rows, "--promote-max-rows", least=0)
    is_cut = max_files is not None or max_bytes is not None
    with (
        show_progress(terminal.progress) as progress,
        deferred_interrupt(terminal) if is_cut else nullcontext() as is_ended,
        # With a folder for the rows Spark has another one for its own files.
        options.begun_engine(() if options.staging else options.all_sources()) as engine,
    ):
        from schemactl.flows.backlog import LoadLimits
        from schemactl.flows.loaded_files import Changed
        from schemactl.flows.normalize import NormalizeRequest, normalize
        from schemactl.flows.promotion import PromoteLocks, PromotionOptions

        request = NormalizeRequest(
            inference=replace(options.make_inference(agreeing(terminal)), engine=engine),
            to=options.to,
            rejects=Path(options.rejects) if options.rejects else None,
            load_id=options.load_id,
            new_only=options.new_only,
            changed=Changed(options.changed) if options.changed else None,
            limits=LoadLimits(max_files, max_bytes),
            lineage=options.lineage,
            staging=Path(options.staging) if options.staging else None,
            promotion=PromotionOptions(max_rows, PromoteLocks(options.promote_locks)),
        )
        report = normalize(request, progress, is_ended=is_ended)
    from schemactl.render.normalize import print_load

    def findings(name: str) -> str:
        from schemactl.render.findings import render_data_findings

        return render_data_findings(report.inference, name, "schemactl normalize")

    code = write_report(terminal, options, report, lambda of: of.to_dict(), print_load, findings, fails=report.stops)
    is_interrupted = report.waiting and not report.stops
    return ExitCode.INTERRUPTED if is_interrupted else code
