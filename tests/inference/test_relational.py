"""Rows and columns of nested documents, where they come from, and in what order."""

from __future__ import annotations

import pytest

from schemactl.inference.relational import NO_PATH, RelationalNormalizer
from schemactl.schema.naming import load_naming
from schemactl.schema.paths import ELEMENT
from schemactl.schema.settings import NormalizerConfig


class View:
    """A schema of some root tables and JSON columns."""

    def __init__(self, roots=(), json=()):
        self.roots, self.json = roots, json

    def is_root(self, table):
        return table in self.roots

    def keeps_json(self, table, column, path):
        return (table, column) in self.json


def rows_of(document, *, view=None, config=None, renamed=None, max_nesting=None):
    normalizer = RelationalNormalizer(load_naming("snake_case"), config or NormalizerConfig(), view or View(), renamed)
    return list(normalizer.rows(document, "t", max_nesting))


def columns_of(document, **how):
    """Return for each row its table and the columns that the data fills."""
    return [
        (row.table, {cell.column: cell.value for cell in row.cells if cell.path is not NO_PATH})
        for row in rows_of(document, **how)
    ]


def test_scalars_come_first_then_nested_objects_the_last_one_first():
    ((_, columns),) = columns_of({"z": {"p": 1, "q": {"r": 1}}, "y": {"w": 2}, "k": 5})
    assert list(columns) == ["k", "y__w", "z__p", "z__q__r"]


def test_lists_become_tables_and_lists_in_lists_too():
    assert columns_of({"a": {"items": [{"x": 1}, 2, [3]]}}) == [
        ("t", {}),
        ("t__a__items", {"x": 1}),
        ("t__a__items", {"value": 2}),
        ("t__a__items", {}),
        ("t__a__items__list", {"value": 3}),
    ]


def test_cells_know_their_path():
    rows = rows_of({"a": {"B": 1}, "l": [{"c": 1}, [2]]})
    paths = [cell.path for row in rows for cell in row.cells if cell.path is not NO_PATH]
    assert paths == [("a", "B"), ("l", ELEMENT, "c"), ("l", ELEMENT, ELEMENT)]


def test_columns_that_dlt_adds():
    root, nested = rows_of({"l": [{"x": 1}]})
    assert [cell.column for cell in root.cells] == ["_dlt_load_id", "_dlt_id"]
    assert [cell.column for cell in nested.cells] == ["x", "_dlt_parent_id", "_dlt_list_idx", "_dlt_id"]
    assert (root.parent, nested.parent) == (None, "t")


def test_a_row_that_brings_its_key_is_not_linked_and_hands_it_down():
    _, nested, inner = rows_of({"l": [{"_dlt_id": 7, "m": [1]}]})
    assert [cell.column for cell in nested.cells] == ["_dlt_id"]
    assert {cell.column: cell.value for cell in inner.cells}["_dlt_parent_id"] == 7


def test_what_dlt_adds_overwrites_what_the_data_brings():
    (row,) = rows_of({"_dlt_load_id": 5, "a": 1, "_dlt_id": 0})
    assert [(cell.column, type(cell.value)) for cell in row.cells] == [
        ("_dlt_load_id", str),
        ("a", int),
        ("_dlt_id", str),
    ]


def test_keys_that_collide_all_bring_their_values():
    rows = rows_of({"Id": 1, "id": 2, "L": [3], "l": [4]})
    assert [cell.value for row in rows for cell in row.cells if cell.path is not NO_PATH] == [1, 2, 3, 4]


def test_renamed_keys_keep_apart():
    renamed = {("id",): "id_2", ("l",): "l_2"}
    assert columns_of({"Id": 1, "id": 2, "L": [3], "l": [4]}, renamed=renamed) == [
        ("t", {"id": 1, "id_2": 2}),
        ("t__l", {"value": 3}),
        ("t__l_2", {"value": 4}),
    ]


@pytest.mark.parametrize(
    ("max_nesting", "expected"),
    [
        (0, [("t", {"a": {"b": {"c": 1}}, "l": [[1]]})]),
        (1, [("t", {"a__b": {"c": 1}}), ("t__l", {"list": [1]})]),
        (3, [("t", {"a__b__c": 1}), ("t__l", {}), ("t__l__list", {"value": 1})]),
    ],
)
def test_nesting_beyond_the_limit_is_kept_whole(max_nesting, expected):
    assert columns_of({"a": {"b": {"c": 1}}, "l": [[1]]}, max_nesting=max_nesting) == expected


def test_what_a_json_column_takes_is_kept_whole():
    document = {"a": {"b": 1}, "l": [{"a": {"b": 1}}]}
    assert columns_of(document, view=View(json=[("t", "a")])) == [("t", {"a": {"b": 1}}), ("t__l", {"a__b": 1})]


def test_a_list_under_a_root_table_of_its_own_is_not_linked():
    _, nested = rows_of({"l": [{"x": 1}]}, view=View(roots=["t__l"]))
    assert nested.parent is None
    assert [cell.column for cell in nested.cells] == ["x", "_dlt_load_id", "_dlt_id"]


def test_columns_are_copied_down():
    config = NormalizerConfig(propagation_root={"id": "root_id"}, propagation_tables={"t__l": {"k": "l_k"}})
    assert columns_of({"id": 1, "l": [{"k": 2, "m": [3]}]}, config=config) == [
        ("t", {"id": 1}),
        ("t__l", {"k": 2, "root_id": 1}),
        ("t__l__m", {"value": 3, "l_k": 2, "root_id": 1}),
    ]


def test_blank_keys():
    assert columns_of({"": 1, "l": {"": [{"a": 1}]}}) == [("t", {"_empty": 1}), ("t__l", {"a": 1})]


@pytest.mark.parametrize("document", ["text", 5, None])
def test_a_document_that_is_no_object_is_a_value(document):
    assert columns_of(document) == [("t", {"value": document})]
    assert rows_of(document)[0].cells[0].path == ()
