"""dbt's ``schema.yml``: tables as those of a source, with the tests that hold of them.

https://docs.getdbt.com/reference/source-properties. What dlt loads are sources to dbt; read are sources,
models, seeds and snapshots. What dbt has no words for stands in ``meta``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from schemactl.formats._fields import HINTS, Codec, Field, fields_of, hinted, mapping, named, note
from schemactl.formats._losses import Document, Loss
from schemactl.formats._shapes import TEXT, Shape, Shapes, check_shape
from schemactl.formats._sql_types import read_sql_type, write_sql_type
from schemactl.formats._tables import Record, data_tables, record, schema_hints, schema_of, table_hints
from schemactl.formats._tree import Source, value_of
from schemactl.formats._yaml_tree import parse_yaml
from schemactl.schema.types import Schema, Table

ENDINGS: Final = (".dbt.yml", ".yml", ".yaml")

_KINDS: Final = ("models", "seeds", "snapshots")
_NATIVE: Final = frozenset(("description", "data_type", "data_tests", "tests", "constraints"))
_READ: Final = _NATIVE | {"name", "meta", "config"}
_SHAPES: Final[Shapes] = {
    "file": Shape(keys={"sources": "sources", **dict.fromkeys(_KINDS, "tables")}),
    "sources": Shape(items="source"),
    "source": Shape(keys={"tables": "tables"}),
    "tables": Shape(items="table"),
    "table": Shape(
        keys={"name": "text", "columns": "columns", "data_tests": "tests", "tests": "tests"}, required=("name",)
    ),
    "columns": Shape(items="column"),
    "column": Shape(
        keys={"name": "text", "data_tests": "tests", "tests": "tests", "constraints": "constraints"},
        required=("name",),
    ),
    "tests": Shape(items="test", is_optional=True),
    "test": Shape(keys={}, is_text=True),
    "constraints": Shape(items="constraint", is_optional=True),
    "constraint": Shape(keys={"type": "text"}),
    "text": TEXT,
}
_TARGET: Final = re.compile(r"""(?:ref|source)\(\s*(?:['"][^'"]*['"]\s*,\s*)?['"]([^'"]+)['"]\s*\)""")


def recognises(text: str) -> bool:
    """Return whether a text looks as a properties file of dbt."""
    return re.search(r"^(?:models|sources|seeds|snapshots)\s*:", text, re.MULTILINE) is not None


def write(schema: Schema, path: str | None = None) -> str:  # noqa: ARG001 - one form for all endings
    """Return the properties of the tables of a schema as those of a source of its name."""
    from schemactl.formats._emit import yaml_text

    source = {
        "name": schema.name,
        **note(schema.description),
        **hinted(schema_hints(schema), "meta"),
        "tables": [_table(table, schema) for table in data_tables(schema)],
    }
    return yaml_text({"version": 2, "sources": [source]})


def _table(table: Table, schema: Schema) -> dict[str, Any]:
    references = table.properties.get("references") or ()
    targets = {each["columns"][0]: each for each in references if len(each["columns"]) == 1}
    columns = []
    for field in fields_of(table):
        native = _write(field)
        tests = list(native.pop("data_tests", ()))
        if field.name in targets:
            other = targets[field.name]
            to = f"source('{schema.name}', '{other['referenced_table']}')"
            tests.append({"relationships": {"to": to, "field": other["referenced_columns"][0]}})
        said = {"data_tests": tests} if tests else {}
        columns.append({"name": field.name, **native, **said, **hinted(CODEC.hints(field), "meta")})
    described = note(table.properties.get("description"))
    return {"name": table.name, **described, **hinted(table_hints(table), "meta"), "columns": columns}


def _write(field: Field) -> dict[str, Any]:
    tests: list[Any] = [] if field.nullable else ["not_null"]
    if field.properties.get("unique") is True:
        tests.append("unique")
    values = field.properties.get("x-enum")
    if isinstance(values, list) and values:
        tests.append({"accepted_values": {"values": values}})
    said = {"data_tests": tests} if tests else {}
    return {"data_type": write_sql_type(field), **note(field.description), **said}


def read(text: str, path: str) -> Document:
    """Return the schema of the sources, models, seeds and snapshots of a file."""
    source = Source(path, text)
    tree = parse_yaml(source)
    root = value_of(tree)
    if not isinstance(root, dict) or not any(each in root for each in ("sources", *_KINDS)):
        raise source.refuse("this is not a dbt properties file", 0, "it has `sources` or `models`")
    check_shape(source, tree, _SHAPES, "file")
    tables = list(_tables(root))
    stated = (_meta(one).get(HINTS) for one in root.get("sources", ()))
    hints = next(filter(None, stated), None)
    losses = tuple(loss for each in tables for loss in _losses(each))
    return Document(schema_of([_record(each, path) for each in tables], hints, path), losses)


def _tables(root: dict[str, Any]) -> Iterator[dict[str, Any]]:
    groups = [root.get(kind) for kind in _KINDS]
    groups += [each.get("tables") for each in root.get("sources", ())]
    for group in groups:
        yield from named(group)


def _meta(native: dict[str, Any]) -> dict[str, Any]:
    return mapping(native.get("meta") or mapping(native.get("config")).get("meta"))


def _record(table: dict[str, Any], path: str) -> Record:
    columns, references = [], []
    for native in named(table.get("columns")):
        own = {key: native[key] for key in native if key in _NATIVE}
        relations = [each for each in _tests(native) if each[0] == "relationships"]
        if relations:
            tests = own.pop("data_tests", own.pop("tests", ()))
            kept = [each for each in tests if not (isinstance(each, dict) and "relationships" in each)]
            own |= {"data_tests": kept} if kept else {}
        columns.append((native["name"], CODEC.restored(native["name"], own, _meta(native).get(HINTS), path)))
        for _, stated in relations:
            target = _TARGET.fullmatch(str(stated.get("to")).strip())
            if target and isinstance(stated.get("field"), str):
                other = {"referenced_table": target[1], "referenced_columns": [stated["field"]]}
                references.append({"columns": [native["name"]], **other})
    more: dict[str, Any] = {"references": references} if references else {}
    if mapping(mapping(table.get("config")).get("contract")).get("enforced") is True:
        more["schema_contract"] = {"columns": "freeze", "data_type": "freeze"}
    return record(table["name"], columns, table.get("description"), _meta(table).get(HINTS), **more)


def _tests(native: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tests of a column by name, with their arguments."""
    for each in (*(native.get("data_tests") or ()), *(native.get("tests") or ())):
        if isinstance(each, str):
            yield each, {}
        elif isinstance(each, dict) and each:
            name, stated = next(iter(each.items()))
            known = stated if isinstance(stated, dict) else {}
            arguments = known.get("arguments")
            yield name, arguments if isinstance(arguments, dict) else known


