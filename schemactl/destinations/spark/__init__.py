"""A schema of a Spark catalog: ``spark:CATALOG.SCHEMA``, for example ``spark:spark_catalog.analytics``.

It uses the open session, which knows the user's ``--conf``. Without an open session it starts one, which only knows
Spark's ``spark-defaults.conf``. Spark's catalog in memory forgets its tables with the session: the user's settings can
name a lasting one (Hive, JDBC, Iceberg …).
"""

from schemactl.destinations.spark.address import NAMES
from schemactl.destinations.spark.catalogue import read_catalogue
from schemactl.destinations.spark.load import check_tables, load, read_ledger, read_past_loads, read_table
from schemactl.destinations.spark.migration import ABILITIES, connect
from schemactl.destinations.spark.statements import render
from schemactl.destinations.spark.types import stored

ADDRESS = "spark:CATALOG.SCHEMA"
