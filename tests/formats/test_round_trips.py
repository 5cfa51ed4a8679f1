"""``read(write(schema))`` is the schema, up to what docs/format-table.md names as lost; and the document is current."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest
from features import FEATURES, formats, outcome, table
from hypothesis import given, note, settings
from hypothesis import strategies as st

from schemactl.formats import FORMATS, find_losses, holds_one_table, is_readable
from schemactl.formats._tables import data_tables
from schemactl.schema.arrow_hint import NESTED_TYPE, encode
from schemactl.schema.hints import only_root
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

DOCUMENT = Path(__file__).parents[2] / "docs" / "format-table.md"
READABLE = [name for name, module in formats().items() if is_readable(module)]

_INVISIBLE = ("Cc", "Cs", "Zl", "Zp", "Co", "Cn")
TEXTS = st.text(st.characters(exclude_categories=_INVISIBLE), min_size=1, max_size=20).map(str.strip).filter(bool)
NESTED = ("b:array<struct<c:string>>", "m:map<string,double>", "d:decimal(10,2),t:timestamp_ntz")
KEPT_BY_DLT = {NESTED_TYPE: encode(pa.struct({"a": pa.int32(), "l": pa.list_(pa.timestamp("ms", "UTC"))}))}
SIZES = {
    "text": st.fixed_dictionaries({}, optional={"precision": st.integers(1, 4000)}),
    "binary": st.fixed_dictionaries({}, optional={"precision": st.integers(1, 4000)}),
    "bigint": st.fixed_dictionaries({}, optional={"precision": st.sampled_from([8, 16, 32, 64])}),
    "decimal": st.sampled_from([{}, *({"precision": p, "scale": s} for p, s in ((10, 2), (38, 9), (9, 0), (38, 18)))]),
    "wei": st.just({}),
    "timestamp": st.fixed_dictionaries({}, optional={"precision": st.integers(0, 9), "timezone": st.booleans()}),
    "time": st.fixed_dictionaries({}, optional={"precision": st.integers(0, 9)}),
    "json": st.sampled_from([{}, KEPT_BY_DLT, *({"x-spark-type": f"struct<a:int,{each}>"} for each in NESTED)]),
}
STATED = st.fixed_dictionaries(
    {},
    optional={
        "nullable": st.booleans(),
        "description": TEXTS,
        "primary_key": st.booleans(),
        "unique": st.booleans(),
        "sort": st.booleans(),
        "cluster": st.just(True),
        "x-enum": st.lists(TEXTS, min_size=1, max_size=3, unique=True),
        "x-id": st.from_regex("[a-z]{1,6}", fullmatch=True),
        "x-owner": st.dictionaries(st.sampled_from(["team", "mail"]), TEXTS, max_size=2),
    },
)


@st.composite
def columns(draw: st.DrawFn, name: str) -> Column:
    kind = draw(st.sampled_from([*SIZES, "double", "bool", "date"]))
    stated = draw(STATED)
    if kind not in ("text", "json"):
        stated.pop("x-enum", None)
    return Column(name, {"data_type": kind, **draw(SIZES.get(kind, st.just({}))), **stated})


@st.composite
def tables(draw: st.DrawFn, name: str, parent: str | None) -> Table:
    names = draw(
        st.lists(st.from_regex("[a-z]{1,5}(__[a-z]{1,3})?", fullmatch=True), min_size=1, max_size=5, unique=True)
    )
    own = (
        {"parent": parent}
        if parent
        else {"write_disposition": draw(st.sampled_from(["append", "merge"])), "resource": name}
    )
    note = draw(st.fixed_dictionaries({}, optional={"description": TEXTS, "x-owner": TEXTS}))
    return Table(name, {each: draw(columns(each)) for each in names}, {**own, **note})


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    made = new_schema("shop")
    for name, parent in (("orders", None), ("orders__lines", "orders"), ("sales", None)):
        if name == "orders" or draw(st.booleans()):
            made = made.with_table(draw(tables(name, parent)))
    return made


@settings(max_examples=20)
@given(schemas())
def test_what_comes_back_lacks_only_what_the_document_names(schema: Schema):
    for name in READABLE:
        note(name)
        assert_nothing_else_is_lost(name, schema)


def assert_nothing_else_is_lost(name: str, schema: Schema):
    module = FORMATS[name]
    if holds_one_table(module):
        (first, *_) = data_tables(schema)
        schema = Schema(**{**_fields(schema), "tables": {**new_schema("shop").tables, first.name: first}})
    path = f"{only_root(schema) or 'shop'}{module.ENDINGS[0]}"
    text = module.write(schema, path)
    lost = find_losses(module, schema, text, path)
    permitted = lost_properties(name)
    assert [loss for loss in lost if (loss.item, _kind(loss.before)) not in permitted] == []
    # A second trip loses nothing more.
    again = module.read(text, path).schema
    assert find_losses(module, again, module.write(again, path), path) == ()


def _fields(schema: Schema) -> dict[str, object]:
    return {each: getattr(schema, each) for each in Schema.__dataclass_fields__}


def _kind(before: object) -> str | None:
    return before.get("data_type") if isinstance(before, dict) else None


@cache
def lost_properties(name: str) -> set[tuple[str, str | None]]:
    """Return what the document names as lost, with the data type where that counts."""
    module = FORMATS[name]
    found: set[tuple[str, str | None]] = set()
    for feature, cells in _rows().items():
        if cells[name] == "lost":
            own = [each.name for each in data_tables(FEATURES[feature])]
            schema = FEATURES[feature]
            if holds_one_table(module):
                kept = {key: each for key, each in schema.tables.items() if key not in own[:-1]}
                schema = Schema(**{**_fields(schema), "tables": kept})
            path = f"{own[-1]}{module.ENDINGS[0]}"
            losses = find_losses(module, schema, module.write(schema, path), path)
            found |= {(loss.item, _kind(loss.before)) for loss in losses}
    return found


def _rows() -> dict[str, dict[str, str]]:
    lines = [[cell.strip() for cell in line.strip("|\n").split(" | ")] for line in _table().splitlines()]
    (_, *names), _, *rows = lines
    return {row[0]: dict(zip(names, row[1:], strict=True)) for row in rows}


def _table() -> str:
    text = DOCUMENT.read_text()
    found = re.search(r"<!-- table -->\n\n(.*?)\n\n<!-- end of table -->", text, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_table_of_the_document_is_true(request: pytest.FixtureRequest):
    """Run with ``--snapshot-update`` to write it anew."""
    if request.config.getoption("update_snapshots"):
        DOCUMENT.write_text(DOCUMENT.read_text().replace(_table(), table().strip()))
    assert _table() == table().strip()


@pytest.mark.parametrize("name", list(formats()))
def test_each_feature_has_one_outcome(name: str):
    found = Counter(outcome(name, feature) for feature in FEATURES)
    assert found.keys() <= {"yes", "x-", "lost"}
    assert found["yes"] > 0
