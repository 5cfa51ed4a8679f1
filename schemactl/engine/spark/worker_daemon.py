"""The process that Spark forks its Python workers from, on this machine: it preloads the modules that they need.

Spark runs it in place of `pyspark.daemon` (``spark.python.daemon.module``), which leaves it to every worker to import
PySpark's worker, pyarrow and the kernel; that takes longer than to read a megabyte.
"""

from __future__ import annotations

import gc
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

from pyspark import daemon

from schemactl.kernel.without_pandas import keep_pandas_out

_LOADED: Final = ("pyspark.worker", "pyarrow.compute", "orjson", "schemactl.kernel.package")


def main() -> None:
    """Load the modules and serve Spark."""
    for name in _LOADED:
        with suppress(ImportError):
            import_module(name)
    keep_pandas_out()
    # Collections in the workers do not touch, and so do not copy, memory shared with this process.
    gc.freeze()
    manager: Any = daemon.manager
    manager()


if __name__ == "__main__":
    main()
