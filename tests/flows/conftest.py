from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from loading_shop import Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> Shop:
    monkeypatch.chdir(tmp_path)
    return Shop(tmp_path, spark)


@pytest.fixture
def shared_session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flows that open a session get the one that the tests have."""

    @contextmanager
    def opened(_options: Any, progress: Any = None) -> Iterator[SparkSession]:
        yield spark

    monkeypatch.setattr("schemactl.engine.session.open_session", opened)
