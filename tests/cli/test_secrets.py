"""Secrets of addresses, fed through all options: nothing that the command prints or writes may show them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from migrated_datasets import column, schema_of

from schemactl.cli.app import run
from schemactl.cli.commands import command_names, load_command
from schemactl.cli.declarations import option_specs
from schemactl.formats import dlt

SECRET = "hunter2hunter2"
ADDRESSES = (
    f"postgres://ann:{SECRET}@127.0.0.1:1/shop",
    f" PostgreSQL://ann:{SECRET} `x@127.0.0.1:1/shop?sslpassword={SECRET}",
    f"mysql://ann:{SECRET}/@127.0.0.1:1/shop",
    f"sc://127.0.0.1:1/;token={SECRET};use_ssl=false",
    f"ftp://ann:{SECRET}@127.0.0.1:1/x.csv",
    f"duckdb:///missing/x.duckdb?password={SECRET}",
    f"ann:{SECRET}@127.0.0.1/shop",
    f"host=127.0.0.1 port=1 password={SECRET}",
)
SCHEMA = dlt.write(schema_of(column("id", "bigint", precision=32)))
CALLS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("infer",): ("missing.jsonl", "--name", "shop"),
    ("normalize",): ("missing.jsonl", "--name", "shop"),
    ("diff",): ("shop.yaml", "shop.yaml"),
    ("export",): ("shop.yaml", "--to", "dlt"),
    ("import",): ("shop.yaml", "--name", "shop"),
    ("accept",): ("--all", "--until", "2099-01-01", "--reason", "x"),
    ("rules",): (),
    ("readers",): ("--schema", "shop.yaml", "--readers", "sql:shop.yaml"),
    ("init",): ("--yes",),
    ("merge",): ("shop.yaml", "shop.yaml", "shop.yaml"),
    ("merge-driver",): ("shop.yaml", "shop.yaml", "shop.yaml", "7", "shop.yaml"),
    ("show",): ("shop.yaml",),
    ("list",): (),
    ("check",): ("shop.yaml",),
    ("fmt",): ("shop.yaml",),
    ("edit",): ("shop", "--column", "id:bigint"),
    ("sync",): ("shop",),
    ("files", "list"): ("shop", "--to", "duckdb:///x.duckdb"),
    ("files", "forget"): ("shop", "a.jsonl", "--to", "duckdb:///x.duckdb", "--yes"),
    ("rejects", "list"): ("shop", "--to", "duckdb:///x.duckdb"),
    ("rejects", "show"): ("shop", "--to", "duckdb:///x.duckdb"),
    ("rejects", "export"): ("shop", "--to", "duckdb:///x.duckdb", "--output", "r.jsonl"),
    ("rejects", "replay"): ("shop", "--to", "duckdb:///x.duckdb", "--yes"),
    ("rejects", "discard"): ("shop", "--to", "duckdb:///x.duckdb", "--all", "--reason", "x", "--yes"),
    ("rejects", "prune"): ("shop", "--to", "duckdb:///x.duckdb", "--older-than", "1d", "--yes"),
    ("typing", "draft"): ("missing.csv", "--name", "shop"),
    ("migrate", "plan"): ("shop.yaml", "--to", "duckdb:///x.duckdb"),
    ("migrate", "apply"): ("shop.yaml", "--to", "duckdb:///x.duckdb", "--yes"),
    ("migrate", "baseline"): ("shop.yaml", "--to", "duckdb:///x.duckdb", "--yes"),
    ("migrate", "clean"): ("--to", "duckdb:///x.duckdb", "--yes"),
    ("migrate", "rollback"): ("shop", "--to", "duckdb:///x.duckdb", "--yes"),
    ("migrate", "status"): ("shop.yaml", "--to", "duckdb:///x.duckdb"),
    ("migrate", "verify"): ("shop.yaml", "--to", "duckdb:///x.duckdb"),
    ("migrate", "compare"): ("duckdb:///x.duckdb", "duckdb:///x.duckdb"),
    ("migrate", "check"): ("migrations",),
    ("migrate", "hash"): ("migrations",),
    ("migrate", "lint"): ("migrations",),
    ("migrate", "rebase"): ("migrations",),
}
"""A call of each command."""

ADDRESS_OPTIONS = {
    "to", "remote", "master", "conf", "from", "reference", "references", "policy", "source", "files", "data",
    "base", "head", "readers",
}  # fmt: skip
"""Options that take an address or a reference; sources are in ``tests/engine/test_inputs.py``: Spark reads them."""


def _options() -> Iterator[tuple[tuple[str, ...], str, bool]]:
    for words in CALLS:
        module = load_command(words[0])
        if len(words) > 1:
            module = load_command(words[1], module)
        for spec in option_specs(module.Options):
            if spec.name in ADDRESS_OPTIONS and not spec.choices and spec.kind is not bool:
                yield words, spec.key, spec.is_required or "Argument" in repr(spec.annotation)


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("SCHEMACTL_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    Path("shop.yaml").write_text(SCHEMA)
    Path("rows.jsonl").write_text("")
    return tmp_path


def _assert_nowhere(capfd: pytest.CaptureFixture[str], folder: Path) -> None:
    printed = capfd.readouterr()
    assert SECRET not in printed.out + printed.err
    for path in folder.rglob("*"):
        assert SECRET not in path.name
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


def test_every_command_is_called_here() -> None:
    named = {words[0] for words in CALLS}
    assert named | {"schema"} == set(command_names())  # those take no address
    for group in {words[0] for words in CALLS if len(words) > 1}:
        assert {words[1] for words in CALLS if words[0] == group} == set(command_names(load_command(group)))


@pytest.mark.parametrize(("words", "key", "is_argument"), list(_options()))
def test_no_option_shows_the_secret_of_an_address(
    words: tuple[str, ...], key: str, is_argument: bool, work: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for address in ADDRESSES:
        stated = (address,) if is_argument else (f"--{key}", address)
        args = CALLS[words][1:] if is_argument else CALLS[words]
        if key in ("remote", "master"):
            args = ("rows.jsonl", *args[1:])

        assert run([*words, *stated, *args, "--debug"]) in (0, 1, 2, 3)

        _assert_nowhere(capfd, work)


@pytest.mark.parametrize("address", ADDRESSES)
def test_settings_and_variables_show_no_secret(
    address: str, work: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SCHEMACTL_TO", address)
    run(["migrate", "status", "shop.yaml", "--debug"])
    _assert_nowhere(capfd, work)

    monkeypatch.delenv("SCHEMACTL_TO")
    Path("schemactl.toml").write_text(f"[migrate]\nto = '''{address}'''\n")
    run(["migrate", "status", "shop.yaml", "--debug"])
    Path("schemactl.toml").unlink()
    _assert_nowhere(capfd, work)
