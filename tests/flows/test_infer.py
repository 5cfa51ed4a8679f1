"""The flow after the scan: evidence made in memory, real files below a temporary folder, no Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemactl.errors import InputError
from schemactl.flows import infer as flow
from schemactl.flows.infer import InferRequest, check_request, evolve_all, infer
from schemactl.flows.lineage import lineage_in
from schemactl.flows.root_tables import TableData
from schemactl.flows.schemas import open_schemas
from schemactl.formats.dlt import read
from schemactl.inference.evidence import Evidence, Position, merge, observe
from schemactl.inference.report import InferenceReport
from schemactl.inference.saved_evidence import write_evidence
from schemactl.render.console import Look
from schemactl.render.infer import print_inference
from schemactl.schema.hints import Hints, parse_column
from schemactl.schema.renames import SOURCE_NAMES
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder
from schemactl.store.sources import LeftOutWarning


def seen(*documents: Any, file: str = "orders.jsonl") -> Evidence:
    return observe((Position(file, number), document) for number, document in enumerate(documents, start=1))


class Shop:
    """A schemas folder with one schema, ``shop``, fed with documents."""

    def __init__(self, root: Path) -> None:
        self.folder = SchemasFolder.at(root)
        self.root = root

    def feed(self, *documents: Any, file: str = "orders.jsonl", **asked: Any) -> InferenceReport:
        return self.feed_evidence(seen(*documents, file=file), **asked)

    def feed_evidence(self, evidence: Evidence, **asked: Any) -> InferenceReport:
        request = InferRequest(sources=("orders.jsonl",), name="shop", table="orders", schemas=self.root)
        return evolve_all([TableData(replace(request, **asked), evidence)], self.folder)

    @property
    def schema(self) -> Schema:
        [path] = self.root.glob("export/*.schema.*")
        return read(path.read_text(), str(path)).schema

    def columns(self, table: str = "orders") -> dict[str, str]:
        columns = self.schema.tables[table].columns.values()
        return {each.name: str(each.data_type) for each in columns if not each.name.startswith("_dlt")}

    def files(self) -> dict[Path, tuple[bytes, int]]:
        """Everything that lies in the folder, with content and time of change."""
        found = (path for path in self.root.rglob("*") if path.is_file())
        return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in found}


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "schemas")


def edit_import(shop: Shop, old: str, new: str) -> None:
    [path] = shop.root.glob("import/*")
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def printed(report: InferenceReport) -> str:
    return print_inference(report, Look(None, color=False))


def column_of(report: InferenceReport, name: str) -> Any:
    return next(column for table in report.tables for column in table.columns if column.name == name)


# what is saved


def test_first_run_writes_both_files_and_reports_them(shop: Shop) -> None:
    report = shop.feed({"id": 1, "items": [{"sku": "a"}]})

    names = ["shop.schema.yaml", "shop.schema.yaml", "shop.lineage.json"]
    assert [Path(path).name for path in report.written] == names
    assert [Path(path).parent.name for path in report.written] == ["import", "export", "export"]
    assert report.saved
    assert report.before_hash is None
    assert report.after_hash == shop.schema.version_hash
    assert shop.columns() == {"id": "bigint"}
    assert shop.columns("orders__items") == {"sku": "text"}


def test_lineage_is_written_beside_the_export_file_and_leaves_the_hash(shop: Shop) -> None:
    first = shop.feed({"id": 1, "items": [{"SKU": "a"}]})
    assert lineage_in(shop.folder.exports, "shop").sources == {
        ("orders", None): ("$",),
        ("orders", "id"): ("$.id",),
        ("orders__items", None): ("$.items[*]",),
        ("orders__items", "sku"): ("$.items[*].SKU",),
    }
    again = shop.feed({"ID": 2})
    assert [Path(path).name for path in again.written] == ["shop.lineage.json"]
    assert not again.saved
    assert again.after_hash == first.after_hash
    assert lineage_in(shop.folder.exports, "shop").sources["orders", "id"] == ("$.id", "$.ID")
    assert shop.feed({"ID": 2}).written == ()


def test_a_check_and_a_refused_run_write_no_lineage(shop: Shop) -> None:
    shop.feed({"id": 1})
    before = lineage_in(shop.folder.exports, "shop")
    shop.feed({"id": 1, "note": "x"}, is_check=True)
    shop.feed({"id": 1, "note": "x"}, contract="freeze")
    assert lineage_in(shop.folder.exports, "shop") == before


def test_first_import_file_holds_hints_only(shop: Shop) -> None:
    shop.feed({"id": 1, "items": [{"sku": "a"}]})

    [path] = shop.root.glob("import/*")
    hints = read(path.read_text(), str(path)).schema
    assert [name for name in hints.tables if not name.startswith("_dlt")] == ["orders"]
    assert hints.tables["orders"].columns == {}
    assert shop.schema.imported_version_hash == hints.version_hash


def test_hints_of_the_call_go_before_what_data_says(shop: Shop) -> None:
    hints = Hints((parse_column("id:text,primary_key"), parse_column("later:date")), "merge")
    shop.feed({"id": 1, "n": 2}, hints=hints)

    assert shop.columns() == {"id": "text", "later": "date", "n": "bigint"}
    orders = shop.schema.tables["orders"]
    assert orders.columns["id"].properties == {"data_type": "text", "primary_key": True, "nullable": False}
    assert orders.properties["write_disposition"] == "merge"
    [path] = shop.root.glob("import/*")
    assert [*read(path.read_text(), str(path)).schema.tables["orders"].columns] == ["id", "later"]
    assert not shop.feed({"id": 1, "n": 2}, hints=hints).written


def test_a_stated_column_that_data_nearly_has_is_reported(shop: Shop) -> None:
    hints = Hints((parse_column("amout:decimal"), parse_column("later:date")))
    report = shop.feed({"id": 1, "amount": 2.5}, {"id": 2, "amount": 3.5}, hints=hints)
    assert report.hints == ("the new column `orders.amout` has no data; did you mean `amount`?",)
    assert shop.feed({"id": 1, "amount": 2.5}, hints=hints).hints == ()


def test_report_reports_the_version_and_hash_that_the_file_holds(shop: Shop) -> None:
    for document in ({"id": 1}, {"id": 2, "name": "x"}):
        report = shop.feed(document)

        assert (report.after_version, report.after_hash) == (shop.schema.version, shop.schema.version_hash)


def test_second_run_on_the_same_data_changes_no_file(shop: Shop) -> None:
    shop.feed({"id": 1})
    before = shop.files()

    report = shop.feed({"id": 1})

    assert shop.files() == before
    assert (report.written, report.saved, report.tables, report.changes_schema) == ((), False, (), False)


def test_later_data_adds_to_the_schema(shop: Shop) -> None:
    first = shop.feed({"id": 1})

    report = shop.feed({"id": "x", "note": "n"})

    assert shop.columns() == {"id": "bigint", "id__v_text": "text", "note": "text"}
    assert (report.before_hash, report.after_hash) == (first.after_hash, shop.schema.version_hash)
    assert column_of(report, "id__v_text").variant_of == "id"


def test_edited_import_file_goes_before_the_export_file(shop: Shop) -> None:
    first = shop.feed({"id": 1, "note": "n"})
    edit_import(shop, "  orders:\n    columns: {}\n", "  orders:\n    columns:\n      id:\n        data_type: text\n")

    checked = shop.feed({"id": 1}, is_check=True)
    report = shop.feed({"id": 1})

    assert checked.changes_schema
    assert shop.columns() == {"id": "text"}
    assert checked.dropped == report.dropped == ("orders.note",)
    assert "warning: dropped columns of earlier data that this data does not have: orders.note" in printed(report)
    assert "run `schemactl sync shop` first" in printed(checked)
    assert report.import_adopted
    assert (report.before_hash, report.after_hash) == (first.after_hash, shop.schema.version_hash)
    assert not shop.feed({"id": 1}).written


def test_folder_that_changes_meanwhile_is_built_on(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.feed({"id": 1})
    opened = []

    def open_with_others(folder: SchemasFolder, name: str) -> Any:
        found = open_schemas(folder, name)
        opened.append(found)
        if len(opened) == 1:
            monkeypatch.setattr(flow, "open_schemas", open_schemas)
            shop.feed({"theirs": 1})
        return found

    monkeypatch.setattr(flow, "open_schemas", open_with_others)

    shop.feed({"ours": 1})

    assert set(shop.columns()) == {"id", "theirs", "ours"}


def test_folder_that_cannot_be_written_is_reported(shop: Shop) -> None:
    shop.root.mkdir()
    (shop.root / "import").write_text("in the way")

    with pytest.raises(InputError):
        shop.feed({"id": 1})


# --check


def test_check_writes_nothing_at_all(shop: Shop, tmp_path: Path) -> None:
    report = shop.feed({"id": 1}, is_check=True, evidence_file=tmp_path / "e.evidence.json")

    assert report.changes_schema
    assert list(tmp_path.iterdir()) == []


def test_check_finds_what_a_run_would_save(shop: Shop) -> None:
    shop.feed({"id": 1})
    assert not shop.feed({"id": 2}, is_check=True).changes_schema
    before = shop.files()

    checked = shop.feed({"id": 2, "note": "n"}, is_check=True)

    assert checked.changes_schema
    assert not checked.saved
    assert shop.files() == before
    assert shop.feed({"id": 2, "note": "n"}).after_hash == checked.after_hash


# contracts


def test_check_reports_a_hand_edited_export_file(shop: Shop) -> None:
    shop.feed({"id": 1})
    [path] = shop.root.glob("export/*.schema.*")
    path.write_text(path.read_text().replace("data_type: bigint\n", "data_type: bigint\n        x-note: mine\n", 1))

    report = shop.feed({"id": 1}, is_check=True)

    assert (report.export_edited, report.changes_schema, report.written) == (True, True, ())
    assert shop.feed({"id": 1}).saved
    assert not shop.feed({"id": 1}, is_check=True).changes_schema


@pytest.mark.parametrize(
    ("stated", "wrong", "key", "message"),
    [
        ("names: snake_case", "names: snake_cas", "names: snake_cas", "no naming convention `snake_cas`"),
        ("json.relational", "json.relation", "json:", "no normalizer `relation`"),
        ("dlt.common.normalizers.json.relational", "no_such.module", "json:", "no normalizer `no_such.module`"),
    ],
)
def test_unknown_normalizer_is_reported_with_its_place(
    shop: Shop, stated: str, wrong: str, key: str, message: str
) -> None:
    shop.feed({"id": 1})
    [path] = shop.root.glob("import/*")
    path.write_text(path.read_text().replace(stated, wrong))
    before = shop.files()

    with pytest.raises(InputError) as reported:
        check_request(InferRequest(("orders.jsonl",), "shop", "orders", shop.root), shop.folder)

    line = 1 + next(n for n, text in enumerate(path.read_text().splitlines()) if text.strip().startswith(key))
    assert message in reported.value.message
    assert reported.value.at is not None
    assert (reported.value.at.path, reported.value.at.line) == (str(path), line)
    assert shop.files() == before


def with_naming(path: Path, more: str = "") -> None:
    path.write_text(path.read_text().replace("names: snake_case\n", f"names: sql_cs_v1\n{more}"))


def checked(shop: Shop) -> None:
    check_request(InferRequest(("orders.jsonl",), "shop", "orders", shop.root), shop.folder)


@pytest.mark.parametrize("place", ["import", "export"])
def test_another_naming_convention_is_refused_where_tables_hold_data(shop: Shop, place: str) -> None:
    shop.feed({"id": 1, "orderId": 2})
    [path] = shop.root.glob(f"{place}/*.schema.*")
    with_naming(path)

    with pytest.raises(InputError, match=r"from `snake_case` to `sql_cs_v1`, .* data: `orders`") as reported:
        checked(shop)

    assert reported.value.at is not None
    assert reported.value.at.path == str(path)


def test_another_naming_convention_is_taken_where_the_schema_allows_it_or_has_no_data(shop: Shop) -> None:
    shop.feed({"id": 1})
    [path] = shop.root.glob("import/*")
    before = path.read_text()
    with_naming(path, "  allow_identifier_change_on_table_with_data: true\n")
    checked(shop)
    path.write_text(before)
    [stored] = shop.root.glob("export/*.schema.*")
    stored.unlink()
    with_naming(path)
    checked(shop)


def test_dlts_own_columns_have_no_preferred_type(shop: Shop) -> None:
    shop.feed({"nr": 1})
    [path] = shop.root.glob("import/*")
    text = path.read_text().replace("settings:\n", "settings:\n  preferred_types:\n    re:id$: timestamp\n")
    path.write_text(text)

    with pytest.warns(LeftOutWarning, match="dlt's own columns `_dlt_id`, `_dlt_load_id`"):
        checked(shop)
    shop.feed({"nr": 1, "id": 1, "items": [{"id": 2}]})

    assert shop.columns()["id"] == "timestamp"
    columns = [column for name in ("orders", "orders__items") for column in shop.schema.tables[name].columns.values()]
    assert {each.data_type for each in columns if each.name.startswith("_dlt")} == {"text", "bigint"}
    assert not any(each.is_variant for each in columns)


def test_frozen_contract_refuses_all_and_reports_each_violation(shop: Shop) -> None:
    shop.feed({"id": 1})
    before = shop.files()

    report = shop.feed(
        {"id": 1}, {"id": "x-2", "note": "n"}, {"id": "x-3", "lines": [{"n": 1}, {"n": 2}]}, contract="freeze"
    )

    assert shop.files() == before
    assert report.is_refused
    assert (report.saved, report.written, report.changes_schema) == (False, (), False)
    assert report.before_hash == report.after_hash
    found = {
        (each.table, each.variant_of or each.column): (each.entity, each.values, str(each.first), each.example)
        for each in report.violations
    }
    assert found == {
        ("orders", "id"): ("data_type", 2, "orders.jsonl:2", "x-2"),
        ("orders", "note"): ("columns", 1, "orders.jsonl:2", "n"),
        ("orders__lines", None): ("tables", 2, "orders.jsonl:3", "1"),
    }


def test_frozen_contract_leaves_no_trace_where_no_schema_is(shop: Shop, tmp_path: Path) -> None:
    report = shop.feed({"id": 1}, contract="freeze", evidence_file=tmp_path / "e.evidence.json")

    assert report.is_refused
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", ["discard_row", "discard_value"])
def test_discarding_contract_leaves_the_change_out_and_reports_it(shop: Shop, mode: str) -> None:
    shop.feed({"id": 1})

    report = shop.feed({"id": "x", "note": "n", "lines": [{"n": 1}]}, contract=f"columns={mode},data_type={mode}")

    assert shop.columns() == {"id": "bigint"}
    assert shop.columns("orders__lines") == {"n": "bigint"}
    assert not report.is_refused
    assert {(each.variant_of or each.column, each.mode) for each in report.violations} == {("id", mode), ("note", mode)}
    assert report.changes_schema


def test_contract_of_the_call_goes_before_the_schema_s_own(shop: Shop) -> None:
    shop.feed({"id": 1})
    [path] = shop.root.glob("import/*")
    path.write_text(path.read_text().replace("settings:", "settings:\n  schema_contract: freeze"))

    assert shop.feed({"id": 1, "note": "n"}).is_refused
    assert not shop.feed({"id": 1, "note": "n"}, contract="evolve").is_refused


# collisions


def test_colliding_keys_are_reported_and_share_a_column(shop: Shop) -> None:
    report = shop.feed({"userId": 1, "user_id": "x", "Items": [{"a": 1}], "items": [{"b": 2}]})

    found = {(each.table, each.column): each.sources for each in report.collisions}
    assert found == {
        ("orders", "user_id"): ("$.userId", "$.user_id"),
        ("orders__items", None): ("$.Items[*]", "$.items[*]"),
    }


def test_resolved_collisions_get_a_column_each_that_stays(shop: Shop) -> None:
    report = shop.feed({"userId": 1, "user_id": "x", "a__b": 1, "a": {"b": "y", "c": 1}}, resolve_collisions=True)

    assert report.collisions == ()
    expected = {"user_id": "bigint", "user_id_2": "text", "a__b": "bigint", "a__b_2": "text", "a__c": "bigint"}
    assert shop.columns() == expected

    # The other order, and no option: the names are the schema's by now.
    report = shop.feed({"a": {"c": 2, "b": "z"}, "a__b": 2, "user_id": "z", "userId": 2})

    assert report.collisions == ()
    assert shop.columns() == expected
    assert shop.schema.tables["orders"].properties[SOURCE_NAMES]["$.user_id"] == "user_id_2"


def test_third_key_of_a_resolved_collision_is_reported_then_resolved(shop: Shop) -> None:
    shop.feed({"userId": 1, "user_id": 2}, resolve_collisions=True)

    reported = shop.feed({"UserID": 1, "userId": 1}, is_check=True)
    shop.feed({"UserID": "new", "userId": 1}, resolve_collisions=True)

    assert [each.column for each in reported.collisions] == ["user_id"]
    assert shop.columns() == {"user_id": "bigint", "user_id_2": "bigint", "user_id_3": "text"}


def test_resolved_lists_get_a_table_each(shop: Shop) -> None:
    report = shop.feed({"Items": [{"a": 1}], "items": [{"b": "x"}]}, resolve_collisions=True)

    assert report.collisions == ()
    assert shop.columns("orders__items") == {"a": "bigint"}
    assert shop.columns("orders__items_2") == {"b": "text"}


def test_name_that_the_data_uses_itself_is_not_given(shop: Shop) -> None:
    shop.feed({"id_2": True})

    shop.feed({"Id": 1, "id": "x"}, resolve_collisions=True)

    assert shop.columns() == {"id_2": "bool", "id": "bigint", "id_3": "text"}


def test_name_that_the_same_data_uses_is_not_given(shop: Shop) -> None:
    report = shop.feed({"Id": 1, "id": "x", "id_2": True}, resolve_collisions=True)

    assert report.collisions == ()
    assert sorted(shop.columns().values()) == ["bigint", "bool", "text"]


@pytest.mark.parametrize("stated", ["[]", "text", "{$.a: 1}", "{$.a: ''}"])
def test_names_that_are_none_are_reported(shop: Shop, stated: str) -> None:
    shop.feed({"id": 1})
    [path] = shop.root.glob("import/*")
    path.write_text(path.read_text().replace("resource: orders", f"resource: orders\n    {SOURCE_NAMES}: {stated}"))

    with pytest.raises(InputError, match=SOURCE_NAMES):
        shop.feed({"id": 1})


# the rest of the report


def test_null_where_none_is_allowed_is_reported(shop: Shop) -> None:
    shop.feed({"id": 1})
    stated = "    columns:\n      id:\n        data_type: bigint\n        nullable: false\n"
    edit_import(shop, "  orders:\n    columns: {}\n", f"  orders:\n{stated}")

    report = shop.feed({"id": 1}, {"id": None}, {"id": None})

    [null] = report.nulls
    assert (null.table, null.column, null.source, null.count, str(null.first)) == (
        "orders", "id", "$.id", 2, "orders.jsonl:2",
    )  # fmt: skip


def test_evidence_of_a_column_is_reported(shop: Shop) -> None:
    documents = [{"id": 1, "at": "2026-01-31T10:00:00Z"}] * 3 + [{"id": "idx-4", "at": None}, {"id": "idx-5"}]

    report = shop.feed(*documents)

    at, variant = column_of(report, "at"), column_of(report, "id__v_text")
    assert (at.data_type, at.kinds, at.values, at.total, at.nulls, at.absences) == (
        "timestamp", {"text": 3}, 3, 3, 1, 1,
    )  # fmt: skip
    assert (variant.values, variant.total, str(variant.first)) == (2, 5, "orders.jsonl:4")
    assert variant.examples[0] == "idx-4"


def test_types_that_a_source_states_are_reported(shop: Shop) -> None:
    typed: dict[Any, Mapping[str, Any]] = {("price",): {"data_type": "decimal", "precision": 10, "scale": 2}}
    evidence = replace(seen({}), declared=typed)

    price = column_of(shop.feed_evidence(evidence), "price")

    assert (price.data_type, price.precision, price.scale, price.sources) == ("decimal", 10, 2, ("$.price",))


def test_large_schema_is_reported(shop: Shop) -> None:
    document = {f"table_{n}": [{f"column_{m}": m for m in range(30)}] for n in range(40)}
    evidence = seen(document, {f"column_{m}": m for m in range(1_000)})

    report = shop.feed_evidence(evidence, is_check=True)

    assert sum(len(table.columns) for table in report.tables) > 2_200


# the root table


def test_root_table_is_no_nested_one(shop: Shop) -> None:
    shop.feed({"items": [1]})

    with pytest.raises(InputError, match="nested in `orders`"):
        shop.feed({"a": 1}, table="orders__items")


@pytest.mark.parametrize("table", ["", "  ", "__"])
def test_root_table_needs_a_name(shop: Shop, table: str) -> None:
    with pytest.raises(InputError, match="not a name for a table"):
        shop.feed({"a": 1}, table=table)


def test_a_key_that_leaves_no_name_is_refused_where_it_has_a_value(shop: Shop) -> None:
    with pytest.raises(InputError, match=r"`\$\.__` results in an empty column name in table `orders`") as caught:
        shop.feed({"id": 1}, {"__": 1})
    assert caught.value.at is not None
    assert caught.value.at.line == 2
    assert "`--naming direct`" in str(caught.value.hint)

    shop.feed({"id": 1, "__": {"x": 1}})
    assert shop.columns("orders") == {"id": "bigint", "x": "bigint"}


def test_name_of_the_root_table_may_hold_a_path(shop: Shop) -> None:
    report = shop.feed({"userId": 1, "user_id": 1}, table="A__b", resolve_collisions=True)

    assert report.table == "a__b"
    assert shop.columns("a__b") == {"user_id": "bigint", "user_id_2": "bigint"}


# saved evidence


@pytest.fixture
def without_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder in which nothing may be scanned."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("schemactl.engine.spark.session.open_session", lambda *_: pytest.fail("no data is to be read"))
    return tmp_path


def save(path: Path, evidence: Evidence) -> str:
    path.write_text(write_evidence(evidence))
    return path.name


def request(*sources: str, **asked: Any) -> InferRequest:
    return replace(InferRequest(sources=sources, name="shop", table=None, schemas=Path("schemas")), **asked)


MONDAY = [{"id": 1, "at": "2026-01-31T10:00:00Z"}, {"id": 2}]
TUESDAY = [{"note": "n", "id": "x"}, {"at": "soon", "lines": [{"n": 1}]}]


def test_saved_evidence_stands_for_its_data(without_spark: Path, tmp_path: Path) -> None:
    week = save(tmp_path / "week.evidence.json", seen(*MONDAY, file="monday.jsonl"))
    day = save(tmp_path / "day.evidence.json", seen(*TUESDAY, file="tuesday.jsonl"))

    report = infer(request(week, day))

    whole = merge(seen(*MONDAY, file="monday.jsonl"), seen(*TUESDAY, file="tuesday.jsonl"))
    other = Shop(tmp_path / "other").feed_evidence(whole, table="shop")
    assert report.after_hash == other.after_hash
    assert report.tables == other.tables
    assert [file.path for file in report.files] == ["monday.jsonl", "tuesday.jsonl"]


def test_evidence_of_all_sources_is_saved(without_spark: Path, tmp_path: Path) -> None:
    week = save(tmp_path / "week.evidence.json", seen(*MONDAY, file="monday.jsonl"))
    day = save(tmp_path / "day.evidence.json", seen(*TUESDAY, file="tuesday.jsonl"))

    report = infer(request(week, day, evidence_file=tmp_path / "week.evidence.json"))

    assert report.written[-1] == str(tmp_path / "week.evidence.json")
    again = infer(request("week.evidence.json", schemas=Path("again")))
    assert again.after_hash == report.after_hash


def test_evidence_of_one_file_gives_its_table_the_file_s_name(without_spark: Path, tmp_path: Path) -> None:
    week = save(tmp_path / "week.evidence.json", seen(*MONDAY, file="data/monday.jsonl"))

    assert infer(request(week)).table == "monday"


@pytest.mark.parametrize("source", ["*.evidence.json", "."])
def test_evidence_is_found_by_globs_and_in_folders(without_spark: Path, tmp_path: Path, source: str) -> None:
    save(tmp_path / "week.evidence.json", seen(*MONDAY, file="monday.jsonl"))
    save(tmp_path / "day.evidence.json", seen(*TUESDAY, file="tuesday.jsonl"))

    assert len(infer(request(source, is_check=True)).files) == 2


def test_file_counts_once(without_spark: Path, tmp_path: Path) -> None:
    (tmp_path / "monday.jsonl").write_text('{"id": 1}\n')
    week = save(tmp_path / "week.evidence.json", seen(*MONDAY, file="monday.jsonl"))
    copy = save(tmp_path / "copy.evidence.json", seen(*MONDAY, file="monday.jsonl"))

    for sources in ((week, "monday.jsonl"), (week, copy)):
        with pytest.raises(InputError, match=r"`monday\.jsonl` is in this evidence"):
            infer(request(*sources))


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "not JSON"), ("[]", "not saved evidence"), ('{"schemactl_evidence": 99}', "format 99"),
     ('{"schemactl_evidence": 1}', "damaged"), ('{"schemactl_evidence": 1, "paths": [{"path": 1}]}', "damaged")],
)  # fmt: skip
def test_file_that_is_no_evidence_is_reported(without_spark: Path, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "week.evidence.json").write_text(text)

    with pytest.raises(InputError, match=message):
        infer(request("week.evidence.json"))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"evidence_file": Path("e.json")}, "ends in"),
        ({"evidence_file": Path("folder.evidence.json")}, "is a folder"),
        ({"contract": "frooze"}, "no contract mode"),
        ({"contract": "rows=freeze"}, "no entity"),
        ({"sample": "0"}, "not a sample"),
        ({"name": "b c"}, "cannot name a schema"),
        ({"table": ""}, "not a name for a table"),
        ({"table": "_dlt_loads"}, "dlt's own table"),
        ({"input_format": "yaml"}, "no input format"),
        ({"sources": ("ordres.jsonl",)}, "there is no"),
    ],
)
def test_wrong_call_is_reported_before_spark_starts(
    without_spark: Path, tmp_path: Path, asked: dict[str, Any], message: str
) -> None:
    (tmp_path / "orders.jsonl").write_text('{"id": 1}\n')
    (tmp_path / "folder.evidence.json").mkdir()

    with pytest.raises(InputError, match=message):
        infer(request("orders.jsonl", **asked))

    assert not (tmp_path / "schemas").exists()


def test_data_without_records_is_reported(without_spark: Path, tmp_path: Path) -> None:
    week = save(tmp_path / "week.evidence.json", Evidence())

    with pytest.raises(InputError, match="there are no records"):
        infer(request(week))


def test_report_is_plain_data(shop: Shop) -> None:
    report = shop.feed({"id": 1, "Id": "x"}, {"id": None})

    json.dumps(report.to_dict(), allow_nan=False)
    assert report.to_dict()["tables"][0]["columns"][0]["first"] == {"file": "orders.jsonl", "number": 1}


def test_a_new_schema_is_named_by_the_convention_that_is_asked_for(shop: Shop) -> None:
    shop.feed({"Order Id": 1}, naming="direct")

    assert shop.schema.normalizers["names"] == "direct"
    assert "Order Id" in shop.columns()
    shop.feed({"Order Id": 2}, naming="dlt.common.normalizers.naming.direct")
    with pytest.raises(InputError, match="has the naming convention `direct`"):
        shop.feed({"Order Id": 2}, naming="snake_case")


def test_an_unknown_naming_convention_makes_no_schema(shop: Shop) -> None:
    before = shop.files()
    with pytest.raises(InputError, match="no naming convention `dirct`") as caught:
        shop.feed({"a": 1}, naming="dirct")

    assert "direct" in (caught.value.hint or "")
    assert shop.files() == before


# names that a destination does not keep


def test_names_that_are_too_long_are_made_anew_from_the_keys(shop: Shop) -> None:
    key = "Ein Schlüssel, der Länger Ist"
    shop.feed({"id": 1, key: 1})
    [long] = [name for name in shop.columns() if name != "id"]

    check = shop.feed({"id": 1, key: 1}, max_identifier_length=20, is_check=True)
    report = shop.feed({"id": 1, key: 1}, max_identifier_length=20)

    assert check.changes_schema
    [short] = [name for name in shop.columns() if name != "id"]
    assert len(short) == 20
    assert shop.schema.tables["orders"].columns[short].properties["x-renamed-from"] == long
    assert report.hints[0] == f"the destination cuts names to 20 characters: `orders.{long}` is now `{short}`"
    assert report.hints[0] in printed(report).replace("\n", " ")
    # A schema that is made for the destination from the start has the same name, and keeps it.
    other = Shop(shop.root.parent / "other")
    other.feed({"id": 1, key: 1}, max_identifier_length=20)
    assert other.columns() == shop.columns()
    assert not shop.feed({"id": 1, key: 1}, max_identifier_length=20).changes_schema


def test_a_frozen_contract_lets_names_be_made_anew(shop: Shop) -> None:
    shop.feed({"a" * 30: 1})
    report = shop.feed({"a" * 30: 1}, max_identifier_length=20, contract="freeze")
    assert (report.is_refused, len(*shop.columns())) == (False, 20)


def test_an_edited_import_file_may_state_the_long_name(shop: Shop) -> None:
    shop.feed({"a" * 30: 1})
    shop.feed({"a" * 30: 1}, max_identifier_length=20)
    edit_import(shop, "columns: {}", f"columns:\n      {'a' * 30}:\n        unique: true")
    shop.feed({"a" * 30: 1}, max_identifier_length=20)
    [column] = [each for each in shop.schema.tables["orders"].columns.values() if not each.name.startswith("_dlt")]
    assert len(column.name) == 20
    assert (column.properties["unique"], column.data_type) == (True, "bigint")
