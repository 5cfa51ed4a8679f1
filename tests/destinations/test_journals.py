"""What lies in a shared folder is a stranger's: no journal, link or metadata file there reaches a file elsewhere."""

from __future__ import annotations

import json
import os
import random
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import pyarrow as pa
import pyarrow.parquet
import pytest
from deltalake import DeltaTable
from staged_loads import order, orders, package, quiet, shop

from schemactl.destinations import DESTINATIONS
from schemactl.destinations._journal import Moves, Pending, TableMove, Versions, journal_text, read_journal
from schemactl.errors import CommandWarning, DestinationError, SchemactlError

KINDS = ("parquet", "delta", "iceberg")


class Shared:
    """A dataset `sales` in a folder that others may write to, beside a home folder that they may not."""

    def __init__(self, kind: str, above: Path) -> None:
        self.kind, self.above = kind, above
        self.folder, self.home = above / "warehouse", above / "home"
        self.dataset = self.folder / "sales"
        self.url = f"{kind}:{self.folder}?dataset=sales"
        self.destination: Any = DESTINATIONS[kind]
        self.home.mkdir()
        for name in (".bashrc", "victim.parquet", f"{'a' * 32}-key", "victim.jsonl"):
            (self.home / name).write_text("mine")
        self.before = self.in_home()

    def load(self, load_id: str, **hints: Any) -> None:
        made = package(self.above / "staged", shop(orders(**hints)), load_id, {"orders": [order(1, load_id)]})
        self.destination.load(self.url, made, quiet)

    def migrate(self) -> None:
        with self.destination.connect(self.url, "shop"):
            pass

    def read(self) -> None:
        self.destination.read_catalogue(self.url)
        self.destination.read_past_loads(self.url, "shop")

    def in_home(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.home.rglob("*") if path.is_file()}

    def write_journal(self, text: str, name: str = "schemactl.journal.000000") -> None:
        if self.kind == "parquet":
            path = self.dataset / ".schemactl-load" / "journal.json"
        elif self.kind == "delta":
            path = self.dataset / ".schemactl-journal.json"
        else:
            with sqlite3.connect(self.folder / "catalog.db") as connection:
                row = ("default", "sales", name, text)
                connection.execute("INSERT OR REPLACE INTO iceberg_namespace_properties VALUES (?, ?, ?, ?)", row)
            connection.close()
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def shared(tmp_path: Path) -> Callable[[str], Shared]:
    def make(kind: str) -> Shared:
        made = Shared(kind, tmp_path)
        made.load("1")
        return made

    return make


def gathered(place: Shared, name: str) -> str:
    """Put a file where a load gathers it; return the name that a journal has for it."""
    path = place.dataset / ".schemactl-load" / "new" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("alias ls='curl evil'")
    return f".schemactl-load/new/{name}"


MOVES: dict[str, Callable[[Shared], dict[str, Any]]] = {
    "an absolute removal": lambda place: {"removals": [str(place.home / ".bashrc")]},
    "a removal above the dataset": lambda _: {"removals": ["../../home/victim.parquet"]},
    "a removal above, from a table": lambda _: {"removals": ["orders/../../../home/victim.parquet"]},
    "a removal above, by partitions": lambda _: {"removals": ["orders/a=1/../../../../home/victim.parquet"]},
    "a removal of a hidden file": lambda _: {"removals": [".schemactl.lock"]},
    "a removal of a load's row": lambda _: {"removals": ["_dlt_loads/shop__1.jsonl"]},
    "a removal with a NUL": lambda _: {"removals": ["orders/a\0b.parquet"]},
    "an absolute target": lambda place: {"moves": [[gathered(place, "x"), str(place.home / ".bashrc")]]},
    "a target above": lambda place: {"moves": [[gathered(place, "x"), "../../home/.bashrc"]]},
    "a target that is no file of a load": lambda place: {"moves": [[gathered(place, "x.sh"), "orders/x.sh"]]},
    "an absolute source": lambda place: {"moves": [[str(place.home / ".bashrc"), "orders/x.parquet"]]},
    "a source above": lambda _: {"moves": [["../../home/victim.parquet", "orders/x.parquet"]]},
    "a source that is a table's": lambda _: {"moves": [["_dlt_loads/shop__1.jsonl", "orders/x.parquet"]]},
    "a source of another name": lambda place: {"moves": [[gathered(place, "orders/y.parquet"), "orders/x.parquet"]]},
    "a source below the gathered ones": lambda place: {
        "moves": [[f"{gathered(place, 'orders/x.parquet')}/../../../../../home/victim.parquet", "orders/x.parquet"]]
    },
    "a file twice": lambda place: {
        "moves": [[gathered(place, "orders/x.parquet"), "orders/x.parquet"]],
        "removals": ["orders/x.parquet"],
    },
}


