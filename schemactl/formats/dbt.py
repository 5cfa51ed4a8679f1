"""dbt's ``schema.yml``: tables as tables of a source, with the tests that they pass.

https://docs.getdbt.com/reference/source-properties. Tables that dlt loads are sources in dbt; ``read`` accepts sources,
models, seeds and snapshots. Other hints are in ``meta``. Freshness, docs, groups and other resources (exposures,
metrics) are ignored because they do not describe a schema.

dbt evaluates Jinja in all texts, and calls such as ``env_var('NAME')`` in the arguments of tests: texts of a schema are
written so that they stay texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from schemactl.errors import InputError, Location
from schemactl.formats._dbt_versions import KINDS, Choice, Relation, relations_of
from schemactl.formats._fields import Codec, entries, hint_item, losses_of, mapping
from schemactl.formats._jinja import (
    escape_jinja,
    jinja_expression,
    jinja_string,
    map_texts,
    read_jinja_string,
    unescape_jinja,
)
from schemactl.formats._losses import Document, Loss
from schemactl.formats._shapes import TEXT, Shape, Shapes, check_shape
from schemactl.formats._tables import (
    Record,
    data_tables,
    logical_hint,
    logical_name,
    record,
    schema_hints,
    schema_of,
    table_hints,
    table_properties,
)
from schemactl.schema.judgment import CONTRACT_SIZES
from schemactl.schema.types import Schema, Table
from schemactl.trees.nodes import Source, value_of
from schemactl.trees.yaml_text import parse_yaml
from schemactl.type_systems.dialect_names import resolve_dialect
from schemactl.type_systems.fields import HINTS, Field, fields_of, note
from schemactl.type_systems.sql_fields import word_of
from schemactl.type_systems.sql_words import field_of_sql_type, write_sql_type

ENDINGS: Final = (".dbt.yml", ".yml", ".yaml")

_NATIVE: Final = frozenset(("description", "data_type", "data_tests", "tests", "constraints"))
_READ: Final = _NATIVE | {"name", "meta", "config"}
_PASSED: Final = frozenset((
    "docs", "access", "group", "freshness", "loaded_at_field", "loaded_at_query", "loader", "quoting", "overrides",
    "defined_in", "latest_version", "time_spine",
))  # fmt: skip
"""Properties of tables that do not describe a schema."""
_TABLE_READ: Final = _PASSED | {
    "name", "identifier", "alias", "description", "meta", "config", "columns", "data_tests", "tests", "constraints",
}  # fmt: skip
_LAYOUT: Final = (
    "partition_by", "partitions", "partitioned_by", "cluster_by", "liquid_clustered_by", "clustered_by", "sort",
    "sort_type", "dist", "order_by", "primary_key", "unique_key", "indexes", "ttl",
)  # fmt: skip
"""Configurations that describe a table but are not read."""
_TESTS_READ: Final = ("not_null", "unique", "accepted_values", "relationships")
_CONSTRAINTS_READ: Final = ("not_null", "unique", "primary_key", "foreign_key")

_SHAPES: Final[Shapes] = {
    "file": Shape(keys={"sources": "sources", **dict.fromkeys(KINDS, "tables")}),
    "sources": Shape(items="source"),
    "source": Shape(keys={"tables": "tables"}),
    "tables": Shape(items="table"),
    "table": Shape(
        keys={
            "name": "text", "columns": "columns", "data_tests": "tests", "tests": "tests", "constraints": "constraints",
            "versions": "versions", "latest_version": "version number",
        },
        required=("name",),
    ),
    "versions": Shape(items="version", is_optional=True),
    "version": Shape(
        keys={
            "v": "version number", "columns": "version columns", "data_tests": "tests", "tests": "tests",
            "constraints": "constraints",
        },
        required=("v",),
    ),
    "version number": Shape(is_text=True, is_number=True),
    "version columns": Shape(items="version column", is_optional=True),
    "version column": Shape(
        keys={
            "name": "text", "include": "names", "exclude": "names", "data_tests": "tests", "tests": "tests",
            "constraints": "constraints",
        }
    ),
    "names": Shape(items="text", is_text=True),
    "columns": Shape(items="column"),
    "column": Shape(
        keys={"name": "text", "data_tests": "tests", "tests": "tests", "constraints": "constraints"},
        required=("name",),
    ),
    "tests": Shape(items="test", is_optional=True),
    "test": Shape(keys={}, is_text=True),
    "constraints": Shape(items="constraint", is_optional=True),
    "constraint": Shape(keys={"type": "text", "columns": "names", "to_columns": "names"}),
    "text": TEXT,
}  # fmt: skip
_TARGET: Final = re.compile(
    r"""(?:ref|source)\(\s*(?:['"][^'"]*['"]\s*,\s*)?['"](?P<name>(?:[^'"\\]|\\.)+)['"]\s*"""
    r"""(?:,\s*(?:v|version)\s*=\s*['"]?(?P<version>[^'")]+?)['"]?\s*)?\)"""
)
_EXPRESSION: Final = re.compile(r"""(?:.*\.)?["`]?(?P<table>[^."`\s(]+)["`]?\s*\((?P<columns>[^()]+)\)""")
"""The table and columns that a foreign key names in SQL: ``shop.customers (id)``."""

_CALL: Final = re.compile(r"\s*(?:env_var|ref|var|source|doc)\s*\(.*\)\s*", re.DOTALL)
"""Arguments of tests that dbt evaluates without braces."""


def recognises(text: str) -> bool:
    """Return whether a text looks as a properties file of dbt."""
    return re.search(r"^(?:models|sources|seeds|snapshots)\s*:", text, re.MULTILINE) is not None


def _argument(text: str) -> str:
    """Return an argument of a test that dbt renders to a text."""
    return jinja_expression(text) if _CALL.fullmatch(text) else escape_jinja(text)


@dataclass(frozen=True, slots=True)
class DbtFile:
    """The format with the types of a sqlglot dialect, if one is named, and a choice of model versions."""

    dialect: str | None = None
    versions: Choice = Choice.LATEST

    ENDINGS = ENDINGS

    def in_versions(self, choice: str) -> DbtFile:
        """Return the format with another choice of the versions of models."""
        return replace(self, versions=Choice(choice))

    def recognises(self, text: str) -> bool:
        """Return whether a text looks as a properties file of dbt."""
        return recognises(text)

    def write(self, schema: Schema, path: str | None = None) -> str:  # noqa: ARG002 - one form for all endings
        """Return the properties of a schema's tables as a source with the schema's name."""
        from schemactl.formats._yaml_writer import yaml_text

        head = {"name": schema.name, **note(schema.description), **hint_item(schema_hints(schema), "meta")}
        source = {
            **map_texts(head, escape_jinja),
            "tables": [self._table(table, schema) for table in data_tables(schema)],
        }
        return yaml_text({"version": 2, "sources": [source]})

    def _table(self, table: Table, schema: Schema) -> dict[str, Any]:
        references = table.properties.get("references") or ()
        targets = {reference["columns"][0]: reference for reference in references if len(reference["columns"]) == 1}
        fields, columns = fields_of(table), []
        codec = self._codec([field.name for field in fields if field.properties.get("primary_key") is True])
        for field in fields:
            native = codec.write(field)
            tests = map_texts(list(native.pop("data_tests", ())), _argument)
            if field.name in targets:
                reference = targets[field.name]
                target = schema.tables.get(reference["referenced_table"])
                name = logical_name(target) if target else reference["referenced_table"]
                to = f"source({jinja_string(schema.name)}, {jinja_string(name)})"
                tests.append({"relationships": {"to": to, "field": _argument(reference["referenced_columns"][0])}})
            own_tests = {"data_tests": tests} if tests else {}
            hints = map_texts(hint_item(codec.hints(field), "meta"), escape_jinja)
            columns.append({**map_texts({"name": field.name, **native}, escape_jinja), **own_tests, **hints})
        name, described = logical_name(table), note(table.properties.get("description"))
        native = {**table_properties(table.name, described.get("description")), **logical_hint(name, table.name)}
        head = {"name": name, **({"identifier": table.name} if name != table.name else {}), **described}
        head |= hint_item(table_hints(table, native), "meta")
        return {**map_texts(head, escape_jinja), "columns": columns}

    def _codec(self, keys: Sequence[str]) -> Codec[dict[str, Any]]:
        """Return the codec of the columns of a table with these columns in its primary key."""
        return Codec(partial(self._write, only_key=keys[0] if len(keys) == 1 else None), self._read)

    def _write(self, field: Field, only_key: str | None) -> dict[str, Any]:
        tests: list[Any] = [] if field.nullable else ["not_null"]
        # No column of a composite key is unique, and dbt itself has no test for several columns.
        if field.properties.get("unique") is True or field.name == only_key:
            tests.append("unique")
        values = field.properties.get("x-enum")
        # dbt puts values between single quotes into SQL as they are.
        if (
            isinstance(values, list)
            and values
            and not any(isinstance(value, str) and set("'\\") & set(value) for value in values)
        ):
            tests.append({"accepted_values": {"values": values}})
        own_tests = {"data_tests": tests} if tests else {}
        word = write_sql_type(field) if self.dialect is None else word_of(field, self.dialect)
        return {"data_type": word, **note(field.description), **own_tests}

    def _read(self, name: str, native: dict[str, Any]) -> Field:
        field = field_of_sql_type(name, str(native.get("data_type") or "text"), self.dialect)
        tests = dict(_tests(native))
        constraints = {constraint.get("type") for constraint in _constraints(native)}
        is_required = bool({"not_null", "primary_key"} & (tests.keys() | constraints))
        properties: dict[str, Any] = {**field.properties, "nullable": not is_required}
        if "primary_key" in constraints:
            properties["primary_key"] = True
        if "unique" in tests or "unique" in constraints:
            properties["unique"] = True
        values = tests.get("accepted_values", {}).get("values")
        if isinstance(values, list) and values:
            properties["x-enum"] = values
        return replace(field, properties={**properties, **note(native.get("description"))})

    def read(self, text: str, path: str) -> Document:
        """Return the schema of the sources, models, seeds and snapshots of a file."""
        source = Source(path, text)
        tree = parse_yaml(source)
        root = map_texts(value_of(tree), unescape_jinja)
        if not isinstance(root, dict) or not any(key in root for key in ("sources", *KINDS)):
            raise source.refuse("this is not a dbt properties file", 0, "it has `sources` or `models`")
        check_shape(source, tree, _SHAPES, "file")
        try:
            relations = list(relations_of(root, self.versions))
        except InputError as error:
            raise InputError(error.message, at=Location(path), hint=error.hint) from error
        sources = [mapping(native) for native in root.get("sources") or ()]
        hints = next(filter(None, (_meta(native).get(HINTS) for native in sources)), None)
        if hints is None and len(sources) == 1:
            hints = note(sources[0].get("description")) or None
        records, losses = [], list[Loss]()
        for relation in relations:
            table, table_losses = self._record(relation, relations, path)
            records.append(table)
            losses += table_losses
        return Document(schema_of(records, hints, path), tuple(losses))

    def _record(self, relation: Relation, relations: Sequence[Relation], path: str) -> tuple[Record, list[Loss]]:
        native = relation.native
        natives, foreign_keys, losses = _without_table_constraints(native, relation.table)
        hints = {name: _meta(column).get(HINTS) for name, column in natives.items()}
        codec = self._codec([name for name, column in natives.items() if _is_key(column, hints[name])])
        columns, fields = [], []
        for name, column in natives.items():
            field_native = _without_relationships(column)
            columns.append((name, codec.restored(name, field_native, hints[name], path)))
            fields.append(codec.read(name, field_native))
            tests = (arguments for word, arguments in _tests(column) if word == "relationships")
            constraints = (constraint for constraint in _constraints(column) if constraint["type"] == "foreign_key")
            foreign_keys += [([name], target) for target in (*tests, *constraints)]
        references: list[dict[str, Any]] = []
        for names, target in foreign_keys:
            reference = _reference(names, target, relations)
            if reference is None:
                losses.append(Loss(relation.table, "references", target))
            elif reference not in references:  # a test and a constraint may be equal
                references.append(reference)
        properties: dict[str, Any] = {"references": references} if references else {}
        if mapping(mapping(native.get("config")).get("contract")).get("enforced") is True:
            properties |= {"schema_contract": {"columns": "freeze", "data_type": "freeze"}, CONTRACT_SIZES: "evolve"}
        if relation.version is None:
            properties |= logical_hint(relation.name, relation.table)
        losses += [*_losses(relation, natives), *losses_of(fields, relation.table), *relation.losses]
        table = record(relation.table, columns, native.get("description"), _meta(native).get(HINTS), **properties)
        return table, losses


ForeignKey = tuple[list[str], dict[str, Any]]
"""Columns, and the test or the constraint with the columns that they refer to."""


def _without_relationships(column: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a column without references to other columns."""
    native = {key: value for key, value in column.items() if key in _NATIVE}
    tests = native.pop("data_tests", native.pop("tests", None)) or ()
    tests = [test for test in tests if not (isinstance(test, dict) and "relationships" in test)]
    return {**native, **({"data_tests": tests} if tests else {})}


