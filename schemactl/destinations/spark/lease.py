"""Lets one load or migration at a time write to a schema of a catalog, from any machine and user.

A catalog has no locks, but creates a table of a name only once. A writer holds the table ``_schemactl_lease_N``, with N
one greater than the previous holder's. A property of the table identifies the writer, and is updated every few seconds
as a sign of life. After ``LEASE_SECONDS`` without a sign, the next writer takes the lease: no clocks of two machines
are compared, the next writer watches for as long. N is in the names of a load's temporary tables, so that no one drops
the tables of a running load as leftovers.
"""

from __future__ import annotations

import getpass
import json
import os
import re
import secrets
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from schemactl.destinations.spark.address import Namespace
from schemactl.engine.spark.session.failure import is_spark_failure
from schemactl.engine.spark.sql import literal
from schemactl.errors import DestinationError

LEASE: Final = "_schemactl_lease_"
_EXISTS: Final = "TABLE_OR_VIEW_ALREADY_EXISTS"
LEASE_SECONDS: Final = 60.0
_BEAT_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 1.0
_PROPERTY: Final = "schemactl.lease"
_NUMBER: Final = re.compile(rf"{LEASE}(\d+)")


class Lease:
    """The right to write to a schema; ``hold`` takes it, ``release`` releases it. An object can be used once."""

    def __init__(self, spark: SparkSession, namespace: Namespace, patience: float) -> None:
        """Prepare the lease without taking it; ``hold`` waits ``patience`` seconds for a running holder."""
        self.number = 0  # while it is not held
        self._spark, self._namespace, self._patience = spark, namespace, patience
        self._holder = {**_process(os.getpid()), "user": getpass.getuser(), "token": secrets.token_hex(8)}
        self._beaten = 0.0
        self._stopped, self._beats = Event(), Thread(target=self._beat, daemon=True)

    def hold(self) -> None:
        """Take the lease, if it is not held yet; the schema must exist."""
        if self.number:
            return
        began = time.monotonic()
        last, since = self._last(), began
        while not (_has_ended(last[1]) or time.monotonic() - since >= LEASE_SECONDS) or not self._take(last[0] + 1):
            waited = time.monotonic() - began
            # Whether a holder on another machine is at work shows with its next beat.
            if waited >= self._patience and (since > began or _is_near(last[1])):
                holder = f"process {last[1]['pid']} of `{last[1]['user']}` on `{last[1]['host']}`"
                hint = "run the command again after the other one has ended"
                raise DestinationError(f"`{self._namespace}` is in use by {holder}", hint=hint)
            time.sleep(_LOOK_SECONDS)
            latest = self._last()
            if latest != last:
                last, since = latest, time.monotonic()
        self._beats.start()
        for number in self._numbers() - {self.number}:
            if number < self.number:
                self._drop(number)

    def check(self) -> None:
        """Find out whether the lease is still held; called before changes that cannot be undone.

        Another process takes it if this process gives no sign of life for too long.
        """
        if time.monotonic() - self._beaten >= LEASE_SECONDS or max(self._numbers(), default=0) != self.number:
            raise DestinationError(
                f"this command lost its lock on `{self._namespace}` after a long pause",
                hint="run it again; it finishes committed steps first",
            )

    def release(self) -> None:
        """Give the lease back, if it is held."""
        if not self.number:
            return
        self._stopped.set()
        self._beats.join()  # which would say that it is held
        with _tolerating_spark():  # a lease that is not given back runs out
            self._say(self.number, {})
        self.number = 0

    def _take(self, number: int) -> bool:
        statement = f"CREATE TABLE {self._table(number)} (holder STRING){self._namespace.using}"
        try:
            self._spark.sql(f"{statement} TBLPROPERTIES ({_said(self._holder)})")
        except PySparkException as error:
            # The next holder may drop an existing lease before this looks for it.
            if error.getCondition() != _EXISTS and number not in self._numbers():
                raise
        last, holder = self._last()
        if last == number:
            if holder.get("token") != self._holder["token"]:
                return False
            self.number, self._beaten = number, time.monotonic()
            return True
        # The look was long ago: another process has held and released the lease meanwhile.
        self._drop(number)
        return False

    def _beat(self) -> None:
        """Say again and again that the holder is at work; a lease that has run out is the next one's."""
        number, beats = self.number, count(1)
        while not self._stopped.wait(_BEAT_SECONDS) and time.monotonic() - self._beaten < LEASE_SECONDS:
            with _tolerating_spark():  # `check` notices a failed beat
                self._say(number, {**self._holder, "beats": next(beats)})
                self._beaten = time.monotonic()

    def _say(self, number: int, holder: Mapping[str, Any]) -> None:
        self._spark.sql(f"ALTER TABLE {self._table(number)} SET TBLPROPERTIES ({_said(holder)})")

    def _last(self) -> tuple[int, Mapping[str, Any]]:
        """Return the last lease's number and its holder, which is empty for a released lease."""
        number = max(self._numbers(), default=0)
        if not number:
            return 0, {}
        try:
            properties = self._spark.sql(f"SHOW TBLPROPERTIES {self._table(number)}").collect()
        except PySparkException:
            if number in self._numbers():
                raise
            return self._last()  # dropped by the next holder
        holder = _read_holder(next((row[1] for row in properties if row[0] == _PROPERTY), ""))
        if holder is None:
            message = f"{self._table(number)} is not a lease of schemactl"
            raise DestinationError(message, hint="drop it, and check who can create tables there")
        return number, holder

    def _numbers(self) -> frozenset[int]:
        leases = self._spark.sql(f"SHOW TABLES IN {self._namespace} LIKE '{LEASE}*'").collect()
        matches = (_NUMBER.fullmatch(row.tableName) for row in leases)
        return frozenset(int(match[1]) for match in matches if match)

    def _table(self, number: int) -> str:
        return self._namespace.table(f"{LEASE}{number}")

    def _drop(self, number: int) -> None:
        self._spark.sql(f"DROP TABLE IF EXISTS {self._table(number)}")


