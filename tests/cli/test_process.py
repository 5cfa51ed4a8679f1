"""The command as a process: how fast it answers, what it imports, and how it ends."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from schemactl import __version__
from schemactl.cli.terminal import describe_terminal, wants_color

pytestmark = pytest.mark.e2e

HEAVY = {
    "pyspark", "pandas", "pyarrow", "numpy", "pydantic", "rich", "ruamel", "duckdb", "deepdiff", "orjson",
}  # fmt: skip


def schemactl(*args: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "schemactl", *args], capture_output=True, text=True, **options)


@pytest.mark.parametrize(
    "args",
    [("--help",), ("--version",), ("infer", "--help"), ("--schemas", "s", "infer", "--help"), ("infer", "a"),
     ("infer", "a", "--name", "b", "--format", "c")],
)  # fmt: skip
def test_answer_without_data_imports_nothing_heavy(args: tuple[str, ...]) -> None:
    call = [sys.executable, "-X", "importtime", "-m", "schemactl", *args]

    log = subprocess.run(call, capture_output=True, text=True).stderr

    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in log.splitlines() if "|" in line}
    assert "schemactl" in imported
    assert not imported & HEAVY


def test_version_is_the_package_s() -> None:
    first, *others = schemactl("--version").stdout.splitlines()

    assert first == f"schemactl {__version__}"
    assert [line.split()[0] for line in others] == ["distribution", "Python", "Spark", "Java"]
    assert others[0].split()[1] == "schemactl-cli,"
    assert others[1].split()[1] == platform.python_version()


def test_version_starts_no_java(tmp_path: Path) -> None:
    shim = tmp_path / "java"
    shim.write_text('#!/bin/sh\ntouch "$0.started"\n')
    shim.chmod(0o755)
    environment = {**os.environ, "PATH": str(tmp_path)}
    environment.pop("JAVA_HOME", None)

    printed = schemactl("--version", env=environment).stdout

    assert printed.endswith(f"Java          of PATH, `{shim}`: its version shows when it starts\n")
    assert [file.name for file in tmp_path.iterdir()] == ["java"]


def test_help_names_every_option() -> None:
    printed = schemactl("infer", "--help").stdout

    options = (
        "--name", "--table", "--sample", "--contract", "--check", "--evidence", "--on-bad-record",
        "--input-format", "--resolve-collisions", "--schemas", "--format", "--quiet", "--verbose", "--debug",
        "--color", "--master", "--remote", "--conf",
    )  # fmt: skip
    assert not [option for option in options if option not in printed]


def test_bare_call_shows_the_help_and_fails() -> None:
    answer = schemactl()

    assert answer.returncode == 2
    assert answer.stdout == ""
    assert "Usage: schemactl" in answer.stderr


def run_with_flow(body: str, *args: str, stdout: object = subprocess.PIPE) -> subprocess.Popen[str]:
    """Start the command with a flow of its own in place of the package's."""
    program = """
    import schemactl.flows.infer as flow
    def infer(request, progress):
    {body}
    flow.infer = infer
    from schemactl.cli.app import main
    main()
    """
    code = textwrap.dedent(program).replace("{body}", textwrap.indent(textwrap.dedent(body), "    "))
    call = [sys.executable, "-c", code, "infer", "a", "--name", "b", *args]
    return subprocess.Popen(call, stdout=stdout, stderr=subprocess.PIPE, text=True)


LARGE_REPORT = """
from schemactl.inference.report import InferenceReport, NullFinding
from schemactl.inference.evidence import Position
nulls = tuple(NullFinding("t", f"c{n}", "$.c", 1, Position("a", 1)) for n in range(5000))
return InferenceReport("n", "t", "full", (), (), (), nulls, (), None, None, "h", 1, True, False)
"""


def test_reader_who_goes_away_is_no_error() -> None:
    command = run_with_flow(LARGE_REPORT)
    assert command.stdout is not None
    assert command.stderr is not None
    command.stdout.read(10)
    command.stdout.close()

    assert command.stderr.read() == ""
    # The code is the one of the finding, not of the pipe.
    assert command.wait() == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")  # noqa: PTH110 - a device
