"""A plan of tables: which values of nested documents become which cells of which rows. Plain data, made for one load.

Plans follow dlt's relational normalizer (docs/dlt.md §5) with all decisions made beforehand: names are normalized,
nesting is cut, and for every kind of value it stands which columns may take it. What is left for the engine depends on
single values alone: what kind a value has, and whether it can be coerced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from schemactl.inference.identifiers import SystemNames
from schemactl.schema.judgment import Violation
from schemactl.schema.nested_types import NestedType
from schemactl.schema.paths import Path
from schemactl.schema.types import Column, Table


class RowKey(StrEnum):
    """The source of the ``_dlt_id`` of a table's rows, where the data brings none (docs/dlt.md §5.4)."""

    PARENT = "parent"
    """From the key of the row above, the table and the place in the list: nested tables."""
    RANDOM = "random"
    """A new one for each load and place in the input: root tables, and lists that live in one (docs/dlt.md §5.6)."""
    PRIMARY_KEY = "primary_key"
    """The hash of the primary key's values: merges that find rows by their key."""
    CONTENT = "content"
    """The hash of the document: slowly changing dimensions (``scd2``)."""


@dataclass(frozen=True, slots=True)
class TargetColumn:
    """A column that may take a value.

    Attributes:
        refusal: what the contract has against it; None where values are loaded. A value that only a refused column
            can take is not loaded (``discard_value``) or its row is not (``discard_row``).
        structure: what it keeps objects and lists in, and takes only those that lose nothing there; None where it
            keeps JSON texts.
        is_exact: whether it takes only those values of its own data type that it holds as they are: the column as it
            was before a change of its type that the contract refuses. Others are left to the column as it was to be.
    """

    column: Column
    refusal: Violation | None = None
    structure: NestedType | None = None
    is_exact: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """The values at one path, for the rows around them.

    Attributes:
        name: the column that the path is normalized to, whatever becomes of its values.
        path: from the document; below the row's own path, or, where rows pass a value on, below that of a row above.
        targets: for each kind of value that was met there (its own data type: ``json`` for objects and lists that are
            kept whole, ``text`` for integers that no ``wei`` holds) the columns that may take it. The first one that
            it can be coerced to does; without coercion (``Plan.coerces``) the first one of its own type. At the rows'
            own path ``json`` means lists, as objects there are rows; no integer past 64 bits fits a ``bigint``.
            A kind without columns has values that nothing holds; what filters leave out has no kinds.
        structure: a type that all objects and lists there can be read in; None where they are read as JSON texts.
    """

    name: str
    path: Path
    targets: Mapping[str, tuple[TargetColumn, ...]]
    structure: NestedType | None = None


@dataclass(frozen=True, slots=True)
class Passed:
    """A value made for the rows at ``path``, in a column of ``SystemNames``, and copied into the rows below them."""

    target: Column
    path: Path
    column: str


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows that the values at one path make: one for the document, or for each element of a list.

    An element that is an object gives its keys, a scalar the column ``value``, a list only the rows below it.

    Attributes:
        parent: the table of the row above, None for rows of root tables.
        path: ``()`` for documents; the path of a list and ``ELEMENT`` for its elements.
        key: how they get their key.
        key_columns: for ``RowKey.PRIMARY_KEY``.
        has_load_id: whether they get ``_dlt_load_id``: those of root tables do, except scalars in lists.
        cells: in dlt's order of columns. Where several fill one column, the last one that is not null does.
        own_key: the cells at which objects bring a ``_dlt_id`` of their own. One that Python takes for true is the
            key, and the row gets no link columns; else a key is made and goes over it. Link columns go over cells.
        passed: further values that rows above pass on, over what the data has there.
        lists: the rows below, in dlt's order.
        skips_empty: whether rows with no value in any cell are left out, and those below them: filters leave them
            nothing else. What the table has no column for is not written, keys and links included.
        refusal: what the contract has against the table: neither these rows are loaded nor those below.
    """

    table: str
    parent: str | None
    path: Path
    key: RowKey
    key_columns: tuple[str, ...] = ()
    has_load_id: bool = False
    cells: tuple[Cell, ...] = ()
    own_key: tuple[Cell, ...] = ()
    passed: tuple[Passed, ...] = ()
    lists: tuple[Rows, ...] = ()
    skips_empty: bool = False
    refusal: Violation | None = None

    def walk(self) -> Iterator[Rows]:
        """Yield these rows and all below, parents first."""
        yield self
        for below in self.lists:
            yield from below.walk()


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan by which one load makes rows of its documents.

    Attributes:
        tables: the tables that are written, as the new schema has them; columns that wait for data are left out.
        names: dlt's own columns under the schema's naming convention.
        coerces: whether values may change their type; else what is of another type than its column goes beside it.
        structures: what columns keep objects and lists in, by table and column.
    """

    rows: Rows
    tables: Mapping[str, Table]
    names: SystemNames
    coerces: bool = True
    structures: Mapping[tuple[str, str], NestedType] = field(default_factory=dict)

    def with_columns(self, change: Callable[[Column], Column]) -> Plan:
        """Return the same plan for columns that are changed, all by one rule."""
        tables = {
            name: replace(table, columns={key: change(column) for key, column in table.columns.items()})
            for name, table in self.tables.items()
        }
        return replace(self, tables=tables, rows=_rows_with(self.rows, change))


def _rows_with(rows: Rows, change: Callable[[Column], Column]) -> Rows:
    def changed(cell: Cell) -> Cell:
        targets = {
            kind: tuple(replace(target, column=change(target.column)) for target in found)
            for kind, found in cell.targets.items()
        }
        return replace(cell, targets=targets)

    return replace(
        rows,
        cells=tuple(map(changed, rows.cells)),
        own_key=tuple(map(changed, rows.own_key)),
        lists=tuple(_rows_with(below, change) for below in rows.lists),
    )
