"""What a changed schema breaks in the data: questions, counts, examples, places."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from loading_shop import LOCAL

from schemactl.engine.input import shown_path
from schemactl.errors import InputError, Location
from schemactl.flows.survival import DataRequest, Question, count_survivors
from schemactl.inference.evidence import Position, observe
from schemactl.inference.resolve import resolve
from schemactl.inference.saved_evidence import write_evidence
from schemactl.review.report import Counted
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

Columns = Mapping[str, Mapping[str, Any]]


def schema(root: Columns, nested: Mapping[str, Columns] | None = None) -> Schema:
    """A schema of the table ``orders`` and tables nested in it."""
    tables = [_table("orders", root, {"resource": "orders"})]
    tables += [_table(f"orders__{name}", columns, {"parent": "orders"}) for name, columns in (nested or {}).items()]
    made = new_schema("shop")
    for table in tables:
        made = made.with_table(table)
    return made


def _table(name: str, columns: Columns, properties: Mapping[str, Any]) -> Table:
    return Table(name, {key: Column(key, stated) for key, stated in columns.items()}, properties)


def learnt(*documents: Any) -> Schema:
    """The schema that inference makes of documents."""
    evidence = observe((Position("orders.jsonl", number), each) for number, each in enumerate(documents, start=1))
    return resolve(evidence, new_schema("shop"), "orders").schema


def retyped(before: Schema, table: str, column: str, **properties: Any) -> Schema:
    columns = {**before.tables[table].columns, column: Column(column, properties)}
    return before.with_table(Table(table, columns, before.tables[table].properties))


def write(file: Path, documents: Iterable[Any]) -> Path:
    file.write_text("".join(f"{json.dumps(document)}\n" for document in documents), encoding="utf-8")
    return file


def save(file: Path, documents: Iterable[Any]) -> Path:
    """Write the evidence of documents in ``orders.jsonl``."""
    pairs = ((Position("orders.jsonl", number), each) for number, each in enumerate(documents, start=1))
    file.write_text(write_evidence(observe(pairs)), encoding="utf-8")
    return file


def ask(base: Schema, head: Schema, question: Question, *sources: Path, table: str | None = "orders") -> Counted | None:
    request = DataRequest(tuple(map(str, sources)), table=table, engine=LOCAL)
    return count_survivors(base, head, [question], request).get(question)


@pytest.fixture
def saved(tmp_path: Path) -> Callable[..., Path]:
    return lambda *documents: save(tmp_path / "orders.evidence.json", documents)


# saved evidence alone: no engine is opened


def test_texts_that_are_no_numbers_are_counted_with_the_first_place(saved: Callable[..., Path]) -> None:
    documents = [{"v": "1"}, {"v": "many"}, {"v": "12"}, {"v": None}, {"v": "few"}]
    base, head = schema({"v": {"data_type": "text"}}), schema({"v": {"data_type": "bigint"}})

    counted = ask(base, head, Question("orders", "v", "type"), saved(*documents))

    assert counted is not None
    assert (counted.values, counted.bad, counted.first) == (4, 2, Location("orders.jsonl", 2))
    assert "many" in counted.examples


def test_fractions_do_not_become_integers(saved: Callable[..., Path]) -> None:
    base, head = schema({"v": {"data_type": "double"}}), schema({"v": {"data_type": "bigint"}})
    counted = ask(base, head, Question("orders", "v", "type"), saved({"v": 1.0}, {"v": 2.5}, {"v": 3}))
    assert counted == Counted(3, 1, (2.5,), Location("orders.jsonl", 2))


@pytest.mark.parametrize(("bits", "expected"), [(32, Counted(2, 0)), (16, None)])
def test_what_evidence_cannot_report_is_left_out(
    saved: Callable[..., Path], bits: int, expected: Counted | None
) -> None:
    base = schema({"v": {"data_type": "bigint"}})
    head = schema({"v": {"data_type": "bigint", "precision": bits}})
    assert ask(base, head, Question("orders", "v", "type"), saved({"v": 1}, {"v": 70000})) == expected


def test_columns_that_swap_their_names_are_counted_by_the_names_of_the_data(saved: Callable[..., Path]) -> None:
    base = schema({"code": {"data_type": "text"}, "label": {"data_type": "text"}})
    head = schema(
        {
            "code": {"data_type": "text", "x-renamed-from": "label"},
            "label": {"data_type": "bigint", "x-renamed-from": "code"},
        }
    )
    data = saved({"code": "1", "label": "one"}, {"code": "2", "label": "two"})
    assert ask(base, head, Question("orders", "label", "type"), data) == Counted(2, 0)


def test_values_in_variants_are_values_of_their_column(saved: Callable[..., Path]) -> None:
    documents = [{"v": 1}, {"v": "x"}, {"v": True}]
    base = learnt(*documents)
    assert len([name for name in base.tables["orders"].columns if name.startswith("v__v_")]) == 2
    head = schema({"v": {"data_type": "bigint"}})

    counted = ask(base, head, Question("orders", "v", "type"), saved(*documents))

    assert counted is not None
    assert (counted.values, counted.bad) == (3, 2)


def test_elements_of_lists_and_nested_tables_are_found(saved: Callable[..., Path]) -> None:
    documents = [{"tags": ["a", "1"], "items": [{"Qty": "3"}, {"Qty": "x"}]}, {"items": [{"Qty": "y"}, {}]}]
    base = learnt(*documents)
    assert {"orders__tags", "orders__items"} < base.tables.keys()
    head = retyped(base, "orders__tags", "value", data_type="bigint")
    head = retyped(head, "orders__items", "qty", data_type="bigint")
    source = saved(*documents)

    tags = ask(base, head, Question("orders__tags", "value", "type"), source)
    items = ask(base, head, Question("orders__items", "qty", "type"), source)
    nulls = ask(base, head, Question("orders__items", "qty", "null"), source)

    assert tags == Counted(2, 1, ("a",), Location("orders.jsonl", 1))
    assert items is not None
    assert (items.values, items.bad) == (3, 2)
    assert nulls is not None
    assert (nulls.values, nulls.bad) == (4, 1)


def test_objects_in_a_json_column_do_not_become_numbers(saved: Callable[..., Path]) -> None:
    base, head = schema({"v": {"data_type": "json"}}), schema({"v": {"data_type": "bigint"}})
    counted = ask(base, head, Question("orders", "v", "type"), saved({"v": {"a": 1}}, {"v": [1]}, {"v": 5}))
    assert counted is not None
    assert (counted.values, counted.bad, counted.first) == (3, 2, Location("orders.jsonl", 1))


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        ([{"v": 1}, {"v": 2}], Counted(2, 0)),
        ([{"v": 1}, {"v": None}, {"v": None}], Counted(3, 2, (), Location("orders.jsonl", 2))),
        ([{"w": 1}, {"w": 2}], Counted(2, 2, (), Location("orders.jsonl", 1))),
        ([{"v": 1}, {}, {"v": None}], Counted(3, 2)),
    ],
    ids=["none", "nulls", "never there", "place not known"],
)
def test_rows_without_a_value_are_counted(saved: Callable[..., Path], documents: list[Any], expected: Counted) -> None:
    base = schema({"v": {"data_type": "bigint"}, "w": {"data_type": "bigint"}})
    head = schema({"v": {"data_type": "bigint", "nullable": False}, "w": {"data_type": "bigint"}})
    assert ask(base, head, Question("orders", "v", "null"), saved(*documents)) == expected


def test_rows_where_two_keys_become_one_column_are_left_out(saved: Callable[..., Path]) -> None:
    base = schema({"v": {"data_type": "bigint"}})
    question = Question("orders", "v", "null")
    assert ask(base, base, question, saved({"v": 1, "V": 2}, {"x": 1})) is None


def test_a_renamed_column_is_found_by_its_old_name(saved: Callable[..., Path]) -> None:
    base = schema({"v": {"data_type": "text"}})
    head = schema({"note": {"data_type": "bigint", "x-renamed-from": "v"}})
    counted = ask(base, head, Question("orders", "note", "type"), saved({"v": "1"}, {"v": "x"}))
    assert counted is not None
    assert (counted.values, counted.bad) == (2, 1)


def test_a_column_that_the_data_never_holds_has_no_values(saved: Callable[..., Path]) -> None:
    base, head = schema({"v": {"data_type": "text"}}), schema({"v": {"data_type": "bigint"}})
    assert ask(base, head, Question("orders", "v", "type"), saved({"w": 1})) == Counted(0, 0)


def test_questions_about_other_data_are_left_out(saved: Callable[..., Path]) -> None:
    base = schema({"v": {"data_type": "text"}}).with_table(_table("users", {"v": {"data_type": "text"}}, {}))
    head = schema({"v": {"data_type": "bigint"}}).with_table(_table("users", {"v": {"data_type": "bigint"}}, {}))
    source = saved({"v": "x"})
    assert ask(base, head, Question("users", "v", "type"), source) is None
    assert ask(base, head, Question("orders", "_dlt_id", "type"), source) is None
    assert ask(base, head, Question("orders", "_dlt_id", "null"), source) is None


def test_data_that_is_not_there_is_an_error_whatever_has_changed(tmp_path: Path) -> None:
    base = schema({"v": {"data_type": "text"}})
    with pytest.raises(InputError, match=r"there is no `.*missing\.jsonl`"):
        count_survivors(base, base, [], DataRequest((str(tmp_path / "missing.jsonl"),)))


def test_a_table_that_neither_schema_has_is_reported(saved: Callable[..., Path]) -> None:
    base = schema({"v": {"data_type": "text"}})
    with pytest.raises(InputError, match="has no table `order`") as error:
        ask(base, base, Question("orders", "v", "type"), saved({"v": "x"}), table="order")
    assert error.value.hint == "did you mean `orders`?"


def test_a_source_that_is_not_there_is_reported() -> None:
    base = schema({"v": {"data_type": "text"}})
    with pytest.raises(InputError, match=r"there is no `nowhere.jsonl`"):
        ask(base, base, Question("orders", "v", "type"), Path("nowhere.jsonl"))


def test_without_questions_nothing_is_read(tmp_path: Path) -> None:
    base = schema({"v": {"data_type": "text"}})
    (tmp_path / "orders.jsonl").write_text("no JSON")
    assert count_survivors(base, base, [], DataRequest((str(tmp_path / "orders.jsonl"),))) == {}


# data


def test_all_questions_about_files_are_answered_in_one_go(tmp_path: Path) -> None:
    documents = [
        {"Note": "short", "amount": 1.5, "n": 1, "day": "2024-01-01", "l": [{"x": 1}, {"x": 300}], "at": None},
        {"Note": "much too long", "amount": 2.555, "n": 70000, "l": [{"x": 2}, {}]},
        {"Note": 123456789, "amount": 3, "day": "2024-01-01T10:00:00Z", "at": 1},
    ]
    file = write(tmp_path / "orders.jsonl", documents)
    shown = shown_path(file.as_uri())
    base = learnt(*documents)
    head = retyped(base, "orders", "note", data_type="text", precision=6)
    head = retyped(head, "orders", "amount", data_type="decimal", precision=10, scale=2)
    head = retyped(head, "orders", "n", data_type="bigint", precision=16, nullable=False)
    head = retyped(head, "orders", "day", data_type="date")
    head = retyped(head, "orders__l", "x", data_type="bigint", precision=8, nullable=False)
    expected = {
        Question("orders", "note", "type"): Counted(3, 2, ("much too long", 123456789), Location(shown, 2)),
        Question("orders", "amount", "type"): Counted(3, 1, (2.555,), Location(shown, 2)),
        Question("orders", "n", "type"): Counted(2, 1, (70000,), Location(shown, 2)),
        Question("orders", "n", "null"): Counted(3, 1, (), Location(shown, 3)),
        Question("orders", "day", "type"): Counted(2, 1, ("2024-01-01T10:00:00Z",), Location(shown, 3)),
        Question("orders", "at", "null"): Counted(3, 2, (), Location(shown, 1)),
        Question("orders__l", "x", "type"): Counted(3, 1, (300,), Location(shown, 1)),
        Question("orders__l", "x", "null"): Counted(4, 1, (), Location(shown, 2)),
    }
    request = DataRequest((str(file),), engine=LOCAL)

    assert dict(count_survivors(base, head, list(expected), request)) == expected


def test_saved_evidence_adds_to_data(tmp_path: Path) -> None:
    new = write(tmp_path / "new.jsonl", [{"v": 1}, {"v": 70000}])
    base, head = schema({"v": {"data_type": "bigint"}}), schema({"v": {"data_type": "bigint", "precision": 16}})
    question = Question("orders", "v", "type")

    known = save(tmp_path / "known.evidence.json", [{"v": 5}, {"v": 6}])
    counted = ask(base, head, question, new, known)
    assert counted is not None
    assert (counted.values, counted.bad, counted.examples) == (4, 1, (70000,))

    unknown = save(tmp_path / "unknown.evidence.json", [{"v": 5}, {"v": 80000}])
    assert ask(base, head, question, new, unknown) is None


def test_a_record_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "orders.jsonl"
    file.write_text('{"v": 1}\n{"v": \n', encoding="utf-8")
    base = schema({"v": {"data_type": "bigint"}})
    with pytest.raises(InputError, match="1 record cannot be read"):
        ask(base, base, Question("orders", "v", "type"), file)


def test_columns_whose_source_states_their_types_are_left_out(tmp_path: Path) -> None:
    source = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"n": [1], "v": ["x"]}), source)
    base = schema({"n": {"data_type": "bigint"}, "v": {"data_type": "text"}, "w": {"data_type": "text"}})
    head = schema({"n": {"data_type": "bigint"}, "v": {"data_type": "bigint"}, "w": {"data_type": "bigint"}})
    assert ask(base, head, Question("orders", "v", "type"), source) is None
    assert ask(base, head, Question("orders", "n", "null"), source) is None
    assert ask(base, head, Question("orders", "w", "type"), source) == Counted(0, 0)
