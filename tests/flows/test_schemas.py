"""Opening and saving a named schema: import file, export file, and what wins."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from platforms import needs_posix

from schemactl.errors import InputError
from schemactl.flows.schemas import open_schemas, save, to_save, without_processing_hints
from schemactl.formats import dlt
from schemactl.schema.hash import version_hash
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table
from schemactl.store.folder import SchemasFolder
from schemactl.store.lock import locked_schemas

NAME = "shop"


@pytest.fixture
def folder(tmp_path: Path) -> SchemasFolder:
    return SchemasFolder.at(tmp_path / "schemas")


@pytest.fixture
def shared(tmp_path: Path) -> SchemasFolder:
    root = tmp_path / "schemas"
    return SchemasFolder(root, root, root)


def seen(schema: Schema, **columns: str) -> Schema:
    """Add columns to table `orders` as inference does: with the mark that data was seen."""
    table = schema.tables.get("orders") or Table("orders", {}, {"write_disposition": "append", "resource": "orders"})
    added = {name: Column(name, {"data_type": kind, "nullable": True}) for name, kind in columns.items()}
    known = {**table.columns, **{name: column for name, column in added.items() if name not in table.columns}}
    marks = {**(table.properties.get("x-normalizer") or {}), "seen-data": True}
    properties = {**table.properties, "x-normalizer": marks}
    return schema.with_table(replace(table, columns=known, properties=properties))


def run(folder: SchemasFolder, **columns: str) -> tuple[str, ...]:
    """What a command does: open, evolve, save. Returns the names of the files written."""
    opened = open_schemas(folder, NAME)
    written = save(folder, opened, seen(opened.schema or new_schema(NAME), **columns))
    return tuple(str(Path(path).relative_to(folder.root)) for path in written)


def import_file(folder: SchemasFolder) -> Path:
    return folder.imports / f"{NAME}.schema.yaml"


def export_file(folder: SchemasFolder) -> Path:
    return folder.exports / f"{NAME}.schema.yaml"


def load(path: Path) -> Schema:
    schema: Schema = dlt.read(path.read_text(), str(path)).schema
    return schema


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def columns(schema: Schema | None) -> dict[str, Any]:
    assert schema is not None
    return {name: column.properties.get("data_type") for name, column in schema.tables["orders"].columns.items()}


def stamps(folder: SchemasFolder) -> dict[str, tuple[int, int]]:
    """Which files there are, and which inode and time of change each has."""
    files = [path for path in folder.root.rglob("*") if path.is_file() and ".schemactl" not in path.parts]
    return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in files}


# the first run


def test_a_name_without_files_opens_as_nothing(folder):
    opened = open_schemas(folder, NAME)
    assert (opened.schema, opened.import_document, opened.export_document) == (None, None, None)
    assert opened.import_adopted is None
    assert not folder.root.exists()


def test_the_first_save_writes_both_files_linked(folder):
    assert run(folder, id="bigint") == ("import/shop.schema.yaml", "export/shop.schema.yaml")
    imported, exported = load(import_file(folder)), load(export_file(folder))
    assert "x-normalizer" not in import_file(folder).read_text()
    assert exported.tables["orders"].normalizer_hint("seen-data") is True
    assert columns(imported) == columns(exported) == {"id": "bigint"}
    assert exported.imported_version_hash == imported.version_hash == version_hash(imported)
    assert (imported.version, imported.previous_hashes) == (1, ())
    assert (exported.version, exported.previous_hashes) == (2, (imported.version_hash,))
    assert "imported_version_hash" not in import_file(folder).read_text()


def test_to_save_reports_beforehand_what_is_saved(folder):
    opened = open_schemas(folder, NAME)
    schema = seen(new_schema(NAME), id="bigint")
    expected = to_save(folder, opened, schema)
    assert not folder.root.exists()
    save(folder, opened, schema)
    assert load(export_file(folder)) == expected


# runs after it


def test_a_run_that_changes_nothing_touches_no_file(folder):
    run(folder, id="bigint")
    before = stamps(folder)
    assert run(folder, id="bigint") == ()
    assert stamps(folder) == before


def test_a_run_that_changes_nothing_makes_no_lock_file(folder):
    run(folder, id="bigint")
    shutil.rmtree(folder.root / ".schemactl")
    run(folder, id="bigint")
    assert not (folder.root / ".schemactl").exists()


def test_a_change_is_written_to_the_export_file_only(folder):
    run(folder, id="bigint")
    before = load(export_file(folder))
    untouched = stamps(folder)[str(import_file(folder))]
    assert run(folder, note="text") == ("export/shop.schema.yaml",)
    after = load(export_file(folder))
    assert stamps(folder)[str(import_file(folder))] == untouched
    assert columns(after) == {"id": "bigint", "note": "text"}
    assert (after.version, after.previous_hashes[0]) == (before.version + 1, before.version_hash)
    assert after.imported_version_hash == before.imported_version_hash


def test_comments_and_form_of_the_export_file_survive(folder):
    run(folder, id="bigint")
    edit(export_file(folder), "name: shop\n", "name:   'shop' # our shop\n")
    edit(export_file(folder), "settings:", "\n# what dlt sets\nsettings:")
    run(folder, note="text")
    text = export_file(folder).read_text()
    assert "name:   'shop' # our shop\n" in text
    assert "\n# what dlt sets\nsettings:" in text
    assert columns(load(export_file(folder))) == {"id": "bigint", "note": "text"}


def test_an_export_file_edited_by_hand_is_the_next_version(folder):
    run(folder, id="bigint", note="text")
    before = load(export_file(folder))
    edit(
        export_file(folder),
        "data_type: text\n        nullable: true\n    write",
        "data_type: json\n    write",
    )
    assert run(folder, id="bigint") == ("export/shop.schema.yaml",)
    after = load(export_file(folder))
    assert columns(after)["note"] == "json"
    assert (after.version, after.previous_hashes[0]) == (before.version + 1, before.version_hash)


# the import file is the user's


def test_an_edited_import_file_wins_and_resets(folder):
    run(folder, id="bigint")
    run(folder, note="text")
    old = load(export_file(folder))
    edit(
        import_file(folder),
        "data_type: bigint\n        nullable: true\n    write",
        "data_type: text\n    write",
    )
    edited = import_file(folder).read_text()

    opened = open_schemas(folder, NAME)
    assert opened.schema is not None
    assert opened.import_adopted == opened.schema.imported_version_hash == version_hash(load(import_file(folder)))
    assert columns(opened.schema) == {"id": "text"}
    assert old.version_hash in opened.schema.previous_hashes

    assert save(folder, opened, opened.schema) == (str(export_file(folder)),)
    assert import_file(folder).read_text() == edited
    after = load(export_file(folder))
    assert columns(after) == {"id": "text"}
    assert after.imported_version_hash == opened.import_adopted


def test_an_edit_of_the_import_file_is_taken_over_once(folder):
    run(folder, id="bigint")
    edit(import_file(folder), "    resource: orders", "    resource: orders\n    description: what was bought")
    assert open_schemas(folder, NAME).import_adopted is not None
    run(folder, id="bigint")
    assert open_schemas(folder, NAME).import_adopted is None
    before = stamps(folder)
    assert run(folder, id="bigint") == ()
    assert stamps(folder) == before
    run(folder, note="text")
    assert load(export_file(folder)).tables["orders"].properties["description"] == "what was bought"


def test_comments_in_the_import_file_are_no_edit(folder):
    run(folder, id="bigint")
    import_file(folder).write_text("# ours\n" + import_file(folder).read_text())
    assert open_schemas(folder, NAME).import_adopted is None


def test_an_import_file_alone_is_where_a_schema_starts(folder):
    run(folder, id="bigint")
    export_file(folder).unlink()
    imported = load(import_file(folder))
    opened = open_schemas(folder, NAME)
    assert opened.schema == replace(imported, imported_version_hash=imported.version_hash)
    assert opened.import_adopted == imported.version_hash
    assert save(folder, opened, opened.schema) == (str(export_file(folder)),)
    assert open_schemas(folder, NAME).import_adopted is None


def test_opening_writes_nothing_even_where_the_import_file_wins(folder):
    run(folder, id="bigint")
    edit(import_file(folder), "    resource: orders", "    resource: orders\n    description: x")
    before = stamps(folder)
    assert open_schemas(folder, NAME).import_adopted is not None
    assert stamps(folder) == before


def test_a_deleted_import_file_is_written_anew_and_nothing_is_lost(folder):
    run(folder, id="bigint")
    run(folder, note="text")
    before = load(export_file(folder))
    import_file(folder).unlink()
    assert run(folder, id="bigint") == ("import/shop.schema.yaml", "export/shop.schema.yaml")
    imported, after = load(import_file(folder)), load(export_file(folder))
    assert columns(imported) == {"id": "bigint", "note": "text"}
    assert after.version_hash == before.version_hash
    assert after.imported_version_hash == imported.version_hash
    assert (imported.version, after.version) == (before.version + 1, before.version + 2)
    assert run(folder, id="bigint") == ()


# export files as dlt writes them, without the link


def forget_link(folder: SchemasFolder) -> None:
    lines = export_file(folder).read_text().splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith("imported_version_hash")]
    assert len(kept) == len(lines) - 1
    export_file(folder).write_text("".join(kept))


def test_without_the_link_the_ancestry_reports_that_nothing_was_edited(folder):
    run(folder, id="bigint")
    run(folder, note="text")
    forget_link(folder)
    opened = open_schemas(folder, NAME)
    assert opened.import_adopted is None
    assert columns(opened.schema) == {"id": "bigint", "note": "text"}
    before = stamps(folder)
    assert run(folder, note="text") == ()
    assert stamps(folder) == before
    run(folder, more="text")
    assert load(export_file(folder)).imported_version_hash == version_hash(load(import_file(folder)))


def test_without_the_link_an_edit_is_still_seen(folder):
    run(folder, id="bigint")
    run(folder, note="text")
    forget_link(folder)
    edit(import_file(folder), "    resource: orders", "    resource: orders\n    description: x")
    opened = open_schemas(folder, NAME)
    assert opened.import_adopted is not None
    assert columns(opened.schema) == {"id": "bigint"}


def long_history(folder: SchemasFolder) -> None:
    for number in range(13):
        run(folder, **{f"c{number}": "text"})
    forget_link(folder)
    imported = load(import_file(folder)).version_hash
    assert imported not in load(export_file(folder)).previous_hashes


def test_a_long_history_without_the_link_keeps_the_schema(folder):
    long_history(folder)
    opened = open_schemas(folder, NAME)
    assert opened.import_adopted is None
    assert len(columns(opened.schema)) == 13


def test_a_long_history_without_the_link_and_an_edited_file_asks_the_user(folder):
    long_history(folder)
    edit(import_file(folder), "    resource: orders", "    resource: orders\n    description: x")
    with pytest.raises(InputError, match="is unknown whether the import file was edited") as caught:
        open_schemas(folder, NAME)
    link = str(caught.value.hint).split("`")[1]
    with export_file(folder).open("a") as stream:
        stream.write(f"{link}\n")
    assert open_schemas(folder, NAME).import_adopted is None
    export_file(folder).unlink()
    assert open_schemas(folder, NAME).import_adopted is not None


def test_the_link_comes_back_into_a_file_that_dlt_wrote_and_its_comments_stay(folder):
    run(folder, id="bigint")
    forget_link(folder)
    edit(export_file(folder), "name: shop\n", "name: shop # ours\n")
    with export_file(folder).open("a") as stream:
        stream.write("# the end\n")
    run(folder, note="text")
    text = export_file(folder).read_text()
    assert "name: shop # ours\n" in text
    assert "# the end\n" in text
    assert load(export_file(folder)).imported_version_hash == version_hash(load(import_file(folder)))


def test_a_file_that_cannot_take_the_link_is_written_without_it(folder):
    run(folder, id="bigint")
    forget_link(folder)
    export_file(folder).write_text(f"---\n{export_file(folder).read_text()}...\n")
    run(folder, note="text")
    assert columns(load(export_file(folder))) == {"id": "bigint", "note": "text"}
    assert open_schemas(folder, NAME).import_adopted is None


# one folder for both


def test_one_folder_for_both_holds_one_file_without_marks(shared):
    assert run(shared, id="bigint") == ("shop.schema.yaml",)
    text = export_file(shared).read_text()
    assert "x-normalizer" not in text
    assert "imported_version_hash" not in text
    before = stamps(shared)
    assert run(shared, id="bigint") == ()
    assert stamps(shared) == before


def test_one_folder_for_both_may_be_one_by_a_link(tmp_path):
    folder = SchemasFolder.at(tmp_path / "schemas")
    folder.exports.mkdir(parents=True)
    folder.imports.symlink_to("export")
    assert run(folder, id="bigint") == ("export/shop.schema.yaml",)
    assert run(folder, id="bigint", name="text") == ("export/shop.schema.yaml",)
    assert "name:" in export_file(folder).read_text()


def test_import_and_export_folder_are_set_apart_by_a_link(tmp_path):
    folder = SchemasFolder.at(tmp_path / "schemas")
    team = tmp_path / "team"
    team.mkdir()
    folder.root.mkdir()
    folder.imports.symlink_to("../team")
    assert run(folder, id="bigint") == ("import/shop.schema.yaml", "export/shop.schema.yaml")
    edit(team / "shop.schema.yaml", "    resource: orders", "    resource: orders\n    description: ours")
    assert run(folder, note="text") == ("export/shop.schema.yaml",)
    assert folder.imports.is_symlink()
    assert "description: ours" in export_file(folder).read_text()
    assert [path.name for path in team.iterdir()] == ["shop.schema.yaml"]


def test_one_folder_for_both_takes_edits_as_the_next_version(shared):
    run(shared, id="bigint")
    edit(export_file(shared), "    resource: orders", "    resource: orders\n    description: ours # really")
    opened = open_schemas(shared, NAME)
    assert opened.schema is not None
    assert opened.schema.version == 2
    assert run(shared, note="text") == ("shop.schema.yaml",)
    after = load(export_file(shared))
    assert columns(after) == {"id": "bigint", "note": "text"}
    assert after.tables["orders"].properties["description"] == "ours"
    assert "ours # really" in export_file(shared).read_text()
    assert after.version == 3


def test_one_folder_for_both_keeps_the_processing_hints_that_the_user_states(shared):
    run(shared, id="bigint")
    edit(
        export_file(shared),
        "    resource: orders",
        "    resource: orders\n    x-normalizer:\n      max_nesting: 2",
    )
    run(shared, note="text")
    assert load(export_file(shared)).tables["orders"].properties["x-normalizer"] == {"max_nesting": 2}


# json files


def test_new_files_take_after_the_one_that_is_there(folder):
    folder.imports.mkdir(parents=True)
    start = seen(new_schema(NAME), id="bigint")
    path = folder.imports / "shop.schema.json"
    path.write_text(dlt.write(without_processing_hints(start), path="a.json"))
    assert run(folder, id="bigint") == ("export/shop.schema.json",)
    exported = folder.exports / "shop.schema.json"
    assert exported.read_text().startswith("{")
    assert load(exported).imported_version_hash == version_hash(load(path))
    path.unlink()
    assert run(folder, id="bigint") == ("import/shop.schema.json", "export/shop.schema.json")
    assert run(folder, id="bigint") == ()


# what is refused


def test_another_name_in_the_file_is_reported_with_its_place(folder):
    run(folder, id="bigint")
    edit(import_file(folder), "name: shop", "name: other")
    with pytest.raises(InputError, match=r"named for schema `shop`.*is named `other`") as caught:
        open_schemas(folder, NAME)
    at = caught.value.at
    assert at is not None
    assert at.path == str(import_file(folder))
    assert import_file(folder).read_text().splitlines()[(at.line or 0) - 1] == "name: other"
    assert "`name: shop`" in str(caught.value.hint)
    assert "`other.schema.yaml`" in str(caught.value.hint)


@pytest.mark.parametrize("name", ["../shop", "", "a.b"])
def test_a_name_that_no_schema_can_have_is_refused(folder, name):
    with pytest.raises(InputError, match="cannot name a schema"):
        open_schemas(folder, name)


def test_a_file_changed_since_it_was_opened_is_not_overwritten(folder):
    run(folder, id="bigint")
    opened = open_schemas(folder, NAME)
    assert opened.schema is not None
    run(folder, note="text")
    text = export_file(folder).read_text()
    with pytest.raises(InputError, match="was changed since it was read") as caught:
        save(folder, opened, seen(opened.schema, other="text"))
    assert caught.value.hint == "run the command again"
    assert export_file(folder).read_text() == text


def test_an_import_file_edited_while_a_command_worked_is_not_passed_over(folder):
    run(folder, id="bigint")
    opened = open_schemas(folder, NAME)
    assert opened.schema is not None
    edit(import_file(folder), "    resource: orders", "    resource: orders\n    description: x")
    with pytest.raises(InputError, match=r"import/shop\.schema\.yaml` was changed"):
        save(folder, opened, seen(opened.schema, other="text"))


# killed and concurrent commands

WORK = """
import sys
from pathlib import Path
from schemactl.flows.schemas import open_schemas, save
from schemactl.schema.types import Column
from schemactl.store.folder import SchemasFolder
from dataclasses import replace

