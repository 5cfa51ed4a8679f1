"""Keeps a driver for the commands of its user, and ends it when none has used it for a while.

Run as a module; what to keep comes through standard input. It is the parent of the Java process, which reads its pipe:
neither outlives the other. Whoever connects and asks to attach has a lease until the connection ends; then its jobs
are cancelled, and once no lease is left Python's workers end and what the commands made in Spark is forgotten.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from filelock import FileLock, Timeout

from schemactl.engine.session.attach import attach_environment, bounded, pass_no_numpy
from schemactl.engine.session.driver import Driver, Gateway, started_driver
from schemactl.engine.session.kept import KeptDriver
from schemactl.engine.session.settings import SparkOptions
from schemactl.errors import EngineError, SchemactlError

_TICK_SECONDS: Final = 1.0
_TIDY_LIMIT_SECONDS: Final = 60
_LARGEST_LOG: Final = 1024**2
"""Bytes of Spark's log that are left where no command uses the driver; the file starts anew past them."""


class Spark:
    """Spark in a driver, as far as its keeper has to do with it."""

    def __init__(self, gateway: Gateway) -> None:
        """Start it."""
        from pyspark import java_gateway

        pass_no_numpy()
        with attach_environment(gateway):
            launch: Any = java_gateway.launch_gateway
            self._gateway: Any = launch()
        jvm = self._gateway.jvm
        self._context = jvm.org.apache.spark.SparkContext.getOrCreate()
        self._sessions = jvm.org.apache.spark.sql.classic.SparkSession
        self._first = self._sessions.builder().getOrCreate()
        self.version: str = self._context.version()
        self._made = self._last_object()

    def cancel(self, group: str, session: str | None) -> None:
        """Cancel the jobs of a command, those that it would still start as well."""
        from py4j.java_gateway import JavaObject

        self._context.cancelJobGroupAndFutureJobs(group)
        if session is not None:
            # The jobs of its other threads.
            JavaObject(session, self._gateway._gateway_client).interruptAll()

    def forget(self) -> None:
        """Forget all that commands have made: jobs, frames that are kept in memory, objects of the gateway, workers."""
        self._context.cancelAllJobs()
        self._sessions.setDefaultSession(self._first)
        self._first.sharedState().cacheManager().clearCache()
        last = self._last_object()
        for number in range(self._made + 1, last + 1):
            self._gateway._gateway_client.send_command(f"m\nd\no{number}\ne\n")
        self._made = last
        self._gateway.jvm.System.gc()
        for child in self._gateway.jvm.java.lang.ProcessHandle.current().children().toArray():
            # The daemon of Python's workers leads their group and is deaf to this. Those that came after it would
            # have the modules in memory that a user may change before the next command.
            with contextlib.suppress(OSError):
                os.killpg(child.pid(), signal.SIGHUP)

    def _last_object(self) -> int:
        """Return the number of the newest object of the gateway: they are counted."""
        return int(self._gateway.jvm.Object()._target_id.removeprefix("o"))


@dataclass(slots=True)
class Lease:
    """A connection: of a command that uses the driver, where it has a group; else of one that asks."""

    connection: socket.socket
    group: str | None = None
    session: str | None = None
    received: bytes = b""


