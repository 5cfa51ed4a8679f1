"""What a destination can do, as its module states it, and by which way it takes a step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, assert_never

from schemactl.migration.steps import (
    AddColumn,
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    CreateTable,
    DescribeTable,
    DropColumn,
    DropNotNull,
    DropPrimaryKey,
    DropTable,
    DropUnique,
    FillColumn,
    OnlineStep,
    Phase,
    Prepare,
    RenameColumn,
    RenameTable,
    RestoreColumn,
    SetNotNull,
    Step,
    SwapColumns,
)
from schemactl.schema.nested_types import NestedType, structure_in
from schemactl.schema.structure import NameLimits
from schemactl.schema.types import Column, Table


class Way(StrEnum):
    """How a destination takes a step."""

    IN_PLACE = "in place"
    """Only the catalog changes."""
    SCAN = "scan"
    """The rows are read, and nobody writes meanwhile."""
    REWRITE = "rewrite"
    """The engine writes the rows anew."""
    COPY = "copy"
    """A new table takes the rows, and then the old one's name."""
    NONE = "none"
    """Not at all."""


@dataclass(frozen=True, slots=True)
class Lock:
    """The lock that a step takes on its table.

    Attributes:
        mode: its name in the engine.
        readers_wait: whether it blocks reads of the table.
        writers_wait: whether it blocks all writes to the table, not only those to the same rows.
    """

    mode: str
    readers_wait: bool
    writers_wait: bool


