"""The call of ``schemactl normalize``: what was asked for, and which files it is about, before Spark is started."""

from __future__ import annotations

import glob
import re
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemactl.destinations import folder_of
from schemactl.errors import InputError, Problem
from schemactl.flows.evidence import table_of
from schemactl.flows.infer import check_request
from schemactl.flows.lineage import lineage_in
from schemactl.flows.loaded_files import find_new, remember
from schemactl.flows.migrate.ledger import with_lost
from schemactl.flows.packing import check_rejects_folder
from schemactl.flows.request import InferRequest
from schemactl.flows.tables import Part, part_by_table, warn_of_unlike
from schemactl.flows.target import LoadTarget, loadable
from schemactl.inference.evidence import Evidence
from schemactl.inference.fitting import without_long_names
from schemactl.inference.lineage import ENDING as LINEAGE_ENDING
from schemactl.inference.source_names import OTHER_TABLE, root_table
from schemactl.normalization.package import INPUTS_TABLE, LoadedInput
from schemactl.normalization.report import NormalizeReport, Outcome
from schemactl.normalization.tally import REJECTS_TABLE, LoadTime
from schemactl.schema.dispositions import complete
from schemactl.schema.full_types import MAX_DIGITS, check_scale
from schemactl.schema.hints import with_hints
from schemactl.schema.types import Column, DataType, Schema, Table, root_of
from schemactl.store.folder import SchemasFolder, schema_name
from schemactl.store.own_folder import PREFIX
from schemactl.store.sources import LeftOutWarning, is_local

if TYPE_CHECKING:
    from schemactl.engine.input import Input


ROWS: Final = "rows"
"""The purpose in the names of folders that hold rows while they are made."""


@dataclass(frozen=True, slots=True)
class NormalizeRequest:
    """The request of ``schemactl normalize``.

    Attributes:
        inference: what it shares with ``infer``; the sample is the whole data, and nothing is a check.
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
        checked: the schema whose tables the destination was asked about.
        parts: the data of each root table; none where nothing is new.
    """

    request: NormalizeRequest
    folder: SchemasFolder
    target: LoadTarget
    load: LoadTime
    before: Schema
    checked: Schema
    parts: tuple[Part, ...]
    files: tuple[LoadedInput, ...]
    seen: tuple[str, ...]

    def report(self, outcome: Outcome) -> NormalizeReport:
        """Return a report of which nothing more is known."""
        name = self.request.inference.name
        return NormalizeReport(name, self.load.id, self.target.shown, outcome, seen=self.seen)

    def check_tables(self, schema: Schema) -> None:
        """Ask the destination whether the tables of a schema could be loaded, unless it was; see ``Loader``."""
        if schema != self.checked:
            self.target.destination.check_tables(self.target.url, schema)


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
    places = (folder_of(target.url), folder.root if folder.is_usual else None, *left)
    parts = _find_data(request, before, [place for place in places if place is not None], folder)
    files = remember(_inputs_of(parts))
    seen: tuple[str, ...] = ()
    if request.new_only:
        parts, seen = find_new(parts, past, held)
        files = remember(_inputs_of(parts))
    # What becomes of longer names is known once the data is.
    checked = without_long_names(held, limit)
    call = Call(request, folder, target, LoadTime(load_id, datetime.now(UTC)), before, checked, parts, files, seen)
    if not parts:
        return call.report(Outcome.NOTHING_NEW)
    _check_stated(target, held, parts)
    target.destination.check_tables(target.url, checked)
    return call


def _find_data(request: NormalizeRequest, before: Schema, own: list[Path], schemas: SchemasFolder) -> tuple[Part, ...]:
    """Return the data by root table, without files that stand where schemactl writes.

    Raises:
        InputError: there is no data, or a source is none.
    """
    parts = part_by_table(request.inference, before)
    for part in parts:
        if part.saved:
            raise InputError(f"`{part.saved[0]}` is saved evidence, which holds no rows", hint="name the data itself")
    schema_folders = () if schemas.is_usual else (schemas.imports, schemas.exports)
    found = without_own(_inputs_of(parts), request.inference.all_sources, own, request.rejects, schema_folders)
    kept = [replace(part, inputs=tuple(each for each in part.inputs if each in found)) for part in parts]
    warn_of_unlike(kept)
    return tuple(part for part in kept if part.inputs)


def _inputs_of(parts: Iterable[Part]) -> tuple[Input, ...]:
    return tuple(each for part in parts for each in part.inputs)


def check_types(target: LoadTarget, tables: Iterable[Table]) -> None:
    """Refuse tables with columns of types that the destination lacks, or that no load brings it.

    Raises:
        InputError: there are some.
    """
    columns = ((table.name, column) for table in tables for column in complete(table))
    found = tuple(problem for table, column in columns if (problem := _type_problem(target, table, column)))
    if found:
        raise InputError(f"columns of such types cannot be loaded into `{target.kind}`", problems=found)


