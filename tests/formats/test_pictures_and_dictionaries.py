"""Formats that are only written: diagrams and data dictionaries, read again by the parsers of others."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pydot
import pytest
from fixture_documents import inferred
from hypothesis import given
from markdown_it import MarkdownIt
from test_round_trips import schemas

from schemactl.formats import graphviz, html, markdown, mermaid
from schemactl.formats._tables import data_tables
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

NASTY = 'a "b" | <script>alert(1)</script> `c` *d* _e_ \\ {x} [y](z) & #1 ~'
REFERENCE = {"columns": ["customer"], "referenced_table": "customers", "referenced_columns": ["id"], "label": "buys"}


def shop() -> Schema:
    customers = {"id": Column("id", {"data_type": "bigint", "primary_key": True, "nullable": False})}
    orders = {
        "customer": Column("customer", {"data_type": "decimal", "precision": 10, "scale": 2, "description": NASTY}),
        NASTY: Column(NASTY, {"data_type": "text", "precision": 5, "x-owner": {"team": NASTY}}),
        "_dlt_id": Column("_dlt_id", {"data_type": "text", "nullable": False, "row_key": True, "unique": True}),
    }
    lines = {"_dlt_parent_id": Column("_dlt_parent_id", {"data_type": "text", "parent_key": True})}
    schema = replace(new_schema("shop", "direct"), description=NASTY)
    schema = schema.with_table(Table("customers", customers))
    schema = schema.with_table(Table("orders", orders, {"references": [REFERENCE], "description": NASTY}))
    return schema.with_table(Table("orders__lines", lines, {"parent": "orders"}))


# --- Mermaid: the grammar of https://mermaid.js.org/syntax/entityRelationshipDiagram.html ---

_WORD = r"(?!(?i:[pfu]k)\b)[A-Za-z_\u00C0-\uFFFF][\w\-\[\]()\u00C0-\uFFFF]*"
_TEXT = r'"[^"\n]*"'
_ATTRIBUTE = re.compile(rf"        {_WORD} {_WORD}( (PK|FK|UK)(, (PK|FK|UK))*)?( {_TEXT})?")
_LINE = re.compile(rf"erDiagram|    {_TEXT} \{{|    \}}|    {_TEXT} \|\|--o\{{ {_TEXT} : {_TEXT}")


def test_mermaid_shows_keys_and_relations():
    text = mermaid.write(shop())
    assert '        bigint id PK "not null"\n' in text
    assert "        decimal(10_2) customer FK " in text
    assert '    "customers" ||--o{ "orders" : "buys"\n' in text
    assert '    "orders" ||--o{ "orders__lines" : "_dlt_parent_id"\n' in text


@given(schemas())
def test_every_line_is_one_of_mermaid_s(schema: Schema):
    for each in (schema, shop(), inferred("products.json")):
        lines = mermaid.write(each).splitlines()
        assert [line for line in lines if not (_LINE.fullmatch(line) or _ATTRIBUTE.fullmatch(line))] == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("%%{init: {'theme': 'forest'}}%%", "%|%{init: {'theme': 'forest'}}%|%"),
        ("100%%% sure %%", "100%|%|% sure %|%"),
        ("#lt;b#gt; #60; # 1", "#|lt;b#|gt; #|60; # 1"),
        ("<img src=x> </b> <!-- a --> 1 < 2 <= 3", "<|img src=x> <|/b> <|!-- a --> 1 < 2 <= 3"),
        ("&lt;b&#62; AT&T", "&|lt;b&|#|62; AT&T"),
    ],
)
def test_texts_never_act_in_mermaid(text: str, shown: str):
    customers = Table("customers", {"id": Column("id", {"data_type": "bigint", "description": text})})
    orders = Table(f"o{text}", {"id": Column("id", {"data_type": "bigint"})}, {"references": [
        {"columns": ["id"], "referenced_table": "customers", "referenced_columns": ["id"], "label": text}
    ]})  # fmt: skip
    diagram = mermaid.write(new_schema("s", "direct").with_table(customers).with_table(orders))

    broken = shown.replace("|", "\u200b")
    assert f'bigint id "{broken}"' in diagram
    assert diagram.splitlines()[-1].endswith(f': "{broken}"')
    assert not re.search(r"%%|#\w|<[a-z/!]|&#?\w+;", diagram)


def test_tables_keep_apart_in_mermaid_whose_names_have_no_percent_signs():
    column = {"id": Column("id", {"data_type": "bigint"})}
    schema = new_schema("s", "direct")
    for name in ("a%", "a_", "a\\", 'b"', "b'"):
        schema = schema.with_table(Table(name, column))

    assert re.findall(r'"(.*)" \{', mermaid.write(schema)) == ["a_", "a__", "a___", "b'", "b'_"]


# --- Graphviz ---


@pytest.mark.parametrize("schema", [shop(), inferred("orders.jsonl")])
def test_graphs_have_a_node_for_each_table_and_an_edge_for_each_relation(schema: Schema):
    (graph,) = pydot.graph_from_dot_data(graphviz.write(schema))
    names = [table.name for table in data_tables(schema)]
    nodes = {node.get_name().strip('"'): node for node in graph.get_nodes()}
    assert [name for name in nodes if name not in ("node", "edge", "graph")] == names
    for table in data_tables(schema):
        label = ElementTree.fromstring(nodes[table.name].get("label")[1:-1])
        cells = ["".join(cell.itertext()) for cell in label.iter("td") if "port" in cell.attrib]
        assert cells == [f"{each.name}{'' if each.nullable else '*'}" for each in table.columns.values()]
    assert len(graph.get_edges()) == sum(
        table.is_nested + len(table.properties.get("references") or ()) for table in data_tables(schema)
    )


ODD_TEXTS = ("\x1b[31m", "\x00", "\ufffe", "&lt;b&gt;", "\\N \\G \\l", "\\", "<img src=x>", '"', "é😀")


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_labels_of_graphs_show_texts_as_they_are(text: str):
    table = Table(f"a{text}", {f"c{text}": Column(f"c{text}", {"data_type": "text"})}, {"references": [
        {"columns": [f"c{text}"], "referenced_table": "b", "referenced_columns": ["x"], "label": text}
    ]})  # fmt: skip
    schema = new_schema("s", "direct").with_table(table)
    schema = schema.with_table(Table("b", {"x": Column("x", {"data_type": "text"})}))

    written = graphviz.write(schema)
    shown = text if text.isprintable() and text != "\ufffe" else repr(text)[1:-1].replace("\\ufffe", "\\xfffe")
    [label] = re.findall(r"label=<(<table.*c0.*</table>)>\]\n", written)[:1]
    cells = ["".join(cell.itertext()).replace("\u200b", "") for cell in ElementTree.fromstring(label).iter("td")]

    assert cells == [f"a{shown}", f"c{shown}", "text"]
    assert not re.search(r"\\[A-Za-z]", label)
    [edge] = re.findall(r'->.*\[label="(.*)"\]', written)
    assert unescape(edge.replace('\\"', '"').replace("\\\\", "\\")) == shown


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("text", ODD_TEXTS)
def test_graphviz_draws_odd_texts(text: str):
    column = {f"c{text}": Column(f"c{text}", {"data_type": "text"})}
    schema = new_schema("s", "direct").with_table(Table(f"a{text}", column)).with_table(Table("b", column))

    done = subprocess.run(["dot", "-Tsvg"], input=graphviz.write(schema), capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    drawn = [
        "".join(each.itertext()) for each in ElementTree.fromstring(done.stdout).iter() if each.tag.endswith("text")
    ]
    shown = [each.replace("\u200b", "") for each in drawn]
    assert len(shown) == 6
    assert shown[0][1:] == shown[1][1:] == shown[4][1:]
    assert text not in ("\\N \\G \\l", "&lt;b&gt;", '"') or shown[0] == f"a{text}"


def test_edges_lead_from_column_to_column():
    text = graphviz.write(shop())
    assert '"orders":c0 -> "customers":c0 [label="buys"]' in text
    assert '"orders__lines":c0 -> "orders":c2' in text


# --- Markdown ---


def cells_of(text: str) -> list[list[str]]:
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    rows: list[list[str]] = []
    for before, token in pairwise(tokens):
        if before.type == "tr_open":
            rows.append([])
        if before.type == "td_open":
            assert {each.type for each in token.children or ()} <= {"text", "text_special"}, token.content
            rows[-1].append("".join(each.content for each in token.children or ()))
    return [row for row in rows if row]


def test_a_parser_of_markdown_finds_the_texts_as_they_are():
    assert cells_of(markdown.write(shop())) == [
        ["id", "bigint", "no", "primary_key", ""],
        ["customer", "decimal(10, 2)", "yes", "", NASTY],
        [NASTY, "text(5)", "yes", 'x-owner: {"team": "' + NASTY.replace("\\", "\\\\").replace('"', '\\"') + '"}', ""],
        ["_dlt_id", "text", "no", "row_key, unique", ""],
        ["_dlt_parent_id", "text", "yes", "parent_key", ""],
    ]


@given(schemas())
def test_every_column_has_its_row_in_markdown(schema: Schema):
    rows = cells_of(markdown.write(schema))
    columns = [column for table in data_tables(schema) for column in table.columns.values()]
    assert [row[0] for row in rows] == [column.name for column in columns]
    assert [row[4] for row in rows] == [" ".join((c.properties.get("description") or "").split()) for c in columns]


TEMPLATES = ("{{ 7 * 7 }}", "{% include 'x' %}", "{%- raw -%}", "{# gone #}", "{{{ 7 }}}", "{{< x >}}", "{{% x %}}")


@pytest.mark.parametrize("text", TEMPLATES)
def test_dictionaries_hold_no_templates(text: str):
    """As mkdocs-macros and Jekyll evaluate pages of Markdown, and others HTML."""
    table = Table(
        "t", {text: Column(text, {"data_type": "text", "description": text, "x-note": text})}, {"description": text}
    )
    schema = replace(new_schema("s", "direct").with_table(table), description=text)

    for written in (markdown.write(schema), html.write(schema)):
        assert not re.search(r"\{[{%#]", written.partition("<main>")[2] or written)
    assert cells_of(markdown.write(schema)) == [[text, "text", "yes", f"x-note: {text}", text]]
    assert Page(html.write(schema)).cells[0] == text


# --- HTML ---


class Page(HTMLParser):
    """What a browser makes of a page: its elements, attributes, and the texts in its cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, Any]]] = []
        self.cells: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "input"):
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "td" in self.open:
            self.cells[-1] += data


