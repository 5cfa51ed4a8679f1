"""Columns that become wider instead of getting a variant column: by the evidence of new values alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.inference.classes import classify, kind_of
from schemactl.inference.evidence import Position, observe
from schemactl.inference.promotion import Promoter, Promotions, StoredValues
from schemactl.inference.resolve import Resolution, ResolveOptions
from schemactl.inference.source_names import resolve_data
from schemactl.inference.survival import Scalars, Tally, survives
from schemactl.schema.contract import PROMOTION_HINT
from schemactl.schema.full_types import full_type
from schemactl.schema.paths import values_at
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema

NO_VALUES_STORED = StoredValues()


def schema_of(mode: str = "promote", **columns: dict[str, Any]) -> Schema:
    base = new_schema("shop")
    base = replace(base, settings={**base.settings, PROMOTION_HINT: mode})
    if not columns:
        return base
    resolution = resolve_data(observe([]), base, "t", separates=False)
    table = resolution.schema.tables["t"]
    typed = {name: Column(name, {"nullable": True, **properties}) for name, properties in columns.items()}
    return base.with_table(replace(table, columns=typed))


def promoted(
    schema: Schema,
    documents: Sequence[Any],
    stored: StoredValues | None = None,
    *,
    rereads: bool = True,
    passes: list[int] | None = None,
) -> tuple[Resolution, Promotions]:
    """Return the resolution of documents with the columns that they make wider."""
    evidence = observe((Position("t.jsonl", number), document) for number, document in enumerate(documents, 1))

    answered: set[Scalars] = set()

    def count(question: Scalars) -> Tally:
        values = [value for document in documents for path in question.paths for value in values_at(document, path)]
        scalars = [value for value in values if kind_of(classify(value)) in (question.kinds or ())]
        bad = [value for value in scalars if not survives(value, question.target)]
        return Tally(len(scalars), len(bad), tuple(bad[:1]))

    def count_new(questions: Sequence[Scalars]) -> list[Tally]:
        if passes is not None and not answered.issuperset(questions):
            passes.append(len(set(questions)))
        answered.update(questions)
        return [count(question) for question in questions]

    promoter = Promoter(
        evidence,
        schema,
        count_new=count_new if rereads else None,
        count_stored=None if stored is None else lambda _table, _column, _type: stored,
    )
    return promoter.promote(
        lambda promotions: resolve_data(
            evidence,
            schema,
            "t",
            separates=False,
            options=ResolveOptions(
                wider=promotions.wider, refused=promotions.refused, wider_fields=promotions.wider_fields
            ),
        )
    )


def types_of(resolution: Resolution, table: str = "t") -> dict[str, str]:
    columns = resolution.schema.tables[table].columns.values()
    return {column.name: str(column.data_type) for column in columns if not column.name.startswith("_dlt")}


BIGINT = {"data_type": "bigint"}
CENTS = {"data_type": "decimal", "precision": 10, "scale": 2}


@pytest.mark.parametrize(("stored", "values", "wider"), [
    (BIGINT, [1.5], {"x": "double"}),
    (BIGINT, [1, 1.5, -0.0], {"x": "double"}),
    (BIGINT, [2**53, 1.5], {"x": "double"}),
    (BIGINT, [2**53 + 1, 1.5], {"x": "decimal"}),
    (BIGINT, [2**63 - 1, 0.1], {"x": "decimal"}),
    (BIGINT, [2**53 + 1, 1e300], {"x": "bigint", "x__v_double": "double"}),
    (BIGINT, [2**53 + 1, 5e-324], {"x": "bigint", "x__v_double": "double"}),
    (BIGINT, [2**64], {"x": "wei"}),
    (BIGINT, ["abc"], {"x": "bigint", "x__v_text": "text"}),
    (BIGINT, [1.5, "abc"], {"x": "double", "x__v_text": "text"}),
    ({"data_type": "bool"}, [2.5, "abc"], {"x": "bool", "x__v_text": "text"}),
    ({"data_type": "date"}, ["2024-01-01T10:00:00Z"], {"x": "timestamp"}),
    ({"data_type": "date"}, ["2024-01-01"], {"x": "date"}),
    ({"data_type": "text", "precision": 3}, ["abcde"], {"x": "text"}),
    (BIGINT, [2**63], {"x": "wei"}),
    (BIGINT, [9223372036854775000, 0.5], {"x": "decimal"}),
    ({"data_type": "double"}, [10**37], {"x": "double", "x__v_wei": "wei"}),
    ({"data_type": "double"}, [9223372036854775000], {"x": "double", "x__v_bigint": "bigint"}),
    ({"data_type": "double"}, [2**53], {"x": "double"}),
    ({"data_type": "double"}, [2**53 + 1, 1.5], {"x": "double", "x__v_bigint": "bigint"}),
    ({"data_type": "double"}, [2**53 + 1, 2**63], {"x": "double", "x__v_bigint": "wei"}),
    ({"data_type": "decimal"}, [0.5, 7], {"x": "decimal"}),
    ({"data_type": "decimal"}, [1e300, 7], {"x": "decimal", "x__v_double": "double"}),
    ({"data_type": "decimal"}, [0.12345678901, 10**37], {"x": "decimal", "x__v_double": "double", "x__v_wei": "wei"}),
    ({"data_type": "wei"}, [0.5, 10**37], {"x": "wei", "x__v_double": "double"}),
    ({"data_type": "wei"}, [1e300], {"x": "wei", "x__v_double": "double"}),
    ({"data_type": "wei"}, ["1.25"], {"x": "decimal"}),
    (CENTS, [f"1.{'3' * 40}"], {"x": "decimal", "x__v_text": "text"}),
    (CENTS, ["-646969.3230", 1e300], {"x": "decimal", "x__v_double": "double"}),
    (CENTS, [7, "NaN"], {"x": "decimal", "x__v_text": "text"}),
    ({"data_type": "double"}, ["0.1", "NaN"], {"x": "double"}),
    ({"data_type": "double"}, ["9" * 20 + ".5"], {"x": "double", "x__v_text": "text"}),
    ({"data_type": "double"}, ["1e-400", 7], {"x": "double", "x__v_text": "text"}),
    ({"data_type": "date"}, [86_400, "86400"], {"x": "date"}),
    ({"data_type": "date"}, [2.5], {"x": "timestamp"}),
    ({"data_type": "date"}, ["2024-01-01", 86_401], {"x": "timestamp"}),
    ({"data_type": "date"}, ["2024-01-01", "0.5"], {"x": "timestamp"}),
    ({"data_type": "date"}, ["2024-01-01T00:00:00Z"], {"x": "date"}),
    ({"data_type": "bigint", "precision": 16}, [9.223372036854776e18], {"x": "double"}),
    (BIGINT, ["9223372036854775808"], {"x": "wei"}),
    (BIGINT, [2**53 + 1, 9.223372036854776e18], {"x": "decimal"}),
    (BIGINT, [1.5, "2.5"], {"x": "double"}),
    (BIGINT, [1.5, "9" * 20 + ".5"], {"x": "double", "x__v_text": "text"}),
])  # fmt: skip
def test_a_column_becomes_wider_if_all_values_survive(
    stored: dict[str, Any], values: list[Any], wider: dict[str, str]
) -> None:
    resolution, _ = promoted(schema_of(x=stored), [{"x": value} for value in values])

    assert types_of(resolution) == wider


def test_a_decimal_has_the_places_of_the_values() -> None:
    resolution, _ = promoted(schema_of(x=BIGINT), [{"x": 2**60 + 1}, {"x": 1.23456789012}])

    properties = resolution.schema.tables["t"].columns["x"].properties
    assert (properties["data_type"], properties["precision"], properties["scale"]) == ("decimal", 38, 19)


@pytest.mark.parametrize(
    ("narrow", "value", "wider"),
    [
        ({"data_type": "decimal", "precision": 10, "scale": 2}, "1.25", "decimal(10, 2)"),
        ({"data_type": "decimal", "precision": 10, "scale": 2}, "1.2567", "decimal(38, 9)"),
        ({"data_type": "decimal", "precision": 10, "scale": 2}, 1.25, "decimal(10, 2)"),
        ({"data_type": "decimal", "precision": 10, "scale": 2}, 1.2567, "decimal(38, 9)"),
        ({"data_type": "decimal", "precision": 10, "scale": 2}, 0.12345678901, "decimal(38, 30)"),
        ({"data_type": "decimal", "precision": 20, "scale": 0}, 0.5, "decimal(38, 9)"),
        ({"data_type": "wei", "precision": 20}, 0.5, "decimal(38, 9)"),
        ({"data_type": "decimal", "precision": 10, "scale": 2}, "1.23456789012", "decimal(38, 30)"),
        ({"data_type": "decimal", "precision": 10, "scale": 2}, "123456789012.5", "decimal(38, 9)"),
        ({"data_type": "timestamp", "precision": 3}, "2024-01-02T03:04:05.123456Z", "timestamp"),
        ({"data_type": "timestamp", "precision": 3}, "2024-01-02T03:04:05.123Z", "timestamp(3)"),
        ({"data_type": "time", "precision": 0}, "03:04:05.5", "time"),
        ({"data_type": "binary", "precision": 4}, "YWJhYmFiYWI=", "binary(9)"),
        ({"data_type": "binary", "precision": 4}, "YWI=", "binary(4)"),
        ({"data_type": "binary", "precision": 2}, 2**40, "binary(8)"),
        ({"data_type": "timestamp", "precision": 0}, 1.5, "timestamp"),
        ({"data_type": "timestamp", "precision": 0}, 2.0, "timestamp(0)"),
        ({"data_type": "bigint", "precision": 16}, "70000", "bigint"),
        ({"data_type": "bigint", "precision": 16}, "7000", "bigint(16)"),
        ({"data_type": "text", "precision": 4}, False, "text(5)"),
        ({"data_type": "text", "precision": 4}, -1234, "text(5)"),
        ({"data_type": "text", "precision": 4}, 1.125, "text(24)"),
        ({"data_type": "text", "precision": 4}, 1.5, "text(4)"),
    ],
)
def test_a_column_of_a_size_becomes_wider_if_it_would_cut_or_round(
    narrow: dict[str, Any], value: Any, wider: str
) -> None:
    resolution, promotions = promoted(schema_of(x=narrow), [{"x": value}])
    assert str(full_type(resolution.schema.tables["t"].columns["x"].properties)) == wider
    assert list(types_of(resolution)) == ["x"]
    assert len(promotions.findings) == (wider != str(full_type(narrow)))


def test_no_finding_names_a_variant_whose_values_the_wider_column_takes() -> None:
    _, promotions = promoted(schema_of(x=BIGINT), [{"x": 2**53 + 1}, {"x": 1.5}, {"x": "2.5"}])

    assert [(finding.after, finding.variant) for finding in promotions.findings] == [("decimal(38, 9)", None)]


def test_a_longer_text_has_the_length_of_the_values() -> None:
    resolution, promotions = promoted(schema_of(x={"data_type": "text", "precision": 3}), [{"x": "abcdé"}])

    assert resolution.schema.tables["t"].columns["x"].properties["precision"] == 5
    assert [finding.reason for finding in promotions.findings] == ["the value survives"]


def test_a_new_column_begins_wide() -> None:
    resolution, promotions = promoted(schema_of(), [{"x": 1}, {"x": 1.5}, {"x": None}])

    assert types_of(resolution) == {"x": "double"}
    (finding,) = promotions.findings
    assert (finding.before, finding.after, finding.values, finding.rows) == ("bigint", "double", 2, None)
    assert finding.reason == "all 2 values survive"


def test_columns_of_nested_tables_become_wider() -> None:
    resolution, _ = promoted(schema_of(), [{"lines": [{"price": 1}, {"price": 2.5}], "sizes": [1, 0.5]}])

    assert types_of(resolution, "t__lines") == {"price": "double"}
    assert types_of(resolution, "t__sizes") == {"value": "double"}


def test_other_columns_get_a_variant_as_before() -> None:
    schema = schema_of("evolve", x=BIGINT, y={**BIGINT, PROMOTION_HINT: "promote"})

    resolution, promotions = promoted(schema, [{"x": 1.5, "y": 1.5}])

    assert types_of(resolution) == {"x": "bigint", "y": "double", "x__v_double": "double"}
    assert [finding.column for finding in promotions.findings] == ["y"]


def test_an_existing_variant_stays_in_use() -> None:
    variant = {"data_type": "double", "variant": True}

    resolution, promotions = promoted(schema_of(x=BIGINT, x__v_double=variant), [{"x": 1.5}])

    assert types_of(resolution) == {"x": "bigint", "x__v_double": "double"}
    assert promotions.findings == ()


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        (StoredValues(9, 2, ('"9007199254740993"',)), '2 stored values would not survive as double, such as "900'),
        (StoredValues(9, blocker="a view uses it"), "a view uses it"),
    ],
)
def test_stored_values_that_do_not_survive_keep_the_column_narrow(stored: StoredValues, reason: str) -> None:
    resolution, promotions = promoted(schema_of(x=BIGINT), [{"x": 1.5}], stored)

    assert types_of(resolution) == {"x": "bigint", "x__v_double": "double"}
    (finding,) = promotions.findings
    assert reason in finding.reason
    assert (finding.after, finding.variant, finding.rows) == (None, "x__v_double", 9)


def test_stored_values_are_not_counted_for_a_new_column() -> None:
    _, promotions = promoted(schema_of(), [{"x": 1}, {"x": 1.5}], StoredValues(9, 9))

    assert [finding.after for finding in promotions.findings] == ["double"]


def test_values_that_cannot_be_read_again_are_no_proof() -> None:
    resolution, promotions = promoted(schema_of(x=CENTS), [{"x": "1.25"}], rereads=False)

    assert types_of(resolution) == {"x": "decimal", "x__v_text": "text"}
    assert "the data cannot be read again" in promotions.findings[0].reason


@pytest.mark.parametrize("rereads", [True, False])
def test_decimal_places_in_evidence_prove_that_doubles_survive(rereads: bool) -> None:
    passes: list[int] = []
    documents = [{"x": 0.25, "y": -99_999_999.99}, {"x": 12.5, "y": 1.1}, {"x": 3.0}]

    resolution, promotions = promoted(schema_of(x=CENTS, y=CENTS), documents, rereads=rereads, passes=passes)

    assert types_of(resolution) == {"x": "decimal", "y": "decimal"}
    assert (promotions.findings, passes) == ((), [])


@pytest.mark.parametrize("value", [1e29, 10**29])
def test_a_number_of_30_digits_does_not_fit_29_although_its_double_is_less(value: float) -> None:
    resolution, _ = promoted(schema_of(x={"data_type": "decimal", "precision": 38, "scale": 9}), [{"x": value}])

    assert any(name.startswith("x__v_") for name in types_of(resolution))


def test_places_that_data_without_a_second_reading_needs_widen_a_decimal() -> None:
    resolution, promotions = promoted(schema_of(x=CENTS), [{"x": 1.125}], rereads=False)

    assert types_of(resolution) == {"x": "decimal"}
    assert [finding.after for finding in promotions.findings] == ["decimal(38, 9)"]


def test_examples_of_personal_columns_are_masked() -> None:
    personal = {**BIGINT, "x-annotation-pii": True}

    _, promotions = promoted(schema_of(x=personal), [{"x": 2**53 + 1}, {"x": 1e300}])

    assert "9007199254740993" not in promotions.findings[0].reason


def test_text_holds_what_no_other_type_does_if_that_is_allowed() -> None:
    documents = [{"x": 1.5, "y": "abc", "z": {"a": 1}}, {"z": 5}]

    resolution, _ = promoted(schema_of("promote_text", x=BIGINT, y=BIGINT, z=BIGINT), documents)

    assert types_of(resolution) == {"x": "double", "y": "text", "z": "bigint", "z__a": "bigint"}


@pytest.mark.parametrize(
    ("hinted", "value", "wider"),
    [
        ({"data_type": "timestamp", "precision": 3, "timezone": False}, "2024-01-02T03:04:05.123456Z",
         "timestamp without time zone"),
        ({"data_type": "time", "precision": 3}, "03:04:05.123456", "time"),
        ({"data_type": "bigint", "precision": 16}, 70_000, "bigint(32)"),
        ({"data_type": "decimal", "precision": 6, "scale": 2}, 1.2567, "decimal(38, 9)"),
        ({"data_type": "text", "precision": 3}, "abcde", "text(5)"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_frozen", [False, True])
def test_hints_of_sizes_grow_unless_the_column_has_a_contract_of_its_own(
    hinted: dict[str, Any], value: Any, wider: str, is_frozen: bool
) -> None:
    own = {PROMOTION_HINT: "evolve", "description": "a hint"} if is_frozen else {"description": "a hint"}

    resolution, promotions = promoted(schema_of(x={**hinted, **own}), [{"x": value}])

    properties = resolution.schema.tables["t"].columns["x"].properties
    assert properties["description"] == "a hint"
    if is_frozen:
        assert promotions.findings == ()
    else:
        assert str(full_type(properties)) == wider


@pytest.mark.parametrize("mode", ["freeze", "discard_row", "discard_value"])
def test_a_frozen_data_type_promotes_nothing(mode: str) -> None:
    schema = schema_of(x={"data_type": "decimal", "precision": 6, "scale": 2})
    table = schema.tables["t"]
    frozen = replace(table, properties={**table.properties, "schema_contract": {"data_type": mode}})

    resolution, promotions = promoted(schema.with_table(frozen), [{"x": 1.2567}])

    assert str(full_type(resolution.schema.tables["t"].columns["x"].properties)) == "decimal(6, 2)"
    assert promotions.findings == ()


def nested_schema_of(spark_type: str, mode: str = "promote") -> Schema:
    schema = schema_of(mode, x={"data_type": "json", "x-spark-type": spark_type})
    module = {"module": "schemactl.normalization.normalizers.nested"}
    return replace(schema, normalizers={**schema.normalizers, "json": module})


TEXTS = {
    ("struct<a:double>", "1 new value would not survive as double"): "struct<a:string>",
    ("struct<a:bigint>", "no type holds the values of bigint and t"): "struct<a:string>",
    ("struct<a:bigint>", "no type holds the values of bigint and b"): "struct<a:string>",
    ("struct<a:date>", "no type holds the values of date "): "struct<a:string>",
    ("array<bigint>", "no type holds the values of bigint and text exactly"): "array<string>",
}
"""The types that ``promote_text`` gives columns whose values no other type holds, by type and reason."""


@pytest.mark.parametrize(
    ("stored", "value", "wider", "reason"),
    [
        ("struct<a:bigint>", {"a": 1.5}, "struct<a:double>", "the value survives"),
        ("struct<a:bigint>", {"a": 2.0}, "struct<a:double>", "the value survives"),
        ("struct<a:bigint>", {"a": 2.0**53}, "struct<a:double>", "the value survives"),
        ("struct<a:bigint>", {"a": 2**63}, "struct<a:decimal(38,0)>", "the value survives"),
        ("struct<a:double>", {"a": 2**53}, "struct<a:double>", ""),
        (
            "struct<a:double>",
            {"a": 2**53 + 1},
            "struct<a:string COMMENT 'json'>",
            "1 new value would not survive as double",
        ),
        ("struct<a:decimal(10,2)>", {"a": 1.25}, "struct<a:decimal(10,2)>", ""),
        ("struct<a:decimal(10,2)>", {"a": 7}, "struct<a:decimal(10,2)>", ""),
        ("struct<a:decimal(10,2)>", {"a": 1.2567}, "struct<a:decimal(38,9)>", "the value survives"),
        ("array<bigint>", [0.5, 2**53 + 1, 1], "array<decimal(38,9)>", "all 3 values survive"),
        ("array<bigint>", [1, 2**53 + 1, 0.5], "array<decimal(38,9)>", "all 3 values survive"),
        ("array<struct<n:bigint>>", [{"n": 0.5}, {"m": 1}], "array<struct<n:double,m:bigint>>", "the value survives"),
        ("map<string,bigint>", {"a": 1, "b": 0.5}, "map<string,double>", "all 2 values survive"),
        ("map<string,array<bigint>>", {"a": [1], "b": [0.5]}, "map<string,array<double>>", "all 2 values survive"),
        ("struct<a:bigint>", {"a": "7"}, "struct<a:string COMMENT 'json'>", "no type holds the values of bigint and t"),
        (
            "struct<a:bigint>",
            {"a": True},
            "struct<a:string COMMENT 'json'>",
            "no type holds the values of bigint and b",
        ),
        ("struct<a:bigint>", {"a": {"b": 1}}, "struct<a:string COMMENT 'json'>", "no type holds the values of bigint "),
        ("struct<a:date>", {"a": "2024-01-01"}, "struct<a:string COMMENT 'json'>", "no type holds the values of date "),
        ("array<bigint>", ["x"], "string", "no type holds the values of bigint and text exactly"),
    ],
)
@pytest.mark.parametrize("mode", ["promote", "promote_text"])
def test_fields_elements_and_map_values_become_wider(
    stored: str, value: Any, wider: str, reason: str, mode: str
) -> None:
    if mode == "promote_text" and (stored, reason) in TEXTS:
        wider, reason = TEXTS[stored, reason], "the value survives"

    resolution, promotions = promoted(nested_schema_of(stored, mode), [{"x": value}])

    assert resolution.schema.tables["t"].columns["x"].properties["x-spark-type"] == wider
    assert [finding.reason[: len(reason)] for finding in promotions.findings] == ([reason] if reason else [])


def test_fields_keep_their_types_where_the_column_does_not_promote() -> None:
    schema = nested_schema_of("struct<a:bigint>", "evolve")

    resolution, promotions = promoted(schema, [{"x": {"a": 1.5}}])

    assert resolution.schema.tables["t"].columns["x"].properties["x-spark-type"] == "struct<a:string COMMENT 'json'>"
    assert promotions.findings == ()


def test_a_finding_names_the_field() -> None:
    schema = nested_schema_of("struct<`a.b`:array<struct<n:bigint>>>")

    _, promotions = promoted(schema, [{"x": {"a.b": [{"n": 0.5}]}}], StoredValues(4))

    (finding,) = promotions.findings
    assert (finding.column, finding.field) == ("x", '."a.b"[].n')
    assert (finding.before, finding.after, finding.values, finding.rows) == ("bigint", "double", 1, 4)


def test_stored_values_of_a_field_that_do_not_survive_make_it_json() -> None:
    schema = nested_schema_of("struct<a:bigint>")

    resolution, promotions = promoted(schema, [{"x": {"a": 1.5}}], StoredValues(9, 2, ('"9007199254740993"',)))

    assert resolution.schema.tables["t"].columns["x"].properties["x-spark-type"] == "struct<a:string COMMENT 'json'>"
    assert "2 stored values would not survive as double" in promotions.findings[0].reason


SCALARS = st.one_of(
    st.integers(-(2**54), 2**54),
    st.sampled_from([2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**64, 10**37, 1e300, -0.0, 0.1, 5e-324]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.sampled_from(["abc", "1", "2024-01-01", "2024-01-01T10:00:00Z", "9999-12-31", "2016-12-31T23:59:60Z"]),
)


@given(st.lists(SCALARS, min_size=1, max_size=6), st.sampled_from(["promote", "promote_text"]))
def test_every_value_survives_in_a_column_that_became_wider(values: list[Any], mode: str) -> None:
    resolution, promotions = promoted(schema_of(mode), [{"x": value} for value in values])

    wider = promotions.wider.get(("t", "x"))
    if wider is not None:
        to_base = {name for _, name in resolution.taken["t", "x"]}
        variants = [name for name in types_of(resolution) if name != "x"]
        if not variants:
            assert all(survives(value, wider) for value in values)
        assert to_base


def test_the_data_is_read_again_once_for_all_columns() -> None:
    decimal = {"data_type": "decimal", "precision": 38, "scale": 9}
    schema = schema_of(
        price=decimal, cost=decimal, tax=decimal, share={"data_type": "wei"}, size={"data_type": "double"}
    )
    documents = [
        {"price": 1.25, "cost": "2.5", "tax": 7, "share": 1.0, "size": 2.5},
        {"price": "9.75", "cost": 1.5, "tax": 0.25, "share": "3", "size": 1},
    ]
    passes: list[int] = []

    _, promotions = promoted(schema, documents, passes=passes)

    assert promotions.findings == ()
    assert len(passes) == 1
