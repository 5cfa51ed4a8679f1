"""A SQLite file: ``sqlite:///PATH``.

dlt keeps each dataset in a file of its own beside the one that is named: ``shop.db`` and ``shop__DATASET.db``;
``main`` is the named file itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from schemactl.destinations._address import file_address
from schemactl.destinations._catalogue import (
    VERSIONS_TABLE,
    Catalogue,
    choose_dataset,
    column_of,
    hashes_of,
    keeps_versions,
    keys_of,
    schema_name,
    schema_of,
    unknown,
    with_nullable,
)
from schemactl.destinations._types import integer, parse_type
from schemactl.errors import DestinationError
from schemactl.schema.structure import DATABASE_TYPE, NameLimits
from schemactl.schema.types import Column, DataType, Properties

NAMES: Final = NameLimits(is_case_sensitive=False)

_COLUMNS: Final = """
    select tables.name, columns.name, columns.type, columns."notnull", columns.pk
    from sqlite_master as tables join pragma_table_xinfo(tables.name) as columns
    where tables.type = 'table' and tables.name not like 'sqlite\\_%' escape '\\' and columns.hidden <> 1
    order by tables.rowid, columns.cid
"""

_UNIQUE: Final = """
    select tables.name, indexes.name, columns.name
    from sqlite_master as tables
        join pragma_index_list(tables.name) as indexes join pragma_index_info(indexes.name) as columns
    where tables.type = 'table' and indexes."unique" and indexes.origin <> 'pk' and not indexes.partial
"""

_MAIN: Final = "main"
_WAL_MARK: Final = slice(18, 20)
_WAL: Final = b"\x02\x02"

_DECIMAL: Final[Properties] = {"data_type": "decimal"}

_KINDS: Final[dict[str, Properties]] = {
    "TEXT": {"data_type": "text"},
    "VARCHAR": {"data_type": "text"},
    "CHAR": {"data_type": "text"},
    "CLOB": {"data_type": "text"},
    "DOUBLE": {"data_type": "double"},
    "DOUBLE PRECISION": {"data_type": "double"},
    "FLOAT": {"data_type": "double"},
    "REAL": {"data_type": "double"},
    "BOOLEAN": {"data_type": "bool"},
    "TINYINT": integer(8),
    "SMALLINT": integer(16),
    "INTEGER": integer(64),
    "INT": integer(64),
    "BIGINT": integer(64),
    "BLOB": {"data_type": "binary"},
    "JSON": {"data_type": "json"},
    "NUMERIC": _DECIMAL,
    "DECIMAL": _DECIMAL,
    "DATE": {"data_type": "date"},
    "TIME": {"data_type": "time"},
    "DATETIME": {"data_type": "timestamp"},
    "TIMESTAMP": {"data_type": "timestamp"},
}


def read_catalogue(url: str) -> Catalogue:
    """Return the tables of one dataset, by the types that they were declared with; nothing is written.

    Raises:
        InputError: the address is wrong, there is no such file, or it names no dataset.
        DestinationError: SQLite cannot read the file.
    """
    address = file_address(url)
    files = {name: path for name, path in _files(address.path) if _has_tables(path)}
    dataset = choose_dataset(files, address.dataset, str(address))
    path = files[dataset]
    rows = _query(path, _COLUMNS)
    primary = [(table, True, [name]) for table, name, _, _, place in rows if place]
    unique: dict[tuple[str, str], list[str]] = {}
    for table, index, name in _query(path, _UNIQUE):
        unique.setdefault((table, index), []).append(name)
    keys = keys_of([*primary, *((table, False, names) for (table, _), names in unique.items())])
    stated: list[tuple[Any, ...]] = []
    if keeps_versions(row[:2] for row in rows):
        stated = _query(path, f"select schema_name, version_hash from {VERSIONS_TABLE} order by inserted_at desc")
    columns = ((row[0], column_of(row[1], _kind(row[2]), not row[3], keys.get(row[0]))) for row in rows)
    name = schema_name({row[0] for row in stated}, path.stem if dataset == _MAIN else dataset)
    return Catalogue(schema_of(name, columns), f"{address}?dataset={dataset}", hashes_of(stated))


def _files(path: Path) -> Iterator[tuple[str, Path]]:
    yield _MAIN, path
    start = f"{path.stem}__"
    for beside in sorted(path.parent.iterdir()):
        if beside.suffix == path.suffix and beside.stem.startswith(start):
            yield beside.stem.removeprefix(start), beside


def _has_tables(path: Path) -> bool:
    return path.stat().st_size > 0 and bool(_query(path, "select 1 from sqlite_master where type = 'table' limit 1"))


def _query(path: Path, statement: str) -> list[tuple[Any, ...]]:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{_mode(path)}", uri=True)) as connection:
            return connection.execute(statement).fetchall()
    except (sqlite3.Error, OSError) as error:
        raise DestinationError(f"cannot read `{path}`: {error}") from error


def _mode(path: Path) -> str:
    # A reader of a database with a write-ahead log would make that log where it is not there; then nobody writes.
    with path.open("rb") as file:
        has_log = file.read(_WAL_MARK.stop)[_WAL_MARK] == _WAL
    is_quiet = has_log and not path.with_name(f"{path.name}-wal").exists()
    return "mode=ro&immutable=1" if is_quiet else "mode=ro"


def _kind(declared: str) -> Properties:
    parsed = parse_type(declared)
    kind = _KINDS.get(parsed.name) if parsed else None
    if parsed is None or kind is None:
        return unknown(declared)
    if kind is _DECIMAL:
        return {"data_type": "wei"} if parsed.sizes == (38, 0) else {**_DECIMAL, **_sizes(parsed.sizes)}
    return {**kind, **_sizes(parsed.sizes[:1])} if kind["data_type"] == "text" else kind


def _sizes(sizes: tuple[int, ...]) -> Properties:
    return dict(zip(("precision", "scale"), sizes, strict=False))


def stored(column: Column) -> Properties:
    """Return what all SQLite catalogues say of such a column.

    That is no size: SQLite heeds none, and which ones are declared depends on the library that declares.
    """
    if DATABASE_TYPE in column.properties:
        return with_nullable(unknown(column.properties[DATABASE_TYPE]), column)
    kind = DataType.DECIMAL if column.data_type is DataType.WEI else column.data_type
    return with_nullable({"data_type": str(kind)}, column)
