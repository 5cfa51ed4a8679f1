"""The public functions, and the examples of their page."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from schemactl import api
from schemactl.api import InputError, Severity, apply, build, edit, infer, plan, read, review, save

pytestmark = pytest.mark.usefixtures("work")

PAGE = Path(__file__).parents[2] / "docs" / "api.md"


def test_the_examples_of_the_page_run(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for example in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(compile(example, str(PAGE), "exec"), names)
    out = capsys.readouterr().out
    assert "orders schemas/import/shop.schema.yaml schemas/export/shop.schema.yaml" in out
    assert "['note'] False" in out
    assert "schemas/import/crm.schema.yaml schemas/export/crm.schema.yaml" in out
    assert "ColumnAdded(table='orders'" in out
    assert "['note'] ()" in out
    assert "D302 warn `orders.total` changes from" in out
    assert "CREATE TABLE" in out
    assert "\ndone\n" in out
    assert "Ref: orders.customer_id > customers.id" in out
    columns = read("crm").tables["customers"].columns
    assert dict(columns["e_mail"].properties) == {
        "data_type": "text", "precision": 120, "unique": True, "x-annotation-pii": True,
    }  # fmt: skip
    assert columns["id"].nullable is False


def test_every_public_name_is_there_and_on_its_page() -> None:
    page = PAGE.read_text()
    functions = [name for name in api.__all__ if inspect.isfunction(getattr(api, name))]
    assert [name for name in functions if f"`{name}`" not in page] == []
    assert [name for name in api.__all__ if getattr(api, name).__doc__ is None and name != "Change"] == []


def test_import_and_export_folder_are_set_apart(work: Path) -> None:
    folders = api.SchemasFolder.at("schemas", imports="in", exports="out")
    schema = api.build("crm").table("customers").column("id", "bigint").schema()
    assert api.save(schema, folders).written == ("in/crm.schema.yaml", "out/crm.schema.yaml")
    assert api.infer([{"id": 1, "name": "Ann"}], "crm", table="customers", schemas=folders).written == (
        "out/crm.schema.yaml",
        "out/crm.lineage.json",
    )
    assert list(api.read("crm", schemas=folders).tables["customers"].columns)[:2] == ["id", "name"]
    assert [path for path in ("in", "out", "schemas") if Path(path).exists()] == ["in", "out"]


def test_documents_need_neither_spark_nor_arrow(work: Path) -> None:
    program = """
import sys
from schemactl.api import build, infer, plan, review, save
found = infer(({"id": at} for at in range(3)), "shop")
review(found.schema, build("shop").schema())
plan("shop", dialect="duckdb")
print(sorted({"pyspark", "pyarrow", "pandas", "numpy", "typer", "duckdb"} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "[]\n"


def test_documents_are_what_a_file_of_them_is() -> None:
    documents = [
        {"id": 1, "at": "2024-01-02T03:04:05Z", "big": 2**70, "tags": ("a", "b")},
        MappingProxyType({"id": 2.5, "nested": {"x": None}}),
    ]
    schema = infer(documents, "shop", table="orders").schema
    assert schema is not None
    assert schema == read("shop")
    columns = {name: column.properties.get("data_type") for name, column in schema.tables["orders"].columns.items()}
    assert columns["id"] == "bigint"
    assert columns["id__v_double"] == "double"
    assert "orders__tags" in schema.tables


def test_nothing_is_written_in_a_dry_run(work: Path) -> None:
    found = infer([{"id": 1}], "shop", dry_run=True)
    assert found.schema is not None
    assert "id" in found.schema.tables["shop"].columns
    assert not found.saved
    assert list(work.iterdir()) == []


def test_records_inside_documents_in_memory_are_those_of_a_file() -> None:
    pages = [{"page": 1, "data": [{"id": 1}, {"id": 2}]}, {"page": 2, "data": [{"id": 3}]}]
    report = infer(pages, "shop", table="orders", records="data", keep=["page"], engine="local")
    assert [file.documents for file in report.files] == [3]
    again = infer(pages[0], "shop", engine="local")
    assert (again.changes_schema, [file.documents for file in again.files]) == (False, [2])
    with pytest.raises(InputError, match="`keep` needs the path"):
        infer(pages, "shop", keep=["page"])


def test_documents_go_to_the_only_table_of_a_schema() -> None:
    infer([{"id": 1}], "shop", table="orders")
    schema = infer([{"note": "x"}], "shop").schema
    assert schema is not None
    assert "note" in schema.tables["orders"].columns


@pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}, b"x"], ids=["object", "nan", "set", "bytes"])
def test_values_that_json_lacks_are_refused_with_their_document(value: object) -> None:
    with pytest.raises(InputError, match="document 2 contains a value that JSON does not support"):
        infer([{"a": 1}, {"a": value}], "shop")


