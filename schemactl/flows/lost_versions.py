"""Finds what a pipeline of dlt has taken out of a schema file: it keeps a schema of its own and writes over ours.

A pipeline whose working folder stays never reads ``export/``. What schemactl added meanwhile is gone from the file once
dlt writes it, while the destination's tables have it. The ledger (``_dlt_version``) tells: a version that is no
ancestor of the file's has a line of its own there.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Final

from schemactl.destinations import MigrationSession
from schemactl.flows.evolution import with_held
from schemactl.flows.migrate.target import find_target
from schemactl.schema.types import Schema
from schemactl.store.sources import LeftOutWarning

_WITH_LEDGER: Final = ("duckdb", "postgresql")
"""Destinations whose ledger dlt and schemactl share."""


def with_lost(schema: Schema, address: str) -> Schema:
    """Return a schema with the tables and columns that the destination has and the file has lost, and warn of them.

    Raises:
        DestinationError: the ledger cannot be read.
    """
    if address.partition(":")[0] not in _WITH_LEDGER or not schema.previous_hashes:
        return schema
    with find_target(address).open_for_reading(schema.name, may_be_new=True) as session:
        lost = tuple(_lost(session, schema))
    found = schema
    for other in lost:
        found = with_held(found, other)
    added = [
        f"`{name}.{column}`"
        for name, table in found.tables.items()
        for column in table.columns
        if name not in schema.tables or column not in schema.tables[name].columns
    ]
    if added:
        names = ", ".join(added)
        message = f"a pipeline of dlt has written over the file of schema `{schema.name}` without reading it: {names}"
        message += " came from the destination again; `dlt pipeline NAME sync` lets the pipeline know them"
        warnings.warn(LeftOutWarning(message), stacklevel=2)
    return found


def _lost(session: MigrationSession, schema: Schema) -> Iterator[Schema]:
    """Yield the versions since the last ancestor that the file is not made from, the last one first."""
    ancestors = {schema.version_hash, *schema.previous_hashes}
    versions = session.versions(schema.name)
    shared = next((at for at, each in enumerate(versions) if each.version_hash in schema.previous_hashes), 0)
    for each in versions[:shared]:
        if each.version_hash not in ancestors and (found := session.schema_of(each.version_hash)) is not None:
            yield found
