"""Loads under a schema that the data leaves as it is: then nothing of its values has to be counted beforehand.

The surmise (``inference.surmise``) is taken back where it does not hold: the schema would change, or a value turns
out not to fit. What was made so far is then thrown away, and the values are counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from schemactl.flows.infer import Evolution
from schemactl.inference.classes import is_row_key
from schemactl.inference.evidence import Evidence
from schemactl.inference.paths import ELEMENT, Path
from schemactl.inference.surmise import Kinds, surmise
from schemactl.normalization.plan import Cell, Plan, Rows
from schemactl.schema.types import DataType

if TYPE_CHECKING:
    from schemactl.engine.survey import Reading, Survey
    from schemactl.flows.packing import Made


def surmised_evidence(survey: Survey) -> Evidence | None:
    """Return what the data holds if all its values fit; None where values have to be looked at to say even that.

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
    return surmise(kinds, survey.files, survey.types, survey.stated)


def _kinds_of(reading: Reading) -> dict[Path, Kinds]:
    kinds = reading.shape.kinds()
    # Of an empty list and one of nulls the shape is the same, but only the latter makes rows.
    empty = {path for path, found in kinds.items() if path and path[-1] is ELEMENT and found == Kinds()}
    if empty and not reading.has_nulls_in_lists():
        return {path: found for path, found in kinds.items() if path not in empty}
    return kinds


def _union(one: Kinds, other: Kinds) -> Kinds:
    return Kinds(one.scalars | other.scalars, one.is_object or other.is_object, one.is_list or other.is_list)


def leaves_schema(evolution: Evolution) -> bool:
    """Return whether the stored schema stays as it is, and nothing is to be told of the data."""
    report = evolution.report
    is_same = report.before_hash == report.after_hash and report.import_adopted is None
    return is_same and not (report.nulls or report.violations or report.collisions)


def simplified(plan: Plan) -> Plan:
    """Return a plan without the integers that may stand among other numbers, where all become doubles anyway."""
    return replace(plan, rows=_simplified(plan.rows))


def _simplified(rows: Rows) -> Rows:
    cells = tuple(map(_without_integers, rows.cells))
    return replace(rows, cells=cells, lists=tuple(map(_simplified, rows.lists)))


def _without_integers(cell: Cell) -> Cell:
    integers, others = str(DataType.BIGINT), str(DataType.DOUBLE)
    goes_with = cell.targets.get(integers) == cell.targets.get(others)
    if not (goes_with and all(each.column.data_type is DataType.DOUBLE for each in cell.targets.get(others, ()))):
        return cell
    return replace(cell, targets={kind: targets for kind, targets in cell.targets.items() if kind != integers})


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


def _has_nulls(made: Made, table: str, columns: Collection[str]) -> bool:
    import pyarrow.parquet

    for file in made.tables.folders[table].glob("*.parquet"):
        footer = pyarrow.parquet.read_metadata(file)
        for group in (footer.row_group(number) for number in range(footer.num_row_groups)):
            chunks = (group.column(number) for number in range(group.num_columns))
            asked = [chunk.statistics for chunk in chunks if chunk.path_in_schema in columns]
            if not all(found is not None and found.has_null_count and not found.null_count for found in asked):
                return True
    return False
