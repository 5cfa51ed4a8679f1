"""The data of each root table: which sources it is of (by the call, the schema, their names), and what it evolves."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from schemactl.errors import InputError
from schemactl.flows.evidence import check_documents, find_sources
from schemactl.flows.evolution import Evolution, Unfilled, evolve_schema, find_unfilled, may_be_unfilled
from schemactl.flows.typing import with_typing
from schemactl.inference.evidence import Evidence, FileEvidence, merge
from schemactl.inference.source_names import root_table
from schemactl.kernel.dispatch import ONE_TABLE, Tables
from schemactl.schema.hints import Hints, only_root
from schemactl.schema.types import Schema
from schemactl.store.sources import LeftOutWarning, table_name

if TYPE_CHECKING:
    from schemactl.engine.input import Input
    from schemactl.engine.scan import Scan
    from schemactl.flows.request import InferRequest
    from schemactl.flows.scanned import ScanReader
    from schemactl.flows.schemas import Opened
    from schemactl.inference.report import TypingFinding


_MOST_FILES: Final = 5
"""Files that a warning names."""


@dataclass(frozen=True, slots=True)
class Part:
    """The data of one root table.

    Attributes:
        request: the call as if it were about this data alone.
        saved: files of saved evidence.
        is_stated: whether the call names the table.
    """

    request: InferRequest
    saved: tuple[str, ...]
    inputs: tuple[Input, ...]
    is_stated: bool

    def is_passed_over(self, scan: Scan) -> bool:
        """Return whether a file that names its table holds nothing: it makes none, and stops nothing."""
        is_empty = not any(file.documents or file.bad for file in scan.files.values())
        return self.request.table_per_file and not self.is_stated and is_empty


def part_by_table(request: InferRequest, before: Schema) -> tuple[Part, ...]:
    """Find the sources, and part them by the root tables that their data goes to; all are typed alike.

    What a dispatch names is known once records are read (``split_by_table``): its sources are one part.

    Raises:
        InputError: as ``_part_by_table``, or the typing is of no use for a table.
    """
    if request.model is not None and request.typing is not None:
        raise InputError("`--model` and `--typing` do not go together", hint="a model types texts itself")
    parts = _part_by_table(request, before)
    return tuple(replace(part, request=with_typing(part.request, before)) for part in parts)


def _part_by_table(request: InferRequest, before: Schema) -> tuple[Part, ...]:
    """Find the sources, and part them by the root tables that their data goes to.

    What ``--table NAME=SOURCE`` names goes to that table alone, also where another source holds it as well. The other
    sources go to the table that is stated, to one for each file, to the schema's only table, or to one of their name.

    Raises:
        InputError: a source is not there, or a table's name is none or nearly another one's.
    """
    if request.table_per_file and request.table is not None:
        raise InputError(
            "`--table-per-file` names the tables", hint=f"leave out one of it and `--table {request.table}`"
        )
    if request.dispatch is not None:
        return (_to_dispatch(request),)
    stated = _stated(request, before)
    parts = [
        _part(request, table, *find_sources(sources, request.input_format, request.has_header), is_stated=True)
        for table, sources in stated.items()
    ]
    claimed = {each.path for part in parts for each in part.inputs}
    saved, found = (
        find_sources(request.sources, request.input_format, request.has_header) if request.sources else ((), ())
    )
    rest = tuple(each for each in found if each.path not in claimed)
    if not (saved or rest):
        return tuple(_checked(part, before) for part in parts)
    if request.table_per_file:
        if saved:
            raise InputError(f"`{saved[0]}` is evidence of several files", hint="`--table-per-file` takes data only")
        by_name: dict[str, list[Input]] = {}
        for each in rest:
            by_name.setdefault(_root(request, before, table_name([each.path], request.name)), []).append(each)
        for root, inputs in by_name.items():
            _warn_of_names(request, root, inputs)
        parts += [_part(request, table, (), tuple(inputs), is_stated=False) for table, inputs in by_name.items()]
    else:
        table = _table_of_rest(request, before, has_others=bool(parts), is_saved=bool(saved))
        parts.append(Part(replace(request, table=table, others=()), saved, rest, request.table is not None))
    if len(parts) > 1 and request.hints is not None:
        _check_hints(request.hints)
    return tuple(_checked(part, before) for part in parts)


def _warn_of_names(request: InferRequest, table: str, inputs: Sequence[Input]) -> None:
    """Warn where files of several names go to one table, as their names become one."""
    if len({table_name([each.path], request.name) for each in inputs}) > 1:
        files = [each.path for each in inputs]
        more = f" and {len(files) - _MOST_FILES:,} more" if len(files) > _MOST_FILES else ""
        named = ", ".join(f"`{file}`" for file in files[:_MOST_FILES])
        warnings.warn(
            LeftOutWarning(f"files of other names go to one table `{table}`: {named}{more}", files), stacklevel=2
        )


def _by(request: InferRequest) -> str:
    """Return the option by which records name their tables."""
    return "--model" if request.model is not None and request.model.key is not None else "--table-by"


def _to_dispatch(request: InferRequest) -> Part:
    asked = {"--table-per-file": request.table_per_file, "--table TABLE=SOURCE": bool(request.others)}
    asked["--typing"] = request.typing is not None
    if other := next((option for option, is_asked in asked.items() if is_asked), None):
        raise InputError(f"`{_by(request)}` and `{other}` do not go together", hint="leave one of them out")
    saved, inputs = find_sources(request.sources, request.input_format, request.has_header)
    if saved:
        raise InputError(f"`{saved[0]}` is evidence of one table", hint=f"`{_by(request)}` takes data only")
    return Part(request, (), inputs, is_stated=False)


@dataclass(frozen=True, slots=True)
class TableData:
    """The data of one root table, read.

    Attributes:
        request: the call as if it were about this data alone.
        tables: what the scan calls the table: its only one, or values of the field that names tables.
        typing: what is wrong with texts that are typed, and with documents that a model rejects.
        rejected: documents that a model rejects and that are of no table: how many, by input; with the first table.
        reader: reads its records again; None where they are not all at hand: of a sample, and of saved evidence.
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
    ) -> Evolution:
        """Return what becomes of a schema by the data; the arguments are as of ``evolve_schema``."""
        evolution = evolve_schema(self.request, opened, self.evidence, is_loaded, unfilled, after)
        return evolution.with_typing(self.typing, self.rejected)

    def evolve_by_accepted(self, opened: Opened, after: Evolution | None) -> Evolution:
        """Return the same without what only rejected rows ask for; where rows may be rejected they are counted."""
        evolution = self.evolve(opened, after)
        unfilled: Unfilled = frozenset()
        while self.reader is not None and may_be_unfilled(evolution):
            rows = self.reader.count(self.tables, evolution.plan(self.evidence))
            further = find_unfilled(evolution, rows) - unfilled
            if not further:
                break
            unfilled |= further
            evolution = self.evolve(opened, after, unfilled)
        return evolution


