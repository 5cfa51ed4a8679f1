"""Who reads a column: the readers of a schema's tables, their uses of columns, and which of them a change breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, cached_property
from typing import NamedTuple, assert_never

from schemactl.errors import Location
from schemactl.grouping import group_by
from schemactl.schema.casts import Cast, CastOutcome, TypeChange, cast_outcome
from schemactl.schema.reader_effects import ReaderEffect


class Clause(StrEnum):
    """The part of a query in which a column is used."""

    SELECT = "select"
    STAR = "select *"
    FROM = "from"
    JOIN = "join"
    WHERE = "where"
    GROUP = "group by"
    HAVING = "having"
    WINDOW = "window"
    QUALIFY = "qualify"
    ORDER = "order by"


class Answer(StrEnum):
    """Whether anybody reads a column."""

    READ = "read"
    NOT_READ = "not read"
    UNKNOWN = "cannot tell"


@dataclass(frozen=True, slots=True)
class Reader:
    """A query, view, model or dashboard that reads tables.

    Attributes:
        kind: ``query``, ``view``, ``model``, ``exposure`` ...
        name: as its source names it.
        location: its file and line; None if it is in no file.
        owner: the responsible person or team, by its source or the repository's CODEOWNERS; None if unknown.
    """

    kind: str
    name: str
    location: Location | None = None
    owner: str | None = None

    @property
    def identity(self) -> tuple[str, str]:
        """Return the kind and name, by which a reader is the same before and after a change."""
        return self.kind, self.name


class Use(NamedTuple):
    """A reader's use of a column. A project has many: a tuple takes a third of the time of a dataclass.

    Attributes:
        table, column: by their names in the schema; no column for the table itself.
        clause: the part of the query.
        is_computed: whether the column is an operand of an operator or function in the clause.
        is_positional: whether the result has a fixed list of columns: a branch of a union, the query of an insert.
        location: the line of the file, or of the view's SQL.
        is_indirect: whether the reader reads the column by another reader, which names it and passes it on.
        cast: the cast whose operand the column is; None without one, or if its type is not known or has a size.
    """

    reader: Reader
    table: str
    column: str | None
    clause: Clause
    is_computed: bool = False
    is_positional: bool = False
    location: Location | None = None
    is_indirect: bool = False
    cast: Cast | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the column is only passed on."""
        return self.clause in (Clause.SELECT, Clause.STAR) and not self.is_computed

    def breaks_by(self, effect: ReaderEffect, type_change: TypeChange | None = None) -> bool:
        """Return whether a change with this effect breaks the use; ``type_change`` are the types, if it has any."""
        if self.is_indirect and effect in (ReaderEffect.REMOVED, ReaderEffect.ADDED):
            return False  # it breaks the reader that names the column
        match effect:
            case ReaderEffect.NONE:
                return False
            case ReaderEffect.REMOVED:
                # `select *` returns the remaining columns, and it is unknown who reads the result.
                return self.clause is not Clause.STAR or self.is_positional
            case ReaderEffect.RETYPED:
                return self._breaks_by_type(type_change)
            case ReaderEffect.COMPARED:
                return self._is_compared
            case ReaderEffect.MEANING:
                return self.is_computed or self.clause in (Clause.WHERE, Clause.HAVING, Clause.QUALIFY)
            case ReaderEffect.ADDED:
                return self.clause is Clause.STAR and self.is_positional
            case _:
                assert_never(effect)

    @property
    def _is_compared(self) -> bool:
        return self.is_computed or self.clause in (Clause.JOIN, Clause.WHERE, Clause.HAVING, Clause.QUALIFY)

    def _breaks_by_type(self, type_change: TypeChange | None) -> bool:
        if self.cast is not None and type_change is not None:
            match cast_outcome(self.cast, type_change):
                case CastOutcome.SAME:
                    return False
                case CastOutcome.OTHER:
                    return self._replace(is_computed=self.cast.is_operand, cast=None)._breaks_by_type(None)
        # Some types have no order or no equality: JSON of PostgreSQL cannot be grouped.
        is_sorted = self.clause in (Clause.ORDER, Clause.WINDOW, Clause.GROUP)
        return self._is_compared or is_sorted or self.is_positional


