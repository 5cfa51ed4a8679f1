"""How sections become lines."""

from __future__ import annotations

from rich.text import Text

from schemactl.render.console import Look, print_sections


def test_a_break_makes_no_command_of_a_log() -> None:
    sections = [[Text("the name `a ::error ::w` and ##[group]x")]]

    lines = print_sections(sections, Look(width=12)).splitlines()

    assert lines == ["the name `a", "\\::error ::w`", "and", "\\##[group]x"]
    assert "\\" not in print_sections(sections, Look())
