"""Outputs of a review, one in each file: the file's name is the value of ``--format``.

Text for a terminal is in ``review_text``.

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
