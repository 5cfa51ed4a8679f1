"""A folder of Parquet, a folder in it for each table: ``parquet:FOLDER``, ``parquet:FOLDER?dataset=NAME``.

It has the layout of dlt's ``filesystem`` destination for Parquet, so a dlt pipeline can continue after our loads, and
the other way round. A load is written down in a journal before anything is moved (``journal``).
"""

from schemactl.destinations.parquet.catalogue import read_catalogue
from schemactl.destinations.parquet.load import check_tables, load, read_ledger, read_past_loads, read_table
from schemactl.destinations.parquet.migration import ABILITIES, connect, render
from schemactl.destinations.parquet.types import NAMES, stored

ADDRESS = "parquet:FOLDER"
