"""Renders ``schemactl init`` for a person and as JSON."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType
from rich.text import Text

from schemactl.render.console import WARNING, Look, print_sections
from schemactl.render.escaping import escape
from schemactl.render.json import document
from schemactl.store.project_files import Initialized


def init_document(report: Initialized) -> dict[str, Any]:
    """Return the JSON document of ``schemactl init``."""
    fields: dict[str, Any] = document(report, {})
    return fields


def print_init(report: Initialized, look: Look) -> str:
    """Return the files, the missing parts of existing files, and the next commands; quiet, only the missing parts."""
    lines: list[RenderableType] = []
    if not look.is_quiet:
        lines += [Text(escape(f"wrote {path}")) for path in report.created]
        lines += [Text(escape(f"left {file.path} as it is")) for file in report.unchanged if not file.addition]
    for file in report.unchanged:
        if file.addition:
            lines.append(Text(escape(f"left {file.path} as it is; add to it:"), style=WARNING))
            lines += [Text(escape(f"    {line}".rstrip())) for line in file.addition.rstrip("\n").split("\n")]
    if look.is_quiet:
        return print_sections([lines], look)
    origin = f" from {report.source}" if report.source else ""
    if report.schemas:
        lines.append(Text(escape(f"schemas{origin}: {', '.join(report.schemas)}")))
    return print_sections([lines, [Text("next:"), *(Text(escape(f"  {line}")) for line in report.next_commands)]], look)
