"""Make the configuration of Spark of the user's options, our defaults and the memory of the machine.

It starts nothing: `driver` does.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from schemactl.errors import InputError
from schemactl.memory import machine_memory_mb

DEFAULT_MASTER = "local[*]"
MOST_MEMORY_MB = 4096
# Spark refuses a heap below 450 MiB, and counts less of it than it is given.
LEAST_MEMORY_MB = 768
# Spark's parser of JSON calls itself at each level of a record: 900 levels overflow Java's usual stack, and end it.
THREAD_STACK = "-Xss4m"
LONG_METHODS = "-XX:-DontCompileHugeMethods"
"""Java compiles methods of more than 8,000 bytes as well; distinguishing families of values makes such ones."""
WORKER_DAEMON = "schemactl.engine.spark.worker_daemon"
DEFAULT_CONNECT_PORT = 15002
DEFAULT_STANDALONE_PORT = 7077

_MASTER = re.compile(r"(local|local\[(\d+|\*)(,\d+)?\]|local-cluster\[\d+,\d+,\d+\]|yarn|(spark|k8s)://.+)")
_SIZE = re.compile(r"(\d+)\s*([kmgtp]?)b?", re.IGNORECASE)

# Settings that results depend on, for every Spark, a remote one included.
SESSION_CONF: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    # As Python's parser and dlt's: the last of several equal keys counts.
    "spark.sql.variant.allowDuplicateKeys": "true",
    # Expressions are as wide as rows: one method for a whole stage gets too long for Java to compile well.
    "spark.sql.codegen.wholeStage": "false",
    # Past this, Spark makes no method of the stage: Java runs it uncompiled, but for one started with LONG_METHODS.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.adaptive.enabled": "true",
    # Spark's inference about the values in a row doubles with each column in a condition: the plan of a key of ten
    # columns takes half a minute with it, and our plans do not profit from it.
    "spark.sql.constraintPropagation.enabled": "false",
}

# Settings of a driver that we start.
DRIVER_CONF: Mapping[str, str] = {
    "spark.app.name": "schemactl",
    "spark.api.mode": "classic",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Compresses staged data: a fifth of the disk space, in the same time.
    "spark.rdd.compress": "true",
    "spark.executor.extraJavaOptions": f"-Duser.timezone=UTC {THREAD_STACK} {LONG_METHODS}",
    "spark.sql.codegen.hugeMethodLimit": "65535",
    # It looks up the caller's line for every column expression, which a wide plan has thousands of.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}


class StartedDriver(Protocol):
    """A Java process that was started ahead of its session; ``session.driver.Driver`` is one."""

    @property
    def options(self) -> SparkOptions: ...

    @property
    def is_used(self) -> bool:
        """Whether a session was opened on it."""

    @property
    def temporary_folder(self) -> Path:
        """The folder of its temporary files."""

    def await_gateway(self) -> Any:
        """Wait until it listens, and return its gateway."""


@dataclass(frozen=True)
class SparkOptions:
    """The user's choice of Spark.

    Args:
        master: a cluster's address, or ``local[*]`` and its like; None is ``local[*]``.
        remote: a Spark Connect server, ``sc://host:port``; excludes master.
        conf: Spark settings, which override ours.
        debug: Spark's log and Python's warnings go to standard error.
        driver: a driver that runs with these options already, for the first session.
    """

    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    debug: bool = False
    driver: StartedDriver | None = field(default=None, compare=False, repr=False)


def master_of(options: SparkOptions) -> str:
    """Return the master to start a driver with: ``master`` overrides the setting ``spark.master``."""
    return options.conf.get("spark.master", DEFAULT_MASTER) if options.master is None else options.master


def check_options(options: SparkOptions) -> None:
    """Raise InputError for options that Spark cannot have."""
    if options.master is not None and options.remote is not None:
        raise InputError("`--master` and `--remote` cannot be used together", hint="give one of them")
    if options.remote is not None:
        parse_remote(options.remote)
    master = master_of(options)
    if master.startswith("sc://"):
        raise InputError(f"`{master}` is not a Spark master", hint=f"use `--remote {master}`")
    if not _MASTER.fullmatch(master):
        forms = "`local[*]`, `local[4]`, `spark://HOST:PORT`, `yarn`, `k8s://HOST:PORT`"
        raise InputError(f"`{master}` is not a Spark master", hint=f"supported forms: {forms}")
    for name in ("spark.driver.memory", "spark.executor.memory"):
        if name in options.conf and parse_size_mb(options.conf[name]) is None:
            raise InputError(f"`{options.conf[name]}` is not a size (`{name}`)", hint="write it like `2g` or `1500m`")


def driver_conf(options: SparkOptions, folder: Path) -> dict[str, str]:
    """Return the configuration of a driver with its temporary files in a folder; the user's settings override ours."""
    master = master_of(options)
    cores = local_cores(master)
    # Another Python, or another machine's, may not have schemactl.
    is_own_python = not master.startswith("local-cluster") and "spark.pyspark.python" not in options.conf
    if cores is None:
        # The cluster's machines may have their Python elsewhere.
        master_conf = {"spark.pyspark.python": os.environ.get("PYSPARK_PYTHON") or sys.executable}
    else:
        master_conf = _local_conf(folder, cores, is_own_python)
        if master.startswith("local-cluster"):
            # Spark itself creates the secret of a driver without separate executors.
            master_conf["spark.authenticate.secret"] = secrets.token_hex(32)
    return {**SESSION_CONF, **DRIVER_CONF, **master_conf, **options.conf, "spark.master": master}