@dataclass(frozen=True, slots=True)
class Blindness:
    """A reader whose uses are unknown, fully or in part.

    Attributes:
        reason: ``select *``, ``a Python model``, ``SQL that does not parse: ...``.
        table, column: the table and column that it may read; None for any.
    """

    reader: Reader
    reason: str
    table: str | None = None
    column: str | None = None
    location: Location | None = None

    def may_read(self, table: str, column: str | None) -> bool:
        """Return whether the reader may read a column; without a column, the table."""
        return self.table in (None, table) and (self.column is None or column is None or self.column == column)


@dataclass(frozen=True, slots=True)
class Broken:
    """A reader that a change breaks.

    Attributes:
        uses: the uses that break, in the order of the reader's text.
        downstream: the readers of the reader's result, direct or indirect.
    """

    reader: Reader
    uses: tuple[Use, ...]
    downstream: tuple[Reader, ...] = ()


@dataclass(frozen=True)
class Readership:
    """The known readers of the tables of a schema.

    Attributes:
        uses: of columns and tables.
        blind: readers whose uses are unknown.
        downstream: for a reader the direct and indirect readers of its result.
        is_complete: whether the user says that the tables have no other readers.
        before: the readers before the change under review; None if only the later readers are known.
    """

    uses: tuple[Use, ...] = ()
    blind: tuple[Blindness, ...] = ()
    downstream: Mapping[Reader, tuple[Reader, ...]] = field(default_factory=dict)
    is_complete: bool = False
    before: Readership | None = None

    @cached_property
    def _uses_by_table(self) -> Mapping[str, list[Use]]:
        return group_by(self.uses, lambda use: use.table)

    @cached_property
    def _uses_by_column(self) -> Mapping[tuple[str, str | None], list[Use]]:
        return group_by(self.uses, lambda use: (use.table, use.column))

    def uses_of(self, table: str, column: str | None = None) -> tuple[Use, ...]:
        """Return the uses of a column and of ``select *``; without a column, all uses of the table."""
        return tuple(self._uses_by_table.get(table, ())) if column is None else self.uses_naming(table, column)

    def uses_naming(self, table: str, column: str | None) -> tuple[Use, ...]:
        """Return the uses of a column; without a column, the uses of the table without a column."""
        return tuple(self._uses_by_column.get((table, column), ()))

    def blind_for(self, table: str, column: str | None = None) -> tuple[Blindness, ...]:
        """Return the reasons why another reader may read a column or table unnoticed."""
        return tuple(blindness for blindness in self.blind if blindness.may_read(table, column))

    def doubts(self, table: str, column: str | None = None) -> tuple[Blindness, ...]:
        """Return the reasons why a reader may read a column or table unnoticed, ``select *`` included."""
        stars = (use for use in self.uses_of(table, column) if use.clause is Clause.STAR)
        star_doubts = (Blindness(use.reader, "`select *`", table, column, use.location) for use in stars)
        return tuple(dict.fromkeys((*self.blind_for(table, column), *star_doubts)))

    def answer(self, table: str, column: str | None = None) -> Answer:
        """Return whether anybody reads a column; without a column, the table."""
        uses = self.uses_of(table, column)
        if any(use.clause is not Clause.STAR for use in uses) or (uses and column is None):
            return Answer.READ
        return Answer.UNKNOWN if uses or self.blind_for(table, column) else Answer.NOT_READ

    def broken_by(
        self, effect: ReaderEffect, table: str, column: str | None, type_change: TypeChange | None = None
    ) -> tuple[Broken, ...]:
        """Return the readers that a change of a column, or of a whole table, breaks; most downstream readers first.

        A reader that it broke before counts, too, if its new text cannot be understood. A new column has no readers:
        ``ReaderEffect.ADDED`` uses the readers of the whole table.
        """
        broken = self._uses_broken_by(effect, table, column, type_change)
        if self.before is not None:
            unclear = {blindness.reader.identity for blindness in self.blind_for(table, column)}
            unclear -= {reader.identity for reader in broken}
            old_uses = self.before._uses_broken_by(effect, table, column, type_change)
            broken |= {reader: uses for reader, uses in old_uses.items() if reader.identity in unclear}
        readers = [Broken(reader, tuple(uses), self.downstream.get(reader, ())) for reader, uses in broken.items()]
        return tuple(sorted(readers, key=lambda item: (-len(item.downstream), item.reader.name)))

    def repaired_for(
        self, effect: ReaderEffect, table: str, column: str | None, type_change: TypeChange | None = None
    ) -> tuple[Reader, ...]:
        """Return the readers that a change would break if it did not repair or remove them as well."""
        if self.before is None:
            return ()
        old_readers = self.before._uses_broken_by(effect, table, column, type_change)
        unrepaired = {broken.reader.identity for broken in self.broken_by(effect, table, column, type_change)}
        repaired = (reader for reader in old_readers if reader.identity not in unrepaired)
        return tuple(sorted(repaired, key=lambda reader: reader.name))

    def _uses_broken_by(
        self, effect: ReaderEffect, table: str, column: str | None, type_change: TypeChange | None
    ) -> dict[Reader, list[Use]]:
        uses = self.uses_of(table, None if effect is ReaderEffect.ADDED else column)
        return group_by((use for use in uses if use.breaks_by(effect, type_change)), lambda use: use.reader)


