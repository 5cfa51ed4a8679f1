"""Loads the same documents into DuckDB by dlt and by ``schemactl normalize``, and reads back what has arrived."""

from __future__ import annotations

import copy
import json
import shutil
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime

import dlt
import duckdb
import pyarrow as pa
import yaml
from dlt.common.normalizers.json.helpers import get_nested_row_hash
from dlt.common.schema import Schema as DltSchema
from test_inference_parity import PLAIN, comparable

from schemactl.flows.infer import InferRequest
from schemactl.flows.normalize import NormalizeRequest, normalize
from schemactl.normalization.report import Outcome

DATASET = "made"
OUR_OWN = ("_rejects", "_schemactl_inputs")


@dataclass(frozen=True)
class Loaded:
    """What a database holds.

    Attributes:
        schema: as it was saved, made comparable.
        columns: by table, in their order: name, type, whether null may stand there.
        rows: by table.
        loads: ids, in the order of the loads.
        parents: by nested table.
    """

    schema: dict
    columns: dict
    rows: dict
    loads: list
    parents: dict = field(default_factory=dict)


# dlt


class ByDlt:
    """A pipeline of dlt that loads into a DuckDB file."""

    def __init__(self, folder, stored=PLAIN, table="data"):
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "dlt.duckdb"
        self._stored = stored
        self._table = table
        self._pipeline = dlt.pipeline(
            "parity",
            pipelines_dir=str(folder / "pipelines"),
            destination=dlt.destinations.duckdb(str(self.path)),
            dataset_name=DATASET,
            progress=None,
        )

    def load(self, documents, loader_file_format=None, **hints):
        self.load_tables({self._table: (documents, hints)}, loader_file_format)

    def load_tables(self, tables, loader_file_format=None):
        """Load documents and hints by table, all by one run: what a run takes is not its tables'."""
        schema = None if self._pipeline.schemas else DltSchema.from_dict(copy.deepcopy(self._stored))
        resources = [
            dlt.resource(
                [each if isinstance(each, pa.Table) else copy.deepcopy(each) for each in rows], name=name, **of
            )
            for name, (rows, of) in tables.items()
        ]
        self._pipeline.run(resources, schema=schema, loader_file_format=loader_file_format).raise_on_failed_jobs()

    @property
    def stored(self):
        schema = self._pipeline.default_schema.to_dict()
        return {**schema, "tables": {n: t for n, t in schema["tables"].items() if n != "_dlt_pipeline_state"}}

    def loaded(self):
        return read(self.path, DltSchema.from_dict(copy.deepcopy(self.stored)).to_dict())


# schemactl


class BySchemactl:
    """Loads by ``schemactl normalize`` into a DuckDB file, from a stored schema and perhaps a database of dlt."""

    def __init__(self, engine, folder, stored=PLAIN, table="data", database=None):
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "ours.duckdb"
        if database is not None:
            shutil.copy(database, self.path)
        self._engine, self._folder, self._table = engine, folder, table
        self._file = folder / "schemas" / "export" / f"{stored['name']}.schema.yaml"
        self._file.parent.mkdir(parents=True)
        self._file.write_text(DltSchema.from_dict(copy.deepcopy(stored)).to_pretty_yaml(), encoding="utf-8")

    def load(self, documents, **asked):
        source = self._folder / "data.jsonl"
        source.write_text("".join(json.dumps(each) + "\n" for each in documents), encoding="utf-8")
        return self.load_files([source], **asked)

    def load_tables(self, tables, **asked):
        """Load documents by table, all at once."""
        files = []
        for name, documents in tables.items():
            files.append(self._folder / f"{name}.jsonl")
            files[-1].write_text("".join(json.dumps(each) + "\n" for each in documents), encoding="utf-8")
        return self.load_files(files, table=None, table_per_file=True, **asked)

    def load_files(self, files, is_stopped=False, **asked):
        inference = InferRequest(
            sources=tuple(map(str, files)),
            name=self._file.name.partition(".")[0],
            schemas=self._folder / "schemas",
            **{"table": self._table, **asked},
        )
        request = NormalizeRequest(inference, f"duckdb:///{self.path}?dataset={DATASET}", staging=self._folder)
        report = normalize(request, None, lambda *_: nullcontext(self._engine))
        assert report.outcome is (Outcome.STOPPED if is_stopped else Outcome.LOADED), report
        for table in report.tables:
            assert table.read == table.loaded + table.superseded + table.rejected + table.rejected_with_parent, table
        return report

    @property
    def stored(self):
        return DltSchema.from_dict(yaml.safe_load(self._file.read_text(encoding="utf-8"))).to_dict()

    def loaded(self):
        return read(self.path, self.stored)

    def rejects(self, *columns):
        with duckdb.connect(str(self.path), read_only=True) as database:
            return sorted(database.execute(f"select {', '.join(columns)} from {DATASET}._rejects").fetchall())


# what has arrived


