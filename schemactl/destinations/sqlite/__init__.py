"""A SQLite file: ``sqlite:///PATH``.

dlt keeps each dataset in a separate file next to the named one: ``shop.db`` and ``shop__DATASET.db``; ``main`` is the
named file itself.
"""

from schemactl.destinations.sqlite.catalogue import read_catalogue, read_definitions, read_queries
from schemactl.destinations.sqlite.load import check_tables, load, read_ledger, read_past_loads, read_table
from schemactl.destinations.sqlite.migration import ABILITIES, connect, render
from schemactl.destinations.sqlite.types import NAMES, column_type, stored

ADDRESS = "sqlite:///PATH"
