"""Decimals with the scale is larger than the precision are refused by the plan, not by the first statement."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemactl.api import InputError, build, plan


@pytest.mark.parametrize("address", ["duckdb:///file.duckdb", "delta:folder", "iceberg:folder", "parquet:folder"])
def test_the_plan_refuses_them(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    schema = build("shop").table("orders").column("total", "decimal", 2, 10).schema()
    with pytest.raises(InputError, match=r"no decimal\(2,10\) \(`total`\)"):
        plan(schema, address)
    assert list(tmp_path.iterdir()) == []