folder, column = SchemasFolder.at(Path(sys.argv[1])), sys.argv[3]
opened = open_schemas(folder, sys.argv[2])
table = opened.schema.tables["orders"]
columns = {**table.columns, column: Column(column, {"data_type": "text", "nullable": True})}
save(folder, opened, opened.schema.with_table(replace(table, columns=columns)))
"""


def start_run(folder: SchemasFolder, column: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WORK, str(folder.root), NAME, column]
    return subprocess.Popen(command, stderr=subprocess.PIPE)


def run_killed(folder: SchemasFolder, column: str, kill_at: int) -> int:
    """Run in a process that dies at its N-th call into the system for the folder; return its exit code."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1
        if calls == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def on_event(event: str, arguments: tuple[Any, ...]) -> None:
        watched = event in ("open", "os.rename", "os.chmod", "os.mkdir", "os.remove")
        if watched and str(folder.root) in str(arguments[0]):
            count()

    fsync = os.fsync

    def counted_fsync(descriptor: int) -> None:
        count()
        fsync(descriptor)
        count()

    try:
        os.fsync = counted_fsync
        sys.addaudithook(on_event)
        run(folder, **{column: "text"})
        os._exit(0)
    finally:
        os._exit(1)


def contents(folder: SchemasFolder) -> dict[str, str]:
    files = [path for path in folder.root.rglob("*") if path.is_file() and ".schemactl" not in path.parts]
    return {str(path.relative_to(folder.root)): path.read_text() for path in files}