class Keeper:
    """Answers those who connect, until the driver is not needed any more."""

    def __init__(self, listener: socket.socket, driver: Driver, gateway: Gateway, keep: float) -> None:
        """Start Spark in the driver, which waits ``keep`` seconds for a command."""
        self._driver = driver
        self._gateway = gateway
        self._spark = Spark(gateway)
        self._keep = keep
        self._leases: dict[socket.socket, Lease] = {}
        self._served = 0
        self._stops = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self._listener = listener
        self._waits_until = time.monotonic() + keep

    def serve(self) -> None:
        """Answer until nobody has used the driver for its time, or somebody has it stopped.

        Raises:
            EngineError: the driver has ended.
        """
        while not self._is_over():
            for key, _ in self._selector.select(_TICK_SECONDS):
                answer: Callable[[socket.socket], None] = key.data
                answer(key.fileobj)  # type: ignore[arg-type]
            if self._driver.process.poll() is not None:
                raise EngineError("Spark's Java process ended unexpectedly")
            if self._commands():
                self._waits_until = time.monotonic() + self._keep

    def _is_over(self) -> bool:
        return not self._commands() and (self._stops or time.monotonic() >= self._waits_until)

    def _commands(self) -> int:
        return sum(lease.group is not None for lease in self._leases.values())

    def _accept(self, listener: socket.socket) -> None:
        connection, _ = listener.accept()
        connection.setblocking(False)
        self._leases[connection] = Lease(connection)
        self._selector.register(connection, selectors.EVENT_READ, self._read)

    def _read(self, connection: socket.socket) -> None:
        lease = self._leases[connection]
        try:
            received = connection.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            received = b""
        if not received:
            self._end(lease)
            return
        *lines, lease.received = (lease.received + received).split(b"\n")
        for line in lines:
            self._answer(lease, json.loads(line))

    def _answer(self, lease: Lease, message: dict[str, Any]) -> None:
        match message:
            case {"ask": "attach", "keep": keep}:
                self._served += 1
                self._keep = keep
                lease.group = f"schemactl-{self._served}"
                gateway = asdict(self._gateway) | {"log": str(self._gateway.log), "group": lease.group}
                _say(lease.connection, gateway)
            case {"session": session}:
                lease.session = session
            case {"ask": "stop"}:
                _say(lease.connection, asdict(self._describe()))
                self._stops = True
            case _:
                _say(lease.connection, asdict(self._describe()))

    def _describe(self) -> KeptDriver:
        commands = self._commands()
        return KeptDriver(
            pid=self._driver.process.pid,
            master=self._driver.launch.conf["spark.master"],
            folder=str(Path.cwd()),
            spark=self._spark.version,
            java=self._driver.launch.java.version,
            commands=commands,
            served=self._served,
            keep_seconds=self._keep,
            seconds_left=None if commands else max(0.0, round(self._waits_until - time.monotonic(), 1)),
            log=str(self._gateway.log),
        )

    def _end(self, lease: Lease) -> None:
        self._selector.unregister(lease.connection)
        lease.connection.close()
        del self._leases[lease.connection]
        if lease.group is None:
            return
        group, session, is_last = lease.group, lease.session, not self._commands()

        def tidy() -> None:
            self._spark.cancel(group, session)
            if is_last:
                self._spark.forget()

        # Nobody attaches meanwhile: what they make is not forgotten.
        if bounded(tidy, _TIDY_LIMIT_SECONDS) is None:
            raise EngineError("Spark's Java process does not answer")
        log = self._driver.launch.log
        with contextlib.suppress(OSError):
            if is_last and log.stat().st_size > _LARGEST_LOG:
                os.truncate(log, 0)


def _say(connection: socket.socket, message: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        connection.sendall(json.dumps(message).encode() + b"\n")


@contextlib.contextmanager
def _listening(place: Path) -> Iterator[socket.socket]:
    """Listen at a place that this process alone holds; the place is free at the end of the block.

    Raises:
        Timeout: another keeper holds it.
    """
    lock = FileLock(place.with_suffix(".lock"), mode=0o600)
    lock.acquire(timeout=0)
    try:
        place.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(place))
            listener.listen()
            try:
                yield listener
            finally:
                place.unlink(missing_ok=True)
    finally:
        lock.release()


def _refuse(listener: socket.socket, error: SchemactlError) -> None:
    """Inform those who wait for a driver why there is none."""
    listener.settimeout(_TICK_SECONDS)
    with contextlib.suppress(OSError):
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(_TICK_SECONDS)
                connection.recv(65536)  # unread, it would take the answer with it
                _say(connection, {"error": type(error).__name__, "message": error.message, "hint": error.hint})


def keep(place: Path, options: SparkOptions) -> None:
    """Start a driver and keep it for those who connect at a place; do nothing where another keeper holds the place."""
    with contextlib.suppress(Timeout), contextlib.ExitStack() as driving, _listening(place) as listener:
        try:
            driver = driving.enter_context(started_driver(options))
            Keeper(listener, driver, driver.await_gateway(), options.keep or 0).serve()
        except SchemactlError as error:
            _refuse(listener, error)
            raise


def main() -> None:
    """Keep what standard input says."""
    request = json.load(sys.stdin)
    stated = request["options"]
    cache = Path(stated["java_cache"]) if stated["java_cache"] else None
    keep(Path(request["place"]), SparkOptions(**{**stated, "java_cache": cache}))


if __name__ == "__main__":
    main()