def test_a_page_is_whole_and_says_all_that_columns_state():
    page = Page(html.write(shop()))
    assert page.open == []
    assert [tag for tag, _ in page.tags].count("script") == 1
    names = [name for table in data_tables(shop()) for name in table.columns]
    assert [cell.partition(" → ")[0] for cell in page.cells[::5]] == names
    assert NASTY in page.cells


def test_columns_of_dlt_are_folded_below_the_others():
    columns = ("_dlt_load_id", "a", "_dlt_id", "dlt")
    table = Table("t", {name: Column(name, {"data_type": "text"}) for name in columns})
    text = html.write(new_schema("s").with_table(table))
    page = Page(text)
    assert page.cells[::5] == ["a", "dlt", "_dlt_load_id", "_dlt_id"]
    shown, _, folded = text.partition(
        "<details><summary>dlt: <code>_dlt_load_id</code>, <code>_dlt_id</code></summary>"
    )
    assert shown.count("<td data-label") == folded.count("<td data-label") == 2
    assert "<details>" not in html.write(new_schema("s").with_table(Table("t", {"a": Column("a", {})})))


@pytest.mark.parametrize("module", [html, markdown, mermaid, graphviz])
def test_types_of_a_database_are_shown(module: Any):
    column = Column("a", {"x-database-type": "uuid", "nullable": False})
    text = module.write(new_schema("s").with_table(Table("t", {"a": column})))
    assert "uuid" in text
    assert "unknown" not in text
    assert "x-database-type" not in text
    beside = Column("a", {"data_type": "text", "x-database-type": "uuid"})
    assert ("x-database-type" in module.write(new_schema("s").with_table(Table("t", {"a": beside})))) == (
        module in (html, markdown)
    )


