"""Counts the data that a schema change breaks: values that do not survive a type, rows without a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from schemactl.errors import InputError, did_you_mean
from schemactl.examples import mask_examples
from schemactl.flows.evidence import (
    check_bad_records,
    check_documents,
    find_sources,
    read_saved,
    table_of,
)
from schemactl.inference.classes import LIST, NULL, OBJECT, kind_of
from schemactl.inference.evidence import Evidence, merge
from schemactl.inference.findings import find_collisions
from schemactl.inference.identifiers import SystemNames
from schemactl.inference.resolve import Resolution, TakenClass
from schemactl.inference.sample import parse_sample
from schemactl.inference.source_names import resolve_data, root_table
from schemactl.inference.survival import (
    Judged,
    Scalars,
    Tally,
    add,
    examples_of,
    feeds,
    is_in_rows,
    judge_absences,
    judge_values,
)
from schemactl.inference.values import DECLARED
from schemactl.kernel.recount import Absences
from schemactl.progress import Progress, no_progress
from schemactl.review.comparison import Comparison, Side
from schemactl.review.report import Counted
from schemactl.schema import paths
from schemactl.schema.diff import diff
from schemactl.schema.full_types import FullType, full_type
from schemactl.schema.naming import naming_of
from schemactl.schema.nested_types import FieldPath, Json, Leaf, ListOf, MapOf, NestedType, Struct, stated_type
from schemactl.schema.nested_widening import leaf_full_type
from schemactl.schema.paths import ELEMENT, Path
from schemactl.schema.personal import is_personal
from schemactl.schema.record_selection import stored_selection
from schemactl.schema.types import DataType, Schema, root_of

if TYPE_CHECKING:
    from schemactl.engine.choice import EngineOptions


@dataclass(frozen=True, slots=True)
class _Demand:
    """Values that must survive in a type.

    Attributes:
        fed: the paths and classes of the values.
        target: the type; None if no value fits.
    """

    fed: tuple[TakenClass, ...]
    target: FullType | None


def _find_demands(
    evidence: Evidence, fed: Sequence[TakenClass], column: NestedType, field: FieldPath
) -> tuple[_Demand, ...]:
    """Return the types that the values of a field must fit: of scalars, and of objects and lists."""
    data = _Data(evidence)
    paths, nested_type = tuple(dict.fromkeys(path for path, _ in fed)), column
    for step in field:
        paths, nested_type = data.below(paths, nested_type, step)
    return tuple(demand for demand in data.demands(paths, nested_type) if demand.fed)


def _judge_both(saved_evidence: Evidence, scanned: Evidence, demand: _Demand) -> tuple[Judged, Judged] | None:
    """Judge both parts of the data; None if evidence leaves values open that cannot be read again."""
    if demand.target is None:
        return _all_unfit(saved_evidence, demand), _all_unfit(scanned, demand)
    of_saved = judge_values(saved_evidence, demand.fed, demand.target)
    of_scanned = judge_values(scanned, demand.fed, demand.target)
    if of_saved is None or of_scanned is None or of_saved.open_paths:
        return None
    return of_saved, of_scanned


def _all_unfit(evidence: Evidence, demand: _Demand) -> Judged:
    classes = [(name, evidence.paths[path][name]) for path, name in demand.fed if name in evidence.paths.get(path, {})]
    tallies = (Tally(unfit.count, unfit.count, tuple(examples_of(name, unfit)), unfit.first) for name, unfit in classes)
    return Judged(add(tallies))


class _Data:
    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._keys: dict[Path, list[Path]] = {}
        for path in evidence.paths:
            if path and path[-1] is not ELEMENT:
                self._keys.setdefault(path[:-1], []).append(path)

    def below(self, paths: Sequence[Path], of: NestedType, step: str | None) -> tuple[tuple[Path, ...], NestedType]:
        """Return the paths of the values at a step, with their type."""
        match of:
            case Struct(fields) if step is not None:
                return tuple((*path, step) for path in paths), dict(fields)[step]
            case ListOf(element):
                return tuple((*path, ELEMENT) for path in paths), element
            case MapOf(value):
                return tuple(key for path in paths for key in self._keys.get(path, ())), value
        raise ValueError(f"{of} has no `{step}`")

    def demands(self, paths: Sequence[Path], of: NestedType) -> Iterator[_Demand]:
        match of:
            case Json():
                yield self._all(paths, FullType(DataType.TEXT))
            case Leaf():
                yield self._all(paths, leaf_full_type(of))
            case Struct(fields):
                yield from self._containers(paths, OBJECT)
                for name, _ in fields:
                    yield from self.demands(*self.below(paths, of, name))
            case ListOf() | MapOf():
                yield from self._containers(paths, LIST if isinstance(of, ListOf) else OBJECT)
                yield from self.demands(*self.below(paths, of, None))

    def _all(self, paths: Sequence[Path], target: FullType | None) -> _Demand:
        return _Demand(tuple(self._values(paths)), target)

    def _containers(self, paths: Sequence[Path], kind: str) -> Iterator[_Demand]:
        """Yield the values that are objects or lists, as required, and then the remaining values."""
        values = list(self._values(paths))
        yield _Demand(tuple(value for value in values if kind_of(value[1]) == kind), FullType(DataType.JSON))
        yield _Demand(tuple(value for value in values if kind_of(value[1]) != kind), None)

    def _values(self, paths: Sequence[Path]) -> Iterator[TakenClass]:
        return ((path, name) for path in paths for name in self._evidence.paths.get(path, {}) if name != NULL)


Recount: TypeAlias = Callable[[Sequence[Scalars | Absences]], list[Tally]]
"""Reads the scanned data again, for values that its evidence leaves open."""


@dataclass(frozen=True, slots=True)
class Question:
    """The question of a rule about the data.

    Attributes:
        table, column: names in the head schema.
        kind: whether values survive the column's new type, or rows lack a value, or values at a field inside of the
            column survive its new type.
        field: the path of the field.
    """

    table: str
    column: str
    kind: Literal["type", "null", "field"]
    field: FieldPath = ()


@dataclass(frozen=True, slots=True)
class DataRequest:
    """The data to count in.

    Attributes:
        sources: data, or saved evidence (``*.evidence.json``).
        table: the root table; None to name it after the source.
        sample: ``full``, ``10%`` or a number of records.
    """

    sources: tuple[str, ...]
    table: str | None = None
    input_format: str | None = None
    sample: str = "full"
    engine: EngineOptions | None = None


def count_survivors(
    base: Schema,
    head: Schema,
    questions: Sequence[Question],
    request: DataRequest,
    progress: Progress | None = None,
) -> Mapping[Question, Counted]:
    """Return the answers to the questions that the data can answer.

    It cannot answer questions about tables outside of the data's root table, about columns that dlt fills, or about
    values that cannot be read (saved evidence, and sources that declare their types).
    """
    sample = parse_sample(request.sample)  # a fault in it is reported before anything is read
    selection = stored_selection(base.settings)
    evidence_files, inputs = find_sources(
        request.sources, request.input_format, engine=request.engine, selection=selection
    )
    saved_evidence = read_saved(evidence_files, {file.path for file in inputs})
    if request.table is not None or not evidence_files:
        # Before the data is read, which may take long.
        _check_root(base, head, table_of(request.table, request.sources, saved_evidence, base.name))
    if not questions:
        return {}  # only now: a wrong source or table is an error whatever has changed
    survey = _Survey(base, head, tuple(questions), request)
    if not inputs:
        return survey.answer(saved_evidence, Evidence(), None)
    from schemactl.engine.choice import EngineOptions, open_engine

    notify = progress or no_progress
    with open_engine(request.engine or EngineOptions(), inputs, notify) as engine:
        from schemactl.engine.scan import recount, scan_inputs

        with engine.explaining(inputs):
            scan = scan_inputs(engine, inputs, sample, notify)
        check_bad_records(scan, hint="fix the data: the count would skip them")
        return survey.answer(saved_evidence, scan.evidence, partial(recount, engine, inputs, sample, progress=notify))


def _check_root(base: Schema, head: Schema, table: str) -> str:
    root = root_table(base, table)
    if root in base.tables or root in head.tables:
        return root
    roots = [name for name, table in base.tables.items() if not table.is_nested]
    hint = did_you_mean(root, roots) or "name the table of the data with `--table`"
    raise InputError(f"the schema `{base.name}` has no table `{root}`", hint=hint)


class _Survey:
    """Answers questions from the data."""

    def __init__(self, base: Schema, head: Schema, questions: tuple[Question, ...], request: DataRequest) -> None:
        comparison = Comparison(Side(base), Side(head), diff(base, head, heeds_moves=True), date.today())
        self._base = base
        self._head = head
        self._questions = questions
        self._request = request
        self._tables = comparison.base_tables
        self._columns = comparison.base_columns
        self._system = SystemNames(naming_of(base)).all()

    def answer(
        self, saved_evidence: Evidence, scanned: Evidence, recount: Recount | None
    ) -> Mapping[Question, Counted]:
        """Answer the questions.

        ``saved_evidence`` is the evidence of data that is not at hand, ``scanned`` that of data that ``recount``
        reads again.
        """
        request, evidence = self._request, merge(saved_evidence, scanned)
        check_documents(request.sources, evidence.files)
        table = table_of(request.table, request.sources, evidence, self._base.name)
        root = _check_root(self._base, self._head, table)
        resolution = resolve_data(evidence, self._base, table, separates=False)
        origins = {question: self._origin(question) for question in self._questions}
        by_dlt = {origin for origin in origins.values() if origin[1] in self._system and not feeds(resolution, *origin)}
        is_about = {
            origin: origin not in by_dlt and root_of(resolution.schema, origin[0]) == root
            for origin in origins.values()
        }
        origins = {question: origin for question, origin in origins.items() if is_about[origin]}
        fed = {question: feeds(resolution, *origin) for question, origin in origins.items() if question.kind != "null"}
        nulls = {question: origin for question, origin in origins.items() if question.kind == "null"}
        demands = {
            question: question_demands
            for question, question_fed in fed.items()
            if (question_demands := self._demands(question, question_fed, evidence))
        }
        tallies = {
            **_count_unfit(demands, saved_evidence, scanned, recount),
            **({} if evidence.declared else _count_nulls(nulls, resolution, saved_evidence, scanned, recount)),
        }
        return {
            question: self._counted(question, tallies[question]) for question in self._questions if question in tallies
        }

    def _origin(self, question: Question) -> tuple[str, str]:
        """Return table and column under the names of the base schema."""
        table = self._tables.get(question.table, question.table)
        return table, self._columns.get((question.table, question.column), question.column)

    def _counted(self, question: Question, tally: Tally) -> Counted:
        first = tally.first
        location = None if first is None else first.location
        # A mark that only the base has still applies.
        is_of_person = is_personal(self._base, *self._origin(question)) or is_personal(
            self._head, question.table, question.column
        )
        return Counted(tally.values, tally.bad, mask_examples(tally.examples, is_of_person), location)

    def _demands(self, question: Question, fed: tuple[TakenClass, ...], evidence: Evidence) -> tuple[_Demand, ...]:
        """Return the types that values must fit; empty if the values cannot be read."""
        table = self._head.tables.get(question.table)
        column = table.columns.get(question.column) if table else None
        if column is None or any(name == DECLARED for _, name in fed):
            return ()
        if question.kind == "field":
            structure = stated_type(column, keeps_sizes=True)
            tops = {path for path, _ in fed}
            if structure is None or any(
                path[:end] in tops for path in evidence.declared for end in range(len(path) + 1)
            ):
                return ()
            # A field without values in the data is an answer as well.
            return _find_demands(evidence, fed, structure, question.field) or (_Demand((), None),)
        full = full_type(column.properties)
        return (_Demand(fed, full),) if full else ()


def _count_unfit(
    demands_by_question: Mapping[Question, Sequence[_Demand]],
    saved_evidence: Evidence,
    scanned: Evidence,
    recount: Recount | None,
) -> dict[Question, Tally]:
    tallies_by_question: dict[Question, list[Tally]] = {}
    open_values: list[tuple[Question, tuple[paths.Path, ...], FullType]] = []
    for question, demands in demands_by_question.items():
        judged = [_judge_both(saved_evidence, scanned, demand) for demand in demands]
        complete = [both for both in judged if both is not None]
        if len(complete) < len(judged):
            continue
        tallies_by_question[question] = [judgment.tally for both in complete for judgment in both]
        for demand, (_, of_scanned) in zip(demands, complete, strict=True):
            if of_scanned.open_paths and demand.target is not None:
                open_values.append((question, of_scanned.open_paths, demand.target))
    if open_values and recount is not None:
        tallies = recount([Scalars(open_paths, target) for _, open_paths, target in open_values])
        for (question, _, _), tally in zip(open_values, tallies, strict=True):
            tallies_by_question[question].append(tally)
    return {question: add(tallies) for question, tallies in tallies_by_question.items()}


def _count_nulls(
    origins: Mapping[Question, tuple[str, str]],
    resolution: Resolution,
    saved_evidence: Evidence,
    scanned: Evidence,
    recount: Recount | None,
) -> dict[Question, Tally]:
    collided = {(collision.table, collision.column) for collision in find_collisions(resolution)}
    tallies: dict[Question, list[Tally]] = {}
    missing: dict[Question, Absences] = {}
    for question, origin in origins.items():
        rows, fed = resolution.rows.get(origin[0], ()), feeds(resolution, *origin)
        # Values of other rows are copies, and two values of one row count twice.
        if origin in collided or not all(is_in_rows(path, rows) for path, _ in fed):
            continue
        tally = judge_absences(scanned, rows, fed)
        tallies[question] = [judge_absences(saved_evidence, rows, fed), tally]
        if tally.bad and tally.first is None:
            missing[question] = Absences(rows, fed)
    if missing and recount is not None:
        for question, tally in zip(missing, recount(list(missing.values())), strict=True):
            tallies[question][1] = replace(tallies[question][1], first=tally.first)
    return {question: add(parts) for question, parts in tallies.items()}