@needs_posix
@pytest.mark.parametrize("start", ["nothing", "both files", "export file only", "import file only"])
def test_a_command_killed_at_any_point_and_run_again_ends_as_if_never_killed(tmp_path, start):
    first = SchemasFolder.at(tmp_path / "first")
    if start != "nothing":
        run(first, id="bigint")
    if start == "export file only":
        import_file(first).unlink()
    if start == "import file only":
        export_file(first).unlink()

    def prepared(name: str) -> SchemasFolder:
        if first.root.exists():
            shutil.copytree(first.root, tmp_path / name)
        return SchemasFolder.at(tmp_path / name)

    whole = prepared("whole")
    run(whole, note="text")
    kills = 0
    for kill_at in range(1, 60):
        folder = prepared(f"killed{kill_at}")
        code = run_killed(folder, "note", kill_at)
        if code == 0:
            break
        assert code == -signal.SIGKILL
        kills += 1
        for path in folder.root.rglob("*.schema.yaml"):
            load(path)
        run(folder, note="text")
        assert contents(folder) == contents(whole)
    else:
        pytest.fail("the command never ran to its end")
    assert kills >= 5


def test_two_commands_at_once_lose_no_column(folder):
    run(folder, id="bigint")
    commands = {f"c{number}": start_run(folder, f"c{number}") for number in range(6)}
    refused = {}
    for column, process in commands.items():
        said = process.communicate(timeout=60)[1].decode()
        if process.returncode:
            assert "run the command again" in said or "was changed since it was read" in said
            refused[column] = said
    kept = columns(load(export_file(folder)))
    assert set(kept) == {"id", *commands} - set(refused)
    assert len(refused) < len(commands)


@needs_posix
def test_a_command_that_finds_the_folder_in_use_is_reported_so(folder, monkeypatch):
    monkeypatch.setattr("schemactl.flows.schemas.locked_schemas", partial(locked_schemas, wait_seconds=0.2))
    run(folder, id="bigint")
    opened = open_schemas(folder, NAME)
    assert opened.schema is not None
    pid = os.fork()
    if pid == 0:
        with locked_schemas(folder.root):
            signal.pause()
        os._exit(0)
    try:
        while (folder.root / ".schemactl" / "lock").read_text() != str(pid):
            pass
        with pytest.raises(InputError, match=f"in use by process {pid}"):
            save(folder, opened, seen(opened.schema, note="text"))
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
