"""``schemactl rejects replay``: load the records of rejects by the current schema, each once.

The records are written to files, which are loaded like any data; a record keeps the place that it first came from, so
its rows get the keys that they would have had (``RecordOrigin``). The load marks the rejects in its own commit, under
the lock of the dataset: a replay that is killed has done nothing, and of two at the same time the second reads again.
"""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import datetime
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemactl.engine.input import shown_path
from schemactl.errors import InputError, Location, RejectsChanged
from schemactl.flows.normalize import NormalizeRequest, Replay, normalize
from schemactl.flows.rejects import ChangedRejects, RejectStore
from schemactl.flows.request import InferRequest
from schemactl.inference.evidence import Position
from schemactl.inference.identifiers import SystemNames
from schemactl.normalization.package import Among, RejectsEdit
from schemactl.normalization.rejects import Reject, RejectFilter, ReplayReport, summarize
from schemactl.normalization.tally import RecordOrigin, RejectState
from schemactl.progress import Progress
from schemactl.schema.naming import naming_of
from schemactl.schema.types import Column, Table
from schemactl.store.temporary_folders import temporary_folder

if TYPE_CHECKING:
    from schemactl.engine.choice import OpenEngine
    from schemactl.engine.package import WrittenRejects

_MOST_ATTEMPTS: Final = 10
"""Replays at the same time that one waits for."""


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """The request of ``schemactl rejects replay``.

    Attributes:
        inference: how records are read, as in ``normalize``; without sources and tables.
        repaired: a file of ``rejects export`` with repaired records; only these are replayed. None to replay all.
        staging: as in ``NormalizeRequest``.
    """

    inference: InferRequest
    to: str
    selection: RejectFilter
    repaired: Path | None = None
    is_dry_run: bool = False
    staging: Path | None = None


@dataclass(slots=True)
class _Record:
    """A record to replay.

    Attributes:
        load_ids: the loads that its own row may have come with.
        is_loaded: whether that row was loaded.
        places: table, column and path of each of its rejects that waits.
    """

    origin: tuple[str, str]
    line: int
    root_table: str
    root_key: str | None
    inserted_at: datetime | None
    load_ids: set[str]
    is_loaded: bool = False
    text: str | None = None
    places: set[tuple[str, str | None, str | None]] = field(default_factory=set)


def replay_rejects(
    store: RejectStore,
    request: ReplayRequest,
    agree: Callable[[ReplayReport], bool],
    progress: Progress | None = None,
    open_engine: OpenEngine | None = None,
) -> ReplayReport:
    """Load the records of the selected waiting rejects, or with ``is_dry_run`` report the outcome of such a load.

    ``agree`` asks the user, once; it is not called for a dry run.

    Raises:
        RejectsChanged: other processes keep changing the rejects.
    """
    repaired = None if request.repaired is None else read_repaired(request.repaired)
    is_agreed = request.is_dry_run
    for _ in range(_MOST_ATTEMPTS):
        with temporary_folder("replay") as folder:
            records, report = _find_records(store, request.selection, repaired)
            if not records:
                return report
            if not is_agreed and not agree(report):
                return replace(report, is_done=False)
            is_agreed = True
            try:
                return _Attempt(store, request, folder, records, report).run(progress, open_engine)
            except RejectsChanged:
                continue
    raise RejectsChanged(
        f"other commands change the rejects of `{store.target.shown}` all the time", hint="run the command again"
    )


def read_repaired(file: Path) -> dict[str, str]:
    """Return the records of a file of ``rejects export``, as JSON by their ids."""
    hint = 'each line is like `{"id": "4f1c...", "record": {...}}`, as `schemactl rejects export` writes it'
    try:
        lines = file.read_bytes().decode("utf-8-sig").split("\n")  # texts may hold other breaks of lines
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read `{file}`: {error}", hint=hint) from error
    records: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        location = Location(str(file), number)
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"the line is not JSON: {error}", at=location, hint=hint) from error
        if not isinstance(entry, dict) or not isinstance(entry.get("id"), str) or "record" not in entry:
            raise InputError("the line has no `id` and `record`", at=location, hint=hint)
        if entry["id"] in records:
            raise InputError(f"the id `{entry['id']}` is repeated", at=location, hint="keep one line of each record")
        records[entry["id"]] = json.dumps(entry["record"], ensure_ascii=False)
    return records


