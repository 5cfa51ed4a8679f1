"""Copies of schemas of Spark's own catalog: a load into one takes seconds, a copy of what it left does not."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse


def location(spark: Any, schema: str) -> Path:
    """Return the folder of a schema's tables."""
    described = {row[0]: row[1] for row in spark.sql(f"DESCRIBE SCHEMA {schema}").collect()}
    return Path(unquote(urlparse(described["Location"]).path))


def copy_schema(spark: Any, schema: str, copy: str) -> None:
    """Make a schema with the tables and rows of another one, but for the leases of who wrote them."""
    spark.sql(f"CREATE SCHEMA {copy}")
    before, after = location(spark, schema), location(spark, copy)
    for row in spark.sql(f"SHOW TABLES IN {schema}").collect():
        if row.isTemporary or row.tableName.startswith("_schemactl_lease"):
            continue
        spark.sql(f"CREATE TABLE {copy}.{row.tableName} LIKE {schema}.{row.tableName}")
        shutil.copytree(before / row.tableName, after / row.tableName, dirs_exist_ok=True)
