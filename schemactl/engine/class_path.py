"""Where the driver's Java finds Spark's classes, and the file by which it is told."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def find_classes(conf: Mapping[str, str], home: Path, environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return the parts of the class path, the jars of each folder in an order that is the same on every machine.

    Args:
        conf: Spark's configuration.
        home: Spark's folder.
        environment: where Spark's and Hadoop's variables are looked up; the process's own by default.
    """
    environment = os.environ if environment is None else environment
    places = [
        conf.get("spark.driver.extraClassPath", ""),
        environment.get("SPARK_CONF_DIR", ""),
        str(home / "jars" / "*"),
        environment.get("HADOOP_CONF_DIR", ""),
        environment.get("YARN_CONF_DIR", ""),
        environment.get("SPARK_DIST_CLASSPATH", ""),
    ]
    return tuple(found for place in places if place for part in place.split(os.pathsep) for found in _expand(part))


def write_classes(path: Path, parts: tuple[str, ...]) -> None:
    """Write a file that tells Java the class path: some hundred jars are too much for Windows' command line."""
    joined = os.pathsep.join(parts).replace("\\", "\\\\").replace('"', '\\"')
    path.write_bytes(os.fsencode(f'-cp "{joined}"\n'))


def _expand(part: str) -> list[str]:
    """Return the jars that a part whose name is ``*`` stands for, as Java does; another is itself."""
    path = Path(part)
    if path.name != "*":
        return [part]
    return sorted(str(jar) for jar in path.parent.glob("*") if jar.suffix in (".jar", ".JAR"))
