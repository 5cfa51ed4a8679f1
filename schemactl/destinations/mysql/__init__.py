"""A MySQL or MariaDB server: ``mysql://USER@HOST:PORT/DATABASE?dataset=NAME``.

A dataset is a database of the server, as with dlt: the one that ``dataset`` or the path names, else the one that was
loaded with the schema before, else a new one named after the schema.
"""

from schemactl.destinations.mysql.catalogue import read_catalogue, read_definitions, read_queries
from schemactl.destinations.mysql.load import check_tables, load, read_ledger, read_past_loads, read_table
from schemactl.destinations.mysql.migration import ABILITIES, connect, render
from schemactl.destinations.mysql.types import NAMES, column_type, stored

ADDRESS = "mysql://USER@HOST/DATABASE"
