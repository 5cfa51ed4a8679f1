"""A plan of tables: the cells and rows that the values of nested documents become. Plain data, made for one load.

Plans follow dlt's relational normalizer (docs/dlt.md §5) with all decisions made beforehand: names are normalized,
nesting is cut, and every kind of value has the columns that may take it. Only decisions about single values remain for
the engine: the kind of a value, and whether it can be coerced.
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
    """The source of the ``_dlt_id`` of a table's rows, if the data lacks it (docs/dlt.md §5.4)."""

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
        refusal: the contract violation that forbids it; None if values are loaded. A value that only a refused column
            can take is not loaded (``discard_value``) or its row is not (``discard_row``).
        structure: the type for objects and lists that it can hold without loss; None for JSON texts.
        spells_scalars: whether texts inside of it take other scalars, in dlt's spelling.
        is_exact: whether it takes only values of its data type, unchanged: the stored column, if the contract refuses a
            change of its type. Other values go to the changed column.
    """

    column: Column
    refusal: Violation | None = None
    structure: NestedType | None = None
    is_exact: bool = False
    spells_scalars: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """The values at one path, for the rows around them.

    Attributes:
        name: the column that the path is normalized to, even if its values go elsewhere.
        path: the path from the document; below the row's own path, or below the path of a row above that passes a value
            on.
        targets: for each kind of value at the path (its data type: ``json`` for objects and lists that stay whole,
            ``text`` for integers beyond ``wei``) the columns that may take it. The first column that it can be coerced
            to takes it; without coercion (``Plan.coerces``) the first column of its data type. At the rows' own path
            ``json`` means lists, because objects are rows; no integer beyond 64 bits fits a ``bigint``. A kind without
            columns has values that no column can hold; filtered cells have no kinds.
        structure: a type that can represent all objects and lists at the path; None to read them as JSON texts.
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
    """The rows made from the values at one path: one row per document, or per element of a list.

    An element that is an object contributes its keys, a scalar the column ``value``, a list only the rows below it.

    Attributes:
        parent: the table of the row above; None for rows of root tables.
        path: ``()`` for documents; the path of a list and ``ELEMENT`` for its elements.
        has_load_id: whether the rows get ``_dlt_load_id``: True for root tables, except for scalars in lists.
        cells: the cells in dlt's order of columns. If several fill one column, the last one that is not null wins.
        own_key: the cells with the object's own ``_dlt_id``. A value that Python considers true is the key, and the
            row gets no link columns; otherwise a new key replaces it. Link columns replace cells.
        passed: values that rows above pass on, which replace values of the data.
        lists: the rows below, in dlt's order.
        skips_empty: whether to leave out rows without a value in any cell, and the rows below them: filters remove
            everything else. Keys and links that the table has no column for are not written.
        refusal: the contract violation of the table: neither these rows nor the rows below are loaded.
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
    """The plan that maps the documents of one load to rows.

    Attributes:
        tables: the tables to write, from the new schema, with complete columns only.
        coerces: whether values may change their type; if not, values of another type go to a variant.
        structures: the types that keep objects and lists, by table and column.
    """

    rows: Rows
    tables: Mapping[str, Table]
    names: SystemNames
    coerces: bool = True
    structures: Mapping[tuple[str, str], NestedType] = field(default_factory=dict)

    def with_columns(self, change: Callable[[Column], Column]) -> Plan:
        """Return the plan with ``change`` applied to all columns."""
        tables = {
            name: replace(table, columns={key: change(column) for key, column in table.columns.items()})
            for name, table in self.tables.items()
        }
        return replace(self, tables=tables, rows=_rows_with(self.rows, change))


def _rows_with(rows: Rows, change: Callable[[Column], Column]) -> Rows:
    def changed(cell: Cell) -> Cell:
        targets = {
            kind: tuple(replace(target, column=change(target.column)) for target in candidates)
            for kind, candidates in cell.targets.items()
        }
        return replace(cell, targets=targets)

    return replace(
        rows,
        cells=tuple(map(changed, rows.cells)),
        own_key=tuple(map(changed, rows.own_key)),
        lists=tuple(_rows_with(below, change) for below in rows.lists),
    )
