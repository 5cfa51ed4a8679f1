"""How a flow tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float | None], None]
"""Is told what is being done and how much of it is (0 to 1, None where that is not known)."""
