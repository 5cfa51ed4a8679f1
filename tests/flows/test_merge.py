"""Merging the texts of schema files: comments and form of both sides, markers, hashes, lineage."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from schemactl.errors import InputError
from schemactl.flows.merge import merge_for_git, merge_texts
from schemactl.formats.dlt import read, write
from schemactl.schema.hash import bump, version_hash
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table
from schemactl.store.folder import SchemasFolder

PATH = "schemas/import/shop.schema.yaml"
FOLDER = SchemasFolder.at("schemas")
BASE = """\
# The shop's schema
name: shop
tables:
  orders:
    columns:
      id: {data_type: bigint, primary_key: true}   # the key
      # in euros
      amount:
        data_type: double
      note:
        data_type: text
  stores:
    columns:
      city: {data_type: text}
"""
BUYER = """\
      # who bought it
      buyer:
        data_type: "text"   # quoted
"""
VIP = "      vip:    {data_type: bool}  # since May\n"
END = "        data_type: text\n"
OURS = BASE.replace(END, END + BUYER).replace("# in euros", "# in EUR")
THEIRS = BASE.replace(END, END + VIP).replace("{data_type: text}", "{data_type: text, description: x}  # where")


def merged_text(ours, theirs, base=BASE, path=PATH):
    """Return the text of a merge without conflicts and without losses."""
    merged = merge_texts(base, ours, theirs, path)
    assert (merged.conflicts, merged.lost_comments) == ((), ())
    read(merged.text, path)
    return merged.text


def conflicting_text(ours, theirs, base=BASE):
    merged = merge_texts(base, ours, theirs, PATH)
    assert merged.conflicts
    assert not merged.is_clean
    with pytest.raises(InputError, match="the file contains a merge conflict"):
        read(merged.text, PATH)
    return merged.text


def side_of(text, side):
    """Return a text with markers as a person resolves it who takes one side everywhere."""
    lines, current = [], None
    for line in text.splitlines(keepends=True):
        if line.startswith("<<<<<<< "):
            current = "ours"
        elif line == "=======\n":
            current = "theirs"
        elif line.startswith(">>>>>>> "):
            current = None
        elif current in (None, side):
            lines.append(line)
    return "".join(lines)


def test_comments_form_and_order_of_both_sides_stay():
    expected = OURS.replace(BUYER, BUYER + VIP).replace(
        "{data_type: text}", "{data_type: text, description: x}  # where"
    )
    assert merged_text(OURS, THEIRS) == expected


def test_a_file_that_leaves_out_defaults_goes_on_leaving_them_out():
    text = merged_text(OURS, THEIRS)
    assert "version" not in text
    assert "_dlt" not in text


def test_a_text_that_one_side_left_alone_is_the_other_s_to_the_byte():
    odd = BASE.replace("\n", "\r\n") + "# end"
    assert merged_text(BASE, odd) == odd
    assert merged_text(odd, BASE) == odd
    assert merged_text(odd, odd) == odd


def test_line_ends_of_a_file_stay():
    base, ours, theirs = (text.replace("\n", "\r\n") for text in (BASE, OURS, THEIRS))
    assert merged_text(ours, theirs, base) == merged_text(OURS, THEIRS).replace("\n", "\r\n")


def test_a_new_name_of_one_side_gets_the_changes_of_the_other():
    ours = OURS.replace("      amount:\n", "      total:\n        x-renamed-from: amount\n")
    theirs = THEIRS.replace("data_type: double", "data_type: decimal  # cents matter")
    text = merged_text(ours, theirs)
    assert "      # in EUR\n      total:\n        x-renamed-from: amount\n        data_type: decimal" in text
    assert "amount:\n" not in text


def test_one_column_with_two_types_stays_between_markers_and_all_else_is_merged():
    ours = OURS.replace("data_type: double", "data_type: decimal\n        precision: 10")
    text = conflicting_text(ours, THEIRS.replace("data_type: double", "data_type: bigint"))
    assert (
        """\
      amount:
<<<<<<< ours: `orders.amount` is `decimal(10)` in ours and `bigint` in theirs
        data_type: decimal
        precision: 10
=======
        data_type: bigint
>>>>>>> theirs
      note:
