"""What tables are nested in."""

from __future__ import annotations

from dataclasses import replace

from schemactl.schema.templates import new_schema
from schemactl.schema.types import Schema, Table, ancestors, chain_of, root_of


def schema_of(**parents: str | None) -> Schema:
    tables = {name: Table(name, {}, {"parent": parent} if parent else {}) for name, parent in parents.items()}
    return replace(new_schema("shop"), tables=tables)


def test_chain_goes_from_a_table_to_its_root() -> None:
    schema = schema_of(orders=None, orders__items="orders", orders__items__tags="orders__items")
    assert list(chain_of(schema, "orders__items__tags")) == ["orders__items__tags", "orders__items", "orders"]
    assert ancestors(schema, "orders__items__tags") == ("orders__items", "orders")
    assert root_of(schema, "orders__items__tags") == "orders"
    assert (ancestors(schema, "orders"), root_of(schema, "orders")) == ((), "orders")


def test_chain_ends_where_a_parent_is_missing_or_a_circle_closes() -> None:
    schema = schema_of(a="b", b="a", lost="gone")
    assert list(chain_of(schema, "a")) == ["a", "b"]
    assert list(chain_of(schema, "lost")) == ["lost", "gone"]
    assert list(chain_of(schema, None)) == []
