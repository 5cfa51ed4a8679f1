"""What distinguishes findings: no two of a review have one fingerprint, whatever the order of tables in the files."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemactl.review.comparison import Side
from schemactl.review.report import Finding
from schemactl.review.review import ReviewSettings, compare, review
from schemactl.schema.structure import NameLimits
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Schema, table_from_dict

NESTED = "schemactl.normalization.normalizers.nested"
RELATIONAL = "dlt.common.normalizers.json.relational"
TEXT = {"data_type": "text"}


def shop(tables: dict, normalizers: dict | None = None, **sections) -> Schema:
    made = new_schema("shop")
    for name, stated in tables.items():
        made = made.with_table(table_from_dict(name, stated))
    return replace(made, normalizers={**made.normalizers, **(normalizers or {})}, **sections)


def found(base: Schema, head: Schema, destination: NameLimits | None = None) -> tuple[Finding, ...]:
    sides = Side(base, destination=destination), Side(head)
    return review(compare(*sides, date(2026, 3, 31)), ReviewSettings())


def twins(findings: tuple[Finding, ...]) -> dict[str, list[str]]:
    """The sentences of findings with one fingerprint."""
    counts = Counter(each.fingerprint for each in findings)
    return {
        shared: [each.message for each in findings if each.fingerprint == shared]
        for shared, count in counts.items()
        if count > 1
    }


# what once shared a fingerprint


def contracts() -> tuple[Schema, Schema]:
    """Two nested tables, one of them renamed, that inherit the contract of one table now and of another before."""
    items, tags = {"parent": "orders", "columns": {"a": TEXT}}, {"parent": "orders", "columns": {"b": TEXT}}
    own = {"schema_contract": {"columns": "freeze"}}
    root = {"columns": {"id": TEXT}, "schema_contract": {"columns": "evolve"}}
    base = {"orders": root, "orders__items": {**items, **own}, "orders__tags": {**tags, **own}}
    head = {"orders": root, "orders__items": items, "orders__marks": {**tags, "x-renamed-from": "orders__tags"}}
    return shop(base), shop(head)


def propagation() -> tuple[Schema, Schema]:
    tables = {name: {"columns": {"id": TEXT}} for name in ("orders", "carts")}
    of_tables = {name: {"_dlt_id": "_dlt_root_id"} for name in tables}
    config = {"module": RELATIONAL, "config": {"propagation": {"tables": of_tables}}}
    return shop(tables), shop(tables, {"json": config})


def references() -> tuple[Schema, Schema]:
    orders = {"columns": {"a": TEXT}}
    reference = {"columns": ["a"], "referenced_table": "users", "referenced_columns": ["id"]}
    return shop({"orders": orders}), shop({"orders": {**orders, "references": [reference, reference]}})


def keys() -> tuple[Schema, Schema]:
    both = {**TEXT, "primary_key": True, "merge_key": True}
    return shop({"orders": {"columns": {"a": both, "b": both}}}), shop({"orders": {"columns": {"b": both, "a": both}}})


def links() -> tuple[Schema, Schema]:
    both = {**TEXT, "row_key": True, "root_key": True}
    columns = {"a": TEXT, "b": TEXT}
    return shop({"o": {"columns": {**columns, "a": both}}}), shop({"o": {"columns": {**columns, "b": both}}})


def fields() -> tuple[Schema, Schema]:
    def keeping(kind: str) -> Schema:
        column = {"data_type": "json", "x-spark-type": kind}
        return shop({"orders": {"columns": {"v": column}}}, {"json": {"module": NESTED}})

    return keeping("struct<a:struct<c:bigint>>"), keeping("struct<`a.b`:bigint,a:struct<c:bigint,b:bigint>>")


@pytest.mark.parametrize(
    ("pair", "rule", "count"),
    [
        (contracts, "X701", 2),
        (propagation, "M904", 2),
        (references, "K508", 1),
        (keys, "K503", 2),
        (links, "K507", 2),
        (fields, "C214", 2),
    ],
)
def test_findings_of_one_rule_are_distinguished(pair, rule, count):
    findings = found(*pair())
    assert [each.rule for each in findings].count(rule) == count
    assert twins(findings) == {}


def test_a_name_that_a_destination_cuts_and_takes_for_another_is_reported_twice():
    tables = {name: {"columns": {"id": TEXT}} for name in ("orders", "Orders")}
    limits = NameLimits(max_bytes=5, is_case_sensitive=False)
    findings = found(shop({}), shop(tables), limits)
    of_tables = [each.table for each in findings if each.rule == "M905" and each.table in tables and not each.column]
    assert sorted(of_tables) == ["Orders", "orders", "orders"]
    assert twins(findings) == {}


# what holds for any two schemas

TABLES = ("orders", "Orders", "sales", "orders__items", "orders__a", "sales__items", "orders__items__tags")
PARENTS = {
    "orders__items": ("orders", "sales"),
    "orders__a": ("orders",),
    "sales__items": ("sales", "orders"),
    "orders__items__tags": ("orders__items", "sales__items", "orders"),
}
COLUMNS = ("a", "b", "A", "items", "a__v_text", "a__v_complex", "cust_id", "customer_id", "_dlt_id")
KINDS = (
    *("struct<a:bigint,b:string>", "struct<`a.b`:bigint>", "struct<a:struct<b:bigint>>", "map<string,struct<a:date>>"),
    *("struct<`a[]`:bigint,a:array<string>>", "struct<a:array<bigint>>", "array<struct<a:bigint>>", "string", "no"),
)
MODES = ("freeze", "evolve", "discard_row")
flags = st.sampled_from((True, False, None))
contract = st.sampled_from((*MODES, None, {})) | st.dictionaries(
    st.sampled_from(("tables", "columns", "data_type")), st.sampled_from(MODES), max_size=3
)


def optional(**values):
    return {name.replace("x_", "x-"): found for name, found in values.items()}


columns = st.dictionaries(
    st.sampled_from(COLUMNS),
    st.fixed_dictionaries(
        {},
        optional=optional(
            data_type=st.sampled_from(("text", "json", "json", "bigint", "timestamp", "decimal")),
            precision=st.sampled_from((None, 10, 32)),
            nullable=flags,
            variant=flags,
            **dict.fromkeys(("primary_key", "merge_key", "row_key", "parent_key", "root_key", "unique", "sort"), flags),
            dedup_sort=st.sampled_from(("asc", "desc")),
            x_pii=flags,
            x_note=flags,
            x_enum=st.sampled_from((["a"], ["b"], None)),
            x_minimum=st.sampled_from((1, 2)),
            **{
                "x-renamed-from": st.sampled_from(COLUMNS) | st.just([]),
                "x-spark-type": st.sampled_from(KINDS),
                "x-database-type": st.sampled_from(("STRUCT(a BIGINT, b VARCHAR)", "STRUCT(a BIGINT)[]", "hstore")),
            },
        ),
    ),
    max_size=5,
)
reference = st.fixed_dictionaries(
    {
        "columns": st.sampled_from((["a"], ["b"], ["a", "b"], ["b", "a"])),
        "referenced_table": st.sampled_from(TABLES),
        "referenced_columns": st.sampled_from((["a"], ["a", "b"])),
    },
    optional={"cardinality": st.sampled_from(("many_to_one", "one_to_one"))},
)
stated_tables = st.fixed_dictionaries(
    {"columns": columns},
    optional={
        "write_disposition": st.sampled_from(("append", "replace", "merge", None)),
        "schema_contract": contract,
        "references": st.lists(reference, max_size=3),
        "x-renamed-from": st.sampled_from(TABLES) | st.lists(st.sampled_from(TABLES), max_size=2),
        "x-merge-strategy": st.sampled_from(("scd2", "upsert")),
        "x-removed-columns": st.sampled_from(({"a": "2001-01-01"}, {"b": "2999-01-01"})),
        "x-source-names": st.sampled_from(
            ({"$.a": "a_2"}, {"$.a": "b", "$.b": "b"}, {"$.a": "b", "$.b": "b", "$.x.a": "b", "$.x.b": "b"})
        ),
        "x-normalizer": st.sampled_from(({"max_nesting": 1}, {"seen-data": True}, None)),
    },
)
propagated = st.sampled_from(({}, {"_dlt_id": "_dlt_root_id"}))
normalizers = st.fixed_dictionaries(
    {
        "names": st.sampled_from(("snake_case", "direct", "sql_ci_v1")),
        "json": st.fixed_dictionaries(
            {"module": st.sampled_from((NESTED, RELATIONAL))},
            optional={
                "config": st.fixed_dictionaries(
                    {
                        "propagation": st.fixed_dictionaries(
                            {
                                "root": propagated,
                                "tables": st.dictionaries(st.sampled_from(TABLES), propagated, max_size=4),
                            }
                        )
                    },
                    optional={"max_nesting": st.sampled_from((1, 2))},
                )
            },
        ),
    }
)


@st.composite
def schemas(draw) -> Schema:
    tables = draw(st.dictionaries(st.sampled_from(TABLES), stated_tables, min_size=1, max_size=6))
    for name, stated in tables.items():
        parents = [each for each in PARENTS.get(name, ()) if each in tables]
        if parents:
            stated["parent"] = draw(st.sampled_from(parents))
    made = shop(tables, draw(normalizers))
    return replace(made, settings={**made.settings, "schema_contract": draw(contract)})


@st.composite
def edited(draw) -> tuple[Schema, Schema]:
    """A schema, and the same with tables gone, under other names, turned round, or taken from another one."""
    base, other = draw(schemas()), draw(schemas())
    tables = {}
    for name, table in base.tables.items():
        match draw(st.sampled_from(("keep", "drop", "rename", "replace", "turn"))):
            case "rename":
                free = [each for each in TABLES if each not in base.tables and each not in tables]
                new = draw(st.sampled_from(free or [name]))
                tables[new] = replace(table, name=new, properties={**table.properties, "x-renamed-from": name})
            case "replace":
                tables[name] = other.tables.get(name, table)
            case "turn":
                tables[name] = replace(table, columns=dict(reversed(table.columns.items())))
            case "keep":
                tables[name] = table
    head = replace(draw(st.sampled_from((base, other))), tables=tables)
    return draw(st.sampled_from(((base, head), (head, base))))


destinations = st.none() | st.builds(NameLimits, max_bytes=st.sampled_from((None, 4)), is_case_sensitive=st.booleans())


@given(edited() | st.tuples(schemas(), schemas()), destinations, st.randoms(use_true_random=False))
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
def test_fingerprints_of_a_review_are_unique_and_do_not_depend_on_the_order_of_tables(pair, destination, chance):
    findings = found(*pair, destination)
    assert twins(findings) == {}
    assert [each.fingerprint for each in findings] == [each.fingerprint for each in found(*pair, destination)]

    base, head = (replace(each, tables=dict(shuffled(each.tables, chance))) for each in pair)
    again = found(base, head, destination)
    assert judged(again) == judged(findings)


def shuffled(tables, chance):
    found = list(tables.items())
    chance.shuffle(found)
    return found


def judged(findings) -> set[tuple[str, str, str]]:
    return {(each.fingerprint, each.rule, each.severity) for each in findings}
