"""Where tables live, one module per destination, found by its file name: the scheme of its addresses.

To add a destination, add a module with ``read_catalogue`` and ``stored`` as in ``Destination``; what several share
stands in modules whose names start with ``_``. Third parties use the entry-point group ``schemactl.destination``.
"""

from __future__ import annotations

from typing import Protocol

from schemactl.destinations._catalogue import Catalogue
from schemactl.registry import Registry
from schemactl.schema.structure import NameLimits
from schemactl.schema.types import Column, Properties


class Destination(Protocol):
    """A module that knows one kind of database, or of files that are used like one."""

    @property
    def NAMES(self) -> NameLimits:
        """What it makes of names of tables and columns."""
        ...

    def read_catalogue(self, url: str) -> Catalogue:
        """Return the tables of one dataset as a schema; nothing is written, and nothing is locked for writing.

        Columns are in their order, with dlt's types, ``nullable: false``, ``primary_key`` and ``unique`` where the
        destination tells. What dlt has no type for stands in ``x-database-type``. The number of queries does not
        grow with the number of tables.

        Raises:
            InputError: the address is wrong, or names no dataset.
            DestinationError: the destination cannot be reached or read, or its driver is missing.
        """
        ...

    def stored(self, column: Column) -> Properties:
        """Return what a catalogue of this destination says of such a column: its type, and ``nullable: false``.

        ``stored`` of a catalogue's own column is what both have in common, so to compare by it is to compare what
        the destination keeps. A column with ``x-database-type`` keeps its type.
        """
        ...


DESTINATIONS: Registry[Destination] = Registry("destination", "schemactl.destinations")
"""All destinations by the scheme of their addresses."""
