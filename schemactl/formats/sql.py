"""SQL's CREATE TABLE in any dialect that sqlglot knows; PostgreSQL's where none is named.

Types are those that dlt's destination for the dialect gives columns (``schema.sql_types``). Descriptions are comments
of the database, hints that an engine has words for are clauses; what SQL does not say stands in comments ``-- x-dlt``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from schemactl.errors import InputError, Location
from schemactl.formats import _tables
from schemactl.formats._ddl_types import field_of_type, implied_by, option_description, spell_type, unlogged, word_of
from schemactl.formats._fields import HINTS, Codec, Field, fields_of, losses_of, note
from schemactl.formats._losses import Document, Loss, losses_between
from schemactl.formats._relations import REFERENCE, references_of
from schemactl.formats._tables import Record, data_tables, empty_schema, record, schema_hints, schema_of, table_hints
from schemactl.schema.ddl import Dialect
from schemactl.schema.dialects import resolve_dialect
from schemactl.schema.naming import Naming, naming_of
from schemactl.schema.sql_types import UPPER_CASE, readable
from schemactl.schema.structure import description_of
from schemactl.schema.types import Column, Schema, Table

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.dialects.dialect import Dialect as Sqlglot

ENDINGS: Final = (".sql", ".ddl")
DEFAULT: Final = "postgres"

_STATED: Final = re.compile(rf"^\s*{HINTS}(?P<schema> schema)?: (?P<hints>\{{.*\}})\s*$", re.DOTALL)
_KEEPS_UNIQUE: Final = frozenset(("postgres", "duckdb", "sqlite", "mysql", "snowflake", "redshift", "tsql", "oracle"))
_KEEPS_KEYS: Final = frozenset((*_KEEPS_UNIQUE, "databricks", "bigquery"))

_LAYOUT: Final = {
    "PartitionedByProperty": "partition", "ClusterProperty": "cluster", "DistKeyProperty": "cluster",
    "SortKeyProperty": "sort", "Order": "sort",
}  # fmt: skip
"""The hint that a clause of sqlglot's is for the columns that it names."""

_COMMENTS_FIRST: Final = frozenset(("hive", "athena"))
"""Dialects that take the description of a table only before what partitions it."""


_CHECKS_KEYS_LATE: Final = frozenset(("sqlite",))
"""Dialects whose foreign keys may name a table that is not there yet."""

_ADDS_NO_KEYS: Final = frozenset(("duckdb",))
"""Dialects that add no foreign key to a table that is there: one of a circle of tables is lost."""

_OPTIONS_THAT_HOLD: Final = frozenset((
    "ON DELETE NO ACTION", "ON UPDATE NO ACTION", "NOT DEFERRABLE", "INITIALLY IMMEDIATE", "MATCH SIMPLE",
))  # fmt: skip
"""Options of foreign keys that hold where none is stated."""


@dataclass(frozen=True, slots=True)
class _Made:
    """A table that statements make, with its foreign keys.

    Attributes:
        inline: those within CREATE TABLE.
        late: those that are added when all tables are there.
    """

    table: Table
    inline: Sequence[dict[str, Any]] = ()
    late: Sequence[dict[str, Any]] = ()

    @property
    def references(self) -> list[dict[str, Any]]:
        """Return all foreign keys, as they are read."""
        return [*self.inline, *self.late]


