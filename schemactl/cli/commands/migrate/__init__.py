"""Plan and run migrations that make a destination match its schema.

`plan` shows each step with SQL, risk and undo. `apply` asks, then runs the steps; `rollback` undoes them. `status`
and `verify` compare a destination with a schema.

Tables and columns that are not in the schema are reported and stay unchanged. Tables of dlt are never dropped.
Steps that lose data are skipped and reported, unless you pass --allow-destructive.

Examples:
    # Preview the migration of a database
    schemactl migrate plan crm --to duckdb:///data.duckdb

    # Show the steps, ask, and run them
    schemactl migrate apply crm --to duckdb:///data.duckdb
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from schemactl.cli.commands.migrate._options import PlanningOptions, WritingOptions
from schemactl.cli.declarations import CommandGroup


@dataclass(frozen=True, kw_only=True)
class Options(PlanningOptions, WritingOptions):
    """The settings of ``schemactl migrate`` in a file, for all of its commands."""

    command_group: ClassVar[CommandGroup] = CommandGroup.DATABASES
