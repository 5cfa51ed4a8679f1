"""A schema of a Spark catalogue: ``spark:CATALOG.SCHEMA``, for one ``spark:spark_catalog.analytics``.

It works with the session that is open, which knows the user's ``--conf``; where none is open, with one of its own,
which knows Spark's ``spark-defaults.conf`` alone. Spark's catalog in memory forgets its tables with the session:
a lasting one (Hive, JDBC, Iceberg …) comes by the user's settings.
"""

from schemactl.destinations.spark.address import NAMES
from schemactl.destinations.spark.catalogue import read_catalogue, stored
from schemactl.destinations.spark.load import check_tables, load, read_ledger, read_past_loads, read_table
from schemactl.destinations.spark.migration import ABILITIES, connect
from schemactl.destinations.spark.statements import render

ADDRESS = "spark:CATALOG.SCHEMA"
