"""``schemactl rejects``: read the rejects of a destination, export their records, discard and prune them."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemactl.destinations import Readable, is_readable
from schemactl.errors import InputError
from schemactl.flows.references import find_schema
from schemactl.flows.target import LoadTarget, Target, loadable
from schemactl.normalization.package import LoadPackage, StagedTable
from schemactl.normalization.rejects import (
    ChangeReport,
    Reject,
    RejectedRecord,
    RejectedRecords,
    RejectFilter,
    RejectsReport,
    summarize,
)
from schemactl.normalization.tally import REJECTS_TABLE, STORED_REJECTS_COLUMNS, RejectState, reject_id
from schemactl.progress import no_progress
from schemactl.schema.naming import naming_of
from schemactl.schema.types import Schema, Table
from schemactl.store.folder import SchemasFolder, SchemasPlace

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, slots=True)
class RejectStore:
    """The table of rejects of a schema in a destination."""

    schema: Schema
    target: LoadTarget
    destination: Readable

    @property
    def table(self) -> Table:
        """The table, which only loads that change rejects replace."""
        return rejects_table(self.schema, "replace")

    def read(self) -> Iterator[Reject]:
        """Yield all rejects; nothing if the destination does not have the table yet."""
        rows = self.destination.read_table(self.target.url, self.schema.name, self.table)
        for batch in rows:
            yield from (Reject.of(row) for row in with_record_columns(batch.to_pylist(), self.schema))


def rejects_table(schema: Schema, disposition: str) -> Table:
    """Return the rejects table of a schema, with all of its columns."""
    name = naming_of(schema).normalize_table_identifier(REJECTS_TABLE)
    if name in schema.tables:
        hint = "keep rejects as files: `--rejects DIR`"
        raise InputError(f"the schema has a table `{name}`, so rejects cannot be kept in one", hint=hint)
    return Table(name, {column.name: column for column in STORED_REJECTS_COLUMNS}, {"write_disposition": disposition})


def with_record_columns(rows: list[dict[str, Any]], schema: Schema) -> list[dict[str, Any]]:
    """Return rows of ``_rejects`` with the columns of their records, which earlier versions did not write.

    In such old rows, the row of a root table is the record.
    """
    for row in rows:
        if row["state"] is None:
            row["state"] = str(RejectState.WAITING)
        if row["record_id"] is not None:
            continue
        row["record_id"] = reject_id(row["load_id"], row["file"], row["line"])
        table = schema.tables.get(row["table_name"])
        is_root = table.parent is None if table is not None else "[" not in (row["path"] or "")
        if is_root:
            row |= {"root_table": row["table_name"], "root_key": row["row_key"], "record": row["row"]}
        else:
            name = row["table_name"]
            while table is not None and table.parent is not None:
                name, table = table.parent, schema.tables.get(table.parent)
            # The schema lacks a table that a contract refuses.
            row["root_table"] = name if table is not None else name.partition(naming_of(schema).path_separator)[0]
    return rows


def open_store(name: str, to: str, schemas: SchemasPlace) -> RejectStore:
    """Return the rejects of a schema of the folder in a destination."""
    schema = find_schema(name, SchemasFolder.at(schemas)).schema
    target = loadable(to)
    if not is_readable(target.destination):
        hint = "query the table `_rejects` there"
        raise InputError(f"`schemactl rejects` cannot read `{target.kind}` destinations", hint=hint)
    return RejectStore(schema, target, target.destination)


def count_waiting(target: Target, schema: Schema) -> int:
    """Return the number of waiting records in a destination; 0 if rejects cannot be read."""
    if not is_readable(target.destination):
        return 0
    store = RejectStore(schema, LoadTarget(target.kind, target.destination, target.url), target.destination)
    return len(selected_ids(store, RejectFilter()))


# --- what there is ---


def list_rejects(store: RejectStore, selection: RejectFilter) -> RejectsReport:
    """Return the selected rejects by reason."""
    return RejectsReport(store.schema.name, store.target.shown, store.schema, summarize(store.read(), selection))


def show_rejects(store: RejectStore, selection: RejectFilter, limit: int) -> RejectedRecords:
    """Return the first selected records, by load, file and line."""
    rejects_by_record: dict[str, list[Reject]] = {}
    places: dict[str, tuple[str, str, int]] = {}
    for reject in store.read():
        if selection.selects(reject):
            places[reject.record_id] = (reject.load_id, reject.file, reject.line)
    chosen = sorted(places, key=places.__getitem__)[:limit]
    texts: dict[str, str] = {}
    chosen_ids = set(chosen)
    for reject in store.read() if chosen else ():
        if reject.record_id in chosen_ids:
            if reject.record is not None:
                texts[reject.record_id] = reject.record
            if selection.selects(reject):
                rejects_by_record.setdefault(reject.record_id, []).append(reject)
    records = (
        RejectedRecord(tuple(rejects_by_record[record_id]), texts.get(record_id))
        for record_id in chosen
        if record_id in rejects_by_record
    )
    return RejectedRecords(store.schema.name, store.target.shown, store.schema, tuple(records), len(places))


def selected_ids(store: RejectStore, selection: RejectFilter) -> set[str]:
    """Return the ids of the records that have a selected reject."""
    return {reject.record_id for reject in store.read() if selection.selects(reject)}


def export_rejects(store: RejectStore, selection: RejectFilter, write: Callable[[str], object]) -> tuple[int, int]:
    """Write the selected records, unmasked, as JSON lines with ``id`` and ``record``.

    Returns:
        The number of written records, and the number of selected records that were not stored.
    """
    record_ids = selected_ids(store, selection)
    written: set[str] = set()
    for reject in store.read() if record_ids else ():
        if reject.record is None or reject.record_id not in record_ids or reject.record_id in written:
            continue
        written.add(reject.record_id)
        write(f'{{"id":{json.dumps(reject.record_id)},"record":{reject.record}}}\n')
    return len(written), len(record_ids - written)


# --- changes ---


@dataclass(frozen=True, slots=True)
class ChangedRejects:
    """A change of the stored rejects; see ``RejectsEdit``.

    Attributes:
        folder: an existing folder for the new rows.
        record_ids: the records whose rejects change.
        change: returns the new row of a reject of these records, or None to delete it.
        added: new rejects.
        check: receives the number of waiting rejects by record; raises to stop the load.
    """

    schema: Schema
    folder: Path
    record_ids: frozenset[str]
    change: Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
    added: tuple[Reject, ...] = ()
    check: Callable[[Mapping[str, int]], None] = lambda _: None

    @property
    def table(self) -> Table:
        return rejects_table(self.schema, "replace")

    def apply(self, stored_rows: Iterator[pyarrow.RecordBatch]) -> StagedTable:
        import pyarrow
        from pyarrow import parquet

        from schemactl.kernel.reject_records import STORED_SCHEMA

        waiting: dict[str, int] = {}
        count = 0
        with parquet.ParquetWriter(self.folder / "part-00000.parquet", STORED_SCHEMA) as writer:
            for batch in stored_rows:
                rows = []
                for row in with_record_columns(batch.to_pylist(), self.schema):
                    if row["record_id"] not in self.record_ids:
                        rows.append(row)
                        continue
                    if row["state"] == RejectState.WAITING:
                        waiting[row["record_id"]] = waiting.get(row["record_id"], 0) + 1
                    changed = self.change(row)
                    if changed is not None:
                        rows.append(dict(changed))
                writer.write_batch(pyarrow.RecordBatch.from_pylist(rows, schema=STORED_SCHEMA))
                count += len(rows)
            rows = [reject.to_row() for reject in self.added]
            writer.write_batch(pyarrow.RecordBatch.from_pylist(rows, schema=STORED_SCHEMA))
            count += len(rows)
        self.check(waiting)
        return StagedTable(self.table, self.folder, count)


def discard_rejects(
    store: RejectStore, selection: RejectFilter, because: str, agree: Callable[[ChangeReport], bool]
) -> ChangeReport:
    """Mark the waiting rejects of the selected records as discarded, with a reason, if the user agrees."""

    def discard(row: Mapping[str, Any]) -> Mapping[str, Any]:
        if row["state"] != RejectState.WAITING:
            return row
        return {**row, "state": str(RejectState.DISCARDED), "discarded_because": because}

    return _change(store, replace(selection, states=frozenset((RejectState.WAITING,))), discard, agree)


def prune_rejects(store: RejectStore, selection: RejectFilter, agree: Callable[[ChangeReport], bool]) -> ChangeReport:
    """Delete the selected rejects of records whose rejects are all selected."""
    return _change(store, selection, None, agree)


def _change(
    store: RejectStore,
    selection: RejectFilter,
    change: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None,
    agree: Callable[[ChangeReport], bool],
) -> ChangeReport:
    """Change all rejects of the selected records; if ``change`` is None, delete records with all rejects selected."""
    waiting: set[str] = set()
    counts: dict[str, int] = {}
    unselected: set[str] = set()
    for reject in store.read():
        if selection.selects(reject):
            counts[reject.record_id] = counts.get(reject.record_id, 0) + 1
            if reject.state is RejectState.WAITING:
                waiting.add(reject.record_id)
        elif change is None:
            unselected.add(reject.record_id)
    record_ids = counts.keys() - unselected
    report = ChangeReport(
        name=store.schema.name,
        destination=store.target.shown,
        records=len(record_ids),
        rejects=sum(counts[record_id] for record_id in record_ids),
        waiting=len(waiting - unselected),
        is_done=True,
    )
    if not record_ids:
        return report
    if not agree(report):
        return replace(report, is_done=False)

    def delete(row: Mapping[str, Any]) -> Mapping[str, Any] | None:  # rejects that a replay has changed since stay
        return None if selection.selects(Reject.of(row)) else row

    with tempfile.TemporaryDirectory(prefix="schemactl-") as folder:
        edit = ChangedRejects(store.schema, Path(folder), frozenset(record_ids), change or delete)
        load_rejects(store, edit)
    return report


def load_rejects(store: RejectStore, edit: ChangedRejects) -> None:
    """Change the rejects by a load without other rows."""
    package = LoadPackage(str(time.time()), store.schema, (), datetime.now(UTC), rejects_edit=edit)
    store.destination.load(store.target.url, package, no_progress)
