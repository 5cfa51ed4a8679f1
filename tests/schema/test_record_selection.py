"""The path of the records inside documents, the keys beside them, and the setting that remembers both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from schemactl.errors import InputError
from schemactl.schema.paths import ELEMENT, Path
from schemactl.schema.record_selection import SETTING, parse_selection, split_keys, stored_selection, with_selection


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("data", ("data",)),
        ("data[*]", ("data",)),
        ("$.data", ("data",)),
        (" data.items[*] ", ("data", "items")),
        ("pages[*].data", ("pages", ELEMENT, "data")),
        ("[*].data", (ELEMENT, "data")),
        ("$['a.b'].c", ("a.b", "c")),
        ("['a.b']", ("a.b",)),
        ("größe.데이터", ("größe", "데이터")),
        ("[*]", (ELEMENT,)),
        ("$", ()),
    ],
)
def test_a_path_has_keys_and_elements(text: str, path: Path) -> None:
    assert parse_selection(text).path == path


@pytest.mark.parametrize(
    "text", ["", " ", "data..items", "data[0]", "$..items", "data.*", "data.", "[data]", "a[*", "a" + ".a" * 100]
)
def test_another_path_is_an_error_that_shows_examples(text: str) -> None:
    with pytest.raises(InputError, match="is not a path of records") as caught:
        parse_selection(text)
    assert "`pages[*].data`" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        (["page,next"], ["page", "next"]),
        (["page", " meta.next ,"], ["page", "meta.next"]),
        (["$['a,b'],c"], ["$['a,b']", "c"]),
    ],
)
def test_keys_are_listed_with_commas(options: list[str], keys: list[str]) -> None:
    assert split_keys(options) == keys


def test_a_key_keeps_its_place_or_gets_a_name() -> None:
    kept = parse_selection("data", ["page", "meta.next", "number = page", "$['a=b']"]).context_keys
    assert [(key.source, key.target) for key in kept] == [
        (("page",), ("page",)),
        (("meta", "next"), ("meta", "next")),
        (("page",), ("number",)),
        (("a=b",), ("a=b",)),
    ]


@pytest.mark.parametrize(
    ("keep", "message"),
    [
        (["data"], "`--keep data` contains the records"),
        (["data.rows"], "`--keep data.rows` contains the records"),
        (["page", "page"], "`--keep page` and `--keep page` have one name"),
        (["meta", "meta.next"], "`--keep meta` and `--keep meta.next` have one name"),
        (["page", "page=next"], "`--keep page` and `--keep page=next` have one name"),
        (["pages[*].n"], "`pages[*].n` is not a key to keep (`--keep`)"),
        (["=page"], "`=page` is not a key to keep (`--keep`)"),
    ],
)
def test_keys_that_cannot_be_kept_are_errors(keep: Sequence[str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_selection("data.rows", keep)
    assert caught.value.message == message
    assert caught.value.hint


def test_whole_documents_keep_nothing() -> None:
    with pytest.raises(InputError, match="`--keep` needs the path of the records"):
        parse_selection("$", ["page"])


@pytest.mark.parametrize(("path", "keep"), [("data", []), ("pages[*]['a.b']", ["meta.next", "number=page"])])
def test_settings_remember_a_selection(path: str, keep: list[str]) -> None:
    selection = parse_selection(path, keep)
    assert stored_selection(with_selection({"detections": []}, selection)) == selection


def test_a_selection_of_whole_documents_is_forgotten() -> None:
    settings = with_selection({"detections": []}, parse_selection("data"))
    assert with_selection(settings, parse_selection("$")) == {"detections": []}
    assert stored_selection({SETTING: {"path": "$"}}) is None
    assert stored_selection({}) is None
    assert stored_selection({SETTING: None}) is None


def test_a_person_may_write_the_path_alone() -> None:
    assert stored_selection({SETTING: "data"}) == parse_selection("data")


@pytest.mark.parametrize(
    "stored", [1, {}, {"path": 1}, {"path": "data", "keep": "page"}, {"path": "data", "keep": [1]}]
)
def test_a_malformed_setting_is_an_error(stored: Any) -> None:
    with pytest.raises(InputError, match="`x-records` in `settings` does not name the path of records"):
        stored_selection({SETTING: stored})