def _read(name: str, native: dict[str, Any]) -> Field:
    found = read_sql_type(str(native.get("data_type") or "text")) or {"data_type": "text"}
    tests = dict(_tests(native))
    constraints = {each.get("type") for each in native.get("constraints") or () if isinstance(each, dict)}
    properties: dict[str, Any] = {**found, "nullable": not ({"not_null", "primary_key"} & (tests.keys() | constraints))}
    if "primary_key" in constraints:
        properties["primary_key"] = True
    if "unique" in tests or "unique" in constraints:
        properties["unique"] = True
    values = tests.get("accepted_values", {}).get("values")
    if isinstance(values, list) and values:
        properties["x-enum"] = values
    return Field(name, {**properties, **note(native.get("description"))})


CODEC: Final = Codec(_write, _read)


def _losses(table: dict[str, Any]) -> Iterator[Loss]:
    for native in named(table.get("columns")):
        place = f"{table['name']}.{native['name']}"
        yield from (Loss(place, key, value) for key, value in native.items() if key not in _READ)
        yield from (Loss(place, "meta", key) for key in _meta(native) if key != HINTS)
        known = ("not_null", "unique", "accepted_values", "relationships")
        yield from (Loss(place, "test", name) for name, _ in _tests(native) if name not in known)
        for each in native.get("constraints") or ():
            if isinstance(each, dict) and each.get("type") not in ("not_null", "unique", "primary_key"):
                yield Loss(place, "constraint", each.get("type"))
        stated = native.get("data_type")
        if stated and read_sql_type(str(stated)) is None:
            yield Loss(place, "type", {"type": stated}, {"data_type": "text"})
    yield from (Loss(table["name"], "test", name) for name, _ in _tests(table))
