"""A folder of Parquet, a folder in it for each table: ``parquet:FOLDER``, ``parquet:FOLDER?dataset=NAME``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._address import dataset_of
from schemactl.destinations._catalogue import (
    VERSIONS_TABLE,
    Catalogue,
    choose_dataset,
    column_of,
    hashes_of,
    schema_name,
    schema_of,
    unknown,
)
from schemactl.destinations._types import decimal, decimal_sizes, integer
from schemactl.errors import DestinationError, InputError
from schemactl.schema.structure import DATABASE_TYPE, NameLimits
from schemactl.schema.types import Column, DataType, Properties

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]

_VERSION_FILE: Final = re.compile(r"(?P<name>\w+?)__(?P<time>\d+(?:\.\d+)?)__.*")
NAMES: Final = NameLimits()

_UNITS: Final = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_USUAL_UNIT: Final = 6


def read_catalogue(url: str) -> Catalogue:
    """Return the tables of one dataset: each as the footer of its last file, by name, has it.

    Raises:
        InputError: there is no such folder, or it names no dataset.
        DestinationError: a file is no Parquet.
    """
    kind, _, rest = url.partition(":")
    stated, _, query = rest.partition("?")
    folder, asked = Path(stated.removeprefix("//")), dataset_of(query, kind)
    if not stated or not folder.is_dir():
        raise InputError(f"there is no folder `{folder}`" if stated else f"`{url}` names no folder")
    dataset = folder if asked is None and _tables(folder) else _dataset(folder, asked)
    held = (field for table, file in _tables(dataset).items() for field in _columns(dataset / table, file))
    versions = _versions(dataset)
    name = schema_name({name for name, _ in versions}, dataset.resolve().name)
    return Catalogue(schema_of(name, held), f"{kind}:{dataset}", hashes_of(versions))


def holds_tables(folder: Path) -> bool:
    """Return whether a folder holds folders of Parquet."""
    return bool(_tables(folder))


def _dataset(folder: Path, asked: str | None) -> Path:
    found = {path.name: path for path in _entries(folder) if path.is_dir() and _tables(path)}
    return found[choose_dataset(found, asked, f"parquet:{folder}")]


def _tables(folder: Path) -> dict[str, Path]:
    """Return the last file of each table."""
    found = ((path.name, max(_files(path), default=None)) for path in _entries(folder) if path.is_dir())
    return {name: file for name, file in found if file}


def _files(table: Path) -> Iterator[Path]:
    """Yield the Parquet right in a table's folder or in its partitions (``day=2024-01-31``)."""
    for path in _entries(table):
        if path.suffix == ".parquet" and path.is_file():
            yield path
        elif "=" in path.name and path.is_dir():
            yield from _files(path)


def _entries(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise DestinationError(f"cannot list `{folder}`: {error.strerror or error}") from error


def _versions(dataset: Path) -> list[tuple[str, str]]:
    """Return names and hashes of the schemas that dlt keeps there, the last one first (dlt.md §9.1)."""
    found = [(match, path) for path in _entries(dataset / VERSIONS_TABLE) if (match := _match(path))]
    newest_first = sorted(found, key=lambda each: float(each[0]["time"]), reverse=True)
    return [(match["name"], _hash_in(path)) for match, path in newest_first]


def _hash_in(path: Path) -> str:
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["version_hash"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DestinationError(f"`{path}` is not what dlt writes there: {error}") from error


def _match(path: Path) -> re.Match[str] | None:
    return _VERSION_FILE.fullmatch(path.name)


def _columns(table: Path, file: Path) -> Iterator[tuple[str, Column]]:
    import pyarrow
    import pyarrow.parquet  # type: ignore[import-untyped]

    try:
        fields: pyarrow.Schema = pyarrow.parquet.read_schema(file)
    except (pyarrow.ArrowException, OSError) as error:
        raise DestinationError(f"cannot read `{file}`: {error}") from error
    for field in fields:
        yield table.name, column_of(field.name, _kind(field.type), field.nullable)
    for part in file.relative_to(table).parts[:-1]:
        # A column that a table is partitioned by stands in the names of folders only.
        key, is_partition, _ = part.partition("=")
        if is_partition and key not in fields.names:
            yield table.name, Column(key, {"data_type": "text"})


def _kind(of: pyarrow.DataType) -> Properties:
    import pyarrow.types as is_a  # type: ignore[import-untyped]

    if is_a.is_dictionary(of):
        return _kind(of.value_type)
    if is_a.is_signed_integer(of):
        return integer(of.bit_width)
    if is_a.is_unsigned_integer(of) and of.bit_width < 64:
        return integer(of.bit_width * 2)
    if is_a.is_decimal(of):
        is_wei = of.scale == 0 and of.precision >= 38
        return {"data_type": "wei"} if is_wei else decimal(of.precision, of.scale)
    if is_a.is_timestamp(of):
        zone: Properties = {} if of.tz else {"timezone": False}
        return {"data_type": "timestamp", **zone, **_unit(of.unit)}
    if is_a.is_time(of):
        return {"data_type": "time", **_unit(of.unit)}
    if is_a.is_fixed_size_binary(of):
        return {"data_type": "binary", "precision": of.byte_width}
    return _plain(of) or unknown(str(of))


def _plain(of: Any) -> Properties | None:
    import pyarrow.types as is_a

    tests = {
        "text": (is_a.is_string, is_a.is_large_string, is_a.is_string_view),
        "double": (is_a.is_floating,),
        "bool": (is_a.is_boolean,),
        "binary": (is_a.is_binary, is_a.is_large_binary, is_a.is_binary_view),
        "date": (is_a.is_date,),
    }
    return next(({"data_type": name} for name, some in tests.items() if any(test(of) for test in some)), None)


def _unit(unit: str) -> Properties:
    return {} if _UNITS[unit] == _USUAL_UNIT else {"precision": _UNITS[unit]}


def stored(column: Column) -> Properties:
    """Return what the footers of Parquet say of such a column, as dlt writes them.

    Nothing is said of nulls: Spark writes all columns as such that may be null.
    """
    properties = column.properties
    if DATABASE_TYPE in properties:
        return unknown(properties[DATABASE_TYPE])
    match column.data_type:
        case DataType.JSON:
            return {"data_type": "text"}
        case DataType.DECIMAL:
            return _decimal(properties)
        case DataType.BIGINT:
            return integer(_bits(properties.get("precision")))
        case DataType.TIMESTAMP:
            zone = {} if properties.get("timezone") is not False else {"timezone": False}
            return {"data_type": "timestamp", **zone, **_precision(properties)}
        case DataType.TIME:
            return {"data_type": "time", **_precision(properties)}
        case DataType.BINARY if properties.get("precision"):
            return {"data_type": "binary", "precision": properties["precision"]}
        case other:
            return {"data_type": str(other)}


def _decimal(properties: Properties) -> Properties:
    """Return the size that dlt gives to a decimal in Parquet: each part counts only with the precision."""
    if properties.get("precision") is None:
        return decimal(*decimal_sizes({}))
    precision, scale = properties["precision"], properties.get("scale") or 0
    return {"data_type": "wei"} if scale == 0 and precision >= 38 else decimal(precision, scale)


def _bits(precision: int | None) -> int:
    return next((bits for bits in (8, 16, 32) if precision is not None and precision <= bits), 64)


def _precision(properties: Properties) -> Properties:
    """Return the unit that Parquet has for a precision: it has no seconds."""
    precision = properties.get("precision")
    if precision is None or 3 < precision <= 6:
        return {}
    return {"precision": 3 if precision <= 3 else 9}
