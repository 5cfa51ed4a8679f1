"""The generic tests of a dbt project on columns: as its YAML files list them, and as SQL.

https://docs.getdbt.com/reference/resource-properties/data-tests
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from schemactl.errors import InputError
from schemactl.readers.templates import REF_CALL, SOURCE_CALL
from schemactl.trees.nodes import Source, value_of
from schemactl.trees.yaml_text import parse_yaml

_MODEL_SECTIONS: Final = ("models", "seeds", "snapshots")
_TEST_KEYS: Final = ("tests", "data_tests")

_SQL: Final = {
    "unique": "select {column} from {relation} where {column} is not null group by {column} having count(*) > 1",
    "not_null": "select {column} from {relation} where {column} is null",
    "accepted_values": "select {column} from {relation} where {column} not in ('x') group by {column}",
    "relationships": "select c.{column} from {relation} as c left join {target} as p on c.{column} = p.{field} "
    "where c.{column} is not null and p.{field} is null",
}
"""How dbt's own tests use their columns."""

_OTHER_SQL: Final = "select max({column}) from {relation}"

_WORD: Final = re.compile(r"\w+")
_BACKTICKS: Final = frozenset(("bigquery", "clickhouse", "databricks", "hive", "mysql", "spark"))


@dataclass(frozen=True, slots=True)
class ColumnTest:
    """A generic test of a column in a YAML file.

    Attributes:
        source: the name of the source that has the table; None for a model, seed or snapshot.
        table: the name of the table or model.
        kind: the test, without its package.
        target: the ``ref()`` or ``source()`` of a test of relationships, and the column there.
    """

    source: str | None
    table: str
    column: str
    kind: str
    name: str
    target: str | None = None
    target_column: str | None = None


def read_column_tests(text: str, path: str) -> list[ColumnTest] | None:
    """Return the tests of columns in a YAML file; None if the file cannot be read."""
    try:
        content = value_of(parse_yaml(Source(path, text)))
    except InputError:
        return None
    tests = [
        test for section in _MODEL_SECTIONS for model in _objects(content, section) for test in _tests_of(model, None)
    ]
    for source in _objects(content, "sources"):
        for table in _objects(source, "tables"):
            tests += _tests_of(table, str(source.get("name")))
    return tests


def _objects(content: Any, key: str) -> Iterator[Mapping[str, Any]]:
    items = content.get(key) if isinstance(content, Mapping) else None
    return (item for item in (items if isinstance(items, list) else ()) if isinstance(item, Mapping))


def _tests_of(holder: Mapping[str, Any], source: str | None) -> Iterator[ColumnTest]:
    """Yield the tests of the columns of a model or table, and its own tests that name a column."""
    table = str(holder.get("name"))
    columns: list[tuple[object, Mapping[str, Any]]] = [(None, holder)]
    columns += [(column.get("name"), column) for column in _objects(holder, "columns")]
    for version in _objects(holder, "versions"):
        columns += [(column.get("name"), column) for column in _objects(version, "columns")]
    for column_name, owner in columns:
        for key in _TEST_KEYS:
            items = owner.get(key)
            for item in items if isinstance(items, list) else ():
                kind, arguments = _parsed(item)
                column = column_name or arguments.get("column_name")
                if not kind or not isinstance(column, str):
                    continue
                prefix = f"source_{kind}_{source}" if source else kind
                name = str(arguments.get("name") or f"{prefix}_{table}_{column}").replace(".", "_")
                target, target_column = (arguments.get(key) for key in ("to", "field"))
                yield ColumnTest(
                    source,
                    table,
                    column,
                    kind.rpartition(".")[2],
                    name,
                    target if isinstance(target, str) else None,
                    target_column if isinstance(target_column, str) else None,
                )


def _parsed(item: object) -> tuple[str, Mapping[str, Any]]:
    """Return the name of a test, and its arguments: ``unique``, ``{unique: {…}}`` or ``{test_name: unique, …}``."""
    if isinstance(item, str):
        return item, {}
    if not isinstance(item, Mapping):
        return "", {}
    if "test_name" in item:
        kind, arguments = item["test_name"], item
    else:
        kind, arguments = next(((key, value) for key, value in item.items() if isinstance(value, Mapping)), ("", {}))
        if not kind and len(item) == 1:
            kind = next(iter(item))  # `- unique:` without arguments
    inner = arguments.get("arguments")
    return str(kind), {**arguments, **(inner if isinstance(inner, Mapping) else {})}


