"""Mark rejected records that you do not need, so they are not replayed.

Shows the rejects and asks. The rejects stay in the table, with the reason.

Examples:
    # Discard the test data of one load
    schemactl rejects discard crm --load-id monday --reason "test data"

    # Discard one record without asking
    schemactl rejects discard crm --id 4f1c --reason "sent twice" --yes
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from schemactl.cli.commands.rejects._options import RejectsOptions, schema_name, with_spark
from schemactl.cli.declarations import flag, option
from schemactl.cli.terminal import Terminal, ask, write_report
from schemactl.errors import ExitCode, InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(RejectsOptions):
    name: str = schema_name()
    reason: str | None = option("Why the records are not needed. Saved with the rejects.", metavar="TEXT")
    all: bool = flag("Discard all waiting records.")
    yes: bool = flag("Do not ask.", short="-y")


@with_spark
def run(options: Options, terminal: Terminal) -> ExitCode:
    """Mark the rejects."""
    from schemactl.flows.rejects import discard_rejects
    from schemactl.normalization.rejects import ChangeReport
    from schemactl.render.rejects import change_document, print_change

    because = (options.reason or "").strip()
    if not because:
        raise InputError("`--reason` is missing", hint='add a reason: `--reason "..."`')
    selection = options.selection()
    if selection.is_narrow is options.all:
        raise InputError(
            "name the records with `--id`, `--table`, `--column`, `--file`, `--load-id` or `--since`, or give `--all`",
            hint="`schemactl rejects list` shows what waits",
        )

    def agree(report: ChangeReport) -> bool:
        text = print_change(report, terminal.look(options), "to discard")
        return ask("discard them", text, terminal, options, yes=options.yes)

    report = discard_rejects(options.open_store(options.name), selection, because, agree)
    text = partial(print_change, task="discarded")
    return write_report(terminal, options, report, change_document, text)
