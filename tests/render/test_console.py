"""How sections become lines."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console, Group
from rich.text import Text
from rich.tree import Tree

from schemactl.render.console import FAINT, NAME, Look, print_sections


def test_a_break_makes_no_command_of_a_log() -> None:
    sections = [[Text("the name `a ::error ::w` and ##[group]x")]]

    lines = print_sections(sections, Look(width=12)).splitlines()

    assert lines == ["the name `a", "\\::error ::w`", "and", "\\##[group]x"]
    assert "\\" not in print_sections(sections, Look())


def test_labels_of_a_tree_look_as_rich_prints_them() -> None:
    for width in (12, 30, 80):
        buffer = io.StringIO()
        Console(file=buffer, width=width, force_terminal=True, color_system="standard").print(_tree())
        expected = [line.rstrip() for line in buffer.getvalue().splitlines()]

        assert print_sections([[_tree()]], Look(width=width, color=True)).splitlines() == expected


def test_labels_of_a_tree_that_fit_are_not_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    wrap, wrapped = Text.wrap, []

    def count(text: Text, *arguments: Any, **options: Any) -> Any:
        wrapped.append(text.plain)
        return wrap(text, *arguments, **options)

    monkeypatch.setattr(Text, "wrap", count)

    print_sections([[_tree()]], Look(width=40))

    assert sorted(filter(None, wrapped)) == ["in lines", "of two\nlines", "two", "wide 你好 " * 5]


def _tree() -> Tree:
    tree = Tree("", hide_root=True, guide_style=FAINT)
    branch = tree.add(Text().append("+ ", style="green").append("orders", style=NAME).append(", new table"))
    branch.add(Text("id: bigint, 2 values"))
    branch.add(Text("wide 你好 " * 5)).add(Text("below"))
    branch.add(Group(Text("two"), Text("in lines")))
    branch.add(Text("of two\nlines", style=FAINT))
    return tree
