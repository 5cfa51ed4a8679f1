"""A sample of the rows of a table that is a folder of Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from schemactl.destinations._lake.sampling import Sampled, group_sizes, has_plainly, read_groups, sample
from schemactl.destinations.parquet.catalogue import partition_values
from schemactl.destinations.parquet.rows import read_rows
from schemactl.errors import DestinationError

if TYPE_CHECKING:
    import pyarrow


def sampled_rows(files: Mapping[str, Path], wanted: pyarrow.Schema, share: float) -> Iterator[pyarrow.RecordBatch]:
    """Yield about a share of the rows of files, the same ones each time.

    Args:
        files: by their path in the table's folder; there is one at least.
        wanted: the columns.
        share: of the rows, between 0 and 1.

    Raises:
        DestinationError: a file cannot be read.
    """
    import pyarrow

    try:
        yield from sample((_sampled(name, file, wanted) for name, file in files.items()), share)
    except (pyarrow.ArrowException, OSError) as error:
        folder = next(iter(files.values())).parent
        raise DestinationError(f"cannot read a file in `{folder}`: {error}") from error


def _sampled(name: str, file: Path, wanted: pyarrow.Schema) -> Sampled:
    """Return a file of a table; one that lacks a column is read as a whole, as what is null costs nothing."""
    import pyarrow.parquet

    names = {each: each for each in wanted.names}
    footer = pyarrow.parquet.read_metadata(file)
    if has_plainly(footer.schema.to_arrow_schema(), names, wanted):
        return Sampled(group_sizes(footer), lambda groups: read_groups(file, groups, names, wanted))
    return Sampled((footer.num_rows,), lambda _: read_rows(file, wanted, partition_values(name)))
