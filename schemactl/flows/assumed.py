"""Loads whose values are not counted beforehand: it is assumed that they fit into the columns that there are.

These are the columns of the schema as it was, and those that the first documents add, and where others bring keys or
kinds of values that the first ones lack, the first of those. The assumption (``inference.assumption``) is taken back
where it does not hold: other documents could change the schema further, or a value turns out not to fit. What was made
so far is then thrown away, and the values are counted.

A schema depends on the order of documents. That of the first ones is looked at, and by the assumption the others change
nothing, in whatever order they come, but by the first value of a kind, whose place is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from schemactl.flows.evidence import table_of
from schemactl.flows.evolution import Evolution, evolve_schema
from schemactl.flows.infer import InferRequest
from schemactl.flows.progress import Progress
from schemactl.flows.resolution import resolve_data
from schemactl.flows.schemas import Opened
from schemactl.inference.assumption import Kinds, assume, behind
from schemactl.inference.classes import is_row_key, kind_of
from schemactl.inference.evidence import Evidence, merge
from schemactl.inference.findings import find_collisions
from schemactl.inference.paths import ELEMENT, Path
from schemactl.inference.report import ColumnFinding, InferenceReport, TableFinding
from schemactl.inference.resolve import Resolution
from schemactl.inference.taking import variant_bases
from schemactl.normalization.plan import Plan
from schemactl.schema.judgement import judge
from schemactl.schema.types import Table
from schemactl.store.folder import SchemasFolder

if TYPE_CHECKING:
    from schemactl.engine.survey import Reading, Survey
    from schemactl.flows.packing import Made


def evolve_by_first(
    request: InferRequest,
    folder: SchemasFolder,
    opened: Opened,
    survey: Survey,
    max_identifier_length: int | None,
    progress: Progress,
) -> tuple[Evolution, Evidence] | None:
    """Return the evolution by what comes first in the data, and the assumption under which it holds for all of it.

    None where it does not, or where nothing can be assumed.

    Raises:
        InputError: the schema cannot be read, or the data does not go with it.
        EngineError: Spark cannot read the data.
    """
    from schemactl.engine.first_documents import observe_first
    from schemactl.engine.later_documents import observe_missing

    kinds = kinds_by_path(survey)
    if kinds is None:
        return None
    assumed = assume(kinds, survey.files, survey.types, survey.stated)
    first = observe_first(survey)
    evolution = evolve_schema(request, folder, opened, first, max_identifier_length, is_loaded=True)
    settled = settle(request, evolution, behind(first, assumed), max_identifier_length)
    if settled is None and _may_settle_later(evolution):
        progress("looking for late keys", None)
        first = merge(first, observe_missing(survey, kinds, first))
        evolution = evolve_schema(request, folder, opened, first, max_identifier_length, is_loaded=True)
        settled = settle(request, evolution, behind(first, assumed), max_identifier_length)
    return None if settled is None else (settled, behind(first, assumed))


def kinds_by_path(survey: Survey) -> dict[Path, Kinds] | None:
    """Return what may stand at each path; None where values have to be looked at to say even that.

    That is so for integers past 64 bits, and where rows may bring keys of their own.
    """
    kinds: dict[Path, Kinds] = {}
    for reading in survey.readings:
        if reading.is_marked:
            return None
        for path, found in _kinds_of(reading).items():
            kinds[path] = _union(kinds[path], found) if path in kinds else found
    if any(is_row_key(path[-1]) for path in kinds if path and path[-1] is not ELEMENT):
        return None
    return kinds


def _kinds_of(reading: Reading) -> dict[Path, Kinds]:
    kinds = reading.shape.kinds()
    # Of an empty list and one of nulls the shape is the same, but only the latter makes rows.
    empty = {path for path, found in kinds.items() if path and path[-1] is ELEMENT and found == Kinds()}
    if empty and not reading.has_nulls_in_lists():
        return {path: found for path, found in kinds.items() if path not in empty}
    return kinds


def _union(one: Kinds, other: Kinds) -> Kinds:
    return Kinds(one.scalars | other.scalars, one.is_object or other.is_object, one.is_list or other.is_list)


def settle(
    request: InferRequest, evolution: Evolution, assumed: Evidence, max_identifier_length: int | None
) -> Evolution | None:
    """Return the evolution under which all data can be loaded, if it is as assumed; None if more has to be known.

    That is so where the schema that the first documents make of it stays as it is by all that others can hold, and
    nothing is to be told of the data.

    Args:
        request: what was asked for.
        evolution: of the schema by the first documents.
        assumed: what all documents hold.
        max_identifier_length: of the destination; None for no limit.
    """
    first = evolution.resolution
    if not _is_quiet(evolution.report):
        return None
    table = table_of(request.table, request.sources, assumed, request.name)
    separates = request.resolve_collisions
    resolution = resolve_data(assumed, first.schema, table, separates, max_identifier_length, is_loaded=True)
    is_same = (resolution.schema, resolution.propagation) == (first.schema, first.propagation)
    if not is_same or resolution.nulls or find_collisions(resolution):
        return None
    judgement = judge(first.schema, resolution.schema, request.contract)
    return replace(evolution, resolution=resolution, judgement=judgement)


def _may_settle_later(evolution: Evolution) -> bool:
    """Return whether it is of use to know the first values of the kinds that the first documents lack.

    They are looked at alone, without the values beside them, which rows may copy down.
    """
    propagation = evolution.resolution.propagation
    copied = (propagation.root, *propagation.tables.values())
    return _is_quiet(evolution.report) and all(is_row_key(column) for columns in copied for column in columns)


def _is_quiet(report: InferenceReport) -> bool:
    """Return whether nothing is to be told that depends on values."""
    return not (report.nulls or report.violations or report.collisions) and report.import_adopted is None


def did_fit(plan: Plan, made: Made) -> bool:
    """Return whether every value went into a column, and none was missing where none may be."""
    return made.tally.is_loadable and not any(
        _has_nulls(made, table, columns) for table, columns in _required(plan) if made.tally.tables[table].loaded
    )


def _required(plan: Plan) -> Iterator[tuple[str, Collection[str]]]:
    """Yield by table the columns that data feeds and that may hold no nulls."""
    fed: dict[str, set[str]] = {}
    for rows in plan.rows.walk():
        fed.setdefault(rows.table, set()).update(
            target.column.name for cell in rows.cells for targets in cell.targets.values() for target in targets
        )
    for name, table in plan.tables.items():
        required = {column.name for column in table.columns.values() if not column.nullable}
        if found := required & fed.get(name, set()):
            yield name, found


def recounted(evolution: Evolution, assumed: Evidence, made: Made) -> InferenceReport:
    """Return the report of the first documents with the values of all: where all fit, those are what was loaded.

    Args:
        evolution: as ``settle`` returns it.
        assumed: what all documents hold.
        made: their rows.
    """
    tables = tuple(_recounted(table, evolution.resolution, assumed, made) for table in evolution.report.tables)
    return replace(evolution.report, tables=tables)


def _recounted(finding: TableFinding, resolution: Resolution, assumed: Evidence, made: Made) -> TableFinding:
    table = resolution.schema.tables[finding.name]
    bases = {name: base for (of, name), base in variant_bases(resolution.schema).items() if of == table.name}
    values = _values(made, table)
    totals: Counter[str] = Counter()
    for name, count in values.items():
        totals[bases.get(name, name)] += count

    def recount(column: ColumnFinding) -> ColumnFinding:
        count = values[column.name]
        met = {kind for path in resolution.sources((table.name, column.name)) for kind in _kinds_at(path, assumed)}
        return replace(
            column,
            values=count,
            total=totals[bases.get(column.name, column.name)],
            nulls=None,
            absences=None,
            kinds=dict.fromkeys(met, count) if len(met) == 1 else {},
            lengths=None,
            range=None,
        )

    columns = tuple(recount(column) if column.sources else column for column in finding.columns)
    return replace(finding, columns=columns)


def _kinds_at(path: Path, evidence: Evidence) -> Iterator[str]:
    yield from map(str, evidence.stated_types(path))
    yield from map(kind_of, evidence.paths.get(path, {}))


def _values(made: Made, table: Table) -> Counter[str]:
    """Return how many values the loaded rows have in each column."""
    values: Counter[str] = Counter()
    for column, rows, nulls in _null_counts(made, table.name):
        values[column] += rows - nulls
    return values


def _has_nulls(made: Made, table: str, columns: Collection[str]) -> bool:
    return any(nulls for column, _, nulls in _null_counts(made, table) if column in columns)


def _null_counts(made: Made, table: str) -> Iterator[tuple[str, int, int]]:
    """Yield columns with their rows and nulls, as the footers tell them, by file and row group."""
    import pyarrow.parquet

    for path in made.tables.folders[table].rglob("*.parquet"):
        with pyarrow.parquet.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                for at in range(file.metadata.num_columns):
                    chunk = file.metadata.row_group(group).column(at)
                    column, told = chunk.path_in_schema, chunk.statistics
                    is_told = told is not None and told.has_null_count
                    nulls = told.null_count if is_told else file.read_row_group(group, [column])[0].null_count
                    yield column, chunk.num_values, nulls
