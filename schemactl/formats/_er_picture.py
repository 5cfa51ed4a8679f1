"""Draws tables and the relations between them as SVG, for pages of HTML: each table right of those that it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from schemactl.formats._relations import Relation
from schemactl.schema.types import Table

STYLE: Final = """
.picture { overflow-x: auto; } .picture rect { fill: var(--head); stroke: var(--line); }
.picture text { fill: var(--text); font: 13px system-ui, sans-serif; } .picture .soft { fill: var(--soft); }
.picture a:hover rect, .picture a:focus rect { stroke: var(--link); }
.picture path { fill: none; stroke: var(--soft); } .picture path.stated { stroke: var(--link); stroke-dasharray: 5 3; }
"""

_WIDTH: Final = 210
_HEIGHT: Final = 44
_STEP_RIGHT: Final = 270
_STEP_DOWN: Final = 60
_LONGEST: Final = 26
"""Characters of a name that a box has room for; the whole name is its title."""


def er_picture(tables: Sequence[Table], relations: Sequence[Relation], ids: Mapping[str, str]) -> str:
    """Return the picture, nothing where no table has to do with another.

    Relations are dashed where they are stated. Boxes lead to the sections of the page with these ``ids``.
    """
    related = {name for each in relations for name in (each.table, each.other)}
    drawn = [table for table in tables if table.name in related]
    if not drawn:
        return ""
    places: dict[str, tuple[int, int]] = {}
    taken: dict[int, int] = {}
    levels = _levels(drawn, relations)
    for table in drawn:
        level = levels[table.name]
        places[table.name] = (level * _STEP_RIGHT, taken.get(level, 0) * _STEP_DOWN)
        taken[level] = taken.get(level, 0) + 1
    width = max(levels.values()) * _STEP_RIGHT + _WIDTH
    height = (max(taken.values()) - 1) * _STEP_DOWN + _HEIGHT
    lines = "".join(_line(each, places) for each in relations)
    boxes = "".join(_box(table, places[table.name], ids[table.name]) for table in drawn)
    return (
        f'<div class="picture"><svg width="{width + 2}" height="{height + 2}" viewBox="-1 -1 {width + 2} {height + 2}" '
        f'role="img" aria-label="Tables and their relations">{lines}{boxes}</svg></div>'
    )


def _levels(tables: Sequence[Table], relations: Sequence[Relation]) -> Mapping[str, int]:
    """Return how far to the right each table stands; those that name each other in a circle end beside one another."""
    levels = {table.name: 0 for table in tables}
    for _ in tables:
        moved = False
        for each in relations:
            if each.table != each.other and levels[each.other] + 1 > levels[each.table] < len(tables) - 1:
                levels[each.table], moved = levels[each.other] + 1, True
        if not moved:
            break
    return levels


def _line(relation: Relation, places: Mapping[str, tuple[int, int]]) -> str:
    (x1, y1), (x2, y2) = places[relation.other], places[relation.table]
    start, end, middle = x1 + _WIDTH, x2, _HEIGHT // 2
    bend = (_STEP_RIGHT - _WIDTH) // 2
    kind = "" if relation.is_nested else ' class="stated"'
    title = f"{relation.table}: {', '.join(relation.columns)} → {relation.other}"
    curve = f"M{start} {y1 + middle}C{start + bend} {y1 + middle} {end - bend} {y2 + middle} {end} {y2 + middle}"
    return f'<path{kind} d="{curve}"><title>{escape(title)}</title></path>'


def _box(table: Table, place: tuple[int, int], section: str) -> str:
    x, y = place
    # Names of nested tables begin alike.
    name = table.name if len(table.name) <= _LONGEST else f"…{table.name[1 - _LONGEST :]}"
    return (
        f'<a href="#{section}"><title>{escape(table.name)}</title>'
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="6"/>'
        f'<text x="{x + 10}" y="{y + 18}">{escape(name)}</text>'
        f'<text class="soft" x="{x + 10}" y="{y + 35}">{len(table.columns)} columns</text></a>'
    )