def test_no_documents_are_refused_as_an_empty_file_is() -> None:
    with pytest.raises(InputError, match="no records"):
        infer([], "shop")


def test_reviews_take_schemas_and_references(work: Path) -> None:
    shop = build("shop").table("orders").column("total", "double").schema()
    save(shop)
    head = edit(shop).table("orders").column("total", "text").schema()
    by_schema, by_reference = review(shop, head), review("shop", head)
    assert [each.rule for each in by_schema.findings] == [each.rule for each in by_reference.findings]
    assert by_schema.findings[0].severity is Severity.ERROR
    rules = {each.rule: Severity.NONE for each in by_schema.findings}
    assert not any(each.severity is Severity.ERROR for each in review(shop, head, severities=rules).findings)
    assert review(shop, head, compatibility="none").findings != by_schema.findings


def test_a_schema_in_memory_is_planned_and_a_plan_is_applied(work: Path) -> None:
    shop = build("shop").table("orders").column("id", "bigint").schema()
    report = plan(shop, "sqlite:///shop.db", out="first.plan.json")
    assert {type(each.step).__name__ for each in report.plan.steps} == {"CreateTable"}
    assert apply("first.plan.json", "sqlite:///shop.db").outcome == "done"
    smaller = build("shop").table("orders").column("total", "bigint").schema()
    assert not plan(smaller, "sqlite:///shop.db", allow_destructive=True).stops
    assert "TOTAL" in plan(smaller, dialect="snowflake", start=shop).plan.steps[0].statements[0]


def test_arguments_that_exclude_each_other_are_refused() -> None:
    shop = build("shop").schema()
    with pytest.raises(InputError, match="writes a script offline"):
        plan(shop, "sqlite:///a.db", dialect="snowflake")
    with pytest.raises(InputError, match="`start` needs `dialect`"):
        plan(shop, "sqlite:///a.db", start=shop)


CLIENT = """
from pathlib import Path
from typing import Any

from schemactl.api import InferenceReport, NormalizeReport, PlanReport, Schema, SparkSettings
from schemactl.api import apply, build, diff, infer, normalize, plan, review

schema: Schema = build("shop").table("orders", write_disposition="merge").column("id", "bigint").schema()
documents: list[dict[str, Any]] = [{"id": 1}]
report: InferenceReport = infer(documents, "shop", table="orders")
infer(Path("a.jsonl"), "shop", spark=SparkSettings(master="local[1]"))
infer([Path("a.jsonl"), Path("b.jsonl")], "shop")
assert report.schema is not None
rules: list[str] = [each.rule for each in review(schema, report.schema).findings]
steps: list[str] = [text for each in plan(schema, dialect="duckdb").plan.steps for text in each.statements]
loaded: NormalizeReport = normalize(iter(documents), "shop", "warehouse")
rows: int = loaded.rows_loaded
inferred: InferenceReport | None = loaded.inference
planned: PlanReport = apply("shop", "sqlite:///a.db").planned
done: bool = not apply("shop", "sqlite:///a.db").is_refused
"""