def merge(
    readerships: Iterable[Readership], *, is_complete: bool = False, before: Readership | None = None
) -> Readership:
    """Return one readership of several sources."""
    sources = list(readerships)
    if len(sources) == 1:
        return replace(sources[0], is_complete=is_complete, before=before)
    uses: dict[Use, None] = {}
    blind: dict[Blindness, None] = {}
    downstream: dict[Reader, tuple[Reader, ...]] = {}
    for readership in sources:
        uses |= dict.fromkeys(readership.uses)
        blind |= dict.fromkeys(readership.blind)
        downstream |= readership.downstream
    return Readership(tuple(uses), tuple(blind), downstream, is_complete, before)


def with_owners(readership: Readership, owner_of: Callable[[Reader], str | None]) -> Readership:
    """Return a readership in which ``owner_of`` names the owners of readers whose sources name no owner."""

    @cache
    def owned(reader: Reader) -> Reader:
        return reader if reader.owner else replace(reader, owner=owner_of(reader))

    return replace(
        readership,
        uses=tuple(use._replace(reader=owned(use.reader)) for use in readership.uses),
        blind=tuple(replace(blindness, reader=owned(blindness.reader)) for blindness in readership.blind),
        downstream={owned(reader): tuple(map(owned, readers)) for reader, readers in readership.downstream.items()},
        before=readership.before and with_owners(readership.before, owner_of),
    )


@dataclass(frozen=True, slots=True)
class StepReaders:
    """The readers that a step of a migration breaks.

    Attributes:
        number: of the step, from 1.
    """

    number: int
    readers: tuple[Broken, ...]


@dataclass(frozen=True, slots=True)
class ColumnReaders:
    """The readers of a column.

    Attributes:
        column: None for the table as a whole.
        uses, blind: of the column; of the table only uses that name no column.
    """

    table: str
    column: str | None
    answer: Answer
    uses: tuple[Use, ...]
    blind: tuple[Blindness, ...]


@dataclass(frozen=True, slots=True)
class ReadersReport:
    """The readers of a schema's columns, in the order of the schema."""

    schema: str
    columns: tuple[ColumnReaders, ...]
    readership: Readership


def readers_of(readership: Readership, table: str, column: str | None) -> ColumnReaders:
    """Return the readers of a column; without a column, the readers of a table that name no columns."""
    uses = readership.uses_naming(table, column)
    blind = tuple(item for item in readership.blind_for(table, column) if item.column == column or column is not None)
    return ColumnReaders(table, column, readership.answer(table, column), uses, blind)
