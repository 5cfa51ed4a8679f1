"""Addresses of Spark's catalogs, ``spark:CATALOG.SCHEMA``, and how SQL names a schema and its tables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from schemactl.destinations._address import dataset_of
from schemactl.engine.spark.sql import quoted
from schemactl.errors import InputError
from schemactl.schema.structure import NameLimits

NAMES: Final = NameLimits(is_case_sensitive=False)
"""Hive's metastore folds names, whatever Spark does."""

_PART: Final = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Namespace:
    """A schema of a catalog."""

    catalogue: str
    schema: str

    def __str__(self) -> str:
        return f"{quoted(self.catalogue)}.{quoted(self.schema)}"

    @property
    def has_files(self) -> bool:
        """Whether the tables are files of Spark's own catalog, not another catalog's tables."""
        return self.catalogue == "spark_catalog"

    @property
    def using(self) -> str:
        """The SQL clause for the format of a new table; other catalogs have their own format."""
        return " USING parquet" if self.has_files else ""

    def table(self, name: str) -> str:
        """Return the full name of a table, in SQL."""
        return f"{self}.{quoted(name)}"

    def new_name(self, name: str) -> str:
        """Return the name that a table is renamed to: Spark wants it without the catalog."""
        return f"{quoted(self.schema)}.{quoted(name)}"


def read_address(url: str) -> Namespace:
    """Return the schema that an address names: ``spark:CATALOG.SCHEMA``, ``spark:CATALOG?dataset=SCHEMA``.

    A migration's plan contains the form ``spark:?dataset=CATALOG.SCHEMA``.
    """
    kind, _, remainder = url.partition(":")
    location, _, query = remainder.partition("?")
    dataset = dataset_of(query, kind)
    steps = [step for name in (location, dataset) if name for step in name.split(".")]
    if len(steps) != 2 or not all(_PART.fullmatch(step) for step in steps):
        raise InputError(
            f"`{url}` does not name a schema of a Spark catalog",
            hint="spark:CATALOG.SCHEMA, for example spark:spark_catalog.default",
        )
    return Namespace(*steps)
