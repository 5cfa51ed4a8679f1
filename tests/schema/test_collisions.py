"""Names in the data that become one identifier."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.errors import InputError
from schemactl.schema.collisions import find_collisions, resolve_collisions
from schemactl.schema.naming import load_naming

SNAKE = load_naming("snake_case")

keys = st.lists(st.text(alphabet="aAbB_ 2é", max_size=12), max_size=20)
conventions = st.sampled_from(("snake_case", "duck_case", "direct", "sql_ci_v1", "sql_cs_v1", "s3_tables"))


def test_names_that_become_one_are_found_in_order() -> None:
    found = find_collisions(["userId", "name", "user_id", "Name", "user id", "age", "name"], SNAKE)
    assert list(found.items()) == [("user_id", ("userId", "user_id", "user id")), ("name", ("name", "Name"))]


def test_case_counts_where_the_convention_says_so() -> None:
    assert find_collisions(["id", "ID"], load_naming("sql_cs_v1")) == {}
    assert find_collisions(["id", "ID"], load_naming("sql_ci_v1")) == {"id": ("id", "ID")}


def test_paths_collide_only_where_they_are_not_kept() -> None:
    assert find_collisions(["a__b", "a_b"], SNAKE) == {}
    assert find_collisions(["a__b", "a_b"], SNAKE, breaks_paths=False) == {"a_b": ("a__b", "a_b")}


@pytest.mark.parametrize("breaks_paths", [True, False])
def test_blank_names_are_one(breaks_paths: bool) -> None:
    found = find_collisions(["", " ", "_empty"], SNAKE, breaks_paths=breaks_paths)
    assert found == {"_empty": ("", " ", "_empty")}


def test_the_first_name_keeps_the_identifier() -> None:
    assert resolve_collisions(["Id", "ID", "name", "id"], SNAKE) == {"ID": "id_2", "id": "id_3"}


def test_identifiers_of_other_names_are_left_to_them() -> None:
    assert resolve_collisions(["id", "ID", "id_2", "Id_2"], SNAKE) == {"ID": "id_3", "Id_2": "id_2_2"}


def test_numbers_fit_into_the_longest_identifier() -> None:
    naming = load_naming("snake_case", 8)
    assert resolve_collisions(["customer", "Customer"], naming) == {"Customer": "custom_2"}


def test_a_cut_leaves_no_path_separator() -> None:
    naming = load_naming("snake_case", 8)
    assert resolve_collisions(["abcde_fg", "Abcde_fg"], naming) == {"Abcde_fg": "abcde_2"}


def test_no_room_for_a_number_is_reported() -> None:
    with pytest.raises(InputError, match="1 characters"):
        resolve_collisions(["a", "A"], load_naming("snake_case", 1))


@given(names=keys, convention=conventions, max_length=st.none() | st.integers(7, 20))
def test_after_resolving_each_name_has_its_own_identifier(
    names: list[str], convention: str, max_length: int | None
) -> None:
    naming = load_naming(convention, max_length)
    distinct = list(dict.fromkeys(names))
    resolved = resolve_collisions(names, naming)
    identifiers = [
        resolved.get(name) or (naming.normalize_path(name) if name.strip() else "_empty") for name in distinct
    ]
    assert len(set(identifiers)) == len(distinct)
    assert all(len(identifier) <= (max_length or 255) for identifier in identifiers)


@given(names=keys, convention=conventions)
def test_what_is_found_is_what_is_resolved(names: list[str], convention: str) -> None:
    naming = load_naming(convention)
    later = [name for same in find_collisions(names, naming).values() for name in same[1:]]
    assert list(resolve_collisions(names, naming)) == later


@given(names=keys, convention=conventions, max_length=st.none() | st.integers(7, 20))
def test_new_identifiers_are_stable(names: list[str], convention: str, max_length: int | None) -> None:
    """dlt normalizes the names of a schema again when it is changed; the new ones must come through."""
    naming = load_naming(convention, max_length)
    for identifier in resolve_collisions(names, naming).values():
        assert naming.normalize_path(identifier) == identifier
