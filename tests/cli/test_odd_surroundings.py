"""What stands around a call and is wrong is named with its place: settings, variables, the working folder, plans."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from migrated_datasets import column, schema_of

from schemactl.cli.app import run
from schemactl.formats import dlt

SCHEMA = dlt.write(schema_of(column("id", "bigint", precision=32)))


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("SCHEMACTL_")]:
        monkeypatch.delenv(name)
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("shop.yaml").write_text(SCHEMA)
    return folder


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ('lock-timeout = "soon"', ("apply", "shop.yaml")),
        ('to = "duckbd:///x"', ("plan", "shop.yaml")),
        ('to = "duckdb:///x.duckdb?dataset="', ("status", "shop.yaml")),
    ],
)
def test_wrong_value_of_a_setting_is_placed(
    setting: str, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("schemactl.toml").write_text(f"[migrate]\n# ours\n{setting}\n")
    arguments = () if setting.startswith("to") else ("--to", "duckdb:///x.duckdb")

    assert run(["migrate", *words, *arguments]) == 2

    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert "for example `--" not in error
    if "dataset=" not in setting:
        assert "schemactl.toml:3: `" in error


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ('severity = {D302 = "off"}', "`off` is not a severity for `D302`"),
        ('severity = ["D301=warn", "D302=off"]', "`off` is not a severity for `D302`"),
        ('severity = {D9 = "warn"}', "there is no rule `D9`"),
        ('severity = {D302 = ""}', "`D302` has no level"),
    ],
)
def test_a_severity_that_is_none_is_placed_and_no_option_is_blamed(
    setting: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("schemactl.toml").write_text(f"[diff]\n# ours\n{setting}\n")

    assert run(["diff", "shop.yaml", "shop.yaml"]) == 2

    error = capsys.readouterr().err
    assert f"schemactl.toml:3: {said}" in error
    assert "--severity" not in error


def test_misspelt_variable_is_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SCHEMACTL_FROMAT", "json")
    monkeypatch.setenv("SCHEMACTL_LOCK_TIMEOUT", "3")
    monkeypatch.setenv("SCHEMACTL_OF_ANOTHER_PROGRAM", "1")

    assert run(["diff", "shop.yaml", "shop.yaml"]) == 0

    warnings = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning")]
    assert warnings == [
        "warning: `SCHEMACTL_FROMAT` is not a variable of schemactl and was ignored: did you mean `SCHEMACTL_FORMAT`?"
    ]


def test_variables_of_no_option_are_known(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("CACHE_DIR", "DEBUG", "PROGRESS_SECONDS"):
        monkeypatch.setenv(f"SCHEMACTL_{name}", "")
    with monkeypatch.context() as patched:
        patched.setattr("schemactl.cli.app.all_options", lambda: pytest.fail("all commands were imported"))
        assert run(["diff", "shop.yaml", "shop.yaml"]) == 0
    monkeypatch.setenv("SCHEMACTL_CACHE_DIRS", "")
    assert run(["diff", "shop.yaml", "shop.yaml"]) == 0
    assert "did you mean `SCHEMACTL_CACHE_DIR`?" in capsys.readouterr().err


def test_removed_working_folder_is_named(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("shop.yaml").unlink()
    work.rmdir()

    assert run(["diff", "a.yaml", "b.yaml"]) == 2

    assert "error: the working folder was removed" in capsys.readouterr().err


@pytest.mark.parametrize("inner", ["[" * 100_000, '{"schemactl_plan": 1, "steps": ' + "[" * 900 + "]" * 900 + "}"])
def test_plan_that_nests_without_end_is_refused(inner: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.plan.json").write_text(inner)

    assert run(["migrate", "apply", "a.plan.json", "--to", "duckdb:///x.duckdb"]) == 2

    assert "a.plan.json: this " in capsys.readouterr().err


def test_size_below_zero_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("shop.yaml").write_text(SCHEMA.replace("precision: 32", "precision: -5"))

    assert run(["export", "shop.yaml"]) == 2

    error = capsys.readouterr().err
    assert re.search(r"shop.yaml:\d+:\d+: ", error)
    assert "no size is less than 0" in error


def test_dataset_without_a_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for address in (
        "duckdb:///x.duckdb?dataset=",
        "postgresql://u@h/d?dataset=",
        "parquet:x?dataset=",
        "delta:x?dataset=",
    ):
        assert run(["migrate", "plan", "shop.yaml", "--to", address]) == 2
        assert "`?dataset=` does not name a dataset" in capsys.readouterr().err


@pytest.mark.parametrize("break_", ["\n", "\r", "\u2028", "\x85"])
@pytest.mark.parametrize("target", [("--to", "duckdb:///x.duckdb"), ("--dialect", "snowflake")])
def test_line_break_in_a_name_begins_no_line_of_a_script(
    break_: str, target: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"a{break_}DROP TABLE customers; --"
    schema = schema_of(column("id", "bigint"), column(name))
    Path("shop.yaml").write_text(dlt.write(schema))

    assert run(["migrate", "plan", "shop.yaml", *target]) == 2

    printed = capsys.readouterr()
    assert "line break" in printed.err
    assert not any(line.startswith("DROP") for line in (printed.out + printed.err).splitlines())


def test_folders_that_a_killed_command_has_left_go_with_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    kill = (
        "import os, sys, tempfile; from schemactl.store.temporary_folders import temporary_folder\n"
        "with temporary_folder('spark') as made: (made / 'rows').write_text('x'); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", kill], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
    assert list(tmp_path.glob("schemactl-spark-*/rows"))

    assert run(["diff", "shop.yaml", "shop.yaml"]) == 0

    assert not [path for path in tmp_path.iterdir() if "schemactl-" in path.name]
