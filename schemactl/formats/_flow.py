"""Collections within brackets: flow style in YAML, and JSON."""

from __future__ import annotations

from typing import Any

from schemactl.formats._emit import json_line, json_text, yaml_flow
from schemactl.formats._lines import Edit, line_start, newline_of
from schemactl.formats._tree import Entry, Mapping, Node, Sequence


def rebuilt(
    text: str, node: Mapping | Sequence, own: list[Entry] | list[Node], parts: list[tuple[int | None, str]]
) -> Edit:
    """Write a flow collection anew from its parts, with the gaps that stood between them."""
    bracket = text.index("{" if isinstance(node, Mapping) else "[", node.start)
    ends = [bracket + 1, *(each.end for each in own)]
    gaps = [text[end : each.start] for end, each in zip(ends, own, strict=False)]
    lead = gaps[0]
    is_usual = len(gaps) > 1 and "#" not in gaps[1]
    usual = gaps[1] if is_usual else "," + (lead if "\n" in lead else " ")
    written = [text[node.start : bracket + 1]]
    for place, (position, part) in enumerate(parts):
        gap = lead if place == 0 else gaps[position] if position else usual
        written += [gap, part]
    return Edit(node.start, node.end, "".join((*written, text[ends[-1] : node.end])))


def in_flow(text: str, is_json: bool, value: Any, place: int) -> str:
    """Return a value as it can stand within brackets."""
    if not is_json:
        return yaml_flow(value)
    if "\n" not in text.strip():
        return json_line(value)
    line = text[line_start(text, place) :]
    indent = line[: len(line) - len(line.lstrip(" \t"))]
    # The closing bracket of a collection stands one step less deep than its parts.
    step = "  " if text[place : place + 1] in ("}", "]") else ""
    return json_text(value).replace("\n", f"{newline_of(text)}{indent}{step}")
