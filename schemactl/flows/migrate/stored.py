"""Schemas out of a destination's ledger: those that it was brought to, by dlt or by a migration."""

from __future__ import annotations

from schemactl.destinations import MigrationSession, is_migrator
from schemactl.errors import InputError
from schemactl.flows.migrate.target import find_target
from schemactl.flows.references import Referred
from schemactl.schema.types import Schema


def stored_schemas(reference: str, found: Referred, version_hash: str | None) -> tuple[Schema, ...]:
    """Return schemas of a destination's ledger, by name; none where it has no ledger.

    Args:
        reference: the destination's address.
        found: its catalog.
        version_hash: the beginning of a hash; None for the last schema of each name.

    Raises:
        InputError: the ledger has no schema of this hash, or several.
        DestinationError: the destination cannot be read.
    """
    if found.destination is None or not is_migrator(found.destination):
        if version_hash is not None:
            raise InputError(f"`{found.origin}` keeps no schemas that could be fetched")
        return ()
    with find_target(reference).open_for_reading(found.schema.name) as session:
        hashes = _last_ones(session) if version_hash is None else (_find(session, version_hash, found.origin),)
        schemas = (session.schema_of(each) for each in hashes)
        return tuple(sorted((schema for schema in schemas if schema), key=lambda schema: schema.name))


def _last_ones(session: MigrationSession) -> tuple[str, ...]:
    last: dict[str, str] = {}
    for version in session.versions():
        last.setdefault(version.schema_name, version.version_hash)
    return tuple(last.values())


def _find(session: MigrationSession, beginning: str, origin: str) -> str:
    versions = session.versions()
    hashes = list(dict.fromkeys(version.version_hash for version in versions))
    found = [each for each in hashes if each.startswith(beginning)]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{len(found)} hashes of `{origin}` begin with `{beginning}`", hint="write more of it")
    hint = f"known: {', '.join(hashes)}" if hashes else None
    raise InputError(f"the ledger of `{origin}` has no schema with the hash `{beginning}`", hint=hint)
