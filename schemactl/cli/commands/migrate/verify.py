"""Check tables and values against a schema; exit 1 if they differ.

REF is the schema; the default is the latest schema in the destination's ledger. `verify` reads values only if the
engine does not enforce the schema itself: nulls in columns that only the schema makes required, and all types in
engines with untyped columns (SQLite).

Reads all rows, or with --sample the same sample of each table every time; the result shows the number of rows read.

--unique and --primary-keys also check keys that only the schema declares; a sample cannot show all duplicates.

Examples:
    # Check all rows against the schema in the ledger
    schemactl migrate verify --to duckdb:///data.duckdb

    # Check a sample against the schema `crm`
    schemactl migrate verify crm --to duckdb:///data.duckdb --sample 10%
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from schemactl.cli.commands.migrate._options import KeyOptions, with_spark
from schemactl.cli.declarations import flag, option
from schemactl.cli.options import FindingsOptions, ref
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode, InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(FindingsOptions, KeyOptions):
    reference: str | None = ref("[REF]", "The schema. Default: the schema in the ledger.")
    skip_rows: bool = flag("Check only tables and columns, not row values.")
    sample: str = option("How many rows of each table to read.", metavar="10%|ROWS|full", default="full")


@with_spark
def run(options: Options, terminal: Terminal) -> ExitCode:
    """Verify, print the differences, and return 1 if there are any."""
    from schemactl.flows.migrate.inspection import VerifyRequest, verify
    from schemactl.inference.sample import parse_sample
    from schemactl.render.progress import show_progress

    sample = parse_sample(options.sample)
    if options.skip_rows and not sample.is_full:
        raise InputError("`--skip-rows` and `--sample` cannot be used together")
    request = VerifyRequest(
        reference=options.reference,
        to=options.to,
        schemas=options.schemas_folder,
        looks_at_rows=not options.skip_rows,
        sample=sample,
        unique=options.unique,
        primary_keys=options.primary_keys,
    )
    with show_progress(terminal.progress) as progress:
        report = verify(request, progress)
    from schemactl.render.findings import render_findings, report_of_verification
    from schemactl.render.migrate import print_verified
    from schemactl.render.migrate_json import document

    findings = partial(render_findings, report_of_verification(report), (), title="Verification")
    return write_report(terminal, options, report, document, print_verified, findings, fails=not report.is_clean)
