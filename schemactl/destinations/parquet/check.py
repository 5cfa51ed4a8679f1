"""Checks whether the tables of a schema can be loaded into a folder of Parquet, without writing anything."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from schemactl.destinations._lake.lock import check_writable
from schemactl.destinations._load import chains_to_check
from schemactl.destinations._structure import cut, shown
from schemactl.destinations.parquet.address import read_address
from schemactl.destinations.parquet.catalogue import (
    ENDING,
    file_columns,
    find_dataset,
    partition_values,
    stored,
    table_files,
)
from schemactl.destinations.parquet.journal import Listing, list_files
from schemactl.errors import DestinationError
from schemactl.schema.dispositions import complete, first
from schemactl.schema.naming import naming_of
from schemactl.schema.nested_types import is_within, misreadings, path_text, read_type
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, DataType, Schema, Table

MOST_NAME_BYTES: Final = 255
"""What file systems allow of a folder's name."""

New = Mapping[str, Path | None]
"""A new file for each table, None for a table whose files go."""

_ALWAYS: Final = ("data_type", "timezone")
_SIZES: Final = ("precision", "scale")
_OTHER: Final = (
    "evolve the schema with `schemactl infer` and then the folder with `schemactl migrate`, write the table anew with "
    "`write_disposition: replace`, or load into another folder"
)
_HAVE_SIZES: Final = (DataType.BIGINT, DataType.DECIMAL)


def check_tables(url: str, schema: Schema) -> None:
    """Find out whether a folder takes the tables of a schema: it can be written, and they fit what is there."""
    address = read_address(url)
    check_writable(address.folder)
    dataset = find_dataset(address, is_made=True)
    check_writable(dataset)
    listing = list_files(dataset)
    for chain in chains_to_check(schema):
        new = {each.name: None for each in chain.tables} if chain.is_replaced else None
        check_files(listing, schema, chain.tables, new)


def check_files(listing: Listing, schema: Schema, tables: Iterable[Table], new: New | None = None) -> None:
    """Find out whether the files of tables are ours, and can be read together with new ones.

    Of a table in ``new`` the columns of its file count, not what the schema says of them; None where its files go.

    Raises:
        DestinationError: they are not, or cannot.
    """
    row_id = naming_of(schema).normalize_identifier("_dlt_id")
    for table in tables:
        check_name(table.name)
        _check_layout(listing, table)
        key = first(table, "row_key") or (row_id if row_id in table.columns else None)
        expected: tuple[Column, ...] | None = complete(table)
        if new is not None and table.name in new:
            file = new[table.name]
            expected = tuple(file_columns(file).values()) if file else None  # None: old files go
        for name, path in table_files(listing, table.name).items():
            there = file_columns(path)
            if key and key not in there:
                hint = "name another folder, or another table: `--table`"
                raise DestinationError(f"`{path}` was not written by dlt or schemactl: it has no `{key}`", hint=hint)
            if expected is not None:
                _check_columns(path, name, there, expected, table.name)


def check_name(name: str) -> None:
    """Find out whether a folder can have a table's name.

    Raises:
        DestinationError: it cannot.
    """
    if len(os.fsencode(name)) > MOST_NAME_BYTES or set(name) & set("/\\\0") or name.startswith(".") or "=" in name:
        hint = "the naming conventions `snake_case` and `sql_cs_v1` make names that can"
        raise DestinationError(f"the table `{name}` cannot be a folder of this name", hint=hint)


def _check_layout(listing: Listing, table: Table) -> None:
    """Refuse what readers would not read together with our files."""
    folder = listing.dataset / table.name
    for mark, format in (("_delta_log", "delta"), ("metadata", "iceberg")):
        if (folder / mark).is_dir():
            raise DestinationError(f"`{folder}` is a table of {format.title()}", hint=f"--to {format}:FOLDER")
    if folder.exists() and not folder.is_dir():
        raise DestinationError(f"`{folder}` is in the place of a table's folder", hint="remove it")
    last = {name: name.rpartition("/")[2] for name in listing.of(table.name)}
    foreign = (name for name, own in last.items() if not own.endswith(ENDING) and own[:1] != "_" and own != "init")
    other = next(foreign, None)
    if other and not table.name.startswith("_dlt_"):
        hint = 'a pipeline of dlt writes Parquet with `loader_file_format="parquet"`'
        raise DestinationError(f"`{folder}` holds `{other}`, which is no Parquet", hint=hint)


def _check_columns(
    path: Path, name: str, there: Mapping[str, Column], expected: tuple[Column, ...], table: str
) -> None:
    hidden = [each for each in partition_values(name) if each not in there]
    if hidden:
        raise DestinationError(f"`{path}` is partitioned by `{hidden[0]}`, which the files do not hold", hint=_OTHER)
    for column in expected:
        found = there.get(column.name)
        if found and not _agree(found, column):
            raise DestinationError(f"{_differ(f'{table}.{column.name}', found, column)} in `{path}`", hint=_OTHER)


def _agree(found: Column, column: Column) -> bool:
    """Return whether files with both can be read together: the units of timestamps and the width of binary may differ.

    What a decimal is that states one size alone is not for the schema to say: writers of Parquet differ.
    """
    sizes = [column.properties.get(key) for key in _SIZES]
    is_open = column.data_type is DataType.DECIMAL and sizes.count(None) == 1
    compared = _ALWAYS if is_open or column.data_type not in _HAVE_SIZES else (*_ALWAYS, *_SIZES)
    kinds = stored(found), stored(column)
    if any(DATABASE_TYPE in kind for kind in kinds):
        types = [kind.get(DATABASE_TYPE) for kind in kinds]
        try:  # newer files may have more fields
            return None not in types and is_within(*(read_type(str(each)) for each in types))
        except ValueError:  # an Arrow type that no DDL says
            return types[0] == types[1]
    return all(kinds[0].get(key) == kinds[1].get(key) for key in compared)


def _differ(place: str, found: Column, column: Column) -> str:
    """Return in words how a column of a file differs from the one that is wanted: by the first field that does."""
    there, ours = (stored(each).get(DATABASE_TYPE) for each in (found, column))
    if there is None or ours is None:
        return f"`{place}` is {_shown(column)}, and {_shown(found)}"
    with suppress(ValueError):  # an Arrow type that no DDL says
        for each in misreadings(read_type(there), read_type(ours)):
            before, after = (shown(of) if of else "no field" for of in (each.before, each.after))
            return f"`{place}{path_text(each.path)}` is {after}, and {before}"
    return f"`{place}` is {cut(ours)}, and {cut(there)}"


def _shown(column: Column) -> str:
    kind = stored(column)
    sizes = [str(kind[key]) for key in ("precision", "scale") if kind.get(key) is not None]
    name = kind.get("data_type") or next(iter(kind.values()))
    zone = " without time zone" if kind.get("timezone") is False else ""
    return f"`{name}({', '.join(sizes)}){zone}`" if sizes else f"`{cut(str(name))}{zone}`"
