"""Outputs of a review, one a file: the file's name is what ``--format`` takes; text for a terminal is apart.

To add one, write a module with ``render`` as in ``Output``. Third parties use the entry-point group
``schemactl.output``.
"""

from __future__ import annotations

from typing import Protocol

from schemactl.registry import Registry
from schemactl.review.report import Report


class Output(Protocol):
    """A module that writes reports."""

    def render(self, report: Report) -> str:
        """Return the report as text in this format."""
        ...


OUTPUTS: Registry[Output] = Registry("output", "schemactl.render.reviews")
"""All outputs by name."""
