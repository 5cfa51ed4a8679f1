"""Attaches to a driver that an earlier command has left behind, or leaves one (``--keep-spark``); finds and stops them.

A process of its own, the keeper (`keeper`), holds each kept driver. It listens on a socket in the user's private folder
whose name is made of all that makes one Spark another: who attaches gets a driver that is as their own would be. A
command's connection to the keeper is its lease of the driver: however the command ends, the connection does.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemactl import __version__
from schemactl.engine.session.attach import attached, open_shared_session
from schemactl.engine.session.driver import START_LIMIT_SECONDS, Gateway
from schemactl.engine.session.java import find_java
from schemactl.engine.session.java_cache import JavaStart, cache_name
from schemactl.engine.session.launch import PACKAGE, find_classes, python_path, spark_home
from schemactl.engine.session.settings import SparkOptions, driver_conf, driver_memory_mb
from schemactl.errors import CommandWarning, EngineError, InputError
from schemactl.store.own_folder import private_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEEPER: Final = "schemactl.engine.session.keeper"
ENDING: Final = ".spark"
_ANSWER_LIMIT_SECONDS: Final = START_LIMIT_SECONDS + 30
_STOP_LIMIT_SECONDS: Final = 30
# Unix allows 108 bytes for a socket's path, macOS 104, a closing zero included.
_LONGEST_PATH: Final = 103
# What Spark, Java, Python's workers and the libraries of object stores read. Others (a terminal's, a CI job's) differ
# from command to command and change nothing.
_VARIABLES: Final = re.compile(
    r"(SPARK|PYSPARK|PYTHON|PYARROW|ARROW|HADOOP|HDFS|YARN|HIVE|KRB5|JAVA|JDK|_JAVA|CLASSPATH|LD_LIBRARY|DYLD|AWS|AZURE"
    r"|GOOGLE|GCS|GCLOUD|CLOUDSDK|OCI|S3|ALIBABA|SSL|REQUESTS|CURL|OMP|MKL|OPENBLAS|MALLOC|VIRTUAL_ENV|CONDA|LC_).*"
    r"|PATH|HOME|USER|TMPDIR|TEMP|TMP|TZ|LANG|(https?|all|no)_proxy",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class KeptDriver:
    """A driver that waits for commands, as its keeper describes it.

    Attributes:
        pid: the Java process.
        folder: the working folder that its commands share.
        java: Java's feature version.
        commands: how many commands use it now.
        served: how many have used it, those included.
        keep_seconds: how long it waits after the last of them.
        seconds_left: how long it still waits; None while it is in use.
    """

    pid: int
    master: str
    folder: str
    spark: str
    java: int
    commands: int
    served: int
    keep_seconds: float
    seconds_left: float | None
    log: str


def can_keep(options: SparkOptions) -> bool:
    """Return whether the options want a kept driver and there can be one; warn where there cannot."""
    if options.keep is None or options.debug:
        return False
    if not hasattr(socket, "AF_UNIX"):
        warnings.warn(CommandWarning("`--keep-spark` has no effect on Windows"), stacklevel=2)
        return False
    return True


@contextlib.contextmanager
def open_kept(options: SparkOptions) -> Iterator[SparkSession]:
    """Open a session in a kept driver that fits the options; one is started where there is none.

    Raises:
        InputError: the user's private folder cannot be used.
        EngineError: the driver cannot be started.
    """
    with contextlib.closing(_Lease(options)) as lease:
        gateway = Gateway(
            lease.answer["port"], lease.answer["secret"], lease.answer["python"], Path(lease.answer["log"])
        )
        with attached(gateway, partial(open_shared_session, lease.answer["group"], lease.name_session)) as spark:
            yield spark


class _Lease:
    """A connection to the keeper of a driver, which is there for the command as long as it lasts."""

    def __init__(self, options: SparkOptions) -> None:
        """Attach to the keeper of a driver that fits the options, and wait for the driver; start one where none is."""
        place = socket_path(options)
        limit = time.monotonic() + START_LIMIT_SECONDS
        keeper: subprocess.Popen[bytes] | None = None
        while True:
            if (stream := _connect(place, _ANSWER_LIMIT_SECONDS)) is not None:
                _say(stream, {"ask": "attach", "keep": options.keep})
                import pyspark.sql  # noqa: F401 - meanwhile a driver that is new comes up

                # One that is about to end does not answer.
                if (answer := _answer(stream)) is not None:
                    self.answer, self._stream = answer, stream
                    return
                stream.close()
            elif keeper is None or keeper.poll() == 0:
                # One that finds that another holds the place ends at once: the next look finds that other one.
                keeper = _start_keeper(place, options)
            if time.monotonic() > limit or (keeper is not None and keeper.poll()):
                raise EngineError("the process that keeps Spark does not start", hint=f"its log: {_log_file(place)}")
            time.sleep(0.02)

    def name_session(self, name: str) -> None:
        """Name the command's session to the keeper, which ends its jobs when the lease does."""
        _say(self._stream, {"session": name})

    def close(self) -> None:
        """End the lease."""
        self._stream.close()


