"""Start the Java process of Spark's driver: its command, its environment and the files that it reads.

PySpark's own way leads through the script `spark-submit`, which insists on a Java module that a small runtime
lacks, and writes to our terminal. So Java runs the class that the script ends in. `driver` starts it.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from schemactl.engine.spark.options import LONG_METHODS, THREAD_STACK
from schemactl.engine.spark.session.java import Java

LOG_NAME = "spark.log"
PACKAGE = Path(__file__).parents[2]
"""The folder of schemactl."""

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

# Spark treats the driver as a shell, and sets the root's level to that of the shell. The pattern redacts as `redaction`
# does, since Spark and Hadoop log addresses with their passwords; a colon may come before a port.
_LOG4J = r"""
status = off
rootLogger.level = {level}
rootLogger.appenderRef.stderr.ref = stderr
logger.shell.name = org.apache.spark.api.python.PythonGatewayServer
logger.shell.level = {level}
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %replace{{%replace{{%d{{HH:mm:ss.SSS}} %p %c{{1}}: %m%n%ex}}\
{{(:/+[^:/@?#\\s]*):(?!\\d+[/,;\\s])[^\\n]*@}}{{$1@}}}}{{(?i)((password|token|secret|signature)[\\w.-]*\\s?=\\s?)[^\\s&;,]+}}{{$1***}}
"""

# The master `local-cluster[…]` (tests that want real executors) starts them from a Spark home and a Java that PySpark's
# package lacks: `_prepare_executors` makes both.
_JAVA_SCRIPT = """\
#!/bin/sh
for argument do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Launch:
    """The command, environment and files that start a Java process with Spark in it.

    Args:
        folder: the folder of the process for its log, settings and temporary files.
        conf: Spark's configuration, `spark.master` included.
        memory_mb: the largest heap, in MiB.
        debug: Spark's log goes to standard error instead of a file.
        application: the program that Spark runs: PySpark's shell, or the arguments of another main class.
    """

    java: Java
    folder: Path
    conf: Mapping[str, str]
    memory_mb: int
    debug: bool = False
    application: tuple[str, ...] = ("pyspark-shell",)

    @property
    def class_path(self) -> tuple[str, ...]:
        return find_classes(self.conf, spark_home())

    @property
    def log(self) -> Path:
        return self.folder / LOG_NAME


def java_options(launch: Launch) -> tuple[str, ...]:
    """Return the Java options that come before the class to run."""
    conf, folder = launch.conf, launch.folder
    user_options = shlex.split(conf.get("spark.driver.extraJavaOptions", ""))
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
        *(() if any(option.endswith("GC") for option in user_options) else ("-XX:+UseParallelGC",)),
        *user_options,
    )


def spark_home() -> Path:
    """Return the folder of the installed PySpark, which holds Spark's jars, without importing it.

    Raises:
        ModuleNotFoundError: PySpark is not installed.
    """
    package = find_spec("pyspark")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("PySpark is not installed", name="pyspark")
    return Path(package.origin).parent


def write_properties(values: Mapping[str, str]) -> str:
    r"""Return the text of a Java properties file.

    >>> write_properties({"spark.a": "C:\\x = 1\n"})
    'spark.a=C:\\\\x = 1\\n\n'
    """
    escapes = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})
    keys = {key: key.translate(escapes | str.maketrans({" ": "\\ ", ":": "\\:", "=": "\\="})) for key in values}
    return "".join(f"{keys[key]}={value.translate(escapes)}\n" for key, value in values.items())


def find_classes(conf: Mapping[str, str], home: Path, environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return the entries of the class path, with the jars of a folder in an order that is the same on every machine."""
    environment = os.environ if environment is None else environment
    class_paths = [
        conf.get("spark.driver.extraClassPath", ""),
        environment.get("SPARK_CONF_DIR", ""),
        str(home / "jars" / "*"),
        environment.get("HADOOP_CONF_DIR", ""),
        environment.get("YARN_CONF_DIR", ""),
        environment.get("SPARK_DIST_CLASSPATH", ""),
    ]
    entries = (entry for class_path in class_paths if class_path for entry in class_path.split(os.pathsep))
    return tuple(path for entry in entries for path in _expand(entry))


def write_classes(path: Path, entries: tuple[str, ...]) -> None:
    """Write a file with Java's class path: hundreds of jars are too long for a command line on Windows."""
    joined = os.pathsep.join(entries).replace("\\", "\\\\").replace('"', '\\"')
    path.write_bytes(os.fsencode(f'-cp "{joined}"\n'))


def java_command(launch: Launch) -> list[str]:
    """Return the command line."""
    folder = launch.folder
    submit = ["--properties-file", str(_conf_file(folder)), "--load-spark-defaults", *launch.application]
    main = "org.apache.spark.deploy.SparkSubmit"
    return [str(launch.java.executable), *java_options(launch), f"@{_class_path_file(folder)}", main, *submit]


def write_files(launch: Launch) -> None:
    """Write the files that the command line names."""
    _log4j_file(launch.folder).write_text(_LOG4J.format(level="info" if launch.debug else "warn"), encoding="utf-8")
    # A configuration can hold passwords: they go through a file in our private folder, not the command line.
    _conf_file(launch.folder).write_text(write_properties(launch.conf), encoding="utf-8")
    write_classes(_class_path_file(launch.folder), launch.class_path)


def java_environment(launch: Launch) -> dict[str, str]:
    """Return the environment of the process."""
    home = spark_home()
    environment = {
        **os.environ,
        "JAVA_HOME": str(launch.java.home),
        "SPARK_HOME": str(home),
        "SPARK_CONNECT_MODE": "0",
        "PYSPARK_PYTHON": launch.conf.get("spark.pyspark.python", sys.executable),
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(connection_file(launch.folder)),
    }
    if os.name != "nt":
        # Under the locale C, Java cannot open a file whose name is not ASCII.
        environment["LC_ALL"] = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
    environment.update(python_path())
    master = launch.conf.get("spark.master", "")
    if master.startswith("local"):
        # The machine's own name may lead to a VPN or nowhere.
        environment.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    if master.startswith("local-cluster"):
        environment.update(_prepare_executors(home, launch.java, launch.folder))
    return environment


def python_path() -> dict[str, str]:
    """Return variables that let another Python find our modules, but no module in its working folder."""
    root = PACKAGE.parent
    paths = (os.environ.get("PYTHONPATH"), str(root) if root.name != "site-packages" else None)
    joined = os.pathsep.join(path for path in paths if path)
    return {"PYTHONSAFEPATH": "1", **({"PYTHONPATH": joined} if joined else {})}


def _prepare_executors(spark_home: Path, java: Java, folder: Path) -> dict[str, str]:
    """Make a Spark home and a Java home for executors below a folder, and return the environment that names them."""
    cores = (spark_home / "jars").glob("spark-core_*.jar")
    writable_home, java_home = folder / "spark", folder / "java"  # executors keep their files in its `work`
    writable_home.mkdir()
    for name in ("jars", "bin", "python"):
        if (spark_home / name).exists():
            (writable_home / name).symlink_to(spark_home / name, target_is_directory=True)
    # Its `java` starts without a module that Spark requires and a small JRE lacks.
    script = java_home / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(_JAVA_SCRIPT.format(java=shlex.quote(str(java.executable))), encoding="utf-8")
    script.chmod(0o700)
    return {
        "SPARK_HOME": str(writable_home),
        "SPARK_SCALA_VERSION": next(path.name.split("_")[1].split("-")[0] for path in cores),
        "JAVA_HOME": str(java_home),
    }


def _expand(entry: str) -> list[str]:
    """Return the jars of an entry whose name is ``*``, as Java does, and any other entry itself."""
    path = Path(entry)
    if path.name != "*":
        return [entry]
    return sorted(str(jar) for jar in path.parent.glob("*") if jar.suffix in (".jar", ".JAR"))


def connection_file(folder: Path) -> Path:
    """Return the path of the file to which the process writes its port and secret."""
    return folder / "connection"


def _log4j_file(folder: Path) -> Path:
    return folder / "log4j2.properties"


def _class_path_file(folder: Path) -> Path:
    return folder / "class-path"


def _conf_file(folder: Path) -> Path:
    return folder / "spark.conf"
