"""Wide tables, tables of one row and columns of one value are reported, each kind in one line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from loading_shop import LOCAL

from schemactl.cli.app import run
from schemactl.flows.infer import infer
from schemactl.flows.request import InferRequest
from schemactl.render.console import Look
from schemactl.render.infer import print_inference

pytestmark = pytest.mark.usefixtures("work")

ROWS: list[dict[str, Any]] = [{"id": number, "name": f"name {number}"} for number in range(40)]


def hints(*sources: str, **options: Any) -> tuple[str, ...]:
    report = infer(InferRequest(sources, "shop", "orders", Path("schemas"), engine=LOCAL, **options))
    text = print_inference(report, Look())
    assert all(f"hint: {hint}" in text.replace("\n", " ") for hint in report.hints)
    assert report.to_dict()["hints"] == report.hints
    return report.hints


def write(name: str, documents: Sequence[Any]) -> str:
    Path(name).write_text("\n".join(map(json.dumps, documents)))
    return name


def test_plain_data_has_no_hint() -> None:
    assert hints(write("a.jsonl", ROWS)) == ()


def test_a_table_of_more_than_300_columns_is_reported_when_it_grows() -> None:
    keys = [f"k{number}" for number in range(297)]  # and `id` and two columns of dlt
    write("a.jsonl", [{"id": 1, **dict.fromkeys(keys, 1)}, {"id": 2, **dict.fromkeys(keys, 2)}])
    assert hints("a.jsonl") == ()
    write("b.jsonl", [{"id": 3, "one": 1, "two": {"x": 2}}])
    hint = (
        "more than 300 columns: `orders` (302); if keys of the data are values, such as ids or dates, "
        "`--column NAME:json` keeps their object in one column"
    )
    assert hints("b.jsonl") == (hint,)
    assert hints("b.jsonl") == ()


def test_tables_of_one_row_are_reported_once() -> None:
    document = {"id": 1, "tags": ["a"], "lines": [{"n": 1}, {"n": 2}], "empty": []}
    assert hints(write("a.jsonl", [document])) == ("one row only: `orders`, `orders__tags`",)
    write("b.jsonl", [{"id": 2, "notes": [{"x": 1}]}, {"id": 3}])
    assert hints("b.jsonl") == ("one row only: `orders__notes`",)
    assert hints("a.jsonl", "b.jsonl") == ()


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "memory of parts"])
def test_columns_of_one_value_are_reported(form: str) -> None:
    rows: list[dict[str, Any]] = [
        {**row, "country": "DE", "is_paid": True, "rate": 0.5, "size": 3, "is_open": row["id"] == 7} for row in ROWS
    ]
    match form:
        case "jsonl":
            sources = [write("a.jsonl", rows)]
        case "csv":
            lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
            sources = ["a.csv"]
            Path("a.csv").write_text("\n".join(lines) + "\n")
        case "parquet":
            sources = ["a.parquet"]
            pq.write_table(pa.Table.from_pylist(rows), "a.parquet", row_group_size=7)
        case _:
            sources = [write(f"{number}.jsonl", rows[number : number + 1]) for number in range(len(rows))]
    names = ", ".join(f"`orders.{name}`" for name in ("country", "is_paid", "rate", "size"))
    assert hints(*sources) == (f"the same value in each row: {names}",)


@pytest.mark.parametrize(
    "values",
    [
        ["a", "a", "b"],
        ["a", "a", None],
        ["a", "a"],
        ["x" * 90 + "a", "x" * 90 + "a", "x" * 90 + "ab"],
        [True, True, False],
        [1, 1, 2],
        [2**60, 2**60 + 1, 2**60 + 2],
        [1, 1, 1.0],
        ["2024-01-01", "2024-01-01", "2024-01-02"],
        [None, None, None],
        [{}, {}, {}],
        [[], [], []],
    ],
)
def test_other_columns_are_not(values: list[Any]) -> None:
    write("a.jsonl", [{"id": number, "note": value} for number, value in enumerate(values)])
    assert not any("same value" in hint for hint in hints("a.jsonl"))


def test_a_column_that_some_rows_lack_is_not() -> None:
    assert hints(write("a.jsonl", [*ROWS, {"id": 99, "name": "x", "flag": 1}] * 3)) == ()


def test_many_names_are_cut_to_one_line() -> None:
    constants = {f"k{number}": "x" for number in range(9)}
    names = ", ".join(f"`orders.k{number}`" for number in range(5))
    assert hints(write("a.jsonl", [{**row, **constants} for row in ROWS])) == (
        f"the same value in each row: {names} and 4 more",
    )


def test_saved_evidence_knows_columns_of_one_value() -> None:
    write("a.jsonl", [{**row, "country": "DE"} for row in ROWS])
    file = Path("a.evidence.json")
    expected = hints("a.jsonl", evidence_file=file, is_check=False)
    stored = json.loads(file.read_text())
    for directory in Path("schemas").iterdir():
        for schema in directory.iterdir():
            schema.unlink()
    assert hints(str(file)) == expected == ("the same value in each row: `orders.country`",)
    for path in stored["paths"]:
        for of_class in path["classes"].values():
            del of_class["varies"]  # as earlier versions wrote it
    file.write_text(json.dumps(stored))
    for directory in Path("schemas").iterdir():
        for schema in directory.iterdir():
            schema.unlink()
    assert hints(str(file)) == ()


def test_names_that_lose_letters_of_their_keys_are_reported_once() -> None:
    rows = [
        {
            "Gebühr": n,
            "Adresse": {"Straße": f"s{n}"},
            "Größen": [{"Übung": n}, {"Übung": -n}],
            "日本": n * 7,
            "ok": n / 3,
        }
        for n in range(3)
    ]
    names = (
        "`Gebühr` is `orders.geb_hr`, `日本` is `orders.x`, `Adresse.Straße` is `orders.adresse__stra_e`, "
        "`Größen` is `orders__gr_en`, `Übung` is `orders__gr_en._bung`"
    )
    (hint,) = hints(write("a.jsonl", rows))
    assert hint == (
        f"the naming convention changes names: {names}; `schemactl edit shop --rename OLD=NEW` gives another name, "
        "and later data follows it"
    )
    assert hints("a.jsonl") == ()


@pytest.mark.parametrize(
    ("key", "name"), [("Price ($)", "pricex"), ("aktiv?", "aktivx"), ("a_", "ax"), ("id+", "idx"), ("x", None)]
)
def test_a_name_that_gets_an_x_at_its_end_is_reported(key: str, name: str | None) -> None:
    reported = hints(write("a.jsonl", [{key: n} for n in range(3)]))
    assert [f"`{key}` is `orders.{name}`" in hint for hint in reported] == ([True] if name else [])


def test_later_data_follows_the_name_that_the_hint_proposes() -> None:
    write("a.jsonl", [{"Gebühr": n} for n in range(3)])
    assert hints("a.jsonl")
    assert run(["edit", "shop", "--rename", "orders.geb_hr=gebuehr", "--quiet"]) == 0
    report = infer(InferRequest(("a.jsonl",), "shop", "orders", Path("schemas"), engine=LOCAL))
    assert "gebuehr" in report.schema.tables["orders"].columns
    assert "geb_hr" not in report.schema.tables["orders"].columns


def test_a_naming_convention_that_keeps_letters_has_no_hint() -> None:
    assert hints(write("a.jsonl", [{"Gebühr": n} for n in range(3)]), naming="duck_case") == ()
