from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from loading_shop import Shop

from schemactl.engine.protocol import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local_engine: Engine) -> Shop:
    monkeypatch.chdir(tmp_path)
    return Shop(tmp_path, local_engine)


@pytest.fixture
def loads_by_spark(shop: Shop, spark: SparkSession) -> SparkSession:
    """Has Spark read what the shop loads, and returns its session."""
    from schemactl.engine.spark.engine import SparkEngine

    shop.engine = SparkEngine(spark)
    return spark