def _said(holder: Mapping[str, Any]) -> str:
    # In hexadecimal, as Spark shows no property that looks like a secret (`spark.redaction.regex`).
    return f"{literal(_PROPERTY)} = {literal(json.dumps(holder).encode().hex())}"


def _read_holder(written: str) -> Mapping[str, Any] | None:
    """Parse a text of ``_said``, empty if the lease was given back; None for any other text."""
    try:
        holder = json.loads(bytes.fromhex(written))
    except (ValueError, RecursionError):
        return None
    kinds = {"host": str, "user": str, "token": str, "pid": int}
    is_whole = isinstance(holder, dict) and all(isinstance(holder.get(name), kind) for name, kind in kinds.items())
    return holder if is_whole or holder == {} else None


@contextmanager
def leased(spark: SparkSession, namespace: Namespace, patience: float) -> Iterator[Lease]:
    """Yield a lease, which is released at the end if the block has taken it."""
    lease = Lease(spark, namespace, patience)
    try:
        yield lease
    finally:
        lease.release()


@contextmanager
def _tolerating_spark() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if not is_spark_failure(error):
            raise


def _process(pid: int) -> dict[str, Any]:
    """Return the identity of a process across machines, with ``began`` if the system knows it."""
    identity: dict[str, Any] = {"host": socket.gethostname(), "pid": pid}
    with suppress(OSError):  # no Linux
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        identity["system"] = f"{boot} {Path('/proc/self/ns/pid').readlink()}"
        identity["began"] = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    return identity


def _is_near(holder: Mapping[str, Any]) -> bool:
    """Return whether this machine knows of the holder's process whether it is at work."""
    return "system" in holder and _process(os.getpid()).get("system") == holder["system"]


def _has_ended(holder: Mapping[str, Any]) -> bool:
    return not holder or (_is_near(holder) and _process(holder["pid"]).get("began") != holder["began"])