def _named_by(name: str, waiting: Mapping[str, Sequence[dict[str, Any]]]) -> list[str]:
    """Return the other tables that a table's foreign keys name, of those that wait to be made."""
    named = (each["referenced_table"] for each in waiting[name])
    return [each for each in named if each != name and each in waiting]


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
        made = self._in_making_order(schema)
        parts += [self._table(each) for each in made]
        parts += [self._late_foreign_keys(each) for each in made if each.late]
        return "\n".join(parts)

    def _in_making_order(self, schema: Schema) -> list[_Made]:
        """Return the tables in an order in which a table comes after those that its foreign keys name.

        Of tables that name each other in a circle one comes before a table that it names.
        """
        if not self.has_references:
            return [_Made(table) for table in data_tables(schema)]
        waiting = {table.name: references_of(table, schema) for table in data_tables(schema)}
        made: list[_Made] = []
        while waiting:
            name = next((name for name in waiting if not _named_by(name, waiting)), None)
            if name is None:
                name, seen = next(iter(waiting)), set[str]()
                while name not in seen:  # which ends at a table of a circle
                    seen.add(name)
                    name = _named_by(name, waiting)[0]
            unmade = [] if self.name in _CHECKS_KEYS_LATE else _named_by(name, waiting)
            keys = waiting.pop(name)
            late = [each for each in keys if each["referenced_table"] in unmade]
            inline = [each for each in keys if each not in late]
            made.append(_Made(schema.tables[name], inline, late if self.name not in _ADDS_NO_KEYS else []))
        return made

    @unlogged()
    def read(self, text: str, path: str) -> Document:
        """Return the schema of the tables that a file makes."""
        from sqlglot import exp, parse
        from sqlglot.dialects.dialect import Dialect as Sqlglot
        from sqlglot.errors import SqlglotError

        dialect = Sqlglot.get_or_raise(self.name)
        dialect.SUPPORTS_USER_DEFINED_TYPES = True  # A type that is not known is a loss, and no error.
        try:
            hints, _ = self._hints(text, path)
            text = self._without_false_camel_case(text, dialect, naming_of(empty_schema(hints)))
            hints, tables = self._hints(text, path)  # which name tables and columns as the text does now
            parsed = parse(readable(text, self.name), read=dialect)
            statements = [each for each in parsed if each is not None]
        except SqlglotError as error:
            details = (getattr(error, "errors", None) or [{}])[0]
            # sqlglot would show its token, as Python does.
            reason = (details.get("description") or str(error).splitlines()[0]).partition(" but got <Token ")[0]
            at, hint = Location(path, details.get("line") or None), "name another `--dialect`"
            raise InputError(f"this is not `{self.name}` SQL: {reason}", at=at, hint=hint) from error
        except RecursionError as error:
            raise InputError("this SQL is nested too deeply", at=Location(path)) from error
        losses: list[Loss] = []
        made: dict[str, _Table] = {}
        for statement in statements:
            if (
                isinstance(statement, exp.Create)
                and statement.kind == "TABLE"
                and isinstance(statement.this, exp.Schema)
            ):
                table = _Table(statement, self, path, tables.get(statement.this.this.name, {}))
                if table.name in made:
                    raise InputError(f"two statements make a table `{table.name}`", at=Location(path))
                made[table.name] = table
            elif isinstance(statement, exp.Comment) and (noted := made.get(_commented(statement))) is not None:
                noted.comment(statement)
            elif isinstance(statement, exp.Alter) and (altered := made.get(statement.this.name)) is not None:
                altered.alter(statement)
            else:
                losses.append(Loss("", "statement", statement.sql(self.name)[:80]))
        if not made:
            raise self._no_table(text, path, parsed)
        of_tables = (loss for table in made.values() for loss in table.losses)
        return Document(schema_of([table.record() for table in made.values()], hints, path), (*of_tables, *losses))

    def _without_false_camel_case(self, text: str, dialect: Sqlglot, naming: Naming) -> str:
        """Return SQL with those names in lower case that are in capitals and would be split like camel case.

        ``ADDR2LINE`` would become ``addr2_line``. A dialect that folds the case of names means ``addr2line``; in the
        others names are as they are spelled.
        """
        from sqlglot import tokenize
        from sqlglot.dialects.dialect import NormalizationStrategy as Folding

        normalize = naming.normalize_identifier
        if dialect.normalization_strategy not in (Folding.LOWERCASE, Folding.UPPERCASE) or normalize("A") != "a":
            return text
        kinds = ("VAR", "IDENTIFIER") if self.name in UPPER_CASE else ("VAR",)
        for token in reversed(tokenize(text, read=self.name)):
            name = token.text
            if token.token_type.name in kinds and name.isupper() and normalize(name) != normalize(name.lower()):
                text = text[: token.start] + text[token.start : token.end + 1].lower() + text[token.end + 1 :]
        return text

    def _no_table(self, text: str, path: str, parsed: Sequence[exp.Expr | None]) -> InputError:
        """Return the error for a text without tables; it names the first statement that is no SQL of the dialect."""
        from sqlglot import exp, tokenize

        message = "there is no CREATE TABLE with columns"
        first = next((each for each in parsed if isinstance(each, exp.Command)), None)
        if first is None:
            return InputError(message, at=Location(path))
        tokens = tokenize(text, read=self.name)
        after = zip((None, *tokens), tokens, strict=False)
        starts = [token.line for before, token in after if before is None or before.token_type.name == "SEMICOLON"]
        line = starts[parsed.index(first)] if len(starts) == len(parsed) else None
        hint = "name another `--dialect`, or mend the statement"
        return InputError(f"{message}; not read: `{first.sql(self.name)[:80]}`", at=Location(path, line), hint=hint)

    def losses(self, schema: Schema) -> tuple[Loss, ...]:
        """Return what the text of a schema does not say of it: references without a foreign key, where it has some."""
        left_out = (loss for each in self._in_making_order(schema) for loss in self._left_out(each))
        return (*losses_between(schema, self.read(self.write(schema), schema.name).schema), *left_out)

    def _left_out(self, made: _Made) -> Iterator[Loss]:
        for each in made.table.properties.get("references") or ():
            if self.has_references and {key: each[key] for key in REFERENCE} not in made.references:
                yield Loss(made.table.name, "references", [each])

    def recognises(self, text: str) -> bool:
        """Return whether a text makes a table."""
        return re.search(r"\bcreate\s+(?:or\s+replace\s+)?(?:\w+\s+)?table\b", text, re.IGNORECASE) is not None

    def _table(self, of: _Made) -> str:
        table, fields = of.table, fields_of(of.table)
        native = _tables.table_properties(table.name, self._kept(table))
        native |= {"references": of.references} if of.references else {}
        keys = [field.name for field in fields if self.codec.write(field).get("primary_key")]
        lines = [f"  {line}" for line in self._lines(fields, keys, of.inline)]
        after = "".join(f"\n{clause}" for clause in self._clauses(table))
        place = self.sql.place(table.name)
        made = f"{self._comment(table_hints(table, native))}CREATE TABLE {place} (\n"
        made += ",\n".join(lines) + f"\n){after};\n"
        comments = self.sql.comments(place, description_of(table), table.columns.values())
        return made + "".join(f"{each};\n" for each in comments)

    def _lines(self, fields: list[Field], keys: list[str], references: Sequence[dict[str, Any]]) -> Iterator[str]:
        for field in fields:
            written = self.codec.write(field)
            hints = self._comment(self.codec.hints(field), "  ").lstrip()
            made = self.sql.definition(_column(field), word_of(field, self.name), is_unique=bool(written.get("unique")))
            yield f"{hints}{'  ' if hints else ''}{made}"
        if keys:
            yield self.sql.primary_key(keys)
        yield from map(self._foreign_key, references)

    def _foreign_key(self, reference: dict[str, Any]) -> str:
        columns, others = (", ".join(map(self.sql.quote, reference[key])) for key in ("columns", "referenced_columns"))
        return f"FOREIGN KEY ({columns}) REFERENCES {self.sql.quote(reference['referenced_table'])} ({others})"

    def _late_foreign_keys(self, of: _Made) -> str:
        place = self.sql.place(of.table.name)
        return "".join(f"ALTER TABLE {place} ADD {self._foreign_key(each)};\n" for each in of.late)

    @property
    def sql(self) -> Dialect:
        """How the dialect spells definitions."""
        return Dialect(self.name, folds=self.folds)

    def _kept(self, of: Column | Table) -> str | None:
        """Return what the engine keeps of a description; None where it has no words for one."""
        text = description_of(of) if self.sql.descriptions is not None else None
        return None if text is None else self.sql.kept_description(text, isinstance(of, Table)) or None

    def _clauses(self, table: Table) -> Iterator[str]:  # noqa: C901, PLR0912 - a case for each dialect
        """Yield what a dialect says of partitions, clusters and order."""
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
            **note(self._kept(_column(field)), "comment"),
        }

    def _read(self, name: str, native: dict[str, Any]) -> Field:
        field = field_of_type(name, native["type"], self.name)
        properties: dict[str, Any] = {**field.properties, "nullable": not native.get("not_null")}
        properties |= {"primary_key": True} if native.get("primary_key") else {}
        properties |= {"unique": True} if native.get("unique") else {}
        properties |= note(native.get("comment"))
        return replace(field, properties=properties)

    def _hints(self, text: str, path: str) -> tuple[Any, dict[str, dict[str | None, Any]]]:
        """Return what our own comments state: of the schema, and by table of each column, of the table under None."""
        from sqlglot.dialects.dialect import Dialect as Sqlglot

        schema: Any = None
        tables: dict[str, dict[str | None, Any]] = {}
        made: dict[str | None, Any] = {}
        name: str | None = None
        for token in Sqlglot.get_or_raise(self.name).tokenize(text):
            is_create = token.token_type.name == "CREATE"
            if is_create:
                made, name = {}, ""
            elif name is not None and token.token_type.name == "L_PAREN":
                # What stands before the columns is the name of the table.
                tables.setdefault(name, made)
                name = None
            elif name is not None:
                name = token.text
            for stated in filter(None, map(_STATED.match, token.comments)):
                try:
                    hints = json.loads(stated["hints"])
                except (ValueError, RecursionError) as error:
                    raise InputError(f"`{HINTS}` is followed by JSON", at=Location(path, token.line)) from error
                if stated["schema"]:
                    schema = hints
                else:
                    made[None if is_create else token.text] = hints
        return schema, tables