def read(path, stored):
    """Return what stands in a database of either; dlt's own tables and ours only by their loads."""
    with duckdb.connect(str(path), read_only=True) as database:
        database.execute("set TimeZone = 'UTC'")
        listed = database.execute(
            "select table_name, column_name, data_type, is_nullable from duckdb_columns() where schema_name = ? "
            "order by table_name, column_index",
            [DATASET],
        ).fetchall()
        columns = {}
        for table, *column in listed:
            if not table.startswith("_dlt") and table not in OUR_OWN:
                columns.setdefault(table, []).append(tuple(column))
        rows = {table: _rows(database, table, found) for table, found in columns.items()}
        loads = database.execute(f"select load_id from {DATASET}._dlt_loads order by inserted_at").fetchall()
    parents = {name: table["parent"] for name, table in stored["tables"].items() if table.get("parent")}
    return Loaded(comparable(stored), columns, rows, [load for (load,) in loads], parents)


def _rows(database, table, columns):
    names = [name for name, *_ in columns]
    found = database.execute(f'select * from {DATASET}."{table}"').fetchall()
    return [{name: _plain(value) for name, value in zip(names, row, strict=True) if value is not None} for row in found]


def _plain(value):
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value


def as_keyed_by(theirs, ours, key="_dlt_id"):
    """Return their rows with the load ids and the random keys of ours.

    Rows of root tables are paired by content; keys of rows nested in them follow by dlt's rule, not by pairing.
    """
    known = dict(zip(theirs.loads, ours.loads, strict=True))
    renamed = {}
    for table in sorted(theirs.rows, key=lambda name: _depth(theirs, name)):
        before = theirs.rows[table]
        if table in theirs.parents:
            # rows may be nested in rows of the same table: a blank key adds nothing to its name
            while not (found := _nested_keys(table, before, _with(before, known), key)).items() <= known.items():
                known |= found
        else:
            known |= _paired_keys(_with(before, known), ours.rows.get(table, []), key)
        renamed[table] = _with(before, known)
    return renamed


def _with(rows, known):
    return [
        {name: known.get(value, value) if isinstance(value, str) else value for name, value in row.items()}
        for row in rows
    ]


def _depth(loaded, table):
    return 1 + _depth(loaded, loaded.parents[table]) if table in loaded.parents else 0


def _nested_keys(table, before, after, key):
    """Return the keys that dlt's rule gives under the new keys of the rows above, by their old ones."""
    found = {}
    for old, new in zip(before, after, strict=True):
        if old.get("_dlt_parent_id") and "_dlt_list_idx" in old:
            assert old[key] == get_nested_row_hash(old["_dlt_parent_id"], table, old["_dlt_list_idx"])
            found[old[key]] = get_nested_row_hash(new["_dlt_parent_id"], table, new["_dlt_list_idx"])
    return found


def _paired_keys(rows, others, key):
    """Return the keys of rows by those of other rows of the same content; what the data brings is equal already."""
    equal = {row.get(key) for row in rows} & {row.get(key) for row in others}
    by_content = {}
    for row in others:
        if row.get(key) not in equal:
            by_content.setdefault(_content(row, key), []).append(row[key])
    pairs = ((row.get(key), by_content.get(_content(row, key))) for row in rows if row.get(key) not in equal)
    return {own: of_others.pop() for own, of_others in pairs if of_others}


def _content(row, key):
    return reported({name: value for name, value in row.items() if name != key})


def reported(row):
    """Return a row in a form that is equal for equal values of one type only."""
    return tuple(sorted((name, type(value).__name__, _shown(value)) for name, value in row.items()))


def _shown(value):
    return repr(sorted(value.items())) if isinstance(value, dict) else repr(value)


def assert_same(ours, theirs):
    """Compare schemas, tables of the database, and rows."""
    assert_equal("tables", reported(ours.schema["tables"]), reported(theirs.schema["tables"]))
    # our export file is linked to an import file, which the pipeline does not have
    apart = ("tables", "imported_version_hash")
    others = [{key: value for key, value in each.schema.items() if key not in apart} for each in (ours, theirs)]
    assert_equal("schema", *map(reported, others))
    assert_equal("columns", reported(ours.columns), reported(theirs.columns))
    assert_same_rows(ours, theirs)


def assert_same_rows(ours, theirs):
    renamed = as_keyed_by(theirs, ours)
    assert ours.rows.keys() == renamed.keys()
    for table, rows in renamed.items():
        assert_equal(table, map(reported, ours.rows[table]), map(reported, rows))


def assert_equal(what, ours, theirs):
    """Compare multisets, and say no more than what they differ in."""
    ours, theirs = Counter(ours), Counter(theirs)
    assert ours == theirs, f"{what}: ours\n{_only(ours, theirs)}\ntheirs\n{_only(theirs, ours)}"


def _only(these, those):
    left, right = list((these - those).elements()), set().union(*(those - these).elements())
    return "\n".join(str([part for part in parts if part not in right]) for parts in left)
