"""Load rejected records by the schema as it is now, or repaired ones from a file.

The records take the way of any load: contract, typing, model, names, keys and merges. What passes is loaded under a
load id of its own and marked as replayed in the same commit; what does not pass goes on waiting, with its new reason.
Each record is loaded once, however often the command is killed or runs at the same time. A nested row comes back under
its parent; records whose own row was deleted or replaced since are named.

Examples:
    # Show how many records would pass, and what stops the others
    schemactl rejects replay crm --dry-run

    # Load what waits in one column, without a question
    schemactl rejects replay crm --column phone --yes
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from schemactl.cli.commands.rejects._options import ReasonOptions, schema_name, with_spark
from schemactl.cli.declarations import Group, Setting, flag, option
from schemactl.cli.terminal import Terminal, agreeing, ask, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(ReasonOptions):
    name: str = schema_name()
    from_: str | None = option(
        "Load the records of this file of `rejects export`, and no others: repaired ones.",
        Group.INPUT,
        word="--from",
        metavar="FILE",
    )
    dry_run: bool = flag("Load nothing; show how many records would pass, and what stops the others.")
    yes: bool = flag("Do not ask.", short="-y")
    contract: str | None = option(
        "As of `schemactl normalize`; `freeze` rejects a row here, and does not stop the load.",
        Group.CONTRACT,
        Setting(),
        metavar="CONTRACT",
    )
    typing: str | None = option(
        "As of `schemactl normalize`: how texts are typed.", Group.INPUT, Setting(is_path=True), metavar="FILE"
    )
    typing_errors: Literal["column", "reject", "fail"] | None = option(
        "As of `schemactl normalize`; by default `reject`.", Group.INPUT, Setting()
    )
    model: str | None = option(
        "As of `schemactl normalize`: a Pydantic model that validates the records. Its module is imported.",
        Group.INPUT,
        Setting(in_file=False),
        metavar="MODULE:CLASS",
    )
    table_by: str | None = option(
        "As of `schemactl normalize`: the field that names the table of each record.", Group.INPUT, metavar="FIELD"
    )
    staging: str | None = option(
        "Where rows are kept while they are made, on disk; a cluster's machines must all reach it.",
        Group.LOAD,
        Setting(is_path=True),
        metavar="DIR",
    )


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
