"""Loads that widen columns, folds of variants, and rollbacks, killed at the points at which they change something.

After a kill the next command leads to the state that a run without a kill leaves. With ``SCHEMACTL_KILLS`` set, a kill
comes at all points, or at each ``SCHEMACTL_KILL_STRIDE``th; by default at a few, others for each destination. What
follows a kill differs from one kill to the next; another number as ``SCHEMACTL_KILLS`` begins with another.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any
from zlib import crc32

import duckdb
import pyarrow.parquet
import pytest
from deltalake import DeltaTable
from forked_commands import Commands, forked_commands
from kill_points import PREPARE
from killed_scenes import COLUMNS, VARIANTS, Scene, Values, expected, make_scene

from schemactl.destinations.iceberg.address import open_catalog, read_address
from schemactl.flows.target import loadable

KILLS = os.environ.get("SCHEMACTL_KILLS")
KINDS = ("sqlite", "duckdb", "postgresql", "mysql", "parquet", "delta", "iceberg")


def scenes(*kinds: str) -> pytest.MarkDecorator:
    """Run a test in scenes of some destinations; with ``SCHEMACTL_KILLS`` set, of all."""
    return pytest.mark.parametrize("scene", KINDS if KILLS is not None else kinds, indirect=True)


PROMOTES = ("--contract", "data_type=promote")


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    with forked_commands(PREPARE) as forked:
        yield forked


@pytest.fixture
def scene(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    servers = {"postgresql": "postgres_url", "mysql": "mariadb_url"}
    server = request.getfixturevalue(servers[request.param]) if request.param in servers else ""
    made = make_scene(request.param, tmp_path, server)
    monkeypatch.chdir(made.work)
    monkeypatch.setenv("SCHEMACTL_ENGINE", "local")
    return made


def kill_points(name: str) -> tuple[int, int]:
    """Return the first point to kill at, and the number from one to the next."""
    if KILLS is not None:
        return 0, int(os.environ.get("SCHEMACTL_KILL_STRIDE", "1"))
    return crc32(name.encode()) % FEW, FEW


FEW = 23


def is_whole(scene: Scene, values: Values, survivors: Sequence[Values]) -> bool:
    """Return whether a dataset is in one of some states; in lakes each of its tables is, as they have no joint commit.

    There the next load undoes the rows of a load that is not in ``_dlt_loads``.
    """
    if scene.kind not in ("delta", "iceberg"):
        return values in survivors

    def rows_of(table: str, state: Values) -> Values:
        return Values({row: count for row, count in state.items() if row[0] == table})

    tables = {row[0] for state in (values, *survivors) for row in state}
    return all(rows_of(table, values) in [rows_of(table, state) for state in survivors] for table in tables)


class Killed:
    """Runs one command again and again in a scene, each time killed at another point."""

    def __init__(self, commands: Commands, scene: Scene) -> None:
        self.commands, self.scene = commands, scene

    def run(self, *call: str, codes: Sequence[int] = (0,)) -> int:
        """Run a command to the end."""
        answer = self.commands(*call, begin=(-1,))
        assert answer.code in codes, answer
        return answer.code

    def load(self, name: str, *options: str, codes: Sequence[int] = (0,)) -> None:
        self.scene.write(name)
        self.run(*self.load_call, *options, codes=codes)

    @property
    def load_call(self) -> tuple[str, ...]:
        return ("normalize", "landing", "--name", "shop", "--table", "orders", "--to", self.scene.to, "--new-only")

    def kill_at_all(
        self,
        call: Sequence[str],
        survivors: Sequence[Values],
        columns: Sequence[str],
        go_on: Callable[[int], None],
    ) -> None:
        """Kill a command at its points, each time in the same state, and go on after it.

        Args:
            survivors: the values that may be stored after a kill; none for any.
            go_on: runs the next commands, and checks the values; it gets the number of the kill.
        """
        scene = self.scene
        scene.store("before")
        self.run(*call)
        names, types = scene.names(), scene.types()
        wrong: list[str] = []
        number, first_number = 0, int(KILLS or 0)
        for point in count(*kill_points(f"{scene.kind} {call[:2]}")):
            scene.restore("before")
            answer = self.commands(*call, begin=(point,))
            if answer.code == 0:
                break
            assert answer.code == -signal.SIGKILL, answer
            change = Path("killed.txt").read_text()
            Path("killed.txt").unlink()
            number += 1
            try:
                if survivors:
                    assert is_whole(scene, scene.values(*columns), survivors)
                is_same_way = go_on(first_number + number)
                scene.check_settled()
                assert not scene.unlisted_files()
                if is_same_way:
                    assert scene.types() == types
                    assert scene.names() == names, (scene.names() - names, names - scene.names())
            except Exception as error:  # collected, so that one run shows all faults
                wrong.append(f"killed before {point}, {change}:\n{error!r:.1500}")
                print(wrong[-1], flush=True)
        print(f"{scene.kind}: {number} kills of {call[:2]}, {len(wrong)} wrong")
        assert not wrong, "\n\n".join(wrong)
        assert number


@pytest.fixture
def killed(commands: Commands, scene: Scene) -> Killed:
    return Killed(commands, scene)


def apply(scene: Scene) -> tuple[str, ...]:
    return ("migrate", "apply", "shop", "--to", scene.to, "--yes")


def rollback(scene: Scene) -> tuple[str, ...]:
    return ("migrate", "rollback", "shop", "--to", scene.to, "--yes", "--allow-destructive")


@scenes("parquet")
def test_a_killed_load_that_widens_columns_leads_to_all_values_once(killed: Killed, scene: Scene) -> None:
    killed.load("first", "--column", "day:date")
    scene.write("wider")
    load = (*killed.load_call, *PROMOTES)

    def go_on(number: int) -> bool:
        match number % 4:
            case 0:
                killed.run(*rollback(scene), codes=(0, 1, 2))
            case 1:
                killed.run(*apply(scene))
            case 2:
                killed.run("migrate", "status", "shop", "--to", scene.to, codes=(0, 1))
                killed.run("migrate", "verify", "shop", "--to", scene.to, codes=(0, 1))
        killed.run(*load)
        assert scene.values(*COLUMNS) == expected("first", "wider")
        return number % 4 > 1

    killed.kill_at_all(load, (expected("first"), expected("first", "wider")), COLUMNS, go_on)


@pytest.mark.parametrize("scene", ["parquet"], indirect=True)
@pytest.mark.parametrize(
    "change",
    [
        "os.mkdir lake/shop/_schemactl_steps",  # the columns are wide, and the ledger has no end of the migration
        "os.rename lake/shop/_schemactl_migrations/",
        "os.rename lake/shop/.schemactl-load/new/_dlt_loads/",  # the load counts, and not all of its rows have come
    ],
)
def test_a_load_without_new_data_finishes_a_killed_one(killed: Killed, scene: Scene, change: str) -> None:
    killed.load("first", "--column", "day:date")
    scene.write("wider")
    load = (*killed.load_call, *PROMOTES)
    assert killed.commands(*load, begin=(0, change)).code == -signal.SIGKILL

    killed.run(*load)

    assert scene.values(*COLUMNS) == expected("first", "wider")
    assert not Path("lake/shop/.schemactl-load").exists()
    scene.check_settled()


@pytest.mark.parametrize(
    ("scene", "point", "change"),
    [
        ("delta", 0, "os.remove lake/shop/.schemactl-journal.json"),
        ("iceberg", 1, "DELETE FROM iceberg_namespace_properties"),  # the first one begins the journal
        ("parquet", 0, "os.rmdir lake/shop/.schemactl-load"),
    ],
    indirect=["scene"],
)
def test_a_load_without_new_data_ends_a_killed_one_that_is_complete(
    killed: Killed, scene: Scene, point: int, change: str
) -> None:
    killed.load("first", "--column", "day:date")
    scene.write("odd")
    assert killed.commands(*killed.load_call, begin=(point, change)).code == -signal.SIGKILL
    assert scene.values(*COLUMNS, *VARIANTS) == expected("first", "odd", is_folded=False)
    assert is_interrupted(scene.to)

    killed.run(*killed.load_call)

    assert scene.values(*COLUMNS, *VARIANTS) == expected("first", "odd", is_folded=False)
    assert not is_interrupted(scene.to)


@pytest.mark.parametrize("scene", ["iceberg"], indirect=True)
def test_the_next_load_removes_the_data_files_that_a_killed_one_has_not_committed(killed: Killed, scene: Scene) -> None:
    """Files of rewritten tables, of the ledger and of new tables; Iceberg's maintenance removes its own metadata."""
    killed.load("first", "--column", "day:date")
    scene.write("wider")
    load = (*killed.load_call, *PROMOTES)
    scene.store("before")
    left: set[str] = set()

    for point in count(1, 19):
        scene.restore("before")
        if killed.commands(*load, begin=(point, "iceberg file")).code == 0:
            break
        left |= scene.unlisted_files()
        killed.run(*load)
        assert not scene.unlisted_files()

    assert left


