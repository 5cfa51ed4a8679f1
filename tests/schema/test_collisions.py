"""Names in the data that become one identifier."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.errors import InputError
from schemactl.schema.collisions import find_collisions, numbered
from schemactl.schema.naming import load_naming

SNAKE = load_naming("snake_case")

names = st.text(alphabet="aAbB_ 2é", max_size=12)
conventions = st.sampled_from(("snake_case", "duck_case", "direct", "sql_ci_v1", "sql_cs_v1", "s3_tables"))


def test_names_that_become_one_are_found_in_order() -> None:
    found = find_collisions(["userId", "name", "user_id", "Name", "user id", "age", "name"], SNAKE)
    assert list(found.items()) == [("user_id", ("userId", "user_id", "user id")), ("name", ("name", "Name"))]


def test_case_counts_where_the_convention_says_so() -> None:
    assert find_collisions(["id", "ID"], load_naming("sql_cs_v1")) == {}
    assert find_collisions(["id", "ID"], load_naming("sql_ci_v1")) == {"id": ("id", "ID")}


def test_paths_are_no_collisions() -> None:
    assert find_collisions(["a__b", "a_b"], SNAKE) == {}


def test_blank_names_are_one() -> None:
    assert find_collisions(["", " ", "_empty"], SNAKE) == {"_empty": ("", " ", "_empty")}


def test_numbers_fit_into_the_longest_identifier() -> None:
    assert numbered("customer", 2, SNAKE) == "customer_2"
    assert numbered("customer", 2, load_naming("snake_case", 8)) == "custom_2"


def test_a_cut_leaves_no_path_separator() -> None:
    assert numbered("abcde_fg", 2, load_naming("snake_case", 8)) == "abcde_2"


def test_no_room_for_a_number_is_reported() -> None:
    with pytest.raises(InputError, match="1 characters"):
        numbered("a", 2, load_naming("snake_case", 1))


@given(name=names, number=st.integers(2, 99), convention=conventions, max_length=st.none() | st.integers(7, 20))
def test_new_identifiers_are_stable(name: str, number: int, convention: str, max_length: int | None) -> None:
    """dlt normalizes the names of a schema again when it is changed; the new ones must come through."""
    naming = load_naming(convention, max_length)
    identifier = numbered(naming.normalize_path(name) if name.strip() else "_empty", number, naming)
    assert naming.normalize_path(identifier) == identifier
    assert len(identifier) <= (max_length or 255)
