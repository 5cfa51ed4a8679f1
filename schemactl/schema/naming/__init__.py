"""From names in data to identifiers, by dlt's naming conventions (docs/dlt.md §4).

Each module here is one convention, found by its file name; it gives a ``CONVENTION``. Modules that start with
``_`` are what they share. To add one, add such a module. Third parties use the entry-point group
``schemactl.naming_convention``, or name a module of theirs in the schema, which the user admits (`schemactl.registry`).
"""

from __future__ import annotations

from schemactl.schema.naming._convention import Convention
from schemactl.schema.naming._loading import CONVENTIONS, convention_name, load_naming
from schemactl.schema.naming._naming import Naming
from schemactl.schema.naming._of_schema import naming_of

__all__ = ["CONVENTIONS", "Convention", "Naming", "convention_name", "load_naming", "naming_of"]
