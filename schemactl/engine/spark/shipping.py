"""Runs our functions on Spark's workers, which may lack schemactl: the package is sent with them as a zip file.

Nothing is sent if a worker can import this very version, as on one machine. A few records are processed in this process
instead, because starting workers takes longer than processing a megabyte.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import sys
import zipfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from schemactl.engine.parts import TaskParts

Batches = Iterable["pa.RecordBatch"]
Records: TypeAlias = "DataFrame | list[pa.RecordBatch]"
"""Records in Spark, or records in this process as one partition."""

_SENT = ("schema", "type_systems", "inference", "normalization", "arc", "kernel")
"""The packages that the kernel imports, in addition to the top modules."""


def run_kernel(spark: SparkSession, records: Records, module: str, function: str, **arguments: Any) -> list[Any]:
    """Return the result of ``module.function(batches, **arguments)`` for each partition."""
    if isinstance(records, list):
        return [resolve_name(f"{module}:{function}")(records, **arguments)]
    worker = for_workers(
        spark, "schemactl.kernel.arrays", "answer", module=module, function=function, arguments=arguments
    )
    return [pickle.loads(row[0]) for row in records.mapInArrow(worker, "answer binary").collect()]


def for_workers(spark: SparkSession, module: str, function: str, /, **arguments: Any) -> Callable[[Any], Iterator[Any]]:
    """Return a function for ``mapInArrow`` that calls ``module.function(batches, **arguments)`` on a worker."""
    from pyspark import cloudpickle

    import schemactl.engine.spark.shipping as this

    register: Callable[[Any], None] = cloudpickle.register_pickle_by_value
    register(this)
    archive = None if shares_this_machine(spark) else _archive()
    # Arguments of our own types can be unpickled only after the package is installed.
    pickled = pickle.dumps(arguments)

    def call(batches: Batches) -> Iterator[pa.RecordBatch]:
        import pickle

        run = _load(archive, module, function)
        return run(batches, **pickle.loads(pickled))

    return call


def parts_frame(spark: SparkSession, tasks: Sequence[TaskParts]) -> DataFrame:
    """Return a frame with the parts of one task in each partition, pickled, column ``share``."""
    import pyarrow as pa
    from pyspark.sql import functions as F

    from schemactl.kernel.arrays import binary_array

    pickled = [pickle.dumps(task.parts, pickle.HIGHEST_PROTOCOL) for task in tasks]
    numbers = pa.Array.from_buffers(pa.int32(), len(pickled), [None, pa.py_buffer(array("i", range(len(pickled))))])
    batch = pa.RecordBatch.from_arrays([numbers, binary_array(pickled)], ["number", "share"])
    frame = spark.createDataFrame(pa.Table.from_batches([batch]))
    if len(tasks) > 1:
        frame = frame.repartitionById(len(tasks), F.col("number"))
    return frame.select("share")


def shares_this_machine(spark: SparkSession) -> bool:
    """Return whether workers have this machine's files and packages."""
    from schemactl.engine.spark.options import local_cores

    is_connected = type(spark).__module__.startswith("pyspark.sql.connect")
    if is_connected or local_cores(spark.conf.get("spark.master") or "") is None:
        return False
    return spark.conf.get("spark.pyspark.python", sys.executable) == sys.executable


@cache
def _archive() -> tuple[str, bytes]:
    """Return the part of this package that the kernel needs as a zip file, and its digest."""
    root = Path(__file__).parents[2]
    files = [*root.glob("*.py"), *(file for name in _SENT for file in (root / name).rglob("*.py"))]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(files):
            archive.write(file, Path(root.name, file.relative_to(root)))
    content = buffer.getvalue()
    return hashlib.sha256(content).hexdigest()[:16], content


def _load(archive: tuple[str, bytes] | None, module: str, function: str) -> Callable[..., Iterator[Any]]:
    """Return a function by its name on a worker, from the package that came with it, if any."""
    import os
    import pkgutil
    import sys
    import tempfile

    if archive is not None:
        digest, content = archive
        user = os.environ.get("USERNAME", "user") if sys.platform == "win32" else os.getuid()
        folder = os.path.join(tempfile.gettempdir(), f"schemactl-kernel-{user}")  # noqa: PTH118 - see below
        path = os.path.join(folder, f"{digest}.zip")  # noqa: PTH118
        if path not in sys.path:
            # This function is sent without the module around it: all that it needs is imported here.
            os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
            if sys.platform != "win32" and os.stat(folder).st_uid != user:  # noqa: PTH116
                raise PermissionError(f"{folder} belongs to another user")
            partial_path = f"{path}.{os.getpid()}"
            with open(partial_path, "wb") as file:  # noqa: PTH123
                file.write(content)
            os.replace(partial_path, path)  # noqa: PTH105
            for name in [name for name in sys.modules if name.partition(".")[0] == "schemactl"]:
                del sys.modules[name]
            sys.path.insert(0, path)
    kernel_function: Callable[..., Iterator[Any]] = pkgutil.resolve_name(f"{module}:{function}")
    return kernel_function
