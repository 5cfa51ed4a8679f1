"""A SQLite file: ``sqlite:///PATH``.

dlt keeps each dataset in a file of its own beside the one that is named: ``shop.db`` and ``shop__DATASET.db``;
``main`` is the named file itself.
"""

from __future__ import annotations

from schemactl.destinations.sqlite._reader import read_catalogue
from schemactl.destinations.sqlite._types import NAMES, column_type, stored
from schemactl.destinations.sqlite.migration import ABILITIES, connect, render

__all__ = ["ABILITIES", "NAMES", "column_type", "connect", "read_catalogue", "render", "stored"]
