"""Sizes of the tasks into which engines cut files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from schemactl.engine.protocol import Engine


@contextmanager
def task_size(engine: Engine, size: int) -> Iterator[None]:
    """Have an engine cut files into tasks of so many bytes in a block."""
    if engine.name == "local":
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("schemactl.engine.parts._LEAST_OF_TASK", 1)
            patch.setattr("schemactl.engine.local.row_files._BYTES_OF_TASK", size)
            patch.setattr("schemactl.engine.local.tasks._BATCH_TASK_BYTES", size)
            patch.setattr("schemactl.engine.local.xml_batches._MOST_OF_TASK", size)
            for name in ("_files", "csv"):
                patch.setattr(f"schemactl.engine.local.input_formats.{name}.MOST_OF_TASK", size)
            yield
    else:
        conf, setting = engine.spark.conf, "spark.sql.files.maxPartitionBytes"
        before = conf.get(setting)
        conf.set(setting, f"{size}b")
        try:
            yield
        finally:
            conf.set(setting, before)
