"""List, export, repair and replay the records that loads rejected.

A load keeps the rows and values that a contract, a typing or a model rejects in the table `_rejects` of its
destination, with the original records. `list` counts them by reason, `show` prints records, `export` writes them to a
file; `replay` loads them by the schema as it is now; `discard` marks those that nobody wants, `prune` deletes old ones.
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
