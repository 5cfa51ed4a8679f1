"""Runs loads into a DuckDB file, in one transaction each: a killed process leaves no part of a load."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from schemactl.destinations._address import FileAddress, check_folder, parse_file_address
from schemactl.destinations._errors import wrap_errors
from schemactl.destinations._reading import DatasetReader
from schemactl.destinations._sql_load import SqlDataset, check_new_database, check_schema, choose_target, load_package
from schemactl.destinations.duckdb.migration import open_in_load
from schemactl.destinations.duckdb.session import await_session, is_in_use, translate_error
from schemactl.destinations.duckdb.types import NAMES
from schemactl.errors import DestinationError
from schemactl.normalization.package import LoadPackage
from schemactl.progress import Progress
from schemactl.schema.types import Schema

_PATIENCE_SECONDS: Final = 5.0
_PATIENCE_OF_LOADS_SECONDS: Final = 60.0
"""Longer, as their rows took long to prepare; limited, as a tool may have the file open all day."""


@contextmanager
def _open_to_read(url: str, schema_name: str) -> Iterator[SqlDataset | None]:
    address = parse_file_address(url)
    if not address.path.exists():
        yield None
        return
    with await_session(address, _PATIENCE_SECONDS, is_read_only=True) as session:
        yield SqlDataset(session, choose_target(session, address.dataset, schema_name))


_READER: Final = DatasetReader(_open_to_read)
read_past_loads, read_ledger, read_table = _READER.read_past_loads, _READER.read_ledger, _READER.read_table


def check_tables(url: str, schema: Schema) -> None:
    """Find out whether the tables of a schema could be loaded; nothing is kept of the attempt. See ``Loader``."""
    address = parse_file_address(url)
    if address.path.exists():
        with await_session(address, _PATIENCE_SECONDS) as session:
            check_schema(session, address.dataset, schema)
    else:
        check_new_database(schema, NAMES, str(address))
        check_folder(address)


def load(url: str, package: LoadPackage, progress: Progress) -> None:
    """Write the rows of one load, in one transaction; a missing file and its folders are created."""
    address = parse_file_address(url)
    is_absent = not address.path.exists()
    if is_absent:
        check_folder(address)
    with wrap_errors(lambda error: translate_error(address, error, "create the folder")):
        address.path.parent.mkdir(parents=True, exist_ok=True)
    progress(f"opening `{address}`", None)
    with ExitStack() as stack:
        try:
            session = stack.enter_context(await_session(address, _PATIENCE_OF_LOADS_SECONDS))
        except DestinationError as error:
            if is_absent and not is_in_use(error):
                _remove(address)
            raise
        opened = _identity(address)
        # Another load may have made the file since.
        is_ours = is_absent and session.is_empty()
        try:
            # The leftovers of a killed DuckDB; no other process has the file open.
            for leftover in Path(f"{address.path}.tmp").glob("duckdb_temp_*"):
                leftover.unlink(missing_ok=True)
            load_package(session, address.dataset, package, progress, partial(open_in_load, session))
        except BaseException:
            if is_ours:
                _remove(address)
            raise
        identity = _identity(address)
        if identity != opened:  # DuckDB goes on with a file that is gone
            fault = "was removed" if identity is None else "was replaced by another file"
            message = f"`{address.path}` {fault} while the load wrote to it: the load is not there"
            raise DestinationError(message, hint="load again")


def _identity(address: FileAddress) -> tuple[int, int] | None:
    """Return an identity of a file that distinguishes it from a later file of its name; None if it does not exist."""
    try:
        status = address.path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _remove(address: FileAddress) -> None:
    address.path.unlink(missing_ok=True)
    Path(f"{address.path}.wal").unlink(missing_ok=True)
