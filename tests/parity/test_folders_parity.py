"""Import and export folders as dlt has them: the same decisions, files of the same content (docs/dlt.md §3)."""

from __future__ import annotations

import logging
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import dlt
import pytest
from dlt.common.schema import Schema as DltSchema
from dlt.common.storages import SchemaStorage, SchemaStorageConfiguration
from dlt.common.storages.exceptions import SchemaNotFoundError
from hypothesis import given, settings
from hypothesis import strategies as st

from schemactl.errors import InputError
from schemactl.flows.infer import InferRequest, evolve_all
from schemactl.flows.root_tables import TableData
from schemactl.flows.schemas import open_schemas, save, without_processing_hints
from schemactl.formats.dlt import read
from schemactl.inference.evidence import Position, observe
from schemactl.schema.hash import bump, version_hash
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table
from schemactl.store.folder import SchemasFolder

NAME = "shop"
FILE = f"{NAME}.schema.yaml"


@pytest.fixture(autouse=True, scope="module")
def quiet():
    logging.getLogger("dlt").setLevel(logging.ERROR)


class Store(Protocol):
    root: Path

    def run(self, column: str) -> None:
        """Take up data of table `orders` that has this column."""


@dataclass
class TheirStore:
    """dlt's schema store, used in the order of a pipeline's steps."""

    root: Path

    def storage(self) -> SchemaStorage:
        (self.root / "import").mkdir(parents=True, exist_ok=True)
        configuration = SchemaStorageConfiguration(
            schema_volume_path=str(self.root / "store"),
            import_schema_path=str(self.root / "import"),
            export_schema_path=str(self.root / "export"),
        )
        return SchemaStorage(configuration, makedirs=True)

    def run(self, column: str) -> None:
        storage = self.storage()
        try:
            schema = storage.load_schema(NAME)
        except SchemaNotFoundError:
            schema = DltSchema(NAME)
        # Extract: the table without marks of data; the import file where there is none.
        columns = {column: {"name": column, "data_type": "text", "nullable": True}}
        table = {"name": "orders", "columns": columns, "write_disposition": "append", "resource": "orders"}
        if column not in schema.tables.get("orders", {}).get("columns", {}):
            schema.update_table(table)
        if storage.save_import_schema_if_not_exists(schema):
            storage.save_schema(schema, link_import_schema=False)
        # Normalize: the table is marked.
        schema.tables["orders"].setdefault("x-normalizer", {})["seen-data"] = True
        if schema.is_modified:
            storage.save_schema(schema, link_import_schema=False)


@dataclass
class OurStore:
    root: Path

    def run(self, column: str) -> None:
        folder = SchemasFolder.at(self.root)
        opened = open_schemas(folder, NAME)
        schema = opened.schema or new_schema(NAME)
        new = Table("orders", {}, {"write_disposition": "append", "resource": "orders"})
        table = schema.tables.get("orders", new)
        columns = dict(table.columns)
        columns.setdefault(column, Column(column, {"data_type": "text", "nullable": True}))
        properties = {**table.properties, "x-normalizer": {"seen-data": True}}
        save(folder, opened, schema.with_table(replace(table, columns=columns, properties=properties)))


def load(path: Path) -> Schema:
    schema: Schema = read(path.read_text(), str(path)).schema
    return schema


def state(root: Path) -> dict[str, Any]:
    """What counts of both files: hash of the content, hash, version and ancestry as stated."""
    found: dict[str, Any] = {}
    for place in ("import", "export"):
        path = root / place / FILE
        if path.exists():
            schema = load(path)
            found[place] = version_hash(schema), schema.version_hash, schema.version, schema.previous_hashes
    return found


def edit_import(root: Path, note: str) -> None:
    path = root / "import" / FILE
    if path.exists():
        lines = [line for line in path.read_text().splitlines(keepends=True) if "x-note" not in line]
        resource = "    resource: orders\n"
        assert resource in lines
        path.write_text("".join(lines).replace(resource, f"{resource}    x-note: note {note}\n"))


