"""Files of other formats become a named schema: its next version, under its own contract."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from schemactl.errors import InputError
from schemactl.flows import import_
from schemactl.flows.import_ import Imported, ImportRequest, import_files, read_source
from schemactl.flows.schemas import open_schemas
from schemactl.formats import dlt
from schemactl.registry import Registry
from schemactl.schema.arrow_hint import NESTED_TYPE, decode, encode
from schemactl.schema.changes import ColumnAdded, ColumnRetyped
from schemactl.schema.hash import bump, version_hash
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table
from schemactl.store.folder import SchemasFolder


def with_table(name: str, **columns: str) -> Schema:
    table = Table(name, {key: Column(key, {"data_type": value}) for key, value in columns.items()})
    return bump(new_schema("elsewhere").with_table(replace(table, properties={"write_disposition": "append"})))


def file_of(folder: Path, schema: Schema, name: str = "elsewhere.schema.yaml") -> Path:
    path = folder / name
    path.write_text(dlt.write(schema, str(path)))
    return path


def import_into_shop(folder: Path, *files: Path, source: str | None = None, is_check: bool = False) -> Imported:
    return import_files(ImportRequest(files, source, "shop", folder / "schemas", is_check))


def stored(folder: Path) -> Schema | None:
    return open_schemas(SchemasFolder.at(folder / "schemas"), "shop").schema


def test_the_first_import_makes_both_files(tmp_path: Path):
    imported = import_into_shop(tmp_path, file_of(tmp_path, with_table("orders", id="bigint")))
    assert imported.before is None
    assert len(imported.written) == 2
    schema = stored(tmp_path)
    assert schema is not None
    assert (schema.name, *schema.tables["orders"].columns) == ("shop", "id")
    assert schema.version_hash == imported.after.version_hash == version_hash(schema)


def test_a_later_import_is_the_next_version(tmp_path: Path):
    first = import_into_shop(tmp_path, file_of(tmp_path, with_table("orders", id="bigint"))).after
    second = import_into_shop(tmp_path, file_of(tmp_path, with_table("orders", id="text", note="text")))
    assert [type(change) for change in second.changes] == [ColumnAdded, ColumnRetyped]
    assert second.after.version == first.version + 1
    assert second.after.previous_hashes[0] == first.version_hash
    assert stored(tmp_path) == second.after


def test_the_same_content_again_writes_nothing(tmp_path: Path):
    file = file_of(tmp_path, with_table("orders", id="bigint"))
    import_into_shop(tmp_path, file)
    again = import_into_shop(tmp_path, file)
    assert (again.changes, again.written, again.changes_schema) == ((), (), False)


def test_a_check_writes_nothing(tmp_path: Path):
    imported = import_into_shop(tmp_path, file_of(tmp_path, with_table("orders", id="bigint")), is_check=True)
    assert imported.changes_schema
    assert not (tmp_path / "schemas").exists()


def test_a_file_that_states_defaults_is_imported_into_a_frozen_schema_that_leaves_them_out(tmp_path: Path):
    frozen = replace(with_table("orders", id="bigint", at="timestamp"), settings={"schema_contract": "freeze"})
    import_into_shop(tmp_path, file_of(tmp_path, bump(frozen)))
    sql = tmp_path / "orders.sql"
    sql.write_text("CREATE TABLE orders (id BIGINT, at TIMESTAMP WITH TIME ZONE)")
    assert import_into_shop(tmp_path, sql, is_check=True).violations == ()
    sql.write_text("CREATE TABLE orders (id BIGINT NOT NULL, at TIMESTAMP WITH TIME ZONE)")
    assert [each.found for each in import_into_shop(tmp_path, sql, is_check=True).violations] == ["nullable: false"]


def test_a_frozen_schema_is_left_as_it_is(tmp_path: Path):
    frozen = replace(with_table("orders", id="bigint"), settings={"schema_contract": {"columns": "freeze"}})
    before = import_into_shop(tmp_path, file_of(tmp_path, bump(frozen))).after
    wider = replace(with_table("orders", id="bigint", note="text"), settings=frozen.settings)
    imported = import_into_shop(tmp_path, file_of(tmp_path, wider))
    assert [violation.column for violation in imported.violations] == ["note"]
    assert imported.written == ()
    assert stored(tmp_path) == before


def test_each_of_several_files_brings_its_tables(tmp_path: Path):
    orders = file_of(tmp_path, with_table("orders", id="bigint"), "a.schema.yaml")
    stock = file_of(tmp_path, with_table("stock", sku="text"), "b.schema.json")
    schema = import_into_shop(tmp_path, orders, stock).after
    assert {"orders", "stock"} <= schema.tables.keys()


def test_two_files_must_agree_on_a_table(tmp_path: Path):
    one = file_of(tmp_path, with_table("orders", id="bigint"), "a.schema.yaml")
    other = file_of(tmp_path, with_table("orders", id="text"), "b.schema.yaml")
    with pytest.raises(InputError, match=r"a.schema.yaml` and `.*b.schema.yaml` contain different tables `orders`"):
        import_into_shop(tmp_path, one, other)


def test_the_format_can_be_reported_where_the_name_does_not(tmp_path: Path):
    file = file_of(tmp_path, with_table("orders", id="bigint"), "orders.txt")
    with pytest.raises(InputError, match="does not show its format"):
        import_into_shop(tmp_path, file)
    assert import_into_shop(tmp_path, file, source="dlt").changes_schema


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("bad.arc.json", '[{"name": "id", "type": "integer"', "the bracket that opens here is not closed"),
        ("no.arc.json", '{"type": "object", "properties": {}}', "this is not an Arc schema"),
        ("e.bigquery.json", "{}", "this is not a BigQuery table schema"),
        ("wrong.jsonschema.json", '{"type": "objekt"}', "this JSON Schema describes no object"),
        ("broken.schema.yaml", "name: [", "this is not YAML"),
        ("broken.odcs.yaml", "models: []", "this is not an ODCS 3 data contract"),
    ],
)
def test_the_ending_of_a_name_decides_whose_error_is_shown(tmp_path: Path, name: str, text: str, message: str):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as caught:
        import_into_shop(tmp_path, tmp_path / name)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("orders.schema.json", '[{"name": "id", "type": "INT64"}]'),
        ("orders.schema.json", '{"type": "object", "properties": {"id": {"type": "integer"}}}'),
        ("orders.schema.yml", "models: [{name: orders}]"),
    ],
)
def test_an_ending_that_several_formats_use_leaves_it_to_the_text(tmp_path: Path, name: str, text: str):
    (tmp_path / name).write_text(text)
    assert "orders" in import_into_shop(tmp_path, tmp_path / name).after.tables


MODELS = """\
from schemactl.formats import dlt