@dataclass(frozen=True)
class ProjectNodes:
    """The nodes and sources of a manifest, as tests name them.

    Attributes:
        packages: the ids of the nodes of installed packages, whose files can have the same paths.
    """

    nodes: Mapping[str, Mapping[str, Any]]
    sources: Mapping[str, Mapping[str, Any]]
    packages: Collection[str] = ()

    def merge_tests(self, path: str, tests: Iterable[ColumnTest]) -> dict[str, dict[str, Any] | None]:
        """Return the changes that give the project the tests of a YAML file: nodes by id, None for a dropped node."""
        changes: dict[str, dict[str, Any] | None] = {}
        old_tests = {
            key: node_id
            for node_id, node in self.nodes.items()
            if node_id not in self.packages and (key := self._key_of(node, path))
        }
        new_keys: set[tuple[str, str, str]] = set()
        for test in tests:
            holder_id = self._holder_id(test)
            if holder_id is None:
                continue
            key = self._label(holder_id), test.column.casefold(), test.kind
            new_keys.add(key)
            if key not in old_tests:
                changes[f"test.{path}.{'.'.join(key)}"] = self._node_of(test, path, holder_id)
        return changes | dict.fromkeys(node_id for key, node_id in old_tests.items() if key not in new_keys)

    def _key_of(self, node: Mapping[str, Any], path: str) -> tuple[str, str, str] | None:
        """Return the node, column and kind of a generic test of a file; None for other nodes."""
        column = node.get("column_name")
        if node.get("resource_type") != "test" or node.get("original_file_path") != path or not isinstance(column, str):
            return None
        holder_id, kind = tested_node(node), _metadata(node).get("name")
        return (self._label(holder_id), column.casefold(), str(kind)) if holder_id and kind else None

    def _label(self, node_id: str) -> str:
        """Return the name of a node: all versions of a model have one name."""
        node = self.nodes.get(node_id) or self.sources.get(node_id) or {}
        return f"{node.get('source_name')} {node.get('name')}"

    def _holder_id(self, test: ColumnTest) -> str | None:
        if test.source is not None:
            return self._source_id(test.source, test.table)
        return self._model_id(test.table)

    def _source_id(self, source: str, table: str) -> str | None:
        names = source, table
        return next(
            (key for key, node in self.sources.items() if (node.get("source_name"), node.get("name")) == names), None
        )

    def _model_id(self, name: str) -> str | None:
        kinds = ("model", "seed", "snapshot")
        models = (key for key, node in self.nodes.items() if node.get("resource_type") in kinds)
        return next((key for key in models if self.nodes[key].get("name") == name), None)

    def _node_of(self, test: ColumnTest, path: str, holder_id: str) -> dict[str, Any]:
        target_id = None
        if call := SOURCE_CALL.search(test.target or ""):
            target_id = self._source_id(call[2], call[4])
        elif call := REF_CALL.search(test.target or ""):
            target_id = self._model_id(call[3])
        return {
            "resource_type": "test",
            "name": test.name,
            "original_file_path": path,
            "column_name": test.column,
            "attached_node": holder_id,
            "test_metadata": {"name": test.kind, "kwargs": {"field": test.target_column}},
            "depends_on": {"nodes": [holder_id, *([target_id] if target_id else [])]},
        }


def tested_node(node: Mapping[str, Any]) -> str | None:
    """Return the id of the node or source that a generic test is for; None if it is unclear."""
    attached = node.get("attached_node")
    if isinstance(attached, str):
        return attached
    parents = parents_of(node)
    return parents[0] if len(parents) == 1 else None


def parents_of(node: Mapping[str, Any]) -> list[str]:
    """Return the ids of the nodes that a node depends on directly."""
    depends_on = node.get("depends_on")
    parents = depends_on.get("nodes") if isinstance(depends_on, Mapping) else None
    return [str(parent) for parent in parents] if isinstance(parents, list) else []


def sql_of_test(node: Mapping[str, Any], relation: str, target: str | None, dialect: str | None) -> str:
    """Return SQL that uses the columns of a generic test as the test does.

    Args:
        node: the test, with ``column_name``.
        relation: the tested table.
        target: the other table of a test of relationships.
        dialect: sqlglot's name.
    """
    metadata = _metadata(node)
    arguments = metadata.get("kwargs")
    field = arguments.get("field") if isinstance(arguments, Mapping) else None
    kind = str(metadata.get("name"))
    form = _SQL.get(kind, _OTHER_SQL)
    if kind == "relationships" and (target is None or not isinstance(field, str)):
        form = _OTHER_SQL
    column = quote_name(str(node["column_name"]), dialect)
    return form.format(column=column, relation=relation, target=target, field=quote_name(str(field), dialect))


def quote_name(name: str, dialect: str | None) -> str:
    """Return a name as SQL has it: in quotes only if it needs them, as dbt writes the names of columns."""
    if _WORD.fullmatch(name) or name[:1] in ('"', "`"):
        return name
    mark = "`" if dialect in _BACKTICKS else '"'
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"


def _metadata(node: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = node.get("test_metadata")
    return metadata if isinstance(metadata, Mapping) else {}
