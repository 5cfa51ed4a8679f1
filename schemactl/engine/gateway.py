"""Starts and ends the Java process that Spark's driver lives in.

PySpark's own way leads through the script `spark-submit`, which insists on a Java module that a small runtime
lacks, and writes to our terminal. So the class that the script ends in is started directly: quiet,
deaf to Ctrl-C (we stop it in order), and gone when we are gone, however we end, because it reads our pipe
(and `watch` sees to it).
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from schemactl.engine.class_path import find_classes, write_classes
from schemactl.engine.failure import explain_start
from schemactl.engine.java import Java
from schemactl.engine.local_cluster import prepare_executors
from schemactl.engine.settings import LONG_METHODS, THREAD_STACK
from schemactl.engine.watch import ended_with_us
from schemactl.errors import EngineError
from schemactl.store.own_folder import held_descriptors

START_LIMIT_SECONDS = 120
EXIT_LIMIT_SECONDS = 5
LOG_NAME = "spark.log"

# Packages of the JDK that Spark reaches into by reflection (listed in its launcher's JavaModuleOptions).
_OPENED_PACKAGES = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)

# Spark takes the driver for a shell, and sets the root's level to the shell's.
_LOG4J = """\
status = off
rootLogger.level = {level}
rootLogger.appenderRef.stderr.ref = stderr
logger.shell.name = org.apache.spark.api.python.PythonGatewayServer
logger.shell.level = {level}
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{{HH:mm:ss.SSS}} %p %c{{1}}: %m%n%ex
"""


@dataclass(frozen=True, slots=True)
class Launch:
    """How a Java process with Spark in it is started.

    Args:
        java: the runtime.
        folder: a folder of this process's own for its log, settings and temporary files.
        conf: Spark's configuration, `spark.master` included.
        memory_mb: the largest heap, in MiB.
        debug: Spark's log goes to standard error instead of a file.
        application: what Spark runs: PySpark's shell, or the arguments of another main class.
        cache_options: by which Java makes or uses a cache (`java_cache`).
    """

    java: Java
    folder: Path
    conf: Mapping[str, str]
    memory_mb: int
    debug: bool = False
    application: tuple[str, ...] = ("pyspark-shell",)
    cache_options: tuple[str, ...] = ()

    @property
    def class_path(self) -> tuple[str, ...]:
        return find_classes(self.conf, spark_home())

    @property
    def log(self) -> Path:
        return self.folder / LOG_NAME


@dataclass(frozen=True, slots=True)
class Gateway:
    """Where the Java process listens for PySpark."""

    process: subprocess.Popen[bytes]
    port: int
    secret: str


@contextlib.contextmanager
def spark_process(launch: Launch) -> Iterator[subprocess.Popen[bytes]]:
    """Start the Java process, hand it out, and end it with all its children.

    Raises:
        EngineError: the process cannot be started.
    """
    _write_settings(launch)
    log = contextlib.nullcontext(sys.stderr.fileno()) if launch.debug else launch.log.open("ab")
    with log as output:
        try:
            process = subprocess.Popen(
                _java_command(launch),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=_environment(launch),
                start_new_session=True,
                # Our folders are not taken for left ones while Java may still write to them.
                pass_fds=() if os.name == "nt" else held_descriptors(),
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        except OSError as error:
            raise EngineError(f"Java in `{launch.java.home}` cannot be started: {error.strerror}") from error
    try:
        with ended_with_us(process.pid):
            yield process
    finally:
        _end(process)


def await_gateway(process: subprocess.Popen[bytes], launch: Launch) -> Gateway:
    """Wait until the Java process listens, and return where.

    Raises:
        EngineError: it ended, or it does not listen in time.
    """
    path = _connection_file(launch.folder)
    limit = time.monotonic() + START_LIMIT_SECONDS
    while not path.is_file():
        if process.poll() is not None:
            ended = f"Spark did not start: Java {launch.java.version} ended with code {process.returncode}"
            raise EngineError(ended) if launch.debug else explain_start(ended, launch.log)
        if time.monotonic() > limit:
            raise EngineError(f"Spark did not start within {START_LIMIT_SECONDS} seconds")
        time.sleep(0.02)
    answer = path.read_bytes()
    path.unlink()
    port, length = struct.unpack_from(">ii", answer)
    return Gateway(process, port, answer[8 : 8 + length].decode())


def await_end(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Let the Java process end by itself, and return whether it did in that time, and said that all is well."""
    with contextlib.suppress(OSError):
        if process.stdin:
            process.stdin.close()
    try:
        return process.wait(seconds) == 0
    except subprocess.TimeoutExpired:
        return False


