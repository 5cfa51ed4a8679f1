"""``schemactl show``: the schemas that a reference names; for a destination, with the hints of its ledger."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from schemactl.destinations import is_migrator
from schemactl.flows.lineage import sources_beside
from schemactl.flows.references import Referred, find_schemas
from schemactl.inference.lineage import Sources
from schemactl.schema.changes import TYPE_PROPERTIES
from schemactl.schema.hash import bump
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, Schema, Table
from schemactl.store.folder import SchemasFolder

Shown: TypeAlias = tuple[Schema, str, Sources]
"""A schema, its file or destination, and the source paths of its tables and columns."""


def find_shown(reference: str, folder: SchemasFolder, *, has_lineage: bool) -> tuple[Shown, ...]:
    """Return the schemas that a reference names.

    Tables of a destination that keeps no schema of them, or several schemas, have no hash.
    """
    return tuple(_shown(referred, reference, has_lineage) for referred in find_schemas(reference, folder))


def _shown(referred: Referred, reference: str, has_lineage: bool) -> Shown:
    if referred.destination is None or not is_migrator(referred.destination):
        sources = sources_beside(referred.history, referred.schema.name) if has_lineage else {}
        return bump(referred.schema), referred.origin, sources
    from schemactl.flows.migrate.ledger_schemas import stored_schemas

    stored = stored_schemas(reference, referred, None)
    tables = {name: table for schema in stored for name, table in schema.tables.items()}
    schema = replace(
        referred.schema,
        tables={name: _with_hints(table, tables.get(name)) for name, table in referred.schema.tables.items()},
    )
    version, version_hash = (stored[0].version, stored[0].version_hash) if len(stored) == 1 else (1, "")
    return replace(schema, version=version, version_hash=version_hash), referred.origin, {}


def _with_hints(table: Table, stored: Table | None) -> Table:
    """Return a table of a catalog with the hints of a stored one: a catalog has no write disposition."""
    described = {key: value for key, value in table.properties.items() if key == "description"}
    if stored is None:
        return replace(table, properties=described)
    type_keys = (*TYPE_PROPERTIES, "nullable", DATABASE_TYPE)
    columns = dict(table.columns)
    for name in columns.keys() & stored.columns.keys():
        hints = {key: value for key, value in stored.columns[name].properties.items() if key not in type_keys}
        columns[name] = Column(name, {**hints, **columns[name].properties})
    return replace(table, properties={**described, **stored.properties}, columns=columns)