def _find_records(
    store: RejectStore, selection: RejectFilter, repaired: Mapping[str, str] | None
) -> tuple[dict[str, _Record], ReplayReport]:
    """Return the records to replay, by their ids, and the report of records that cannot be replayed."""
    selected: set[str] = set()
    stored_ids: set[str] = set()
    for reject in store.read():
        stored_ids.add(reject.record_id)
        if (repaired is None or reject.record_id in repaired) and selection.selects(reject):
            selected.add(reject.record_id)
    unknown = sorted((repaired or {}).keys() - stored_ids)
    if unknown:
        message = f"`{store.target.shown}` has no reject with the id `{unknown[0]}`"
        more = f", nor with {len(unknown) - 1:,} other ids of the file" if len(unknown) > 1 else ""
        raise InputError(message + more, hint="`schemactl rejects export` writes the ids of what waits")
    records: dict[str, _Record] = {}
    for reject in store.read() if selected else ():
        if reject.record_id not in selected:
            continue
        record = records.get(reject.record_id)
        if record is None:
            record = records[reject.record_id] = _Record(
                (reject.load_id, reject.file), reject.line, reject.root_table, reject.root_key, reject.inserted_at,
                {reject.load_id},
            )  # fmt: skip
        record.load_ids |= {reject.replayed_in} if reject.replayed_in else set()
        record.is_loaded |= reject.is_of_loaded_row or reject.state is RejectState.REPLAYED
        record.root_key = record.root_key or reject.root_key
        if reject.state is RejectState.WAITING:
            record.places.add((reject.table, reject.column, reject.path))
        record.text = record.text or reject.record
    if repaired is not None:
        for record_id, record in records.items():
            record.text = repaired[record_id]
    lost = [record_id for record_id, record in records.items() if record.text is None]
    orphans = _find_orphans(store, records)
    replayable_records = {
        record_id: record
        for record_id, record in records.items()
        if record.text is not None and record_id not in orphans
    }
    report = ReplayReport(
        name=store.schema.name,
        destination=store.target.shown,
        schema=store.schema,
        records=len(replayable_records),
        lost=len(lost),
        settled=len((repaired or {}).keys() - selected),
        orphans=tuple(
            sorted((records[record_id].origin[1], records[record_id].line, record_id) for record_id in orphans)
        ),
    )
    return replayable_records, report


def _find_orphans(store: RejectStore, records: Mapping[str, _Record]) -> set[str]:
    """Return the records that were loaded in part with a row that was deleted, or loaded again since."""
    names = SystemNames(naming_of(store.schema))
    keys_by_table: dict[str, dict[str, list[str]]] = {}
    for record_id, record in records.items():
        if record.is_loaded and record.root_key is not None:
            keys_by_table.setdefault(record.root_table, {}).setdefault(record.root_key, []).append(record_id)
    orphans: set[str] = set()
    for table_name, ids_by_key in keys_by_table.items():
        columns = {name: Column(name, {"data_type": "text"}) for name in (names.row_id, names.load_id)}
        table, among = Table(table_name, columns), Among(names.row_id, ids_by_key.keys())
        orphans |= {record_id for record_ids in ids_by_key.values() for record_id in record_ids}
        for batch in store.destination.read_table(store.target.url, store.schema.name, table, among):
            for row in batch.to_pylist():
                orphans -= {
                    record_id
                    for record_id in ids_by_key.get(row[names.row_id], ())
                    if row[names.load_id] in records[record_id].load_ids
                }
    return orphans


