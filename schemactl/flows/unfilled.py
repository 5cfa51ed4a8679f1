"""What only rejected rows ask for: columns, variants and tables that nothing is loaded into do not come about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from schemactl.flows.evolution import Evolution, Unfilled
from schemactl.flows.packing import Made

if TYPE_CHECKING:
    from pathlib import Path


def find_unfilled(evolution: Evolution, made: Made) -> Unfilled:
    """Return the new columns without a value, and the tables without a row (column None), where rows are rejected.

    Args:
        evolution: what becomes of a schema by all the data.
        made: the rows.
    """
    if not any(counts.rejected for counts in made.tally.tables.values()):
        return frozenset()
    return frozenset(_find(evolution, made))


def _find(evolution: Evolution, made: Made) -> Iterator[tuple[str, str | None]]:
    for name, table in evolution.judgement.schema.tables.items():
        counts, known = made.tally.tables.get(name), evolution.before.tables.get(name)
        if counts is None or table == known:
            continue
        if not counts.loaded:
            if known is not None or table.is_nested:
                yield name, None
            continue
        new = {
            column.name
            for column in table.columns.values()
            if (name, column.name) in evolution.resolution.taken
            if known is None or column.name not in known.columns or not known.columns[column.name].is_complete
        }
        filled = _filled(made.rows.folders[name])
        yield from ((name, column) for column in new if not any(_is_of(path, column) for path in filled))


def _filled(folder: Path) -> set[str]:
    """Return the paths in Parquet files that hold a value, as their footers tell."""
    import pyarrow.parquet

    filled: set[str] = set()
    for path in folder.rglob("*.parquet"):
        with pyarrow.parquet.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                for at in range(file.metadata.num_columns):
                    chunk = file.metadata.row_group(group).column(at)
                    is_told = chunk.statistics is not None and chunk.statistics.has_null_count
                    if not is_told or chunk.statistics.null_count < chunk.num_values:
                        filled.add(chunk.path_in_schema)
    return filled


def _is_of(path: str, column: str) -> bool:
    """Return whether a path in a Parquet file is that of a column, or inside of it."""
    return path == column or path.startswith(f"{column}.")
