"""Keeps pandas out of a worker process: pyarrow looks for it with the first array of Python's values.

To import it takes a worker longer than to read a megabyte of data, and 50 MB of memory; the kernel never needs it.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from typing import Any


class _WithoutPandas(MetaPathFinder):
    def find_spec(self, fullname: str, *_: Any) -> None:
        """Find no pandas."""
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


def keep_pandas_out() -> None:
    """Have pyarrow find no pandas, once and for all in this process."""
    import pyarrow

    finder = _WithoutPandas()
    sys.meta_path.insert(0, finder)
    pyarrow.array([None])
    sys.meta_path.remove(finder)
