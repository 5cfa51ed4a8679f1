"""List the files that loads have loaded, and forget some.

A destination has a ledger of the files that `schemactl normalize` has loaded into it; `--new-only` skips them. `list`
prints which load has loaded a file, with how many rows and rejects; `forget` makes files new again.

Examples:
    # List the files that were loaded
    schemactl files list crm --to duckdb:///data.duckdb

    # Load files again with the next `normalize --new-only`
    schemactl files forget crm 'landing/*' --to duckdb:///data.duckdb
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from schemactl.cli.commands.files._options import FilesOptions
from schemactl.cli.declarations import CommandGroup


@dataclass(frozen=True, kw_only=True)
class Options(FilesOptions):
    """The settings of ``schemactl files`` in a file, for all of its commands."""

    command_group: ClassVar[CommandGroup] = CommandGroup.DATA
