"""Kills loads and replays at random moments, and checks that each record is in one place.

``python tests/flows/killed_rejects.py ADDRESS ROUNDS SEED`` does it by hand, in the working folder.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path

RECORDS = 6
"""Records of each round: two are loaded, two are repaired, two stay rejected."""

IMPORTED = (
    "duckdb",
    "psycopg",
    "pyarrow.parquet",
    "schemactl.cli.app",
    "schemactl.engine.local.engine",
    "schemactl.flows.replay",
)
"""What forks need not import again; none of it begins threads."""

STRICT = ("--contract", "data_type=discard_row")


class KilledCommands:
    """Runs commands in forks of this process, once killed at a random moment and once to the end."""

    def __init__(self, to: str, seed: int) -> None:
        self.to = to
        self.random = random.Random(seed)
        self.kills = 0
        self.seconds: dict[str, float] = {}

    def run(self, words: Sequence[str]) -> None:
        """Run a command in a fork that is killed at a random moment, and again to the end."""

        def command() -> int:
            from schemactl.cli.app import run

            return int(run([*words, "--to", self.to]))

        if words[0] in self.seconds:
            self._fork(command, self.random.uniform(0, self.seconds[words[0]]))
        started = time.monotonic()
        self.call(command)
        self.seconds[words[0]] = time.monotonic() - started

    def call(self, function: Callable[[], int | None]) -> None:
        """Call a function in a fork: what Delta Lake begins in a process, its forks cannot go on with."""
        code = self._fork(function, None)
        assert code == 0, (code, Path("out.txt").read_text())

    def _fork(self, function: Callable[[], int | None], seconds: float | None) -> int:
        child = os.fork()
        if child == 0:
            output = os.open("out.txt", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            code = 1
            try:
                code = function() or 0
            except Exception:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        if seconds is not None:
            time.sleep(seconds)
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        self.kills += os.WIFSIGNALED(status)
        return os.waitstatus_to_exitcode(status)


def check_rounds(to: str, rounds: int, seed: int) -> int:
    """Load, reject, repair and replay records in some rounds; return how many commands were killed."""
    os.environ["SCHEMACTL_ENGINE"] = "local"
    for module in IMPORTED:
        import_module(module)
    commands = KilledCommands(to, seed)
    Path("first.jsonl").write_text(json.dumps({"id": -1, "amount": 0, "lines": [{"qty": 0}]}) + "\n")
    commands.run(["normalize", "first.jsonl", "--name", "shop", "--table", "orders"])
    for number in range(rounds):
        ids = range(number * RECORDS, (number + 1) * RECORDS)
        amounts = [1, 1, "repair", 1, "stays", "stays"]
        quantities = [1, 1, 1, "repair", 1, 1]
        records = zip(ids, amounts, quantities, strict=True)
        lines = [json.dumps({"id": key, "amount": amount, "lines": [{"qty": qty}]}) for key, amount, qty in records]
        Path(f"batch-{number}.jsonl").write_text("\n".join(lines) + "\n")
        load = ["normalize", f"batch-{number}.jsonl", "--name", "shop", "--table", "orders", *STRICT]
        commands.run([*load, "--load-id", f"batch-{number}"])
        commands.call(partial(export_repaired, to))
        commands.run(["rejects", "replay", "shop", "--from", "repaired.jsonl", "--yes", *STRICT])
        commands.call(partial(check_balance, to, number + 1))
    return commands.kills


def export_repaired(to: str) -> None:
    from schemactl.flows.rejects import export_rejects, open_store
    from schemactl.normalization.rejects import RejectFilter

    lines: list[str] = []
    export_rejects(open_store("shop", to, Path("schemas")), RejectFilter(), lines.append)
    Path("repaired.jsonl").write_text("".join(lines).replace('"repair"', "2"))


def check_balance(to: str, rounds: int) -> None:
    """Raise ``AssertionError`` unless each record is loaded or waits, once."""
    from schemactl.flows.rejects import open_store
    from schemactl.schema.types import Column, Table

    store = open_store("shop", to, Path("schemas"))

    def values(table: str, name: str, kind: str) -> Counter[object]:
        model = Table(table, {name: Column(name, {"data_type": kind})})
        batches = store.destination.read_table(store.target.url, "shop", model)
        return Counter(value for batch in batches for value in batch.column(0).to_pylist())

    loaded = values("orders", "id", "bigint")
    expected = {-1, *(number * RECORDS + index for number in range(rounds) for index in range(4))}
    assert loaded == Counter(expected), (sorted(expected - loaded.keys()), loaded.most_common(3))
    keys, parents = values("orders", "_dlt_id", "text"), values("orders__lines", "_dlt_parent_id", "text")
    assert keys == parents
    rejects = list(store.read())
    states = Counter((str(reject.column), str(reject.state)) for reject in rejects)
    assert states == {
        ("amount", "waiting"): 2 * rounds, ("amount", "replayed"): rounds, ("qty", "replayed"): rounds,
    }, states  # fmt: skip
    assert len({reject.record_id for reject in rejects}) == 4 * rounds


if __name__ == "__main__":
    address, rounds, seed = sys.argv[1:]
    print(check_rounds(address, int(rounds), int(seed)), "killed commands", address.partition(":")[0])
