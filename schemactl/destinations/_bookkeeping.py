"""The tables in which a dataset keeps its loads: dlt's ``_dlt_version`` and ``_dlt_loads``, and our own of files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from schemactl.destinations._package import INPUTS_TABLE, LoadedInput, LoadPackage, PastLoads
from schemactl.destinations._session import Relation, Session, literal, qualify, quote
from schemactl.schema.settings import DEFAULT_NAMING
from schemactl.schema.templates import LOADS_TABLE, VERSION_TABLE, new_schema
from schemactl.schema.types import Column, Schema, Table

LOADED: Final = 0
"""The status of a load that is complete."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

INPUTS: Final = Table(
    INPUTS_TABLE,
    {
        name: Column(name, {"data_type": kind, "nullable": False})
        for name, kind in (
            ("load_id", "text"),
            ("schema_name", "text"),
            ("path", "text"),
            ("bytes", "bigint"),
            ("modified", "timestamp"),
        )
    },
)


@dataclass(frozen=True, slots=True)
class Bookkeeping:
    """The tables under the names that a schema's naming convention gives them."""

    versions: Table
    loads: Table
    inputs: Table = INPUTS

    @property
    def tables(self) -> tuple[Table, ...]:
        return (self.versions, self.loads, self.inputs)


def bookkeeping_of(schema: Schema) -> Bookkeeping:
    """Return the tables that a dataset of this schema needs."""
    made = new_schema("any", schema.normalizers.get("names") or DEFAULT_NAMING)
    versions, loads = made.tables.values()
    return Bookkeeping(versions, loads)


def write_bookkeeping(session: Session, dataset: str, kept: Bookkeeping, package: LoadPackage) -> None:
    """Write the rows that complete a load; the schema only where a schema of this hash is not there yet."""
    schema = package.schema
    at = package.inserted_at
    versions = qualify(dataset, kept.versions.name)
    hash_column = tuple(kept.versions.columns)[4]
    seen = f"SELECT 1 FROM {versions} WHERE {quote(hash_column)} = {literal(schema.version_hash)} LIMIT 1"
    if not session.query(seen):
        session.insert(versions, tuple(kept.versions.columns), [version_row(schema, at)])
    if package.inputs:
        rows = [(package.load_id, schema.name, each.path, each.bytes, each.modified) for each in package.inputs]
        session.insert(qualify(dataset, INPUTS_TABLE), tuple(kept.inputs.columns), rows)
    load = (package.load_id, schema.name, LOADED, at, schema.version_hash)
    session.insert(qualify(dataset, kept.loads.name), tuple(kept.loads.columns), [load])


def version_row(schema: Schema, at: datetime) -> tuple[Any, ...]:
    """Return the line that dlt writes for a schema, in the order of its columns."""
    import orjson

    stored = orjson.dumps(schema.to_dict()).decode()
    return (schema.version, schema.engine_version, at, schema.name, schema.version_hash, stored)


def read_loads(session: Session, dataset: str, schema_name: str) -> PastLoads:
    """Return the completed loads of one schema, whatever the naming convention made of the tables' names."""
    relations = session.relations(dataset)
    loads = _find(relations.values(), LOADS_TABLE)
    if loads is None:
        return PastLoads()
    load_id, status = (_name(loads, name) for name in ("load_id", "status"))
    of_schema = _name(loads, "schema_name")
    if load_id is None or status is None or of_schema is None:
        return PastLoads()  # of an engine before 5: nothing says which schema was loaded
    table = qualify(dataset, loads.name)
    condition = f"{quote(of_schema)} = {literal(schema_name)}"
    found = session.query(f"SELECT {quote(load_id)} FROM {table} WHERE {condition} AND {quote(status)} = {LOADED}")
    done = frozenset(row[0] for row in found)
    inputs = _find(relations.values(), INPUTS_TABLE)
    if inputs is None:
        return PastLoads(done)
    order = _name(loads, "inserted_at")
    files = session.query(
        f"SELECT i.path, i.bytes, {session.seconds_of('i.modified')}, i.load_id FROM "
        f"{qualify(dataset, inputs.name)} i JOIN {table} l ON l.{quote(load_id)} = i.load_id "
        f"AND l.{quote(of_schema)} = i.schema_name "
        f"WHERE i.schema_name = {literal(schema_name)} ORDER BY l.{quote(order or load_id)}, i.load_id"
    )
    return PastLoads(
        done, {path: LoadedInput(path, size, _moment(at)) for path, size, at, load in files if load in done}
    )


def _moment(seconds: Any) -> datetime:
    # As a number, because DuckDB hands out timestamps with a time zone only where pytz is installed.
    return _EPOCH + timedelta(microseconds=round(float(seconds) * 1_000_000))


def find_dataset(session: Session, asked: str | None, schema_name: str) -> list[str]:
    """Return the datasets that a load of this schema may mean: the one asked for, else all that dlt loaded with it.

    dlt's staging copies do not count. Nothing is returned where there is none yet.
    """
    known = session.datasets()
    if asked is not None:
        return [name for name in known if name == asked]
    main = [name for name in known if not (name.endswith("_staging") and name.removesuffix("_staging") in known)]
    return [name for name in main if _holds(session, name, schema_name)]


def _holds(session: Session, dataset: str, schema_name: str) -> bool:
    versions = _find(session.relations(dataset).values(), VERSION_TABLE)
    column = _name(versions, "schema_name") if versions else None
    if versions is None or column is None:
        return False
    condition = f"{quote(column)} = {literal(schema_name)}"
    return bool(session.query(f"SELECT 1 FROM {qualify(dataset, versions.name)} WHERE {condition} LIMIT 1"))


def _find(relations: Iterable[Relation], name: str) -> Relation | None:
    return next((each for each in relations if each.name.lower() == name and each.is_table), None)


def _name(relation: Relation, column: str) -> str | None:
    return next((name for name in relation.columns if name.lower() == column), None)