@pytest.mark.parametrize("attack", MOVES)
def test_a_journal_that_names_other_files_than_a_load_does_is_refused(
    shared: Callable[[str], Shared], attack: str
) -> None:
    place = shared("parquet")
    place.write_journal(json.dumps({"version": 1, **MOVES[attack](place)}))
    tree = sorted(place.dataset.rglob("*"))
    for act in (place.read, place.migrate, lambda: place.load("2")):
        with pytest.raises(DestinationError, match=r"cannot read the journal .*journal\.json"):
            act()
    assert sorted(place.dataset.rglob("*")) == tree
    assert place.in_home() == place.before


VERSIONS: dict[str, dict[str, Any]] = {
    "an absolute file": {"files": ["/home/victim"]},
    "a file above": {"files": ["../../home/.bashrc"]},
    "a file above, from a table of loads": {"files": ["_dlt_version/../../../home/victim.jsonl"]},
    "a file of a table": {"files": ["orders/shop__1.jsonl"]},
    "a file of another schema": {"files": ["_dlt_version/other__1.jsonl"]},
    "an attempt that is a path": {"attempt": "../../../home/" + "a" * 32},
    "an attempt that is a pattern": {"attempt": "*"},
    "a table above": {"tables": {"../../home": None}},
    "an absolute table": {"tables": {"/home": 1}},
    "a version that is text": {"tables": {"orders": "1"}},
    "a version below 0": {"tables": {"orders": -1}},
    "a version that is a truth": {"tables": {"orders": True}},
    "tables that are a list": {"tables": ["orders"]},
    "no attempt": {"attempt": None},
    "a load without a name": {"load_id": ""},
    "something more": {"run": "rm -rf /"},
}
OF_PATHS = ("a table above", "an absolute table")
"""Tables of a catalog have any names."""


@pytest.mark.parametrize(
    ("kind", "attack"),
    [
        (kind, attack)
        for kind in ("delta", "iceberg")
        for attack in VERSIONS
        if kind == "delta" or attack not in OF_PATHS
    ],
)
def test_a_journal_of_versions_is_refused_that_no_load_writes(
    shared: Callable[[str], Shared], kind: str, attack: str
) -> None:
    place = shared(kind)
    known = {"load_id": "9", "schema_name": "shop", "attempt": "a" * 32, "tables": {"orders": 1}, "files": []}
    place.write_journal(json.dumps({**known, **VERSIONS[attack]}))
    for act in (place.migrate, lambda: place.load("2")):
        with pytest.raises(DestinationError, match="cannot read the journal"):
            act()
    assert place.in_home() == place.before
    place.read()


NOT_JOURNALS = {
    "no JSON": "{",
    "nested too deep": "[" * 200_000,
    "a list": "[]",
    "a number": "1",
    "numbers without end": '{"version": ' + "9" * 10_000 + "}",
    "not UTF-8": b"\xff\xfe",
}


