"""Loads into a folder of Parquet: layout, all or nothing, what dlt makes of it."""

from __future__ import annotations

import json
import os
import resource
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from staged_loads import an_input, ledger_files, line, lines, order, orders, package, quiet, shop, staged

from schemactl.destinations import parquet as destination
from schemactl.destinations._lake import lock
from schemactl.destinations.parquet import journal
from schemactl.errors import DestinationError, InputError
from schemactl.schema.types import Table, table_from_dict
from schemactl.store.lock import locked


def rows(folder: Path, table: str, *columns: str) -> list[tuple[Any, ...]]:
    """Return what another reader of Parquet finds, sorted."""
    files = sorted((folder / table).glob("*.parquet"))
    if not files:
        return []
    schema = pa.unify_schemas([pyarrow.parquet.read_schema(file) for file in files])
    held = pyarrow.dataset.dataset(files, schema=schema).to_table()
    return sorted((tuple(row[name] for name in columns) for row in held.to_pylist()), key=repr)


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.name[0] != ".")


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., None]:
    """Loads rows into ``warehouse``."""

    def run(schema: Any, load_id: str, held: dict[str, Any], **more: Any) -> None:
        made = package(tmp_path / "staged", schema, load_id, held, **more)
        destination.load(f"parquet:{tmp_path / 'warehouse'}", made, quiet)

    return run


def test_files_lie_where_dlt_puts_them(tmp_path: Path, put: Callable[..., None]) -> None:
    put(shop(orders(), lines()), "17.5", {"orders": [order(1), order(2)], "orders__lines": [line("r1.1", 0, "a")]})
    folder = tmp_path / "warehouse"
    found = tree(folder)
    folders = ["_dlt_loads", "_dlt_version", "init", "orders", "orders", "orders__lines"]
    assert [name.split("/")[0] for name in found] == folders
    assert found[0] == "_dlt_loads/shop__17.5.jsonl"
    assert all(path.name.startswith("17.5.") for path in (folder / "orders").iterdir())
    assert json.loads((folder / found[0]).read_text()) == {
        "load_id": "17.5",
        "schema_name": "shop",
        "status": 0,
        "inserted_at": "1970-01-01T00:00:17.500000+00:00",
        "schema_version_hash": shop(orders(), lines()).version_hash,
    }
    assert rows(folder, "orders", "id") == [(1,), (2,)]
    assert rows(folder, "orders__lines", "sku") == [("a",)]
    catalogue = destination.read_catalogue(f"parquet:{folder}")
    assert catalogue.hashes == (shop(orders(), lines()).version_hash,)
    assert list(catalogue.schema.tables) == ["orders", "orders__lines"]


@pytest.mark.parametrize("lacking", [{}, {"note": None}], ids=["no such key", "null"])
def test_rows_that_lack_a_required_value_are_refused(
    tmp_path: Path, put: Callable[..., None], lacking: dict[str, Any]
) -> None:
    required = shop(orders({"note": {"data_type": "text", "nullable": False}}))
    put(required, "1", {"orders": [order(1, note="a")]})
    with pytest.raises(DestinationError, match="column `note` of `orders` is NOT NULL"):
        put(required, "2", {"orders": [order(2, note="b"), order(3, **lacking)]})
    assert rows(tmp_path / "warehouse", "orders", "id") == [(1,)]


def test_rejects_are_appended_beside_the_tables(tmp_path: Path) -> None:
    rejects = table_from_dict("_rejects", {"columns": {"value": {"data_type": "text"}}})
    for load_id in ("1", "2"):
        made = package(tmp_path / "staged", shop(orders(write_disposition="replace")), load_id, {"orders": [order(1)]})
        bad = staged(tmp_path / "bad" / load_id, rejects, [{"value": load_id}])
        destination.load(f"parquet:{tmp_path}/w", replace(made, rejects=bad), quiet)
    assert rows(tmp_path / "w", "_rejects", "value") == [("1",), ("2",)]
    assert rows(tmp_path / "w", "orders", "id") == [(1,)]


def test_a_table_without_rows_reports_its_columns(tmp_path: Path, put: Callable[..., None]) -> None:
    put(shop(orders()), "1", {"orders": []})
    catalogue = destination.read_catalogue(f"parquet:{tmp_path}/warehouse")
    assert "id" in catalogue.schema.tables["orders"].columns
    put(shop(orders()), "2", {"orders": []})
    assert len(tree(tmp_path / "warehouse" / "orders")) == 1


