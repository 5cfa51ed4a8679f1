"""The tables in which a dataset keeps its loads: dlt's ``_dlt_version`` and ``_dlt_loads``, and our own of files.

A destination reads their rows (``ReadRows``); their meaning is the same everywhere.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from typing import Any, Final, Protocol

from schemactl.destinations._catalogue import OURS
from schemactl.errors import DestinationError, InputError
from schemactl.normalization.package import (
    INPUTS_TABLE,
    ConcurrentLoadError,
    LedgerEntry,
    LoadedInput,
    LoadPackage,
    PastLoads,
)
from schemactl.schema.settings import DEFAULT_NAMING
from schemactl.schema.templates import LOADS_TABLE, VERSION_TABLE, loads_table, new_schema, version_table
from schemactl.schema.types import Column, DataType, Schema, Table, schema_from_dict
from schemactl.store.text import MAX_BYTES

LOADED: Final = 0
"""The status of a load that is complete."""

_ALL_DIGITS: Final = Context(prec=200)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TICK: Final = timedelta(microseconds=1)
"""The shortest time between two schemas of a dataset."""

INPUTS: Final = Table(
    INPUTS_TABLE,
    {
        name: Column(name, {"data_type": kind, "nullable": is_nullable})
        for name, kind, is_nullable in (
            ("load_id", "text", False),
            ("schema_name", "text", False),
            ("path", "text", False),
            ("bytes", "bigint", False),
            ("modified", "timestamp", False),
            # Tables of earlier versions lack the following columns until the next load.
            ("etag", "text", True),
            ("row_count", "bigint", True),
            ("reject_count", "bigint", True),
            ("is_forgotten", "bool", True),
        )
    },
)


class ReadRows(Protocol):
    """Reads one of the tables in which a dataset keeps its loads and migrations."""

    def __call__(self, table: Table, /, **equal: str) -> Iterable[Mapping[str, Any]]:
        """Yield the rows that have some values, by the names of the table's columns; ``rows_of`` makes them.

        The file ledger may have a million rows: they are read in batches.

        Yields nothing if the dataset has no such table, or an early version of dlt created it without these columns.
        Naming conventions may have given tables and columns other names, which ``find_names`` knows; the rows come from
        all such tables.
        """
        ...


def find_names(names: Collection[str], name: str) -> list[str]:
    """Return the spellings of one of dlt's names in ``names``, the exact name first; our own names have one spelling.

    >>> find_names(["dlt_loads", "orders"], "_dlt_loads")
    ['dlt_loads']
    """
    if name.startswith(OURS):
        return [candidate for candidate in names if candidate == name]
    matches = (candidate for candidate in names if candidate.lower().lstrip("_") == name.lower().lstrip("_"))
    return sorted(matches, key=lambda candidate: candidate != name)


def is_bookkeeping(name: str) -> bool:
    """Return whether a table of this name keeps the loads of a dataset.

    >>> [is_bookkeeping(name) for name in ("_dlt_loads", "DLT_VERSION", "_schemactl_inputs", "orders")]
    [True, True, True, False]
    """
    return any(find_names((name,), table) for table in (VERSION_TABLE, LOADS_TABLE, INPUTS_TABLE))


def find_columns(table: Table, names: Collection[str], origin: str) -> dict[str, str] | None:
    """Return the names of a table's columns in the destination; None if a table of dlt lacks a column.

    Nullable columns of our own tables may be missing, since earlier versions created fewer.

    Raises:
        DestinationError: a table of ours lacks another column.
    """
    columns = {column: next(iter(find_names(names, column)), None) for column in table.columns}
    if table.name.startswith(OURS):
        columns = {
            column: name for column, name in columns.items() if name is not None or not table.columns[column].nullable
        }
    missing = next((column for column, name in columns.items() if name is None), None)
    if missing is not None and table.name.startswith(OURS):
        raise DestinationError(
            f"`{table.name}` of `{origin}` has no column `{missing}`: it was not created by dlt or schemactl"
        )
    return {column: name for column, name in columns.items() if name is not None} if missing is None else None


def stored_as(
    table: Table, names: Collection[str], columns_of: Callable[[str], Collection[str]], origin: str
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the tables of a dataset that store a table, each with the names of its columns there.

    ``columns_of`` returns the columns of one of the dataset's tables, whose names are ``names``.
    """
    for name in find_names(names, table.name):
        if (columns := find_columns(table, columns_of(name), origin)) is not None:
            yield name, columns


