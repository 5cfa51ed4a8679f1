"""A DuckDB file: ``duckdb:///PATH?dataset=NAME``.

Without ``dataset`` a load goes into the only dataset that was loaded with the schema before, else into one that is
named after the schema.
"""

from schemactl.destinations.duckdb.catalogue import read_catalogue, read_definitions, read_queries
from schemactl.destinations.duckdb.load import check_tables, load, read_ledger, read_past_loads, read_table
from schemactl.destinations.duckdb.migration import ABILITIES, connect, render
from schemactl.destinations.duckdb.types import NAMES, column_type, stored

ADDRESS = "duckdb:///PATH"