def test_a_page_needs_no_network_and_its_links_lead_somewhere():
    text = html.write(inferred("orders.jsonl"))
    page = Page(text)
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    links = [attributes["href"] for tag, attributes in page.tags if tag == "a"]
    assert links
    assert {link.removeprefix("#") for link in links} <= ids
    assert not any("src" in attributes or tag == "link" for tag, attributes in page.tags)
    assert "http" not in text
    assert "@media print" in text
    assert "prefers-color-scheme: dark" in text


def test_a_page_draws_tables_with_what_they_hang_on():
    page = Page(html.write(shop()))
    boxes = [int(attributes["x"]) for tag, attributes in page.tags if tag == "rect"]
    assert boxes == [0, 270, 540]  # customers, orders, orders__lines: each right of what it names
    assert [attributes.get("class") for tag, attributes in page.tags if tag == "path"] == ["stated", None]


def test_a_table_names_all_that_it_holds_in_one_line_and_boxes_show_the_ends_of_long_names():
    names = [f"events__payload__pull_request__{each}" for each in ("labels", "requested_reviewers")]
    schema = new_schema("github").with_table(Table("events", {}))
    for name in names:
        schema = schema.with_table(Table(name, {}, {"parent": "events"}))
    text = html.write(schema)
    holds = ", ".join(f'<a href="#t{number}">{name}</a>' for number, name in enumerate(names, 1))
    assert f"<p>holds {holds}</p>" in text
    for name in names:
        assert f'">…{name[-25:]}</text>' in text


def test_tables_without_relations_and_tables_in_a_circle_are_drawn_too():
    columns = {"id": Column("id", {"data_type": "bigint"})}
    names = ("a", "b")
    alone = new_schema("shop")
    circle = new_schema("shop")
    for name, other in zip(names, reversed(names), strict=True):
        reference = {"columns": ["id"], "referenced_table": other, "referenced_columns": ["id"]}
        alone = alone.with_table(Table(name, columns))
        circle = circle.with_table(Table(name, columns, {"references": [reference]}))
    assert "<svg" not in html.write(alone)
    assert html.write(circle).count("<rect") == 2