def rows_of(
    table: Table, rows: Iterable[Sequence[Any]], columns: Iterable[str] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield rows by the names of a table's columns, timestamps in UTC; columns without values are null.

    Args:
        table: whose columns the values have.
        rows: values; timestamps as such, as texts in ISO 8601, or as microseconds since 1970.
        columns: of the values, in their order; by default all of the table's.
    """
    kinds = {column.name: column.data_type for column in table.columns.values()}
    names = tuple(kinds if columns is None else columns)
    empty = dict.fromkeys(name for name in kinds if name not in names)
    for row in rows:
        values = zip(names, row, strict=True)
        yield empty | {name: None if value is None else _typed(value, kinds[name]) for name, value in values}


def _typed(value: Any, data_type: DataType | None) -> Any:
    """Return a value in Python's type for a data type: SQLite has dates as texts, MySQL has bools as integers."""
    match data_type:
        case DataType.TIMESTAMP:
            return _moment(value)
        case DataType.BOOL:
            return bool(value)
        case DataType.DATE if isinstance(value, str):
            return date.fromisoformat(value)
        case DataType.TIME if isinstance(value, str):
            return time.fromisoformat(value)
        case DataType.TIME if isinstance(value, timedelta):
            return (datetime.min + value).time()
        case DataType.DECIMAL | DataType.WEI if isinstance(value, int | float | Decimal):
            # PostgreSQL has a wei with 78 zeros after the point.
            return _ALL_DIGITS.normalize(Decimal(str(value)))
        case _:
            return value


def _moment(value: Any) -> datetime:
    match value:
        case str():
            return _moment(datetime.fromisoformat(value))
        case datetime():
            return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
        case _:
            return _EPOCH + timedelta(microseconds=int(value))


def bookkeeping_of(schema: Schema) -> tuple[Table, Table, Table]:
    """Return the tables that a dataset of this schema needs, in its naming convention: of versions, loads, inputs."""
    schema_of_naming = new_schema("any", schema.normalizers.get("names") or DEFAULT_NAMING)
    versions, loads = schema_of_naming.tables.values()
    return versions, loads, INPUTS


def rows_of_load(package: LoadPackage, read: ReadRows) -> Iterator[tuple[Table, list[tuple[Any, ...]]]]:
    """Yield the bookkeeping rows of a load: tables with rows in the order of columns; the completing row comes last.

    The schema is written if its hash is new, as in dlt; the hash depends on the schema's name, too. A load that only
    changes rejects writes no schema.
    """
    schema, inserted_at = package.schema, package.inserted_at
    versions, loads, inputs = bookkeeping_of(schema)
    newest_first = version_rows(read)
    is_schema_missing = all(row["version_hash"] != schema.version_hash for row in newest_first)
    if is_schema_missing and (package.tables or package.rejects_edit is None):
        newest = next((row for row in newest_first if row["schema_name"] == schema.name), None)
        if newest is None or not _is_ancestor(schema, newest, read):
            moment = after_newest([row["inserted_at"] for row in newest_first], inserted_at)
        else:  # a load that began before the one that is complete already
            moment = min(inserted_at, newest["inserted_at"] - _TICK)
        yield versions, [version_row(schema, moment)]
    if package.inputs:
        yield inputs, input_rows(package)
    yield loads, [(package.load_id, schema.name, LOADED, inserted_at, schema.version_hash)]


def input_rows(package: LoadPackage) -> list[tuple[Any, ...]]:
    """Return the rows of the file ledger that a load writes, in the order of the columns of ``INPUTS``."""
    return [
        (
            package.load_id,
            package.schema.name,
            file.path,
            file.bytes,
            file.modified,
            file.etag,
            file.rows,
            file.rejects,
            package.forgets or None,
        )
        for file in package.inputs
    ]


def version_row(schema: Schema, inserted_at: datetime) -> tuple[Any, ...]:
    """Return the line that dlt writes for a schema, in the order of its columns."""
    import orjson

    stored = orjson.dumps(schema.to_dict()).decode()
    return (schema.version, schema.engine_version, inserted_at, schema.name, schema.version_hash, stored)


def version_rows(read: ReadRows, version_hash: str | None = None) -> list[Mapping[str, Any]]:
    """Return the schemas that dlt keeps, the last one first; of one hash with ``schema``, of all without."""
    columns = ("schema_name", "version", "version_hash", "inserted_at")
    if version_hash is None:
        rows = read(_with_columns(version_table(), *columns))
    else:
        rows = read(_with_columns(version_table(), *columns, "schema"), version_hash=version_hash)
    return sorted(rows, key=lambda row: (row["inserted_at"] or _EPOCH, row["version"]), reverse=True)


def after_newest(newest_first: Sequence[datetime | None], moment: datetime) -> datetime:
    """Return ``moment``, or a later time if the newest schema of the ledger is as new.

    For dlt, the schema with the latest time is the current one, even if loads overlap or a clock was wrong.
    """
    return max(moment, (newest_first[0] or _EPOCH) + _TICK) if newest_first else moment


def _is_ancestor(schema: Schema, newest: Mapping[str, Any], read: ReadRows) -> bool:
    """Return whether a schema of ``version_rows`` continues another schema."""
    if newest["inserted_at"] is None or int(newest["version"]) <= schema.version:
        return False
    later_schema = schema_of(read, newest["version_hash"])
    return later_schema is not None and schema.version_hash in later_schema.previous_hashes


def schema_of(read: ReadRows, version_hash: str) -> Schema | None:
    """Return the schema that dlt keeps with a hash; None without one.

    Raises:
        InputError: the stored text is no schema.
    """
    from schemactl.schema.upgrade import upgrade

    row = next(iter(version_rows(read, version_hash)), None)
    if row is None:
        return None
    try:
        return schema_from_dict(upgrade(json.loads(_unpacked(row["schema"]))))
    except (InputError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        message = f"the row of `{VERSION_TABLE}` with hash `{version_hash}` is not a schema: {error}"
        raise InputError(message, hint=error.hint if isinstance(error, InputError) else None) from error


def _unpacked(stored: str) -> str:
    """Return JSON, which dlt packs if a database limits the length of texts."""
    try:
        content = zlib.decompressobj().decompress(base64.b64decode(stored, validate=True), MAX_BYTES + 1)
    except (ValueError, zlib.error):  # JSON has signs that base64 has not, and perhaps some beyond ASCII
        return stored
    if len(content) > MAX_BYTES:
        raise ValueError(f"it is longer than {MAX_BYTES // 1024**2} MiB")
    return content.decode()


def knows_schema(read: ReadRows, schema_name: str) -> bool:
    """Return whether a dataset was loaded with a schema of this name, or migrated to one."""
    return any(True for _ in read(_with_columns(version_table(), "schema_name"), schema_name=schema_name))


def is_loaded(read: ReadRows, schema_name: str, load_id: str) -> bool:
    """Return whether a load is complete."""
    return bool(_completed(read, schema_name=schema_name, load_id=load_id))


def past_loads(read: ReadRows, schema_name: str) -> PastLoads:
    """Return the complete loads of a schema."""
    return PastLoads(frozenset(_completed(read, schema_name=schema_name)))


def ledger_entries(read: ReadRows, schema_name: str, load_id: str | None = None) -> Iterator[LedgerEntry]:
    """Yield the file ledger of a schema in any order: the files of all complete loads, or of one."""
    equal = {"schema_name": schema_name} | ({} if load_id is None else {"load_id": load_id})
    load_times = _completed(read, **equal)
    for row in read(INPUTS, **equal) if load_times else ():
        if row["load_id"] in load_times:
            rows, rejects = (None if row[name] is None else int(row[name]) for name in ("row_count", "reject_count"))
            file = LoadedInput(row["path"], int(row["bytes"]), row["modified"], row["etag"], rows, rejects)
            yield LedgerEntry(row["load_id"], load_times[row["load_id"]], file, bool(row["is_forgotten"]))


def check_inputs(read: ReadRows, package: LoadPackage) -> None:
    """Raise ``ConcurrentLoadError`` for files that were loaded since they were compared with the ledger.

    The caller holds the lock of the dataset, so no further load comes between this check and the commit.
    """
    if package.compared_loads is None or not package.inputs:
        return
    paths = {file.path for file in package.inputs}
    for load_id in sorted(past_loads(read, package.schema.name).load_ids - package.compared_loads):
        for entry in ledger_entries(read, package.schema.name, load_id):
            if entry.file.path in paths and not entry.is_forgotten:
                message = f"load `{load_id}` has loaded `{entry.file.path}` meanwhile; nothing was loaded"
                raise ConcurrentLoadError(message, hint="run the command again")


def _completed(read: ReadRows, **equal: str) -> dict[str, datetime]:
    """Return when complete loads were made, by their ids."""
    rows = read(_with_columns(loads_table(), "load_id", "schema_name", "status", "inserted_at"), **equal)
    return {row["load_id"]: row["inserted_at"] or _EPOCH for row in rows if int(row["status"]) == LOADED}


def _with_columns(table: Table, *names: str) -> Table:
    return replace(table, columns={name: table.columns[name] for name in names})
