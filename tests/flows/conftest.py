from __future__ import annotations

from collections.abc import Iterator
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


DESTINATIONS = (
    "parquet",
    "duckdb",
    "sqlite",
    "delta",
    "iceberg",
    "postgresql",
    "mysql",
    pytest.param("spark", marks=pytest.mark.spark),
)


@pytest.fixture(params=DESTINATIONS)
def any_destination(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a destination of each kind, for the schema `shop`."""
    dataset = f"d{abs(hash(tmp_path))}"
    if request.param == "spark":
        spark = request.getfixturevalue("loads_by_spark")
        spark.sql(f"CREATE SCHEMA {dataset} LOCATION '{(tmp_path / 'catalogue').as_uri()}'")
        yield f"spark:spark_catalog.{dataset}"
        spark.sql(f"DROP SCHEMA {dataset} CASCADE")
    elif request.param == "postgresql":
        yield f"{request.getfixturevalue('postgres_database')}?dataset={dataset}"
    elif request.param == "mysql":
        yield f"{request.getfixturevalue('mariadb_url')}&dataset={dataset}"
    else:
        addresses = {"parquet": "warehouse", "duckdb": "duckdb:///made.duckdb", "sqlite": "sqlite:///shop.db"}
        yield addresses.get(request.param, f"{request.param}:lake")
