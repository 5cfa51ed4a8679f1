"""``schemactl edit --fold``: the column gets a type that holds both, and the variant goes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemactl.cli.app import run
from schemactl.formats import dlt
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

IMPORT, EXPORT = (Path(f"schemas/{folder}/shop.schema.yaml") for folder in ("import", "export"))


def column(name: str, kind: str, **hints: Any) -> Column:
    return Column(name, {"data_type": kind, "nullable": True, **hints})


def table(name: str, *columns: Column, **properties: Any) -> Table:
    return Table(name, {each.name: each for each in columns}, {"x-normalizer": {"seen-data": True}, **properties})


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    orders = table(
        "orders",
        column("score", "bigint"),
        column("score__v_double", "double", variant=True),
        column("score__v_double__v_text", "text", variant=True),
        column("paid", "date"),
        column("paid__v_timestamp", "timestamp", variant=True),
        column("is_open", "bigint"),
        column("is_open__v_bool", "bool", variant=True),
        write_disposition="append",
        resource="orders",
    )
    items = table("orders__items", column("size", "bigint"), column("size__v_double", "double", variant=True))
    items = replace(items, properties={**items.properties, "parent": "orders"})
    made = new_schema("shop")
    EXPORT.parent.mkdir(parents=True)
    EXPORT.write_text(dlt.write(bump(replace(made, tables={**made.tables, "orders": orders, "orders__items": items}))))


def schema_in(path: Path) -> Schema:
    found: Schema = dlt.read(path.read_text(), str(path)).schema
    return found


def types(name: str) -> dict[str, Any]:
    return {key: each.properties["data_type"] for key, each in schema_in(EXPORT).tables[name].columns.items()}


def test_a_variant_in_a_nested_table_folds(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["edit", "shop", "--fold", "orders__items.size__v_double"]) == 0
    out = capsys.readouterr().out
    assert "orders__items.size__v_double: variant folded into `size`" in out
    assert "orders__items.size: type bigint -> double" in out
    size = schema_in(IMPORT).tables["orders__items"].columns["size"]
    assert size.properties["x-folded-from"] == "size__v_double"
    assert run(["sync", "shop"]) == 0
    assert types("orders__items") == {"size": "double"}
    assert run(["check"]) == 0


def test_all_foldable_variants_fold_and_others_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["edit", "shop", "--fold-all"]) == 0
    error = capsys.readouterr().err
    assert run(["sync", "shop"]) == 0
    assert types("orders__items") == {"size": "double"}
    assert types("orders") == {
        "score": "bigint",
        "score__v_double": "double",
        "score__v_double__v_text": "text",
        "paid": "timestamp",
        "is_open": "bigint",
        "is_open__v_bool": "bool",
    }
    assert "`orders.is_open__v_bool` is not folded" in error
    assert "--fold orders.is_open__v_bool" in error


def test_a_table_alone_can_fold() -> None:
    assert run(["edit", "shop", "--fold-all", "--table", "orders__items"]) == 0
    assert run(["sync", "shop"]) == 0
    assert types("orders__items") == {"size": "double"}
    assert types("orders")["paid"] == "date"


def test_variants_of_variants_fold_together_into_the_first_column() -> None:
    folds = ["--fold", "orders.score__v_double", "--fold", "orders.score__v_double__v_text"]
    assert run(["edit", "shop", *folds]) == 0
    assert run(["sync", "shop"]) == 0
    assert types("orders")["score"] == "text"
    assert "score__v_double" not in types("orders")
    stored = schema_in(EXPORT).tables["orders"].columns["score"].properties
    assert stored["x-folded-from"] == ["score__v_double", "score__v_double__v_text"]


def test_a_type_can_be_chosen_in_the_same_call() -> None:
    folds = ["--fold", "orders__items.size__v_double", "--column", "orders__items.size:decimal(38,4)"]
    assert run(["edit", "shop", *folds]) == 0
    assert run(["sync", "shop"]) == 0
    assert types("orders__items") == {"size": "decimal"}


@pytest.mark.parametrize(("options", "message", "hint"), [
    (["--fold", "orders.score"], "`orders.score` is not a variant column", "`score__v_double` of `score`"),
    (["--fold", "orders.score__v_dbl"], "no column `score__v_dbl`", "did you mean `score__v_double`?"),
    (["--fold", "order.score__v_double"], "no table `order`", "did you mean `orders`?"),
    (["--fold", "orders.score__v_double"], "has a variant", "`--fold orders.score__v_double__v_text`"),
    (["--fold-all", "--table", "order"], "there is no table `order`", "did you mean `orders`?"),
    (["--fold", "orders.paid__v_timestamp", "--drop", "orders.paid__v_timestamp"], "is folded and changed",
     "fold it, or change it"),
])  # fmt: skip
def test_wrong_folds_are_refused(
    options: list[str], message: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["edit", "shop", *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert hint in error
    assert not IMPORT.exists()
