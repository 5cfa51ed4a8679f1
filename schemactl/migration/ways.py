"""Declare how a destination runs each kind of step, which locks steps take, and how risky they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from schemactl.schema.types import Column


class Way(StrEnum):
    """How a destination runs a step."""

    IN_PLACE = "in place"
    """Only the catalog changes."""
    SCAN = "scan"
    """All rows are read, and writers wait."""
    REWRITE = "rewrite"
    """The engine rewrites the rows."""
    COPY = "copy"
    """A new table takes the rows, and then the old table's name."""
    NONE = "none"
    """The destination cannot run the step."""


class Risk(StrEnum):
    """How a step affects stored data and other sessions, from harmless to grave."""

    SAFE = "safe"
    BLOCKS = "blocks"
    """Writers wait while the rows are read."""
    REWRITES = "rewrites the table"
    """The rows are rewritten; writers wait, on most engines readers too."""
    LOSES_DATA = "loses data"
    """Values are lost; the step needs ``--allow-destructive``."""


RISKS: Final = {Way.SCAN: Risk.BLOCKS, Way.REWRITE: Risk.REWRITES, Way.COPY: Risk.REWRITES}
"""The risks of steps that keep all values, by their way; other ways are safe."""


@dataclass(frozen=True, slots=True)
class Lock:
    """The lock that a step takes on its table.

    Attributes:
        mode: its name in the engine.
        readers_wait: whether it blocks reads of the table.
        writers_wait: whether it blocks all writes to the table, not only writes to the same rows.
    """

    mode: str
    readers_wait: bool
    writers_wait: bool


@dataclass(frozen=True, slots=True)
class Ways:
    """The way in which a destination runs each kind of step. The defaults describe a good SQL database.

    Attributes:
        describe_table: the way of setting the descriptions of a table and its columns, which its catalog returns.
        retype: the way from a type to another one, as a function of both columns; ``Way.NONE`` makes the planner use a
            new column, if columns can be added, filled and renamed.
        write_values: the way of filling a column of stored rows.
        is_online: whether steps can be split into phases that other sessions need not wait for.
        copies_file: whether a plan that loses data begins with a copy of the whole file.
    """

    create_table: Way = Way.IN_PLACE
    drop_table: Way = Way.IN_PLACE
    rename_table: Way = Way.IN_PLACE
    describe_table: Way = Way.NONE
    add_column: Way = Way.IN_PLACE
    drop_column: Way = Way.IN_PLACE
    rename_column: Way = Way.IN_PLACE
    retype: Callable[[Column, Column], Way] = lambda *_: Way.REWRITE
    write_values: Way = Way.REWRITE
    set_not_null: Way = Way.SCAN
    drop_not_null: Way = Way.IN_PLACE
    add_unique: Way = Way.SCAN
    drop_unique: Way = Way.IN_PLACE
    add_primary_key: Way = Way.SCAN
    drop_primary_key: Way = Way.IN_PLACE
    is_online: bool = False
    copies_file: bool = False

    @property
    def can_swap_columns(self) -> bool:
        """Whether a new column can replace an old one."""
        return Way.NONE not in (self.add_column, self.write_values, self.rename_column)

    @property
    def can_move_keys(self) -> bool:
        """Whether a primary key can move from one column to another."""
        return Way.NONE not in (self.drop_primary_key, self.add_primary_key)
