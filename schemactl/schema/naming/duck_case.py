"""Names as they are, letters of all scripts kept; fit for DuckDB (docs/dlt.md §4.2)."""

from __future__ import annotations

from schemactl.schema.naming import Convention, single_underscores

_REPLACED = str.maketrans(dict.fromkeys('\n\r"', "_"))


def clean(name: str) -> str:
    """Return ``name`` with line ends and double quotes as ``_``, each run of ``_`` as one."""
    return single_underscores(name.translate(_REPLACED))


CONVENTION = Convention(clean, is_case_sensitive=True)
