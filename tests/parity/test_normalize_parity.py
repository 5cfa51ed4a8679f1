"""``schemactl normalize`` loads the tables and rows that dlt loads: columns, types, values, and keys byte for byte.

Each load is a Spark job for every table, so many cases share one: as columns of the same documents, or as documents.
"""

from __future__ import annotations

import csv
import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from dlt.common.schema import Schema as DltSchema
from dlt.pipeline.exceptions import PipelineStepFailed
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from loaded_tables import ByDlt, BySchemactl, assert_same, assert_same_rows
from test_inference_parity import (
    PLAIN,
    by_dlt,
    has_collision,
    is_of_wei,
    json_of,
    lines_of,
)
from test_inference_parity import documents_of as documents_of_keys
from test_plan_parity import VARIANTS, WORKED, configured, edited, table, with_tables

from schemactl.errors import DestinationError

MEANT_DIFFERENCES = {
    "Keys of root tables": "dlt draws them, we derive them",
    "Several rows with one key": "see test_duplicate_rows_parity.py",
    "Equal rows of a history": "see test_duplicate_rows_parity.py",
    "NUL in texts": "see test_odd_values_parity.py",
    "Negative zero": "see test_odd_values_parity.py",
    "Nulls and contracts": "see test_normalize_contract_parity.py",
    "Values that overwrite one another": "dlt loads the last one, we load nothing",
    "A key of root rows with two names": "dlt changes the name in mid-load, we have one in all rows",
    "Values that no column can hold": "dlt's load ends in the destination, ours before it",
    "The link to the import file": "only our export file has it",
    "Large decimals in DuckDB": "dlt writes `1E+16`, which DuckDB reads as a double",
    "Numbers past all doubles": "dlt reads no such record either: see tests/kernel/test_parsing.py",
    "NaN and infinities in DuckDB": "see test_odd_values_parity.py",
}
"""See docs/differences-rows.md. The documents here avoid these."""


def test_differences_are_documented():
    text = (Path(__file__).parents[2] / "docs" / "differences-rows.md").read_text(encoding="utf-8")
    assert re.findall("^## (.*)", text, re.MULTILINE) == [*MEANT_DIFFERENCES, "See also"]


def both(engine, folder, found, stored=PLAIN, name="data"):
    """Return what dlt and schemactl load of the same documents."""
    theirs = ByDlt(folder / "dlt", stored, name)
    theirs.load(found)
    ours = BySchemactl(engine, folder / "ours", stored, name)
    ours.load(found)
    return ours.loaded(), theirs.loaded()


def numbered(found):
    """Make the documents differ, so that rows can be distinguished."""
    return [{"nr": number, **each} for number, each in enumerate(found, 1)]


def without_great_integers(found):
    """Put numbers that a `bigint` column holds for those that none does: dlt's loads fail on them."""

    def integer(text):
        return max(-(2**63), min(int(text), 2**63 - 1))

    def real(text):
        number = float(text)
        # dlt's SQL has no sign of zero (test_odd_values_parity.py)
        return number + 0.0 if abs(number) < 2**63 else 0.5

    return json.loads(json.dumps(found), parse_int=integer, parse_float=real)


def without_special_numbers(found):
    """Put words for texts that become NaN: DuckDB refuses what dlt writes (test_odd_values_parity.py)."""
    return json.loads(json.dumps(found).replace('"NaN"', '"words"'))


# values and shapes

OF_KINDS = ["words", "2024-01-02T03:04:05+02:00", 7, 1.5, True]
VALUES = [
    *("abc", "12", "1.5", "0x1f", "true", "YQ==", '{"a": [1.0]}'),
    *("2024-01-02T03:04:05.123456+02:00", "2024-01-02", "03:04:05"),
    *(0, 70_000, -(2**63), 0.1, 1e16, True, {"k": "x"}),
]


def pairs():
    """Return two documents: in each column of the second a value of another kind than in the first."""
    first, second = {}, {}
    for (kind, of_kind), (number, value) in itertools.product(enumerate(OF_KINDS), enumerate(VALUES)):
        name = f"p{kind}_{number}"
        if len(by_dlt(PLAIN, "data", [{name: of_kind}, {name: value}])[1]) == 2:
            first[name], second[name] = of_kind, value
    assert len(first) > 60
    return [first, second]