@pytest.mark.e2e
def test_a_client_passes_strict_checks_of_types(work: Path) -> None:
    Path("client.py").write_text(CLIENT)
    # With what the check of types has found of the package: to find it anew takes 8 s.
    project = PAGE.parents[1]
    shared = ["--config-file", str(project / "pyproject.toml"), "--cache-dir", str(project / ".mypy_cache")]
    call = [sys.executable, "-m", "mypy", "--strict", *shared, "client.py"]
    done = subprocess.run(call, capture_output=True, text=True, timeout=600, check=False)
    assert (done.stdout, done.returncode) == ("Success: no issues found in 1 source file\n", 0)


class Frames:
    """The same rows in the forms that an engine reads."""

    ROWS = ((1, "a", 1.5), (2, "b", None))

    def pandas(self, spark) -> object:
        import pandas

        return pandas.DataFrame(self.ROWS, columns=["id", "note", "total"], index=[5, 7])

    def arrow(self, spark) -> object:
        import pyarrow as pa

        columns = list(zip(*self.ROWS, strict=True))
        return pa.table({"id": columns[0], "note": columns[1], "total": columns[2]})

    def pyspark(self, spark) -> object:
        return spark.createDataFrame(list(self.ROWS), "id bigint, note string, total double")

    def documents(self, spark) -> Iterator[dict[str, object]]:
        return (dict(zip(("id", "note", "total"), row, strict=True)) for row in self.ROWS)

    def file(self, spark) -> str:
        Path("orders.csv").write_text("id,note,total\n1,a,1.5\n2,b,\n")
        return "orders.csv"


@pytest.mark.parametrize("kind", ["pandas", "arrow", "documents", "file"])
def test_frames_and_files_are_loaded_on_this_machine(kind: str) -> None:
    import duckdb

    data = getattr(Frames(), kind)(None)
    report = api.normalize(data, "shop", "duckdb:///loaded.duckdb", table="orders", engine="local")
    assert (report.stops, report.rows_loaded) == ((), 2)
    with duckdb.connect("loaded.duckdb", read_only=True) as database:
        rows = database.execute("SELECT id, note, total FROM shop.orders ORDER BY id").fetchall()
    assert rows == list(Frames.ROWS)


@pytest.mark.parametrize("kind", ["pandas", "pyspark", "documents", "file"])
def test_frames_and_files_are_loaded_in_the_spark_that_is_open(kind: str, spark) -> None:
    import duckdb

    data = getattr(Frames(), kind)(spark)
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.test.caller", "here")
    settings = api.SparkSettings(session=spark)
    report = api.normalize(data, "shop", "duckdb:///loaded.duckdb", table="orders", load_id="one", spark=settings)
    assert (report.stops, report.rows_loaded) == ((), 2)
    with duckdb.connect("loaded.duckdb", read_only=True) as database:
        rows = database.execute("SELECT id, note, total FROM shop.orders ORDER BY id").fetchall()
    assert rows == list(Frames.ROWS)
    assert spark.conf.get("spark.sql.session.timeZone") == zone
    assert spark.sql("SELECT 1").first()[0] == 1
    assert type(spark).getActiveSession().conf.get("spark.test.caller", None) == "here"
    again = api.normalize(data, "shop", "duckdb:///loaded.duckdb", table="orders", load_id="one", spark=settings)
    assert again.outcome == "loaded_before"


def test_a_frame_of_spark_is_inferred_where_it_is(spark) -> None:
    frame = spark.range(3).selectExpr("id", "named_struct('city', 'Bern') AS ship")
    report = infer(frame, "shop", columns=["id:bigint,primary_key"])
    assert report.reading is not None
    assert report.reading.reason == "the session of the DataFrame"
    schema = report.schema
    assert schema is not None
    assert dict(schema.tables["shop"].columns["id"].properties)["primary_key"] is True
    assert "ship__city" in schema.tables["shop"].columns
    assert not spark.catalog.tableExists("global_temp.schemactl_shop")