@pytest.mark.parametrize("kind", ["parquet", "delta"])
@pytest.mark.parametrize("content", NOT_JOURNALS)
def test_what_is_not_a_journal_is_an_error_with_its_place(
    shared: Callable[[str], Shared], kind: str, content: str
) -> None:
    place = shared(kind)
    place.write_journal("")
    written = NOT_JOURNALS[content]
    (path,) = [*place.dataset.rglob("*journal.json")]
    path.write_bytes(written if isinstance(written, bytes) else written.encode())
    with pytest.raises(DestinationError, match=r"cannot read .*journal\.json"):
        place.load("2")


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_a_journal_that_is_no_plain_file_is_not_read(shared: Callable[[str], Shared], kind: str) -> None:
    place = shared(kind)
    place.write_journal("")
    (path,) = [*place.dataset.rglob("*journal.json")]
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(DestinationError, match="is not a regular file"):
        place.load("2")
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(DestinationError, match="is a link"):
        place.load("2")
    path.unlink()
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(DestinationError, match="is longer than 64 MiB"):
        place.load("2")


LINKS: dict[str, dict[str, str]] = {
    "parquet": {"orders": "", "_dlt_loads": "", "_dlt_version": "", "_schemactl_migrations": "", ".schemactl-load": "",
        ".schemactl-load/journal.json": ".bashrc", "orders/9.9.parquet": "victim.parquet"},
    "delta": {"orders": "", "orders/_delta_log": "", "_dlt_loads": "", "_schemactl_migrations": "",
        ".schemactl-journal.json": ".bashrc", ".schemactl-workshop": ""},
}  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in LINKS for name in LINKS[kind]])
def test_links_in_a_dataset_are_not_followed(shared: Callable[[str], Shared], kind: str, name: str) -> None:
    place = shared(kind)
    path = place.dataset / name
    if path.exists():
        path.rename(place.above / "former")
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(place.home / LINKS[kind][name])
    if name != "_schemactl_migrations":  # which a load does not read
        with pytest.raises(DestinationError, match=f"`{path}` is a link"):
            place.load("2", write_disposition="replace")
    else:
        with (
            pytest.raises(DestinationError, match=f"`{path}` is a link"),
            place.destination.connect(place.url, "shop") as session,
        ):
            session.runs()
    assert place.in_home() == place.before
    assert path.is_symlink()


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_a_dataset_that_is_a_link_is_not_followed_but_the_folder_that_is_named_is(
    shared: Callable[[str], Shared], kind: str
) -> None:
    place = shared(kind)
    moved = place.above / "moved"
    place.dataset.rename(moved)
    place.dataset.symlink_to(moved)
    tree = sorted(moved.rglob("*"))
    for act in (place.read, place.migrate, lambda: place.load("2")):
        with pytest.raises(DestinationError, match=f"`{place.dataset}` is a link"):
            act()
    assert sorted(moved.rglob("*")) == tree
    place.url = f"{kind}:{place.dataset}"  # as the user says so
    if kind == "parquet":
        place.load("2")
    place.destination.read_catalogue(place.url)


def test_a_table_that_is_a_pipe_is_not_read(shared: Callable[[str], Shared]) -> None:
    place = shared("parquet")
    os.mkfifo(place.dataset / "orders" / "9.9.parquet")
    for act in (place.read, lambda: place.load("2")):
        with pytest.raises(DestinationError, match="is neither a file nor a folder"):
            act()


def test_partitions_without_end_are_not_walked(shared: Callable[[str], Shared]) -> None:
    place = shared("parquet")
    (place.dataset / "orders" / "/".join(["a="] * 900)).mkdir(parents=True)
    with pytest.raises(DestinationError, match="is nested too deep"):
        place.read()


def test_a_file_that_a_delta_log_names_outside_the_table_is_not_read(shared: Callable[[str], Shared]) -> None:
    place = shared("delta")
    pyarrow.parquet.write_table(pa.table({"id": [7]}), place.home / "secret.parquet")
    log = (
        place.dataset / "orders" / "_delta_log" / f"{DeltaTable(str(place.dataset / 'orders')).version() + 1:020}.json"
    )
    size = (place.home / "secret.parquet").stat().st_size
    added = {"path": "../../../home/secret.parquet", "size": size, "partitionValues": {}, "modificationTime": 1}
    log.write_text(json.dumps({"add": {**added, "dataChange": True}}))
    with (
        place.destination.connect(place.url, "shop") as session,
        pytest.raises(DestinationError, match=r"names a file outside the table: `\.\./\.\./\.\./home/secret"),
    ):
        session.table("orders").files()


