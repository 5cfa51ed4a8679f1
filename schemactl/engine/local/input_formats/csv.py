"""CSV with a header: columns are read as strings, and detectors decide their types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schemactl.engine.csv_faults import find_csv_faults
from schemactl.engine.csv_tables import read_csv_tables
from schemactl.engine.input import Input, read_head
from schemactl.engine.local.batches import LocalDocuments
from schemactl.engine.local.input_formats._files import MOST_OF_TASK
from schemactl.engine.local.tasks import BatchTask, FileTask, document_batch
from schemactl.engine.parts import cut_csv, whole_file
from schemactl.kernel.csv_rows import fault_text
from schemactl.kernel.files import Form


def read(inputs: Sequence[Input], cores: int, separator: str | None = None) -> Iterator[LocalDocuments]:
    """Yield the rows of the files, grouped by header.

    A row may end early. A row with too many cells is bad, and so is a row with a quote that does not close, including
    all rows that it contains.
    """
    for table in read_csv_tables(
        inputs, separator, read_head, lambda file, header: {file.path: find_csv_faults(file, header)}
    ):
        for file, cell in table.broken_headers.items():
            # Nothing in a file whose header goes on and on has a name: it is one bad record.
            record = document_batch(whole_file(file, Form.ROWS).file, 0, [fault_text(cell).encode()])
            yield LocalDocuments((BatchTask((record,), file.path),))
        for layout, files in table.layouts(table.files):
            tasks = cut_csv(files, layout, table.starts, cores, MOST_OF_TASK)
            yield LocalDocuments(tuple(map(FileTask, tasks)), table.gaps, layout)
