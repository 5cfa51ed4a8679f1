"""SQL that defines tables and columns, in any dialect of sqlglot: for exports, loads, migrations, and their scripts.

Differences between dialects are data here: sqlglot prints DDL without knowing what an engine accepts. Types are in
``type_systems.sql_types`` and in the modules of destinations; an engine's limits are in its abilities.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from schemactl.schema.quoting import literal
from schemactl.schema.structure import description_of
from schemactl.schema.types import Column

ColumnType = Callable[[Column], str]
"""Returns an engine's type for a column."""


@dataclass(frozen=True, slots=True)
class Descriptions:
    """The words by which an engine describes tables and columns; ``{text}`` and the like are placeholders.

    Attributes:
        of_table, of_column: the statements that describe existing tables and columns; empty if the engine lacks them.
        in_table, in_column: the ends of definitions; empty if descriptions need separate statements.
        none: the value that removes a description.
    """

    of_table: str
    of_column: str
    in_table: str = ""
    in_column: str = ""
    none: str = "''"


_COMMENT_ON: Final = "COMMENT ON TABLE {table} IS {text}", "COMMENT ON COLUMN {table}.{column} IS {text}"
_BESIDE: Final = {"in_table": " COMMENT {text}", "in_column": " COMMENT {text}"}
_DESCRIPTIONS: Final[Mapping[str, Descriptions]] = {
    **dict.fromkeys(
        ("", "postgres", "duckdb", "redshift", "trino", "materialize", "risingwave"),
        Descriptions(*_COMMENT_ON, none="NULL"),
    ),
    **dict.fromkeys(("snowflake", "oracle", "teradata", "exasol"), Descriptions(*_COMMENT_ON)),
    **dict.fromkeys(
        ("databricks", "spark"),
        Descriptions(_COMMENT_ON[0], "ALTER TABLE {table} ALTER COLUMN {column} COMMENT {text}", **_BESIDE),
    ),
    "mysql": Descriptions(
        "ALTER TABLE {table} COMMENT = {text}",
        "ALTER TABLE {table} MODIFY COLUMN {definition} COMMENT {text}",
        in_table=" COMMENT = {text}",
        in_column=" COMMENT {text}",
    ),
    "clickhouse": Descriptions(
        "ALTER TABLE {table} MODIFY COMMENT {text}", "ALTER TABLE {table} COMMENT COLUMN {column} {text}", **_BESIDE
    ),
    "bigquery": Descriptions(
        "ALTER TABLE {table} SET OPTIONS (description = {text})",
        "ALTER TABLE {table} ALTER COLUMN {column} SET OPTIONS (description = {text})",
        in_table=" OPTIONS (description={text})",
        in_column=" OPTIONS (description={text})",
    ),
    "hive": Descriptions(
        "ALTER TABLE {table} SET TBLPROPERTIES ('comment' = {text})",
        "ALTER TABLE {table} CHANGE COLUMN {column} {definition} COMMENT {text}",
        **_BESIDE,
    ),
    "athena": Descriptions("", "", **_BESIDE),
}

_RENAMES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("mysql", "doris", "starrocks", "singlestore"), "ALTER TABLE {table} RENAME {new}"),
    **dict.fromkeys(("tsql", "fabric"), "EXEC sp_rename {text_of_table}, {text_of_new}"),
}
"""How dialects without ``RENAME TO`` rename a table."""
_ADDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("snowflake", "oracle", "tsql", "fabric"), "ADD {}"),
    **dict.fromkeys(("spark", "databricks", "hive", "athena"), "ADD COLUMNS ({})"),
}
"""How dialects without ``ADD COLUMN`` add a column."""
_SETS_TYPES: Final = {"postgres": "TYPE", "redshift": "TYPE"}
"""How dialects without ``SET DATA TYPE`` set the type of a column."""
_RESTATES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("mysql", "clickhouse"), "MODIFY COLUMN {}"),
    **dict.fromkeys(("tsql", "fabric"), "ALTER COLUMN {}"),
}
"""The clauses of dialects that repeat the whole definition of a changed column: omitted parts would be lost."""
_CHANGES_NULLS: Final = {"oracle": "MODIFY ({})"}
"""How dialects change whether a column takes nulls that have no ``ALTER COLUMN``."""
_UPDATES: Final = {
    "clickhouse": "ALTER TABLE {table} UPDATE {column} = {value} WHERE {condition} SETTINGS mutations_sync = 2"
}
"""How dialects write values of stored rows that have no ``UPDATE``, or one that does not wait for its end."""
_BINARY: Final[Mapping[str, str]] = {
    **dict.fromkeys(("postgres", "materialize", "risingwave"), "decode('{}', 'hex')"),
    **dict.fromkeys(("duckdb", "clickhouse", "databricks", "spark"), "unhex('{}')"),
    **dict.fromkeys(("tsql", "fabric"), "CONVERT(VARBINARY(MAX), '{}', 2)"),
    "mysql": "UNHEX('{}')",
    "bigquery": "FROM_HEX('{}')",
    "redshift": "TO_VARBYTE('{}', 'hex')",
    "oracle": "HEXTORAW('{}')",
}
"""How dialects write bytes that have no literal for them (``X'00'``)."""
_DEFINED_AS_IN: Final = {"athena": "hive"}
"""Dialects that define tables in the words of another dialect."""
_QUERIED_AS_IN: Final = {"athena": "trino"}
"""Dialects that read and write rows in the words of another dialect."""

