from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.errors import Location
from schemactl.formats.dlt import read
from schemactl.review.comparison import Side
from schemactl.review.cosmetic import is_cosmetic
from schemactl.review.report import Compatibility, Counted, Silence
from schemactl.review.review import ReviewSettings, compare, explain, review
from schemactl.review.severity import Severity
from schemactl.schema.changes import ColumnAdded, ColumnRemoved, TableAdded, TableRemoved
from schemactl.schema.diff import diff
from schemactl.schema.hash import version_hash
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Schema, table_from_dict

TODAY = date(2026, 3, 31)

TEXT = {"data_type": "text"}
BIGINT = {"data_type": "bigint"}


def schema(_settings=None, **tables) -> Schema:
    made = new_schema("shop")
    for name, stored in tables.items():
        made = made.with_table(table_from_dict(name, stored))
    return replace(made, settings={**made.settings, **(_settings or {})})


def table(_properties=None, **columns) -> dict:
    return {"columns": columns, **(_properties or {})}


def found(base: Schema, head: Schema, **stated):
    return review(compare(Side(base), Side(head), TODAY), ReviewSettings(**stated))


def only(base: Schema, head: Schema, rule: str, **stated):
    (finding,) = (each for each in found(base, head, **stated) if each.rule == rule)
    return finding


WITH_NOTE = schema(orders=table(id=BIGINT, note=TEXT))
WITHOUT_NOTE = schema(orders=table(id=BIGINT))
WITH_DAY = schema(orders=table(id=BIGINT, day={"data_type": "date", "nullable": False}))
SEALED = schema(orders=table({"table_sealed": True}, id=BIGINT))


# severities


@pytest.mark.parametrize(
    ("compatibility", "added", "required", "sealed"),
    [
        (Compatibility.READERS, Severity.INFO, Severity.ERROR, Severity.INFO),
        (Compatibility.WRITERS, Severity.INFO, Severity.ERROR, Severity.WARN),
        (Compatibility.FULL, Severity.INFO, Severity.ERROR, Severity.WARN),
        (Compatibility.NONE, Severity.INFO, Severity.INFO, Severity.INFO),
    ],
)
def test_a_mode_asks_for_its_axes(compatibility, added, required, sealed):
    mode = {"compatibility": compatibility}
    assert only(WITHOUT_NOTE, WITH_NOTE, "C201", **mode).severity is added
    assert only(WITHOUT_NOTE, WITH_DAY, "C202", **mode).severity is required
    assert only(WITHOUT_NOTE, SEALED, "T107", **mode).severity is sealed


def test_a_rename_breaks_readers_and_writers_and_leaves_the_data():
    base = schema(orders=table(id=BIGINT, cust_id=TEXT))
    head = schema(orders=table(id=BIGINT, customer_id={**TEXT, "x-renamed-from": "cust_id"}))
    assert only(base, head, "C206").severity is Severity.ERROR
    assert not {"C201", "C204"} & {each.rule for each in found(base, head)}


VARIANT = schema(orders=table(id=BIGINT, id__v_text={**TEXT, "variant": True}))


@pytest.mark.parametrize(
    ("counted", "severity", "data"),
    [
        (None, Severity.WARN, Severity.DEPENDS),
        (Counted(values=9, bad=1), Severity.ERROR, Severity.ERROR),
        (Counted(values=9, bad=0), Severity.INFO, Severity.NONE),
        (Counted(values=0, bad=0), Severity.WARN, Severity.DEPENDS),
    ],
)
def test_data_decides_what_depends_on_it(counted, severity, data):
    by_place = {("orders", "id", "type", ()): counted} if counted else {}
    finding = only(VARIANT, WITHOUT_NOTE, "C209", counted=by_place, compatibility=Compatibility.WRITERS)
    assert (finding.severity, finding.impact.data, finding.counted) == (severity, data, counted)


