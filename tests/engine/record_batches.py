"""The record batches that an engine hands to the kernel."""

from __future__ import annotations

import pyarrow as pa

from schemactl.engine.protocol import Engine, Records


def record_batches(engine: Engine, records: Records) -> list[pa.RecordBatch]:
    if engine.name == "spark":
        return records.toArrow().to_batches()
    return [batch for source in records for task in source.tasks() for batch in task.batches()]
