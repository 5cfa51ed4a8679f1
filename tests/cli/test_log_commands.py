"""Names and texts of files never begin a line as a command that CI systems take from a log."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from schemactl.cli.app import run
from schemactl.formats import dlt
from schemactl.render.reviews import OUTPUTS
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

NAMES = ("::error ::x", "x\n::error ::y", "\r::error ::z", "##vso[task.x]", "\u2028::error ::q", "  ::error ::w")
EVIL = "text\n::error ::text"
FILE = "::error ::f.yaml"
COMMAND = re.compile(r"\s*(::|##(vso)?\[)")
OURS = re.compile(r"::(error|warning|notice) (file|title)=")


def schema_of(data_type: str, *names: str) -> Schema:
    columns = {name: Column(name, {"data_type": data_type, "description": EVIL, "x-enum": [EVIL]}) for name in names}
    tables = {name: Table(name, columns, {"write_disposition": "append", "description": EVIL}) for name in NAMES}
    start = new_schema("shop")
    return bump(replace(start, tables={**start.tables, **tables}, description=EVIL))


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schemas/export").mkdir(parents=True)
    Path("schemas/export/shop.schema.yaml").write_text(dlt.write(schema_of("text", *NAMES)))
    Path(FILE).write_text(dlt.write(schema_of("bigint", *NAMES[1:], "gone")))
    Path("::broken.yaml").write_text("name: shop\nengine_version: 11\nversion: 1\n'x\\n::error ::k': 1\n")


@pytest.mark.parametrize(
    "call",
    [
        ("diff", f"./{FILE}", "shop"),
        ("diff", "shop", f"./{FILE}", "--verbose"),
        ("diff", "shop", f"./{FILE}", "--quiet"),
        *(("diff", f"./{FILE}", "shop", "--format", name) for name in sorted(OUTPUTS)),
        ("diff", "::error ::none", "shop"),
        ("diff", "./::broken.yaml", "shop"),
        ("show", "shop"),
        ("show", "shop", "--verbose"),
        ("show", "\n::error ::none"),
        ("list",),
        ("check",),
        ("check", FILE, "::broken.yaml"),
        ("fmt", "--check", FILE),
        ("fmt", FILE),
        ("sync", "shop", "--check"),
        ("migrate", "plan", "shop", "--to", "sqlite:///x.db"),
        ("export", "\r::error ::none", "--to", "dlt"),
    ],
    ids=repr,
)
def test_no_line_begins_with_a_command_of_a_file(capfd: pytest.CaptureFixture[str], call: tuple[str, ...]):
    run(list(call))
    printed = capfd.readouterr()
    lines = (printed.out + printed.err).splitlines()
    assert lines
    assert [line for line in lines if COMMAND.match(line) and not OURS.match(line)] == []
