"""dlt's default: lower-case words joined by ``_``, ASCII letters, digits and ``_`` only (docs/dlt.md §4.2)."""

from __future__ import annotations

import re

from schemactl.schema.naming import Convention, guard_digit, only_words, single_underscores

_SIGNS = str.maketrans({"+": "x", "-": "_", "*": "x", "@": "a", "|": "l"})
_BEFORE_WORD = re.compile(r"([^_])([A-Z][a-z]+)")
_BEFORE_CAPITAL = re.compile(r"([a-z0-9])([A-Z])")


def clean(name: str) -> str:
    """Return ``name`` in snake case: ``userName`` -> ``user_name``, ``1st-id_`` -> ``_1st_idx``."""
    words = _BEFORE_WORD.sub(r"\1_\2", only_words(name.translate(_SIGNS)))
    lowered = guard_digit(_BEFORE_CAPITAL.sub(r"\1_\2", words).lower())
    # a trailing `_` would run into the path separator
    body = lowered.rstrip("_")
    return single_underscores(body + "x" * (len(lowered) - len(body)))


CONVENTION = Convention(clean, is_case_sensitive=False)
