"""The data dictionary in a browser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chromium import evaluate

from schemactl.formats import html
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

pytestmark = pytest.mark.e2e

HOSTILE = (
    "<img src=x onerror=\"parent.document.title='acted'\"><script>parent.document.title='acted'</script> "
    "</script></style></title> '\" onmouseover=x javascript:alert(1) {{ 7*7 }} ${7*7}"
)
REFERENCE = {"columns": ["customer"], "referenced_table": "customers", "referenced_columns": ["id"]}

SEARCH = """
const field = document.getElementById("search"), shown = element => !element.hidden;
const all = (selector, text) => [...document.querySelectorAll(selector)].filter(shown).map(text);
return %s.map(words => {
  field.value = words;
  field.dispatchEvent(new page.Event("input"));
  return {
    tables: all("section", each => each.querySelector("h2").textContent),
    links: all("nav li", each => each.textContent),
    rows: [...document.querySelectorAll("tbody tr")].filter(each => each.offsetParent).length,
    count: document.getElementById("count").textContent,
  };
});
"""
HANDLERS = "[...document.querySelectorAll('*')].some(e => [...e.attributes].some(a => a.name.startsWith('on')))"


def shop(text: str = "What customers bought") -> Schema:
    customers = {name: Column(name, {"data_type": "text", "x-owner": "crm"}) for name in ("id", "name")}
    orders = {
        "id": Column("id", {"data_type": "bigint", "nullable": False, "primary_key": True}),
        "customer": Column("customer", {"data_type": "text", "description": text, "x-note": text}),
    }
    schema = new_schema("shop", "direct")
    schema = schema.with_table(Table("customers", customers, {"description": "Who buys"}))
    return schema.with_table(Table("orders", orders, {"description": text, "references": [REFERENCE]}))


def test_a_search_leaves_the_rows_that_have_all_words(tmp_path: Path) -> None:
    searches = {
        "": (["customers", "orders"], 4, ""),
        "BIGINT": (["orders"], 1, "1 column"),
        "who buys": (["customers"], 2, "2 columns"),
        "crm name": (["customers"], 1, "1 column"),
        "nowhere": ([], 0, "0 columns"),
    }

    pages = evaluate(html.write(shop()), SEARCH % json.dumps(list(searches)), tmp_path)

    assert [(page["tables"], page["rows"], page["count"]) for page in pages] == list(searches.values())
    assert all(page["links"] == page["tables"] for page in pages)


def test_texts_of_a_schema_never_act(tmp_path: Path) -> None:
    script = f"""
    const count = selector => document.querySelectorAll(selector).length;
    return {{
      title: window.document.title, cell: document.querySelectorAll("tbody tr")[3].cells[4].textContent,
      images: count("img"), scripts: count("script"), styles: count("style"), acts: {HANDLERS},
    }};
    """

    page = evaluate(html.write(shop(HOSTILE)), script, tmp_path)

    assert page == {"title": "", "cell": HOSTILE, "images": 0, "scripts": 1, "styles": 1, "acts": False}


@pytest.mark.parametrize("width", [420, 1200])
def test_the_page_is_no_wider_than_its_window(width: int, tmp_path: Path) -> None:
    script = "return document.documentElement.scrollWidth;"

    assert evaluate(html.write(shop("word " * 50)), script, tmp_path, width) <= width


MEASURE = """
const field = document.getElementById("search");
field.value = %s;
field.dispatchEvent(new page.Event("input"));
const rows = [...document.querySelectorAll("tbody tr")].filter(row => row.checkVisibility());
return {
  columns: rows.map(row => row.cells[0].textContent),
  lines: Math.max(...[...document.querySelectorAll(".hint")].map(hint => hint.offsetHeight / 20)),
};
"""


def wide_table() -> Schema:
    hints = {"x-enum": ["new", "paid", "sent"], "x-annotation-pii": False, "x-classification": "confidential"}
    columns = {
        "a_rather_long_name_of_a_column": {"data_type": "text", "unique": True, "description": "A note " * 20, **hints},
        "amount": {"data_type": "decimal", "precision": 10, "scale": 2, **hints},
        "_dlt_id": {"data_type": "text", "row_key": True, "nullable": False},
    }
    table = Table("t", {name: Column(name, properties) for name, properties in columns.items()})
    return new_schema("s").with_table(table)


@pytest.mark.parametrize("width", [420, 600, 800, 1200])
def test_hints_are_not_wrapped_letter_by_letter_on_any_screen(width: int, tmp_path: Path) -> None:
    shown = evaluate(html.write(wide_table()), MEASURE % '""', tmp_path, width)
    assert shown["columns"] == ["a_rather_long_name_of_a_column", "amount"]
    assert shown["lines"] <= 3


def test_a_search_unfolds_the_columns_of_dlt_that_it_finds(tmp_path: Path) -> None:
    text = html.write(wide_table())
    assert evaluate(text, MEASURE % '"row_key"', tmp_path)["columns"] == ["_dlt_id"]
    assert evaluate(text, MEASURE % '"amount"', tmp_path, 420)["columns"] == ["amount"]
