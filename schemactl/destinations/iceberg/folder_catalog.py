"""The catalog in a folder, and the reader and writer of its files, which stays in the folder.

The catalog's database and the metadata of its tables contain paths of files, of obsolete files, and the Python class
that reads them. A writer to the folder can put anything there: a file elsewhere to be read, overwritten or deleted, or
code to be imported.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io import WAREHOUSE, InputFile, OutputFile
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO
from pyiceberg.table import Table
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties

from schemactl.errors import DestinationError

_IMPORTED: Final = ("py-io-impl", "write.py-location-provider.impl")
"""Properties of tables by which PyIceberg imports a class of any package and calls it."""


class FolderFileIO(PyArrowFileIO):
    """Reads, writes and deletes only files of the folder that ``warehouse`` names."""

    def new_input(self, location: str) -> PyArrowFile:
        """See ``FileIO``; raises ``DestinationError`` as ``check``."""
        self.check(location)
        return PyArrowFileIO.new_input(self, location)

    def new_output(self, location: str) -> PyArrowFile:
        """See ``FileIO``; raises ``DestinationError`` as ``check``."""
        self.check(location)
        return PyArrowFileIO.new_output(self, location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """See ``FileIO``; raises ``DestinationError`` as ``check``."""
        self.check(location.location if isinstance(location, InputFile | OutputFile) else location)
        PyArrowFileIO.delete(self, location)

    def check(self, location: str) -> None:
        """Raise ``DestinationError`` unless a location is in the folder, once links are followed."""
        scheme, _, path = self.parse_location(location)
        folder = Path(self.properties[WAREHOUSE])
        if scheme != "file" or not Path(path).resolve().is_relative_to(folder.resolve()):
            hint = "copy the table into the folder, or register it in a catalog: iceberg:CATALOG?dataset=NAME"
            raise DestinationError(f"the catalog of `{folder}` names a file outside it: `{location}`", hint=hint)


class FolderCatalog(SqlCatalog):
    """A catalog whose tables are in its folder."""

    def __init__(self, name: str, folder: Path, **properties: Any) -> None:
        # Some functions of PyIceberg choose the reader of a file by the catalog's properties.
        reader = f"{FolderFileIO.__module__}.{FolderFileIO.__name__}"
        SqlCatalog.__init__(self, name, **{**properties, WAREHOUSE: str(folder), "py-io-impl": reader})

    def _load_file_io(self, properties: Properties = EMPTY_DICT, location: str | None = None) -> FolderFileIO:  # noqa: ARG002
        return FolderFileIO(self.properties)

    def load_table(self, identifier: str | Identifier) -> Table:
        """See ``Catalog``; raises ``DestinationError`` for a table that is not in the folder, or names Python code."""
        table = SqlCatalog.load_table(self, identifier)
        for name in _IMPORTED:
            if name in table.metadata.properties:
                message = f"table `{'.'.join(table.name())}` names a Python class (`{name}`), which is not imported"
                raise DestinationError(message, hint="remove that property of the table")
        FolderFileIO(self.properties).check(table.location())
        FolderFileIO(self.properties).check(f"{table.location().rstrip('/')}/data/")
        return table
