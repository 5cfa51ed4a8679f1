"""Kills folds of variants and their rollbacks at random moments, and checks that no value is lost or moved.

``python tests/flows/killed_folds.py ADDRESS ROUNDS SEED`` does it by hand, in the working folder.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

from killed_rejects import IMPORTED, KilledCommands

SCORES: list[int | float] = [1, -(2**53), 2**53, 7, 1.5, 1e300, -0.5, 2.25]
"""Two loads: integers, and numbers of which some go to the variant."""


class KilledFolds(KilledCommands):
    """Runs ``migrate`` once killed at a random moment, and once to the end."""

    def migrate(self, words: list[str], codes: tuple[int, ...]) -> None:
        command = partial(migrate, [*words, "--to", self.to, "--yes"])
        key = words[1]
        if key in self.seconds:
            self._fork(command, self.random.uniform(0, self.seconds[key]))
        self.seconds[key] = self.timed(command, codes)

    def timed(self, command: Callable[[], int], codes: tuple[int, ...]) -> float:
        """Run a command to the end, and return its seconds."""
        import time

        started = time.monotonic()
        code = self._fork(command, None)
        assert code in codes, (code, Path("out.txt").read_text())
        return time.monotonic() - started


def migrate(words: list[str]) -> int:
    from schemactl.cli.app import run

    return int(run(words))


def check_rounds(to: str, rounds: int, seed: int) -> int:
    """Fold and undo in some rounds; return how many commands were killed."""
    os.environ["SCHEMACTL_ENGINE"] = "local"
    for module in (*IMPORTED, "schemactl.flows.migrate.apply", "schemactl.flows.migrate.rollback"):
        import_module(module)
    commands = KilledFolds(to, seed)
    for name, numbers in (("first", range(4)), ("later", range(4, 8))):
        lines = [json.dumps({"id": number, "score": SCORES[number]}) for number in numbers]
        Path(f"{name}.jsonl").write_text("\n".join(lines) + "\n")
        commands.timed(
            partial(migrate, ["normalize", f"{name}.jsonl", "--name", "shop", "--table", "orders", "--to", to]), (0,)
        )
    for words in (["edit", "shop", "--fold", "score__v_double"], ["sync", "shop", "--yes"]):
        commands.timed(partial(migrate, words), (0,))
    for _ in range(rounds):
        commands.migrate(["migrate", "apply", "shop"], (0,))
        commands.call(partial(check_folded, to))
        # A rollback that was killed after its end leaves no run to undo.
        commands.migrate(["migrate", "rollback", "shop", "--allow-destructive"], (0, 2))
        commands.call(partial(check_unfolded, to))
    return commands.kills


def rows(to: str, *columns: str) -> list[tuple[object, ...]]:
    from schemactl.flows.target import find_destination
    from schemactl.schema.types import Table

    target = find_destination(to)
    stored = target.destination.read_catalogue(target.url).schema.tables["orders"]
    assert stored.columns.keys() >= {*columns}, list(stored.columns)
    model = Table("orders", {name: stored.columns[name] for name in columns})
    batches = target.destination.read_table(target.url, "shop", model)
    return sorted(tuple(row.values()) for batch in batches for row in batch.to_pylist())


def check_folded(to: str) -> None:
    """Raise ``AssertionError`` unless all values are in the column."""
    assert rows(to, "id", "score") == list(enumerate(map(float, SCORES))), rows(to, "id", "score")


def check_unfolded(to: str) -> None:
    """Raise ``AssertionError`` unless each value is in the column that the loads wrote it to."""
    found = rows(to, "id", "score", "score__v_double")
    expected = [
        (number, score, None) if isinstance(score, int) else (number, None, score)
        for number, score in enumerate(SCORES)
    ]
    assert found == expected, found


if __name__ == "__main__":
    address, rounds_text, seed_text = sys.argv[1:]
    print(check_rounds(address, int(rounds_text), int(seed_text)), "killed commands", address.partition(":")[0])
