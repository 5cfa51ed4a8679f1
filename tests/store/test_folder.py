"""The schemas folder: which file holds which schema."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemactl.errors import InputError
from schemactl.store.folder import (
    SchemasFolder,
    find_file,
    list_names,
    missing_schema,
    new_file,
    read_schema,
    schema_name,
)
from schemactl.store.text import read_text


def test_names_are_those_of_schema_files_only(tmp_path):
    for name in ("b.schema.yaml", "a.schema.json", "c.schema.yml", "d.yaml", ".schema.yaml", "e.schema.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / ".schemactl-0123.tmp").write_text("")
    (tmp_path / "x:y.schema.yaml").write_text("")  # no revision stands before a name on disk
    assert list_names(tmp_path) == ("a", "b", "c", "x:y")


def test_a_folder_that_is_not_there_holds_no_schemas(tmp_path):
    assert list_names(tmp_path / "none") == ()
    assert find_file(tmp_path / "none", "a") is None


def test_a_file_in_place_of_a_folder_is_reported(tmp_path):
    (tmp_path / "export").write_text("")
    with pytest.raises(InputError, match="cannot list"):
        list_names(tmp_path / "export")


@pytest.mark.parametrize("ending", ["yaml", "yml", "json"])
def test_each_ending_is_found(tmp_path, ending):
    path = tmp_path / f"a.schema.{ending}"
    path.write_bytes(b"name: a\r\n")
    file = read_schema(tmp_path, "a")
    assert file is not None
    assert (file.path, file.text) == (path, "name: a\r\n")


def test_two_files_of_one_schema_are_refused(tmp_path):
    (tmp_path / "a.schema.yaml").write_text("")
    (tmp_path / "a.schema.json").write_text("")
    with pytest.raises(InputError, match=r"more than once: `a\.schema\.yaml`, `a\.schema\.json`"):
        find_file(tmp_path, "a")


@pytest.mark.parametrize("name", ["", "../a", "a/b", "a.b", "1a", "a b", "x" * 65, "a\n"])
def test_a_name_that_is_no_schemas_leads_nowhere(tmp_path, name):
    (tmp_path.parent / "a.schema.yaml").write_text("")
    with pytest.raises(InputError, match="cannot name a schema"):
        find_file(tmp_path, name)


def test_a_name_in_another_script_is_fine(tmp_path):
    (tmp_path / "Żółw.schema.yaml").write_text("x")
    assert list_names(tmp_path) == ("Żółw",)
    assert find_file(tmp_path, "Żółw") is not None


def test_a_broken_link_is_reported_and_not_taken_for_absence(tmp_path):
    (tmp_path / "a.schema.yaml").symlink_to(tmp_path / "gone.yaml")
    with pytest.raises(InputError, match="there is no file") as caught:
        read_schema(tmp_path, "a")
    assert caught.value.hint is None


def test_the_nearest_file_is_named_for_one_that_is_not_there(tmp_path):
    (tmp_path / "orders.schema.yaml").write_text("x")
    with pytest.raises(InputError, match="there is no file") as caught:
        read_text(tmp_path / "order.schema.yaml")
    assert caught.value.hint == f"did you mean `{tmp_path}/orders.schema.yaml`?"


def test_text_that_is_not_utf8_is_reported_with_its_place(tmp_path):
    path = tmp_path / "a.schema.yaml"
    path.write_bytes("name: ż\nb: é".encode() + b"\xff")
    with pytest.raises(InputError) as caught:
        read_schema(tmp_path, "a")
    at = caught.value.at
    assert at is not None
    assert (at.path, at.line, at.column) == (str(path), 2, 5)


def test_an_endless_file_is_refused(tmp_path):
    (tmp_path / "a.schema.yaml").symlink_to("/dev/zero")
    with pytest.raises(InputError, match="longer than 64 MiB"):
        read_schema(tmp_path, "a")


def test_a_folder_named_as_a_schema_file_is_reported(tmp_path):
    (tmp_path / "a.schema.yaml").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        read_schema(tmp_path, "a")


def test_a_new_file_takes_after_its_sibling(tmp_path):
    assert new_file(tmp_path, "a").name == "a.schema.yaml"
    assert new_file(tmp_path, "a", like=Path("x/b.schema.json")).name == "a.schema.json"


def test_one_folder_for_both_is_seen_through_links(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert SchemasFolder(tmp_path, tmp_path / "real", tmp_path / "link").is_shared
    assert SchemasFolder(tmp_path, tmp_path, tmp_path / "real" / "..").is_shared
    assert not SchemasFolder.at(tmp_path).is_shared


@pytest.mark.parametrize(
    ("path", "name"), [("x/a.schema.yaml", "a"), ("a.schema.jsonl", None), ("a.b.schema.yaml", None)]
)
def test_the_name_is_read_off_the_file(path, name):
    assert schema_name(Path(path)) == name


def test_a_missing_schema_comes_with_a_way_out(tmp_path):
    folder = SchemasFolder.at(tmp_path)
    assert "create a schema" in str(missing_schema(folder, "github").hint)
    folder.exports.mkdir()
    (folder.exports / "github.schema.yaml").write_text("")
    assert missing_schema(folder, "gihub").hint == "did you mean `github`?"
    assert missing_schema(folder, "orders").hint == "known: github"
    folder.imports.mkdir()
    (folder.imports / "gihub.schema.yaml").write_text("")
    assert "`import:gihub`" in str(missing_schema(folder, "gihub").hint)
