"""Write the original records of rejects to a file, to repair them in an editor.

Each line is an object with the `id` of a record and the unmasked `record` from the data. Change `record`, keep `id`,
and load the records with `schemactl rejects replay NAME --from FILE`.

Examples:
    # Export all waiting records
    schemactl rejects export crm --output rejects.jsonl

    # Export the rejects of one column
    schemactl rejects export crm --column phone --output phones.jsonl
"""

from __future__ import annotations

from dataclasses import dataclass

from schemactl.cli.commands.rejects._options import StateOptions, schema_name, with_spark
from schemactl.cli.options import STDOUT, output_file
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode, InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(StateOptions):
    name: str = schema_name()
    output: str | None = output_file()


@with_spark
def run(options: Options, terminal: Terminal) -> ExitCode:
    """Write the records; print their number."""
    from schemactl.flows.rejects import export_rejects
    from schemactl.normalization.rejects import ExportReport
    from schemactl.render.rejects import export_document, print_export

    if options.output is None:
        hint = "`--output rejects.jsonl`, or `--output -` for standard output"
        raise InputError("`--output` is missing: records are written as they are, unmasked", hint=hint)
    lines: list[str] = []
    records, lost = export_rejects(options.open_store(options.name), options.selection(), lines.append)
    terminal.write("".join(lines), options.output)
    report = ExportReport(options.output, records, lost)
    if options.output == STDOUT:
        terminal.report(print_export(report, terminal.look(options)))
        return ExitCode.DONE
    return write_report(terminal, options, report, export_document, print_export)