def _edit_metadata(place: Shared, change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> None:
    with sqlite3.connect(place.folder / "catalog.db") as connection:
        query = "SELECT metadata_location FROM iceberg_tables WHERE table_name = 'orders'"
        ((location,),) = connection.execute(query).fetchall()
    connection.close()
    path = Path(location.removeprefix("file://"))
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, **change(document)}))


def _drop_orders(place: Shared) -> None:
    with place.destination.connect(place.url, "shop") as session:
        session.drop("orders")


def test_an_iceberg_table_is_not_removed_with_a_folder_elsewhere(shared: Callable[[str], Shared]) -> None:
    place = shared("iceberg")
    _edit_metadata(place, lambda _: {"location": f"file://{place.home}"})
    for act in (lambda: _drop_orders(place), lambda: place.load("2"), place.read):
        with pytest.raises(DestinationError, match=f"names a file outside it: `file://{place.home}`"):
            act()
    assert place.in_home() == place.before


def test_obsolete_files_of_an_iceberg_table_are_not_removed_elsewhere(shared: Callable[[str], Shared]) -> None:
    place = shared("iceberg")
    obsolete = {"timestamp-ms": 1, "metadata-file": f"file://{place.home}/.bashrc"}
    _edit_metadata(
        place,
        lambda document: {
            "metadata-log": [obsolete],
            "properties": {
                **document["properties"],
                "write.metadata.delete-after-commit.enabled": "true",
                "write.metadata.previous-versions-max": "1",
            },
        },
    )
    with pytest.warns(UserWarning, match="names a file outside it"):  # PyIceberg's own, after the commit
        place.load("2")
    assert place.in_home() == place.before