class _Table:
    """A table that a file makes, as far as it was read."""

    def __init__(self, created: exp.Create, dialect: SqlDialect, path: str, hints: dict[str | None, Any]) -> None:
        from sqlglot import exp

        self._dialect, self._path, self._hints = dialect, path, hints
        self.losses: list[Loss] = []
        self.name = created.this.this.name
        self._note: str | None = None
        self._references: list[dict[str, Any]] = []
        self._natives: dict[str, dict[str, Any]] = {}
        self._layout: dict[str, dict[str, Any]] = {}
        for each in created.this.expressions:
            if isinstance(each, exp.ColumnDef | exp.Identifier):  # SQLite needs no type
                column = each if isinstance(each, exp.ColumnDef) else exp.ColumnDef(this=each)
                self._natives[column.name] = self._column(column)
            else:
                self._constrain(each)
        for each in created.args.get("properties") or ():
            if isinstance(each, exp.SchemaCommentProperty):
                self._note = each.this.name
            elif each.name.lower() == "description":
                self._note = each.args["value"].name
            elif (hint := _LAYOUT.get(type(each).__name__)) is not None:
                self._lay_out(each, hint)

    def _lay_out(self, stated: exp.Expression, hint: str) -> None:
        """Take what is said of partitions, clusters or order where plain columns say it; it is lost otherwise."""
        from sqlglot import exp

        for column in stated.find_all(exp.ColumnDef):  # Hive states columns there
            self._natives[column.name] = self._column(column)
        names = _columns_in(stated)
        if names is None or not self._natives.keys() >= set(names):
            self.losses.append(Loss(self.name, "clause", stated.sql(self._dialect.name)))
            return
        for name in names:
            self._layout.setdefault(name, {})[hint] = True

    def _column(self, stated: exp.ColumnDef) -> dict[str, Any]:
        from sqlglot import exp

        place = f"{self.name}.{stated.name}"
        kind = stated.args.get("kind")
        native: dict[str, Any] = {"type": spell_type(kind, self._dialect.name) if kind is not None else "text"}
        if kind is None:
            self.losses.append(Loss(place, "type", {"type": "none stated"}, {"data_type": "text"}))
        else:
            self.losses += losses_of([field_of_type(stated.name, native["type"], self._dialect.name)], self.name)
            native |= dict.fromkeys(implied_by(native["type"], self._dialect.name), True)
        for constraint in stated.constraints:
            match constraint.kind:
                case exp.NotNullColumnConstraint() as null:
                    native["not_null"] = not null.args.get("allow_null")
                case exp.PrimaryKeyColumnConstraint():
                    native |= {"primary_key": True, "not_null": True}
                case exp.UniqueColumnConstraint():
                    native["unique"] = True
                case exp.CommentColumnConstraint() as comment:
                    native["comment"] = comment.this.name
                case exp.Reference() as reference:
                    self._refer([stated.name], reference)
                case exp.Properties() as properties if (note_ := option_description(properties)) is not None:
                    native["comment"] = note_
                case other:
                    self.losses.append(Loss(place, "constraint", other.sql(self._dialect.name)))
        return native

    def _constrain(self, stated: exp.Expression) -> None:
        from sqlglot import exp

        if isinstance(stated, exp.Constraint):
            for each in stated.expressions:
                self._constrain(each)
            return
        names = [each.name for each in stated.expressions] if not isinstance(stated, exp.UniqueColumnConstraint) else []
        match stated:
            case exp.PrimaryKey():
                for name in names:
                    self._natives.get(name, {}).update(primary_key=True, not_null=True)
            case exp.UniqueColumnConstraint(this=exp.Schema(expressions=[exp.Column() as column])):
                self._natives.get(column.name, {}).update(unique=True)
            case exp.ForeignKey():
                self._refer(names, stated.args.get("reference"))
            case _:
                self.losses.append(Loss(self.name, "constraint", stated.sql(self._dialect.name)))

    def _refer(self, columns: list[str], reference: exp.Expression | None) -> None:
        from sqlglot import exp

        if reference is None or not isinstance(target := reference.this, exp.Schema | exp.Table):
            return
        table, others = target.name, list(columns)
        if isinstance(target, exp.Schema):
            table, others = target.this.name, [each.name for each in target.expressions]
        self._references.append({"columns": columns, "referenced_table": table, "referenced_columns": others})
        for option in map(str.upper, reference.args.get("options") or ()):
            if option not in _OPTIONS_THAT_HOLD:
                self.losses.append(Loss(f"{self.name}.{','.join(columns)}", "constraint", option))

    def comment(self, stated: exp.Comment) -> None:
        """Take what ``COMMENT ON`` says of the table or a column."""
        text = stated.expression.name
        if _is_of_table(stated):
            self._note = text
        elif stated.this.name in self._natives:
            self._natives[stated.this.name]["comment"] = text

    def alter(self, stated: exp.Alter) -> None:
        """Take the constraints that ``ALTER TABLE`` adds and which columns take nulls; the rest is lost."""
        from sqlglot import exp

        for action in stated.args.get("actions") or ():
            match action:
                case exp.AddConstraint():
                    for each in action.expressions:
                        self._constrain(each)
                case exp.AlterColumn(args={"allow_null": bool(allows)}) if action.name in self._natives:
                    self._natives[action.name]["not_null"] = not allows
                case _:
                    self.losses.append(Loss(self.name, "statement", stated.sql(self._dialect.name)[:80]))

    def record(self) -> Record:
        """Return the table as formats take it."""
        codec, hints = self._dialect.codec, self._hints
        columns = [
            (name, {**codec.restored(name, native, hints.get(name), self._path), **self._layout.get(name, {})})
            for name, native in self._natives.items()
        ]
        more = {"references": self._references} if self._references else {}
        return record(self.name, columns, self._note, hints.get(None), **more)


