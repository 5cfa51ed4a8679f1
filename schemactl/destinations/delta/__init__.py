"""Delta tables, a folder for each, as dlt's filesystem lays them out: ``delta:FOLDER``, ``delta:FOLDER?dataset=NAME``.

Times of day and ``wei`` are texts there, as dlt writes them. Columns hinted `partition` partition new
tables. The folder is one that this machine sees; object stores are not written to.
"""

from schemactl.destinations.delta.catalogue import NAMES, read_catalogue, stored
from schemactl.destinations.delta.load import check_tables, load, read_ledger, read_past_loads, read_table
from schemactl.destinations.delta.migration import ABILITIES, connect, render

ADDRESS = "delta:FOLDER"