def is_interrupted(to: str) -> bool:
    target = loadable(to)
    return target.destination.read_past_loads(target.url, "shop").is_interrupted


@pytest.mark.parametrize(
    ("scene", "point", "change"),
    [
        ("parquet", 0, "os.rename lake/shop/_schemactl_migrations/"),
        ("mysql", 1, "ALTER TABLE `shop`.`orders` MODIFY COLUMN"),  # one column is wide
    ],
    indirect=["scene"],
)
def test_migrate_apply_finishes_the_widening_of_a_killed_load(
    killed: Killed, scene: Scene, point: int, change: str
) -> None:
    killed.load("first", "--column", "day:date")
    scene.write("wider")
    load = (*killed.load_call, *PROMOTES)
    assert killed.commands(*load, begin=(point, change)).code == -signal.SIGKILL
    assert scene.values(*COLUMNS) == expected("first")

    killed.run(*apply(scene))

    assert scene.values(*COLUMNS) == expected("first")
    assert scene.types()["orders"]["score"] == "double"
    killed.run(*load)
    assert scene.values(*COLUMNS) == expected("first", "wider")
    scene.check_settled()


FIELDS = [
    {"id": 1, "place": {"height": 1, "name": "a"}, "sizes": [1, 2]},
    {"id": 2, "place": {"height": -5, "name": None}, "sizes": []},
]
WIDER_FIELDS = [{"id": 3, "place": {"height": 1.5, "name": "b"}, "sizes": [2.5, 3]}]


