"""What SOURCE arguments name, and which format each file has; all of it without Spark."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from platforms import IS_ROOT, needs_posix

from schemactl.engine.input import Input, read_head, shown_path
from schemactl.engine.inputs import by_format, find_inputs
from schemactl.errors import InputError
from schemactl.store.sources import LeftOutWarning

LINES = '{"id": 1}\n{"id": 2}\n'


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def write(name: str, content: str | bytes = LINES) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def formats(*sources: str, input_format: str | None = None) -> list[str]:
    return [each.format for each in find_inputs(sources, input_format)]


def shown(*sources: str) -> list[str]:
    return [each.path for each in find_inputs(sources)]


# --- which format ---


@pytest.mark.parametrize(("name", "expected"), [
    ("a.jsonl", "ndjson"), ("a.ndjson", "ndjson"), ("a.JSONL", "ndjson"), ("a.csv", "csv"), ("a.tsv", "tsv"),
    ("a.txt", "text"), ("a.log", "text"), ("a.xml", "xml"), ("a.parquet", "parquet"), ("a.snappy.parquet", "parquet"),
    ("a.orc", "orc"), ("a.avro", "avro"), ("a.csv.lz4", "csv"), ("part-0000.c000.snappy.orc", "orc"),
])  # fmt: skip
def test_the_ending_reports_the_format(name: str, expected: str) -> None:
    starts = {"parquet": b"PAR1\x15\x00", "orc": b"ORC\x08", "avro": b"Obj\x01\x04"}
    write(name, starts.get(expected, LINES))
    assert formats(name) == [expected]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
def test_the_ending_below_that_of_a_compression_counts(compress) -> None:
    ending = {gzip.compress: "gz", bz2.compress: "bz2"}[compress]
    for name, text in {"a.csv": "x,y\n1,2\n", "a.jsonl": LINES, "a.json": "[1]"}.items():
        write(f"{name}.{ending}", compress(text.encode()))
    assert formats(f"*.{ending}") == ["csv", "json", "ndjson"]


@pytest.mark.parametrize(("text", "expected"), [
    ('{"id": 1}\n{"id": 2}\n', "ndjson"), ('{"id": 1}', "ndjson"), ('\n\n{"id": 1}\n', "ndjson"),
    ('[{"id": 1}, {"id": 2}]', "json"), ('[\n {"id": 1},\n {"id": 2}\n]', "json"), ('{\n "id": 1\n}', "json"),
    ("[1]\n[2]\n", "ndjson"), ("", "ndjson"), ("\ufeff[1, 2]", "json"), ('{"id": 1\n{"id": 2}\n', "ndjson"),
    ('[\n{"id": 1},\n{"id": 2}\n]', "json"), ('{\n"a": {\n"b": 1\n}\n}', "json"), ('{"a":\n{"b": 1}\n}', "json"),
])  # fmt: skip
def test_lines_and_documents_of_json_are_distinguished(text: str, expected: str) -> None:
    write("a.json", text)
    assert formats("a.json") == [expected]


def test_a_list_longer_than_what_is_looked_at_is_one_document() -> None:
    write("a.json", json.dumps([{"id": number, "text": "x" * 1000} for number in range(1500)]))
    assert formats("a.json") == ["json"]


def test_a_line_longer_than_what_is_looked_at_is_a_line() -> None:
    write("a.json", json.dumps({"id": 1, "text": "x" * (3 << 20)}) + "\n" + LINES)
    assert formats("a.json") == ["ndjson"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (LINES, "ndjson"),
        (b"PAR1\x15\x00", "parquet"),
        (b"ORC\x08", "orc"),
        (b"Obj\x01\x04", "avro"),
        ("<rows><row/></rows>", "xml"),
        ("\ufeff<?xml version='1.0'?><rows/>", "xml"),
        ("[1,\n2]", "json"),
    ],
)
def test_without_a_known_ending_the_first_bytes_report(content: str | bytes, expected: str) -> None:
    write("dump", content)
    write("dump.2024", content)
    assert formats("dump", "dump.2024") == [expected, expected]


def test_a_format_that_cannot_be_reported_has_to_be_named() -> None:
    write("dump", "just words\n")
    with pytest.raises(InputError, match="cannot recognize the format") as caught:
        find_inputs(["dump"])
    assert str(caught.value.at) == "dump"
    assert "`--input-format`" in (caught.value.hint or "")
    assert formats("dump", input_format="text") == ["text"]


def test_a_named_format_goes_before_the_ending() -> None:
    write("a.csv")
    assert formats("a.csv", input_format="ndjson") == ["ndjson"]


def test_an_unknown_format_is_reported_with_the_nearest_one() -> None:
    write("a.csv")
    with pytest.raises(InputError, match="no input format `parqet`") as caught:
        find_inputs(["a.csv"], "parqet")
    assert caught.value.hint == "did you mean `parquet`?"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("mark", ["\ufeff", ""])
def test_utf16_is_reported_with_and_without_a_mark(encoding: str, mark: str) -> None:
    write("a.json", (mark + LINES).encode(encoding))
    (found,) = find_inputs(["a.json"])
    assert (found.format, found.encoding) == ("ndjson", encoding.upper().replace("UTF-16-", "UTF-16"))
    assert read_head(found) == LINES


def test_nul_bytes_of_other_files_are_no_utf16() -> None:
    write("a.csv", b"a,b\n\x00\x00\x00\x00")
    write("b.parquet", b"PAR1" + bytes(64))
    write("c.jsonl", bytes(64))
    assert {each.encoding for each in find_inputs(["."])} == {"UTF-8"}


# --- which files ---


def test_a_folder_is_every_file_in_it_but_hidden_ones() -> None:
    for name in ("d/b.jsonl", "d/a/c.jsonl", "d/.hidden.jsonl", "d/_SUCCESS", "d/_temporary/x.jsonl", "d/.git/x.jsonl"):
        write(name)
    assert shown("d") == ["d/a/c.jsonl", "d/b.jsonl"]
    assert shown("d/") == shown("d")


@pytest.mark.parametrize("name", ["_rows.jsonl", ".rows.jsonl", "a:b.jsonl"])
def test_a_named_file_that_spark_would_overlook_is_reported(name: str) -> None:
    write(f"d/{name}")
    with pytest.raises(InputError, match="Spark does not read files") as caught:
        find_inputs([f"d/{name}"])
    assert str(caught.value.at) == f"d/{name}"


def test_a_folder_whose_own_name_is_hidden_is_read() -> None:
    write(".data/rows.jsonl")
    assert shown(".data") == [".data/rows.jsonl"]


def test_a_glob_is_the_files_that_match() -> None:
    for name in ("a1.jsonl", "a2.jsonl", "b1.jsonl", "x/a3.jsonl", "x/y/a4.jsonl"):
        write(name)
    assert shown("a*.jsonl") == ["a1.jsonl", "a2.jsonl"]
    assert shown("**/a*.jsonl") == ["a1.jsonl", "a2.jsonl", "x/a3.jsonl", "x/y/a4.jsonl"]
    assert shown("[ab]1.jsonl") == ["a1.jsonl", "b1.jsonl"]


def test_a_glob_that_matches_folders_takes_their_files() -> None:
    for name in ("day=1/a.jsonl", "day=2/b.jsonl", "day=2/_SUCCESS", "day=2/.tmp/c.jsonl"):
        write(name)
    with pytest.warns(LeftOutWarning, match="`day`"):
        assert shown("day=*") == ["day=1/a.jsonl", "day=2/b.jsonl"]


def test_files_are_sorted_and_each_is_read_once(work: Path) -> None:
    write("b.jsonl")
    write("a.jsonl")
    assert shown("b.jsonl", "*.jsonl", ".", "./a.jsonl", str(work / "b.jsonl")) == ["a.jsonl", "b.jsonl"]


@pytest.mark.parametrize(
    "name",
    [
        "a b.jsonl", "100%.jsonl", "a%20b.jsonl", "größe.jsonl", "e\u0301.jsonl", "🚀.jsonl", "a#b?c.jsonl",
        "a'b\".jsonl", "a;b&c=d.jsonl", "[1].jsonl", "{x}.jsonl", "a*.jsonl", "a,b.jsonl", "-x.jsonl", "a\\b.jsonl",
    ],
)  # fmt: skip
def test_any_name_of_a_file_is_shown_as_it_is(name: str) -> None:
    write(name)
    assert shown(name) == [name]
    assert shown(".") == [name]


def test_a_missing_file_is_reported_with_the_nearest_one() -> None:
    write("orders.jsonl")
    with pytest.raises(InputError, match=r"there is no `ordrs\.jsonl`") as caught:
        find_inputs(["ordrs.jsonl"])
    assert caught.value.hint == "did you mean `orders.jsonl`?"
    with pytest.raises(InputError, match="there is no `none/such`") as caught:
        find_inputs(["none/such"])
    assert caught.value.hint is None


def test_an_empty_folder_and_a_glob_without_matches_are_reported() -> None:
    Path("empty").mkdir()
    with pytest.raises(InputError, match="the folder `empty` contains no files"):
        find_inputs(["empty"])
    with pytest.raises(InputError, match=r"no file matches `\*\.jsonl`"):
        find_inputs(["*.jsonl"])
    with pytest.raises(InputError, match=r"no file matches `emp\*`"):
        find_inputs(["emp*"])


def test_a_link_is_shown_by_its_own_name() -> None:
    write("elsewhere/rows.jsonl")
    Path("link.jsonl").symlink_to("elsewhere/rows.jsonl")
    Path("folder").symlink_to("elsewhere", target_is_directory=True)
    assert shown("link.jsonl", "folder") == ["folder/rows.jsonl", "link.jsonl"]


def test_files_outside_of_the_working_folder_are_shown_whole(tmp_path: Path) -> None:
    outside = tmp_path / "outside.jsonl"
    outside.write_text(LINES)
    assert shown("../outside.jsonl") == shown(str(outside)) == [str(outside)]


def test_a_path_up_from_a_link_leads_where_the_system_goes(tmp_path: Path) -> None:
    (tmp_path / "there" / "deep").mkdir(parents=True)
    (tmp_path / "there" / "rows.jsonl").write_text(LINES)
    Path("link").symlink_to(tmp_path / "there" / "deep", target_is_directory=True)
    assert shown("link/../rows.jsonl") == [str(tmp_path / "there" / "rows.jsonl")]


def test_marks_of_globs_in_names_are_no_globs_to_spark(work: Path) -> None:
    assert Input("a[1]*?{b}\\.jsonl", "ndjson").address == rf"{work}/a\[1\]\*\?\{{b\}}\\.jsonl"
    assert Input("s3a://b/*.jsonl", "ndjson").address == "s3a://b/*.jsonl"


@pytest.mark.parametrize("source", ["s3a://bucket/rows.parquet", "hdfs://h/rows.jsonl", "abfss://c@a/x.csv"])
def test_what_is_elsewhere_is_left_to_spark(source: str) -> None:
    (found,) = find_inputs([source])
    assert found.path == source
    assert not found.is_local
    assert found.format == {"parquet": "parquet", "jsonl": "ndjson", "csv": "csv"}[source.rpartition(".")[2]]


def test_a_folder_of_an_object_store_is_taken_for_lines_of_json() -> None:
    assert formats("s3a://bucket/events") == ["ndjson"]


def test_a_table_is_a_table() -> None:
    assert find_inputs(["table:main.db.events"]) == (Input("table:main.db.events", "table"),)


# --- what cannot be read ---


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl.gz", LINES.encode(), "not a gzip"),
        ("a.jsonl.gz", gzip.compress(LINES.encode(), mtime=0)[:12], "ends too early"),
        ("a.jsonl.bz2", LINES.encode(), "cannot be read"),
        ("a.jsonl", gzip.compress(LINES.encode(), mtime=0), "its name does not show"),
        ("a.jsonl.GZ", gzip.compress(LINES.encode(), mtime=0), "its name does not show"),
        ("a.json", bz2.compress(LINES.encode()), "its name does not show"),
    ],
)
def test_a_broken_compression_is_reported(name: str, content: bytes, message: str) -> None:
    write(name, content)
    with pytest.raises(InputError) as caught:
        find_inputs([name])
    assert message in caught.value.message.lower()
    assert str(caught.value.at) == name


# --- names in Spark's addresses ---


def test_sparks_addresses_are_shown_as_paths(work: Path) -> None:
    assert shown_path(f"file://{work}/a%20b%25.jsonl") == "a b%.jsonl"
    assert shown_path(f"file:{work}/d/a.jsonl") == "d/a.jsonl"
    assert shown_path("file:///elsewhere/gr%C3%B6%C3%9Fe.jsonl") == "/elsewhere/größe.jsonl"
    assert shown_path("s3a://bucket/a%20b") == "s3a://bucket/a%20b"


def test_inputs_are_grouped_by_format_in_order() -> None:
    inputs = [Input("a", "csv"), Input("b", "ndjson"), Input("c", "csv")]
    assert by_format(inputs) == {"csv": [inputs[0], inputs[2]], "ndjson": [inputs[1]]}


def test_a_file_of_a_folder_that_is_no_data_is_left_out_with_a_warning() -> None:
    write("d/x.csv", "id\n1\n")
    write("d/README.md", "# Read me\n")
    with pytest.warns(LeftOutWarning, match=r"a file of unknown format was skipped: `d/README\.md`"):
        assert formats("d") == ["csv"]
    with pytest.warns(LeftOutWarning, match=r"`d/README\.md`"):
        assert formats("d/*") == ["csv"]


def test_many_files_that_are_no_data_are_counted() -> None:
    write("d/x.jsonl")
    for number in range(7):
        write(f"d/n{number}.md", "# Read me\n")
    with pytest.warns(LeftOutWarning, match=r"7 files of unknown format were skipped: .*`d/n4\.md` and 2 more"):
        find_inputs(["d"])


def test_no_file_is_left_out_where_its_format_is_stated_or_the_user_names_it() -> None:
    write("d/x.csv", "id\n1\n")
    write("d/README.md", "# Read me\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert formats("d", input_format="text") == ["text", "text"]
        with pytest.raises(InputError, match="cannot recognize the format") as alone:
            find_inputs(["d/x.csv", "d/README.md"])
    assert str(alone.value.at) == "d/README.md"
    assert "--input-format" in (alone.value.hint or "")


def test_a_folder_without_any_data_is_refused() -> None:
    write("d/README.md", "# Read me\n")
    with pytest.raises(InputError, match="cannot recognize the format"):
        find_inputs(["d"])


@pytest.mark.parametrize("source", ["d", "d/a.jsonl.zip"])
def test_packed_data_is_not_left_out(source: str) -> None:
    write("d/a.jsonl.zip", b"PK\x03\x04")
    write("d/b.jsonl")
    with pytest.raises(InputError, match=r"Spark does not unpack `\.zip`") as caught:
        find_inputs([source])
    assert str(caught.value.at) == "d/a.jsonl.zip"


def test_a_folder_is_read_through_its_links_and_each_file_once() -> None:
    write("d/2024/a.jsonl")
    write("elsewhere/b.jsonl")
    Path("d/latest").symlink_to("2024")
    Path("d/more").symlink_to("../elsewhere")
    Path("d/again.jsonl").symlink_to("2024/a.jsonl")
    Path("d/round").symlink_to(".")
    assert [each.path for each in find_inputs(["d"])] == ["d/2024/a.jsonl", "d/more/b.jsonl"]


def test_a_pattern_takes_each_file_once_whatever_links_lead_to_it() -> None:
    write("d/2024/a.jsonl")
    Path("d/latest").symlink_to("2024")
    Path("d/again.jsonl").symlink_to("2024/a.jsonl")
    Path("d/round").symlink_to(".")
    assert [each.path for each in find_inputs(["d/**/*.jsonl"])] == ["d/2024/a.jsonl"]
    assert [each.path for each in find_inputs(["d/latest/*.jsonl"])] == ["d/latest/a.jsonl"]


def test_a_link_to_nowhere_is_reported_as_such() -> None:
    Path("a.jsonl").symlink_to("nowhere")
    with pytest.raises(InputError, match=r"`a\.jsonl` is a link to `nowhere`, which does not exist"):
        find_inputs(["a.jsonl"])


def test_a_link_to_nowhere_in_a_folder_is_left_out_with_a_warning() -> None:
    write("d/a.jsonl")
    Path("d/gone.jsonl").symlink_to("nowhere")
    Path("d/round.jsonl").symlink_to("round.jsonl")
    said = "2 broken links were skipped: `d/gone.jsonl`, `d/round.jsonl`"
    with pytest.warns(LeftOutWarning, match=said):
        assert [each.path for each in find_inputs(["d"])] == ["d/a.jsonl"]


@pytest.mark.skipif(IS_ROOT, reason="root may read everything")
def test_a_folder_without_rights_is_reported_and_not_left_out() -> None:
    write("d/a.jsonl")
    write("d/secret/b.jsonl")
    Path("d/secret").chmod(0)
    try:
        with pytest.raises(InputError, match="the folder cannot be read: permission denied") as caught:
            find_inputs(["d"])
    finally:
        Path("d/secret").chmod(0o700)
    assert str(caught.value.at) == "d/secret"


@needs_posix
def test_a_pipe_is_refused_rather_than_waited_for() -> None:
    os.mkfifo("a.jsonl")
    with pytest.raises(InputError, match="this is not a regular file"):
        find_inputs(["a.jsonl"])


def test_standard_input_is_no_source() -> None:
    with pytest.raises(InputError, match="Spark does not read standard input"):
        find_inputs(["-"])


@pytest.mark.parametrize(("name", "title"), [("a.parquet", "Parquet"), ("a.orc", "ORC"), ("a.avro", "Avro")])
def test_a_file_that_does_not_start_as_its_format_is_refused_before_spark_reads_it(name: str, title: str) -> None:
    write(name, "id,name\n1,x\n")
    with pytest.raises(InputError, match=f"this is not a valid {title} file: its first bytes are wrong"):
        find_inputs([name])


def test_columns_that_stand_in_the_names_of_folders_are_reported() -> None:
    for month in ("01", "02"):
        write(f"d/year=2024/month={month}/a.jsonl")
    with pytest.warns(LeftOutWarning) as reported:
        assert len(find_inputs(["d"])) == 2
    shown = "values in folder names do not become columns: `year` (`year=2024`), `month` (`month=01`)"
    assert [str(each.message) for each in reported] == [shown]


def test_a_file_that_the_user_names_reports_nothing_by_its_folder() -> None:
    write("d/year=2024/a.jsonl")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert formats("d/year=2024/a.jsonl") == ["ndjson"]


def test_a_plain_text_beside_records_is_left_out_of_a_folder_with_a_warning() -> None:
    write("d/x.csv", "id\n1\n")
    write("d/README.txt", "Read me\n")
    with pytest.warns(LeftOutWarning, match=r"a text file next to records was skipped: `d/README\.txt`"):
        assert formats("d") == ["csv"]


@pytest.mark.parametrize("sources", [("d/*.csv", "d/*.txt"), ("d", "d/README.txt"), ("d/*",), ("texts",)])
def test_a_plain_text_is_read_where_the_call_asks_for_it_or_nothing_else_is_there(sources: tuple[str, ...]) -> None:
    write("d/x.csv", "id\n1\n")
    write("d/README.txt", "Read me\n")
    write("texts/a.log", "one\n")
    write("texts/b.txt", "two\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "text" in formats(*sources)


def test_password_in_the_address_of_a_source_is_for_spark_alone() -> None:
    (found,) = find_inputs(["ftp://ann:s3cret@host/orders.csv"])

    assert found.path == "ftp://ann@host/orders.csv"
    assert found.address == "ftp://ann:s3cret@host/orders.csv"
    assert "s3cret" not in repr(found)
    assert shown_path(found.address) == found.path


@pytest.mark.parametrize("name", ["jsonlines", "JSONL", "json-lines"])
def test_formats_are_known_by_other_names_too(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.log").write_text('{"id": 1}\n')

    [found] = find_inputs([str(tmp_path / "a.log")], name)

    assert found.format == "ndjson"


def test_address_that_lacks_a_slash_is_reported_how_it_begins() -> None:
    with pytest.raises(InputError, match=r"there is no `s3:/bucket/a\.csv`") as caught:
        find_inputs(["s3:/bucket/a.csv"])

    assert caught.value.hint == "write an address as `s3://...`"


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.tsv.gz"])
def test_formats_are_recognized_without_a_reader_or_spark(name: str) -> None:
    Path(name).write_bytes(gzip.compress(b"a\n1\n") if name.endswith(".gz") else b'{"id": 1}\n')
    code = (
        "import sys; from schemactl.engine.inputs import find_inputs; "
        f"find_inputs([{name!r}]); "
        "readers = ('schemactl.engine.spark.', 'schemactl.engine.local.', 'pyspark'); "
        "print(*(module for module in sorted(sys.modules) if module.startswith(readers)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""