_NOT_ENFORCED: Final = frozenset(("bigquery",))
"""Dialects that accept a primary key only with words that mark it as not enforced."""

_WIDTH: Final = {False: 1024, True: 2048}
"""Characters that MySQL keeps of the description of a column, and of a table."""


def cut_comment(text: str, is_table: bool) -> str:
    """Return as much of a description as MySQL keeps: its catalog is in characters of three bytes at most."""
    return re.sub("[^\0-\uffff]", "?", text)[: _WIDTH[is_table]]


@dataclass(frozen=True, slots=True)
class Dialect:
    """The SQL of an engine by sqlglot's name; with ``has_plain_texts`` our sessions escape nothing but quotes."""

    name: str
    folds: bool = False
    has_plain_texts: bool = False

    @property
    def of_rows(self) -> Dialect:
        """The dialect in which rows are read and written."""
        return replace(self, name=_QUERIED_AS_IN.get(self.name, self.name))

    @property
    def descriptions(self) -> Descriptions | None:
        """Return the words that describe tables and columns; None if the dialect does not support descriptions."""
        return _DESCRIPTIONS.get(self.name)

    @property
    def can_describe(self) -> bool:
        """Return whether statements can describe existing tables."""
        return self.descriptions is not None and bool(self.descriptions.of_table)

    @property
    def restates_columns(self) -> bool:
        """Return whether a change of a column repeats its type and nullability."""
        return self.name in _RESTATES

    @property
    def states_types(self) -> bool:
        """Return whether the description of a column repeats its type."""
        return self.descriptions is not None and "{definition}" in self.descriptions.of_column

    def quote(self, name: str) -> str:
        """Return a name as the dialect quotes it."""
        start, end, escaped, escapes = _quotes(_DEFINED_AS_IN.get(self.name, self.name))
        name = name.upper() if self.folds else name
        return start + (name.replace("\\", "\\\\") if escapes else name).replace(end, escaped) + end

    def place(self, *names: str) -> str:
        """Return the full name of a table; empty names are left out."""
        return ".".join(self.quote(name) for name in names if name)

    def text(self, text: str) -> str:
        """Return a text as the dialect writes it; it must hold no NUL."""
        from sqlglot import exp

        if self.has_plain_texts:
            return literal(text)
        written = exp.Literal.string(text).sql(_DEFINED_AS_IN.get(self.name, self.name))
        # Spark and Hive replace `${...}` by settings and environment variables everywhere in SQL.
        return written.replace("${", "\\u0024{") if self.name in ("spark", "databricks", "hive") else written

    def binary(self, value: bytes) -> str:
        """Return bytes as the dialect writes them."""
        return _BINARY.get(self.name, "X'{}'").format(value.hex())

    def defined_type(self, column: Column, kind: str) -> str:
        """Return a column's type in its definition: ClickHouse has types that take nulls."""
        return f"Nullable({kind})" if self.name == "clickhouse" and column.nullable else kind

    def definition(self, column: Column, kind: str, *, is_unique: bool = False) -> str:
        """Return the definition of a column, with its description if the dialect puts it there."""
        kind = self.defined_type(column, kind)
        constraints = f"{' UNIQUE' if is_unique else ''}{'' if column.nullable else ' NOT NULL'}"
        return f"{self.quote(column.name)} {kind}{constraints}{self.note(description_of(column))}"

    def note(self, text: str | None, *, is_table: bool = False) -> str:
        """Return the end of a definition with the description; empty if that needs a separate statement."""
        words = self.descriptions
        form = "" if words is None else words.in_table if is_table else words.in_column
        return form.format(text=self._described(text, is_table)) if text and form else ""

    def kept_description(self, text: str, is_table: bool) -> str:
        """Return as much of a description as the engine keeps."""
        return cut_comment(text, is_table) if self.name == "mysql" else text

    def _described(self, text: str, is_table: bool) -> str:
        return self.text(self.kept_description(text, is_table))

    def primary_key(self, columns: Iterable[str]) -> str:
        """Return the constraint that makes columns the primary key."""
        noted = " NOT ENFORCED" if self.name in _NOT_ENFORCED else ""
        return f"PRIMARY KEY ({', '.join(map(self.quote, columns))}){noted}"

    def create_dataset(self, dataset: str) -> str:
        """Return the statement that creates a dataset if it does not exist."""
        return f"CREATE SCHEMA IF NOT EXISTS {self.quote(dataset)}"

    def create_table(self, table: str, definitions: Sequence[str], description: str | None = None) -> str:
        """Return the statement that makes a table of definitions of columns and constraints.

        See ``comments`` for dialects with separate statements for descriptions.
        """
        return f"CREATE TABLE {table} ({', '.join(definitions)}){self.note(description, is_table=True)}"

    def comments(self, table: str, description: str | None, columns: Iterable[Column]) -> tuple[str, ...]:
        """Return the statements that describe a new table, for dialects whose definitions contain no descriptions."""
        if self.descriptions is None or self.descriptions.in_column:
            return ()
        texts = [(None, description), *((column, description_of(column)) for column in columns)]
        return tuple(self.describe(table, column, text) for column, text in texts if text)

    def describe(self, table: str, column: Column | None, text: str | None, kind: str = "") -> str:
        """Return the statement that describes a table, or a column of it.

        Without ``column`` it is the table, without ``text`` there is no description; see ``states_types`` for ``kind``.
        """
        words = self.descriptions
        assert words is not None  # no plan describes anything there
        literal = words.none if text is None else self._described(text, column is None)
        if column is None:
            return words.of_table.format(table=table, text=literal)
        name, definition = self.quote(column.name), self._bare(column, kind)
        return words.of_column.format(table=table, column=name, definition=definition, text=literal)

    def rename_table(self, table: str, *new: str) -> str:
        """Return the statement that renames a table; ``new`` may be a qualified name."""
        form = _RENAMES.get(self.name, "ALTER TABLE {table} RENAME TO {new}")
        texts = {"text_of_table": self.text(table), "text_of_new": self.text(new[-1])} if "text_of" in form else {}
        return form.format(table=table, new=self.place(*new), **texts)

    def add_column(self, table: str, definition: str) -> str:
        """Return the statement that adds a column."""
        return self.alter(table, _ADDS.get(self.name, "ADD COLUMN {}").format(definition))

    def rename_column(self, table: str, column: str, new: str) -> str:
        """Return the statement that renames a column."""
        if self.name == "singlestore":
            return self.alter(table, f"CHANGE {self.quote(column)} {self.quote(new)}")
        return self.alter(table, f"RENAME COLUMN {self.quote(column)} TO {self.quote(new)}")

    def change_type(self, table: str, column: Column, kind: str, using: str = "") -> str:
        """Return the statement that changes a column's type.

        ``using`` is the expression of its values, empty if the engine converts them.
        """
        action = f"{_SETS_TYPES.get(self.name, 'SET DATA TYPE')} {kind}{using and ' USING '}{using}"
        return self.change_column(table, column, kind, action)

    def change_column(self, table: str, column: Column, kind: str, action: str) -> str:
        """Return the statement that changes a column's type, or whether it takes nulls.

        ``action`` follows ``ALTER COLUMN`` and its name, where a dialect does not state all of a column again.
        """
        if self.restates_columns:
            definition = self._bare(column, kind) + self.note(description_of(column))
            return self.alter(table, _RESTATES[self.name].format(definition))
        return self.alter(table, f"ALTER COLUMN {self.quote(column.name)} {action}")

    def change_nulls(self, table: str, column: Column, kind: str) -> str:
        """Return the statement that allows or forbids nulls in a column; see ``change_column``."""
        if self.name in _CHANGES_NULLS:
            null = f"{self.quote(column.name)} {'NULL' if column.nullable else 'NOT NULL'}"
            return self.alter(table, _CHANGES_NULLS[self.name].format(null))
        return self.change_column(table, column, kind, f"{'DROP' if column.nullable else 'SET'} NOT NULL")

    def update(self, table: str, column: str, value: str, condition: str) -> str:
        """Return the statement that writes a value into a quoted column of rows that meet a condition."""
        form = _UPDATES.get(self.name, "UPDATE {table} SET {column} = {value} WHERE {condition}")
        return form.format(table=table, column=column, value=value, condition=condition)

    def alter(self, table: str, action: str) -> str:
        """Return ``ALTER TABLE`` with an action that is written already."""
        return f"ALTER TABLE {table} {action}"

    def _bare(self, column: Column, kind: str) -> str:
        """Return the repeated definition of a column, without its description."""
        written_type = self.defined_type(column, kind)
        is_said = self.restates_columns and written_type == kind
        null = " NOT NULL" if not column.nullable else " NULL" if is_said else ""
        return f"{self.quote(column.name)} {written_type}{null}"


@lru_cache(maxsize=64)
def _quotes(dialect: str) -> tuple[str, str, str, bool]:
    """Return how a dialect begins and ends a name, writes that end within one, and whether a backslash escapes."""
    from sqlglot import exp

    def written(name: str) -> str:
        return exp.Identifier(this=name, quoted=True).sql(dialect)

    start, end = written("n").split("n")
    return start, end, written(end)[len(start) : -len(end)], written("\\") != f"{start}\\{end}"
