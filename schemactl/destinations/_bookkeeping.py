"""The tables in which a dataset keeps its loads: dlt's ``_dlt_version`` and ``_dlt_loads``, and our own of files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
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


def rows_of_load(
    package: LoadPackage, kept: Bookkeeping, is_known: Callable[[Schema], bool]
) -> Iterator[tuple[Table, list[tuple[Any, ...]]]]:
    """Yield what a load writes down: tables with new rows in the order of their columns; what completes it comes last.

    Args:
        package: the load.
        kept: the tables.
        is_known: whether a schema is written down already.
    """
    schema, at = package.schema, package.inserted_at
    if not is_known(schema):
        yield kept.versions, [version_row(schema, at)]
    if package.inputs:
        files = [(package.load_id, schema.name, each.path, each.bytes, each.modified) for each in package.inputs]
        yield kept.inputs, files
    yield kept.loads, [(package.load_id, schema.name, LOADED, at, schema.version_hash)]


def past_loads(schema_name: str, loads: Mapping[str, Any], inputs: Iterable[Mapping[str, Any]]) -> PastLoads:
    """Return the complete loads of a schema, and of each file that they loaded what the last of them found.

    Args:
        schema_name: the schema's.
        loads: what orders its complete loads, by their ids.
        inputs: rows of ``INPUTS``, of any loads.
    """
    ours = [row for row in inputs if row["schema_name"] == schema_name and row["load_id"] in loads]
    ours.sort(key=lambda row: loads[row["load_id"]])
    files = {row["path"]: LoadedInput(row["path"], row["bytes"], row["modified"]) for row in ours}
    return PastLoads(frozenset(loads), files)


def write_bookkeeping(session: Session, dataset: str, kept: Bookkeeping, package: LoadPackage) -> None:
    """Write the rows that complete a load; the schema only where a schema of this hash is not there yet."""
    versions = qualify(dataset, kept.versions.name)
    hash_column = tuple(kept.versions.columns)[4]

    def is_known(schema: Schema) -> bool:
        same = f"{quote(hash_column)} = {literal(schema.version_hash)}"
        return bool(session.query(f"SELECT 1 FROM {versions} WHERE {same} LIMIT 1"))

    for table, rows in rows_of_load(package, kept, is_known):
        session.insert(qualify(dataset, table.name), tuple(table.columns), rows)


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