def split_by_table(request: InferRequest, scan: Scan, before: Schema, reader: ScanReader | None) -> list[TableData]:
    """Part what was read by the root tables that its records go to; values that become one name go to one table.

    Raises:
        InputError: a record goes to no table, or a value is no name for one.
    """
    dispatch = request.dispatch
    if dispatch is None:
        typing = scan.typing.get(ONE_TABLE, ())
        return [TableData(request, scan.evidence, tuple(scan.tables), typing, reader=reader)]
    stated = ".".join(dispatch.path)
    of_none = scan.typing.get(ONE_TABLE, ())
    if not scan.tables and of_none:
        raise InputError(f"the model takes no record: {of_none[0].message}", at=of_none[0].first.location)
    if scan.stray is not None:
        count, first = scan.stray
        what = "1 record has" if count == 1 else f"{count:,} records have"
        hint = "`--table TABLE` names a table for such records"
        raise InputError(f"{what} no text in `{stated}` ({_by(request)})", at=first.location, hint=hint)
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
    found = []
    for names in by_root.values():
        own = replace(request, table=names[0], agrees=None)
        _checked(Part(own, (), (), is_stated=True), before)
        errors = tuple(finding for name in names for finding in scan.typing.get(name, ()))
        evidence = merge(*(scan.tables[name] for name in names))
        found.append(TableData(own, evidence, tuple(names), errors, reader=reader))
    return [replace(found[0], typing=(*of_none, *found[0].typing), rejected=scan.rejected), *found[1:]]


