"""Bring a destination to its schema: plan, apply, status, verify, rollback, baseline, clean.

`plan` shows the steps that a destination needs to have what a schema says, with their statements, risks and undo;
`apply` shows them, asks, and runs them; `status` and `verify` hold a destination against a schema; `rollback` undoes;
`baseline` takes a database over that existed before; `clean` drops what destructive plans have kept.

Tables and columns that the schema does not know are left alone and named, and those of dlt are never dropped. Steps
that lose data are skipped and named, the rest is applied; --allow-destructive takes them in.
"""

from __future__ import annotations

from dataclasses import dataclass

from schemactl.cli.commands.migrate._options import PlanningOptions, WritingOptions


@dataclass(frozen=True, kw_only=True)
class Options(PlanningOptions, WritingOptions):
    """The settings of ``schemactl migrate`` in a file, for all of its commands."""