SHAPES = [
    {"text": "Żółw 🚀 \n\t'\"\\ \u2028", "empty": ""},
    {"n": None, "o": {"n": None}, "l": [None, {"x": None}, {"x": 1}]},
    {"o": {"n": 1}, "l": [{"x": "y", "m": [[1], {"x": [2]}]}]},
    {"l": []},
    {"l": {"x": 1}, "o": [1, {"n": 2}]},
    {"kids": [{"_dlt_id": "kid", "sub": [1]}, {"_dlt_id": "kit", "sub": ["x", 2.0]}]},
    {"_dlt_id": "own", "tags": ["x", 2]},
    {"at": "2024-01-02T03:04:05Z"},
    {"at": "2024-06-30T23:59:59.999999+14:00"},
    {"at": "0001-01-01T00:00:00"},
    {"at": 17},
    {"at": "17"},
    {"at": "2024-01-02"},
    {"at": "never"},
    {"great": 2**63 - 1, "double": 1e300},
    {"great": -(2**63), "double": 5e-324},
    {"double": 1},
    {"double": 2**53 + 1},
    *VARIANTS,
]


def test_values_and_shapes(local_engine, tmp_path):
    # A destination refuses rows that bring their keys beside rows that do not: they lack the link columns.
    worked = [each for each in WORKED if "_dlt_id" not in str(each)]
    found = numbered([*worked, *SHAPES, *pairs()])
    assert_same(*both(local_engine, tmp_path, found, name="My Data"))


STATED = {
    **{name: {"data_type": name} for name in ("text", "bigint", "double", "bool", "binary", "json", "decimal", "wei")},
    **{name: {"data_type": name} for name in ("timestamp", "date", "time")},
    "money": {"data_type": "decimal", "precision": 30, "scale": 2},
    "int": {"data_type": "bigint", "precision": 32},
    "naive": {"data_type": "timestamp", "timezone": False},
    "millis": {"data_type": "timestamp", "timezone": False, "precision": 3},
    "aware": {"data_type": "timestamp", "timezone": True},
    "needed": {"data_type": "text", "nullable": False},
}


def of_stated_types():
    """Return a schema and a document: values in columns of the types that dlt makes of them, and a variant for each."""
    columns, document = {}, {}
    for (name, stated), (number, value) in itertools.product(STATED.items(), enumerate(VALUES)):
        column = f"{name}_{number}"
        too_long = name == "int" and isinstance(value, int | float) and abs(value) > 2**31
        by_double = name == "decimal" and value == 1e16
        if too_long or by_double or isinstance(value, dict):
            continue
        schema, taken = by_dlt(with_tables(data=table(columns={column: stated})), "data", [{column: value}])
        has_variant = any("__v_" in each for each in schema["tables"]["data"]["columns"])
        if taken and (not has_variant or value == "abc"):
            columns[column], document[column] = dict(stated), value
    assert len(columns) > 100
    return columns, document


def test_types_that_the_schema_states(local_engine, tmp_path):
    columns, document = of_stated_types()
    columns |= {"kept": {"data_type": "json"}, "o__kept": {"data_type": "json"}, "rest": {"nullable": True}}
    stored = with_tables(data=table(columns=columns, filters={"excludes": ["re:^secret", "re:^l__own$"]}))
    stored["normalizers"]["json"]["config"] = {
        "max_nesting": 2,
        "root_key_propagation": True,
        "propagation": {"root": {"nr": "root_nr", "_dlt_load_id": "load"}},
    }
    found = [
        document,
        {"kept": {"b": [1.0, {"a": None}], "a": "é\u2028"}, "o": {"kept": [1, "x"], "x": 1}, "secret": {"a": [1]}},
        {"kept": [], "o": {"kept": {}}, "l": [{"own": 1, "m": [{"n": [1, {"z": 1.5}], "p": {"q": True}}]}, [1, [2]]]},
        {"l": [{"own": 2, "x": {"y": {"a": "b", "z": 1}}}, 5], "rest": 1},
    ]
    needed = {name: "given" for name in document if name.startswith("needed")}
    found = numbered([{**needed, **each} for each in found])
    assert_same(*both(local_engine, tmp_path, found, DltSchema.from_dict(stored).to_dict()))


@pytest.mark.parametrize("nesting", [0, 1])
def test_nesting(local_engine, tmp_path, nesting):
    found = [
        {"a": {"b": {"c": {"d": 1}}}, "l": [{"m": [{"n": [1]}]}], "ll": [[1], {"k": {"x": 1}}]},
        {"a": 5, "l": "x"},
        {"a": [], "l": {"m": 1}, "ll": [2.0, None]},
    ]
    assert_same(*both(local_engine, tmp_path, numbered(found), configured(max_nesting=nesting)))