def test_a_merged_table_without_rows_reports_its_columns(tmp_path: Path, put: Callable[..., None]) -> None:
    put(
        shop(orders({"id": {"data_type": "bigint", "primary_key": True}}, write_disposition="merge")),
        "1",
        {"orders": []},
    )
    catalogue = destination.read_catalogue(f"parquet:{tmp_path}/warehouse")
    assert "id" in catalogue.schema.tables["orders"].columns


def test_a_dataset_has_a_folder_of_its_own_where_one_is_named(tmp_path: Path) -> None:
    made = package(tmp_path / "staged", shop(orders()), "1", {"orders": [order(1)]})
    destination.load(f"parquet:{tmp_path}/w?dataset=sales", made, quiet)
    assert rows(tmp_path / "w" / "sales", "orders", "id") == [(1,)]
    # Without a name, it is the one dataset that is there.
    again = package(tmp_path / "staged", shop(orders()), "2", {"orders": [order(2)]})
    destination.load(f"parquet:{tmp_path}/w", again, quiet)
    assert rows(tmp_path / "w" / "sales", "orders", "id") == [(1,), (2,)]


_STEPS = ("replace", "link", "unlink", "mkdir", "fsync", "rmdir", "rename")


def _killed_at(step: int, work: Callable[[], None]) -> bool:
    """Run ``work`` in a process that is killed before its so-many-th change of the file system; return whether."""
    process = os.fork()
    if process == 0:
        taken = 0

        def counted(real: Callable[..., Any]) -> Callable[..., Any]:
            def run(*args: Any, **options: Any) -> Any:
                nonlocal taken
                taken += 1
                if taken == step:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*args, **options)

            return run

        for name in _STEPS:
            setattr(os, name, counted(getattr(os, name)))
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(9)
    _, status = os.waitpid(process, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def test_a_load_that_is_killed_at_any_step_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    schema = shop(orders(write_disposition="replace"), lines())
    first = {"orders": [order(1), order(2)], "orders__lines": [line("r1.1", 0, "a")]}
    second = {"orders": [order(3, "2")], "orders__lines": [line("r3.2", 0, "b"), line("r3.2", 1, "c")]}
    old = package(tmp_path / "staged", schema, "1", first)
    new = package(tmp_path / "staged", schema, "2", second, inputs=(an_input("/a"),))
    third = package(tmp_path / "staged", shop(orders()), "3", {"orders": [order(9, "3")]})
    seen = set()
    step = 0
    while True:
        step += 1
        folder = tmp_path / f"w{step}"
        url = f"parquet:{folder}"
        destination.load(url, old, quiet)
        was_killed = _killed_at(step, lambda: destination.load(url, new, quiet))  # noqa: B023
        # Nothing is moved by looking.
        past, found = destination.read_past_loads(url, "shop"), tree(folder)
        destination.read_catalogue(url)
        assert tree(folder) == found
        is_there = "2" in past.load_ids
        seen.add(is_there)
        assert ("/a" in ledger_files(destination, url)) == is_there
        destination.load(url, third, quiet)
        assert rows(folder, "orders", "id") == ([(3,), (9,)] if is_there else [(1,), (2,), (9,)])
        assert rows(folder, "orders__lines", "sku") == ([("b",), ("c",)] if is_there else [("a",)])
        assert destination.read_past_loads(url, "shop").load_ids == ({"1", "2", "3"} if is_there else {"1", "3"})
        assert not (folder / ".schemactl-load").exists()
        if not was_killed:
            break
    assert seen == {True, False}
    assert step > 20


def test_after_a_kill_readers_of_ours_see_what_the_journal_says(tmp_path: Path) -> None:
    old = package(tmp_path / "staged", shop(orders(write_disposition="replace")), "1", {"orders": [order(1)]})
    wide = orders({"paid": {"data_type": "bool"}}, write_disposition="replace")
    new = package(tmp_path / "staged", shop(wide), "2", {"orders": [order(2)]})
    states = set()
    for step in range(1, 60):
        url = f"parquet:{tmp_path}/w{step}"
        destination.load(url, old, quiet)
        if not _killed_at(step, lambda: destination.load(url, new, quiet)):  # noqa: B023
            break
        catalogue = destination.read_catalogue(url)
        states.add((len(catalogue.hashes), "paid" in catalogue.schema.tables["orders"].columns))
    assert states == {(1, False), (2, True)}


def test_files_that_a_killed_command_was_writing_are_removed(tmp_path: Path, put: Callable[..., None]) -> None:
    put(shop(orders()), "1", {"orders": [order(1)]})
    folders = [tmp_path / "warehouse" / name for name in (".", "_dlt_loads", "_schemactl_migrations", "orders")]
    for folder in folders:
        folder.mkdir(exist_ok=True)
        (folder / ".schemactl-6a74777f0087a385.tmp").write_text("{")

    put(shop(orders()), "2", {"orders": [order(2)]})

    # A command writes no such file to the folder of a table, so one there is of another program.
    assert [path.parent for path in (tmp_path / "warehouse").rglob("*.tmp")] == [tmp_path / "warehouse" / "orders"]


def test_nested_rows_get_their_place_before_those_that_they_are_nested_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = package(
        tmp_path, shop(orders(), lines()), "1", {"orders": [order(1)], "orders__lines": [line("r1.1", 0, "x")]}
    )
    seen: list[list[str]] = []
    real = journal._move

    def watched(old: Path, new: Path) -> None:
        real(old, new)
        seen.append(sorted({path.parent.name for path in (tmp_path / "w").glob("*/*") if path.suffix != ".json"}))

    monkeypatch.setattr(journal, "_move", watched)
    destination.load(f"parquet:{tmp_path}/w", made, quiet)
    assert seen[0] == [".schemactl-load", "orders__lines"]
    assert seen[1] == [".schemactl-load", "orders", "orders__lines"]
    assert "_dlt_loads" not in seen[-2]
    assert "_dlt_loads" in seen[-1]


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path) -> None:
    url = f"parquet:{tmp_path}/w"
    destination.load(url, package(tmp_path / "staged", shop(orders()), "1", {"orders": [order(1)]}), quiet)
    before = tree(tmp_path / "w")
    big = package(tmp_path / "staged", shop(orders({f"c{at}": {"data_type": "text"} for at in range(300)})), "2", {})
    process = os.fork()
    if process == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            destination.load(url, big, quiet)
        except DestinationError as error:
            os._exit(0 if "cannot write" in error.message else 8)
        os._exit(9)
    assert os.WEXITSTATUS(os.waitpid(process, 0)[1]) == 0
    assert tree(tmp_path / "w") == before
    assert not (tmp_path / "w" / ".schemactl-load").exists()