def kept_drivers() -> tuple[KeptDriver, ...]:
    """Return this user's kept drivers, in the order of their folders."""
    return _ask_all("status")


def stop_drivers() -> tuple[KeptDriver, ...]:
    """End this user's kept drivers, those in use once their commands have ended; return how they were before."""
    return _ask_all("stop")


def socket_path(options: SparkOptions, environment: Mapping[str, str] | None = None) -> Path:
    """Return where the keeper of a driver for these options listens, if there is one.

    Args:
        options: which Spark.
        environment: what the driver would inherit; the process's own by default.

    Raises:
        InputError: the user's private folder cannot be used.
        EngineError: there is no Java or no Spark.
    """
    environment = os.environ if environment is None else environment
    conf = driver_conf(options, Path("/"))
    java = find_java(environment)
    start = JavaStart(java, find_classes(conf, spark_home(), environment), (), driver_memory_mb(conf))
    # A clone has one version all the time.
    is_installed = PACKAGE.parent.name == "site-packages"
    newest = 0 if is_installed else max(file.stat().st_mtime_ns for file in PACKAGE.rglob("*.py"))
    seen = {
        "schemactl": [__version__, str(PACKAGE), newest],
        "python": [sys.executable, sys.version],
        "java": [cache_name(start, ()), start.memory_mb, options.java_cache and str(options.java_cache.absolute())],
        "conf": conf,
        "folder": str(Path.cwd()),
        "environment": {name: value for name, value in environment.items() if _VARIABLES.fullmatch(name)},
    }
    digest = hashlib.sha256(json.dumps(seen, sort_keys=True).encode(errors="surrogateescape")).hexdigest()[:16]
    path = private_folder(environment) / f"{digest}{ENDING}"
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise InputError(f"the path of `{path.parent}` is too long for a socket", hint="set XDG_RUNTIME_DIR")
    return path


def _connect(place: Path, seconds: float) -> socket.SocketIO | None:
    """Return a connection to the keeper at a socket, which waits so long for answers; None where none listens."""
    connection = socket.socket(socket.AF_UNIX)
    with connection:
        connection.settimeout(seconds)
        with contextlib.suppress(OSError):
            connection.connect(str(place))
            return connection.makefile("rwb", buffering=0)
    return None


def _start_keeper(place: Path, options: SparkOptions) -> subprocess.Popen[bytes]:
    cache = options.java_cache and str(options.java_cache.absolute())
    with _log_file(place).open("wb") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", KEEPER],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env={**os.environ, **python_path()},
            # Neither the terminal's end nor its Ctrl-C is the keeper's.
            start_new_session=True,
        )
    assert keeper.stdin is not None
    with contextlib.suppress(BrokenPipeError), keeper.stdin as pipe:
        # Not as an argument: settings can hold passwords.
        pipe.write(json.dumps({"place": str(place), "options": {**asdict(options), "java_cache": cache}}).encode())
    return keeper


def _log_file(place: Path) -> Path:
    return place.with_suffix(".log")


def _say(stream: socket.SocketIO, message: Mapping[str, Any]) -> None:
    with contextlib.suppress(ConnectionError):  # then there is no answer
        stream.write(json.dumps(message).encode() + b"\n")


def _answer(stream: socket.SocketIO) -> dict[str, Any] | None:
    """Return the keeper's answer, None where it ends without one; raise the error that it reports."""
    try:
        line = stream.readline()
    except ConnectionError:
        return None
    if not line:
        return None
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        kind = InputError if answer["error"] == InputError.__name__ else EngineError
        raise kind(answer["message"], hint=answer["hint"])
    return answer


def _ask_all(question: str) -> tuple[KeptDriver, ...]:
    found = []
    places = private_folder().glob(f"*{ENDING}") if hasattr(socket, "AF_UNIX") else ()
    for place in places:
        stream = _connect(place, _STOP_LIMIT_SECONDS)
        if stream is None:
            continue
        with stream, contextlib.suppress(TimeoutError, EngineError, InputError):
            _say(stream, {"ask": question})
            if (answer := _answer(stream)) is not None:
                found.append(KeptDriver(**answer))
                if question == "stop" and not found[-1].commands:
                    stream.read()  # until it has ended
    return tuple(sorted(found, key=lambda driver: (driver.folder, driver.master, driver.pid)))
