from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from loading_shop import Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> Shop:
    monkeypatch.chdir(tmp_path)
    return Shop(tmp_path, spark)