def with_empty(found: Sequence[TableData], empty: Mapping[str, FileEvidence]) -> list[TableData]:
    """Return what was read with files that hold nothing, which the report of the first table lists.

    Raises:
        InputError: nothing else was read.
    """
    if not found:
        check_documents(empty, empty)
    return [replace(found[0], evidence=merge(found[0].evidence, Evidence(files=empty))), *found[1:]]


def _check_hints(hints: Hints) -> None:
    unnamed = next((each.name for each in hints.columns if each.table is None), None)
    if unnamed is not None:
        hint = f"write `--column TABLE.{unnamed}:...`"
        raise InputError(f"`--column {unnamed}` does not name a table, and the data goes to several", hint=hint)


def _stated(request: InferRequest, before: Schema) -> Mapping[str, list[str]]:
    """Return the sources by the tables that ``--table NAME=SOURCE`` names."""
    sources: dict[str, list[str]] = {}
    for table, source in request.others:
        sources.setdefault(_root(request, before, table), []).append(source)
    if request.table is not None and _root(request, before, request.table) in sources:
        raise InputError(f"`--table {request.table}` is stated with sources and without", hint="state it in one way")
    return sources


def _root(request: InferRequest, before: Schema, table: str) -> str:
    return root_table(before, table, request.max_identifier_length)


def _part(
    request: InferRequest, table: str, saved: tuple[str, ...], inputs: tuple[Input, ...], *, is_stated: bool
) -> Part:
    sources = (*saved, *(each.path for each in inputs))
    return Part(replace(request, table=table, sources=sources, others=()), saved, inputs, is_stated)


def _table_of_rest(request: InferRequest, before: Schema, *, has_others: bool, is_saved: bool) -> str | None:
    """Return the table of the sources that none is stated for; None where what is read has to say its name."""
    if request.table is not None:
        return request.table
    named = table_name(request.sources, request.name)
    only = None if has_others else only_root(before)
    if only is None:
        return None if is_saved else named
    if not is_saved and _root(request, before, named) != only:
        message = (
            f"the data goes to `{only}`, the only table of schema `{before.name}`; `--table {named}` makes another"
        )
        warnings.warn(LeftOutWarning(message), stacklevel=2)
    return only


def _checked(part: Part, before: Schema) -> Part:
    """Return a part whose table is there, is unlike those that are there, or is agreed to.

    Raises:
        InputError: the table is named after a file, nearly as one that is there, or the answer is no.
    """
    request = part.request
    if request.table is None or (new := _root(request, before, request.table)) in before.tables:
        return part
    roots = (name for name, table in before.tables.items() if not table.is_nested)
    twin = next((name for name in roots if _letters(name) == _letters(new)), None)
    if twin is None:
        return part
    message = f"there is no table `{new}`, but `{twin}`"
    if request.agrees is not None:
        if not request.agrees(f"{message}; make a new table `{new}`"):
            raise InputError("nothing was done", hint=f"`--table {twin}` adds to that table")
    elif part.is_stated:
        warnings.warn(LeftOutWarning(f"{message}: a new table is made"), stacklevel=2)
    else:
        raise InputError(message, hint=f"`--table {twin}` adds to that table, `--table {new}` makes a new one")
    return part


def _letters(name: str) -> str:
    """Return a name without what is easily left out: ``telemetry_01`` and ``Telemetry01`` are twins."""
    return re.sub(r"[\W_]+", "", name).casefold()


def warn_of_unlike(parts: Iterable[Part]) -> None:
    """Warn where files that are unlike go into one table."""
    for part in parts:
        if len(part.inputs) > 1 and part.request.dispatch is None:
            from schemactl.engine import input_warnings

            input_warnings.warn_of_unlike(part.inputs)
