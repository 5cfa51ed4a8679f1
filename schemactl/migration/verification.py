"""What ``migrate verify`` finds: where tables and values are not as a schema says."""

from __future__ import annotations

from dataclasses import dataclass

from schemactl.migration.plan import Place
from schemactl.migration.reports import PastRun, SchemaThere
from schemactl.schema.changes import Change, ColumnAdded


@dataclass(frozen=True, slots=True)
class OddValues:
    """Stored values that are not what the schema says.

    Attributes:
        message: what is wrong with them.
        count: how many there are.
        rows: how many rows the table has.
    """

    table: str
    column: str
    message: str
    count: int
    rows: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A table whose files say different things of its columns.

    Attributes:
        message: which columns, and in which files.
        hint: what can be done about it; may be empty.
    """

    table: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Misplaced:
    """Values that a run of the ledger has not moved to where ``x-renamed-from`` says that they go.

    Attributes:
        column: None where it is about the rows of the whole table.
        origin: the name of the column, or table, that they were to come from.
    """

    table: str
    column: str | None
    origin: str


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """Whether tables and values are as a schema says.

    Attributes:
        drift: from the schema to the tables.
        odd: what was found in the rows.
        tables: how many were held against it.
        columns: in how many of them values were looked at.
        rows: how many rows were read for that.
        all_rows: how many rows the tables have that were read; more than ``rows`` where a sample was asked for.
        variants: columns for values that do not fit another one, which the schema does not have yet.
        disagreements: tables whose files say different things.
        misplaced: values that stand under wrong names, as the runs of the ledger show.
        unfinished: the run that stands half done, if there is one; what differs may be its doing.
    """

    place: Place
    schema: SchemaThere
    drift: tuple[Change, ...]
    odd: tuple[OddValues, ...]
    tables: int
    columns: int
    rows: int = 0
    all_rows: int = 0
    variants: tuple[ColumnAdded, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    misplaced: tuple[Misplaced, ...] = ()
    unfinished: PastRun | None = None

    @property
    def is_clean(self) -> bool:
        """Whether all is as the schema says; while a run stands half done, it is not settled what will be there."""
        found = self.drift or self.odd or self.variants or self.disagreements or self.misplaced
        return self.unfinished is None and not found
