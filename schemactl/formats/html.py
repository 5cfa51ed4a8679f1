"""A data dictionary as one page of HTML, only written: no network, a picture, a search, dark mode, a print style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from schemactl.formats._jinja import OPENING
from schemactl.formats._readers import ReadersByColumn, readers_in_words
from schemactl.formats._relations import Relation, hints_in_words, relations_of, type_in_words
from schemactl.formats._tables import data_tables
from schemactl.formats.markdown import losses as losses
from schemactl.schema.contract import system_prefix
from schemactl.schema.naming import naming_of
from schemactl.schema.types import Column, Schema, Table

ENDINGS: Final = (".html", ".htm")
SHOWS_READERS: Final = True

_STYLE: Final = """
:root { color-scheme: light dark; --text: #1c2430; --soft: #5b6675; --line: #d8dee6; --back: #fff; --head: #f2f5f9;
  --link: #0b57a4; --mark: #e6eef8; }
@media (prefers-color-scheme: dark) { :root { --text: #e3e8ef; --soft: #9aa6b5; --line: #36404d; --back: #14181e;
  --head: #1d232b; --link: #7db6f5; --mark: #233245; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; background: var(--back); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { margin: 0 0 .5rem; } h2 { margin: 2.5rem 0 .5rem; overflow-wrap: anywhere; }
a { color: var(--link); } p { margin: .5rem 0; white-space: pre-line; }
nav ul { columns: 20rem; margin: 1rem 0; padding-left: 1.2rem; }
nav li { overflow-wrap: anywhere; break-inside: avoid; }
input { width: 100%; max-width: 30rem; padding: .5rem .75rem; font: inherit; color: inherit; background: var(--back);
  border: 1px solid var(--line); border-radius: 6px; }
.wide { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; margin-top: .5rem; }
th, td { padding: .35rem .6rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { background: var(--head); font-weight: 600; }
td { overflow-wrap: anywhere; } td:nth-child(-n+2) { min-width: 9rem; } td p { margin: 0; }
td:nth-child(4) { min-width: 14rem; } td:nth-child(5) { min-width: 12rem; }
code { font: .92em ui-monospace, monospace; }
details { margin-top: .5rem; } summary { cursor: pointer; color: var(--soft); }
.hint { display: inline-block; padding: 0 .45em; margin: 0 .25em .15em 0; background: var(--mark); border-radius: 4px; }
.soft { color: var(--soft); } [hidden] { display: none; }
@media screen and (max-width: 50rem) { body { padding: 1rem; } thead { display: none; }
  table, tbody, tr, td { display: block; } tr { padding: .5rem 0; border-bottom: 1px solid var(--line); }
  td, td:nth-child(n) { min-width: 0; padding: .1rem 0; border: 0; } td:empty { display: none; }
  td:first-child code { font-weight: 600; }
  td[data-label]::before { content: attr(data-label) ": "; color: var(--soft); } }
@media print { body { max-width: none; padding: 0; font-size: 10pt; } input, #count { display: none; }
  [hidden] { display: revert !important; } details::details-content { content-visibility: visible; height: auto; }
  tr { break-inside: avoid; } h2 { break-after: avoid; }
  thead { display: table-header-group; } a { color: inherit; text-decoration: none; } .wide { overflow: visible; } }
"""

_SCRIPT: Final = """
const field = document.getElementById("search"), count = document.getElementById("count");
const sections = [...document.querySelectorAll("section")];
function search() {
  const words = field.value.toLowerCase().split(/\\s+/).filter(Boolean);
  const has = element => words.every(word => element.textContent.toLowerCase().includes(word));
  let found = 0;
  for (const section of sections) {
    const isWhole = has(section.querySelector("header"));
    let shown = 0;
    for (const row of section.querySelectorAll("tbody tr")) {
      row.hidden = !(isWhole || has(row));
      if (!row.hidden) shown += 1;
    }
    for (const folded of section.querySelectorAll("details")) {
      const isFound = [...folded.querySelectorAll("tbody tr")].some(row => !row.hidden);
      folded.hidden = !isFound;
      folded.open = isFound && words.length > 0 && !isWhole;
    }
    section.hidden = !(isWhole || shown);
    document.getElementById("to-" + section.id).hidden = section.hidden;
    found += shown;
  }
  count.textContent = words.length ? `${found} column${found === 1 ? "" : "s"}` : "";
}
field.addEventListener("input", search);
const folds = [...document.querySelectorAll("details")];
let unfolded = [];
addEventListener("beforeprint", () => {
  unfolded = folds.filter(folded => !folded.open);
  for (const folded of unfolded) folded.open = true;
});
addEventListener("afterprint", () => { for (const folded of unfolded) folded.open = false; });
document.addEventListener("keydown", event => {
  if (event.key === "/" && document.activeElement !== field) { event.preventDefault(); field.focus(); }
});
search();
"""


def write(
    schema: Schema,
    path: str | None = None,  # noqa: ARG001 - one form for all endings
    readers: ReadersByColumn | None = None,
) -> str:
    """Return the data dictionary of a schema, with a column for readers if they are known."""
    tables = list(data_tables(schema))
    ids = {table.name: f"t{number}" for number, table in enumerate(tables)}
    relations = list(relations_of(schema))
    links = "".join(
        f'<li id="to-{ids[table.name]}"><a href="#{ids[table.name]}">{_text(table.name)}</a></li>' for table in tables
    )
    prefix = system_prefix(naming_of(schema))
    sections = "\n".join(_section(table, ids, relations, prefix, readers) for table in tables)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{_text(schema.name)}</title>
<style>{_STYLE}{_PICTURE_STYLE}</style>
</head>
<body>
<h1>{_text(schema.name)}</h1>
{_paragraph(schema.description)}
<p class="soft">version {schema.version}, <code>{_text(schema.version_hash)}</code></p>
<input id="search" type="search" placeholder="Search tables and columns ( / )" aria-label="Search tables and columns">
<span id="count" class="soft" role="status"></span>
<nav aria-label="Tables"><ul>{links}</ul></nav>
{_er_picture(tables, relations, ids)}
<main>
{sections}
</main>
<script>{_SCRIPT}</script>
</body>
</html>
"""


def _section(
    table: Table, ids: dict[str, str], relations: list[Relation], prefix: str, readers: ReadersByColumn | None
) -> str:
    """Return the section of a table; dlt's own columns, whose names begin with ``prefix``, are folded."""
    system_columns = [column for column in table.columns.values() if column.name.startswith(prefix)]
    columns = [column for column in table.columns.values() if column not in system_columns]
    rows = [_row(column, table, ids, relations, readers) for column in columns]
    system_rows = [_row(column, table, ids, relations, readers) for column in system_columns]
    names = ", ".join(f"<code>{_text(column.name)}</code>" for column in system_columns)
    has_readers = readers is not None
    system_table = _column_table(system_rows, has_readers)
    folded = f"<details><summary>dlt: {names}</summary>{system_table}</details>" if system_rows else ""
    related = ""
    for is_nested, verb in ((True, "holds"), (False, "named by")):
        origins = (link for link in relations if link.other == table.name and link.is_nested == is_nested)
        linked_tables = dict.fromkeys(link.table for link in origins)
        links = [f'<a href="#{ids[name]}">{_text(name)}</a>' for name in linked_tables]
        related += f"<p>{verb} {', '.join(links)}</p>" if links else ""
    return f"""<section id="{ids[table.name]}">
<header><h2>{_text(table.name)}</h2>
{_paragraph(table.properties.get("description"))}
<p>{_hints(hints_in_words(table))}</p>{related}</header>
{_column_table(rows, has_readers) if rows or not system_rows else ""}
{folded}
</section>"""


def _column_table(rows: Sequence[str], has_readers: bool) -> str:
    names = ("column", "type", "null", "hints", "description", *(("readers",) if has_readers else ()))
    head = f"<thead><tr>{''.join(f'<th>{name}</th>' for name in names)}</tr></thead>"
    lines = "\n".join(rows)
    return f'<div class="wide"><table>{head}\n<tbody>\n{lines}\n</tbody></table></div>'


def _row(
    column: Column, table: Table, ids: dict[str, str], relations: list[Relation], readers: ReadersByColumn | None
) -> str:
    targets = (relation for relation in relations if relation.table == table.name and column.name in relation.columns)
    links = "".join(f' → <a href="#{ids[relation.other]}">{_text(relation.other)}</a>' for relation in targets)
    readers_cell = ""
    if readers is not None:
        column_readers = readers_in_words(readers.get((table.name, column.name)))
        readers_cell = f'<td data-label="readers">{_text(column_readers)}</td>'
    return (
        f"<tr><td><code>{_text(column.name)}</code>{links}</td><td><code>{_text(type_in_words(column))}</code></td>"
        f'<td data-label="null">{"yes" if column.nullable else "no"}</td><td>{_hints(hints_in_words(column))}</td>'
        f"<td>{_paragraph(column.properties.get('description'))}</td>{readers_cell}</tr>"
    )


def _text(text: str) -> str:
    """Return text for HTML, in which template engines find no syntax either."""
    return OPENING.sub("&#123;", escape(text))


def _hints(hints: list[str]) -> str:
    return "".join(f'<span class="hint">{_text(hint)}</span>' for hint in hints)


def _paragraph(text: str | None) -> str:
    return f"<p>{_text(text)}</p>" if text else ""


_PICTURE_STYLE: Final = """
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


def _er_picture(tables: Sequence[Table], relations: Sequence[Relation], ids: Mapping[str, str]) -> str:
    """Return the picture; nothing if no table is related to another.

    Declared relations are dashed. Boxes link to the sections of the page with these ``ids``.
    """
    related = {name for relation in relations for name in (relation.table, relation.other)}
    drawn = [table for table in tables if table.name in related]
    if not drawn:
        return ""
    positions: dict[str, tuple[int, int]] = {}
    rows_by_level: dict[int, int] = {}
    levels = _levels(drawn, relations)
    for table in drawn:
        level = levels[table.name]
        positions[table.name] = (level * _STEP_RIGHT, rows_by_level.get(level, 0) * _STEP_DOWN)
        rows_by_level[level] = rows_by_level.get(level, 0) + 1
    width = max(levels.values()) * _STEP_RIGHT + _WIDTH
    height = (max(rows_by_level.values()) - 1) * _STEP_DOWN + _HEIGHT
    lines = "".join(_line(relation, positions) for relation in relations)
    boxes = "".join(_box(table, positions[table.name], ids[table.name]) for table in drawn)
    return (
        f'<div class="picture"><svg width="{width + 2}" height="{height + 2}" viewBox="-1 -1 {width + 2} {height + 2}" '
        f'role="img" aria-label="Tables and their relations">{lines}{boxes}</svg></div>'
    )


def _levels(tables: Sequence[Table], relations: Sequence[Relation]) -> Mapping[str, int]:
    """Return the column of each table in the picture; tables in a circle of references end in adjacent columns."""
    levels = {table.name: 0 for table in tables}
    for _ in tables:
        moved = False
        for link in relations:
            if link.table != link.other and levels[link.other] + 1 > levels[link.table] < len(tables) - 1:
                levels[link.table], moved = levels[link.other] + 1, True
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
    return f'<path{kind} d="{curve}"><title>{_text(title)}</title></path>'


def _box(table: Table, position: tuple[int, int], section: str) -> str:
    x, y = position
    # Names of nested tables begin alike.
    name = table.name if len(table.name) <= _LONGEST else f"…{table.name[1 - _LONGEST :]}"
    return (
        f'<a href="#{section}"><title>{_text(table.name)}</title>'
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="6"/>'
        f'<text x="{x + 10}" y="{y + 18}">{_text(name)}</text>'
        f'<text class="soft" x="{x + 10}" y="{y + 35}">{len(table.columns)} columns</text></a>'
    )