def fixes_of(before: dict, after: dict, rule: str, **stated) -> tuple[str, str, str, str]:
    """Return the fixes without data, with data that leaves the question open, with lost values, and with none."""
    base, head = schema(orders=table(v=before)), schema(orders=table(v=after))
    place = ("orders", "v", "null" if rule == "N401" else "type", ())
    settings = (
        {},
        {"has_data": True},
        {"has_data": True, "counted": {place: Counted(values=9, bad=1)}},
        {"has_data": True, "counted": {place: Counted(values=9, bad=0)}},
    )
    return tuple(only(base, head, rule, **each, **stated).fix for each in settings)


@pytest.mark.parametrize(("rule", "before", "after"), [
    ("D302", TEXT, BIGINT),
    ("D306", {**TEXT, "precision": 9}, {**TEXT, "precision": 8}),
    ("D308", {"data_type": "decimal", "precision": 10, "scale": 2},
     {"data_type": "decimal", "precision": 10, "scale": 4}),
    ("N401", TEXT, {**TEXT, "nullable": False}),
])  # fmt: skip
def test_nobody_is_asked_for_data_that_was_given(rule, before, after):
    without, unanswered, lost, none_lost = fixes_of(before, after, rule)
    assert "`--data FILE`" in without
    assert without.endswith(unanswered)
    assert unanswered == lost != none_lost
    for fix in (unanswered, lost, none_lost):
        assert "--data" not in fix


def test_a_match_without_a_question_to_the_data_asks_for_none():
    base, head = ({"x-spark-type": f"struct<a:{of}>", "data_type": "json"} for of in ("bigint", "string"))
    assert "--data" not in only(schema(orders=table(v=base)), schema(orders=table(v=head)), "D313").fix
    base, head = ({"x-spark-type": f"struct<a:{of}>", "data_type": "json"} for of in ("string", "bigint"))
    assert "--data" in only(schema(orders=table(v=base)), schema(orders=table(v=head)), "D313").fix


def test_a_rule_set_by_the_configuration_counts_as_set_in_every_mode():
    for compatibility in Compatibility:
        finding = only(WITH_NOTE, WITHOUT_NOTE, "C204", severities={"C204": Severity.WARN}, compatibility=compatibility)
        assert finding.severity is Severity.WARN


def test_a_rule_set_to_none_is_not_reported():
    assert found(WITH_NOTE, WITHOUT_NOTE, severities={"C204": Severity.NONE}) == ()


# contract violations

FROZEN = {"schema_contract": {"columns": "freeze"}}


@pytest.mark.parametrize("compatibility", list(Compatibility))
def test_a_violation_of_the_contract_is_an_error_in_every_mode(compatibility):
    base = schema(orders=table({**FROZEN, "x-stability": "draft"}, id=BIGINT))
    head = schema(orders=table(FROZEN, id=BIGINT, note=TEXT))
    finding = only(base, head, "X703", compatibility=compatibility)
    assert finding.severity is Severity.ERROR
    assert finding.is_violation


def test_a_contract_cannot_be_dropped_by_the_change_that_breaks_it():
    base = schema(FROZEN, orders=table(id=BIGINT))
    rules = [(each.rule, each.severity) for each in found(base, WITH_NOTE)]
    assert rules[0] == ("X703", Severity.ERROR)
    assert ("X701", Severity.WARN) in rules


def test_a_contract_that_comes_with_the_change_does_not_judge_it():
    head = schema(FROZEN, orders=table(id=BIGINT, note=TEXT))
    assert "X703" not in {each.rule for each in found(WITHOUT_NOTE, head)}


# stability


@pytest.mark.parametrize(
    ("of_table", "of_column", "severity"),
    [
        (None, None, Severity.ERROR),
        ("draft", None, Severity.INFO),
        (None, "draft", Severity.INFO),
        ("draft", "stable", Severity.ERROR),
        ("beta", None, Severity.WARN),
        ("alpha", None, Severity.ERROR),
    ],
)
def test_what_is_promised_less_breaks_less(of_table, of_column, severity):
    stated = {"x-stability": of_table} if of_table else {}
    hint = {"x-stability": of_column} if of_column else {}
    base = schema(orders=table(stated, id=BIGINT, cust_id={**TEXT, **hint}))
    head = schema(orders=table(stated, id=BIGINT, customer_id={**TEXT, **hint, "x-renamed-from": "cust_id"}))
    assert only(base, head, "C206", compatibility=Compatibility.READERS).severity is severity


