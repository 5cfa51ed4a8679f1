"""Any destination that dlt knows: ``dlt:NAME?dataset=NAME&staging=NAME``, by dlt's own loader and credentials.

``NAME`` is dlt's name of the destination (``snowflake``, ``bigquery``, ``filesystem`` ...) or of one that dlt's
configuration names. Loads and the schema that dlt keeps there work; tables are not migrated.
"""

from schemactl.destinations.dlt.catalogue import (
    NAMES,
    name_limits,
    read_catalogue,
    read_ledger,
    read_past_loads,
    stored,
)
from schemactl.destinations.dlt.load import check_tables, load

ADDRESS = "dlt:NAME?dataset=NAME"
