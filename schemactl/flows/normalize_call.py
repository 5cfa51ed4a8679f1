"""The call of ``schemactl normalize``: what was asked for, checked before Spark is started."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemactl.destinations import folder_of
from schemactl.errors import InputError
from schemactl.flows.infer import check_request
from schemactl.flows.lineage import lineage_in
from schemactl.flows.loading import choose_load_id, remember, without_seen
from schemactl.flows.migrate.ledger import with_lost
from schemactl.flows.own_files import without_own
from schemactl.flows.packing import check_rejects_folder
from schemactl.flows.request import InferRequest
from schemactl.flows.tables import Part, part_by_table, warn_of_unlike
from schemactl.flows.target import LoadTarget, loadable
from schemactl.inference.fitting import without_long_names
from schemactl.normalization.package import INPUTS_TABLE, LoadedInput
from schemactl.normalization.report import NormalizeReport, Outcome
from schemactl.normalization.tally import REJECTS_TABLE, LoadTime
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder
from schemactl.store.own_folder import PREFIX

if TYPE_CHECKING:
    from schemactl.engine.input import Input


ROWS: Final = "rows"
"""The purpose in the names of folders that hold rows while they are made."""


@dataclass(frozen=True, slots=True)
class NormalizeRequest:
    """The request of ``schemactl normalize``.

    Attributes:
        inference: what it shares with ``infer``; the sample is the whole data, and nothing is a check.
        to: the destination's address.
        rejects: a folder for what contracts refuse; None for a table beside the others.
        load_id: None for the time as dlt has it.
        new_only: whether to leave out files that were loaded before.
        lineage: whether the report is to say where each column comes from.
        staging: a folder for rows while they are made; None for the system's.
    """

    inference: InferRequest
    to: str
    rejects: Path | None = None
    load_id: str | None = None
    new_only: bool = False
    lineage: bool = False
    staging: Path | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A request, checked before Spark is started.

    Attributes:
        before: the schema as it was when the call was checked.
        parts: the data of each root table; none where nothing is new.
    """

    request: NormalizeRequest
    folder: SchemasFolder
    target: LoadTarget
    load: LoadTime
    before: Schema
    parts: tuple[Part, ...]
    files: tuple[LoadedInput, ...]
    seen: tuple[str, ...]

    def report(self, outcome: Outcome) -> NormalizeReport:
        """Return a report of which nothing more is known."""
        name = self.request.inference.name
        return NormalizeReport(name, self.load.id, self.target.shown, outcome, seen=self.seen)


def prepare(request: NormalizeRequest) -> Call | NormalizeReport:
    """Return the call, or the report where there is nothing to do; what is wrong with it is reported at once."""
    inference = request.inference
    folder = SchemasFolder.at(inference.schemas)
    before = check_request(inference, folder)
    lineage_in(folder.exports, inference.name)
    check_rejects_folder(request.rejects)
    load_id = choose_load_id(request.load_id)
    target = loadable(request.to)
    past = target.destination.read_past_loads(target.url, inference.name)
    if load_id in past.load_ids:
        return NormalizeReport(inference.name, load_id, target.shown, Outcome.LOADED_BEFORE)
    held = with_lost(before, target)
    limit = target.max_identifier_length
    inference = replace(inference, max_identifier_length=limit, held=None if held == before else held)
    request = replace(request, inference=inference)
    left = request.staging.glob(f"{PREFIX}{ROWS}-*") if request.staging else ()
    found = (folder_of(target.url), request.inference.schemas, *left)
    parts = _find_data(request, before, [folder for folder in found if folder is not None])
    files = remember(_inputs_of(parts))
    seen: tuple[str, ...] = ()
    if request.new_only:
        new, seen = without_seen(_inputs_of(parts), files, past)
        fresh = (replace(part, inputs=tuple(each for each in part.inputs if each in new)) for part in parts)
        parts = tuple(part for part in fresh if part.inputs)
        files = remember(new)
    call = Call(request, folder, target, LoadTime(load_id, datetime.now(UTC)), before, parts, files, seen)
    if not parts:
        return call.report(Outcome.NOTHING_NEW)
    # What becomes of longer names is known once the data is.
    target.destination.check_tables(target.url, without_long_names(held, limit))
    return call


def _find_data(request: NormalizeRequest, before: Schema, own: list[Path]) -> tuple[Part, ...]:
    """Return the data by root table, without files that stand where schemactl writes.

    Raises:
        InputError: there is no data, or a source is none.
    """
    parts = part_by_table(request.inference, before)
    for part in parts:
        if part.saved:
            raise InputError(f"`{part.saved[0]}` is saved evidence, which holds no rows", hint="name the data itself")
    found = without_own(_inputs_of(parts), request.inference.all_sources, own, request.rejects)
    kept = [replace(part, inputs=tuple(each for each in part.inputs if each in found)) for part in parts]
    warn_of_unlike(kept)
    return tuple(part for part in kept if part.inputs)


def _inputs_of(parts: Iterable[Part]) -> tuple[Input, ...]:
    return tuple(each for part in parts for each in part.inputs)


def check_root(table: str) -> None:
    """Refuse a root table of a name under which each dataset keeps a table of ours.

    Raises:
        InputError: it is one of them.
    """
    if table.lower() in (REJECTS_TABLE, INPUTS_TABLE):
        raise InputError(f"`{table}` is a table of schemactl's own", hint="name another one with `--table`")