ENDINGS = (".yaml", ".models")


def recognises(text):
    return text.startswith("entities:")


def read(text, path):
    return dlt.read(text.removeprefix("entities:\\n"), path)


def write(schema, path=None):
    return "entities:\\n" + dlt.write(schema)
"""

SHEET = """\
ENDINGS = (".yaml", ".sheet")


def write(schema, path=None):
    return schema.name
"""


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with a format of dlt's endings, and with one that is only written, is installed."""
    (tmp_path / "import_acme").mkdir()
    (tmp_path / "import_acme" / "models.py").write_text(MODELS)
    (tmp_path / "import_acme" / "sheet.py").write_text(SHEET)
    info = tmp_path / "import_acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: import-acme\nVersion: 1.0\n")
    points = "[schemactl.format]\nmodels = import_acme.models\nsheet = import_acme.sheet\n"
    (info / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(tmp_path)
    # The one of the process has looked for packages before.
    monkeypatch.setattr(import_, "FORMATS", Registry("format", "schemactl.formats"))


def models_file(folder: Path, start: str) -> Path:
    path = folder / "orders.yaml"
    path.write_text(start + dlt.write(with_table("orders", id="bigint")))
    return path


@pytest.mark.usefixtures("models")
def test_of_two_formats_with_one_ending_the_text_reports_which_it_is(tmp_path: Path):
    assert "orders" in import_into_shop(tmp_path, models_file(tmp_path, "# by hand\n")).after.tables
    with pytest.raises(InputError, match="matches several formats") as caught:
        import_into_shop(tmp_path, models_file(tmp_path, "entities:\n"))  # dlt's key is in there, too
    assert caught.value.hint == "name it with `--from dlt` or `--from models`"
    file = models_file(tmp_path, "entities:\n")
    assert "orders" in import_into_shop(tmp_path, file, source="models").after.tables


@pytest.mark.usefixtures("models")
def test_a_format_that_is_only_written_is_not_read(tmp_path: Path):
    (tmp_path / "a.sheet").write_text("shop")
    with pytest.raises(InputError, match="files of the format `sheet` are only written"):
        import_into_shop(tmp_path, tmp_path / "a.sheet", source="sheet")
    with pytest.raises(InputError, match="does not show its format"):
        import_into_shop(tmp_path, tmp_path / "a.sheet")


@pytest.mark.parametrize("name", ["a.schema.yaml", "a.schema.json"])
def test_dlt_recognises_what_it_writes(name: str):
    assert dlt.recognises(dlt.write(with_table("orders", id="bigint"), name))
    assert not dlt.recognises("models:\n- name: orders\n")


STATED = encode(pa.struct({"city": pa.string(), "zip": pa.int32()}))


def stating(nested_type: str) -> Schema:
    columns = {"buyer": Column("buyer", {"data_type": "json", "nullable": True, NESTED_TYPE: nested_type})}
    table = Table("orders", columns, {"write_disposition": "append", "resource": "orders"})
    return bump(new_schema("elsewhere").with_table(table))


def test_an_import_keeps_the_text_of_a_nested_type_that_is_the_same(tmp_path: Path):
    import_into_shop(tmp_path, file_of(tmp_path, stating(STATED)))
    path = tmp_path / "orders.ddl"
    path.write_text("buyer STRUCT<city: STRING, zip: INT>\n")
    imported = import_into_shop(tmp_path, path, source="sparkddl")
    assert imported.changes == ()
    path.write_text("buyer STRUCT<city: STRING, zip: BIGINT>\n")
    imported = import_into_shop(tmp_path, path, source="sparkddl")
    stated = imported.after.tables["orders"].columns["buyer"].properties
    assert "x-spark-type" not in stated
    assert decode(stated[NESTED_TYPE]) == pa.struct({"city": pa.string(), "zip": pa.int64()})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.sql", "CREATE TABLE a (id int);"),
        ("a.schema.json", '{"type": "object", "properties": {"id": {"type": "integer"}}}'),
        ("a.proto", 'syntax = "proto3"; message A { int32 id = 1; }'),
        ("a.dbml", "Table a { id int }"),
        ("a.avsc", '{"type": "record", "name": "a", "fields": [{"name": "id", "type": "int"}]}'),
    ],
)
def test_a_byte_order_mark_is_no_part_of_a_text(tmp_path: Path, name: str, text: str):
    (tmp_path / name).write_text(f"\ufeff{text}", encoding="utf-8")
    ((_, document),) = read_source(tmp_path / name, None, tmp_path)
    assert "id" in document.schema.tables["a"].columns