@pytest.mark.parametrize("scene", ["duckdb", "parquet", "delta", "iceberg"][0 if KILLS else 2 :], indirect=True)
def test_a_killed_load_that_widens_fields_leads_to_all_values_once(killed: Killed, scene: Scene) -> None:
    def write(name: str, documents: Sequence[dict[str, Any]]) -> None:
        Path("landing").mkdir(exist_ok=True)
        Path(f"landing/{name}.jsonl").write_text("".join(json.dumps(document) + "\n" for document in documents))

    def stored_documents() -> list[dict[str, Any]]:
        match scene.kind:
            case "duckdb":
                with duckdb.connect("made.duckdb", read_only=True) as connection:
                    rows = connection.execute("FROM shop.orders").to_arrow_table().to_pylist()
            case "delta":
                rows = DeltaTable("lake/shop/orders").to_pyarrow_table().to_pylist()
            case "iceberg":
                catalog = open_catalog(read_address(scene.to), is_written=False)
                rows = catalog.load_table(("shop", "orders")).scan().to_arrow().to_pylist()
            case _:
                files = sorted(Path("lake/shop/orders").glob("*.parquet"))
                rows = [row for file in files for row in pyarrow.parquet.read_table(file).to_pylist()]
        documents = [{name: row[name] for name in FIELDS[0]} for row in rows]
        return sorted(documents, key=lambda document: document["id"])

    write("first", FIELDS)
    killed.run(*killed.load_call, "--normalizer", "nested")
    write("wider", WIDER_FIELDS)
    scene.store("before")
    wrong: list[str] = []
    number = 0

    for point in count(*kill_points(f"{scene.kind} fields")):
        scene.restore("before")
        if killed.commands(*killed.load_call, *PROMOTES, begin=(point,)).code == 0:
            break
        number += 1
        change = Path("killed.txt").read_text()
        try:
            if number % 3 == 0:
                killed.run(*rollback(scene), codes=(0, 1, 2))
            killed.run(*killed.load_call, *PROMOTES)
            assert stored_documents() == [*FIELDS, *WIDER_FIELDS]
            scene.check_settled()
            assert not scene.unlisted_files()
        except Exception as error:
            wrong.append(f"killed before {point}, {change}:\n{error!r:.1500}")
            print(wrong[-1], flush=True)
    print(f"{scene.kind}: {number} kills of a load that widens fields, {len(wrong)} wrong")
    assert not wrong, "\n\n".join(wrong)
    assert number


