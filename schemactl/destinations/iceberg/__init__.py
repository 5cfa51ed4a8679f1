"""Iceberg tables: ``iceberg:FOLDER?dataset=NAME``, a folder with its catalog in SQLite (`catalog.db`).

``iceberg:CATALOG?dataset=NAME`` names a catalog of `.pyiceberg.yaml` or of ``PYICEBERG_CATALOG__`` variables; it has no
lock, so its users must run one load at a time. The folders that dlt's filesystem makes have no catalog: they are read,
and not loaded into. ``wei`` is a text, as dlt writes it. Columns hinted `partition` partition new tables.
"""

from schemactl.destinations.iceberg.catalogue import read_catalogue
from schemactl.destinations.iceberg.load import check_tables, load, read_ledger, read_past_loads, read_table
from schemactl.destinations.iceberg.migration import ABILITIES, connect, render
from schemactl.destinations.iceberg.types import NAMES, stored

ADDRESS = "iceberg:FOLDER"
