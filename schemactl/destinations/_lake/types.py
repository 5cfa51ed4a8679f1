"""dlt's types as Arrow's, as dlt writes them into tables on files, and back (docs/dlt.md §9.3 has the databases').

Columns that keep structs, lists and maps have the type in ``x-spark-type``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from schemactl.destinations._catalogue import unknown, with_nullable
from schemactl.destinations._structure import cut
from schemactl.destinations._types import TypeSystem, decimal, integer, keeps_unknown_types
from schemactl.errors import DestinationError
from schemactl.schema.full_types import DEFAULT_DECIMAL, MAX_DIGITS, check_scale, decimal_sizes
from schemactl.schema.nested_types import (
    STRING,
    Json,
    Leaf,
    ListOf,
    MapOf,
    NestedType,
    Struct,
    read_type,
    structure_of,
    write_type,
)
from schemactl.schema.structure import DATABASE_TYPE, Stored
from schemactl.schema.types import Column, DataType, Properties
from schemactl.type_systems.arrow_types import (
    arrow_type_of,
    from_arrow,
    from_exact_arrow,
    is_nested,
    scalar_properties,
    scalar_type,
    to_arrow,
)

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, slots=True)
class FileTypes(TypeSystem):
    """The types of a format of files, in which dlt gives decimals other sizes than in databases.

    Attributes:
        has_time: whether the format has times of day; see ``kind_of``.
        sizes: of the format's integers in bits.
    """

    has_time: bool = True
    sizes: tuple[int, ...] = ()

    def settle(self, column: Column) -> Column:
        """Return a column with a type of the format; see ``TypeSystem.settle``.

        A decimal without a scale gets scale 0 (dlt's ``get_py_arrow_type``), and a scale counts only with a precision.
        """
        settled = TypeSystem.settle(self, column)
        precision, scale = (settled.properties.get(size) for size in ("precision", "scale"))
        if settled.data_type is not DataType.DECIMAL or (precision is None) is (scale is None):
            return settled
        sizes = decimal(precision, 0) if precision is not None else decimal(*DEFAULT_DECIMAL)
        return Column(settled.name, {**settled.properties, **sizes})

    def new_kind(self, column: Column) -> Properties:
        """Return the type that a new column gets."""
        return kind_of(self.settle(column), has_time=self.has_time, sizes=self.sizes)

    @property
    def stored(self) -> Stored:
        """Returns a column as the format's catalog has it after dlt writes it."""
        return keeps_unknown_types(lambda column: with_nullable(self.new_kind(column), column))


def types_of_files(
    format_name: str, is_native: Callable[[str], bool], *, has_time: bool = True, sizes: tuple[int, ...] = ()
) -> FileTypes:
    """Return the types of a format of files: structs, lists and maps as Spark's DDL, and the format's native types.

    ``is_native`` returns whether a text is a native type; see ``FileTypes`` for the rest.
    """

    def own_type(written: str) -> str | None:
        if is_structure(written) or is_native(written):
            return written
        return written.lower() if is_native(written.lower()) else None

    return FileTypes(format_name, "", unknown, own_type, has_time, sizes)


def is_structure(written: str) -> bool:
    """Return whether a text is the type of a struct, a list or a map in Spark's DDL."""
    try:
        return isinstance(read_type(written, keeps_sizes=True), Struct | ListOf | MapOf)
    except ValueError:
        return False


def are_structures(*columns: Column) -> bool:
    """Return whether columns of a catalog have types of structs, lists or maps."""
    own_types = [column.properties.get(DATABASE_TYPE) for column in columns]
    return all(own_type is not None and is_structure(str(own_type)) for own_type in own_types)


def kind_of(column: Column, *, has_time: bool, sizes: tuple[int, ...]) -> Properties:
    """Return the type of such a column in a catalog after dlt has created it, without nulls.

    Args:
        column: complete, or with a database's own type.
        has_time: whether the format has times of day; else dlt writes them as texts.
        sizes: the sizes of the format's integers in bits, ascending.

    Raises:
        InputError: a decimal has more digits after the point than digits.
    """
    properties = column.properties
    if DATABASE_TYPE in properties:
        return unknown(properties[DATABASE_TYPE])
    match column.data_type:
        case DataType.JSON:
            dlt_type = arrow_type_of(column)  # in which dlt keeps the column, whatever the normalizer
            structure = structure_of(column) or (None if dlt_type is None else from_arrow(dlt_type))
            if structure is None or isinstance(structure, Json):
                return {"data_type": "text"}
            return unknown(write_type(_fitted(structure, has_time, sizes), has_comments=False))
        case DataType.WEI:
            return {"data_type": "text"}
        case DataType.TIME:
            return {"data_type": "time" if has_time else "text"}
        case DataType.DECIMAL:
            digits, scale = decimal_sizes(properties)
            check_scale(column.name, digits, scale, "a table of files")
            return decimal(digits, scale) if digits <= MAX_DIGITS else {"data_type": "text"}
        case DataType.BIGINT:
            bits = properties.get("precision") or 64
            return integer(next((size for size in sizes if bits <= size), 64))
        case DataType.TIMESTAMP:
            zone = {} if properties.get("timezone") is not False else {"timezone": False}
            return {"data_type": "timestamp", **zone}
        case other:
            return {"data_type": str(other)}


def kind_there(of: pyarrow.DataType, written: str) -> Properties:
    """Return a column as a catalog has it, with the type that is ``written`` there."""
    import pyarrow
    import pyarrow.types as is_a

    if is_nested(of):
        nested_type = from_exact_arrow(of)
        return unknown(written if nested_type is None else write_type(nested_type))
    if is_a.is_fixed_size_binary(of):
        return {"data_type": "binary"}
    is_foreign = isinstance(of, pyarrow.BaseExtensionType) or (is_a.is_timestamp(of) and of.unit == "ns")
    return (None if is_foreign else scalar_properties(of)) or unknown(written)


def arrow_type(kind: Properties) -> pyarrow.DataType:
    """Return the Arrow type of a result of ``kind_of``; raises ``DestinationError`` if files have no such type."""
    import pyarrow

    if DATABASE_TYPE not in kind:
        return scalar_type(kind)
    written = str(kind[DATABASE_TYPE])
    try:
        return to_arrow(read_type(written, keeps_sizes=True))
    except ValueError as error:
        if written == "uuid":
            return pyarrow.uuid()
        if is_arrow_name(written):
            return pyarrow.type_for_alias(written)
        if (match := _ARROW_LIST.fullmatch(written)) is not None:
            return pyarrow.list_(pyarrow.field(match["name"], arrow_type(unknown(match["element"]))))
        raise DestinationError(f"`{cut(written)}` is not a type that files have: {error}") from error


_ARROW_LIST: Final = re.compile(r"list<(?P<name>\w+): (?P<element>.+)>")
"""A list as Arrow writes it, whose elements no DDL of a schema has: ``list<element: int32>``."""


def is_arrow_name(written: str) -> bool:
    """Return whether a text is the name of one of Arrow's types, such as ``uint64`` or ``timestamp[ns]``."""
    import pyarrow

    try:
        pyarrow.type_for_alias(written)
    except ValueError:
        return False
    return True


def fits(kind: Properties, stored_kind: Properties) -> bool:
    """Return whether values of one type fit a column of another type, apart from the sizes of single values.

    dlt may have written other types as texts before, so texts accept them; writing checks the size of each value.
    """
    if DATABASE_TYPE in kind or DATABASE_TYPE in stored_kind:
        return kind == stored_kind
    ours, theirs = kind.get("data_type"), stored_kind.get("data_type")
    if ours == theirs:
        return ours != "timestamp" or (kind.get("timezone") is False) == (stored_kind.get("timezone") is False)
    return (ours, theirs) in {("time", "text"), ("bigint", "double"), ("bigint", "decimal")}


def _fitted(of: NestedType, has_time: bool, sizes: tuple[int, ...]) -> NestedType:
    """Return a structure as a format keeps it: times of day in microseconds or as texts, wider integers."""
    match of:
        case Struct(fields):
            return Struct(tuple((name, _fitted(inner, has_time, sizes)) for name, inner in fields))
        case ListOf(element):
            return ListOf(_fitted(element, has_time, sizes))
        case MapOf(value):
            return MapOf(_fitted(value, has_time, sizes))
        case Leaf(name) if name.startswith("time("):
            return Leaf("time(6)" if has_time else STRING)
        case Leaf("tinyint" | "smallint") if 8 not in sizes:
            return Leaf("int")
        case _:
            return of


_PARTITIONING = frozenset(("text", "bigint", "bool", "date", "timestamp"))  # delta-rs misreads decimals below 0


def can_partition(kind: Properties) -> bool:
    """Return whether tables can be partitioned by values of a type: each value has one text and equals only itself."""
    return kind.get("data_type") in _PARTITIONING