def _type_problem(target: LoadTarget, table: str, column: Column) -> Problem | None:
    from schemactl.kernel.stored import decimal_size

    place = f"`{table}.{column.name}`"
    try:
        if column.data_type in (DataType.DECIMAL, DataType.WEI):
            digits, scale = decimal_size(column)
            if digits > MAX_DIGITS:
                message = f"{place} has {digits} digits, and a load into `{target.kind}` brings {MAX_DIGITS} at most"
                return Problem(message, hint="lower the precision in the schema, or keep the column as `text`")
            check_scale(column.name, digits, scale, "a load")
        target.destination.stored(column)
    except InputError as error:
        return Problem(f"{place}: {error.message}", hint=error.hint)
    return None


def _check_stated(target: LoadTarget, before: Schema, parts: Iterable[Part]) -> None:
    """Refuse tables as ``check_types`` does, those that the data goes to, with what the call states of them."""
    for request in (part.request for part in parts):
        if request.dispatch is not None:
            continue  # which tables there are, the records say
        root = root_table(before, table_of(request.table, request.sources, Evidence(), request.name))
        stated = before if request.hints is None else with_hints(before, request.hints, root)
        check_types(target, [table for name, table in stated.tables.items() if root_of(stated, name) == root])


def check_root(table: str) -> None:
    """Refuse a root table of a name under which each dataset keeps a table of ours.

    Raises:
        InputError: it is one of them.
    """
    if table.lower() in (REJECTS_TABLE, INPUTS_TABLE):
        raise InputError(f"`{table}` is a table of schemactl's own", hint=OTHER_TABLE)


# --- its id ---

_LOAD_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def choose_load_id(stated: str | None) -> str:
    """Return the id of a load: the one stated, else dlt's, the seconds since 1970.

    Raises:
        InputError: it cannot be a part of a file's name, or is longer than dlt's column for it.
    """
    if stated is None:
        return str(time.time())
    if not _LOAD_ID.fullmatch(stated):
        hint = "at most 64 letters, digits, `.`, `_` and `-`, a letter or digit first"
        raise InputError(f"`{stated}` cannot be the id of a load", hint=hint)
    return stated


# --- files that schemactl itself writes ---
#
# They are no data: `schemactl normalize .` would read them the second time. A source that lies within such a folder is
# meant.

_DATASET_MARK: Final = "init"
"""The file that dlt's `filesystem` destination puts into the folder of a dataset."""


def without_own(
    inputs: Iterable[Input],
    sources: Sequence[str],
    own: Iterable[Path],
    rejects: Path | None = None,
    schema_folders: Iterable[Path] = (),
) -> tuple[Input, ...]:
    """Return the inputs that do not stand in folders of our own; a `LeftOutWarning` reports the others.

    In the ``own`` folders tables and the like stand in folders below, in the one of rejects the files themselves. The
    ``schema_folders`` hold files of schemas and lineage, perhaps beside data.

    Raises:
        InputError: no other is left.
    """
    inputs = tuple(inputs)
    real = {folder.resolve(): folder for folder in own}
    flat = {rejects.resolve(): rejects} if rejects else {}
    schemas = {folder.resolve(): folder for folder in schema_folders}
    meant = [_fixed_part(source) for source in sources if is_local(source)]
    kept: list[Input] = []
    left_out: dict[str, set[Path]] = {}
    for each in inputs:
        place = Path(each.path).resolve() if each.is_local else None
        folder = next((folder for folder in (*real, *flat) if place and _is_own(place, folder, folder in flat)), None)
        if folder is None and place and place.parent in schemas and _is_schema_or_lineage(place):
            folder = place.parent
        if (
            place is None
            or folder is None
            or any(folder in path.parents and place.is_relative_to(path) for path in meant)
        ):
            kept.append(each)
        else:
            left_out.setdefault(str((real | flat | schemas)[folder]), set()).add(place)
    if left_out:
        shown = ", ".join(f"{len(files):,} in `{folder}`" for folder, files in sorted(left_out.items()))
        if not kept:
            hint = "load into another place, or name the files to load one by one"
            raise InputError(f"the sources hold no files but those where schemactl writes: {shown}", hint=hint)
        warnings.warn(f"files where schemactl writes were left out: {shown}", LeftOutWarning, stacklevel=2)
    return tuple(kept)


def _is_own(place: Path, folder: Path, is_flat: bool) -> bool:
    if place.parent == folder:
        return is_flat or place.name == _DATASET_MARK
    return folder in place.parents


def _is_schema_or_lineage(path: Path) -> bool:
    """Return whether a file of a folder for schemas is none of data."""
    return schema_name(path) is not None or path.name.endswith(LINEAGE_ENDING)


def _fixed_part(source: str) -> Path:
    """Return the place of a source; of a pattern the part before its first wildcard."""
    if Path(source).exists():
        return Path(source).resolve()
    return Path(*takewhile(lambda part: not glob.has_magic(part), Path(source).parts)).resolve()
