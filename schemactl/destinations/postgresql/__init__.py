"""A PostgreSQL server: ``postgresql://USER@HOST:PORT/DATABASE?dataset=NAME``, else as libpq's URIs.

Without ``dataset`` a load goes into the only dataset that was loaded with the schema before, else into one that is
named after the schema.
"""

from schemactl.destinations.postgresql.catalogue import read_catalogue, read_definitions, read_queries
from schemactl.destinations.postgresql.load import check_tables, load, read_ledger, read_past_loads, read_table
from schemactl.destinations.postgresql.migration import ABILITIES, connect, render
from schemactl.destinations.postgresql.types import NAMES, column_type, stored

ADDRESS = "postgresql://USER@HOST/DATABASE"
