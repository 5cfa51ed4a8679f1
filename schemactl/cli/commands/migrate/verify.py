"""Hold a destination's tables and values against a schema; exit with 1 where they differ.

REF is the schema; by default the last one that the destination's ledger names. Values are looked at where the engine
does not see to it by itself: nulls that only the schema forbids, and any type where columns take any (SQLite).

All rows are read, or with --sample some of each table: the same ones each time, and the result states how many.

With --unique and --primary-keys also at keys that only the schema has; not in a sample, which shows few of two alike.

Examples:
    # Compare all rows with the schema of the ledger
    schemactl migrate verify --to duckdb:///data.duckdb

    # Compare a sample with the schema `crm`
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
    reference: str | None = ref("[REF]", "The schema; by default the ledger's.")
    skip_rows: bool = flag("Look at tables and columns alone, not at the values of rows.")
    sample: str = option("How many rows of a table are read.", metavar="10%|ROWS|full", default="full")


@with_spark
def run(options: Options, terminal: Terminal) -> ExitCode:
    """Verify, print the differences, and return 1 if there are any."""
    from schemactl.flows.migrate.inspection import VerifyRequest, verify
    from schemactl.inference.sample import parse_sample
    from schemactl.render.progress import show_progress

    sample = parse_sample(options.sample)
    if options.skip_rows and not sample.is_full:
        raise InputError("`--skip-rows` reads no rows, `--sample` some", hint="leave out one of them")
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