UNSORTED = {"z": 1.0, "é": [1e5, {"b": 2.50, "a": 2**64 - 1}], "a": "x"}


def test_json_among_other_kinds_of_values(local_engine, tmp_path):
    """Kept as JSON by a hint, or past the nesting, beside texts and numbers: keys stay in the data's order."""
    hinted = table(columns={"payload": {"name": "payload", "data_type": "json"}})
    stored = edited(lambda stored: stored["normalizers"]["json"].update(config={"max_nesting": 1}))
    stored["tables"]["data"] = with_tables(data=hinted)["tables"]["data"]
    payloads = [UNSORTED, [1, UNSORTED, "x"], "x", json.dumps(UNSORTED), 1.5, True, "", [], {}]
    elements = [1, {"b": UNSORTED, "m": [UNSORTED, 3]}, json.dumps(UNSORTED), [UNSORTED, [UNSORTED]], None, {"b": "x"}]
    objects = [{"k": UNSORTED}, {"k": json.dumps(UNSORTED)}, [UNSORTED], 5, {"k'\"`${x}": {"b": 1, "a": 2}, "k": 5}]
    found = [*({"payload": each} for each in payloads), {"l": elements}, *({"o": each} for each in objects)]
    assert_same(*both(local_engine, tmp_path, numbered(found), stored))


@pytest.mark.parametrize("naming", ["sql_ci_v1", "direct", "duck_case"])
def test_naming_conventions(local_engine, tmp_path, naming):
    stored = edited(lambda stored: stored["normalizers"].update(names=naming))
    found = [
        {"Żółw": 1, "a b": {"C-d": 2}, "1st": 3, "userName": {"ID": "x"}, "x__y": [1], "Some Items": [{"Amount": 1}]},
        {"userName": {"ID": 5}, "Some Items": [{"Amount": "x", "In": [[True]]}, "plain"]},
    ]
    assert_same(*both(local_engine, tmp_path, numbered(found), stored, "My Data"))


# files


JSON_DOCUMENTS = (
    "event.event.many_load_2.json",
    "event.event.user_load_1.json",
    "github.events.load_page_1_duck.json",
    "rasa_user_event.json",
    "simple_row.json",
    "weird_rows.json",
)
CSV_DOCUMENTS = ("mlb_teams_2012.csv",)
"""Not `freshman_lbs.csv`: two of its columns have one name, of which Python's reader keeps the last only."""
FIXTURES = (
    *("github_events.jsonl", "orders.jsonl", "hostile/late_column.jsonl"),
    *("hostile/deep_objects.jsonl", "hostile/no_final_newline.jsonl", "hostile/blank_lines.jsonl"),
)


def test_documents_of_dlt_and_fixtures(local_engine, tmp_path, conformance, fixtures):
    """All of them into one table, which so becomes as wide and mixed as tables get."""
    files, found = [], []
    sources = [conformance("dlt/documents") / name for name in (*JSON_DOCUMENTS, *CSV_DOCUMENTS)]
    sources += [fixtures / name for name in ("customers.csv", "products.json", *FIXTURES)]
    for number, source in enumerate(sources):
        rows = documents_of(source)
        file = tmp_path / f"{number:02}.{source.name}"
        if source.suffix == ".jsonl":
            # dlt inserts each row with all thousand columns of the table: a minute for the whole files.
            rows = without_great_integers([*rows[:40], *rows[40:][-40:]])
            file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        else:
            file.write_bytes(source.read_bytes())
        files.append(file)
        found += rows
    theirs = ByDlt(tmp_path / "dlt", table="docs")
    theirs.load(found)
    ours = BySchemactl(local_engine, tmp_path / "ours", table="docs")
    report = ours.load_files(files)
    assert (report.documents, report.roots[0].loaded) == (len(found), len(found))
    assert_same(ours.loaded(), theirs.loaded())


def documents_of(source):
    if source.suffix == ".csv":
        with source.open(encoding="utf-8") as file:
            rows = csv.DictReader(file, skipinitialspace=True)
            # what is empty is null to us; Python's reader cannot say
            return [{name: value or None for name, value in row.items()} for row in rows]
    return json_of(source) if source.suffix == ".json" else lines_of(source)


# made-up documents


