"""Lines of CSV without quotes -> JSON documents: cells stand between separators, and an empty one is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import orjson
import pyarrow as pa

DOCUMENTS: Final = pa.schema({"file": pa.string(), "block": pa.int64(), "id": pa.int64(), "text": pa.string()})
"""The columns that ``cut_lines`` yields."""


def cut_lines(batches: Iterable[pa.RecordBatch], names: Sequence[str], separator: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows as documents; the first line of a file, its header, and blank lines are none.

    Args:
        batches: columns ``file``, ``block`` and ``text``.
        names: of the columns.
        separator: between cells.
    """
    rows: dict[tuple[str, int], int] = {}
    for batch in batches:
        found: list[tuple[str, int, int, str]] = []
        columns = (batch.column(name).to_pylist() for name in ("file", "block", "text"))
        for file, block, text in zip(*columns, strict=True):
            if not text:
                continue
            number = rows.get((file, block), -1 if block == 0 else 0)
            rows[file, block] = number + 1
            if number >= 0:
                found.append((file, block, number, _document(text.split(separator), names)))
        made = list(zip(*found, strict=True)) or [()] * len(DOCUMENTS)
        yield pa.RecordBatch.from_arrays(list(map(pa.array, made, DOCUMENTS.types)), schema=DOCUMENTS)


def _document(cells: Sequence[str], names: Sequence[str]) -> str:
    """Return a row as JSON; one with a surplus cell in words that are no JSON."""
    if len(cells) > len(names) and cells[len(names)]:
        return f"more cells than columns: {', '.join(filter(None, cells[: len(names) + 1]))}"
    return orjson.dumps({name: cell for name, cell in zip(names, cells, strict=False) if cell}).decode()
