"""The differences between two schemas, one type for each kind.

``schema.diff`` gives the changes in the order in which ``schema.apply`` applies them: renames come first, and every
later change speaks of the new names.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from schemactl.schema.types import Column, Properties, Table

SIZES: Final = ("precision", "scale", "timezone")
TYPE_PROPERTIES: Final = ("data_type", *SIZES)
"""Properties of a column that make up its type."""


class Absent(Enum):
    """Marks a missing property; ``null`` is not missing."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


@dataclass(frozen=True, slots=True)
class HeaderChanged:
    """A top-level key changed; its value is ``ABSENT`` if the key is missing."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class SettingChanged:
    """A key of ``settings`` changed: ``detections``, ``schema_contract`` ..."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class NormalizerChanged:
    """A key of ``normalizers`` changed: ``names``, ``json`` ..."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class TableAdded:
    """A table is new, with all its columns."""

    table: Table


@dataclass(frozen=True, slots=True)
class TableRemoved:
    """A table is gone, with all its columns."""

    table: Table


@dataclass(frozen=True, slots=True)
class TableRenamed:
    """A table has another name; tables nested in it name their new parent, and keep their own names.

    Attributes:
        is_stated: whether ``x-renamed-from`` says so; else it is a guess.
        follows_parent: whether a nested table only took on its parent's new name.
    """

    before: str
    after: str
    is_stated: bool = False
    follows_parent: bool = False


@dataclass(frozen=True, slots=True)
class TablePropertyChanged:
    """A property of a table changed: ``write_disposition``, ``parent``, an ``x-`` hint ..."""

    table: str
    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class ColumnAdded:
    """A column is new; it is the last until ``ColumnsReordered``."""

    table: str
    column: Column


@dataclass(frozen=True, slots=True)
class ColumnRemoved:
    """A column is gone."""

    table: str
    column: Column


@dataclass(frozen=True, slots=True)
class VariantFolded(ColumnRemoved):
    """A variant column is gone, because another column of the table holds its values: ``x-folded-from`` says so.

    Attributes:
        into: the other column.
    """

    into: str


@dataclass(frozen=True, slots=True)
class ColumnRenamed:
    """A renamed column, at the same position; ``is_stated`` if ``x-renamed-from`` or ``x-id`` declares the rename."""

    table: str
    before: str
    after: str
    is_stated: bool = False


@dataclass(frozen=True, slots=True)
class ColumnRetyped:
    """A column's type changed; with the values of the ``TYPE_PROPERTIES`` that the column has."""

    table: str
    column: str
    before: Properties
    after: Properties


@dataclass(frozen=True, slots=True)
class NullabilityChanged:
    """A column's ``nullable`` changed; absent and null mean ``true``."""

    table: str
    column: str
    before: Any
    after: Any

    @property
    def is_restated(self) -> bool:
        """Return whether only the wording changed."""
        before, after = (value is ABSENT or value is None or bool(value) for value in (self.before, self.after))
        return before == after


@dataclass(frozen=True, slots=True)
class ColumnPropertyChanged:
    """Another property of a column changed: ``unique``, ``description``, an ``x-`` hint ..."""

    table: str
    column: str
    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class ColumnsReordered:
    """The order of a table's columns changed; ``before`` is the order after all other changes."""

    table: str
    before: tuple[str, ...]
    after: tuple[str, ...]


ColumnChange = (
    ColumnRenamed | ColumnRemoved | VariantFolded | ColumnAdded | ColumnRetyped | NullabilityChanged
    | ColumnPropertyChanged | ColumnsReordered
)  # fmt: skip
"""A difference between the columns of a table."""

Change = (
    HeaderChanged | SettingChanged | NormalizerChanged | TableRenamed | TableRemoved | TableAdded | TablePropertyChanged
    | ColumnChange
)  # fmt: skip
"""Any difference between two schemas."""