@pytest.mark.parametrize("name", ["py-io-impl", "write.py-location-provider.impl"])
def test_a_class_that_the_metadata_of_an_iceberg_table_names_is_not_called(
    shared: Callable[[str], Shared], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = shared("iceberg")
    called: list[Any] = []
    monkeypatch.setattr("shutil.rmtree", lambda *given: called.append(given))
    _edit_metadata(place, lambda document: {"properties": {**document["properties"], name: "shutil.rmtree"}})
    for act in (place.read, lambda: _drop_orders(place), lambda: place.load("2")):
        with pytest.raises(DestinationError, match=f"names a Python class .`{name}`., which is not imported"):
            act()
    assert called == []


def test_iceberg_metadata_without_a_catalog_calls_no_class_either(
    shared: Callable[[str], Shared], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = shared("iceberg")
    called: list[Any] = []
    monkeypatch.setattr("shutil.copyfile", lambda *given: called.append(given))
    _edit_metadata(place, lambda document: {"properties": {**document["properties"], "py-io-impl": "shutil.copyfile"}})
    (place.folder / "catalog.db").unlink()
    assert list(place.destination.read_catalogue(place.url).schema.tables)
    assert called == []


@pytest.mark.parametrize("attempt", ["*", "../../../../home/" + "a" * 32, "", "?" * 32])
def test_the_mark_of_a_rewrite_removes_only_its_own_files(shared: Callable[[str], Shared], attempt: str) -> None:
    place = shared("iceberg")
    place.write_journal(f"{attempt} orders", "schemactl.rewriting")
    tree = sorted(place.folder.rglob("*.parquet"))
    with pytest.raises(DestinationError, match="is not a prefix of new files"):
        place.migrate()
    assert sorted(place.folder.rglob("*.parquet")) == tree
    assert place.in_home() == place.before


def test_what_is_carried_out_is_said(shared: Callable[[str], Shared]) -> None:
    place = shared("parquet")
    source = gathered(place, "orders/9.x.parquet")
    pyarrow.parquet.write_table(pa.table({"_dlt_id": ["r9"]}), place.dataset / source)
    place.write_journal(json.dumps({"version": 1, "moves": [[source, "orders/9.x.parquet"]]}))
    with pytest.warns(CommandWarning, match=r"finished an interrupted load .* \(files moved: 1, removed: 0\)"):
        place.migrate()


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_what_is_taken_back_is_said(shared: Callable[[str], Shared], kind: str) -> None:
    place = shared(kind)
    place.write_journal(journal_text(Versions("broken", "shop", "b" * 32, {})))
    with pytest.warns(CommandWarning, match="undid load `broken`"):
        place.load("2")


@pytest.mark.parametrize(
    "journal",
    [
        Versions("1", "shop", "0" * 32, {"orders": None, "lines": 3}, ("_dlt_version/shop__1.jsonl",)),
        Moves(("orders/a=1/x.parquet",), ((".schemactl-load/new/init", "init"),)),
        Pending("1", "shop", (TableMove("orders", "_schemactl_new_1_orders", key="_dlt_id"),), "_schemactl_pending_1"),
        Pending("1", "shop", (TableMove("_dlt_loads", None, rows=({"load_id": "1", "status": 0, "at": None},)),), "x"),
    ],
)
def test_a_journal_is_read_as_it_was_written(journal: Any) -> None:
    assert read_journal(type(journal), journal_text(journal), "x") == journal


PARTS: tuple[Any, ...] = (
    *("..", "/", "", "orders", ".schemactl-load", "new", "x.parquet", "_dlt_loads", "shop__1.jsonl", "init", "a=1"),
    *("../../home/.bashrc", "\0", "é\u2028", "orders/../..", "*", "a" * 32, "version", "moves", "removals", "tables"),
    *(None, True, -1, 2**70, 0.5),
)


def _random_value(chance: random.Random, depth: int = 0) -> Any:
    match chance.randrange(4 if depth < 4 else 2):
        case 0:
            return chance.choice(PARTS)
        case 1:
            return "/".join(str(chance.choice(PARTS)) for _ in range(chance.randrange(1, 5)))
        case 2:
            return [_random_value(chance, depth + 1) for _ in range(chance.randrange(4))]
        case _:
            keys = (chance.choice(PARTS) for _ in range(chance.randrange(4)))
            return {str(key): _random_value(chance, depth + 1) for key in keys}


@pytest.mark.parametrize("kind", KINDS)
def test_random_journals_change_nothing_outside(shared: Callable[[str], Shared], kind: str) -> None:
    place = shared(kind)
    inside = place.folder if kind == "iceberg" else place.dataset  # where the lock and the journal are
    outside = {path: path.lstat().st_mtime_ns for path in place.above.rglob("*") if inside not in path.parents}
    fields = ("removals", "moves", "version") if kind == "parquet" else ("load_id", "attempt", "tables", "files")
    known: dict[str, Any] = {"load_id": "9", "schema_name": "shop", "attempt": "a" * 32, "tables": {}, "files": []}
    for seed in range(300):
        chance = random.Random(seed)
        document = {**({"version": 1} if kind == "parquet" else known), chance.choice(fields): _random_value(chance)}
        if kind == "parquet" and chance.random() < 0.5:
            new = "/".join(str(chance.choice(PARTS)) for _ in range(chance.randrange(1, 4)))
            document["moves"] = [[f".schemactl-load/new/{new}", new]]
        place.write_journal(json.dumps(document))
        with suppress(SchemactlError), catch_warnings():  # none ends as a fault of ours
            simplefilter("ignore", CommandWarning)
            place.read()
        with suppress(SchemactlError), catch_warnings():
            simplefilter("ignore", CommandWarning)
            place.migrate()
    left = {path: path.lstat().st_mtime_ns for path in place.above.rglob("*") if inside not in path.parents}
    assert {**left, inside: 0} == {**outside, inside: 0}
    assert place.in_home() == place.before
