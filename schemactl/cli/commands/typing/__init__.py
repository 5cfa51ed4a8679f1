"""Draft types for text columns: dates, money, percentages, numbers.

`draft` detects types and patterns of text columns, in the Arc format, and applies them to a schema.

Examples:
    # Draft types for the texts of a file, and print them
    schemactl typing draft fixtures/customers.csv --name crm

    # Apply them: later runs of infer and normalize type the texts of the schema's table
    schemactl typing draft fixtures/customers.csv --name crm --apply
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from schemactl.cli.declarations import CommandGroup
from schemactl.cli.options import CommonOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    """The settings of ``schemactl typing`` in a file."""

    command_group: ClassVar[CommandGroup] = CommandGroup.DATA
