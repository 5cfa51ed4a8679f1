"""Naming conventions: what users rely on. That they equal dlt's is in tests/parity/test_naming_parity.py."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.errors import InputError
from schemactl.registry import admit_modules
from schemactl.schema.naming import CONVENTIONS, load_naming

BUILT_IN = ("direct", "duck_case", "hash_names", "s3_tables", "snake_case", "sql_ci_v1", "sql_cs_v1")
LONG = "ThisIsAVeryLongColumnNameForTesting"

names = st.text(max_size=80).filter(str.strip)


def test_built_in_conventions_are_found_by_listing() -> None:
    assert set(CONVENTIONS) >= set(BUILT_IN)


@pytest.mark.parametrize(
    ("convention", "name", "identifier"),
    [
        ("snake_case", "getHTTPResponseCode", "get_http_response_code"),
        ("snake_case", "a+b-c@d|e", "axb_cadle"),
        ("snake_case", "id__", "idxx"),
        ("snake_case", "1st", "_1st"),
        ("duck_case", 'Größe "cm"', "Größe _cm_"),
        ("duck_case", "a__b", "a_b"),
        ("direct", "it's▶a__b", "it_s_a__b"),
        ("sql_cs_v1", "userName (new)", "userName_new"),
        ("sql_cs_v1", "__", ""),
        ("sql_ci_v1", "userName (new)", "username_new"),
    ],
)
def test_identifiers(convention: str, name: str, identifier: str) -> None:
    assert load_naming(convention).normalize_identifier(name) == identifier


@pytest.mark.parametrize(("max_length", "identifier"), [
    (None, "this_is_a_very_long_column_name_for_testing"), (43, "this_is_a_very_long_column_name_for_testing"),
    (42, "this_is_a_very_lonh7szban_name_for_testing"), (15, "this_h7szbating"), (6, "h7szba"),
])  # fmt: skip
def test_long_names_are_shortened_around_a_tag(max_length: int | None, identifier: str) -> None:
    assert load_naming("snake_case", max_length).normalize_identifier(LONG) == identifier


def test_hashed_names_are_short_and_no_name_is_hashed_twice() -> None:
    naming = load_naming("hash_names")
    name = naming.normalize_identifier(LONG)
    assert (len(name), name[0]) == (17, "h")
    assert naming.normalize_identifier(name) == naming.normalize_tables_path(name) == name
    assert naming.normalize_identifier("_dlt_id") == "_dlt_id"
    path = naming.normalize_path(f"{LONG}__{LONG}")
    assert len(path) == 17
    assert path == naming.shorten_fragments(name, name) != name
    assert naming.normalize_path("__") == naming.shorten_fragments() == ""
    assert load_naming("hash_names", 17).normalize_path(f"{LONG}__{LONG}") == path
    assert load_naming("hash_names", 10).normalize_identifier(LONG) == name[:10]


@given(st.sets(names, min_size=2, max_size=20))
def test_hashed_names_do_not_clash(found: set[str]) -> None:
    naming = load_naming("hash_names")
    assert len({naming.normalize_identifier(name) for name in found}) == len({name.strip() for name in found})


def test_a_limit_without_room_for_the_tag_is_reported() -> None:
    with pytest.raises(InputError, match="5 characters"):
        load_naming("snake_case", 5).normalize_identifier(LONG)


def test_the_tag_depends_on_the_route_of_a_path() -> None:
    naming = load_naming("snake_case", 20)
    assert naming.normalize_path("parentTable__childWithAVeryLongName__x") == "parent_mayoxqname__x"
    assert naming.shorten_fragments("parent_table", "child_with_a_very_long_name", "x") == "parent_sdmezgname__x"


def test_paths_keep_their_separator_and_lose_blank_parts() -> None:
    naming = load_naming("snake_case")
    assert naming.normalize_path("userData____firstName") == "user_data__first_name"
    assert naming.break_path("a__ __b") == ("a", "b")
    assert naming.make_path("a", "", "b") == "a__b"
    assert load_naming("direct").normalize_path("a__b▶c d") == "a__b▶c d"


def test_tables_of_s3_do_not_start_with_an_underscore() -> None:
    naming = load_naming("s3_tables")
    assert naming.normalize_table_identifier("_dlt_loads") == "dlt_loads"
    assert naming.normalize_identifier("_dlt_id") == "_dlt_id"
    assert naming.normalize_tables_path("_dlt__Items") == "dlt__items"


def test_s3_tables_has_a_limit_of_its_own() -> None:
    assert load_naming("s3_tables").max_length == 255
    with pytest.raises(InputError, match="255"):
        load_naming("s3_tables", 256)


@pytest.mark.parametrize("convention", BUILT_IN)
@pytest.mark.parametrize("blank", ["", " ", "\u00a0\t"])
def test_blank_names_are_refused_and_blank_paths_are_empty(convention: str, blank: str) -> None:
    naming = load_naming(convention)
    with pytest.raises(InputError, match="blank"):
        naming.normalize_identifier(blank)
    assert naming.normalize_path(blank) == ""


def test_a_name_with_half_of_a_surrogate_pair_is_reported() -> None:
    with pytest.raises(InputError, match="not valid Unicode"):
        load_naming("direct", 10).normalize_identifier("\ud800" * 11)


@pytest.mark.parametrize("convention", BUILT_IN)
@given(name=names, max_length=st.none() | st.integers(7, 100))
def test_identifiers_are_stable(convention: str, name: str, max_length: int | None) -> None:
    """From 7 characters on: a name of 6 is all tag, which may start with a digit."""
    naming = load_naming(convention, max_length)
    once = naming.normalize_identifier(name)
    assert not once or naming.normalize_identifier(once) == once


@pytest.mark.parametrize("convention", BUILT_IN)
@given(name=names, max_length=st.integers(6, 100))
def test_no_identifier_is_too_long(convention: str, name: str, max_length: int) -> None:
    naming = load_naming(convention, max_length)
    assert len(naming.normalize_identifier(name)) <= max_length
    assert len(naming.normalize_path(name)) <= max_length
    assert len(naming.normalize_tables_path(name)) <= max_length
    assert len(naming.shorten_fragments(name, name)) <= max_length


@pytest.mark.parametrize("convention", BUILT_IN)
@given(name=names)
def test_no_identifier_holds_the_path_separator(convention: str, name: str) -> None:
    naming = load_naming(convention)
    assert naming.path_separator not in naming.normalize_identifier(name)


# references


@pytest.mark.parametrize(
    "reference",
    [
        "dlt.common.normalizers.naming.snake_case",
        "dlt.common.normalizers.naming.snake_case.NamingConvention",
        "dlt.common.normalizers.names.snake_case",
        "snake_case.NamingConvention",
    ],
)
def test_dlts_own_paths_need_no_dlt(reference: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dlt", None)
    assert load_naming(reference).normalize_identifier("userName") == "user_name"


@pytest.mark.parametrize(("reference", "hint"), [
    ("snake_caze", "`snake_case`"), ("dlt.common.normalizers.naming.snake_caze", "`snake_case`"), ("", "snake_case"),
    (".snake_case", "snake_case"), ("no-such thing", "snake_case"),
])  # fmt: skip
def test_unknown_conventions_come_with_a_hint(reference: str, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dlt", None)
    with pytest.raises(InputError, match="no naming convention") as caught:
        load_naming(reference)
    assert hint in str(caught.value.hint)


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for modules that the user has admitted; what is imported from it is forgotten after the test."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "modules", sys.modules.copy())
    with admit_modules(["shouting", "own_names", "broken_names"]):
        yield tmp_path


def test_a_users_module_with_a_convention(modules: Path) -> None:
    (modules / "shouting.py").write_text(
        "from schemactl.schema.naming import Convention\n"
        "CONVENTION = Convention(str.upper, is_case_sensitive=False, path_separator='.', longest=30)\n"
    )
    naming = load_naming("shouting", 8)
    assert naming.normalize_path("ab.cd") == "AB.CD"
    assert len(naming.normalize_identifier("a name too long")) == 8
    assert not naming.is_case_sensitive
    with pytest.raises(InputError, match="30"):
        load_naming("shouting", 31)


DLT_STYLE = """
class NamingConvention:
    PATH_SEPARATOR = "::"
    is_case_sensitive = False
    def __init__(self, max_length=None):
        self.max_length = max_length
    def normalize_identifier(self, identifier):
        if not identifier.strip():
            raise ValueError(identifier)
        return identifier.strip().lower()[: self.max_length]
    def normalize_table_identifier(self, identifier):
        return "t_" + self.normalize_identifier(identifier)
