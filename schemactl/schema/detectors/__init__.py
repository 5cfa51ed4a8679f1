"""Type detectors: one module each, named as in a schema's ``settings.detections`` (docs/dlt.md §6.2).

To add one, add a module ``NAME.py`` with a function ``detect(value) -> DataType | None`` that returns the type a column
of such values should have, or None if the detector does not apply. Values that it distinguishes must belong to
different families (``kernel.value_classes``), as tests/kernel/test_value_classes.py checks. Third parties use the
entry-point group ``schemactl.detector``.
"""

from __future__ import annotations

from typing import Any, Protocol

from schemactl.registry import Registry
from schemactl.schema.types import DataType


class Detector(Protocol):
    """The module of a detector."""

    def detect(self, value: Any, /) -> DataType | None:
        """Return the type for ``value``, None to leave it to the next detector."""


DETECTORS: Registry[Detector] = Registry("detector", "schemactl.schema.detectors")
"""All detectors by name."""
