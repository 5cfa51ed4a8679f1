"""The class path of Spark's driver, and that Java reads it as it was meant."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from schemactl.engine.spark.session.java import find_java
from schemactl.engine.spark.session.launch import find_classes, write_classes


def test_jars_stand_in_the_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    for name in ("c.jar", "a.jar", "b.JAR", "notes.txt"):
        (tmp_path / "jars" / name).touch()

    parts = find_classes({}, tmp_path, {})

    assert [Path(part).name for part in parts] == ["a.jar", "b.JAR", "c.jar"]


def test_the_users_own_places_keep_their_order(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark.jar").touch()
    conf = {"spark.driver.extraClassPath": os.pathsep.join(("z.jar", str(tmp_path / "none" / "*"), "b.jar"))}
    environment = {"SPARK_CONF_DIR": "conf", "HADOOP_CONF_DIR": "hadoop", "SPARK_DIST_CLASSPATH": "more.jar"}

    parts = find_classes(conf, tmp_path, environment)

    assert parts == ("z.jar", "b.jar", "conf", str(tmp_path / "jars" / "spark.jar"), "hadoop", "more.jar")


def test_java_reads_the_names_as_they_are(tmp_path: Path) -> None:
    parts = (r"/a folder\with 'odd' \"names\"/é.jar", "/b#c.jar")
    write_classes(tmp_path / "class path", parts)

    command = [find_java().executable, "-XshowSettings:properties", f"@{tmp_path / 'class path'}", "-version"]
    reported = subprocess.run(command, capture_output=True, check=True, env={**os.environ, "LC_ALL": "C.UTF-8"}).stderr

    for part in parts:
        assert part in reported.decode()
