import pytest

from schemactl.review.retypes import Effect, size_effect
from schemactl.schema.conversions import CONVERSIONS, Conversion, consequence, conversion
from schemactl.schema.full_types import full_type, has_room
from schemactl.schema.types import DataType


def test_every_pair_of_types_has_a_conversion():
    assert set(CONVERSIONS) == {(before, after) for before in DataType for after in DataType if before != after}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("bigint", "decimal", Conversion.WHOLE),
        ("date", "timestamp", Conversion.WHOLE),
        ("double", "bigint", Conversion.DEPENDS),
        ("decimal", "wei", Conversion.DEPENDS),
        ("bigint", "double", Conversion.LOSES),
        ("bigint", "bool", Conversion.LOSES),
        ("bool", "bigint", Conversion.REFUSED),
        ("json", "bigint", Conversion.REFUSED),
    ],
)
def test_conversion(before, after, expected):
    assert conversion(DataType(before), DataType(after)) == expected


@pytest.mark.parametrize("before", [DataType.BIGINT, DataType.DOUBLE])
def test_numbers_become_points_in_time_only_where_their_unit_is_known(before):
    assert conversion(before, DataType.TIMESTAMP) == Conversion.LOSES
    assert conversion(before, DataType.TIMESTAMP, counts_seconds=True) == Conversion.DEPENDS
    assert conversion(before, DataType.DATE, counts_seconds=True) == Conversion.LOSES


def test_what_is_lost_can_be_reported_of_every_pair_that_loses_something():
    reported = {
        pair: consequence(*pair)
        for pair, found in CONVERSIONS.items()
        if found in (Conversion.DEPENDS, Conversion.LOSES)
    }
    assert all(reported.values())
    assert "time of day" in reported[DataType.TIMESTAMP, DataType.DATE]


@pytest.mark.parametrize(
    ("stated", "spelled"),
    [
        ({"data_type": "bigint"}, "bigint"),
        ({"data_type": "bigint", "precision": 64, "scale": 0}, "bigint"),
        ({"data_type": "bigint", "precision": 32}, "bigint(32)"),
        ({"data_type": "decimal"}, "decimal(38, 9)"),
        ({"data_type": "decimal", "precision": 10}, "decimal(10, 9)"),
        ({"data_type": "decimal", "scale": 2}, "decimal(38, 2)"),
        ({"data_type": "wei"}, "wei"),
        ({"data_type": "text", "precision": 5}, "text(5)"),
        ({"data_type": "timestamp", "timezone": None, "precision": None}, "timestamp"),
        ({"data_type": "timestamp", "timezone": False, "precision": 3}, "timestamp(3) without time zone"),
        ({"data_type": "date", "precision": 3, "timezone": False}, "date"),
    ],
)
def test_what_is_not_stated_is_what_dlt_takes(stated, spelled):
    assert str(full_type(stated)) == spelled


def test_a_column_without_data_type_has_no_type():
    assert full_type({"precision": 3}) is None


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"data_type": "bigint"}, {"data_type": "decimal", "precision": 19, "scale": 0}, True),
        ({"data_type": "bigint"}, {"data_type": "decimal", "precision": 19, "scale": 1}, False),
        ({"data_type": "bigint", "precision": 32}, {"data_type": "decimal", "precision": 10, "scale": 0}, True),
        ({"data_type": "bigint", "precision": 32}, {"data_type": "wei", "precision": 9}, False),
        ({"data_type": "double"}, {"data_type": "decimal"}, False),
        ({"data_type": "double"}, {"data_type": "decimal", "precision": 38, "scale": 2}, False),
        ({"data_type": "wei"}, {"data_type": "decimal", "precision": 20, "scale": 0}, False),
        ({"data_type": "json"}, {"data_type": "text"}, True),
        ({"data_type": "json"}, {"data_type": "text", "precision": 100}, False),
    ],
)
def test_a_stated_size_may_be_too_small(before, after, expected):
    assert has_room(full_type(before), full_type(after)) is expected


@pytest.mark.parametrize(("before", "after", "expected"), [
    ({"data_type": "text", "precision": 5}, {"data_type": "text"}, Effect.GROWS),
    ({"data_type": "text"}, {"data_type": "text", "precision": 5}, Effect.SHRINKS),
    ({"data_type": "binary", "precision": 5}, {"data_type": "binary", "precision": 6}, Effect.GROWS),
    ({"data_type": "bigint", "precision": 128}, {"data_type": "bigint"}, Effect.SHRINKS),
    ({"data_type": "decimal", "precision": 5, "scale": 2}, {"data_type": "decimal", "precision": 9}, Effect.DEPENDS),
    ({"data_type": "time", "precision": 3}, {"data_type": "time"}, None),
    ({"data_type": "double"}, {"data_type": "double", "precision": 5}, None),
])  # fmt: skip
def test_another_size(before, after, expected):
    assert size_effect(full_type(before), full_type(after)) is expected
