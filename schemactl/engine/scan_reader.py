"""Reads scanned data again: finds records, counts the rows that they make, or writes the rows for a load."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemactl.inference.evidence import Position
from schemactl.inference.sample import Sample
from schemactl.inference.values import room_for
from schemactl.kernel.dispatch import Tables
from schemactl.normalization.plan import Plan
from schemactl.normalization.tally import LoadTime
from schemactl.progress import Progress
from schemactl.schema.types import MICROSECOND_DIGITS, Column, DataType

if TYPE_CHECKING:
    from schemactl.engine.package import WrittenRows
    from schemactl.engine.protocol import Engine
    from schemactl.engine.scan import Scan
    from schemactl.inference.survival import Scalars, Tally


@dataclass(frozen=True, slots=True, eq=False)
class ScanReader:
    """The records of a scan, while its engine is open. Each method imports the modules that it needs.

    Attributes:
        counts: the answers of ``count_unfit``.
    """

    engine: Engine
    scan: Scan
    progress: Progress
    counts: dict[Scalars, Tally] = field(default_factory=dict)

    def find(self, positions: Set[Position]) -> Mapping[Position, str]:
        """Return the records at some positions as JSON."""
        from schemactl.engine.package import find_records

        return find_records(self.engine, self.scan, positions)

    @property
    def reads_as_scanned(self) -> bool:
        """Whether a second look finds the values of the scan: no model, typing or dispatch has changed them."""
        options = self.scan.options
        return options.task is None and options.dispatch is None and options.model is None

    def count_unfit(self, questions: Sequence[Scalars]) -> list[Tally]:
        """Count the scalars that do not survive a type, in one pass for all questions that are new."""
        from schemactl.engine.scan import recount

        if new_questions := [question for question in dict.fromkeys(questions) if question not in self.counts]:
            scan, null_values = self.scan, self.scan.options.null_values
            tallies = recount(self.engine, scan.inputs, Sample(), new_questions, self.progress, null_values)
            self.counts.update(zip(new_questions, tallies, strict=True))
        return [self.counts[question] for question in questions]

    def count(self, tables: Tables, plan: Plan) -> WrittenRows:
        """Count the rows of a plan without writing them."""
        from schemactl.engine.package import count_rows

        return count_rows(self.engine, self.scan, tables, plan, self.progress)

    def write(
        self, plans: Mapping[Tables, Plan], folder: Path, load: LoadTime, stored: Callable[[Column], Mapping[str, Any]]
    ) -> dict[Tables, WrittenRows]:
        """Write the rows of plans, given by the scan's names of their root tables, in one pass.

        Workers write to ``folder``; ``stored`` returns the properties that the destination stores of a column
        (``Destination.stored``).
        """
        from schemactl.engine.input_warnings import warn_of_cuts
        from schemactl.engine.package import write_rows

        def as_kept(column: Column) -> Column:
            """Return a column without nanoseconds that the destination would not keep."""
            precision = column.properties.get("precision") or 0
            if column.data_type is not DataType.TIMESTAMP or precision <= MICROSECOND_DIGITS:
                return column
            if (stored(column).get("precision") or 0) > MICROSECOND_DIGITS:
                return column
            return Column(column.name, {**column.properties, "precision": MICROSECOND_DIGITS})

        stored_plans = {tables: plan.with_columns(as_kept) for tables, plan in plans.items()}
        with self.engine.explaining(self.scan.inputs):
            written = write_rows(self.engine, self.scan, stored_plans, load, folder, self.progress)
        cut = sorted(item for rows in written.values() for item in rows.cut.items())
        warn_of_cuts({f"{table}.{column}": count for (table, column), count in cut})
        return {tables: _completed(rows, plans[tables]) for tables, rows in written.items()}


def _completed(rows: WrittenRows, plan: Plan) -> WrittenRows:
    """Return rows with the room that columns need for all their numbers, without rejects if nothing is loaded."""
    columns = {(name, column.name): column for name, table in plan.tables.items() for column in table.columns.values()}
    rooms = {
        origin: room_for(columns[origin].properties, *span) for origin, span in rows.spans.items() if origin in columns
    }
    rows = replace(rows, room={origin: room for origin, room in rooms.items() if room})
    return rows if rows.tally.is_loadable else replace(rows, rejected=(), rejects=None)
