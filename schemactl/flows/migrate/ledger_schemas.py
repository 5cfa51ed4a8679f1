"""Schemas of a destination's ledger: earlier schemas, content lost from schema files, and pending renames.

A dlt pipeline with a permanent working folder never reads ``export/``: it keeps its own schema and overwrites ours.
Tables and columns that schemactl has added since then vanish from the file, while the destination still has them. The
ledger (``_dlt_version``) shows this: a version that is not an ancestor of the file's version is on a separate branch.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from schemactl.destinations import DESTINATIONS, MigrationSession, is_migrator
from schemactl.errors import DestinationError, InputError, Problem
from schemactl.flows.migrate.state import MOST_EARLIER, DestinationState
from schemactl.flows.references import Referred
from schemactl.flows.target import Target, migratable
from schemactl.migration.comparison import compare
from schemactl.migration.options import PlanOptions
from schemactl.migration.records import Patience, Version
from schemactl.redaction import redact
from schemactl.schema.changes import ColumnRenamed, TableRenamed
from schemactl.schema.renames import origins
from schemactl.schema.types import Column, Schema, Table, root_of
from schemactl.store.sources import LeftOutWarning


def with_lost(schema: Schema, target: Target) -> Schema:
    """Return a schema with the tables and columns that the destination has and the file has lost, and warn of them."""
    restored, names = _find_lost_at(schema, target)
    warn_of_restored(schema, names)
    return restored


def _find_lost_at(schema: Schema, target: Target) -> tuple[Schema, str]:
    if not _may_have_lost(schema, target):
        return schema, ""
    with migratable(target.url).open_for_reading(schema.name, may_be_new=True, patience=Patience()) as session:
        return _find_lost(schema, session, session.versions(schema.name))


def restore_lost(schema: Schema, state: DestinationState) -> Schema:
    """Restore lost tables and columns as ``with_lost``, in an open session."""
    restored, names = find_lost(schema, state)
    warn_of_restored(schema, names)
    return restored


def find_lost(schema: Schema, state: DestinationState) -> tuple[Schema, str]:
    """Return a schema with the tables and columns that the file has lost, and their names as a text."""
    if not _may_have_lost(schema, state.target):
        return schema, ""
    return _find_lost(schema, state.session, state.versions)


def _find_lost(schema: Schema, session: MigrationSession, versions: Sequence[Version]) -> tuple[Schema, str]:
    restored = schema
    for lost in _lost(session, schema, versions[:MOST_EARLIER]):
        restored = restored.with_missing_from(lost)
    added = [
        f"`{name}.{column}`"
        for name, table in restored.tables.items()
        for column in table.columns
        if name not in schema.tables or column not in schema.tables[name].columns
    ]
    return restored, ", ".join(added)


def warn_of_restored(schema: Schema, names: str) -> None:
    """Warn of the tables and columns that a schema has got back; ``names`` is as in ``find_lost``."""
    if names:
        _warn(
            schema,
            f"{names} were restored from the destination; run `dlt pipeline NAME sync` to restore them in the pipeline",
        )


def warn_of_lost(schema: Schema, target: Target) -> None:
    """Warn of the tables and columns that the destination has and the file has lost."""
    _, names = _find_lost_at(schema, target)
    if names:
        _warn(schema, f"the destination has {names}; restore them with `schemactl sync {schema.name} --to DEST`")


def check_swaps(schema: Schema, target: Target) -> None:
    """Raise an error if names of tables or columns have yet to be swapped: a load would mix up their values.

    Renames to new names are visible in the existing columns (see ``Loader.check_tables``). If a name exists before and
    after a rename, only the ledger's last schema shows whether it was renamed.
    """
    destination = DESTINATIONS[target.kind]
    if not is_migrator(destination) or not _states_swaps(schema):
        return
    with migratable(target.url).open_for_reading(schema.name, may_be_new=True, patience=Patience()) as session:
        versions = session.versions(schema.name)
        ledger_schema = session.schema_of(versions[0].version_hash) if versions else None
        catalogue = session.catalogue().schema
    if ledger_schema is None:
        return
    changes = compare(
        catalogue, schema, ledger_schema, destination.stored, destination.ABILITIES, PlanOptions()
    ).changes
    pending: list[Problem] = []
    for change in changes:
        if isinstance(change, TableRenamed | ColumnRenamed) and change.is_stated:
            table = change.table if isinstance(change, ColumnRenamed) else change.after
            prefix = f"{table}." if isinstance(change, ColumnRenamed) else ""
            if schema.tables[root_of(schema, table)].properties.get("write_disposition") != "replace":
                pending.append(Problem(f"`{prefix}{change.before}` must be renamed to `{prefix}{change.after}`"))
    if pending:
        message = f"`{redact(target.url)}` still has old names of tables or columns; a load would mix up their values"
        hint = f"`schemactl migrate apply {schema.name} --to DEST` renames them"
        raise DestinationError(message, problems=tuple(pending), hint=hint)


def _states_swaps(schema: Schema) -> bool:
    """Return whether a table or column declares an earlier name that another table or column has now."""
    namespaces: list[Mapping[str, Table] | Mapping[str, Column]] = [schema.tables]
    namespaces += [table.columns for table in schema.tables.values()]
    return any(
        origin in namespace
        for namespace in namespaces
        for item in namespace.values()
        for origin in origins(item.properties)
    )


def _may_have_lost(schema: Schema, target: Target) -> bool:
    if not schema.previous_hashes:
        return False
    destination = DESTINATIONS[target.kind]
    return is_migrator(destination) and destination.ABILITIES.shares_ledger


def _warn(schema: Schema, message: str) -> None:
    reason = f"a dlt pipeline has overwritten the file of schema `{schema.name}`"
    warnings.warn(LeftOutWarning(f"{reason}: {message}"), stacklevel=3)


def _lost(session: MigrationSession, schema: Schema, versions: Sequence[Version]) -> Iterator[Schema]:
    """Yield lost tables and columns: ledger versions have them, but the file does not descend from these versions.

    The last version comes first. Such a version is not an ancestor of the next version either. Three kinds of tables
    and columns are not lost. Newer ancestors of the file have them: the person who dropped them later knew them. Or
    their version imported the file: import files only contain hints. Or a newer version has another import file: as in
    dlt, a schema starts over from an edited import file.
    """
    ancestors = {schema.version_hash, *schema.previous_hashes}
    if not any(version.version_hash in ancestors for version in versions):
        return  # another schema of that name
    own_schemas: list[Schema] = []
    after = schema.previous_hashes
    for index, version in enumerate(versions):
        is_own = version.version_hash in ancestors
        if is_own and all(other.version_hash in ancestors for other in versions[index + 1 :]):
            return
        stored_schema = session.schema_of(version.version_hash)
        if stored_schema is None:
            continue
        imported = (schema.imported_version_hash, stored_schema.imported_version_hash)
        if is_own:
            own_schemas.append(stored_schema)
        elif (
            version.version_hash not in after
            and schema.version_hash not in stored_schema.previous_hashes
            and not (schema.imported_version_hash is None and stored_schema.imported_version_hash in ancestors)
            and not (own_schemas and None not in imported and imported[0] != imported[1])  # it starts over
        ):
            yield _without(stored_schema, own_schemas)
        after = stored_schema.previous_hashes


def _without(schema: Schema, other_schemas: Iterable[Schema]) -> Schema:
    """Return the tables and columns of a schema that all other schemas lack."""
    tables = {}
    for table in schema.tables.values():
        other_columns = [other.tables[table.name].columns for other in other_schemas if table.name in other.tables]
        columns = {
            name: column for name, column in table.columns.items() if not any(name in other for other in other_columns)
        }
        if columns:
            tables[table.name] = replace(table, columns=columns)
    return replace(schema, tables=tables)


def stored_schemas(reference: str, referred: Referred, version_hash: str | None) -> tuple[Schema, ...]:
    """Return schemas of a destination's ledger, by name; none if it has no ledger.

    ``version_hash`` is the beginning of a hash; None for the last schema of each name.
    """
    if referred.destination is None or not is_migrator(referred.destination):
        if version_hash is not None:
            raise InputError(f"`{referred.origin}` does not store schemas")
        return ()
    with migratable(reference).open_for_reading(referred.schema.name) as session:
        last = {version.schema_name: version.version_hash for version in reversed(session.versions())}
        hashes = tuple(last.values()) if version_hash is None else (_find(session, version_hash, referred.origin),)
        schemas = (session.schema_of(schema_hash) for schema_hash in hashes)
        return tuple(sorted((schema for schema in schemas if schema), key=lambda schema: schema.name))


def _find(session: MigrationSession, beginning: str, origin: str) -> str:
    versions = session.versions()
    hashes = list(dict.fromkeys(version.version_hash for version in versions))
    matches = [candidate for candidate in hashes if candidate.startswith(beginning)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise InputError(f"{len(matches)} hashes of `{origin}` begin with `{beginning}`", hint="write more of it")
    hint = f"known: {', '.join(hashes)}" if hashes else None
    raise InputError(f"the ledger of `{origin}` has no schema with the hash `{beginning}`", hint=hint)
