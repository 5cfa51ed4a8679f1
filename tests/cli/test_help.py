"""``--help``: its groups of options, and its examples, each of which is run as it stands there."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from types import ModuleType

import pytest
from terminals import Person

from schemactl.cli.app import run
from schemactl.cli.commands import command_names, is_group, load_command
from schemactl.cli.declarations import CommandGroup, Group, option_specs
from schemactl.cli.parsing import split_examples
from schemactl.formats import dlt
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

DATABASE = "duckdb:///data.duckdb"


def commands(package: ModuleType | None = None, *words: str) -> Iterator[tuple[str, ...]]:
    """The words of each command, those of groups too."""
    args = (package,) if package else ()
    for name in command_names(*args):
        module = load_command(name, *args)
        if is_group(module):
            yield from commands(module, *words, name)
        else:
            yield (*words, name)


def examples_of(words: tuple[str, ...]) -> list[str]:
    """The calls of a command's examples, each as one line."""
    module = load_command(words[0])
    for word in words[1:]:
        module = load_command(word, module)
    lines = "\n".join(split_examples(module.__doc__ or "")[1]).replace("\\\n", " ")
    return [line for line in lines.splitlines() if line.startswith("schemactl ")]


COMMANDS = list(commands())
GROUPS = {words[:depth] for words in COMMANDS for depth in range(1, len(words))}
EXAMPLES = [(words, call) for words in (*COMMANDS, *sorted(GROUPS)) for call in examples_of(words)]
READS_DATA = ("infer", "normalize", "typing")


def test_each_command_has_two_examples_of_itself() -> None:
    assert len(COMMANDS) > 20
    for words in (*COMMANDS, *GROUPS):
        calls = examples_of(words)
        assert len(calls) == 2, words
        assert all(call.startswith(f"schemactl {' '.join(words)}") for call in calls)


def help_of(words: tuple[str, ...]) -> str:
    """The docstring of a command, or of a group."""
    module = load_command(words[0])
    for word in words[1:]:
        module = load_command(word, module)
    return module.__doc__ or ""


def test_the_commands_fit_on_one_screen_below_their_groups(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    assert run(["--help"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line.endswith(":")] == [f"{group}:" for group in CommandGroup]
    listed = [line.split()[0] for line in lines[lines.index("Data:") :] if line.startswith("  ")]
    assert sorted(listed) == [name for name in command_names() if load_command(name).Options.command_group is not None]


@pytest.mark.parametrize("words", [(), *sorted(GROUPS), *COMMANDS], ids=" ".join)
def test_the_help_command_prints_the_help_of_a_command(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, "--help"]) == 0
    expected = capsys.readouterr().out
    assert run(["help", *words]) == 0
    assert capsys.readouterr().out == expected
    assert run(["help", *words, "--help"]) == 0
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (("infr",), "there is no command `infr`", "did you mean `infer`?"),
        (("zzz",), "there is no command `zzz`", "`schemactl --help` lists the commands"),
        (("migrate", "aply"), "there is no command `migrate aply`", "did you mean `apply`?"),
        (("infer", "plan"), "`infer` has no command `plan`", "`schemactl help infer` explains it"),
        (("migrate", "plan", "x"), "`migrate plan` has no command `x`", "`schemactl help migrate plan` explains it"),
        (("engine",), "`schemactl engine` was removed", "use Spark Connect"),
    ],
)
def test_the_help_command_knows_commands_only(
    words: tuple[str, ...], message: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["help", *words]) == 2
    printed = " ".join(capsys.readouterr().err.split())
    assert message in printed
    assert hint in printed


