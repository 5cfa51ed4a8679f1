"""What Java keeps of Spark between commands: which file fits, what becomes of others, and that Java takes it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from schemactl.engine.session.java import Java, find_java
from schemactl.engine.session.java_cache import JavaCache, JavaStart, keep_cache, open_cache
from schemactl.errors import CommandWarning, InputError

DAY = 24 * 3600
LIMIT_SECONDS = 600


@pytest.fixture
def start(tmp_path: Path) -> JavaStart:
    """A way to start a Java 25, with a class path of one jar."""
    home = tmp_path / "java"
    home.mkdir()
    (home / "release").write_text('JAVA_VERSION="25.0.2"\n')
    (tmp_path / "spark.jar").write_text("classes")
    options = ("-XX:+UseParallelGC", "-Xmx1024m", f"-Djava.io.tmpdir={tmp_path}")
    return JavaStart(Java(home, 25, "JAVA_HOME"), (str(tmp_path / "spark.jar"),), options, 1024)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def opened(folder: Path | None, start: JavaStart, **environment: str) -> JavaCache | None:
    with open_cache(folder, start, environment) as cache:
        return cache


def file_of(folder: Path, start: JavaStart, **environment: str) -> Path:
    cache = opened(folder, start, **environment)
    assert cache is not None
    return cache.file


def made(folder: Path, start: JavaStart) -> Path:
    """The file, as if Java had made it."""
    with open_cache(folder, start, {}) as cache:
        assert cache is not None
        assert cache.made_at is not None
        cache.made_at.write_text("learned")
        keep_cache(cache, has_ended_well=True)
        return cache.file


def with_version(start: JavaStart, version: int) -> JavaStart:
    return replace(start, java=replace(start.java, version=version))


@pytest.mark.parametrize(
    ("version", "makes", "uses"),
    [
        (17, "-XX:ArchiveClassesAtExit=", "-XX:SharedArchiveFile="),
        (24, "-XX:ArchiveClassesAtExit=", "-XX:SharedArchiveFile="),
        (25, "-XX:AOTCacheOutput=", "-XX:AOTCache="),
        (26, "-XX:AOTCacheOutput=", "-XX:AOTCache="),
    ],
)
def test_java_is_reported_to_make_the_file_and_then_to_use_it(
    folder: Path, start: JavaStart, version: int, makes: str, uses: str
) -> None:
    start = with_version(start, version)
    with open_cache(folder, start, {}) as cache:
        assert cache is not None
        assert cache.made_at is not None
        assert cache.options == (makes + str(cache.made_at),)
        cache.made_at.write_text("learned")
        keep_cache(cache, has_ended_well=True)
    assert list(folder.iterdir()) == [cache.file]

    used = opened(folder, start)

    assert used is not None
    assert (used.file, used.made_at, used.options) == (cache.file, None, (uses + str(cache.file),))


def test_another_java_jar_or_option_needs_a_file_of_its_own(folder: Path, start: JavaStart, tmp_path: Path) -> None:
    files = [file_of(folder, start)]
    files.append(file_of(folder, replace(start, options=(*start.options, "-XX:-UseCompactObjectHeaders"))))
    files.append(file_of(folder, start, JDK_JAVA_OPTIONS="-XX:TieredStopAtLevel=1"))
    files.append(file_of(folder, replace(start, memory_mb=40_000)))
    files.append(file_of(folder, replace(start, class_path=(*start.class_path, "more.jar"))))
    (start.java.home / "release").write_text('JAVA_VERSION="25.0.3"\n')
    files.append(file_of(folder, start))
    os.utime(start.class_path[0], (1, 1))
    files.append(file_of(folder, start))
    Path(start.class_path[0]).write_text("more classes")
    os.utime(start.class_path[0], (1, 1))
    files.append(file_of(folder, start))

    assert len(set(files)) == len(files)


def test_a_commands_own_folder_and_memory_need_none(folder: Path, start: JavaStart) -> None:
    other = replace(start, options=("-XX:+UseParallelGC", "-Xmx2g", "-Djava.io.tmpdir=/other"), memory_mb=2048)

    assert file_of(folder, start) == file_of(folder, other)


def test_nothing_is_done_unasked(start: JavaStart, folder: Path) -> None:
    assert opened(None, start) is None
    assert not folder.exists()


@pytest.mark.parametrize(
    "option",
    ["-XX:AOTCache=a", "-XX:AOTMode=off", "-XX:SharedArchiveFile=a", "-XX:ArchiveClassesAtExit=a", "-Xshare:off"],
)
def test_the_users_own_option_goes_first(folder: Path, start: JavaStart, option: str) -> None:
    assert opened(folder, replace(start, options=(*start.options, option))) is None
    assert opened(folder, start, JAVA_TOOL_OPTIONS=f"-Xint {option}") is None
    assert not folder.exists()


def test_files_that_no_command_used_for_long_are_removed(folder: Path, start: JavaStart) -> None:
    used, recent, old = (
        made(folder, start),
        made(folder, with_version(start, 26)),
        made(folder, with_version(start, 21)),
    )
    users = folder / "notes.aot"
    users.write_text("a file of the user's")
    for path, days in ((used, 31), (recent, 29), (old, 31), (users, 31)):
        os.utime(path, (time.time() - days * DAY,) * 2)

    opened(folder, start)

    assert sorted(folder.iterdir()) == sorted([used, recent, users])
    assert time.time() - used.stat().st_mtime < DAY


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_read_only_is_used_but_not_written_to(folder: Path, start: JavaStart) -> None:
    made(folder, start)
    folder.chmod(0o500)
    try:
        assert opened(folder, start) is not None
        with pytest.raises(InputError, match=r"cannot write to `.*--java-cache"):
            opened(folder, with_version(start, 26))
    finally:
        folder.chmod(0o700)


def test_a_folder_that_cannot_be_made_is_the_users_to_mend(folder: Path, start: JavaStart) -> None:
    folder.write_text("a file")

    with pytest.raises(InputError, match=r"cannot write to `.*cache` \(`--java-cache`\): "):
        opened(folder, start)


@pytest.mark.parametrize(
    ("names", "has_ended_well"),
    [([], True), (["{}"], False), (["{}", "{}.config"], True)],
    ids=["none", "killed", "failed"],
)
def test_what_java_did_not_make_whole_is_reported_and_not_kept(
    folder: Path, start: JavaStart, names: list[str], has_ended_well: bool
) -> None:
    with open_cache(folder, start, {}) as cache:
        assert cache is not None
        assert cache.made_at is not None
        for name in names:
            cache.made_at.with_name(name.format(cache.made_at.name)).write_text("a part")
        with pytest.warns(CommandWarning, match="Java made no cache in `"):
            keep_cache(cache, has_ended_well)

    assert list(folder.iterdir()) == []


def test_a_folder_on_the_class_path_is_reported_where_java_would_make_nothing(folder: Path, start: JavaStart) -> None:
    conf = folder.with_name("hadoop")
    conf.mkdir()
    start = replace(start, class_path=(*start.class_path, str(conf)))
    assert opened(folder, start) is not None
    (conf / "core-site.xml").write_text("<configuration/>")

    with pytest.warns(CommandWarning, match=r"has no effect: Java 25 .*/hadoop`"):
        assert opened(folder, start) is None
    with warnings.catch_warnings(action="error"):
        assert opened(folder, with_version(start, 17)) is not None


SCRIPT = """
    import sys
    from pathlib import Path
    from schemactl.engine.session import SparkOptions, open_session
    from schemactl.engine.session.driver import started_driver
    folder, options, of_session, of_driver = sys.argv[1:]
    conf = {"spark.driver.extraJavaOptions": options, "spark.driver.memory": "1g"}
    asked = SparkOptions(master="local[1]", conf=conf, java_cache=Path(folder))
    if of_session:
        with open_session(asked) as spark:
            exec(of_session)
    else:  # no more than what listens in Java: what a whole session learns takes half a minute to write down
        with started_driver(asked) as driver:
            driver.await_gateway()
            exec(of_driver)