def test_full_disk_behind_standard_output_is_reported() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        command = run_with_flow(LARGE_REPORT, stdout=full)
        _, reported = command.communicate(timeout=60)

    assert command.returncode == 3
    assert reported == "error: cannot write to standard output: No space left on device\n"


def test_interrupt_ends_with_its_own_code() -> None:
    command = run_with_flow("import time\nprint('started', flush=True)\ntime.sleep(60)")
    assert command.stderr is not None
    # Standard output is for results of commands: what else is printed goes to standard error.
    assert command.stderr.readline() == "started\n"

    command.send_signal(signal.SIGINT)

    _, error = command.communicate(timeout=20)
    assert command.returncode == 130
    assert error == "interrupted\n"


def test_text_that_the_terminal_s_encoding_lacks_is_escaped() -> None:
    answer = schemactl("infer", "a", "--name", "b", "--format", "ü", env={**os.environ, "PYTHONIOENCODING": "ascii"})

    assert "`\\xfc` is not a value" in answer.stderr


def in_terminal(args: list[str], environ: dict[str, str]) -> tuple[str, int | None]:
    """What a command writes to a terminal of 100 columns, and its exit code."""
    pexpect = pytest.importorskip("pexpect")
    output, code = pexpect.run(
        " ".join([sys.executable, *args]),
        env={**os.environ, **environ},
        withexitstatus=True,
        encoding="utf-8",
    )
    return output, code


@pytest.mark.parametrize(
    ("environ", "is_colored"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": ""}, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"GIT_PAGER_IN_USE": "true"}, True),
        ({"GIT_PAGER_IN_USE": "true", "NO_COLOR": "1"}, False),
        ({"GIT_PAGER_IN_USE": "true", "TERM": "dumb"}, False),
        ({"GIT_PAGER_IN_USE": "false"}, False),
    ],
)
def test_what_is_no_terminal_is_colored_where_the_environment_or_a_pager_of_git_asks_for_it(
    environ: dict[str, str], is_colored: bool
) -> None:
    assert wants_color("auto", Stream(False), environ) is is_colored  # type: ignore[arg-type]
    assert wants_color("never", Stream(True), environ) is False  # type: ignore[arg-type]
    assert wants_color("always", Stream(False), environ) is True  # type: ignore[arg-type]


@pytest.mark.parametrize(("environ", "is_colored"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_errors_are_colored_in_a_terminal(environ: dict[str, str], is_colored: bool) -> None:
    clean = {"TERM": "xterm-256color", "NO_COLOR": "", **environ}

    output, code = in_terminal(["-m", "schemactl", "ifner"], clean)

    assert code == 2
    assert ("\x1b[1;31merror" in output) is is_colored


class Stream:
    def __init__(self, is_terminal: bool) -> None:
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal


@pytest.mark.parametrize(
    ("environ", "is_quiet", "seconds"),
    [({}, False, 0), ({}, True, None), ({"CI": "true"}, False, 10), ({"TERM": "dumb"}, False, 10),
     ({"CI": "true"}, True, None), ({"CI": "true", "SCHEMACTL_PROGRESS_SECONDS": "60"}, False, 60),
     ({"CI": "true", "SCHEMACTL_PROGRESS_SECONDS": "0"}, False, None)],
)  # fmt: skip
def test_progress_is_a_bar_for_a_person_at_a_terminal_and_lines_elsewhere(
    environ: dict[str, str], is_quiet: bool, seconds: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", Stream(True))

    assert describe_terminal("auto", is_quiet, environ).progress == seconds
    assert wants_color("auto", Stream(False), environ) is False  # type: ignore[arg-type]


def test_stated_width_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert describe_terminal("auto", False, {"COLUMNS": "99"}).width == 99
    assert describe_terminal("auto", False, {"COLUMNS": "many"}).width is None


@pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-"])
def test_a_stream_that_the_caller_closed_is_an_empty_one(closed: str) -> None:
    command = f"{sys.executable} -m schemactl rules C204 {closed}"
    answer = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")


def test_a_schema_from_a_closed_standard_input_is_reported_to_be_none() -> None:
    command = f"{sys.executable} -m schemactl export - <&-"
    answer = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert "fault of schemactl" not in answer.stderr