def test_beta_is_no_excuse_towards_stored_data():
    base = schema(orders=table({"x-stability": "beta"}, id=BIGINT, note=TEXT))
    head = schema(orders=table({"x-stability": "beta"}, id=BIGINT))
    assert only(base, head, "C204").severity is Severity.ERROR


def test_a_nested_table_promises_what_its_parent_does():
    draft = {"x-stability": "draft"}
    base = schema(orders=table(draft, id=BIGINT), orders__items=table({"parent": "orders"}, sku=TEXT, price=BIGINT))
    head = schema(orders=table(draft, id=BIGINT), orders__items=table({"parent": "orders"}, sku=TEXT))
    assert only(base, head, "C204").severity is Severity.INFO


def test_a_change_cannot_call_itself_a_draft():
    head = schema(orders=table({"x-stability": "draft"}, id=BIGINT))
    assert only(WITH_NOTE, head, "C204").severity is Severity.ERROR


def test_a_new_column_may_come_as_a_draft():
    day = {"data_type": "date", "nullable": False, "x-stability": "draft"}
    assert only(WITHOUT_NOTE, schema(orders=table(id=BIGINT, day=day)), "C202").severity is Severity.INFO


# silences


def test_a_silenced_finding_names_its_silence_and_stays():
    silence = Silence("C204", "agreed", table="ord*", until=TODAY)
    finding = only(WITH_NOTE, WITHOUT_NOTE, "C204", silences=(silence,))
    assert (finding.silence, finding.severity) == (silence, Severity.ERROR)


def test_a_silence_does_not_hold_after_its_last_day():
    silence = Silence("C204", "agreed", until=date(2026, 3, 30))
    assert only(WITH_NOTE, WITHOUT_NOTE, "C204", silences=(silence,)).silence is None


# fingerprints


def test_a_fingerprint_is_of_what_changed_where():
    first = only(WITH_NOTE, WITHOUT_NOTE, "C204")
    assert re.fullmatch(r"[0-9a-f]{12}", first.fingerprint)
    elsewhere = schema(carts=table(a=TEXT), orders=table(id=BIGINT)), schema(orders=table(id=BIGINT))
    with_more = only(elsewhere[0].with_table(WITH_NOTE.tables["orders"]), elsewhere[1], "C204")
    assert with_more.fingerprint == first.fingerprint
    retyped = schema(orders=table(id=BIGINT, note={"data_type": "json"}))
    assert only(retyped, WITHOUT_NOTE, "C204").fingerprint != first.fingerprint


def test_two_findings_of_one_rule_and_place_have_two_fingerprints():
    base = schema(orders=table(id=BIGINT, note=TEXT))
    contract = {"schema_contract": {"tables": "freeze", "columns": "freeze"}}
    head = schema(contract, orders=table(id=BIGINT, note={**TEXT, "x-a": True, "x-b": True}))
    twins = [each for each in found(base, head) if each.rule in ("X702", "H603")]
    assert len(twins) == len({each.fingerprint for each in twins}) == 4


def test_a_fingerprint_does_not_depend_on_the_order_of_keys():
    turned = schema(orders=table(id=BIGINT, note={"nullable": True, "data_type": "text"}))
    straight = schema(orders=table(id=BIGINT, note={"data_type": "text", "nullable": True}))
    prints = {only(each, WITHOUT_NOTE, "C204").fingerprint for each in (turned, straight)}
    assert len(prints) == 1


# order and places


