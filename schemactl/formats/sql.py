"""CREATE TABLE statements in any dialect that sqlglot knows; PostgreSQL by default.

dlt's types in the dialect are used (``type_systems.sql_types``). Descriptions are database comments, hints with a
clause in the dialect are clauses; other hints are comments ``-- x-dlt``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from schemactl.errors import InputError, Location
from schemactl.formats import _tables
from schemactl.formats._fields import Codec
from schemactl.formats._losses import Document, Loss, losses_between
from schemactl.formats._relations import REFERENCE, references_of
from schemactl.formats._tables import data_tables, empty_schema, names_between, schema_hints, schema_of, table_hints
from schemactl.schema.naming import Naming, naming_of
from schemactl.schema.structure import description_of
from schemactl.schema.types import Column, Properties, Schema, Table
from schemactl.time_limit import time_limit
from schemactl.type_systems.ddl import Dialect
from schemactl.type_systems.dialect_names import resolve_dialect
from schemactl.type_systems.fields import HINTS, Field, fields_of, note
from schemactl.type_systems.sql_fields import field_of_type, spell, spell_type, unlogged, word_of
from schemactl.type_systems.sql_types import UPPER_CASE

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.dialects.dialect import Dialect as Sqlglot

    from schemactl.formats._ddl_statements import Statement

ENDINGS: Final = (".sql", ".ddl")
DEFAULT: Final = "postgres"

_STATED: Final = re.compile(rf"^\s*{HINTS}(?P<schema> schema)?: (?P<hints>\{{.*\}})\s*$", re.DOTALL)
_KEEPS_UNIQUE: Final = frozenset(("postgres", "duckdb", "sqlite", "mysql", "snowflake", "redshift", "tsql", "oracle"))
_KEEPS_KEYS: Final = frozenset((*_KEEPS_UNIQUE, "databricks", "bigquery"))

_SECONDS: Final = 60.0
"""The basic limit of processor time to parse a file; more is allowed for its characters."""

_CHARACTERS_A_SECOND: Final = 20_000

_COMMENTS_FIRST: Final = frozenset(("hive", "athena"))
"""Dialects in which the description of a table must precede its partitions."""


_CHECKS_KEYS_LATE: Final = frozenset(("sqlite",))
"""Dialects whose foreign keys may name a table that is not there yet."""

_ADDS_NO_KEYS: Final = frozenset(("duckdb",))
"""Dialects that cannot add a foreign key to an existing table: one key of a circle of tables is lost."""


@dataclass(frozen=True, slots=True)
class _Made:
    """A table created by statements; its foreign keys are inline, or late, added when all tables exist."""

    table: Table
    inline: Sequence[dict[str, Any]] = ()
    late: Sequence[dict[str, Any]] = ()

    @property
    def references(self) -> list[dict[str, Any]]:
        """Return all foreign keys, as they are read."""
        return [*self.inline, *self.late]


def _named_by(name: str, references_by_table: Mapping[str, Sequence[dict[str, Any]]]) -> list[str]:
    """Return the other tables in a table's foreign keys that are still to be created."""
    referenced_tables = (reference["referenced_table"] for reference in references_by_table[name])
    return [table_name for table_name in referenced_tables if table_name != name and table_name in references_by_table]


