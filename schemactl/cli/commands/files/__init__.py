"""List the loaded files of a destination, or mark files as new.

A destination has a ledger of the files that `schemactl normalize` loaded; `--new-only` skips them. `list` prints the
load of each file, with its rows and rejects; `forget` marks files as new.

Examples:
    # List all loaded files
    schemactl files list crm --to duckdb:///data.duckdb

    # Load files again with the next `normalize --new-only`
    schemactl files forget crm 'landing/*' --to duckdb:///data.duckdb
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from schemactl.cli.declarations import CommandGroup
from schemactl.cli.options import PastLoadsOptions


@dataclass(frozen=True, kw_only=True)
class Options(PastLoadsOptions):
    """The settings of ``schemactl files`` in a file, for all of its commands."""

    command_group: ClassVar[CommandGroup] = CommandGroup.DATA
