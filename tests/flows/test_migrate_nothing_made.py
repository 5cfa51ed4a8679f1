"""Runs whose first step fails where nothing is made in one piece: the ledger knows of them, and no table is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from migrated_datasets import ID, put, schema_of

from schemactl.cli.app import run

pytestmark = pytest.mark.destinations


def test_a_run_that_has_made_nothing_is_undone_without_a_name(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    in_the_way = work / "made" / "shop" / "orders"
    in_the_way.parent.mkdir(parents=True)
    in_the_way.write_text("a file in the place of the table's folder")
    to = "delta:made"
    assert run(["migrate", "apply", put(schema_of(ID), "shop.yaml"), "--to", to, "-y"]) == 3
    assert "undo the completed steps with `schemactl migrate rollback`" in capsys.readouterr().err
    other = put(schema_of(ID, table="sales"), "other.yaml")
    assert run(["migrate", "apply", other, "--to", to, "-y"]) == 1
    assert "is unfinished" in " ".join(capsys.readouterr().out.split())
    assert run(["migrate", "status", "--to", to]) == 0
    assert "unfinished" in " ".join(capsys.readouterr().out.split())
    assert run(["migrate", "rollback", "--to", to, "-y"]) == 0
    assert run(["migrate", "apply", other, "--to", to, "-y"]) == 0
