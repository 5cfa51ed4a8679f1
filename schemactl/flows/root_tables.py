"""Divides the data of a call by root table: by the call, the schema, the names of sources, or values of records."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from schemactl.errors import InputError, Location
from schemactl.flows.evidence import JSON_FORMATS, check_documents, find_sources
from schemactl.flows.evolution import (
    Evolution,
    PromotionCounts,
    Unfilled,
    evolve_schema,
    find_unfilled,
    may_be_unfilled,
)
from schemactl.flows.request import APPLIED_TYPING
from schemactl.inference.evidence import Evidence, FileEvidence, merge
from schemactl.inference.promotion import CountStored
from schemactl.inference.source_names import root_table
from schemactl.kernel.dispatch import ONE_TABLE, Tables
from schemactl.schema.hints import Hints, only_root
from schemactl.schema.record_selection import SETTING, stored_selection
from schemactl.schema.types import Schema
from schemactl.store.sources import LeftOutWarning, table_name

if TYPE_CHECKING:
    from schemactl.engine.input import Input
    from schemactl.engine.scan import Scan
    from schemactl.engine.scan_reader import ScanReader
    from schemactl.flows.request import InferRequest
    from schemactl.flows.schemas import Opened
    from schemactl.inference.report import TypingFinding


_MOST_FILES: Final = 5
"""Files that a warning names."""


@dataclass(frozen=True, slots=True)
class TableInput:
    """The data of one root table.

    Attributes:
        request: the call, reduced to this data.
        saved: files of saved evidence.
        is_named: whether the call names the table.
    """

    request: InferRequest
    saved: tuple[str, ...]
    inputs: tuple[Input, ...]
    is_named: bool

    def is_skipped(self, scan: Scan) -> bool:
        """Return whether a file that would name its table is empty: it creates no table and is not an error."""
        is_empty = not any(file.documents or file.bad for file in scan.files.values())
        return self.request.table_per_file and not self.is_named and is_empty


def inputs_by_table(request: InferRequest, before: Schema) -> tuple[TableInput, ...]:
    """Find the sources and divide them by root table; all are typed alike.

    A dispatch names tables only once records are read (``split_by_table``), so its sources are one part.
    """
    if request.model is not None and request.typing is not None:
        raise InputError(
            "`--model` and `--typing` cannot be used together",
            hint="remove `--typing`: a model types text values itself",
        )
    table_inputs = _inputs_by_table(with_selection(request, before), before)
    if request.selection is not None and not request.selection.is_whole:
        _check_are_json(table_inputs)
    is_by_schema = request.typing is None and request.model is None and request.dispatch is None
    has_applied = any(table.properties.get(APPLIED_TYPING) for table in before.tables.values())
    if request.typing is None and not (is_by_schema and has_applied):
        return table_inputs
    from schemactl.flows.typing import applied_typing, with_typing

    if is_by_schema:
        table_inputs = tuple(
            replace(
                table_input,
                request=replace(
                    table_input.request,
                    typing=applied_typing(table_input.request, before, {file.format for file in table_input.inputs}),
                ),
            )
            for table_input in table_inputs
        )
    return tuple(replace(table_input, request=with_typing(table_input.request, before)) for table_input in table_inputs)


def with_selection(request: InferRequest, before: Schema) -> InferRequest:
    """Return the request with the selection of records that its hints declare or its schema remembers."""
    if request.selection is not None:
        return request
    declared = request.hints.schema.settings if request.hints is not None and request.hints.schema is not None else {}
    settings = declared if SETTING in declared else before.settings
    return replace(request, selection=stored_selection(settings))


def _check_are_json(table_inputs: Iterable[TableInput]) -> None:
    """Refuse sources that `--records` cannot read."""
    for file in (file for table_input in table_inputs for file in table_input.inputs):
        if file.format not in JSON_FORMATS:
            hint = "name the elements that are records: `--input-format xml:TAG`" if file.format == "xml" else None
            message = f"`--records` reads JSON, and this file is read as `{file.format}`"
            raise InputError(message, at=Location(file.path), hint=hint)


def _inputs_by_table(request: InferRequest, before: Schema) -> tuple[TableInput, ...]:
    """Find the sources and divide them by root table.

    A source of ``--table NAME=SOURCE`` goes only to that table, even if another source contains it. The other sources
    go to the table of ``--table``, to one table for each file, to the schema's only table, or to one of their name.
    """
    if request.table_per_file and request.table is not None:
        raise InputError(f"`--table-per-file` and `--table {request.table}` cannot be used together")
    if request.dispatch is not None:
        return (_to_dispatch(request),)
    sources_by_table = _sources_by_table(request, before)
    table_inputs = [
        _table_input(request, table, *_find_sources(request, sources), is_named=True)
        for table, sources in sources_by_table.items()
    ]
    claimed_paths = {file.path for table_input in table_inputs for file in table_input.inputs}
    evidence_files, inputs = _find_sources(request, request.sources) if request.sources else ((), ())
    unclaimed = tuple(file for file in inputs if file.path not in claimed_paths)
    if not (evidence_files or unclaimed):
        return tuple(_checked(table_input, before) for table_input in table_inputs)
    if request.table_per_file:
        if evidence_files:
            raise InputError(
                f"`{evidence_files[0]}` is evidence of several files", hint="`--table-per-file` reads data only"
            )
        by_name: dict[str, list[Input]] = {}
        for file in unclaimed:
            by_name.setdefault(_root(request, before, table_name([file.path], request.name)), []).append(file)
        for root, files in by_name.items():
            _warn_of_names(request, root, files)
            table_inputs.append(_table_input(request, root, (), tuple(files), is_named=False))
    else:
        table = _table_of_unclaimed(request, before, has_others=bool(table_inputs), is_saved=bool(evidence_files))
        table_inputs.append(
            TableInput(
                replace(request, table=table, table_sources=()), evidence_files, unclaimed, request.table is not None
            )
        )
    if len(table_inputs) > 1 and request.hints is not None:
        _check_hints(request.hints)
    return tuple(_checked(table_input, before) for table_input in table_inputs)


def _find_sources(request: InferRequest, sources: Sequence[str]) -> tuple[tuple[str, ...], tuple[Input, ...]]:
    return find_sources(
        sources, request.input_format, request.has_header, request.engine, request.selection, request.is_wanted
    )


def _warn_of_names(request: InferRequest, table: str, inputs: Sequence[Input]) -> None:
    """Warn if files of several names go to one table because their names become one."""
    if len({table_name([file.path], request.name) for file in inputs}) > 1:
        files = [file.path for file in inputs]
        more = f" and {len(files) - _MOST_FILES:,} more" if len(files) > _MOST_FILES else ""
        file_list = ", ".join(f"`{file}`" for file in files[:_MOST_FILES])
        warnings.warn(
            LeftOutWarning(f"files of other names go to one table `{table}`: {file_list}{more}", files), stacklevel=2
        )


def _by(request: InferRequest) -> str:
    """Return the option that makes records name their tables."""
    return "--model" if request.model is not None and request.model.key is not None else "--table-by"


def _to_dispatch(request: InferRequest) -> TableInput:
    conflicts = {"--table-per-file": request.table_per_file, "--table TABLE=SOURCE": bool(request.table_sources)}
    conflicts["--typing"] = request.typing is not None
    if other := next((option for option, is_set in conflicts.items() if is_set), None):
        raise InputError(f"`{_by(request)}` and `{other}` do not go together", hint="leave one of them out")
    evidence_files, inputs = _find_sources(request, request.sources)
    if evidence_files:
        raise InputError(f"`{evidence_files[0]}` is evidence of one table", hint=f"`{_by(request)}` takes data only")
    return TableInput(request, (), inputs, is_named=False)


@dataclass(frozen=True, slots=True)
class TableData:
    """The data of one root table, read.

    Attributes:
        request: the call, reduced to this data.
        tables: the scan's names of the table: its only table, or values of the field that names tables.
        typing: errors of typed texts, and of documents that a model rejects.
        rejected: the number of documents of no table that a model rejects, by input; in the first table of a call.
        reader: reads its records again; None for a sample and for saved evidence.
    """

    request: InferRequest
    evidence: Evidence
    tables: Tables = (ONE_TABLE,)
    typing: tuple[TypingFinding, ...] = ()
    rejected: Mapping[str, int] = field(default_factory=dict)
    reader: ScanReader | None = None

    def evolve(
        self,
        opened: Opened,
        after: Evolution | None,
        unfilled: Unfilled = frozenset(),
        *,
        is_loaded: bool = False,
        count_stored: CountStored | None = None,
    ) -> Evolution:
        """Evolve a schema by the data; see ``evolve_schema`` for the arguments."""
        can_recount = self.reader is not None and self.reader.reads_as_scanned
        counts = PromotionCounts(self.reader.count_unfit if self.reader and can_recount else None, count_stored)
        evolution = evolve_schema(self.request, opened, self.evidence, is_loaded, unfilled, after, counts)
        return evolution.with_typing(self.typing, self.rejected)

    def evolve_by_accepted(self, opened: Opened, after: Evolution | None) -> Evolution:
        """Evolve a schema without tables and columns that only rejected rows need; rows are counted if necessary."""
        evolution = self.evolve(opened, after)
        unfilled: Unfilled = frozenset()
        while self.reader is not None and may_be_unfilled(evolution):
            rows = self.reader.count(self.tables, evolution.plan(self.evidence))
            newly_unfilled = find_unfilled(evolution, rows) - unfilled
            if not newly_unfilled:
                break
            unfilled |= newly_unfilled
            evolution = self.evolve(opened, after, unfilled)
        return evolution


def split_by_table(request: InferRequest, scan: Scan, before: Schema, reader: ScanReader | None) -> list[TableData]:
    """Divide scanned data by the root tables of its records; values that become one name go to one table."""
    dispatch = request.dispatch
    if dispatch is None:
        return [TableData(request, scan.evidence, tuple(scan.tables), scan.typing.get(ONE_TABLE, ()), reader=reader)]
    field_name = ".".join(dispatch.path)
    untabled = scan.typing.get(ONE_TABLE, ())
    if not scan.tables and untabled:
        raise InputError(f"the model accepts no record: {untabled[0].message}", at=untabled[0].first.location)
    if scan.stray is not None:
        count, first = scan.stray
        subject = "1 record has" if count == 1 else f"{count:,} records have"
        hint = "add `--table TABLE` for such records"
        raise InputError(f"{subject} no string in `{field_name}` ({_by(request)})", at=first.location, hint=hint)
    by_root: dict[str, list[str]] = {}
    for name, evidence in scan.tables.items():
        try:
            root = _root(request, before, name)
        except InputError as error:
            error.at = error.at or (min(evidence.witnesses).location if evidence.witnesses else None)
            raise
        by_root.setdefault(root, []).append(name)
    if request.hints is not None and len(by_root) > 1:
        _check_hints(request.hints)
    tables = []
    for names in by_root.values():
        table_request = replace(request, table=names[0], agrees=None)
        _checked(TableInput(table_request, (), (), is_named=True), before)
        errors = tuple(finding for name in names for finding in scan.typing.get(name, ()))
        evidence = merge(*(scan.tables[name] for name in names))
        tables.append(TableData(table_request, evidence, tuple(names), errors, reader=reader))
    return [replace(tables[0], typing=(*untabled, *tables[0].typing), rejected=scan.rejected), *tables[1:]]


def with_empty(tables: Sequence[TableData], empty: Mapping[str, FileEvidence]) -> list[TableData]:
    """Return the data with empty files, which the report of the first table lists."""
    if not tables:
        check_documents(empty, empty)
    return [replace(tables[0], evidence=merge(tables[0].evidence, Evidence(files=empty))), *tables[1:]]


def _check_hints(hints: Hints) -> None:
    unnamed = next((column.name for column in hints.columns if column.table is None), None)
    if unnamed is not None:
        hint = f"write `--column TABLE.{unnamed}:...`"
        raise InputError(f"`--column {unnamed}` names no table, but the data goes to several tables", hint=hint)


def _sources_by_table(request: InferRequest, before: Schema) -> Mapping[str, list[str]]:
    """Return the sources of ``--table NAME=SOURCE`` by table."""
    sources: dict[str, list[str]] = {}
    for table, source in request.table_sources:
        sources.setdefault(_root(request, before, table), []).append(source)
    if request.table is not None and _root(request, before, request.table) in sources:
        raise InputError(f"`--table {request.table}` is set with and without a source", hint="use one form")
    return sources


def _root(request: InferRequest, before: Schema, table: str) -> str:
    return root_table(before, table, request.max_identifier_length)


def _table_input(
    request: InferRequest, table: str, evidence_files: tuple[str, ...], inputs: tuple[Input, ...], *, is_named: bool
) -> TableInput:
    sources = (*evidence_files, *(file.path for file in inputs))
    return TableInput(
        replace(request, table=table, sources=sources, table_sources=()), evidence_files, inputs, is_named
    )


def _table_of_unclaimed(request: InferRequest, before: Schema, *, has_others: bool, is_saved: bool) -> str | None:
    """Return the table of the remaining sources; None if the saved evidence decides."""
    if request.table is not None:
        return request.table
    default_table = table_name(request.sources, request.name)
    only = None if has_others else only_root(before)
    if only is None:
        return None if is_saved else default_table
    if not is_saved and _root(request, before, default_table) != only:
        hint = f"`--table {default_table}` creates another table"
        message = f"the data goes to `{only}`, the only table of schema `{before.name}`; {hint}"
        warnings.warn(LeftOutWarning(message), stacklevel=2)
    return only


def _checked(table_input: TableInput, before: Schema) -> TableInput:
    """Return a part if its table exists, has no near namesake in the schema, or the user agrees to a new table."""
    request = table_input.request
    if request.table is None or (new := _root(request, before, request.table)) in before.tables:
        return table_input
    roots = (name for name, table in before.tables.items() if not table.is_nested)
    twin = next((name for name in roots if _letters(name) == _letters(new)), None)
    if twin is None:
        return table_input
    message = f"there is no table `{new}`, but a table `{twin}`"
    if request.agrees is not None:
        if not request.agrees(f"{message}; create a new table `{new}`"):
            raise InputError("nothing changed", hint=f"use `--table {twin}` to add to that table")
    elif table_input.is_named:
        warnings.warn(LeftOutWarning(f"{message}: creating a new table"), stacklevel=2)
    else:
        raise InputError(
            message, hint=f"use `--table {twin}` to add to that table, or `--table {new}` to create a table"
        )
    return table_input


def _letters(name: str) -> str:
    """Return a name without marks and case: ``telemetry_01`` and ``Telemetry01`` are twins."""
    return re.sub(r"[\W_]+", "", name).casefold()


def warn_of_unlike(table_inputs: Iterable[TableInput]) -> None:
    """Warn if files of different shape go into one table."""
    for table_input in table_inputs:
        if len(table_input.inputs) > 1 and table_input.request.dispatch is None:
            from schemactl.engine import input_warnings

            input_warnings.warn_of_unlike(table_input.inputs)
