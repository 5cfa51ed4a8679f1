"""Options and commands that are gone: each use of one gets a hint."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemactl.cli.app import run

SPARK_CONNECT = "use Spark Connect: `--remote sc://HOST:PORT`, see docs/spark.md"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text('{"id": 1}\n')
    return tmp_path


@pytest.mark.parametrize(
    "args",
    [
        ["infer", "--keep-spark", "a.jsonl", "--name", "shop"],
        ["infer", "a.jsonl", "--keep-spark=15m"],
        ["normalize", "a.jsonl", "--name", "shop", "--keep-spark", "off"],
        ["migrate", "plan", "shop", "--keep-spark"],
        ["--keep-spark", "infer", "a.jsonl"],
    ],
)
def test_keep_spark_leads_to_spark_connect(args: list[str], work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(args) == 2

    assert capsys.readouterr() == ("", f"error: `--keep-spark` was removed\nhint: {SPARK_CONNECT}\n")
    assert [path.name for path in work.iterdir()] == ["a.jsonl"]


def test_java_cache_has_no_successor(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["infer", "a.jsonl", "--java-cache", "cache"]) == 2

    hint = "remove the option; it is no longer needed"
    assert capsys.readouterr() == ("", f"error: `--java-cache` was removed\nhint: {hint}\n")


@pytest.mark.parametrize("args", [["engine"], ["engine", "status"], ["engine", "stop", "--quiet"]])
def test_the_command_engine_leads_to_spark_connect(
    args: list[str], work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(args) == 2

    assert capsys.readouterr() == ("", f"error: `schemactl engine` was removed\nhint: {SPARK_CONNECT}\n")


def test_variables_and_settings_are_reported_and_ignored(
    work: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCHEMACTL_KEEP_SPARK", "not a time")
    (work / "schemactl.toml").write_text(
        'keep_spark = "15m"\n[infer]\njava-cache = "cache"\n'
        '[destinations.shop]\naddress = "duckdb:///shop.duckdb"\nkeep-spark = "off"\n'
    )

    assert run(["schema", "file"]) == 0

    removed = "was removed and has no effect:"
    assert capsys.readouterr().err.splitlines() == [
        f"warning: `SCHEMACTL_KEEP_SPARK` {removed} {SPARK_CONNECT}",
        f"warning: schemactl.toml:1: `keep-spark` {removed} {SPARK_CONNECT}",
        f"warning: schemactl.toml:6: `keep-spark` {removed} {SPARK_CONNECT}",
        f"warning: schemactl.toml:3: `java-cache` {removed} remove the option; it is no longer needed",
    ]
