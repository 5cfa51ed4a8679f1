"""What the master `local-cluster[…]` needs: a cluster on this machine, for tests that want real executors.

Its worker starts executors as an installed Spark would, from an environment that PySpark's package lacks.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from schemactl.engine.java import Java

_JAVA_SCRIPT = """\
#!/bin/sh
for argument do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def prepare_executors(spark_home: Path, java: Java, folder: Path) -> dict[str, str]:
    """Make what the executors need below a folder, and return the environment that points there."""
    return {
        "SPARK_HOME": str(_make_spark_home(spark_home, folder / "spark")),
        "SPARK_SCALA_VERSION": _scala_version(spark_home),
        "JAVA_HOME": str(_make_java_home(java, folder / "java")),
    }


def _make_spark_home(home: Path, folder: Path) -> Path:
    """Make a Spark home that may be written to: executors keep their files in its `work`."""
    folder.mkdir()
    for name in ("jars", "bin", "python"):
        if (home / name).exists():
            (folder / name).symlink_to(home / name, target_is_directory=True)
    return folder


def _make_java_home(java: Java, folder: Path) -> Path:
    """Make a Java home whose `java` starts without the module that Spark asks for and a small JRE lacks."""
    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(_JAVA_SCRIPT.format(java=shlex.quote(str(java.executable))), encoding="utf-8")
    script.chmod(0o700)
    return folder


def _scala_version(home: Path) -> str:
    return next(path.name.split("_")[1].split("-")[0] for path in (home / "jars").glob("spark-core_*.jar"))
