"""Which rows of a table have no value for a column, by evidence."""

from __future__ import annotations

from collections.abc import Iterable

from schemactl.inference.classes import NULL
from schemactl.inference.evidence import Evidence
from schemactl.inference.paths import Path, row_path
from schemactl.inference.resolve import Taken
from schemactl.inference.survival.tallies import Tally


def is_in_rows(path: Path, rows: Iterable[Path]) -> bool:
    """Return whether the values at ``path`` stand in rows made of the values at ``rows``: no list is between."""
    return row_path(path) in rows


def judge_absences(evidence: Evidence, rows: Iterable[Path], fed: Iterable[Taken]) -> Tally:
    """Count the rows of a table that have no value for a column.

    The first of them is reported where evidence knows it: where no row has a value, or every missing one is a null.

    Args:
        evidence: what the data, or a part of it, holds.
        rows: paths whose values make the rows (``Resolution.rows``).
        fed: paths and classes of the column's values, at most one a row.
    """
    rows, fed = tuple(rows), tuple(fed)
    made = [seen for path in rows for seen in evidence.paths.get(path, {}).values()]
    total = sum(seen.count for seen in made)
    held = sum(evidence.paths[path][name].count for path, name in fed if name in evidence.paths.get(path, {}))
    nulls = [found[NULL] for path in {path for path, _ in fed} if NULL in (found := evidence.paths.get(path, {}))]
    bad = total - held
    if not bad:
        return Tally(total)
    if not held:
        return Tally(total, bad, first=min(seen.first for seen in made))
    if sum(seen.count for seen in nulls) == bad:
        return Tally(total, bad, first=min(seen.first for seen in nulls))
    return Tally(total, bad)
