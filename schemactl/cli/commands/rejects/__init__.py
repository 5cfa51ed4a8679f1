"""List, export, repair and replay the records that loads rejected.

If a contract, a typing or a model rejects rows or values, a load saves them in the table `_rejects` of its
destination, with the original records. `list` counts rejects by reason, `show` prints records, and `export` writes
them to a file. `replay` loads them with the current schema, `discard` marks records that you do not need, and `prune`
deletes rejects.

Examples:
    # List the waiting rejects of a database
    schemactl rejects list crm --to duckdb:///data.duckdb

    # Load them with the current schema
    schemactl rejects replay crm --to duckdb:///data.duckdb
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from schemactl.cli.commands.rejects._options import RejectsOptions
from schemactl.cli.declarations import CommandGroup


@dataclass(frozen=True, kw_only=True)
class Options(RejectsOptions):
    """The settings of ``schemactl rejects`` in a file, for all of its commands."""

    command_group: ClassVar[CommandGroup] = CommandGroup.DATA