def _is_key(native: dict[str, Any], hints: Any) -> bool:
    is_constrained = any(constraint["type"] == "primary_key" for constraint in _constraints(native))
    return is_constrained or mapping(hints).get("primary_key") is True


def _without_table_constraints(
    native: Mapping[str, Any], table: str
) -> tuple[dict[str, dict[str, Any]], list[ForeignKey], list[Loss]]:
    """Return the columns of a table with its constraints applied, its foreign keys, and the losses."""
    columns = {column["name"]: dict(column) for column in entries(native.get("columns"))}
    foreign_keys, losses = list[ForeignKey](), list[Loss]()
    for constraint in _constraints(native):
        word, names = constraint["type"], _names(constraint.get("columns"))
        if not names or not columns.keys() >= set(names):
            losses.append(Loss(table, "constraint", constraint))
        elif word == "foreign_key":
            foreign_keys.append((names, constraint))
        elif word in ("primary_key", "not_null") or (word == "unique" and len(names) == 1):
            for name in names:
                columns[name]["constraints"] = [*(columns[name].get("constraints") or ()), {"type": word}]
        else:
            losses.append(Loss(table, "constraint", constraint))
    return columns, foreign_keys, losses


def _names(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or ())


def _reference(names: list[str], target: Mapping[str, Any], relations: Iterable[Relation]) -> dict[str, Any] | None:
    """Return the reference of a test or a constraint, if it names columns of a relation."""
    if expression := _EXPRESSION.fullmatch(str(target.get("expression")).strip()):
        columns = [name.strip(' "`') for name in expression["columns"].split(",")]
        return {"columns": names, "referenced_table": expression["table"], "referenced_columns": columns}
    columns = _names(target.get("field") if isinstance(target.get("field"), str) else target.get("to_columns"))
    to = _TARGET.fullmatch(str(target.get("to")).strip())
    if to is None or len(columns) != len(names):
        return None
    name = read_jinja_string(to["name"])
    versions = [relation for relation in relations if relation.name == name]
    table = next((relation.table for relation in versions if relation.answers_to(name, to["version"])), None)
    if table is None and versions:  # a version that is left out
        return None
    return {"columns": names, "referenced_table": table or name, "referenced_columns": columns}