"""
        in text
    )
    assert side_of(text, "ours") == merged_text(ours, THEIRS)
    assert side_of(text, "theirs") == merged_text(OURS, THEIRS).replace("data_type: double", "data_type: bigint")


def test_a_dropped_column_that_the_other_side_changed_stays_between_markers_with_its_comment():
    dropped = OURS.replace("      # in EUR\n      amount:\n        data_type: double\n", "")
    text = conflicting_text(dropped, THEIRS.replace("data_type: double", "data_type: bigint"))
    assert (
        """\
<<<<<<< ours: `orders.amount` is dropped in ours and changed in theirs
=======
"""
        in text
    )
    assert "amount" not in side_of(text, "ours")
    assert "        data_type: bigint\n" in side_of(text, "theirs")


def test_a_column_with_two_new_names_stays_between_markers():
    ours, theirs = (
        text.replace("      amount:\n", f"      {name}:\n        x-renamed-from: amount\n")
        for text, name in ((OURS, "total"), (THEIRS, "gross"))
    )
    text = conflicting_text(ours, theirs)
    assert (
        """\
<<<<<<< ours: `orders.amount` is renamed to `total` in ours and to `gross` in theirs
      total:
=======
      gross:
>>>>>>> theirs
"""
        in text
    )


def test_each_of_several_conflicts_has_its_own_sentence():
    ours = OURS.replace("data_type: double", "data_type: decimal").replace("{data_type: text}", "{data_type: json}")
    theirs = THEIRS.replace("data_type: double", "data_type: bigint").replace("{data_type: text,", "{data_type: date,")
    opened = [line for line in conflicting_text(ours, theirs).splitlines() if line.startswith("<<<<<<< ")]
    assert opened == [
        "<<<<<<< ours: `orders.amount` is `decimal` in ours and `bigint` in theirs",
        "<<<<<<< ours: `stores.city` is `json` in ours and `date` in theirs",
    ]


def test_markers_have_the_size_that_git_asks_for():
    ours, theirs = (text.replace("double", kind) for text, kind in ((OURS, "decimal"), (THEIRS, "bigint")))
    text = merge_texts(BASE, ours, theirs, PATH, 12).text
    assert "\n<<<<<<<<<<<< ours: " in text
    assert "\n============\n" in text
    assert "\n>>>>>>>>>>>> theirs\n" in text


def test_comments_that_do_not_fit_are_named():
    ours = OURS.replace("      amount:\n        data_type: double\n", "      amount: {data_type: double}\n")
    theirs = THEIRS.replace("data_type: double", "data_type: double  # a float").replace("double", "bigint")
    merged = merge_texts(BASE, ours, theirs, PATH)
    fitting_comments = {"# since May", "# where", "# a float"} - set(merged.lost_comments)
    assert all(comment in merged.text for comment in fitting_comments)
    assert read(merged.text, PATH).schema.column("orders", "amount").data_type == "bigint"


def stored(*columns, base=None):
    items = {name: Column(name, {"data_type": kind, "nullable": True}) for name, kind in columns}
    table = Table("orders", items, {"write_disposition": "append", "resource": "orders"})
    return bump((base or new_schema("shop")).with_table(table))


FIRST = stored(("id", "bigint"))
OUR_EXPORT = stored(("id", "bigint"), ("city", "text"), base=FIRST)
THEIR_EXPORT = stored(("id", "bigint"), ("vip", "bool"), base=FIRST)


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_an_export_file_has_what_both_sides_brought_with_a_right_hash(ending):
    path = f"schemas/export/shop.schema.{ending}"
    text = merged_text(*(write(schema, path) for schema in (OUR_EXPORT, THEIR_EXPORT)), write(FIRST, path), path)
    document = read(text, path)
    assert not document.is_edited
    assert list(document.schema.tables["orders"].columns) == ["id", "city", "vip"]
    assert document.schema.version_hash == version_hash(document.schema)
    assert document.schema.version == OUR_EXPORT.version + 1
    assert document.schema.previous_hashes == (
        OUR_EXPORT.version_hash,
        THEIR_EXPORT.version_hash,
        FIRST.version_hash,
    )
    assert text == write(document.schema, path)


def test_an_export_file_that_both_sides_added_is_merged():
    path = "schemas/export/shop.schema.yaml"
    text = merged_text(write(OUR_EXPORT, path), write(THEIR_EXPORT, path), "", path)
    assert list(read(text, path).schema.tables["orders"].columns) == ["id", "city", "vip"]


def test_either_side_of_a_conflict_is_a_schema():
    ours, theirs = (stored(("id", "bigint"), ("city", kind), base=FIRST) for kind in ("text", "json"))
    path = "schemas/export/shop.schema.yaml"
    text = merge_texts(*(write(schema, path) for schema in (FIRST, ours, theirs)), path).text
    assert text.count("<<<<<<<") == 1
    for side, schema in (("ours", ours), ("theirs", theirs)):
        document = read(side_of(text, side), path)
        assert document.schema.tables == schema.tables
        assert document.is_edited is (side == "theirs")
        resolved = bump(document.schema)
        assert {ours.version_hash, theirs.version_hash} - {resolved.version_hash} <= set(resolved.previous_hashes)


def test_the_link_to_the_import_file_stays():
    path = "schemas/export/shop.schema.yaml"
    ours = replace(OUR_EXPORT, imported_version_hash="first")
    texts = [write(schema, path) for schema in (FIRST, OUR_EXPORT, THEIR_EXPORT)]
    with_links = [
        f"{text.rstrip()}\nimported_version_hash: {link}\n"
        for text, link in zip(texts, ("first", "first", "second"), strict=True)
    ]
    document = read(merge_texts(*with_links, path).text, path)
    assert ours.imported_version_hash == "first"
    assert document.schema.imported_version_hash == "second"


def test_lineage_has_the_paths_of_both_sides():
    def lineage(*columns):
        paths = {name: [{"path": f"$.{name}", "kinds": ["text"]}] for name in columns}
        return json.dumps({"schemactl_lineage": 1, "tables": {"orders": {"rows": ["$"], "columns": paths}}})

    path = "schemas/export/shop.lineage.json"
    text = merge_texts(lineage("id"), lineage("id", "city"), lineage("id", "vip"), path).text
    assert list(json.loads(text)["tables"]["orders"]["columns"]) == ["id", "city", "vip"]


@pytest.mark.parametrize("text", ["name: [", "just text\n", "<<<<<<< ours\nname: shop\n"])
def test_a_text_that_is_no_schema_is_refused(text):
    with pytest.raises(InputError):
        merge_texts(BASE, OURS, text, PATH)


def test_git_gets_its_own_merge_of_lines_for_a_file_that_is_no_schema(tmp_path: Path):
    files = [tmp_path / name for name in ("base", "ours", "theirs")]
    for file, text in zip(files, ("a: [\n1\n2\n", "a: [\n1\n3\n", "a: [\n1\n4\n"), strict=True):
        file.write_text(text)
    merged = merge_for_git(*files, 7, PATH, FOLDER)
    assert not merged.is_clean
    assert files[1].read_text() == "a: [\n1\n<<<<<<< ours\n3\n=======\n4\n>>>>>>> theirs\n"
    assert "shop.schema.yaml" in merged.fault


def test_a_merge_of_lines_without_conflict_is_not_taken_for_a_schema(tmp_path: Path):
    files = [tmp_path / name for name in ("base", "ours", "theirs")]
    for file, text in zip(files, ("name: [\nb\nc\nd\n", "name: [\na\nb\nc\nd\n", "name: [\nb\nc\nd\ne\n"), strict=True):
        file.write_text(text)
    assert not merge_for_git(*files, 7, PATH, FOLDER).is_clean
    assert files[1].read_text() == "name: [\na\nb\nc\nd\ne\n"


def test_a_binary_file_is_left_alone(tmp_path: Path):
    files = [tmp_path / name for name in ("base", "ours", "theirs")]
    for number, file in enumerate(files):
        file.write_bytes(b"\0" * (number + 1))
    with pytest.raises(InputError, match="git cannot merge"):
        merge_for_git(*files, 7, PATH, FOLDER)
    assert files[1].read_bytes() == b"\0\0"


def test_the_fallback_is_what_git_merge_file_writes(tmp_path: Path):
    files = [tmp_path / name for name in ("base", "ours", "theirs")]
    for file, text in zip(files, ("x\n", "y\n", "z\n"), strict=True):
        file.write_text(text)
    command = [
        "git",
        "merge-file",
        "-p",
        "-L",
        "ours",
        "-L",
        "base",
        "-L",
        "theirs",
        *map(str, (files[1], files[0], files[2])),
    ]
    expected = subprocess.run(command, capture_output=True, check=False).stdout
    merge_for_git(*files, 7, PATH, FOLDER)
    assert files[1].read_bytes() == expected