@dataclass(frozen=True, slots=True)
class SqlDialect:
    """The format in a dialect of sqlglot; it ``folds`` names into upper case, as dlt writes them for Snowflake."""

    name: str = DEFAULT
    has_references: bool = False
    folds: bool = False

    ENDINGS = ENDINGS

    def write(self, schema: Schema, path: str | None = None) -> str:
        """Return the statements that make the tables of a schema."""
        if self.name in UPPER_CASE and not self.folds and naming_of(schema).normalize_identifier("A") == "a":
            return replace(self, folds=True).write(schema, path)
        hints = schema_hints(schema)
        parts = [f"-- {HINTS} schema: {json.dumps(hints)}\n"] if hints else []
        ordered_tables = self._in_making_order(schema)
        parts += [self._table(ordered) for ordered in ordered_tables]
        parts += [self._late_foreign_keys(ordered) for ordered in ordered_tables if ordered.late]
        return "\n".join(parts)

    def _in_making_order(self, schema: Schema) -> list[_Made]:
        """Return the tables in an order in which a table follows the tables in its foreign keys.

        In a circle of tables, one table precedes a table in its foreign keys.
        """
        if not self.has_references:
            return [_Made(table) for table in data_tables(schema)]
        references_by_table = {table.name: references_of(table, schema) for table in data_tables(schema)}
        ordered_tables: list[_Made] = []
        while references_by_table:
            name = next((name for name in references_by_table if not _named_by(name, references_by_table)), None)
            if name is None:
                name, visited = next(iter(references_by_table)), set[str]()
                while name not in visited:  # which ends at a table of a circle
                    visited.add(name)
                    name = _named_by(name, references_by_table)[0]
            later_tables = [] if self.name in _CHECKS_KEYS_LATE else _named_by(name, references_by_table)
            keys = references_by_table.pop(name)
            late = [reference for reference in keys if reference["referenced_table"] in later_tables]
            inline = [reference for reference in keys if reference not in late]
            ordered_tables.append(_Made(schema.tables[name], inline, late if self.name not in _ADDS_NO_KEYS else []))
        return ordered_tables

    @unlogged()
    def read(self, text: str, path: str) -> Document:
        """Return the schema of the tables that a file makes."""
        seconds = _SECONDS + len(text) / _CHARACTERS_A_SECOND
        too_long = partial(InputError, f"parsing this SQL takes more than {seconds:.0f} seconds", at=Location(path))
        try:
            with time_limit(seconds, too_long, of_processor=True):
                return self._read_file(text, path)
        except RecursionError as error:
            raise InputError("this SQL is nested too deeply", at=Location(path)) from error

    def _read_file(self, text: str, path: str) -> Document:
        from sqlglot import exp
        from sqlglot.dialects.dialect import Dialect as Sqlglot

        from schemactl.formats._ddl_statements import UnreadTable, parse_statement, split_statements
        from schemactl.formats._ddl_tables import read_tables

        dialect = Sqlglot.get_or_raise(self.name)
        dialect.SUPPORTS_USER_DEFINED_TYPES = True  # A type that is not known is a loss, and no error.
        statements = list(split_statements(text, self.name, dialect))
        hints = self._schema_hints(statements, path)
        naming = naming_of(empty_schema(hints))
        trees: list[exp.Expr] = []
        table_hints: dict[str, dict[str | None, Any]] = {}
        for original in statements:
            statement = replace(original, sql=self._without_false_camel_case(original, dialect, naming))
            try:
                tree = parse_statement(statement, self.name, dialect)
            except UnreadTable as error:
                location, hint = Location(path, error.line), "correct the statement, or name another `--dialect`"
                raise InputError(f"this is not `{self.name}` SQL: {error}", at=location, hint=hint) from error
            trees.append(tree)
            if isinstance(tree, exp.Create) and (table := tree.find(exp.Table)) is not None:
                # They name tables and columns as the statement does now.
                table_hints.setdefault(table.name, self._hints(statement, path))
        records, losses = read_tables(trees, self.name, self.codec, path, table_hints)
        if not records:
            raise self._no_table(trees, path)
        schema = schema_of(records, hints, path)
        # Case is not part of most names in SQL.
        names = tuple(pair for pair in names_between(records, schema) if pair[0].lower() != pair[1])
        return Document(schema, tuple(losses), names)

    @unlogged()
    def read_definitions(
        self, definitions: Iterable[tuple[str, str]]
    ) -> tuple[dict[str, list[Properties]], list[Loss]]:
        """Return the foreign keys of a database's tables, and the parts of its statements that a schema cannot express.

        The statements would create tables or views, or belong to them. Types of columns are not lost: the database's
        catalog has them.
        """
        from sqlglot.dialects.dialect import Dialect as Sqlglot

        from schemactl.formats._ddl_statements import parse_definition
        from schemactl.formats._ddl_tables import read_tables

        dialect = Sqlglot.get_or_raise(self.name)
        trees, losses = [], []
        for table, sql in definitions:
            tree, unread = parse_definition(table, sql, self.name, dialect)
            losses += [Loss(table, "definition", text) for text in unread]
            trees += [] if tree is None else [tree]
        records, table_losses = read_tables(trees, self.name, self.codec, "", {})
        references = {record.name: list(record.properties.get("references") or ()) for record in records}
        return references, [*(loss for loss in table_losses if loss.item != "type"), *losses]

    def _no_table(self, trees: Sequence[exp.Expr], path: str) -> InputError:
        """Return the error for a script without tables; it names the first statement that is not SQL of the dialect."""
        from sqlglot import exp

        message = "there is no CREATE TABLE with columns"
        commands = [tree for tree in trees if isinstance(tree, exp.Command)]
        # A word before CREATE or a misspelled object, rather than a SET at the beginning of a dump.
        unread = next((tree for tree in commands if "create" in spell(tree, self.name).lower()), None)
        if unread is None:
            return InputError(message, at=Location(path))
        hint = "name another `--dialect`, or correct the statement"
        message = f"{message}; not read: `{spell(unread, self.name)[:80]}`"
        return InputError(message, at=Location(path, int(unread.meta["place"].removeprefix("line "))), hint=hint)

    def _without_false_camel_case(self, statement: Statement, dialect: Sqlglot, naming: Naming) -> str:
        """Return the SQL of a statement; names in capitals that would be split like camel case are in lower case.

        ``ADDR2LINE`` would become ``addr2_line``. A dialect that folds the case of names means ``addr2line``; all other
        dialects keep names as spelled.
        """
        from sqlglot.dialects.dialect import NormalizationStrategy as Folding

        from schemactl.formats._ddl_statements import tokens_of

        normalize, text = naming.normalize_identifier, statement.sql
        if dialect.normalization_strategy not in (Folding.LOWERCASE, Folding.UPPERCASE) or normalize("A") != "a":
            return text
        kinds = ("VAR", "IDENTIFIER") if self.name in UPPER_CASE else ("VAR",)
        parts, end = [], 0
        for token in tokens_of(statement, self.name):
            name = token.text
            if token.token_type.name in kinds and name.isupper() and normalize(name) != normalize(name.lower()):
                parts += [text[end : token.start], text[token.start : token.end + 1].lower()]
                end = token.end + 1
        return "".join([*parts, text[end:]])

    def losses(self, schema: Schema) -> tuple[Loss, ...]:
        """Return the losses of a schema's text: references without a foreign key, if it has foreign keys."""
        unwritten_references = (loss for ordered in self._in_making_order(schema) for loss in self._left_out(ordered))
        return (*losses_between(schema, self.read(self.write(schema), schema.name).schema), *unwritten_references)

    def _left_out(self, ordered: _Made) -> Iterator[Loss]:
        for reference in ordered.table.properties.get("references") or ():
            if self.has_references and {key: reference[key] for key in REFERENCE} not in ordered.references:
                yield Loss(ordered.table.name, "references", [reference])

    def recognises(self, text: str) -> bool:
        """Return whether a text makes a table."""
        return re.search(r"\bcreate\s+(?:or\s+replace\s+)?(?:\w+\s+)?table\b", text, re.IGNORECASE) is not None

    def _table(self, ordered: _Made) -> str:
        table, fields = ordered.table, fields_of(ordered.table)
        native = _tables.table_properties(table.name, self._comment_of(table))
        native |= {"references": ordered.references} if ordered.references else {}
        keys = [field.name for field in fields if self.codec.write(field).get("primary_key")]
        lines = [f"  {line}" for line in self._lines(fields, keys, ordered.inline)]
        clauses = "".join(f"\n{clause}" for clause in self._clauses(table))
        qualified_name = self.sql.place(table.name)
        statement = f"{self._comment(table_hints(table, native))}CREATE TABLE {qualified_name} (\n"
        statement += ",\n".join(lines) + f"\n){clauses};\n"
        comments = self.sql.comments(qualified_name, description_of(table), table.columns.values())
        return statement + "".join(f"{comment};\n" for comment in comments)

    def _lines(self, fields: list[Field], keys: list[str], references: Sequence[dict[str, Any]]) -> Iterator[str]:
        for field in fields:
            native = self.codec.write(field)
            hints = self._comment(self.codec.hints(field), "  ").lstrip()
            is_unique = bool(native.get("unique"))
            definition = self.sql.definition(_column(field), word_of(field, self.name), is_unique=is_unique)
            yield f"{hints}{'  ' if hints else ''}{definition}"
        if keys:
            yield self.sql.primary_key(keys)
        yield from map(self._foreign_key, references)

    def _foreign_key(self, reference: dict[str, Any]) -> str:
        columns, targets = (", ".join(map(self.sql.quote, reference[key])) for key in ("columns", "referenced_columns"))
        return f"FOREIGN KEY ({columns}) REFERENCES {self.sql.quote(reference['referenced_table'])} ({targets})"

    def _late_foreign_keys(self, ordered: _Made) -> str:
        name = self.sql.place(ordered.table.name)
        return "".join(f"ALTER TABLE {name} ADD {self._foreign_key(reference)};\n" for reference in ordered.late)

    @property
    def sql(self) -> Dialect:
        """How the dialect spells definitions."""
        return Dialect(self.name, folds=self.folds)

    def _comment_of(self, of: Column | Table) -> str | None:
        """Return the part of a description that the engine keeps, if any."""
        text = description_of(of) if self.sql.descriptions is not None else None
        return None if text is None else self.sql.kept_description(text, isinstance(of, Table)) or None

    def _clauses(self, table: Table) -> Iterator[str]:  # noqa: C901, PLR0912 - a case for each dialect
        """Yield the clauses of a dialect for partitions, clusters and order."""
        partition, cluster, sort = (
            [self.sql.quote(name) for name in table.hinted(hint)] for hint in ("partition", "cluster", "sort")
        )
        comment = self.sql.note(description_of(table), is_table=True).strip()
        if comment and self.name in _COMMENTS_FIRST:
            yield comment
        match self.name:
            case "bigquery":
                if partition:
                    of = table.columns[table.hinted("partition")[0]]
                    yield f"PARTITION BY {partition[0] if str(of.data_type) == 'date' else f'DATE({partition[0]})'}"
                if cluster:
                    yield f"CLUSTER BY {', '.join(cluster)}"
            case "snowflake" if cluster:
                yield f"CLUSTER BY ({', '.join(cluster)})"
            case "databricks" | "spark" | "hive" | "athena":
                if partition:
                    yield f"PARTITIONED BY ({', '.join(partition)})"
                elif cluster and self.name == "databricks":
                    yield f"CLUSTER BY ({', '.join(cluster)})"
            case "redshift":
                if cluster:
                    yield f"DISTKEY ({cluster[0]})"
                if sort:
                    yield f"SORTKEY ({', '.join(sort)})"
            case "clickhouse":
                yield "ENGINE = MergeTree"
                if partition:
                    yield f"PARTITION BY ({', '.join(partition)})"
                yield f"ORDER BY ({', '.join(sort)})" if sort else "ORDER BY tuple()"
                ordering = [*table.hinted("partition"), *table.hinted("sort")]
                if any(table.columns[name].nullable for name in ordering):
                    yield "SETTINGS allow_nullable_key = 1"
        if comment and self.name not in _COMMENTS_FIRST:
            yield comment

    def _comment(self, hints: dict[str, Any], indent: str = "") -> str:
        return f"{indent}-- {HINTS}: {json.dumps(hints)}\n" if hints else ""

    @property
    def codec(self) -> Codec[dict[str, Any]]:
        """The codec of columns."""
        return Codec(self._write, self._read)

    def _write(self, field: Field) -> dict[str, Any]:
        is_key = field.properties.get("primary_key") is True and self.name in _KEEPS_KEYS
        is_unique = field.properties.get("unique") is True and self.name in _KEEPS_UNIQUE
        return {
            "type": _canonical(self.sql.defined_type(_column(field), word_of(field, self.name)), self.name),
            **({"not_null": True} if not field.nullable else {}),
            **({"primary_key": True} if is_key and not field.nullable else {}),
            **({"unique": True} if is_unique else {}),
            **note(self._comment_of(_column(field)), "comment"),
        }

    def _read(self, name: str, native: dict[str, Any]) -> Field:
        field = field_of_type(name, native["type"], self.name)
        properties: dict[str, Any] = {**field.properties, "nullable": not native.get("not_null")}
        properties |= {"primary_key": True} if native.get("primary_key") else {}
        properties |= {"unique": True} if native.get("unique") else {}
        properties |= note(native.get("comment"))
        return replace(field, properties=properties)

    def _schema_hints(self, statements: Sequence[Statement], path: str) -> Any:
        """Return the hints of the schema in our own comments, if any."""
        schema_hints = (
            hints for statement in statements for is_schema, _, hints in self._hints_in(statement, path) if is_schema
        )
        return next(schema_hints, None)

    def _hints(self, statement: Statement, path: str) -> dict[str | None, Any]:
        """Return the hints of each column in our own comments in CREATE TABLE, of the table under None."""
        return {name: hints for is_schema, name, hints in self._hints_in(statement, path) if not is_schema}

    def _hints_in(self, statement: Statement, path: str) -> Iterator[tuple[bool, str | None, Any]]:
        """Yield whether a comment is of the schema, the column that it is of, and the hints in it."""
        from schemactl.formats._ddl_statements import tokens_of

        for token in tokens_of(statement, self.name) if HINTS in statement.sql else ():
            for comment in filter(None, map(_STATED.match, token.comments)):
                try:
                    hints = json.loads(comment["hints"])
                except (ValueError, RecursionError) as error:
                    location = Location(path, statement.sql_line - 1 + token.line)
                    raise InputError(f"`{HINTS}` is followed by JSON", at=location) from error
                yield bool(comment["schema"]), None if token.token_type.name == "CREATE" else token.text, hints


def _column(field: Field) -> Column:
    return Column(field.name, {**field.properties, "nullable": field.nullable})


@cache
def _canonical(text: str, dialect: str) -> str:
    """Return a type as sqlglot spells it."""
    from sqlglot import exp

    return spell_type(exp.DataType.build(text, dialect=dialect), dialect)


_POSTGRES: Final = SqlDialect()
write, read, recognises = _POSTGRES.write, _POSTGRES.read, _POSTGRES.recognises


def in_dialect(name: str | None, *, has_references: bool = False) -> SqlDialect:
    """Return the format in a dialect; None for PostgreSQL."""
    return SqlDialect(resolve_dialect(name or DEFAULT), has_references)