def _meta(native: Mapping[str, Any]) -> dict[str, Any]:
    return mapping(native.get("meta") or mapping(native.get("config")).get("meta"))


def _constraints(native: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the constraints of a table or column that have a type."""
    constraints = (mapping(constraint) for constraint in native.get("constraints") or ())
    return [constraint for constraint in constraints if "type" in constraint]


def _tests(native: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tests of a table or column by name, with their arguments."""
    for test in (*(native.get("data_tests") or ()), *(native.get("tests") or ())):
        if isinstance(test, str):
            yield test, {}
        elif isinstance(test, dict) and test:
            name, body = next(iter(test.items()))
            arguments = mapping(mapping(body).get("arguments"))
            yield name, arguments or mapping(body)


def _losses(relation: Relation, columns: Mapping[str, dict[str, Any]]) -> Iterator[Loss]:
    table, native = relation.table, relation.native
    config = mapping(native.get("config"))
    yield from (Loss(table, key, value) for key, value in native.items() if key not in _TABLE_READ)
    yield from (Loss(table, key, config[key]) for key in _LAYOUT if key in config)
    yield from (Loss(table, "meta", key) for key in _meta(native) if key != HINTS)
    yield from (Loss(table, "test", name) for name, _ in _tests(native))
    for name, column in columns.items():
        path = f"{table}.{name}"
        yield from (Loss(path, key, value) for key, value in column.items() if key not in _READ)
        yield from (Loss(path, key, value) for key, value in mapping(column.get("config")).items() if key != "meta")
        yield from (Loss(path, "meta", key) for key in _meta(column) if key != HINTS)
        yield from (Loss(path, "test", name) for name, _ in _tests(column) if name not in _TESTS_READ)
        for constraint in _constraints(column):
            if constraint["type"] not in _CONSTRAINTS_READ:
                yield Loss(path, "constraint", constraint["type"])


_STANDARD: Final = DbtFile()
write, read, in_versions = _STANDARD.write, _STANDARD.read, _STANDARD.in_versions


def in_dialect(name: str | None, *, has_references: bool = False) -> DbtFile:
    """Return the format with the types of a dialect; None for standard SQL's."""
    if has_references:
        raise InputError("dbt has no foreign keys (`--foreign-keys`)", hint="`relationships` are written anyway")
    return DbtFile(None if name is None else resolve_dialect(name))
