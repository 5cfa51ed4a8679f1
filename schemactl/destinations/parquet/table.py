"""One table of a folder of Parquet: its files, their rows, and its columns as Arrow's fields."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._lake.table import DataFile, FilesTable
from schemactl.destinations._lake.types import arrow_type
from schemactl.destinations._structure import Clash, cut, grown
from schemactl.destinations.parquet.catalogue import file_columns, partition_values, unreadable
from schemactl.destinations.parquet.types import stored
from schemactl.errors import DestinationError, InputError, backquoted
from schemactl.examples import shown_error
from schemactl.normalization.package import rows_in
from schemactl.schema.full_types import check_scale
from schemactl.schema.nested_types import Leaf, NestedType, read_type, structure_of
from schemactl.schema.types import Column
from schemactl.type_systems.arrow_types import arrow_type_of, from_exact_arrow, is_nested, plain_type, to_arrow

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet


@dataclass(frozen=True)
class FolderTable(FilesTable):
    """A table of a folder of Parquet.

    Attributes:
        paths: of its files, by their path in the table's folder.
        folder: the folder of new files, named after the table.
        new_fields: the columns of new files; None for the joint columns of all files.
    """

    paths: Mapping[str, Path]
    folder: Path
    new_fields: pyarrow.Schema | None = None

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def place(self) -> Path:
        return self.folder

    @cached_property
    def fields(self) -> pyarrow.Schema:
        return joint_fields(self.paths) if self.new_fields is None else self.new_fields

    def files(self) -> Sequence[DataFile]:
        return [DataFile(name, path) for name, path in self.paths.items()]

    @contextmanager
    def open_file(self, file: DataFile) -> Iterator[pyarrow.parquet.ParquetFile]:
        import pyarrow.parquet

        try:
            with pyarrow.parquet.ParquetFile(file.handle) as opened:
                yield opened
        except pyarrow.ArrowInvalid as error:
            raise DestinationError(f"cannot read `{file.handle}`: {shown_error(str(error))}") from error
        except (pyarrow.ArrowException, OSError) as error:
            raise unreadable(file.handle, error) from error

    def names_in(
        self, file: DataFile, file_schema: pyarrow.Schema, columns: Sequence[str]
    ) -> tuple[Mapping[str, str | None], Mapping[str, Any]]:
        names, _ = FilesTable.names_in(self, file, file_schema, columns)
        values = partition_values(file.path)
        return names, {name: value for name, value in values.items() if name not in file_schema.names}

    def row_count(self) -> int:
        return sum(map(rows_in, self.paths.values()))


def write_file(file: Path, fields: pyarrow.Schema, batches: Iterable[pyarrow.RecordBatch]) -> None:
    """Write the rows of one file; ``OSError`` if the file cannot be written."""
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetWriter(file, fields) as writer:
            for batch in batches:
                writer.write_batch(batch)
    except pyarrow.ArrowException as error:
        raise DestinationError(f"cannot write `{file.name}`: {shown_error(str(error))}") from error


def field_of(column: Column) -> pyarrow.Field:
    """Return a new column as dlt writes it; raises ``InputError`` if Parquet has no such type or size."""
    import pyarrow

    try:
        declared_type = None if structure_of(column) else arrow_type_of(column)
        kind = stored(column)
        if kind.get("data_type") == "decimal":
            check_scale(column.name, kind["precision"], kind["scale"], "Parquet")
        default_type = pyarrow.decimal128(38, 0) if kind.get("data_type") == "wei" else arrow_type(kind)
        data_type = default_type if declared_type is None else plain_type(declared_type)
        return pyarrow.field(column.name, data_type, column.nullable)
    except (ValueError, DestinationError) as error:
        raise InputError(f"column `{column.name}` has no Parquet type: {error}") from error


def joint_fields(files: Mapping[str, Path]) -> pyarrow.Schema:
    """Return the columns of all files of a table: the columns of the last file, then columns of older files only.

    The last file with a column defines it; it is nullable if a file lacks it or declares it nullable. Columns that are
    only in names of folders are text.
    """
    import pyarrow

    fields: dict[str, pyarrow.Field] = {}
    kinds: dict[str, Column] = {}
    count: dict[str, int] = {}
    for file in reversed(list(files.values())):
        columns = file_columns(file)
        for field in read_fields(file):
            column = columns[field.name]
            first = kinds.setdefault(field.name, column)
            field_so_far = fields.setdefault(field.name, field)
            types = field_so_far.type, field.type
            structures = [from_exact_arrow(of) if is_nested(of) else None for of in types]
            joint = grown(structures[0], structures[1]) if structures[0] and structures[1] else None
            if (joint is None or isinstance(joint, Clash)) and _kind(first) != _kind(column):
                raise DestinationError(
                    f"`{field.name}` is {cut(_kind(column))} in `{file}`, "
                    f"and {cut(_kind(first))} in later files of the table",
                    hint="rewrite the table, then migrate",
                )
            joint_type = field_so_far.type if joint is None or isinstance(joint, Clash) else to_arrow(joint)
            is_nullable = field_so_far.nullable or field.nullable
            fields[field.name] = field_so_far.with_nullable(is_nullable).with_type(joint_type)
            count[field.name] = count.get(field.name, 0) + 1
    for name in files:
        for key in partition_values(name):
            fields.setdefault(key, pyarrow.field(key, pyarrow.string()))
    return pyarrow.schema(
        [field.with_nullable(field.nullable or count.get(name, 0) < len(files)) for name, field in fields.items()]
    )


def read_fields(file: Path) -> pyarrow.Schema:
    """Return the columns of one file as new files are to hold them; ``DestinationError`` if it is unreadable."""
    import pyarrow
    import pyarrow.parquet

    try:
        fields = pyarrow.parquet.read_schema(file)
    except (pyarrow.ArrowException, OSError) as error:
        raise unreadable(file, error) from error
    # Metadata that Spark and pandas write about the columns is out of date.
    dense = (
        field.type.value_type if isinstance(field.type, pyarrow.DictionaryType) else field.type for field in fields
    )
    kinds = zip(fields, map(plain_type, dense), strict=True)
    return pyarrow.schema([pyarrow.field(field.name, kind, field.nullable) for field, kind in kinds])


def _kind(column: Column) -> str:
    kind = stored(column)
    zone = " without time zone" if kind.get("timezone") is False else ""
    return f"{kind.get('data_type') or next(iter(kind.values()))}{zone}"


ANEW: Final = "rewrite the files with a different type, then migrate"
"""The hint if files disagree."""

_MOST_FILES: Final = 3
"""How many names of files are reported of one type."""


def disagreement(files: Mapping[str, Path]) -> str | None:
    """Return the columns with different types in files of a table, with the files; None if all agree.

    Sizes may differ: files of narrow and of wide integers are read together, and structs with more and less fields. The
    last file by name defines the table.
    """
    files_by_kind: dict[str, dict[str, list[str]]] = {}
    for name, file in reversed(list(files.items())):
        for column in file_columns(file).values():
            files_by_kind.setdefault(column.name, {}).setdefault(_kind(column), []).append(name)
    unlike = {name: kinds for name, kinds in files_by_kind.items() if len(kinds) > 1 and not _are_read_together(kinds)}
    described = []
    for name, kinds in unlike.items():
        descriptions = []
        for kind, names in kinds.items():
            file_list = backquoted(sorted(names)[:_MOST_FILES])
            more = len(names) - _MOST_FILES
            descriptions.append(f"{cut(kind)} in {file_list}" + (f" and {more:,} more" if more > 0 else ""))
        described.append(f"`{name}` is {', and '.join(descriptions)}")
    return "; ".join(described) or None


def _are_read_together(kinds: Collection[str]) -> bool:
    """Return whether files that have a column as structs, lists or maps of these types make one table."""
    try:
        first, *later = map(read_type, kinds)
    except ValueError:  # a type that is no structure's
        return False
    joint: NestedType | Clash = first
    for nested_type in later:
        joint = joint if isinstance(joint, Clash) else grown(joint, nested_type)
    return not isinstance(joint, Clash) and not isinstance(first, Leaf)