@scenes("delta")
def test_a_killed_rollback_of_widened_columns_leads_to_the_old_types(killed: Killed, scene: Scene) -> None:
    killed.load("first", "--column", "day:date", "--column", "id:bigint,primary_key", "--write-disposition", "merge")
    killed.load("wider", *PROMOTES)
    killed.load("narrow", *PROMOTES)

    values = expected("first", "narrow")

    def go_on(number: int) -> bool:
        killed.run(*rollback(scene), codes=(0, 2))  # a rollback that was killed after its end leaves no run to undo
        assert scene.values(*COLUMNS) == values
        types = scene.types()
        assert (types["orders"]["score"], types["orders__items"]["price"]) == ("bigint", "bigint"), types
        killed.run(*apply(scene))
        assert scene.values(*COLUMNS) == values
        return False

    killed.kill_at_all(rollback(scene), [values], COLUMNS, go_on)


def fold(killed: Killed) -> None:
    killed.load("first", "--column", "day:date")
    killed.load("odd")
    killed.run("edit", "shop", "--fold-all")
    killed.run("sync", "shop", "--yes")


@scenes("postgresql")
def test_a_killed_fold_leads_to_all_values_in_their_columns(killed: Killed, scene: Scene) -> None:
    fold(killed)

    def go_on(number: int) -> bool:
        files = ["first", "odd"]
        match number % 4:
            case 0:
                if killed.run(*rollback(scene), codes=(0, 2)) == 0:
                    assert scene.values(*COLUMNS, *VARIANTS) == expected("first", "odd", is_folded=False)
            case 1:
                files.append("later")
                killed.load("later", codes=(0, 3))  # refused if the columns are half folded
            case 2:
                killed.run("migrate", "status", "shop", "--to", scene.to, codes=(0, 1))
                killed.run("migrate", "verify", "shop", "--to", scene.to, codes=(0, 1))
        killed.run(*apply(scene))
        if "later" in files:
            killed.run(*killed.load_call)
        assert scene.values(*COLUMNS) == expected(*files)
        return number % 4 > 1

    killed.kill_at_all(apply(scene), (), (), go_on)


@scenes("mysql")
def test_a_killed_rollback_of_a_fold_leads_to_all_values_in_their_variants(killed: Killed, scene: Scene) -> None:
    fold(killed)
    killed.run(*apply(scene))

    def go_on(number: int) -> bool:
        if number % 3 < 2:
            killed.run(*rollback(scene), codes=(0, 2))
            assert scene.values(*COLUMNS, *VARIANTS) == expected("first", "odd", is_folded=False)
        killed.run(*apply(scene))
        assert scene.values(*COLUMNS) == expected("first", "odd")
        return False

    killed.kill_at_all(rollback(scene), (), (), go_on)