def test_the_worst_comes_first_then_the_order_of_the_head():
    base = schema(carts=table(b=TEXT, a=TEXT, c=TEXT), orders=table(id=BIGINT))
    head = schema(orders=table(id=BIGINT, z=TEXT, y=TEXT), carts=table(b=TEXT))
    reported = [(each.severity, each.table, each.column) for each in found(base, head)]
    assert reported == [
        (Severity.ERROR, "carts", "a"),
        (Severity.ERROR, "carts", "c"),
        (Severity.INFO, "orders", "z"),
        (Severity.INFO, "orders", "y"),
    ]


def test_places_are_asked_for_by_the_names_of_each_side():
    base = schema(orders=table(cust_id=TEXT, total=BIGINT))
    head = schema(
        sales=table({"x-renamed-from": "orders"}, customer_id={**TEXT, "x-renamed-from": "cust_id"}, total=BIGINT)
    )
    sides = {
        "locate_head": lambda keys: Location("head.yaml/" + "/".join(map(str, keys))),
        "locate_base": lambda keys: Location("base.yaml/" + "/".join(map(str, keys))),
    }
    finding = only(base, head, "C206", **sides)
    assert str(finding.location) == "head.yaml/tables/sales/columns/customer_id"
    assert str(finding.base_location) == "base.yaml/tables/orders/columns/cust_id"


def test_places_are_lines_of_the_file():
    head = read(HEAD_FILE, "shop.yaml")
    base = replace(head.schema, tables={**head.schema.tables, "orders": WITHOUT_NOTE.tables["orders"]})
    finding = only(base, head.schema, "C201", locate_head=lambda keys: head.locate(*keys))
    assert finding.location is not None
    assert HEAD_FILE.splitlines()[finding.location.line - 1].strip() == "note:"


HEAD_FILE = """\
version: 1
engine_version: 11
name: shop
previous_hashes: []
tables:
  _dlt_version: {columns: {}}
  _dlt_loads: {columns: {}}
  orders:
    columns:
      id:
        data_type: bigint
      note:
        data_type: text
"""


def test_a_convention_that_is_not_installed_is_no_matter_where_no_name_is_looked_at():
    foreign = {"names": "elsewhere.naming", "json": {"module": "dlt.common.normalizers.json.relational"}}
    base = replace(WITHOUT_NOTE, normalizers=foreign)
    head = replace(schema(orders=table({"description": "new"}, id=BIGINT)), normalizers=foreign)
    assert [finding.rule for finding in found(base, head)] == ["V002", "T111"]


# what holds for any two schemas

PROPERTIES = st.fixed_dictionaries(
    {},
    optional={
        "data_type": st.sampled_from(["text", "bigint", "json", "timestamp", "decimal"]),
        "nullable": st.sampled_from([True, False, None]),
        "variant": st.booleans(),
        "primary_key": st.booleans(),
        "x-stability": st.sampled_from(["draft", "beta", None]),
        "x-renamed-from": st.sampled_from(["a", "b"]),
        "x-spark-type": st.sampled_from(["struct<a:bigint,lines:array<date>>", "struct<b:bigint>", "string", "no", 5]),
    },
)
COLUMNS = st.dictionaries(st.sampled_from(["a", "b", "items", "a__v_text", "items__x", "_dlt_id"]), PROPERTIES)
STATED = st.fixed_dictionaries(
    {"columns": COLUMNS},
    optional={
        "write_disposition": st.sampled_from(["append", "replace", "merge", None]),
        "x-merge-strategy": st.sampled_from(["scd2", "upsert"]),
        "schema_contract": st.sampled_from(["freeze", {"columns": "discard_row"}, None]),
        "x-removed-columns": st.sampled_from([{"a": "2001-01-01"}, {"b": "2999-01-01"}, "soon", None]),
        "x-renamed-from": st.just("orders"),
        "x-source-names": st.sampled_from([{"$.a": "a_2"}, {"$.a": "b", "$.b": "b"}]),
    },
)
NESTED = {"orders__items": "orders", "orders__items__tags": "orders__items", "sales__items": "sales"}


