"""Load rejected records with the current schema, or repaired records from a file.

The records go through contract, typing, model, names, keys and merges, as in any load. Accepted records are loaded
with a separate load ID and marked as replayed in the same commit. Records that are rejected again stay waiting, with
the new reason. Each record is loaded once, even if the command is killed or runs twice. A nested row returns to its
parent; the report lists records whose row was deleted or replaced since.

Examples:
    # Show how many records would pass, and why the rest would not
    schemactl rejects replay crm --dry-run

    # Load the waiting rejects of one column, without asking
    schemactl rejects replay crm --column phone --yes
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from schemactl.cli.commands.rejects._options import ReasonOptions, schema_name, with_spark
from schemactl.cli.declarations import Group, Setting, flag, option
from schemactl.cli.options import staging_folder
from schemactl.cli.terminal import Terminal, agreeing, ask, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(ReasonOptions):
    name: str = schema_name()
    from_: str | None = option(
        "Load only the repaired records in this file from `rejects export`.", Group.INPUT, word="--from", metavar="FILE"
    )
    dry_run: bool = flag("Load nothing; show how many records would pass, and why the rest would not.")
    yes: bool = flag("Do not ask.", short="-y")
    contract: str | None = option(
        "Same as in `normalize`, but `freeze` rejects a row and does not stop the load.",
        Group.CONTRACT,
        Setting(),
        metavar="CONTRACT",
    )
    typing: str | None = option(
        "Same as in `normalize`: the Arc schema that types text columns.",
        Group.INPUT,
        Setting(is_path=True),
        metavar="FILE",
    )
    typing_errors: Literal["column", "reject", "fail"] | None = option(
        "Same as in `normalize`. Default: `reject`.", Group.INPUT, Setting()
    )
    model: str | None = option(
        "Same as in `normalize`: a Pydantic model that validates the records. Importing the module runs its code.",
        Group.INPUT,
        Setting(in_file=False),
        metavar="MODULE:CLASS",
    )
    table_by: str | None = option(
        "Same as in `normalize`: the field that names the table of each record.", Group.INPUT, metavar="FIELD"
    )
    staging: str | None = staging_folder()


@with_spark
def run(options: Options, terminal: Terminal) -> ExitCode:
    """Load the records; return 1 if something in them stops the load."""
    from schemactl.flows.replay import ReplayRequest, replay_rejects
    from schemactl.flows.request import InferRequest, dispatch_by
    from schemactl.normalization.rejects import ReplayReport
    from schemactl.render.progress import show_progress
    from schemactl.render.rejects import print_replay, print_replay_question, replay_document

    model = typing = None
    if options.model:
        from schemactl.flows.models import find_model

        model = find_model(options.model, options.contract)
    if options.typing:
        from schemactl.flows.typing import find_typing

        typing = find_typing(options.typing, options.typing_errors or "reject", options.schemas_folder)
    store = options.open_store(options.name)
    inference = InferRequest(
        sources=(),
        name=store.schema.name,
        table=None,
        schemas=options.schemas_folder,
        contract=options.contract,
        typing=typing,
        model=model,
        dispatch=dispatch_by(options.table_by, {}, None, model.key if model else None),
        agrees=agreeing(terminal),
        engine=options.engine_options(),
    )
    request = ReplayRequest(
        inference=inference,
        to=options.to,
        selection=options.selection(),
        repaired=Path(options.from_) if options.from_ else None,
        is_dry_run=options.dry_run,
        staging=Path(options.staging) if options.staging else None,
    )

    def agree(report: ReplayReport) -> bool:
        text = print_replay_question(report, terminal.look(options))
        return ask("load them", text, terminal, options, yes=options.yes)

    with show_progress(terminal.progress) as progress:
        report = replay_rejects(store, request, agree, progress)
    return write_report(terminal, options, report, replay_document, print_replay, fails=report.stopped is not None)