def test_two_loads_at_once_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "LOAD_PATIENCE_SECONDS", 0.2)
    made = package(tmp_path / "staged", shop(orders()), "1", {"orders": [order(1)]})
    with locked(tmp_path / "w"):
        process = os.fork()
        if process == 0:
            try:
                destination.load(f"parquet:{tmp_path}/w", made, quiet)
            except DestinationError as error:
                os._exit(0 if "in use by process" in error.message else 8)
            os._exit(9)
        assert os.WEXITSTATUS(os.waitpid(process, 0)[1]) == 0
    assert tree(tmp_path / "w") == []


def _refused(folder: Path, schema: Any, tmp_path: Path, table: str = "orders") -> DestinationError:
    """Return why both the check and the load refuse; nothing may have changed."""
    url = f"parquet:{folder}"
    before = tree(folder) if folder.is_dir() else None
    with pytest.raises(DestinationError) as checked:
        destination.check_tables(url, schema)
    with pytest.raises(DestinationError):
        destination.load(url, package(tmp_path / "refused", schema, "9", {table: [order(1)]}), quiet)
    assert (tree(folder) if folder.is_dir() else None) == before
    assert checked.value.hint
    return checked.value


def test_columns_of_another_type_are_refused(tmp_path: Path, put: Callable[..., None]) -> None:
    put(shop(orders()), "1", {"orders": [order(1)]})
    error = _refused(tmp_path / "warehouse", shop(orders({"note": {"data_type": "double"}})), tmp_path)
    assert error.message.startswith("`orders.note` is `double`, and `text` in ")
    error = _refused(tmp_path / "warehouse", shop(orders({"id": {"data_type": "bigint", "precision": 32}})), tmp_path)
    assert error.message.startswith("`orders.id` is `bigint(32)`, and `bigint` in ")
    destination.check_tables(f"parquet:{tmp_path}/warehouse", shop(orders({"note": {"data_type": "json"}})))


def test_tables_of_others_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "w" / "orders"
    folder.mkdir(parents=True)
    pyarrow.parquet.write_table(pa.table({"id": [1]}), folder / "1.parquet")
    assert "was not written by dlt or schemactl" in _refused(tmp_path / "w", shop(orders()), tmp_path).message
    (folder / "1.parquet").rename(folder / "1.jsonl")
    assert "`1.jsonl`, which is not Parquet" in _refused(tmp_path / "w", shop(orders()), tmp_path).message
    (folder / "1.jsonl").unlink()
    (folder / "_delta_log").mkdir()
    assert "is a table of Delta" in _refused(tmp_path / "w", shop(orders()), tmp_path).message
    (folder / "_delta_log").rmdir()
    folder.rmdir()
    folder.write_text("a file")
    assert "in the place of a table's folder" in _refused(tmp_path / "w", shop(orders()), tmp_path).message


