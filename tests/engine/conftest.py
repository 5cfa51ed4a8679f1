"""The tests of this folder run on both engines: this machine's processes, and Spark's workers, as for large data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from schemactl.engine.protocol import Engine

Cut = Callable[[int], AbstractContextManager[None]]
"""Has files cut into parts of so many bytes in a block."""


@pytest.fixture(scope="module", autouse=True)
def read_by_workers() -> Iterator[None]:
    """A test says where small data is read in one process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("schemactl.engine.local.engine._SMALL_BYTES", -1)
        yield


@pytest.fixture(scope="session")
def spark_engine(request: pytest.FixtureRequest) -> Engine:
    from schemactl.engine.spark import engine

    engine._SMALL_BYTES = -1
    return engine.SparkEngine(request.getfixturevalue("spark"))


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.spark)], scope="module")
def engine(request: pytest.FixtureRequest) -> Engine:
    return request.getfixturevalue(f"{request.param}_engine")


@pytest.fixture
def cut(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Cut:
    @contextmanager
    def cut_local(size: int) -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr("schemactl.engine.parts._LEAST_OF_TASK", 1)
            for name in ("_files", "csv"):
                patch.setattr(f"schemactl.engine.local.input_formats.{name}.MOST_OF_TASK", size)
            yield

    @contextmanager
    def cut_spark(size: int) -> Iterator[None]:
        conf, setting = engine.spark.conf, "spark.sql.files.maxPartitionBytes"
        before = conf.get(setting)
        conf.set(setting, f"{size}b")
        try:
            yield
        finally:
            conf.set(setting, before)

    return cut_local if engine.name == "local" else cut_spark
