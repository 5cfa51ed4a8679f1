"""Converts printed reports to HTML fragments, for notebooks."""

from __future__ import annotations

import io
from typing import Final

from rich.console import Console
from rich.text import Text

from schemactl.render.console import UNLIMITED_WIDTH

_FRAGMENT: Final = '<pre style="white-space:pre;overflow-x:auto;line-height:normal;font-family:monospace">{code}</pre>'
"""The HTML around a report: not a whole document, whose style sheet would change the whole notebook."""


def render_html(text: Text) -> str:
    """Return text with its colors as a ``<pre>`` element; characters that HTML reserves are escaped."""
    # By default, rich displays the output of a notebook at once, and leaves the file empty.
    console = Console(record=True, file=io.StringIO(), width=UNLIMITED_WIDTH, force_jupyter=False)
    console.print(text, soft_wrap=True, end="", highlight=False)
    return console.export_html(inline_styles=True, code_format=_FRAGMENT)