def forget(root: Path) -> None:
    """Lose the stored schema: dlt keeps it in a store of its own besides the export file."""
    shutil.rmtree(root / "store", ignore_errors=True)
    (root / "export" / FILE).unlink(missing_ok=True)


def take(step: str, store: Store) -> None:
    kind, _, value = step.partition(" ")
    match kind:
        case "run":
            store.run(value)
        case "edit":
            edit_import(store.root, value)
        case "forget":
            forget(store.root)


STEPS = st.sampled_from(["run a", "run b", "run c", "run d", "edit 1", "edit 2", "forget"])


@given(st.lists(STEPS, min_size=1, max_size=10))
@settings(max_examples=15)
def test_any_course_of_runs_edits_and_losses_leaves_the_files_that_dlt_leaves(steps):
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = TheirStore(Path(folder, "theirs")), OurStore(Path(folder, "ours"))
        for step in [*steps, "run a"]:
            for store in (theirs, ours):
                take(step, store)
            assert state(ours.root) == state(theirs.root), step


# whole pipelines: what we make of the files that they leave


class Pipeline:
    def __init__(self, root: Path, shared: bool = False) -> None:
        self.root = root
        self.imports = root / "import"
        self.exports = self.imports if shared else root / "export"
        self.folder = SchemasFolder(root, self.imports, self.exports)

    def open(self):
        # Each time anew, as a new process would.
        return dlt.pipeline(
            NAME,
            pipelines_dir=str(self.root / "working"),
            destination=dlt.destinations.duckdb(str(self.root / "data.duckdb")),
            import_schema_path=str(self.imports),
            export_schema_path=str(self.exports),
        )

    def run(self, *rows: dict[str, Any]) -> DltSchema:
        pipeline = self.open()
        pipeline.run(list(rows), table_name="orders")
        return pipeline.default_schema

    def load(self) -> DltSchema:
        """Load the stored schema as the next run does, the import file taken over where it was edited."""
        return self.open().default_schema


@pytest.fixture
def pipeline(tmp_path, monkeypatch) -> Pipeline:
    monkeypatch.chdir(tmp_path)
    return Pipeline(tmp_path)


def assert_same(ours: Schema | None, theirs: DltSchema) -> None:
    assert ours is not None
    assert (ours.version_hash, ours.version) == (theirs.version_hash, theirs.version)
    assert list(ours.previous_hashes) == theirs.previous_hashes
    assert ours.imported_version_hash == theirs._imported_version_hash


def test_files_that_a_pipeline_wrote_open_as_it_holds_them(pipeline):
    for rows in ([{"a": 1}], [{"a": 1}], [{"a": 2, "b": "x"}], [{"c": [1]}]):
        held = pipeline.run(*rows)
        opened = open_schemas(pipeline.folder, NAME)
        assert opened.import_adopted is None
        assert_same(opened.schema, held)


def test_an_edited_import_file_opens_as_a_pipeline_takes_it_over(pipeline):
    pipeline.run({"a": 1})
    pipeline.run({"a": 1, "b": "x"})
    edit_import(pipeline.root, "1")
    opened = open_schemas(pipeline.folder, NAME)
    assert opened.import_adopted is not None
    assert_same(opened.schema, pipeline.load())
    # dlt has exported the schema taken over: nothing is left to adopt.
    assert open_schemas(pipeline.folder, NAME).import_adopted is None
    held = pipeline.run({"a": 1, "b": "x"})
    assert_same(open_schemas(pipeline.folder, NAME).schema, held)


def test_an_import_file_alone_opens_as_a_pipeline_starts_from_it(pipeline):
    pipeline.run({"a": 1})
    shutil.rmtree(pipeline.root / "working")
    shutil.rmtree(pipeline.exports)
    edit_import(pipeline.root, "1")
    opened = open_schemas(pipeline.folder, NAME)
    storage = SchemaStorage(
        SchemaStorageConfiguration(
            schema_volume_path=str(pipeline.root / "new"), import_schema_path=str(pipeline.imports)
        ),
        makedirs=True,
    )
    assert_same(opened.schema, storage.load_schema(NAME))


