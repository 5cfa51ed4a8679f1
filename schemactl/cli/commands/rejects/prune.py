"""Delete old rejects.

Shows the rejects, with the number of waiting records, and asks. `prune` deletes all rejects of a record or none.

Examples:
    # Delete rejects that are older than 90 days
    schemactl rejects prune crm --older-than 90d

    # Delete only replayed rejects, without asking
    schemactl rejects prune crm --older-than 30d --state replayed --yes
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from schemactl.cli.commands.rejects._options import StateOptions, read_age, schema_name, with_spark
from schemactl.cli.declarations import flag, option
from schemactl.cli.terminal import Terminal, ask, write_report
from schemactl.errors import ExitCode, InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(StateOptions):
    name: str = schema_name()
    older_than: str | None = option("The minimum age of the rejects: `90d`, `12h`, `2w`.", metavar="AGE")
    state: Literal["waiting", "replayed", "discarded", "all"] = option("The state of the rejects.", default="all")
    yes: bool = flag("Do not ask.", short="-y")


@with_spark
def run(options: Options, terminal: Terminal) -> ExitCode:
    """Delete the rejects."""
    from schemactl.flows.rejects import prune_rejects
    from schemactl.normalization.rejects import ChangeReport
    from schemactl.render.rejects import change_document, print_change

    if options.older_than is None:
        raise InputError("`--older-than` is missing", hint="`--older-than 90d`")
    before = datetime.now(UTC) - read_age(options.older_than, "--older-than")

    def agree(report: ChangeReport) -> bool:
        text = print_change(report, terminal.look(options), "to delete")
        return ask("delete them for good", text, terminal, options, yes=options.yes)

    selection = replace(options.selection(), before=before)
    report = prune_rejects(options.open_store(options.name), selection, agree)
    return write_report(terminal, options, report, change_document, lambda of, look: print_change(of, look, "deleted"))
