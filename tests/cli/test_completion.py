from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pytest
from forked_commands import Commands, forked_commands

pytestmark = pytest.mark.e2e

SCRIPTS = Path(__file__).parents[2] / "completions"
COMMAND = Path(sys.executable).with_name("schemactl")


def schemactl(**variables: str) -> str:
    """What the command prints with these variables set."""
    call = [sys.executable, "-m", "schemactl"]
    environ = {**os.environ, **variables}
    return subprocess.run(call, env=environ, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    with forked_commands() as run:
        yield run


@pytest.fixture
def complete(commands: Commands) -> Callable[[str], list[str]]:
    """Returns the answers that bash is given for the last word."""

    def answers(words: str) -> list[str]:
        stated = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        answer = commands(env={"_SCHEMACTL_COMPLETE": "complete_bash", **stated})
        assert (answer.code, answer.err) == (0, "")
        return answer.out.split()

    return answers


@pytest.mark.parametrize(("shell", "script"), [
    ("bash", "schemactl.bash"), ("zsh", "_schemactl"), ("fish", "schemactl.fish"), ("powershell", "schemactl.ps1"),
])  # fmt: skip
def test_shipped_script_is_current(shell: str, script: str) -> None:
    current = schemactl(_SCHEMACTL_COMPLETE=f"source_{shell}").strip("\n")

    assert (SCRIPTS / script).read_text() == current + "\n"


@pytest.mark.skipif(shutil.which("bash") is None or not COMMAND.exists(), reason="no bash, or not installed")
def test_script_works_in_bash() -> None:
    program = f"""
    source {SCRIPTS / "schemactl.bash"}
    COMP_WORDS=(schemactl infer --on-bad-record s)
    COMP_CWORD=3
    _schemactl_completion "{COMMAND}"
    echo "${{COMPREPLY[@]}}"
    """

    answer = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)

    assert answer.stdout.split() == ["stop", "skip"]


def on_path() -> dict[str, str]:
    return {**os.environ, "PATH": f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.skipif(shutil.which("fish") is None or not COMMAND.exists(), reason="no fish, or not installed")
@pytest.mark.parametrize(
    ("words", "answers"), [("infer --on-bad-record s", ["skip", "stop"]), ("infer fix", ["fixtures/"])]
)
def test_script_works_in_fish(words: str, answers: list[str]) -> None:
    program = f"source {SCRIPTS / 'schemactl.fish'}; complete -C 'schemactl {words}'"

    answer = subprocess.run(
        ["fish", "-c", program], cwd=SCRIPTS.parent, env=on_path(), capture_output=True, text=True, check=True
    )

    assert answer.stdout.split() == answers


def test_help_of_a_candidate_stays_on_its_line() -> None:
    for typed in ("schemactl ", "schemactl migrate ", "schemactl infer --"):
        printed = schemactl(
            _SCHEMACTL_COMPLETE="complete_fish", _TYPER_COMPLETE_FISH_ACTION="get-args", _TYPER_COMPLETE_ARGS=typed
        )
        assert len(printed.splitlines()) > 5
        assert all(re.match(r"(--)?[a-z-]+\t\S", line) for line in printed.splitlines()), printed


@pytest.mark.skipif(shutil.which("zsh") is None or not COMMAND.exists(), reason="no zsh, or not installed")
def test_script_works_in_zsh() -> None:
    shell = pexpect.spawn("zsh", ["-f", "-i"], encoding="utf-8", env={**on_path(), "TERM": "dumb"}, timeout=20)
    shell.sendline(f"autoload -Uz compinit; compinit -u -D; source {SCRIPTS / '_schemactl'}; echo re''ady")
    shell.expect_exact("ready")
    shell.send("schemactl infer --on-bad-record st\t")
    try:
        shell.expect_exact("--on-bad-record stop")
    finally:
        shell.close(force=True)


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        ("schemactl inf", ["infer"]),
        ("schemactl imp", ["import"]),
        ("schemactl help mig", ["migrate"]),
        ("schemactl help migrate pl", ["plan"]),
        ("schemactl diff --compat w", ["writers"]),
        ("schemactl infer --on-bad-record ", ["stop", "skip"]),
        ("schemactl infer --format js", ["json"]),
        ("schemactl infer --res", ["--resolve-collisions"]),
        ("schemactl --color n", ["never"]),
        ("schemactl infer --naming sn", ["snake_case"]),
        ("schemactl infer --normalizer nes", ["nested"]),
        ("schemactl infer --input-format p", ["parquet"]),
        ("schemactl diff --format sar", ["sarif"]),
        ("schemactl export --to dl", ["dlt"]),
        ("schemactl import --from dl", ["dlt"]),
        ("schemactl rules C204", ["C204"]),
        ("schemactl rules c204", ["c204"]),
        ("schemactl rules M10", ["M101", "M102", "M103", "M104", "M105", "M106", "M107"]),
    ],
)
def test_shell_is_reported_what_fits(complete: Callable[[str], list[str]], words: str, answers: list[str]) -> None:
    assert complete(words) == answers


@pytest.mark.parametrize(
    "words", ["diff sh", "export sh", "infer --name sh", "import --name sh", "normalize --name sh"]
)
def test_shell_is_reported_the_schemas_of_the_folder(
    complete: Callable[[str], list[str]], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "contracts/export").mkdir(parents=True)
    (tmp_path / "contracts/export/shop.schema.yaml").touch()
    (tmp_path / "schemactl.toml").write_text('schemas = "contracts"\n')
    monkeypatch.chdir(tmp_path)

    assert complete(f"schemactl {words}") == ["shop"]
    assert complete(f"schemactl --schemas elsewhere {words}") == []


