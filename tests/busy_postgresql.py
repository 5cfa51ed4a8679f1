"""Readers and writers of a PostgreSQL table ``shop.orders``, which run all the time while a migration does."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Client:
    """Runs statements until it is told to end.

    Attributes:
        url: of the server.
        number: that its rows begin with, in millions; 0 for one that only reads.
        pause_seconds: between two statements.
        amounts: what it was told is kept, by the rows' ids.
        longest: seconds of its longest statement.
        count: of its statements.
        shown: how many of them were reported.
    """

    url: str
    number: int
    ended: threading.Event
    rows: int
    pause_seconds: float = 0.0
    amounts: dict[int, int] = field(default_factory=dict)
    longest: float = 0.0
    count: int = 0
    shown: int = 0
    failure: BaseException | None = None

    def run(self) -> None:
        import psycopg

        try:
            chance = random.Random(self.number)
            with psycopg.connect(self.url, autocommit=True) as connection:
                while not self.ended.is_set():
                    began = time.monotonic()
                    self._write(connection, chance) if self.number else self._read(connection, chance)
                    self.longest = max(self.longest, time.monotonic() - began)
                    self.count += 1
                    time.sleep(self.pause_seconds)
        except BaseException as error:
            self.failure = error

    def _read(self, connection: Any, chance: random.Random) -> None:
        first = chance.randrange(self.rows)
        between = f"id BETWEEN {first} AND {first + 100}"
        connection.execute(
            f"SELECT count(*), sum(amount), min(old) FROM shop.orders WHERE {between}".encode()
        ).fetchall()

    def _write(self, connection: Any, chance: random.Random) -> None:
        amount = chance.randrange(1000)
        if self.amounts and chance.random() < 0.7:
            row = chance.choice(list(self.amounts))
            connection.execute(f"UPDATE shop.orders SET amount = {amount} WHERE id = {row}".encode())
        else:
            row = self.number * 1_000_000_000 + self.count
            insert(connection, row, amount)
        self.amounts[row] = amount


def insert(connection: Any, row: int, amount: int) -> None:
    """Insert a row with the new column ``state`` or without it, as the table takes it now."""
    from psycopg.errors import NotNullViolation, UndefinedColumn

    for columns, last in itertools.cycle((("", ""), (", state", ", 'new'"))):
        query = f"INSERT INTO shop.orders (id, amount, old{columns}) VALUES ({row}, {amount}, '{row}'{last})"
        try:
            connection.execute(query.encode())
        except (NotNullViolation, UndefinedColumn):
            continue  # the column came or went between two statements
        return


@contextmanager
def in_use(
    url: str, rows: int, readers: int = 8, writers: int = 4, pause_seconds: float = 0.005
) -> Iterator[list[Client]]:
    """Read and write all the time; afterwards each row is as its writer left it.

    Args:
        url: of the server.
        rows: that the table holds before, with ids from 1.
        readers: how many read.
        writers: how many write.
        pause_seconds: of each between two statements.
    """
    import psycopg

    ended = threading.Event()
    made = [Client(url, max(number, 0), ended, rows, pause_seconds) for number in range(1 - readers, writers + 1)]
    threads = [threading.Thread(target=each.run) for each in made]
    for thread in threads:
        thread.start()
    try:
        yield made
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    failures = [each.failure for each in made if each.failure]
    assert not failures, failures
    expected = {row: amount for each in made for row, amount in each.amounts.items()}
    with psycopg.connect(url) as connection:
        query = "SELECT id, amount, old FROM shop.orders WHERE id >= 1000000000"
        found = {row: (int(amount), int(old)) for row, amount, old in connection.execute(query).fetchall()}
        total = connection.execute("SELECT count(*) FROM shop.orders").fetchone()
    assert found == {row: (amount, row) for row, amount in expected.items()}
    assert total == (rows + len(expected),)
