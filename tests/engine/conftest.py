"""The tests of this folder run on both engines: this machine's processes, and Spark's workers, as for large data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest
from engine_outcomes import Contract
from task_sizes import task_size

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
def contract(tmp_path: Path, local_engine: Engine, spark_engine: Engine) -> Contract:
    return Contract(tmp_path, local_engine, spark_engine)


@pytest.fixture
def cut(engine: Engine) -> Cut:
    return partial(task_size, engine)