class Other(NamingConvention):
    def make_path(self, *identifiers):
        return "/".join(identifiers)
"""


def test_a_users_class_in_dlts_manner(modules: Path) -> None:
    (modules / "own_names.py").write_text(DLT_STYLE)
    naming = load_naming("own_names", 10)
    assert naming.normalize_path("Aa::Bb") == "aa::bb"
    assert naming.normalize_tables_path("A::B") == "t_a::t_b"
    assert naming.max_length == 10
    assert not naming.is_case_sensitive
    with pytest.raises(InputError):
        naming.normalize_identifier(" ")


def test_a_users_class_by_its_path(modules: Path) -> None:
    (modules / "own_names.py").write_text(DLT_STYLE)
    assert load_naming("own_names.Other").normalize_path("A::B") == "a/b"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import no_such_module_at_all", "no_such_module_at_all"),
        ("1 / 0", "division by zero"),
        ("raise SystemExit(0)", "does not import: 0"),
        ("VALUE = 1", "contains no naming convention"),
        ("class NamingConvention: pass", "cannot create the naming convention"),
    ],
)
def test_a_users_module_that_is_wrong_is_reported(modules: Path, source: str, message: str) -> None:
    (modules / "broken_names.py").write_text(source)
    with pytest.raises(InputError, match=message) as caught:
        load_naming("broken_names")
    assert "broken_names" in str(caught.value)


@pytest.mark.parametrize(
    "reference", ["evil_module", "evil_module.NamingConvention", "numpy.f2py.__main__", "dlt.__main__"]
)
def test_a_module_that_the_user_has_not_admitted_is_never_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: str
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "evil_module.py").write_text("raise SystemExit(0)\n")
    before = set(sys.modules)
    with pytest.raises(InputError, match="no naming convention") as caught:
        load_naming(reference)
    assert f"--naming-module {reference.removesuffix('.NamingConvention')}" in str(caught.value.hint)
    assert set(sys.modules) == before


def test_a_further_convention_of_dlts_own_needs_no_word_of_the_user() -> None:
    naming = load_naming("dlt.destinations.impl.weaviate.naming")
    assert naming.normalize_table_identifier("user_items") == "UserItems"