@pytest.mark.parametrize("engine", [None, "spark"])
def test_the_active_session_is_reused_and_stays_open(engine: api.data.EngineName | None, spark) -> None:
    Path("orders.csv").write_text("id\n1\n")
    zone = spark.conf.get("spark.sql.session.timeZone")
    for _ in range(2):
        report = api.normalize("orders.csv", "shop", "duckdb:///loaded.duckdb", engine=engine)
        assert (report.stops, report.rows_loaded) == ((), 1)
        assert report.inference is not None
        assert report.inference.reading is not None
        assert (report.inference.reading.engine, report.inference.reading.reason) == (
            "spark",
            "the active Spark session",
        )
        assert not [hint for hint in report.inference.hints if "starting Spark" in hint]
    assert spark.conf.get("spark.sql.session.timeZone") == zone
    assert spark.sql("SELECT 1").first()[0] == 1


def test_an_active_session_is_not_replaced_by_a_spark_with_other_settings(spark) -> None:
    Path("orders.csv").write_text("id\n1\n")
    with pytest.raises(api.EngineError, match="has a Spark session already") as caught:
        infer("orders.csv", "shop", spark=api.SparkSettings(master="local[1]"))
    assert "SparkSettings(session=...)" in (caught.value.hint or "")
    assert infer("orders.csv", "shop", engine="local").schema is not None


EVENTS = ({"type": "click", "x": 1, "at": "a"}, {"type": "buy", "total": "12"}, {"type": "buy", "total": "n/a"})


def test_records_go_to_tables_by_a_field_and_a_model_judges_them(monkeypatch: pytest.MonkeyPatch) -> None:
    import duckdb

    Path("shapes_of_events.py").write_text(
        "from typing import Annotated, Literal, Union\n"
        "from pydantic import BaseModel, Field, RootModel\n"
        "class Click(BaseModel):\n    type: Literal['click']\n    x: int\n"
        "class Buy(BaseModel):\n    type: Literal['buy']\n    total: int\n"
        "class Event(RootModel[Annotated[Union[Click, Buy], Field(discriminator='type')]]):\n    pass\n"
    )
    to = "duckdb:///loaded.duckdb"
    plain = api.normalize(EVENTS, "raw", to, table_by="type", dispatch={"buy": "purchases"}, engine="local")
    assert (plain.stops, plain.rows_loaded) == ((), 3)
    model = "shapes_of_events:Event"
    judged = api.normalize(EVENTS, "web", to, model=model, contract="data_type=discard_row", engine="local")
    assert (judged.stops, judged.rows_loaded, judged.rows_rejected) == ((), 2, 1)
    with duckdb.connect("loaded.duckdb", read_only=True) as database:
        assert database.execute("SELECT total FROM raw.purchases ORDER BY total").fetchall() == [("12",), ("n/a",)]
        assert database.execute("SELECT total FROM web.buy").fetchall() == [(12,)]
    monkeypatch.syspath_prepend(Path.cwd())
    from shapes_of_events import Event  # type: ignore[import-not-found]

    found = infer(EVENTS, "shapes", model=Event, contract="data_type=discard_row", dry_run=True, engine="local")
    assert found.schema is not None
    assert {"click", "buy"} <= found.schema.tables.keys()


def test_texts_become_typed_ones() -> None:
    import duckdb

    Path("orders.csv").write_text("id,paid\n1,31.01.2026\n2,N/A\n")
    Path("orders.arc.json").write_text(
        '[{"name": "id", "type": "integer", "trim": true, "nullable": false, "nullableValues": []},'
        ' {"name": "paid", "type": "date", "trim": true, "nullable": true, "nullableValues": ["N/A"],'
        ' "formatters": ["dd.MM.uuuu"]}]'
    )
    report = api.normalize("orders.csv", "shop", "duckdb:///loaded.duckdb", typing="orders.arc.json", engine="local")
    assert report.stops == ()
    schema = infer("orders.csv", "other", null_values=["N/A"], engine="local").schema
    assert schema is not None
    assert schema.tables["orders"].columns["paid"].properties["data_type"] == "text"
    with duckdb.connect("loaded.duckdb", read_only=True) as database:
        rows = database.execute("SELECT id, CAST(paid AS VARCHAR) FROM shop.orders ORDER BY id").fetchall()
    assert rows == [(1, "2026-01-31"), (2, None)]