def test_a_file_in_place_of_the_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "w").write_text("a file")
    assert (
        "`" + str(tmp_path / "w") + "` is a file, not a folder"
        in _refused(tmp_path / "w", shop(orders()), tmp_path).message
    )
    assert "is a file, not a folder" in _refused(tmp_path / "w" / "x", shop(orders()), tmp_path).message
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    assert "broken link" in _refused(tmp_path / "link", shop(orders()), tmp_path).message


def test_names_that_are_no_names_of_folders_are_reported(tmp_path: Path) -> None:
    for name in ("a/b", ".hidden", "x" * 256, "a=b"):
        schema = shop(replace(orders(), name=name))
        with pytest.raises(DestinationError, match="cannot be a folder of this name"):
            destination.check_tables(f"parquet:{tmp_path}/w", schema)


@pytest.mark.parametrize("place", ["s3://bucket/w", "gs://bucket", "abfss://a@b/c", "file:///tmp/w"])
def test_object_stores_are_out_of_reach(place: str) -> None:
    with pytest.raises(InputError, match="only folders are written"):
        destination.check_tables(f"parquet:{place}", shop(orders()))


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    made = package(tmp_path / "staged", shop(orders()), "1", {"orders": [order(1)]})
    folder.chmod(0o555)
    for path in (tmp_path, *tmp_path.parents[:3]):
        path.chmod(path.stat().st_mode | 0o055)
    process = os.fork()
    if process == 0:
        if os.geteuid() == 0:
            os.seteuid(65534)
            os.setegid(65534) if os.getegid() != 0 else None
            os.setresuid(65534, 65534, 65534)
        try:
            destination.check_tables(f"parquet:{folder}", shop(orders()))
            os._exit(7)
        except DestinationError as error:
            said = error.message
        try:
            destination.load(f"parquet:{folder}", made, quiet)
        except DestinationError as error:
            os._exit(0 if "cannot be written to" in said and "cannot lock" in error.message else 8)
        os._exit(9)
    assert os.WEXITSTATUS(os.waitpid(process, 0)[1]) == 0
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("table", ["orders", "_dlt_loads"])
def test_a_table_whose_folder_cannot_be_written_stops_the_load_before_any_file_moves(
    tmp_path: Path, table: str
) -> None:
    url, schema = f"parquet:{tmp_path}/w", shop(orders(), lines())
    held = {"orders": [order(1)], "orders__lines": [line("r1.1", 0, "x")]}
    destination.load(url, package(tmp_path / "staged", schema, "1", held), quiet)
    before = tree(tmp_path / "w")
    made = package(tmp_path / "staged", schema, "2", {**held, "orders": [order(2)]})
    folder = tmp_path / "w" / table
    folder.chmod(0o555)
    for path in (tmp_path, *tmp_path.parents[:3]):
        path.chmod(path.stat().st_mode | 0o055)
    process = os.fork()
    if process == 0:
        if os.geteuid() == 0:  # to whom no folder is read-only
            for path in (tmp_path, *tmp_path.rglob("*")):
                os.chown(path, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
        try:
            destination.load(url, made, quiet)
        except DestinationError as error:
            os._exit(0 if f"`{folder}` is not writable: nothing loaded" in error.message else 8)
        os._exit(9)
    assert os.WEXITSTATUS(os.waitpid(process, 0)[1]) == 0
    assert tree(tmp_path / "w") == before
    assert not (tmp_path / "w" / ".schemactl-load").exists()
    folder.chmod(0o755)
    destination.load(url, made, quiet)
    assert len(rows(tmp_path / "w", "orders", "id")) == 2


def test_rows_that_went_missing_before_the_load_stop_it(tmp_path: Path) -> None:
    made = package(tmp_path / "staged", shop(orders()), "1", {"orders": [order(1), order(2)]})
    wrong = replace(made, tables=(replace(made.tables[0], rows=3),))
    with pytest.raises(DestinationError, match="table `orders`: 2 of 3 rows arrived"):
        destination.load(f"parquet:{tmp_path}/w", wrong, quiet)
    assert tree(tmp_path / "w") == []


def test_a_table_named_as_dlt_names_it_under_another_convention(tmp_path: Path) -> None:
    table: Table = orders()
    schema = replace(shop(table), normalizers={**shop(table).normalizers, "names": "sql_cs_v1"})
    destination.load(f"parquet:{tmp_path}/w", package(tmp_path / "staged", schema, "1", {"orders": [order(1)]}), quiet)
    assert (tmp_path / "w" / "_dlt_loads" / "shop__1.jsonl").is_file()
