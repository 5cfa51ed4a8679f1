"""Options of the commands about kept drivers."""

from __future__ import annotations

from dataclasses import dataclass

from schemactl.cli.options import CommonOptions, TextOrJson


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions(CommonOptions):
    """The options of all of them."""

    format: TextOrJson = "text"
