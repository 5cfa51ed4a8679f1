"""Start a driver, a Java process with Spark in it, and end it.

It is quiet and ignores Ctrl-C (we stop it in order). It never outlives this process: it reads our pipe, and a watching
process kills it if it goes on.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from schemactl.engine.spark.options import SparkOptions, driver_conf, driver_memory_mb, parse_standalone
from schemactl.engine.spark.session.failure import explain_start, translate_errors
from schemactl.engine.spark.session.java import find_java
from schemactl.engine.spark.session.launch import (
    LOG_NAME,
    Launch,
    connection_file,
    java_command,
    java_environment,
    write_files,
)
from schemactl.errors import EngineError
from schemactl.store.temporary_folders import held_descriptors, temporary_folder

REACH_LIMIT_SECONDS: Final = 10
START_LIMIT_SECONDS: Final = 120
EXIT_LIMIT_SECONDS: Final = 5
GRACE_SECONDS: Final = 5
"""The time that the process has to end by itself."""

# `read` returns when the other end of the pipe is closed, however this process ends. Then the script looks
# for the group every second until it is gone, so that it does not kill another group that gets the number.
_SCRIPT: Final = """
read -r _
left="$2"
while [ "$left" -gt 0 ]; do
    kill -s 0 -- "-$1" || exit 0
    sleep 1
    left=$((left - 1))
done
kill -s KILL -- "-$1"
"""


@dataclass(slots=True)
class Driver:
    """A Java process that runs; ``is_used`` once a session was opened on it."""

    process: subprocess.Popen[bytes]
    launch: Launch
    options: SparkOptions
    is_used: bool = False

    @property
    def temporary_folder(self) -> Path:
        return self.launch.folder

    def await_gateway(self) -> Gateway:
        self.is_used = True
        process, launch = self.process, self.launch
        path = connection_file(launch.folder)
        limit = time.monotonic() + START_LIMIT_SECONDS
        while not path.is_file():
            if process.poll() is not None:
                message = f"Spark did not start: Java {launch.java.version} ended with code {process.returncode}"
                raise EngineError(message) if launch.debug else explain_start(message, launch.log)
            if time.monotonic() > limit:
                raise EngineError(f"Spark did not start within {START_LIMIT_SECONDS} seconds")
            time.sleep(0.02)
        connection = path.read_bytes()
        path.unlink()
        port, length = struct.unpack_from(">ii", connection)
        secret = connection[8 : 8 + length].decode()
        return Gateway(port, secret, launch.conf["spark.pyspark.python"], None if launch.debug else launch.log)


@contextlib.contextmanager
def start_driver(options: SparkOptions) -> Iterator[Driver]:
    """Start a driver, and end it and its children at the end of the block."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(temporary_folder("spark", log=LOG_NAME))
        conf = driver_conf(options, folder)
        check_reachable("the Spark master", conf["spark.master"], parse_standalone(conf["spark.master"]))
        java = find_java()
        launch = Launch(java, folder, conf, driver_memory_mb(conf), options.debug)
        if options.debug:
            print(*java.skip_reasons, f"Java {java.version} of {java.origin}: {java.home}", sep="\n", file=sys.stderr)
        stack.enter_context(translate_errors(None if options.debug else launch.log))
        process = stack.enter_context(spark_process(launch))
        driver = Driver(process, launch, options)
        try:
            yield driver
        finally:
            # An unused driver would finish starting before it ends.
            if not driver.is_used:
                process.kill()


def check_reachable(server: str, address: str, ports: tuple[tuple[str, int], ...]) -> None:
    """Raise EngineError if no port (host, port) of a server answers, because Spark would try for minutes.

    ``server`` and ``address`` name it in the message.
    """
    reasons = []
    for port in ports:
        try:
            socket.create_connection(port, timeout=REACH_LIMIT_SECONDS).close()
        except OSError as error:
            reasons.append(error.strerror or str(error))
        else:
            return
    if reasons:
        raise EngineError(f"cannot reach {server} `{address}`: {reasons[0].lower()}")


@contextlib.contextmanager
def kill_with_us(group: int) -> Iterator[None]:
    """Kill a group of processes if this process ends before the block does; on Windows do nothing."""
    watch = None if os.name == "nt" else _start_watch(group)
    try:
        yield
    finally:
        if watch is not None:
            # Before the group ends: another group may have its number afterwards.
            watch.kill()
            watch.communicate()


def _start_watch(group: int) -> subprocess.Popen[bytes] | None:
    null = subprocess.DEVNULL
    # In a separate session it outlives the other processes of the terminal.
    with contextlib.suppress(OSError):  # without a shell, Java ends by itself as soon as it can
        return subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT, "sh", str(group), str(GRACE_SECONDS)],
            stdin=subprocess.PIPE, stdout=null, stderr=null, cwd="/", start_new_session=True,
        )  # fmt: skip
    return None


@dataclass(frozen=True, slots=True)
class Gateway:
    """The port on loopback and the secret that PySpark needs to reach a Java process.

    Attributes:
        python: the Python of Spark's workers.
        log: Spark's log; None if it goes to standard error.
    """

    port: int
    secret: str
    python: str
    log: Path | None


@contextlib.contextmanager
def spark_process(launch: Launch) -> Iterator[subprocess.Popen[bytes]]:
    """Start the Java process, and end it and its children at the end of the block."""
    write_files(launch)
    log = contextlib.nullcontext(sys.stderr.fileno()) if launch.debug else launch.log.open("ab")
    with log as output:
        try:
            process = subprocess.Popen(
                java_command(launch),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=java_environment(launch),
                start_new_session=True,
                # While Java may write to our folders, no other command removes them.
                pass_fds=() if os.name == "nt" else held_descriptors(),
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        except OSError as error:
            raise EngineError(f"Java in `{launch.java.home}` cannot be started: {error.strerror}") from error
    try:
        with kill_with_us(process.pid):
            yield process
    finally:
        try:
            with contextlib.suppress(OSError):
                if process.stdin:
                    process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(EXIT_LIMIT_SECONDS)
        finally:
            with contextlib.suppress(OSError):
                if sys.platform == "win32":
                    process.kill()
                else:
                    os.killpg(process.pid, signal.SIGKILL)
            process.wait()