def test_tables_by_value_need_a_field() -> None:
    with pytest.raises(InputError, match="names tables by a field's values"):
        infer([{"id": 1}], "shop", dispatch={"a": "b"})


def test_a_document_may_be_given_alone(work: Path) -> None:
    found = infer({"id": 1}, "alone", dry_run=True).schema
    assert found is not None
    assert "id" in found.tables["alone"].columns


def test_a_choice_that_there_is_not_is_an_error_of_the_call(work: Path) -> None:
    schema = build("shop").table("orders").column("id", "bigint").schema()
    with pytest.raises(InputError, match="`foo` is not a choice"):
        review(schema, schema, compatibility="foo")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="`maybe` is not a choice"):
        plan(schema, "duckdb:///x.duckdb", on_unfit="maybe")  # type: ignore[arg-type]


def test_a_column_of_another_type_has_none_of_the_sizes_of_the_one_before() -> None:
    before = build("shop").table("orders").column("total", "decimal", 10, 2).schema()
    after = edit(before).table("orders").column("total", "bigint").schema()
    assert "precision" not in after.tables["orders"].columns["total"].properties


def test_a_write_disposition_that_there_is_not_is_refused_before_anything_is_written(work: Path) -> None:
    with pytest.raises(InputError, match="`apend` is not a choice of `write_disposition`") as caught:
        infer([{"id": 1}], "shop", write_disposition="apend")  # type: ignore[arg-type]
    assert caught.value.hint == "did you mean `append`?"
    with pytest.raises(InputError, match="`zzz` is not a choice of `write_disposition`"):
        api.normalize([{"id": 1}], "shop", "duckdb:///a.duckdb", write_disposition="zzz")  # type: ignore[arg-type]
    assert list(work.iterdir()) == []


def mixed_frame() -> object:
    import pandas

    return pandas.DataFrame({"id": [1, 2], "note": [1, "x"]})


def frame_with_two_columns_of_a_name() -> object:
    import pandas

    return pandas.DataFrame([[1, 2]], columns=["a", "a"])


def arrow_with_two_columns_of_a_name() -> object:
    import pyarrow as pa

    return pa.table([[1], [2]], names=["a", "a"])


def intervals() -> object:
    import duckdb

    return duckdb.sql("SELECT 1 AS id, INTERVAL 1 DAY AS wait")


def failing_query() -> object:
    import duckdb

    return duckdb.sql("SELECT ('a' || range)::INTEGER AS n FROM range(3)")


@pytest.mark.parametrize(("frame", "message"), [
    (mixed_frame, "cannot be read: Could not convert 'x' .*; Conversion failed for column note with type object$"),
    (frame_with_two_columns_of_a_name, "cannot be read: Duplicate column names found"),
    (arrow_with_two_columns_of_a_name, "has several columns `a`"),
    (intervals, "column `wait` of the data frame has a type that Parquet does not support: `month_day_nano_interval`"),
    (failing_query, "cannot be read: Conversion Error: Could not convert string 'a0' to INT32$"),
])  # fmt: skip
def test_data_frames_that_cannot_be_read_are_errors_of_the_call(frame: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        infer(frame(), "shop", dry_run=True)
    assert (caught.value.hint is None) == (frame is failing_query)


def test_severities_are_of_rules_that_there_are_and_may_be_words() -> None:
    base = build("shop").table("orders").column("total", "double").schema()
    head = edit(base).table("orders").column("total", "text").schema()
    rule = review(base, head).findings[0].rule
    judged = review(base, head, severities={rule: "error"}).findings
    assert {each.severity for each in judged if each.rule == rule} == {Severity.ERROR}
    with pytest.raises(InputError, match="there is no rule `D999`"):
        review(base, head, severities={"D999": Severity.ERROR})
    with pytest.raises(InputError, match=f"`inof` is not a severity for `{rule}`") as caught:
        review(base, head, severities={rule: "inof"})  # type: ignore[dict-item]
    assert caught.value.hint == "did you mean `info`?"


def test_options_that_documents_do_without_are_checked_nevertheless(work: Path) -> None:
    with pytest.raises(InputError, match="`-1` is not a sample"):
        infer([{"id": 1}], "shop", sample="-1")
    with pytest.raises(InputError, match="`zz` is not a choice of `typing_errors`"):
        infer([{"id": 1}], "shop", typing_errors="zz")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="`` is not a name for a table"):
        infer([{"id": 1}], "shop", table="")
    assert list(work.iterdir()) == []


