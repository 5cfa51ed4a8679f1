"""Delta tables, a folder for each, as dlt's filesystem lays them out: ``delta:FOLDER``, ``delta:FOLDER?dataset=NAME``.

Times of day and ``wei`` are texts, as dlt writes them. Columns hinted `partition` partition new tables. The folder must
be accessible from this machine; object stores are not supported.
"""

from schemactl.destinations.delta.catalogue import read_catalogue
from schemactl.destinations.delta.load import check_tables, load, read_ledger, read_past_loads, read_table
from schemactl.destinations.delta.migration import ABILITIES, connect, render
from schemactl.destinations.delta.types import NAMES, stored

ADDRESS = "delta:FOLDER"
