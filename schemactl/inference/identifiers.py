"""Names the keys of data and dlt's own columns in tables, under a naming convention (docs/dlt.md §5)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from schemactl.schema.collisions import BLANK
from schemactl.schema.naming import Naming
from schemactl.schema.paths import Path
from schemactl.schema.settings import NormalizerConfig


class SystemNames:
    """dlt's own column names under a naming convention."""

    def __init__(self, naming: Naming) -> None:
        self.row_id = naming.normalize_identifier("_dlt_id")
        self.load_id = naming.normalize_identifier("_dlt_load_id")
        self.parent_id = naming.normalize_identifier("_dlt_parent_id")
        self.root_id = naming.normalize_identifier("_dlt_root_id")
        self.list_index = naming.normalize_identifier("_dlt_list_idx")
        self.value = naming.normalize_identifier("value")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SystemNames) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))

    def all(self) -> frozenset[str]:
        """Return the names of the columns that dlt fills itself."""
        return frozenset((self.row_id, self.load_id, self.parent_id, self.root_id, self.list_index))


class Identifiers:
    """Names the keys of data in tables.

    ``renamed`` has names for colliding source paths; the convention names all other keys.
    """

    def __init__(self, naming: Naming, config: NormalizerConfig, renamed: Mapping[Path, str] | None = None) -> None:
        self.system = SystemNames(naming)
        self._renamed = renamed or {}
        breaks_path = config.use_break_path_on_normalize
        self._column_of = cache(naming.normalize_path if breaks_path else naming.normalize_identifier)
        self.table = cache(naming.normalize_tables_path if breaks_path else naming.normalize_table_identifier)
        """Returns the table that data of a name goes to."""
        self.join = cache(naming.shorten_fragments)

    def column_part(self, key: str, source: Path) -> str:
        """Return the part of a column name that the key at ``source`` becomes."""
        if source in self._renamed:
            return self._renamed[source]
        return self._column_of(key) if key and not key.isspace() else BLANK

    def table_part(self, key: str, source: Path) -> str:
        """Return the part of a table name that the key of a list at ``source`` becomes."""
        if source in self._renamed:
            return self._renamed[source]
        # The elements under a blank key become rows of the table around them.
        return self.table(key) if key and not key.isspace() else ""