@dataclass(slots=True)
class _Attempt:
    """One load of some records.

    Attributes:
        folder: a folder for their files and the changed rejects.
        rejects_by_record: the rejects that the load makes.
        origins: the origins of the records, by the file that has them now.
    """

    store: RejectStore
    request: ReplayRequest
    folder: Path
    records: Mapping[str, _Record]
    report: ReplayReport
    rejects_by_record: dict[str, list[Reject]] = field(default_factory=dict)
    origins: dict[str, RecordOrigin] = field(default_factory=dict)
    load_id: str = field(default_factory=lambda: str(time.time()))

    def run(self, progress: Progress | None, open_engine: OpenEngine | None) -> ReplayReport:
        sources = self._write_sources()
        inference = replace(self.request.inference, rejects_frozen=True)
        is_dispatched = inference.dispatch is not None
        if not is_dispatched and any(not table for table, _ in sources):
            hint = "`--table-by FIELD` or `--model MODULE:CLASS` names the table of each record"
            raise InputError("some records are of no table", hint=hint)
        paths = tuple(str(path) for _, path in sources)
        pairs = tuple((table, str(path)) for table, path in sources)
        inference = replace(
            inference, sources=paths if is_dispatched else (), table_sources=() if is_dispatched else pairs, table=None
        )
        replay = Replay(self.origins, self._edit, self.request.is_dry_run)
        request = NormalizeRequest(
            inference, self.request.to, load_id=self.load_id, staging=self.request.staging, replay=replay
        )
        load = self._with_origins(normalize(request, progress, open_engine))
        if load.stops:
            return replace(self.report, stopped=load, is_done=False)
        return replace(
            self.report,
            load_id=None if self.request.is_dry_run else self.load_id,
            passed=len(self.records.keys() - self.rejects_by_record.keys()),
            partly=sum(map(self._is_partly_loaded, self.rejects_by_record)),
            remaining=summarize(chain.from_iterable(self.rejects_by_record.values()), RejectFilter()).groups,
        )

    def _is_partly_loaded(self, record_id: str) -> bool:
        """Return whether a record with rejects contains values that were not loaded before."""
        record, rejects = self.records[record_id], self.rejects_by_record[record_id]
        places = {(reject.table, reject.column, reject.path) for reject in rejects}
        return record_id not in self.unloaded and (not record.is_loaded or not record.places <= places)

    @property
    def unloaded(self) -> set[str]:
        """The records that the load rejects as a whole."""
        return {
            record_id
            for record_id, rejects in self.rejects_by_record.items()
            if not all(reject.is_of_loaded_row for reject in rejects)
        }

    def _write_sources(self) -> list[tuple[str, Path]]:
        """Write the records to files; return pairs of a table and a file."""
        groups: dict[tuple[str, str, str], list[_Record]] = {}
        for record in self.records.values():
            groups.setdefault((record.root_table, *record.origin), []).append(record)
        sources = []
        typing = self.request.inference.typing
        for number, ((table, load_id, file), records) in enumerate(sorted(groups.items())):
            records.sort(key=lambda record: record.line)
            texts = [record.text or "null" for record in records]
            path = self.folder / f"records-{number:05}.{'jsonl' if typing is None else 'csv'}"
            with path.open("w", encoding="utf-8", newline="") as stream:
                if typing is None:
                    stream.writelines(f"{text}\n" for text in texts)
                else:
                    _write_texts(stream, texts, [column.name for column in typing.task.typing.fields])
            # Of a file of texts the header is row 1.
            lines = tuple(record.line for record in records)
            origin = RecordOrigin(load_id, file, lines if typing is None else (0, *lines))
            self.origins |= {str(path): origin, shown_path(path.as_uri()): origin}
            sources.append((table, path))
        return sources

    def _edit(self, load_id: str, rejects: WrittenRejects | None) -> RejectsEdit:
        """Return the change of the stored rejects, given the rejects that the load creates."""
        from pyarrow import parquet

        self.rejects_by_record.clear()
        for file in sorted(rejects.folder.glob("*.parquet")) if rejects else ():
            for row in parquet.read_table(file).to_pylist():
                row["inserted_at"] = self.records[row["record_id"]].inserted_at or row["inserted_at"]
                self.rejects_by_record.setdefault(row["record_id"], []).append(Reject.of(row))
        unloaded = self.unloaded
        new_keys = {
            (reject.record_id, reject.table, reject.column, reject.path)
            for rejects_of_record in self.rejects_by_record.values()
            for reject in rejects_of_record
        }

        def change(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
            if row["state"] != RejectState.WAITING:
                return row
            reject_key = (row["record_id"], row["table_name"], row["column_name"], row["path"])
            if row["record_id"] in unloaded or reject_key in new_keys:
                return None
            return {**row, "state": str(RejectState.REPLAYED), "replayed_in": load_id}

        folder = self.folder / f"rejects-{len(list(self.folder.iterdir()))}"
        folder.mkdir()
        # A record that loads without its rejected values is new in this load.
        new_rejects = tuple(
            reject if reject.record_id in unloaded else replace(reject, replayed_in=load_id)
            for rejects_of_record in self.rejects_by_record.values()
            for reject in rejects_of_record
        )
        record_ids = frozenset(self.records)
        return ChangedRejects(self.store.schema, folder, record_ids, change, new_rejects, self._check_waiting)

    def _check_waiting(self, waiting: Mapping[str, int]) -> None:
        """Forbid the load if a record waits no longer: another command has replayed or discarded it."""
        if any(not waiting.get(record_id) for record_id in self.records):
            raise RejectsChanged(f"other commands have changed the rejects of `{self.store.target.shown}`")

    def _with_origins(self, value: Any) -> Any:
        """Return a report with positions in record files replaced by the positions that the records came from."""
        if isinstance(value, Position):
            origin = self.origins.get(value.file)
            return value if origin is None else Position(origin.file, origin.lines[value.number - 1])
        if is_dataclass(value) and not isinstance(value, type):
            changed = {
                item.name: self._with_origins(attrgetter(item.name)(value)) for item in fields(value) if item.init
            }
            return replace(value, **changed)
        return tuple(map(self._with_origins, value)) if isinstance(value, tuple) else value


def _write_texts(stream: Any, texts: Sequence[str], names: Sequence[str]) -> None:
    """Write records as CSV with a header: texts by the fields of a typing."""
    writer = csv.writer(stream)
    writer.writerow(names)
    for text in texts:
        record = json.loads(text)
        values = [record.get(name) if isinstance(record, dict) else None for name in names]
        writer.writerow(
            "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            for value in values
        )
