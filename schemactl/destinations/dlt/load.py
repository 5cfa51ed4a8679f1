"""Hands loads to dlt's own loader, with unchanged files and keys; dlt's tables of loads and versions are kept.

A load is a package in dlt's form, which waits in a folder of dlt's data (``DLT_DATA_DIR``) until it is loaded to its
end: the next load of the schema into the dataset resumes a killed one. dlt loads file by file; the load is complete
once ``_dlt_loads`` has it, which is written last.
"""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemactl.destinations._bookkeeping import INPUTS, check_inputs, input_rows
from schemactl.destinations._catalogue import OWN_SCHEMA
from schemactl.destinations._load import chains_of, chains_of_load, check_merges
from schemactl.destinations.dlt.catalogue import known_loads, reading_loads
from schemactl.destinations.dlt.session import Address, Session, open_session, parse_address
from schemactl.errors import DestinationError
from schemactl.normalization.package import LoadPackage, StagedTable
from schemactl.progress import Progress
from schemactl.schema.hash import bump
from schemactl.schema.nested_types import keeps_structure
from schemactl.schema.settings import DEFAULT_NAMING
from schemactl.schema.templates import new_schema
from schemactl.schema.types import DataType, Schema
from schemactl.store.lock import locked

if TYPE_CHECKING:
    from schemactl.destinations.dlt.packages import Packages

_PATIENCE_SECONDS: Final = 600.0


def check_tables(url: str, schema: Schema) -> None:
    """Find out whether the tables of a schema could be loaded, as far as dlt knows that beforehand; see ``Loader``."""
    session = _open(parse_address(url), schema)
    check_merges(chains_of(schema))
    from schemactl.destinations.dlt.packages import file_format

    tables = [name for name, table in schema.tables.items() if not table.is_new]
    with session.wrap_errors(f"load schema `{schema.name}`"):
        session.client.verify_schema(only_tables=tables)
        for table in tables:
            file_format(session, table)
    with session.wrap_errors("reach dlt's destination"), session.client as client:
        client.is_storage_initialized()


def load(url: str, package: LoadPackage, progress: Progress) -> None:
    """Hand a load to dlt, after the remaining work of earlier loads; see ``Loader``."""
    session = _open(parse_address(url), package.schema)
    from dlt.common.runtime.run_context import active

    identity = f"{session.address.name} {session.client.config} {session.dataset}"
    name = f"{session.schema.name}-{hashlib.sha256(identity.encode()).hexdigest()[:16]}"
    folder = Path(active().data_dir, "schemactl", name)  # of the packages of one schema for one dataset
    with locked(folder, _PATIENCE_SECONDS):
        from schemactl.destinations.dlt.packages import Packages

        packages = Packages(session, folder)
        _load_all(session, packages, folder, progress, is_kept=True)
        if package.load_id in known_loads(session).load_ids:
            return
        with reading_loads(session) as read:
            check_inputs(read, package)
        with session.wrap_errors("write dlt's package"):
            _write(session, packages, package)
        replaces = any(chain.is_replaced for chain in chains_of_load(package))
        _load_all(session, packages, folder, progress, is_kept=replaces)


def _open(address: Address, schema: Schema) -> Session:
    if keeps_structure(schema.normalizers):
        hint = "use dlt's relational normalizer, which creates tables for them: `normalizers.json.module` in the schema"
        raise DestinationError(f"`{address}` does not support columns of structs or lists", hint=hint)
    return open_session(address, schema)


def _load_all(session: Session, packages: Packages, folder: Path, progress: Progress, *, is_kept: bool) -> None:
    """Load waiting packages; drop them if loading fails before the destination has changed.

    ``is_kept``: whether new or altered tables count as a change that keeps the packages.
    """
    if not packages.waiting:
        return
    try:
        with session.wrap_errors("load"):
            packages.settle()
            packages.load_all(progress)
    except DestinationError as error:
        if packages.drop_untouched(lambda is_ready: is_kept and is_ready):
            raise
        hint = f"the load is incomplete, and the next load resumes it; to cancel it, delete `{folder}`"
        raise DestinationError(error.message, hint=hint) from error


def _write(session: Session, packages: Packages, package: LoadPackage) -> None:
    """Write the package of a load, and before it that of its rejects and files, which is loaded after it."""
    if lost := next((staged.table.name for staged in package.tables if staged.superseded), None):
        raise DestinationError(
            f"table `{lost}`: rows with the same primary key have different merge keys, so dlt keeps the old rows",
            hint="load them one after the other, or remove the merge key",
        )
    with tempfile.TemporaryDirectory(prefix="schemactl-") as folder:
        own_tables = [staged for staged in (package.rejects, _inputs(package, Path(folder))) if staged]
        if own_tables:
            naming = package.schema.normalizers.get("names") or DEFAULT_NAMING
            base = new_schema(OWN_SCHEMA, naming)
            schema = bump(
                replace(base, tables={**base.tables, **{staged.table.name: staged.table for staged in own_tables}})
            )
            packages.write(f"{package.load_id}.{OWN_SCHEMA}", schema, own_tables, ())
        names = session.schema.data_table_names(seen_data_only=False)
        existing_tables: set[str] = set()
        with session.client as client:
            if client.is_storage_initialized():
                stored_tables = client.get_storage_tables(names)  # type: ignore[attr-defined]
                existing_tables = {name for name, columns in stored_tables if columns}
        packages.write(package.load_id, package.schema, package.tables, existing_tables)


def _inputs(package: LoadPackage, folder: Path) -> StagedTable | None:
    if not package.inputs:
        return None
    import pyarrow as pa
    from pyarrow import parquet

    kinds = {
        DataType.TEXT: pa.string(),
        DataType.BIGINT: pa.int64(),
        DataType.TIMESTAMP: pa.timestamp("us", "UTC"),
        DataType.BOOL: pa.bool_(),
    }
    columns = [(column.name, column.data_type) for column in INPUTS.columns.values()]
    schema = pa.schema([(name, kinds[data_type]) for name, data_type in columns if data_type])
    rows = [dict(zip(schema.names, row, strict=True)) for row in input_rows(package)]
    parquet.write_table(pa.Table.from_pylist(rows, schema), folder / "inputs.parquet")
    table = replace(INPUTS, properties={"write_disposition": "append", "resource": INPUTS.name})
    return StagedTable(table, folder, len(rows))
