"""Show or end the Spark processes that `--keep-spark` has left for later commands: status, stop."""

from __future__ import annotations

from dataclasses import dataclass

from schemactl.cli.commands.engine._options import EngineOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(EngineOptions):
    """The settings of ``schemactl engine`` in a file, for all of its commands."""
