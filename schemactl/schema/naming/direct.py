"""Names as they are, but for line ends, quotes and the path separator ``▶`` (docs/dlt.md §4.2)."""

from __future__ import annotations

from schemactl.schema.naming import Convention

_SEPARATOR = "▶"
_REPLACED = str.maketrans(dict.fromkeys("\n\r'\"" + _SEPARATOR, "_"))


def clean(name: str) -> str:
    """Return ``name`` with line ends, quotes and ``▶`` as ``_``."""
    return name.translate(_REPLACED)


CONVENTION = Convention(clean, is_case_sensitive=True, path_separator=_SEPARATOR)