def test_a_deleted_import_file_comes_back_as_a_pipeline_brings_it_back(pipeline):
    pipeline.run({"a": 1})
    pipeline.run({"a": 1, "b": "x"})
    twin = pipeline.root / "twin"
    shutil.copytree(pipeline.exports, twin / "export")
    (pipeline.imports / FILE).unlink()
    pipeline.run({"a": 1, "b": "x"})
    folder = SchemasFolder.at(twin)
    opened = open_schemas(folder, NAME)
    assert opened.schema is not None
    save(folder, opened, opened.schema)
    ours, theirs = state(twin), state(pipeline.root)
    assert ours["import"] == theirs["import"]
    assert ours["export"][2:] == theirs["export"][2:]
    # dlt forgets the marks of tables that this run brought no data for; we keep all that was known.
    assert ours["export"][1] == opened.schema.version_hash


def test_dlt_reads_the_files_that_we_write(tmp_path):
    ours = OurStore(tmp_path)
    for column in "abc":
        ours.run(column)
    for place in ("import", "export"):
        schema = load(tmp_path / place / FILE)
        theirs = SchemaStorage.load_schema_file(str(tmp_path / place), NAME, extensions=("yaml",))
        assert (theirs.version_hash, theirs.version) == (schema.version_hash, schema.version)
        assert theirs.previous_hashes == list(schema.previous_hashes)


def test_a_pipeline_starts_from_the_import_file_that_we_write(pipeline):
    OurStore(pipeline.root).run("note")
    imported = load(pipeline.imports / FILE)
    held = pipeline.run({"note": "x"})
    assert held._imported_version_hash == imported.version_hash
    assert imported.version_hash in held.previous_hashes
    assert next(iter(held.tables["orders"]["columns"])) == "note"
    assert open_schemas(pipeline.folder, NAME).import_adopted is None


def test_the_first_import_file_of_infer_holds_what_a_pipeline_s_holds(pipeline, tmp_path):
    pipeline.run({"id": 1, "tags": ["x"]})
    theirs = load(pipeline.imports / FILE)
    request = InferRequest(sources=("orders.jsonl",), name=NAME, table="orders", schemas=tmp_path / "ours")
    folder = SchemasFolder.at(tmp_path / "ours")
    evidence = observe([(Position("orders.jsonl", 1), {"id": 1, "tags": ["x"]})])
    evolve_all([TableData(request, evidence)], folder)
    ours = load(folder.imports / FILE)
    # Only a pipeline keeps a state.
    tables = {name: table for name, table in theirs.tables.items() if name != "_dlt_pipeline_state"}
    assert version_hash(ours) == version_hash(replace(theirs, tables=tables))


def test_processing_hints_are_left_out_as_dlt_leaves_them_out(pipeline):
    held = pipeline.run({"a": None, "b": [1]})
    stored = held.to_dict(remove_processing_hints=False)
    schema = open_schemas(pipeline.folder, NAME).schema
    assert schema is not None
    assert "x-normalizer" in stored["tables"]["orders"]
    reduced = DltSchema.from_dict(stored, remove_processing_hints=True)
    assert bump(without_processing_hints(schema)).version_hash == reduced.version_hash


def test_one_folder_for_both_opens_as_the_pipeline_holds_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pipeline = Pipeline(tmp_path, shared=True)
    pipeline.run({"a": 1})
    held = pipeline.run({"a": 1, "b": "x"})
    opened = open_schemas(pipeline.folder, NAME)
    assert opened.schema is not None
    assert opened.import_adopted is None
    reduced = DltSchema.from_dict(held.to_dict(), remove_processing_hints=True)
    assert opened.schema.version_hash == reduced.version_hash


def test_only_we_refuse_another_name_in_the_file(pipeline):
    # dlt goes on with a second schema and says nothing (docs/dlt.md §3, scenario 8).
    pipeline.run({"a": 1})
    path = pipeline.imports / FILE
    path.write_text(path.read_text().replace(f"name: {NAME}\n", "name: other\n"))
    with pytest.raises(InputError, match="is named `other`"):
        open_schemas(pipeline.folder, NAME)
