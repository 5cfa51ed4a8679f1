"""Types that name each other: a small file stands for very many fields."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from schemactl.errors import InputError
from schemactl.formats import avro, dlt, jsonschema, protobuf
from schemactl.formats._losses import Document, describe_loss
from schemactl.schema.expansion import MOST_FIELDS, MOST_LEVELS
from schemactl.schema.templates import new_schema

Records = Mapping[str, Sequence[tuple[str, str | None]]]
"""Records by name, each field with the record that is its type; None for an integer. The last one is the table."""


def read_avro(records: Records, doc: str = "") -> Document:
    document = [
        {
            "type": "record",
            "name": name,
            "fields": [{"name": field, "type": of or "long", "doc": "" if of else doc} for field, of in fields],
        }
        for name, fields in records.items()
    ]
    return avro.read(json.dumps(document), "t.avsc")


def read_protobuf(records: Records, doc: str = "") -> Document:
    messages = []
    for name, fields in records.items():
        lines = (
            f"// {'' if of else doc}\n{of or 'int64'} {field} = {number};"
            for number, (field, of) in enumerate(fields, 1)
        )
        messages.append("\n".join((f"message {name} {{", *lines, "}")))
    return protobuf.read("\n".join(messages), "t.proto")


def read_jsonschema(records: Records, doc: str = "") -> Document:
    definitions = {
        name: {
            "type": "object",
            "properties": {
                field: {"$ref": f"#/$defs/{of}"} if of else {"type": "integer", "description": doc}
                for field, of in fields
            },
        }
        for name, fields in records.items()
    }
    *_, table = definitions
    return jsonschema.read(json.dumps({"$ref": f"#/$defs/{table}", "$defs": definitions}), "t.json")


READERS = {"avro": read_avro, "protobuf": read_protobuf, "jsonschema": read_jsonschema}
every_reader = pytest.mark.parametrize("read", READERS.values(), ids=READERS)


def doubling(number: int) -> Records:
    """Return records that hold the one before twice."""
    names = [None, *(f"R{each}" for each in range(number))]
    return {name: [("a", below), ("b", below)] for below, name in pairwise(names) if name}


def table_in(document: Document) -> dict[str, Mapping[str, object]]:
    [table] = [table for name, table in document.schema.tables.items() if not name.startswith("_dlt")]
    return {name: column.properties for name, column in table.columns.items()}


@every_reader
def test_records_that_double_are_columns_of_json_and_said_to_be(read):
    document = read(doubling(28))

    losses = [describe_loss(loss).partition(".")[2] for loss in document.losses]
    assert losses == [f"{name}: `nested fields: more than {MOST_FIELDS:,}`" for name in ("a", "b")]
    assert all(
        (column["data_type"], column.get("x-spark-type")) == ("json", None) for column in table_in(document).values()
    )


@every_reader
def test_as_many_nested_fields_as_a_column_may_have_are_read(read):
    fields = {
        "Inner": [(f"f{number}", None) for number in range(99)],
        "Middle": [(f"m{n}", "Inner") for n in range(99)],
    }
    document = read({**fields, "T": [("a", "Middle")]})

    assert document.losses == ()
    assert str(table_in(document)["a"]["x-spark-type"]).count("f98:") == 99


@every_reader
def test_columns_that_are_small_each_are_too_many_together(read):
    wide = {"Inner": [(f"f{n}", None) for n in range(1_000)], "T": [(f"c{n}", "Inner") for n in range(1_000)]}

    with pytest.raises(
        InputError, match=r"types that refer to each other have more than 1\d\d,\d\d\d nested fields"
    ) as raised:
        read(wide)

    assert raised.value.at is not None


@every_reader
def test_texts_that_are_repeated_in_each_place_are_too_long_together(read):
    wide = {"Inner": [("a", None)], "T": [(f"c{n}", "Inner") for n in range(1_000)]}

    with pytest.raises(InputError, match="more than 8 million characters"):
        read(wide, doc="long " * 2_000)


@every_reader
def test_a_long_chain_of_records_ends(read):
    names = [None, *(f"R{number}" for number in range(3_000))]
    chain = {name: [("a", below)] for below, name in pairwise(names) if name}

    document = read(chain)

    assert [describe_loss(loss).partition(".")[2] for loss in document.losses] == [
        f"a: `nested fields: more than {MOST_LEVELS} levels`"
    ]


@every_reader
def test_a_deep_chain_that_is_read_is_written_and_read_again(read):
    names = [None, *(f"R{number}" for number in range(MOST_LEVELS))]
    chain = {name: [("a", below)] for below, name in pairwise(names) if name}

    document = read(chain, doc="a note")

    assert document.losses == ()
    text = dlt.write(document.schema)
    assert dlt.read(text, "s.schema.yaml").schema.tables == document.schema.tables


def test_values_of_an_enum_count_in_each_place():
    symbols = [f"S{number}" for number in range(20_000)]
    fields = [{"name": f"c{number}", "type": "e"} for number in range(200)]
    document = [{"type": "enum", "name": "e", "symbols": symbols}, {"type": "record", "name": "t", "fields": fields}]
    with pytest.raises(InputError, match="million characters"):
        avro.read(json.dumps(document), "t.avsc")

    values = " ".join(f"{symbol} = {number};" for number, symbol in enumerate(symbols))
    lines = " ".join(f"E c{number} = {number};" for number in range(1, 200))
    with pytest.raises(InputError, match="million characters"):
        protobuf.read(f"enum E {{ {values} }} message T {{ {lines} }}", "t.proto")


def test_schemas_composed_of_each_other_twice_end():
    definitions: dict[str, object] = {"r0": {"properties": {"a": {"type": "integer"}}, "required": ["a"]}}
    for number in range(1, 40):
        definitions[f"r{number}"] = {"allOf": [{"$ref": f"#/$defs/r{number - 1}"}] * 2}

    for document in ({"properties": {"x": {"$ref": "#/$defs/r39"}}}, {"$ref": "#/$defs/r39"}):
        with pytest.raises(InputError, match="types that refer to each other do so more than"):
            jsonschema.read(json.dumps({**document, "$defs": definitions}), "t.json")


def test_a_table_composed_of_too_long_a_chain_is_refused():
    definitions: dict[str, object] = {"r0": {"properties": {"a": {"type": "integer"}}}}
    definitions |= {f"r{number}": {"$ref": f"#/$defs/r{number - 1}"} for number in range(1, 3_000)}

    with pytest.raises(InputError, match=r"composed of schemas that refer to each other in more than \d+ levels"):
        jsonschema.read(json.dumps({"$ref": "#/$defs/r2999", "$defs": definitions}), "t.json")


def test_a_large_file_that_names_nothing_twice_is_read():
    definitions = {
        f"t{table}": {"properties": {f"c{column}": {"type": "integer"} for column in range(300)}}
        for table in range(400)
    }

    document = jsonschema.read(json.dumps({"$defs": definitions}), "t.json")

    assert sum(len(table.columns) for table in document.schema.tables.values()) > 120_000


def test_a_schema_that_would_be_too_large_to_read_is_not_written():
    with pytest.raises(InputError, match="too large for a schema"):
        dlt.write(replace(new_schema("s"), description="x" * (9 << 20)), "s.schema.json")
