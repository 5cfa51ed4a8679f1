"""Options of the commands about loaded files."""

from __future__ import annotations

from dataclasses import dataclass

from schemactl.cli.declarations import Setting, argument, option
from schemactl.cli.options import SparkCommandOptions, complete_names, text_or_json


def schema_name() -> str:
    """Declare the argument that names the schema of the loads."""
    return argument("NAME", "The schema of the loads.", completes=complete_names)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesOptions(SparkCommandOptions):
    """The options of all of them."""

    to: str = option(
        "The destination of the loads: a folder (Parquet), `duckdb:///PATH`, `postgresql://USER@HOST/DATABASE` ...; "
        "`?dataset=NAME` sets the database schema. Or a name from the settings: `[destinations.prod]`.",
        setting=Setting(),
        metavar="DEST",
        is_destination=True,
        default="warehouse",
    )
    format: str = text_or_json()
