"""What columns of a stated size need for numbers."""

from __future__ import annotations

import pytest

from schemactl.inference.evidence import Position, observe
from schemactl.inference.resolve import resolve
from schemactl.inference.values import bits_for, room_for
from schemactl.inference.widening import with_room
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

SMALL = {"data_type": "bigint", "precision": 16}
MONEY = {"data_type": "decimal", "precision": 6, "scale": 2}


@pytest.mark.parametrize(
    ("column", "least", "greatest", "needed"),
    [
        (SMALL, -(2**15), 2**15 - 1, None),
        (SMALL, 0, 2**15, 32),
        (SMALL, -(2**15) - 1, 0, 32),
        (SMALL, 0, 2**40, 64),
        ({"data_type": "bigint", "precision": 20}, 0, 2**31 - 1, None),
        ({"data_type": "bigint", "precision": 20}, 0, 2**31, 64),
        ({"data_type": "bigint"}, 0, 2**70, None),
        (MONEY, 0, 9999.99, None),
        (MONEY, 0, 9999.994, None),
        (MONEY, 0, 9999.995, 7),
        (MONEY, -123456.7, 0, 8),
        (MONEY, 0, 1e300, None),
        (MONEY, 0, float("inf"), None),
        ({"data_type": "wei", "precision": 5}, 0, 99999, None),
        ({"data_type": "wei", "precision": 5}, 0, 100000, 6),
        ({"data_type": "text", "precision": 2}, 0, 12345, None),
    ],
)
def test_a_column_grows_only_where_its_stored_type_has_no_room(column, least, greatest, needed):
    assert room_for(column, least, greatest).get("precision") == needed


def test_a_column_with_room_holds_the_range_that_it_was_grown_for():
    for greatest in (2**15, 2**31, 2**62, 123456.78, 9999.995):
        for column in (SMALL, MONEY):
            assert room_for(with_room(column, room_for(column, 0, greatest)), 0, greatest) == {}


def test_the_smallest_size_that_holds_a_range_is_taken():
    assert [bits_for(-(2.0**bits), 2.0**bits - 1) for bits in (7, 15, 31)] == [8, 16, 32]


def test_numbers_of_documents_ask_for_room_and_texts_do_not():
    columns = {
        "a": {**SMALL},
        "d": {**MONEY},
        "t": {"data_type": "text", "precision": 2},
    }
    table = Table("data", {name: Column(name, kept) for name, kept in columns.items()}, {"resource": "data"})
    documents = [{"a": 7, "d": 1, "t": "ab"}, {"a": 2**20, "d": 123456.78, "t": "abcdef"}]
    evidence = observe((Position("f", at), document) for at, document in enumerate(documents, 1))

    found = resolve(evidence, new_schema("s").with_table(table), "data").schema.tables["data"].columns

    sizes = {name: (found[name].properties["precision"], found[name].properties.get("scale")) for name in columns}
    assert sizes == {"a": (32, None), "d": (8, 2), "t": (2, None)}
