"""Reports data that is often a mistake: very wide tables, tables of one row, columns of one value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import ascii_letters
from typing import Final

from schemactl.errors import first_names
from schemactl.inference.evidence import Evidence
from schemactl.inference.findings import ColumnEvidence
from schemactl.inference.report import ColumnFinding, TableFinding
from schemactl.inference.resolve import Resolution
from schemactl.schema.paths import Path, row_path
from schemactl.schema.types import Schema

MOST_COLUMNS: Final = 300
"""Number of columns of a table above which its keys are probably data."""

_LEAST_VALUES: Final = 3
"""Number of equal values from which a column is reported."""

_MOST_NAMES: Final = 5


def describe_odd_data(
    tables: Sequence[TableFinding], after: Schema, resolution: Resolution, evidence: Evidence
) -> Iterator[str]:
    """Yield a sentence for each kind of odd data in tables that are new or have new columns, by the schema after."""
    growing = (table.name for table in tables if any(column.is_new for column in table.columns))
    widths = {name: len(after.tables[name].columns) for name in growing}
    wide = [f"`{name}` ({width:,})" for name, width in widths.items() if width > MOST_COLUMNS]
    if wide:
        yield (
            f"more than {MOST_COLUMNS} columns: {first_names(wide, _MOST_NAMES)}; if keys of the data are values, "
            "such as ids or dates, `--column NAME:json` keeps their object in one column"
        )
    row_paths: dict[str, set[Path]] = {}
    for (table_name, _), classes in resolution.taken.items():
        row_paths.setdefault(table_name, set()).update(row_path(path) for path, _ in classes)
    row_counts = {name: sum(map(evidence.count, paths)) for name, paths in row_paths.items()}
    single = [f"`{table.name}`" for table in tables if table.is_new and row_counts.get(table.name) == 1]
    if single:
        yield f"one row only: {first_names(single, _MOST_NAMES)}"
    respelled = list(_respelled(tables, resolution))
    if respelled:
        yield (
            f"the naming convention changes names: {first_names(respelled, _MOST_NAMES)}; "
            f"`schemactl edit {after.name} --rename OLD=NEW` gives another name, and later data follows it"
        )
    by_column = ColumnEvidence(resolution, evidence)
    constant = [
        f"`{table.name}.{column.name}`"
        for table in tables
        for column in table.columns
        if _is_constant(table.name, column, by_column)
    ]
    if constant:
        yield f"the same value in each row: {first_names(constant, _MOST_NAMES)}"


def _respelled(tables: Sequence[TableFinding], resolution: Resolution) -> Iterator[str]:
    """Yield new tables and columns whose names differ from their keys in letters: `Gebühr` is `geb_hr`."""
    for table in tables:
        rows = resolution.rows.get(table.name, ()) if table.is_new else ()
        lists = [path[:-1] for path in rows if path]
        paths_by_name = [(table.name, path[len(row_path(path)) :]) for path in lists]
        for column in table.columns:
            sources = resolution.sources((table.name, column.name)) if column.is_new else ()
            paths_by_name += [(f"{table.name}.{column.name}", path[len(row_path(path)) :]) for path in sources]
        for name, path in paths_by_name:
            key = ".".join(step for step in path if step is not None)
            letters = {letter for letter in key.lower() if letter.isalpha()}
            # dlt writes `x` for a character at the end that is not a letter: `Price ($)` is `pricex`.
            has_other_end = name.endswith("x") and not key.lower().endswith("x")
            if has_other_end or not letters <= {*name.lower(), *ascii_letters}:
                yield f"`{key}` is `{name}`"


def _is_constant(table: str, column: ColumnFinding, by_column: ColumnEvidence) -> bool:
    """Return whether all rows have one value in a new column."""
    classes = by_column.taken((table, column.name))
    if not column.is_new or len(classes) != 1 or column.nulls or column.absences or column.values != column.total:
        return False
    (_, of_class) = classes[0]
    return of_class.count >= _LEAST_VALUES and of_class.is_constant