@st.composite
def schemas(draw) -> Schema:
    tables = draw(st.dictionaries(st.sampled_from(["orders", "sales", *NESTED]), STATED))
    nested = {name: {**stated, "parent": NESTED[name]} for name, stated in tables.items() if NESTED.get(name) in tables}
    contract = draw(
        st.sampled_from([{}, {"schema_contract": "freeze"}, {"schema_contract": {"tables": "discard_row"}}])
    )
    made = schema(contract, **{**tables, **nested})
    module = draw(st.sampled_from(["dlt.common.normalizers.json.relational", "nested"]))
    return replace(made, normalizers={**made.normalizers, "json": {"module": module}})


@given(schemas(), schemas())
def test_any_two_schemas_can_be_reviewed_and_one_alone_gives_no_finding(base, head):
    findings = found(base, head)
    assert all(finding.severity in (Severity.INFO, Severity.WARN, Severity.ERROR) for finding in findings)
    assert [each.severity.rank for each in findings] == sorted((each.severity.rank for each in findings), reverse=True)
    assert findings == found(base, head)
    assert_every_coming_and_going_is_reported(base, head, " ".join(finding.message for finding in findings))
    assert found(head, head) == ()


def assert_every_coming_and_going_is_reported(base, head, reported):
    for change in diff(base, head, heeds_moves=True):
        if isinstance(change, TableAdded | TableRemoved):
            assert f"`{change.table.name}`" in reported
        if isinstance(change, ColumnAdded | ColumnRemoved):
            assert f"`{change.column.name}`" in reported


# cosmetic changes


def test_a_hash_that_only_wording_changed():
    head = schema(orders=table({"description": "new"}, id={**BIGINT, "nullable": True}))
    assert version_hash(head) != version_hash(WITHOUT_NOTE)
    assert is_cosmetic(diff(WITHOUT_NOTE, head))
    assert not is_cosmetic(diff(WITHOUT_NOTE, WITH_NOTE))
    assert not is_cosmetic(diff(WITHOUT_NOTE, schema(FROZEN, orders=table(id=BIGINT))))


# names of modes, cost


@pytest.mark.parametrize(
    ("compatibility", "is_transitive", "name"),
    [
        (Compatibility.READERS, False, "FORWARD"),
        (Compatibility.WRITERS, False, "BACKWARD"),
        (Compatibility.FULL, True, "FULL_TRANSITIVE"),
        (Compatibility.NONE, True, "NONE"),
    ],
)
def test_confluents_names(compatibility, is_transitive, name):
    assert explain(compatibility, is_transitive) == name


def test_of_a_large_schema_only_what_changed_is_reported():
    columns = {f"c{number}": TEXT for number in range(30)}
    tables = {f"t{number:04}": table(**columns) for number in range(200)}
    base = schema({"schema_contract": "freeze"}, **tables)
    head = base.with_table(table_from_dict("t0100", table(**{**columns, "note": TEXT})))
    comparison = compare(Side(base), Side(head), TODAY)
    assert [each.rule for each in review(comparison, ReviewSettings())] == ["X703", "C201"]


def test_rules_import_nothing_heavy():
    heavy = {"pyspark", "pandas", "pyarrow", "duckdb", "deepdiff", "pydantic", "rich", "ruamel", "orjson", "dateutil"}
    program = "import sys; from schemactl.review.rules import all_rules; all_rules(); print(*sys.modules)"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert not heavy & set(printed.split())


def test_a_review_looks_at_each_announcement_a_few_times_whatever_the_number_of_columns(monkeypatch):
    from schemactl.review import announcements

    looked_at = []
    parse = announcements.read_last_day
    monkeypatch.setattr(announcements, "read_last_day", lambda value: (looked_at.append(1), parse(value))[1])
    number = 300
    sides = [{**{f"{name}{place}": TEXT for place in range(number)}, "x": BIGINT} for name in ("alpha", "beta")]
    base, head = (Schema(name="shop", tables={"t": table_from_dict("t", {"columns": each})}) for each in sides)

    findings = review(compare(Side(base), Side(head), TODAY), ReviewSettings())

    assert len(findings) >= 2 * number
    assert len(looked_at) < 50 * number