def driver_memory_mb(conf: Mapping[str, str]) -> int:
    """Return the driver's largest heap in MiB: the user's, else half of the machine's, at most 4 GiB."""
    memory_mb = parse_size_mb(conf.get("spark.driver.memory", ""))
    return default_memory_mb(machine_memory_mb()) if memory_mb is None else memory_mb


def default_memory_mb(machine_mb: int) -> int:
    """Return the largest heap of a driver on a machine with so much memory (both in MiB).

    >>> [default_memory_mb(machine) for machine in (1024, 4096, 65536)]
    [768, 2048, 4096]
    """
    return max(LEAST_MEMORY_MB, min(machine_mb // 2, MOST_MEMORY_MB))


def is_on_this_machine(options: SparkOptions) -> bool:
    """Return whether all of Spark runs on this machine, whose files its workers have."""
    return options.remote is None and local_cores(master_of(options)) is not None


def parse_size_mb(size: str) -> int | None:
    """Return a size in Spark's notation in MiB, rounded up; None if it is not a size. A bare number is MiB.

    >>> [parse_size_mb(size) for size in ("2g", "1500m", "3GB", "512", "900k", "much")]
    [2048, 1500, 3072, 512, 1, None]
    """
    size_bytes = parse_size(size, bare=1 << 20)
    return None if size_bytes is None else max(1, -(-size_bytes >> 20))


def parse_size(size: str, bare: int) -> int | None:
    """Return a size in Spark's notation in bytes; None if it is not a size. A bare number is a multiple of ``bare``."""
    match = _SIZE.fullmatch(size.strip())
    if not match:
        return None
    units = {"": 1 if size.strip()[-1:] in "bB" else bare, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
    return int(match[1]) * {**units, "t": 1 << 40, "p": 1 << 50}[match[2].lower()]


def local_cores(master: str) -> int | None:
    """Return how many tasks run at once on a local master, None on another.

    >>> [local_cores(master) for master in ("local", "local[3]", "local-cluster[2,4,1024]", "yarn")]
    [1, 3, 8, None]
    """
    if match := re.fullmatch(r"local-cluster\[(\d+),(\d+),\d+\]", master):
        return int(match[1]) * int(match[2])
    if match := re.fullmatch(r"local(?:\[(\d+|\*)(?:,\d+)?\])?", master):
        return (os.cpu_count() or 1) if match[1] == "*" else int(match[1] or 1)
    return None


def parse_remote(remote: str) -> tuple[str, int]:
    """Return host and port of a Spark Connect address."""
    match = re.fullmatch(r"sc://(\[[^\]]+\]|[^:/;\s]+)(?::(\d{1,5}))?(?:/.*)?", remote)
    if not match:
        raise InputError(f"`{remote}` is not a Spark Connect address", hint="write it like `sc://host:15002`")
    return match[1].strip("[]"), int(match[2] or DEFAULT_CONNECT_PORT)


def parse_standalone(master: str) -> tuple[tuple[str, int], ...]:
    """Return the hosts and ports of a `spark://` address, which may name several; () for another master.

    >>> parse_standalone("spark://a:1,b")
    (('a', 1), ('b', 7077))
    """
    if not master.startswith("spark://"):
        return ()
    addresses = master.removeprefix("spark://").split(",")
    parts = (address.rpartition(":") if ":" in address else (address, "", "") for address in addresses)
    return tuple((host, int(port) if port.isdigit() else DEFAULT_STANDALONE_PORT) for host, _, port in parts)


def _local_conf(folder: Path, cores: int, is_own_python: bool) -> dict[str, str]:
    conf = {
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.local.dir": str(folder),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # All users of the machine can connect to the ports of the driver.
        "spark.authenticate": "true",
        "spark.sql.shuffle.partitions": str(max(2, 2 * cores)),
        "spark.pyspark.python": sys.executable,
        # Hadoop has no `s3` scheme; clusters that have one (EMR) are not local.
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
    }
    if os.environ.get("SPARK_LOCAL_DIRS"):
        del conf["spark.local.dir"]
    if is_own_python:
        conf["spark.python.daemon.module"] = WORKER_DAEMON
    return conf