def test_a_broken_settings_file_does_not_disturb_who_types(
    complete: Callable[[str], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "schemactl.toml").write_text("schemas = [\n")
    monkeypatch.chdir(tmp_path)

    assert complete("schemactl diff sh") == []


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        ("infer --contract fr", ["freeze"]),
        ("infer --contract tables=e", ["tables=evolve"]),
        ("infer --contract tables=evolve,columns=discard_r", ["tables=evolve,columns=discard_row"]),
        ("diff --severity C204=w", ["C204=warn"]),
        ("migrate plan shop --dialect snow", ["snowflake"]),
        ("export shop --to sql --dialect postgr", ["postgres", "postgresql"]),
        ("diff git:mai", ["git:main"]),
        ("migrate plan git:", ["git:main", "git:v1"]),
        ("migrate apply git:v", ["git:v1"]),
        ("migrate status import:", ["import:shop"]),
        ("diff import:s", ["import:shop"]),
        ("show git", ["git:"]),
    ],
)
def test_contracts_severities_dialects_and_revisions_are_offered(
    complete: Callable[[str], list[str]],
    words: str,
    answers: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schemas/import").mkdir(parents=True)
    Path("schemas/import/shop.schema.yaml").touch()
    for call in ("init -q -b main", "-c user.name=a -c user.email=b@c.d commit -q --allow-empty -m first", "tag v1"):
        subprocess.run(["git", *call.split()], check=True)

    assert complete(f"schemactl {words}") == answers


COMPLETE = {
    "bash": lambda words: {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))},
    "zsh": lambda words: {"_TYPER_COMPLETE_ARGS": words},
    "fish": lambda words: {"_TYPER_COMPLETE_ARGS": words, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    "powershell": lambda words: {
        "_TYPER_COMPLETE_ARGS": words,
        "_TYPER_COMPLETE_WORD_TO_COMPLETE": words.rpartition(" ")[2],
    },
}
"""What each shell's script asks with, for the words typed so far."""

SHELL_SYNTAX = (
    *(r"\$(touch X)", "$(touch X)", "`touch X`", "a;touch X", "a' touch X'"),
    *('a"b', "a b", "a\nb", "a|b", "a&b", "*", "~", "é$x"),
)


def strangers_checkout(folder: Path) -> None:
    """Make a repository whose schemas and branches have names that shells could run."""
    for part in ("import", "export"):
        (folder / "schemas" / part).mkdir(parents=True)
        for name in (*SHELL_SYNTAX, "shop", "größe", "1st", "a-b"):
            (folder / "schemas" / part / f"{name}.schema.yaml").touch()
    for call in ("init -q -b main", "-c user.name=a -c user.email=b@c.d commit -q --allow-empty -m first"):
        subprocess.run(["git", *call.split()], cwd=folder, check=True)
    for branch in ("$(touch${IFS}X)", "`touch${IFS}X`", "a;b", "a'b", 'a"b', "a&b", "é$x", "feat/größe-2@v1.0"):
        subprocess.run(["git", "branch", branch], cwd=folder, check=True)
        subprocess.run(["git", "tag", f"t{branch}"], cwd=folder, check=True)


@pytest.mark.parametrize("shell", COMPLETE)
@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("show ", {"größe", "shop", "git:", "import:", "export:"}),
        ("show import:", {"import:größe", "import:shop"}),
        ("show git:", {"git:feat/größe-2@v1.0", "git:main", "git:tfeat/größe-2@v1.0"}),
        ("infer --name ", {"größe", "shop"}),
        ("infer --contract $(touch${IFS}X),fr", set()),
    ],
)
def test_a_strangers_names_that_a_shell_could_run_are_not_offered(
    shell: str, words: str, names: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commands: Commands
) -> None:
    strangers_checkout(tmp_path)
    monkeypatch.chdir(tmp_path)
    typed = COMPLETE[shell](f"schemactl {words}")

    answer = commands(env={"_SCHEMACTL_COMPLETE": f"complete_{shell}", **typed})

    assert answer.code == 0
    if shell == "zsh":
        offered = {name.replace("\\\\:", ":") for name in re.findall(r'"(.*?)"', answer.out)}
    else:
        offered = {line.partition("\t")[0].removesuffix("::: ") for line in answer.out.splitlines()}
    assert offered - {""} == names


@pytest.mark.skipif(shutil.which("zsh") is None or not COMMAND.exists(), reason="no zsh, or not installed")
def test_zsh_runs_nothing_of_a_strangers_names(tmp_path: Path) -> None:
    strangers_checkout(tmp_path)
    surroundings = {**on_path(), "TERM": "dumb"}
    shell = pexpect.spawn("zsh", ["-f", "-i"], encoding="utf-8", env=surroundings, timeout=20, cwd=str(tmp_path))
    shell.sendline(f"autoload -Uz compinit; compinit -u -D; source {SCRIPTS / '_schemactl'}; echo re''ady")
    shell.expect_exact("ready")
    shell.send("schemactl show \t")
    try:
        shell.expect_exact("shop")
    finally:
        shell.close(force=True)

    assert not (tmp_path / "X").exists()


def test_the_script_is_shown_without_a_word_of_an_error() -> None:
    # Typer looks for the shell among the processes above.
    shown = subprocess.run(
        ["bash", "-c", f"'{COMMAND}' --show-completion; exit $?"], capture_output=True, text=True, check=False
    )
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "complete_bash" in shown.stdout
