"""The process that Spark forks its Python workers from, on this machine: it has loaded what each of them would load.

Spark runs it in place of `pyspark.daemon` (``spark.python.daemon.module``), which leaves it to every worker to import
PySpark's worker, pyarrow and the kernel; that takes longer than to read a megabyte.
"""

from __future__ import annotations

import gc
import sys
from contextlib import suppress
from importlib import import_module
from importlib.abc import MetaPathFinder
from typing import Any, Final

from pyspark import daemon

_LOADED: Final = ("pyspark.worker", "pyarrow.compute", "orjson", "schemactl.kernel.package")


def main() -> None:
    """Load the modules and serve Spark."""
    for name in _LOADED:
        with suppress(ImportError):
            import_module(name)
    _keep_pandas_out()
    # Collections in the workers do not touch, and so do not copy, what they share with this process.
    gc.freeze()
    manager: Any = daemon.manager
    manager()


class _WithoutPandas(MetaPathFinder):
    def find_spec(self, fullname: str, *_: Any) -> None:
        """Find no pandas."""
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


def _keep_pandas_out() -> None:
    """Have pyarrow find no pandas, which it looks for with the first array of Python's values: it is never asked for.

    To load it takes each worker longer than a megabyte of data, and 50 MB.
    """
    import pyarrow

    finder = _WithoutPandas()
    sys.meta_path.insert(0, finder)
    pyarrow.array([None])
    sys.meta_path.remove(finder)


if __name__ == "__main__":
    main()