def _columns_in(stated: exp.Expression) -> list[str] | None:
    """Return the columns that a clause names, a time also by its day; None where it names more than columns."""
    from sqlglot import exp

    parts: Sequence[exp.Expression]
    match stated:
        case exp.Identifier() | exp.Column() | exp.ColumnDef():
            return [stated.name]
        case exp.Date() | exp.Paren() | exp.Ordered() | exp.PartitionedByProperty() | exp.DistKeyProperty():
            parts = [stated.this]
        case exp.SortKeyProperty():
            parts = stated.this
        case exp.Schema() | exp.Tuple() | exp.Struct() | exp.ClusterProperty() | exp.Order():
            parts = stated.expressions
        case _:
            return None
    found = [_columns_in(each) for each in parts]
    return None if None in found else [name for names in found if names for name in names]


def _commented(comment: exp.Comment) -> str:
    """Return the name of the table that a comment is about."""
    return str(comment.this.name if _is_of_table(comment) else comment.this.table)


def _is_of_table(comment: exp.Comment) -> bool:
    return str(comment.args.get("kind")).upper() == "TABLE"


def _column(field: Field) -> Column:
    return Column(field.name, {**field.properties, "nullable": field.nullable})


@cache
def _canonical(text: str, dialect: str) -> str:
    """Return a type as sqlglot spells it, whoever wrote it."""
    from sqlglot import exp

    return spell_type(exp.DataType.build(text, dialect=dialect), dialect)


_POSTGRES: Final = SqlDialect()
write, read, recognises = _POSTGRES.write, _POSTGRES.read, _POSTGRES.recognises


def in_dialect(name: str | None, *, has_references: bool = False) -> SqlDialect:
    """Return the format in a dialect; None for PostgreSQL."""
    return SqlDialect(resolve_dialect(name or DEFAULT), has_references)
