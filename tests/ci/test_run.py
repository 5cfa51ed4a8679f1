"""What `.ci/run` installs for tests, and what it says of tests that were passed over."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

CI = Path(__file__).parents[2] / ".ci"
TOOLS = ("bash", "env", "timeout", "cat")
PROGRAMS = ("mariadbd", "pgbouncer", "google-chrome", "dot", "zsh", "fish")
FAKE_APT = """#!/bin/sh
echo "$*" >> "$FAKES/asked"
case "$*" in *update* | *pgbouncer*) exit ${APT_FAILS:-0} ;; esac
"""


def install(folder: Path, *programs: str, user: int = 0, apt: bool = True, apt_fails: int = 0) -> tuple[str, list[str]]:
    """Run the script on a machine with these programs; return what it prints, and the packages that it asks apt for."""
    for name in TOOLS:
        (folder / name).symlink_to(str(shutil.which(name)))
    fakes = {"id": f"#!/bin/sh\necho {user}\n", **dict.fromkeys(programs, "#!/bin/sh\n")}
    fakes |= {"apt-get": FAKE_APT} if apt else {}
    for name, text in fakes.items():
        (folder / name).write_text(text)
        (folder / name).chmod(stat.S_IRWXU)
    # The script looks into /usr/sbin as well, where this machine may have some.
    script = (CI / "system-packages").read_text().replace(":/usr/sbin:/usr/local/sbin", "")
    done = subprocess.run(
        [folder / "bash", "-c", script],
        env={"PATH": str(folder), "FAKES": str(folder), "APT_FAILS": str(apt_fails)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    asked = folder / "asked"
    calls = asked.read_text().splitlines() if asked.exists() else []
    return done.stdout, [call.split()[-1] for call in calls if " install " in call]


def test_root_on_debian_gets_the_programs_that_are_missing(tmp_path: Path) -> None:
    printed, packages = install(tmp_path, "pgbouncer", "chromium-browser", "dot")

    assert packages == ["mariadb-server", "zsh", "fish"]
    assert printed == "installed mariadb-server\ninstalled zsh\ninstalled fish\n"


def test_a_machine_that_has_all_is_left_alone(tmp_path: Path) -> None:
    assert install(tmp_path, *PROGRAMS) == ("", [])


@pytest.mark.parametrize("machine", [{"user": 1000}, {"apt": False}])
def test_without_root_or_apt_it_says_what_is_missing(tmp_path: Path, machine: dict[str, int]) -> None:
    printed, packages = install(tmp_path, *PROGRAMS[1:], **machine)  # type: ignore[arg-type]

    assert packages == []
    assert printed == "not installed, as that takes Debian's apt and root: mariadb-server\n"


def test_a_package_that_cannot_be_had_is_no_failure(tmp_path: Path) -> None:
    printed, packages = install(tmp_path, *PROGRAMS[2:], apt_fails=1)

    assert packages == ["mariadb-server", "pgbouncer"]
    assert printed.splitlines()[-2:] == ["installed mariadb-server", "not installed: pgbouncer"]


def summary(folder: Path, *runs: str) -> str:
    files = [folder / f"{number}.xml" for number in range(len(runs))]
    for file, source in zip(files, runs, strict=True):
        test = folder / f"test_{file.stem}"
        test.mkdir()
        (test / "test_made.py").write_text(source)
        call = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={file}", "test_made.py"]
        subprocess.run([*call, "--rootdir", str(test)], cwd=test, capture_output=True, check=False, env={**os.environ})
    call = [sys.executable, str(CI / "skipped.py"), *map(str, files), str(folder / "none.xml")]
    return subprocess.run(call, capture_output=True, text=True, check=True).stdout


def test_tests_that_were_passed_over_are_counted_by_reason(tmp_path: Path) -> None:
    first = """
import pytest

@pytest.mark.parametrize("number", range(3))
def test_needs_server(number): pytest.skip("there is no server:\\n  install one")

@pytest.mark.skip(reason="not here")
def test_not_here(): pass

@pytest.mark.xfail
def test_expected(): assert False

def test_later(): pytest.importorskip("no_such_package")

def test_runs(): pass
"""
    second = "def test_later(): pass\n"

    assert summary(tmp_path, first, second).splitlines() == [
        "4 tests were passed over:",
        "    3  there is no server: install one (test_made)",
        "    1  not here (test_made)",
    ]


def test_nothing_is_passed_over(tmp_path: Path) -> None:
    assert summary(tmp_path, "def test_runs(): pass\n") == "0 tests were passed over\n"


def test_shellcheck_has_nothing_to_say() -> None:
    program = Path(sys.executable).with_name("shellcheck")
    files = [str(CI / name) for name in ("run", "system-packages", "wheel")]
    done = subprocess.run([program, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