def test_a_schema_in_memory_is_applied_by_a_plan_that_is_kept() -> None:
    schema = build("shop").table("orders").column("id", "bigint").schema()
    with pytest.raises(InputError) as caught:
        apply(schema, "sqlite:///a.db")  # type: ignore[arg-type]
    message = "`apply` needs a plan file, a schema file or a REF, not a value of type `Schema`"
    assert (str(caught.value), caught.value.hint) == (
        message, 'save the plan with `plan(schema, to, out="x.plan.json")`, and apply the file',
    )  # fmt: skip


def nested(levels: int) -> dict[str, Any]:
    document: dict[str, Any] = {"x": 1}
    for _ in range(levels - 1):
        document = {"x": document}
    return document


@pytest.mark.parametrize("levels", [201, 900, 5_000])
def test_documents_that_nest_too_deep_are_refused_as_files_are(levels: int) -> None:
    with pytest.raises(InputError, match="a record nests deeper than 200 levels") as caught:
        infer([{"id": 1}, nested(levels)], "deep", dry_run=True)
    assert str(caught.value.at) == "documents:2"


def test_documents_may_nest_as_deep_as_files() -> None:
    assert infer([nested(200)], "deep", dry_run=True).schema is not None


def test_errors_call_data_in_memory_by_what_it_is_and_not_by_a_temporary_file() -> None:
    import pyarrow as pa

    with pytest.raises(InputError) as caught:
        infer([{"id": 1}], "shop", table_by="type", dry_run=True, engine="local")
    assert str(caught.value) == "documents:1: 1 record has no string in `type` (--table-by)"
    with pytest.raises(InputError, match=r"^there are no records in the data frame$"):
        infer(pa.table({"id": pa.array([], "int64")}), "shop", dry_run=True, engine="local")


def test_a_data_frame_goes_to_a_table_whose_name_is_not_one_of_a_file() -> None:
    import pyarrow as pa

    frame = pa.table({"id": [1]})
    schema = infer(frame, "shop", table="crm/orders", dry_run=True, engine="local").schema
    assert schema is not None
    assert "crm_orders" in schema.tables


def test_a_backlog_is_loaded_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "c"):
        Path(f"{name}.jsonl").write_text('{"id": 1}\n')
    to = "duckdb:///shop.duckdb"
    report = api.normalize("*.jsonl", "shop", to, table="orders", max_files=2, engine="local")
    assert [load.files for load in report.loads] == [2, 1]
    Path("a.jsonl").write_text('{"id": 1}\n{"id": 2}\n')
    with pytest.raises(InputError, match="1 file has rows that earlier loads appended"):
        api.normalize("*.jsonl", "shop", to, table="orders", new_only=True, engine="local")
    assert api.normalize("*.jsonl", "shop", to, table="orders", changed="skip", engine="local").loads == ()
    with pytest.raises(InputError, match="at least one file"):
        api.normalize("*.jsonl", "shop", to, table="orders", max_files=0, engine="local")
    with pytest.raises(InputError, match="append"):
        api.normalize("*.jsonl", "shop", to, table="orders", changed="append", engine="local")
