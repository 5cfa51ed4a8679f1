"""Show or end the Spark processes that `--keep-spark` has left for later commands: status, stop."""

from __future__ import annotations

from dataclasses import dataclass

from schemactl.cli.options import CommonOptions, text_or_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    """Options of ``schemactl engine``, in a file and of each of its commands."""

    format: str = text_or_json()