KEYS = st.sampled_from(["a", "b", "items", "value", "list", "A", "aB", "a_b", "x-y", "ż"])
"""None of dlt's own: a destination refuses rows that bring keys beside others. None too long for dlt's files. No blank
one: dlt makes rows without load id of the lists below it, which DuckDB refuses."""


def clear_of_differences(found):
    """Return those of which dlt loses nothing and refuses none, without integers that no column holds."""
    clear = [each for each in found if not has_collision(PLAIN, "data", [each])]
    return by_dlt(PLAIN, "data", numbered(without_special_numbers(without_great_integers(clear))))


@settings(max_examples=2, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(st.lists(documents_of_keys(KEYS), min_size=8, max_size=8).map(lambda parts: list(itertools.chain(*parts))))
def test_made_up_documents(local_engine, tmp_path_factory, found):
    schema, taken = clear_of_differences(found)
    assume(len(taken) > 3 and not is_of_wei(schema))
    assert_same(*both(local_engine, tmp_path_factory.mktemp("made_up"), taken))


# further loads over what dlt has loaded


def item(number, *lines, **more):
    return {"id": number, "lines": [{"n": n, "tags": [f"t{n}", "u"]} for n in lines], **more}


FIRST = [item(1, 1, 2, day="a"), item(2, 3, day="a"), item(3, day="b", price=1.5)]
SECOND = [item(2, 4, 5, day="a", new={"x": 1}), item(3, 6, 7, day="b", price="high"), item(4, day="c"), item(5, 8)]


def merged(strategy, **more):
    return {"write_disposition": {"disposition": "merge", "strategy": strategy}, **more}


DISPOSITIONS = {
    "append": {"write_disposition": "append"},
    "replace": {"write_disposition": "replace"},
    "delete_insert": merged("delete-insert", primary_key="id"),
    "upsert": merged("upsert", primary_key="id"),
    "insert_only": merged("insert-only", primary_key="id"),
    "scd2": merged("scd2"),
}


def test_loads_go_on_where_dlt_has_ended(local_engine, tmp_path):
    """Each disposition in a table of its name."""
    theirs = ByDlt(tmp_path / "dlt")
    theirs.load_tables({name: (FIRST, hints) for name, hints in DISPOSITIONS.items()})
    ours = BySchemactl(local_engine, tmp_path / "ours", theirs.stored, database=theirs.path)
    theirs.load_tables({name: (SECOND, hints) for name, hints in DISPOSITIONS.items()})
    ours.load_tables(dict.fromkeys(DISPOSITIONS, SECOND))
    found, expected = (in_order_of_time(each.loaded()) for each in (ours, theirs))
    assert found.columns == expected.columns
    assert found.schema["tables"] == expected.schema["tables"]
    assert_same_rows(found, expected)


VALIDITY = ("_dlt_valid_from", "_dlt_valid_to")


def in_order_of_time(loaded):
    """Return times of validity as what they are among each other: loads are made at different times."""
    rows = [row for found in loaded.rows.values() for row in found]
    times = sorted({row[name] for row in rows for name in VALIDITY if name in row})
    placed = {time: place for place, time in enumerate(times)}
    renamed = {
        name: [{key: placed[value] if key in VALIDITY else value for key, value in row.items()} for row in found]
        for name, found in loaded.rows.items()
    }
    return replace(loaded, rows=renamed)


def test_root_tables_in_lists(local_engine, tmp_path):
    """A table without a parent that a list leads to makes rows as a root table does (docs/dlt.md §5.6)."""
    stored = with_tables(data=table(), data__l=table(resource="data"))
    found = [{"l": [{"x": 1, "m": [1]}, [3], {"_dlt_id": "own", "m": [2]}]}, {"l": [{"x": 5, "m": [{"y": 6}]}]}]
    assert_same(*both(local_engine, tmp_path, numbered(found), stored))


def test_neither_loads_rows_without_links_beside_rows_with_links(local_engine, tmp_path):
    """Nested rows that bring their keys get no links to the rows above; their table has links where others do."""
    found = [{"nr": 1, "l": [{"x": 1}, {"_dlt_id": "own", "x": 2}]}]
    with pytest.raises(PipelineStepFailed, match="_dlt_parent_id"):
        ByDlt(tmp_path / "dlt").load(found)
    ours = BySchemactl(local_engine, tmp_path / "ours")

    with pytest.raises(DestinationError, match="_dlt_parent_id"):
        ours.load(found)

    assert not ours.path.exists()