def test_help_begins_with_an_imperative_sentence() -> None:
    for words in (*COMMANDS, *GROUPS):
        first = help_of(words).partition("\n")[0]
        assert first.endswith("."), words
        assert re.match(r"[A-Z][a-z]*[a-rt-z],? [a-zA-Z`]", first), f"{words}: {first}"  # not `Shows the`


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_shows_examples_and_groups_in_a_narrow_terminal(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    assert run([*words, "--help"]) == 0

    printed = capsys.readouterr().out
    headings = re.findall(r"^([A-Z][\w ]*):$", printed, re.MULTILINE)
    assert headings[-3:] == ["Output", "Global options", "Examples"]
    known = ["Arguments", *Group, "Examples"]
    assert headings == sorted(headings, key=known.index)
    assert max(map(len, printed.splitlines())) <= 80
    shown = " ".join(printed.partition("\nExamples:\n")[2].replace("\\\n", " ").split())
    assert all(" ".join(call.split()) in shown for call in examples_of(words))


def test_options_stand_in_their_groups(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["infer", "--help"]) == 0

    parts = re.split(r"^([A-Z][\w ]*):$", capsys.readouterr().out, flags=re.MULTILINE)
    options = {
        title: re.findall(r"^  (?:-\w, )?(--[a-z-]+)", text, re.MULTILINE)
        for title, text in zip(parts[1::2], parts[2::2], strict=True)
    }
    assert {"--table", "--input-format", "--sample"} <= set(options["Input"])
    assert {"--contract", "--on-bad-record"} <= set(options["Contract"])
    assert {"--master", "--remote", "--conf"} <= set(options["Spark"])
    assert {"--format", "--evidence", "--color"} <= set(options["Output"])
    assert options["Options"] == ["--check"]


def test_evidence_is_a_source_of_infer_alone() -> None:
    helps = {
        command: next(each.help for each in option_specs(load_command(command).Options) if each.name == "sources")
        for command in ("infer", "normalize")
    }
    assert [command for command, help in helps.items() if "*.evidence.json" in help] == ["infer"]


def test_a_command_that_states_a_shared_option_anew_keeps_its_group() -> None:
    for words in COMMANDS:
        module = load_command(words[0])
        for word in words[1:]:
            module = load_command(word, module)
        assert {each.group for each in option_specs(module.Options) if each.name == "format"} == {Group.OUTPUT}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository as the examples have it: a schema, an edit of it, files of other formats, a database."""
    folder = tmp_path_factory.mktemp("examples")
    types = {"id": "bigint", "full_name": "text", "signed_up": "date", "vip": "bool", "balance": "double"}
    marks = {"write_disposition": "append", "resource": "customers", "x-normalizer": {"seen-data": True}}
    columns = {name: Column(name, {"data_type": kind, "nullable": True}) for name, kind in types.items()}
    schema = bump(new_schema("crm").with_table(Table("customers", columns, marks)))
    for kind in ("import", "export"):
        (folder / "schemas" / kind).mkdir(parents=True)
        (folder / "schemas" / kind / "crm.schema.yaml").write_text(dlt.write(schema, "crm.schema.yaml"))
    (folder / "queries").mkdir()
    (folder / "queries" / "vips.sql").write_text("select id from crm.customers where vip\n")
    for version in ("base", "ours", "theirs"):
        shutil.copy(folder / "schemas" / "import" / "crm.schema.yaml", folder / f"{version}.schema.yaml")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for call in (
            "export crm --to jsonschema --output crm.json",
            "export crm --to odcs --output crm.odcs.yaml",
            f"migrate apply crm --to {DATABASE} --yes",
            "migrate plan crm --dir migrations --dialect duckdb",
        ):
            assert run([*call.split(), "--quiet"]) == 0
        for call in ("init -q -b main", "add schemas", "-c user.name=a -c user.email=b@c.d commit -q -m first"):
            subprocess.run(["git", *call.split()], check=True)
        assert run(["edit", "crm", "--column", "phone:text", "--quiet"]) == 0
        # What the edit adds is what a plan, and then a rollback, has to do.
        assert run(["sync", "crm", "--yes", "--quiet"]) == 0
        assert run(["migrate", "plan", "crm", "--to", DATABASE, "--out", "crm.plan.json", "--quiet"]) == 0
        assert run(["migrate", "plan", "crm", "--dir", "migrations", "--name", "add_phone", "--quiet"]) == 0
        assert run(["edit", "crm", "--column", "vip:text", "--quiet"]) == 0
    return folder


@pytest.fixture
def work(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    shutil.copytree(project, folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="module")
def applied(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's database after its schema was applied."""
    folder = tmp_path_factory.mktemp("applied") / "work"
    shutil.copytree(project, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run(["migrate", "apply", "crm", "--to", DATABASE, "--yes", "--quiet"]) == 0
    return folder / "data.duckdb"


FINDINGS = {
    "schemactl diff",  # the edit retypes a column that has rows
    "schemactl diff git:main... --format markdown",
    "schemactl sync --check",  # the edit is pending
}
"""The examples that exit with 1 in this project."""


@pytest.mark.parametrize(("words", "call"), [each for each in EXAMPLES if each[0][0] not in READS_DATA])
@pytest.mark.usefixtures("work")
def test_examples_run(
    words: tuple[str, ...],
    call: str,
    applied: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    later = str(date.today() + timedelta(days=30))
    args = [later if arg == "2030-06-30" else arg for arg in shlex.split(call)[1:]]
    if words[-1] in ("baseline", "status", "verify", "compare", "clean"):
        shutil.copyfile(applied, "data.duckdb")
    if words == ("edit",) and "--naming" in args:
        assert run(["sync", "crm", "--yes", "--quiet"]) == 0  # names are made anew where no edit waits
    if words[0] == "files":
        Path("landing").mkdir()
        Path("landing/visits.jsonl").write_text('{"id": 1}\n')
        load = ("landing", "--name", "crm", "--table", "visits", "--to", DATABASE, "--engine", "local")
        assert run(["normalize", *load, "--quiet"]) == 0
    monkeypatch.setattr("sys.stdin", Person("yes\n"))

    code = run(args)

    assert code == (1 if call in FINDINGS else 0), capsys.readouterr().err


@pytest.mark.usefixtures("local_commands")
@pytest.mark.parametrize("call", [call for words, call in EXAMPLES if words[0] in READS_DATA])
def test_examples_with_data_run(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(Path(__file__).parents[2] / "fixtures", tmp_path / "fixtures")
    monkeypatch.chdir(tmp_path)
    args = shlex.split(call)[1:]

    code = run(args)

    assert code == (1 if "--check" in args else 0), capsys.readouterr().err
