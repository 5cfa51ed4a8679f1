"""Files of earlier loads: which files of a call are new, and which would load rows a second time."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from schemactl.engine.input import Input
from schemactl.errors import InputError
from schemactl.flows.loaded_files import Changed, find_new, open_ledger, remember
from schemactl.flows.request import InferRequest
from schemactl.flows.root_tables import TableInput
from schemactl.kernel.dispatch import Dispatch
from schemactl.normalization.package import LedgerEntry
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

NAMES = ("landing/a.jsonl", "landing/b.jsonl", "landing/c.jsonl")
NEW = new_schema("shop")
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _landing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("landing").mkdir()
    for at, name in enumerate(NAMES):
        write(name, f'{{"id": {at}}}\n', at)


def write(name: str, text: str, at: int) -> None:
    Path(name).write_text(text)
    os.utime(name, ns=(0, 1_700_000_000_123_456_789 + at * 1_000_000))


def inputs(*names: str) -> tuple[Input, ...]:
    return tuple(Input(name, "ndjson") for name in names)


def part(*names: str, **asked: Any) -> TableInput:
    request = InferRequest(names, name="shop", table="orders", schemas=Path("schemas"), **asked)
    return TableInput(request, (), inputs(*names), True)


def loaded(*names: str) -> list[LedgerEntry]:
    return [LedgerEntry("1", AT, file) for file in remember(inputs(*names))]


def schema(disposition: str, *keys: str, **stated: Any) -> Schema:
    columns = {key: Column(key, {"data_type": "bigint", key: True}) for key in keys}
    return NEW.with_table(Table("orders", columns, {"write_disposition": disposition, **stated}))


def new(
    past: list[LedgerEntry], *names: str, before: Schema = NEW, changed: Changed | None = None, **asked: Any
) -> tuple[list[str], list[str]]:
    """Return the files to load, and those that were loaded before."""
    with open_ledger(past) as ledger:
        files = find_new([part(*names, **asked)], ledger, before, changed)
    return [file.path for table_input in files.table_inputs for file in table_input.inputs], list(files.skipped)


def refused(past: list[LedgerEntry], *names: str, before: Schema = NEW, changed: Changed | None = None) -> list[str]:
    with pytest.raises(InputError, match="that earlier loads appended") as raised:
        new(past, *names, before=before, changed=changed)
    assert "`merge`" in (raised.value.hint or "")
    return [problem.message for problem in raised.value.problems]


def test_files_are_left_out_once_they_are_loaded() -> None:
    assert new([], *NAMES) == (list(NAMES), [])
    assert new(loaded(*NAMES[:2]), *NAMES) == ([NAMES[2]], list(NAMES[:2]))
    assert new(loaded(*NAMES), *NAMES) == ([], list(NAMES))


def test_a_file_is_known_by_any_path_to_it(tmp_path: Path) -> None:
    past = loaded("landing/a.jsonl")
    Path("link").symlink_to("landing")
    Path("hard.jsonl").hardlink_to("landing/a.jsonl")
    for name in ("landing/../landing/a.jsonl", "./landing/a.jsonl", str(tmp_path / "landing/a.jsonl"), "link/a.jsonl"):
        assert new(past, name) == ([], [name])
    assert new(past, "hard.jsonl") == ([], ["hard.jsonl"])


def test_files_that_have_changed_are_named_where_rows_are_appended() -> None:
    past = loaded(*NAMES)
    write(NAMES[0], '{"id": 1}\n{"id": 2}\n', 0)
    write(NAMES[1], '{"id": 1}\n', 60_000)
    write("landing/d.jsonl", "{}\n", 4)
    assert refused(past, *NAMES, "landing/d.jsonl") == [
        "`landing/a.jsonl` has changed since it was loaded: 10 bytes then, 20 now",
        "`landing/b.jsonl` has changed since it was loaded: written again at 2023-11-14 22:14:20 UTC",
    ]


@pytest.mark.parametrize("before", [schema("append"), schema("merge"), schema("merge", "hard_delete")])
def test_rows_of_tables_without_a_key_are_appended(before: Schema) -> None:
    past = loaded(*NAMES)
    write(NAMES[0], "{}\n", 1)
    assert len(refused(past, *NAMES, before=before)) == 1


@pytest.mark.parametrize(
    "before",
    [
        schema("merge", "primary_key"),
        schema("merge", "merge_key"),
        schema("merge", **{"x-merge-strategy": "scd2"}),
        schema("skip"),
    ],
)
def test_files_that_have_changed_are_loaded_again_where_each_row_is_kept_once(before: Schema) -> None:
    past = loaded(*NAMES)
    write(NAMES[0], "{}\n", 1)
    Path(NAMES[1]).rename("landing/z.jsonl")
    assert new(past, *NAMES[:1], "landing/z.jsonl", NAMES[2], before=before) == (
        [NAMES[0], "landing/z.jsonl"],
        [NAMES[2]],
    )


def test_a_table_that_is_replaced_gets_all_its_files_or_none() -> None:
    replaced = schema("replace")
    assert new(loaded(*NAMES), *NAMES, before=replaced) == ([], list(NAMES))
    assert new(loaded(*NAMES[:2]), *NAMES, before=replaced) == (list(NAMES), [])
    past = loaded(*NAMES)
    write(NAMES[0], "{}\n", 1)
    assert new(past, *NAMES, before=replaced) == (list(NAMES), [])


def test_files_are_known_in_a_folder_that_was_renamed(tmp_path: Path) -> None:
    past = loaded(*NAMES)
    Path("landing").rename("archive")
    names = [name.replace("landing", "archive") for name in NAMES]
    assert refused(past, *names) == [
        f"`{name}` was loaded as `{tmp_path / old}`" for name, old in zip(names, NAMES, strict=True)
    ]


def test_a_copy_is_known_by_its_content() -> None:
    past = loaded(*NAMES)
    shutil.copy2(NAMES[0], "copy.jsonl")
    write("other.jsonl", '{"id": 7}\n', 0)
    assert len(refused(past, "copy.jsonl")) == 1
    assert new(past, "other.jsonl") == (["other.jsonl"], [])


def test_files_that_share_a_whole_second_are_told_apart_by_their_names() -> None:
    for name in ("a.jsonl", "b.jsonl"):
        Path(name).write_text('{"id": 1}\n')
        os.utime(name, (0, 1_700_000_000))
    past = loaded("a.jsonl")
    Path("a.jsonl").unlink()
    assert new(past, "b.jsonl") == (["b.jsonl"], [])
    Path("moved").mkdir()
    Path("b.jsonl").rename("moved/a.jsonl")
    assert len(refused(past, "moved/a.jsonl")) == 1


def test_empty_files_have_no_rows_to_load_twice() -> None:
    write("a.jsonl", "", 0)
    past = loaded("a.jsonl")
    write("b.jsonl", "", 0)
    Path("a.jsonl").unlink()
    assert new(past, "b.jsonl") == (["b.jsonl"], [])


def test_a_changed_file_is_named_where_any_table_of_its_records_appends() -> None:
    past = loaded(*NAMES)
    write(NAMES[0], "{}\n", 1)
    by_kind, keyed = Dispatch(("kind",)), schema("merge", "primary_key")
    assert new(past, *NAMES, before=keyed, dispatch=by_kind)[1] == list(NAMES[1:])
    appended = keyed.with_table(Table("events", {}, {"write_disposition": "append"}))
    with pytest.raises(InputError, match="that earlier loads appended"):
        new(past, *NAMES, before=appended, dispatch=by_kind)


def test_it_is_unknown_whether_data_that_is_not_on_this_machine_is_new() -> None:
    assert remember((Input("table:a.b", "table"),)) == ()
    with open_ledger([]) as ledger, pytest.raises(InputError, match=r"cannot determine whether `table:a\.b` is new"):
        find_new([replace(part(), inputs=(Input("table:a.b", "table"),))], ledger, NEW)


def test_a_file_that_does_not_exist_any_more_is_reported() -> None:
    with pytest.raises(InputError, match="no such file"):
        remember(inputs("gone.jsonl"))


def test_changed_files_are_loaded_skipped_or_named_as_the_user_says() -> None:
    past, keyed = loaded(*NAMES), schema("merge", "primary_key")
    write(NAMES[0], '{"id": 1}\n{"id": 2}\n', 0)
    shutil.copy2(NAMES[1], "landing/copy.jsonl")
    names = (*NAMES, "landing/copy.jsonl", "landing/d.jsonl")
    write("landing/d.jsonl", "{}\n", 4)
    assert new(past, *names, changed=Changed.SKIP)[0] == ["landing/d.jsonl"]
    assert new(past, *names, before=keyed, changed=Changed.SKIP)[0] == ["landing/d.jsonl"]
    assert new(past, *names, before=keyed, changed=Changed.LOAD)[0] == [
        NAMES[0],
        "landing/copy.jsonl",
        "landing/d.jsonl",
    ]
    assert len(refused(past, *names, changed=Changed.LOAD)) == 2
    with pytest.raises(InputError, match="2 files have changed since they were loaded") as raised:
        new(past, *names, before=keyed, changed=Changed.FAIL)
    assert "landing/a.jsonl" in raised.value.problems[0].message


def test_a_forgotten_file_is_new_until_it_is_loaded_again() -> None:
    past = loaded(*NAMES)
    forgotten = [LedgerEntry("2", AT + timedelta(hours=1), past[0].file, is_forgotten=True)]
    again = [LedgerEntry("3", AT + timedelta(hours=2), past[0].file)]
    for entries in (past + forgotten, forgotten + past):
        assert new(entries, *NAMES) == ([NAMES[0]], list(NAMES[1:]))
    assert new(again + forgotten + past, *NAMES) == ([], list(NAMES))


def test_names_of_files_need_not_be_unicode() -> None:
    name = os.fsdecode(b"landing/\xe4.jsonl")
    write(name, "{}\n", 1)
    assert new(loaded(name), name) == ([], [name])


def test_the_listing_counts_the_files_that_it_leaves_out() -> None:
    with open_ledger(loaded(*NAMES[:2])) as ledger:
        assert [ledger.is_new(file) for file in inputs(*NAMES, NAMES[0])] == [False, False, True, False]
        assert (ledger.skipped, list(ledger.seen)) == (2, list(NAMES[:2]))