def _never(*_: object) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a destination can do. The defaults are those of a good SQL database: a module states where it differs.

    Attributes:
        transactional_ddl: whether all steps can run in one transaction.
        adds_not_null: whether a column can be added as NOT NULL to a table without rows; else it is set afterwards.
        retype: the way from a type to another one, as a function of both columns; ``Way.NONE`` makes the planner go
            by a new column, where columns can be added, filled and renamed.
        refuses_unfit: whether the statement of a retype fails on values that do not survive, and costs less than a
            look at them first: then a run counts them only once it has failed. A function of both columns.
        adds_filled: whether a column can be added with a value for stored rows by the catalog alone.
        is_online: whether steps can be done in phases that others need not wait for.
        can_sync: whether a new column can be kept in step with another one by what converts that one's values. A
            function of both columns.
        keeps_dropped: whether a table that is dropped is kept under another name, which costs nothing.
        copies_file: whether a copy of all is made before a plan that loses data.
        has_texts: whether each value of a type that dlt does not know (``uuid``) has a text of its own, to which the
            destination casts it without fail; such a column becomes a text without loss.
        write_values: the way of filling a column of stored rows.
        describe_table: the way of setting the descriptions of a table and its columns, which its catalog states.
        kept_description: what a catalog keeps of a description; asked with whether it is a table's.
        lock: the lock that a step takes on its table; None where it takes none, or the engine locks no tables.
        gains: the fields by which loads make the type of a column of structs the schema's (``c.d``, ``lines[].note``),
            as a function of both types, as ``x-database-type`` has them; None where no load does.
        structure_in: reads the type of a column of structs, lists or maps, as ``x-database-type`` has it; None for
            others. The default reads Spark's DDL.
        keeps_dlt_tables: whether ``_dlt_version`` and ``_dlt_loads`` are tables there.
        shares_ledger: whether pipelines of dlt keep their schemas in the same ledger, which then knows what a schema
            file has lost.
        enforces_types: whether a column holds values of its type only.
        rewrites: whether a step, on its table as it finds it, is done by writing all rows anew in a way that steps next
            to it can share: ``MigrationSession.run_rewrite`` does them at once.
        copies_keyed: whether a table that has a key is copied to drop a column; then columns are dropped before keys
            are added, where all can be taken back.
    """

    transactional_ddl: bool = True
    adds_not_null: bool = False
    adds_filled: bool = False
    is_online: bool = False
    keeps_dropped: bool = False
    copies_file: bool = False
    can_sync: Callable[[Column, Column], bool] = _never
    create_table: Way = Way.IN_PLACE
    drop_table: Way = Way.IN_PLACE
    rename_table: Way = Way.IN_PLACE
    describe_table: Way = Way.NONE
    kept_description: Callable[[str, bool], str] = lambda text, _: text
    add_column: Way = Way.IN_PLACE
    drop_column: Way = Way.IN_PLACE
    rename_column: Way = Way.IN_PLACE
    retype: Callable[[Column, Column], Way] = lambda *_: Way.REWRITE
    refuses_unfit: Callable[[Column, Column], bool] = _never
    has_texts: Callable[[str], bool] = _never
    write_values: Way = Way.REWRITE
    set_not_null: Way = Way.SCAN
    drop_not_null: Way = Way.IN_PLACE
    add_unique: Way = Way.SCAN
    drop_unique: Way = Way.IN_PLACE
    add_primary_key: Way = Way.SCAN
    drop_primary_key: Way = Way.IN_PLACE
    names: NameLimits = field(default_factory=NameLimits)
    lock: Callable[[Step], Lock | None] = lambda _: None
    gains: Callable[[str, str], tuple[str, ...] | None] = lambda *_: None
    structure_in: Callable[[str], NestedType | None] = structure_in
    keeps_dlt_tables: bool = True
    shares_ledger: bool = False
    enforces_types: bool = True
    rewrites: Callable[[Step, Table | None], bool] = _never
    copies_keyed: bool = False

    @property
    def can_swap_columns(self) -> bool:
        """Whether a new column can take the place of an old one."""
        return Way.NONE not in (self.add_column, self.write_values, self.rename_column)

    @property
    def can_move_keys(self) -> bool:
        """Whether a primary key can be taken from one column and given to another."""
        return Way.NONE not in (self.drop_primary_key, self.add_primary_key)


ON_FILES: Final = Abilities(
    transactional_ddl=False,
    add_unique=Way.NONE,
    drop_unique=Way.NONE,
    add_primary_key=Way.NONE,
    drop_primary_key=Way.NONE,
)
"""What tables on files have alike: no transaction over several of them, and no keys."""


def way_of(step: Step, abilities: Abilities) -> Way:  # noqa: C901, PLR0911, PLR0912 - a case for each kind
    """Return how a destination takes a step."""
    match step:
        case CreateTable():
            return abilities.create_table
        case DropTable():
            return abilities.drop_table
        case RenameTable():
            return abilities.rename_table
        case DescribeTable():
            return abilities.describe_table
        case AddColumn():
            return abilities.add_column
        case DropColumn():
            return abilities.drop_column
        case RenameColumn():
            return abilities.rename_column
        case ChangeType():
            return abilities.retype(step.before, step.after)
        case Backfill() | FillColumn():
            return abilities.write_values
        case SetNotNull() | AddUnique() | AddPrimaryKey() if step.is_prepared:
            return Way.IN_PLACE
        case SetNotNull():
            return abilities.set_not_null
        case DropNotNull():
            return abilities.drop_not_null
        case AddUnique():
            return abilities.add_unique
        case DropUnique():
            return abilities.drop_unique
        case AddPrimaryKey():
            return abilities.add_primary_key
        case DropPrimaryKey():
            return abilities.drop_primary_key
        case OnlineStep() if not abilities.is_online:
            return Way.NONE
        case Prepare():
            return Way.SCAN if step.phase in (Phase.VALIDATE_CHECK, Phase.BUILD_INDEX) else Way.IN_PLACE
        case SwapColumns():
            return Way.IN_PLACE
        case RestoreColumn():
            return Way.SCAN
        case _:
            assert_never(step)


def writes_all(step: Step, abilities: Abilities) -> bool:
    """Return whether a step writes all rows of its table anew."""
    return way_of(step, abilities) in (Way.REWRITE, Way.COPY)