"""


@pytest.mark.spark
def test_a_second_command_takes_sparks_classes_from_what_the_first_has_kept(tmp_path: Path) -> None:
    kept, failed, log = tmp_path / "kept", tmp_path / "failed", tmp_path / "classes.log"
    # Not with the file that the tests share: Java takes one.
    options = "-XX:TieredStopAtLevel=1"
    environment = {**os.environ, "JAVA_HOME": str(find_java({"PATH": ""}).home), "JDK_JAVA_OPTIONS": options}

    def run(folder: Path, *, options: str = "", of_session: str = "", of_driver: str = "") -> tuple[int, str, str]:
        command = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(folder), options, of_session, of_driver]
        ended = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
        )
        return ended.returncode, ended.stdout, ended.stderr

    assert run(kept) == (0, "", "")
    (made,) = kept.iterdir()
    # Where each class comes from is reported by Java itself.
    logged = f"-Xlog:class+load:file={log}"
    assert run(kept, options=logged, of_session="print(spark.range(3).count())") == (0, "3\n", "")
    assert " org.apache.spark.deploy.SparkSubmit source: shared objects file" in log.read_text()
    assert list(kept.iterdir()) == [made]

    assert run(failed, of_driver="raise SystemExit('no more')") == (1, "", "no more\n")
    assert list(failed.iterdir()) == []
