"""The destination that `--to` names."""

from __future__ import annotations

import pytest

from schemactl.destinations import DESTINATIONS
from schemactl.errors import InputError
from schemactl.flows.target import migratable
from schemactl.registry import Registry


def test_a_driver_that_is_not_installed_is_not_asked_for_by_another_address(monkeypatch: pytest.MonkeyPatch) -> None:
    load = Registry.__getitem__

    def without_spark(registry: Registry[object], name: str) -> object:
        if name == "spark":
            raise ModuleNotFoundError("No module named 'pyspark'", name="pyspark")
        return load(registry, name)

    monkeypatch.setattr(Registry, "__getitem__", without_spark)
    with pytest.raises(InputError) as caught:
        migratable("nowhere:x")
    assert "duckdb" in str(caught.value.hint)
    assert "spark" in DESTINATIONS
    assert "spark" not in str(caught.value.hint)