def java_options(launch: Launch) -> tuple[str, ...]:
    """Return what Java is told before it is told what to run."""
    conf, folder = launch.conf, launch.folder
    wanted = shlex.split(conf.get("spark.driver.extraJavaOptions", ""))
    return (
        "-XX:+IgnoreUnrecognizedVMOptions",
        *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED_PACKAGES),
        "--enable-native-access=ALL-UNNAMED",
        "--sun-misc-unsafe-memory-access=allow",
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Dio.netty.allocator.type=pooled",
        "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
        "-Duser.timezone=UTC",
        f"-Djava.io.tmpdir={folder}",
        f"-Dlog4j2.configurationFile={_log4j_file(folder).as_uri()}",
        # Files named hsperfdata_* in the machine's temporary folder serve monitors only.
        "-XX:-UsePerfData",
        "-XX:+ExitOnOutOfMemoryError",
        THREAD_STACK,
        LONG_METHODS,
        f"-Xmx{launch.memory_mb}m",
        *(() if any(option.endswith("GC") for option in wanted) else ("-XX:+UseParallelGC",)),
        *launch.cache_options,
        *wanted,
    )


def spark_home() -> Path:
    """Return the folder of the installed PySpark, which holds Spark's jars, without importing it."""
    package = find_spec("pyspark")
    if package is None or package.origin is None:
        raise EngineError("the package `pyspark` is not installed", hint="pip install 'pyspark[connect]'")
    return Path(package.origin).parent


def write_properties(values: Mapping[str, str]) -> str:
    r"""Return the text of a Java properties file.

    >>> write_properties({"spark.a": "C:\\x = 1\n"})
    'spark.a=C:\\\\x = 1\\n\n'
    """
    escapes = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})
    keys = {key: key.translate(escapes | str.maketrans({" ": "\\ ", ":": "\\:", "=": "\\="})) for key in values}
    return "".join(f"{keys[key]}={value.translate(escapes)}\n" for key, value in values.items())


def _java_command(launch: Launch) -> list[str]:
    folder = launch.folder
    submit = ["--properties-file", str(_conf_file(folder)), "--load-spark-defaults", *launch.application]
    main = "org.apache.spark.deploy.SparkSubmit"
    return [str(launch.java.executable), *java_options(launch), f"@{_class_path_file(folder)}", main, *submit]


def _write_settings(launch: Launch) -> None:
    _log4j_file(launch.folder).write_text(_LOG4J.format(level="info" if launch.debug else "warn"), encoding="utf-8")
    # A configuration can hold passwords: it goes through a file in our private folder, not the command line.
    _conf_file(launch.folder).write_text(write_properties(launch.conf), encoding="utf-8")
    write_classes(_class_path_file(launch.folder), launch.class_path)


def _environment(launch: Launch) -> dict[str, str]:
    home = spark_home()
    environment = {
        **os.environ,
        "JAVA_HOME": str(launch.java.home),
        "SPARK_HOME": str(home),
        "SPARK_CONNECT_MODE": "0",
        "PYSPARK_PYTHON": launch.conf.get("spark.pyspark.python", sys.executable),
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(_connection_file(launch.folder)),
    }
    if os.name != "nt":
        # Under the locale C, Java cannot open a file whose name is not ASCII.
        environment["LC_ALL"] = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
    # Python's workers see the modules that we see, and none that lie about in the working folder.
    environment["PYTHONSAFEPATH"] = "1"
    root = Path(__file__).parents[2]
    if root.name != "site-packages":
        paths = (os.environ.get("PYTHONPATH"), str(root))
        environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    master = launch.conf.get("spark.master", "")
    if master.startswith("local"):
        # The machine's own name may lead to a VPN or nowhere.
        environment.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    if master.startswith("local-cluster"):
        environment.update(prepare_executors(home, launch.java, launch.folder))
    return environment


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close the pipe, at whose end the Java process leaves by itself; kill what is left."""
    try:
        # One whose pipe is closed was waited for already.
        if process.stdin and not process.stdin.closed:
            await_end(process, EXIT_LIMIT_SECONDS)
    finally:
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait()


def _connection_file(folder: Path) -> Path:
    return folder / "connection"


def _log4j_file(folder: Path) -> Path:
    return folder / "log4j2.properties"


def _class_path_file(folder: Path) -> Path:
    return folder / "class-path"


def _conf_file(folder: Path) -> Path:
    return folder / "spark.conf"
