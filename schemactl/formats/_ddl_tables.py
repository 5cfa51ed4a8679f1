"""Reads the tables that statements of sqlglot's create and alter.

Each argument of each node is read or reported as a loss: a clause that this module does not know is a loss as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from sqlglot import exp

from schemactl.errors import InputError, Location
from schemactl.formats._fields import Codec, losses_of
from schemactl.formats._losses import Loss
from schemactl.formats._tables import Record, record
from schemactl.type_systems.sql_fields import field_of_type, implied_by, kind_of, read_options, spell, spell_type

_LAYOUT: Final = {
    "PartitionedByProperty": "partition", "ClusterProperty": "cluster", "DistKeyProperty": "cluster",
    "SortKeyProperty": "sort", "Order": "sort",
}  # fmt: skip
"""The hint that a clause of sqlglot's is for the columns that it names."""

_DEFAULT_OPTIONS: Final = frozenset((
    "ON DELETE NO ACTION", "ON UPDATE NO ACTION", "NOT DEFERRABLE", "INITIALLY IMMEDIATE", "MATCH SIMPLE",
))  # fmt: skip
"""The default options of keys."""

_WORDS: Final = {"nulls": "NULLS NOT DISTINCT"}
"""SQL words of constraint options, by sqlglot's name, if they differ."""

_NOT_ENFORCED: Final = frozenset(("bigquery", "snowflake", "databricks"))
"""Dialects whose keys are only enforced if declared so."""

_DEFAULT_CLAUSES: Final = {
    "clickhouse": frozenset(("ENGINE=MERGETREE", "ENGINE=MERGETREE()", "SETTINGS ALLOW_NULLABLE_KEY = 1")),
    "mysql": frozenset(("ENGINE=INNODB",)),
    "databricks": frozenset(("USING DELTA",)),
    "postgres": frozenset(("USING HEAP",)),
    "doris": frozenset(("ENGINE=OLAP",)),
    "starrocks": frozenset(("ENGINE=OLAP",)),
}
"""Default clauses of a table, and clauses that only permit the declared columns."""


@dataclass(frozen=True, slots=True)
class _Reference:
    """A foreign key: columns of a table of a dataset, empty if not named, or None for its primary key."""

    columns: list[str]
    table: str
    dataset: str
    other_columns: list[str] | None
    text: str


def read_tables(
    statements: Sequence[exp.Expr], dialect: str, codec: Codec[dict[str, Any]], path: str, hints: Mapping[str, Any]
) -> tuple[list[Record], list[Loss]]:
    """Return the tables that statements create, and the losses.

    The statements have their location for losses in ``meta["place"]``. The hints are by table of each column, and under
    None of the table.
    """
    tables: dict[str, _Table] = {}
    losses: list[Loss] = []

    def create(name: str) -> _Table:
        if name in tables:
            raise InputError(f"two statements create a table `{name}`", at=Location(path))
        tables[name] = _Table(name, dialect, tables)
        return tables[name]

    for statement in statements:
        table = None if isinstance(statement, exp.Create) else tables.get(_altered_table(statement))
        match statement:
            case exp.Create(this=exp.Schema(this=exp.Table() as table_node)) if _is_table(statement):
                create(table_node.name).define(statement)
                continue
            case exp.Create(this=exp.Table() as table_node) if _is_table(statement):
                source = _copied_table(statement)
                if source is not None and source.name in tables:
                    copy = create(table_node.name)
                    copy.copy_columns(tables[source.name], has_keys=True)
                    copy.define(statement)
                    continue
            case exp.Comment() if table is not None and table.comment(statement):
                continue
            case exp.Alter() if table is not None and _is_table(statement):
                table.alter(statement)
                continue
        losses.append(Loss(statement.meta.get("place", ""), "statement", _spelled(statement, dialect)))
    records = [table.record(codec, path, hints.get(name, {})) for name, table in tables.items()]
    return records, [*(loss for table in tables.values() for loss in table.losses), *losses]


def _is_table(statement: exp.Create | exp.Alter) -> bool:
    return str(statement.args.get("kind")).upper() == "TABLE"


def _altered_table(statement: exp.Expr) -> str:
    """Return the name of the table that a statement comments on or alters; empty if it does neither."""
    target = statement.this if isinstance(statement, exp.Alter | exp.Comment) else None
    return str(target.table if isinstance(target, exp.Column) else target.name if isinstance(target, exp.Table) else "")


def _copied_table(created: exp.Create) -> exp.Table | None:
    """Return the table that ``LIKE`` or ``CLONE`` names; None if it creates no copy."""
    for clause in (created.args.get("clone"), *(created.args.get("properties") or ())):
        if isinstance(clause, exp.Clone | exp.LikeProperty) and isinstance(clause.this, exp.Table):
            return clause.this
    return None


def _spelled(node: Any, dialect: str) -> str:
    """Return a node, a list of nodes or an option of sqlglot's as SQL."""
    if isinstance(node, exp.Expression):
        return spell(node, dialect)
    return ", ".join(_spelled(item, dialect) for item in node) if isinstance(node, list) else str(node)


def _unread_args(node: exp.Expression, *read: str) -> Iterator[tuple[str, Any]]:
    """Yield the unread arguments of a node that contain information."""
    for key, value in node.args.items():
        if isinstance(value, exp.IndexParameters) and not any(value.args.values()):
            continue
        if value and key not in read:
            yield key, value


class _Table:
    """A table, as far as its statements were read.

    ``natives`` are the columns, in the form that the codec of the format reads.
    """

    def __init__(self, name: str, dialect: str, tables: Mapping[str, _Table]) -> None:
        self.name = name
        self.losses: list[Loss] = []
        self.natives: dict[str, dict[str, Any]] = {}
        self._dialect, self._tables = dialect, tables
        self._dataset = ""
        self._note: str | None = None
        self._references: list[_Reference] = []
        self._layout: dict[str, dict[str, Any]] = {}

    def define(self, created: exp.Create) -> None:
        """Read CREATE TABLE."""
        schema = created.this
        table_node = schema.this if isinstance(schema, exp.Schema) else schema
        self._dataset = table_node.db
        for member in schema.expressions if isinstance(schema, exp.Schema) else ():
            match member:
                case exp.ColumnDef():
                    self.natives[member.name] = self._column(member)
                case exp.Identifier():  # SQLite needs no type
                    self.natives[member.name] = self._column(exp.ColumnDef(this=member))
                case exp.LikeProperty():
                    self._like(member)
                case _:
                    self._constrain(member)
        for clause in created.args.get("properties") or ():
            self._clause(clause)
        # Whether and how to create the table is nothing of the table.
        read_args = ("this", "kind", "exists", "replace", "properties", "concurrently")
        copies = ("clone",) if table_node is schema else ()
        for node, args in ((created, (*read_args, *copies)), (table_node, ("this", "db", "catalog"))):
            for key, value in _unread_args(node, *args):
                self._lose("clause", key.upper() if value is True else value)

    def _lose(self, kind: str, node: Any, column: str | None = None) -> None:
        path = self.name if column is None else f"{self.name}.{column}"
        self.losses.append(Loss(path, kind, _spelled(node, self._dialect)))

    def _lose_args(self, node: exp.Expression, column: str | None, *read: str) -> None:
        """Report the unread arguments of a constraint, except for defaults."""
        for key, value in _unread_args(node, *read):
            words = _WORDS.get(key, key.replace("_", " ").upper())
            options = value if key == "options" else [words if value is True else value]
            for option in options:
                text = _spelled(option, self._dialect)
                is_usual = self._dialect in _NOT_ENFORCED and text.upper() == "NOT ENFORCED"
                if text.upper() not in _DEFAULT_OPTIONS and not is_usual:
                    self._lose("constraint", text, column)

    # Clauses of the table

    def _clause(self, clause: exp.Expression) -> None:
        match clause:
            case exp.SchemaCommentProperty():
                self._note = clause.this.name
            case exp.Property() if type(clause) is exp.Property and clause.name.lower() == "description":
                self._note = clause.args["value"].name
            case exp.InheritsProperty():
                self._inherit(clause)
            case exp.PrimaryKey():
                self._constrain(clause)
            case exp.UniqueKeyProperty(expressions=[exp.Identifier() as column]) if column.name in self.natives:
                self.natives[column.name]["unique"] = True
            case exp.LikeProperty() if clause.this.name in self._tables and not clause.expressions:
                pass  # copied before
            case _ if (hint := _LAYOUT.get(type(clause).__name__)) is not None:
                self._lay_out(clause, hint)
            case _ if _spelled(clause, self._dialect).upper() not in _DEFAULT_CLAUSES.get(self._dialect, ()):
                self._lose("clause", clause)

    def _inherit(self, clause: exp.InheritsProperty) -> None:
        """Read PostgreSQL's INHERITS: columns of parents come first, without their keys; that they go on is lost."""
        declared_natives, self.natives = self.natives, {}
        for parent in clause.expressions:
            if parent.name in self._tables:
                self.copy_columns(self._tables[parent.name], has_keys=False)
        for name, native in declared_natives.items():
            inherited = {"not_null": True} if self.natives.get(name, {}).get("not_null") else {}
            self.natives[name] = {**native, **inherited}
        self._lose("clause", clause)

    def _like(self, clause: exp.LikeProperty) -> None:
        """Read ``LIKE other`` among the columns."""
        options = {(option.name.upper(), option.args["value"].name.upper()) for option in clause.expressions}
        if clause.this.name not in self._tables:
            self._lose("clause", clause)
            return
        self.copy_columns(
            self._tables[clause.this.name],
            has_keys=bool(options & {("INCLUDING", "ALL"), ("INCLUDING", "INDEXES")}),
            has_notes=bool(options & {("INCLUDING", "ALL"), ("INCLUDING", "COMMENTS")}),
        )

    def copy_columns(self, source: _Table, *, has_keys: bool, has_notes: bool | None = None) -> None:
        """Add the columns of another table, with their keys and descriptions if the statement copies them."""
        left_out = () if has_keys else ("primary_key", "unique")
        left_out = left_out if (has_keys if has_notes is None else has_notes) else (*left_out, "comment")
        for name, native in source.natives.items():
            self.natives[name] = {key: value for key, value in native.items() if key not in left_out}

    def _lay_out(self, clause: exp.Expression, hint: str) -> None:
        """Read partitions, clusters or an order of plain columns; report any other clause as lost."""
        inner = clause.this
        for column in inner.expressions if isinstance(inner, exp.Schema) else ():
            if isinstance(column, exp.ColumnDef):  # Hive defines columns there
                self.natives[column.name] = self._column(column)
        names = _columns_in(clause)
        if names is None or not self.natives.keys() >= set(names):
            self._lose("clause", clause)
            return
        for name in names:
            self._layout.setdefault(name, {})[hint] = True

    # Columns

    def _column(self, column: exp.ColumnDef) -> dict[str, Any]:
        kind = column.args.get("kind")
        native: dict[str, Any] = {"type": "text" if kind is None else spell_type(kind, self._dialect)}
        if kind is None:
            path = f"{self.name}.{column.name}"
            self.losses.append(Loss(path, "type", {"type": "unspecified"}, {"data_type": "text"}))
        else:
            self.losses += losses_of([field_of_type(column.name, native["type"], self._dialect)], self.name)
            native |= dict.fromkeys(implied_by(native["type"], self._dialect), True)
        for constraint in column.constraints:
            self._constrain_column(column.name, native, kind_of(constraint))
        self._lose_args(column, column.name, "this", "kind", "constraints", "exists")
        return native

    def _constrain_column(self, name: str, native: dict[str, Any], constraint: exp.Expr) -> None:
        match constraint:
            case exp.NotNullColumnConstraint():
                native["not_null"] = not constraint.args.get("allow_null")
                self._lose_args(constraint, name, "allow_null")
            case exp.PrimaryKeyColumnConstraint():
                native |= {"primary_key": True, "not_null": True}
                self._lose_args(constraint, name)
            case exp.UniqueColumnConstraint() if constraint.this is None:
                native["unique"] = True
                self._lose_args(constraint, name)
            case exp.DefaultColumnConstraint(this=exp.Null()):
                pass  # which holds anyway
            case exp.CommentColumnConstraint():
                native["comment"] = constraint.this.name
            case exp.Reference():
                self._refer([name], constraint)
            case exp.Properties():
                description, other_options = read_options(constraint)
                native |= {} if description is None else {"comment": description}
                for option in other_options:
                    self._lose("constraint", option, name)
            case _:
                self._lose("constraint", constraint, name)

    # Constraints of the table

    def _constrain(self, constraint: exp.Expression) -> None:
        match constraint:
            case exp.Constraint(expressions=[exp.PrimaryKeyColumnConstraint() as key, clustered, *others]) if (
                columns := _clustered_columns(clustered)
            ) is not None:
                self._key(columns, constraint)
                self._lose_args(key, None)
                if isinstance(clustered, exp.NonClusteredColumnConstraint):
                    self._lose("constraint", "NONCLUSTERED")
                for other in others:
                    self._lose("constraint", other)
            case exp.Constraint():
                for inner in constraint.expressions:
                    self._constrain(inner)
            case exp.PrimaryKey():
                self._key(constraint.expressions, constraint)
                self._lose_args(constraint, None, "expressions")
            case exp.UniqueColumnConstraint(this=columns) if (name := self._only_column(columns)) is not None:
                self.natives[name]["unique"] = True
                self._lose_args(constraint, name, "this")
                if isinstance(columns, exp.ClusteredColumnConstraint):
                    self._lose("constraint", "CLUSTERED", name)
            case exp.ForeignKey() if isinstance(reference := constraint.args.get("reference"), exp.Reference):
                names = [column.name for column in constraint.expressions]
                self._refer(names, reference)
                self._lose_args(constraint, ",".join(names), "expressions", "reference")
            case _:
                self._lose("constraint", constraint)

    def _key(self, columns: Sequence[exp.Expression], constraint: exp.Expression) -> None:
        """Read the columns of a primary key; one with an expression, a length or a direction is reported too."""
        names = [_columns_in(column) for column in columns]
        plain = [name[0] for name in names if name is not None and name[0] in self.natives]
        for name in plain:
            self.natives[name] |= {"primary_key": True, "not_null": True}
        if len(plain) < len(columns):
            self._lose("constraint", constraint)

    def _only_column(self, columns: Any) -> str | None:
        """Return the name of the only column of a unique constraint; None if it has several, or an expression."""
        inner = columns.expressions if isinstance(columns, exp.Schema) else _clustered_columns(columns) or ()
        names = _columns_in(inner[0]) if len(inner) == 1 else None
        return names[0] if names and names[0] in self.natives else None

    def _refer(self, columns: list[str], reference: exp.Reference) -> None:
        target = reference.this
        other_columns = [column.name for column in target.expressions] if isinstance(target, exp.Schema) else None
        table = target.this if isinstance(target, exp.Schema) else target
        text = _spelled(reference, self._dialect)
        if isinstance(table, exp.Table):
            self._references.append(_Reference(columns, table.name, table.db, other_columns, text))
            self._lose_args(reference, ",".join(columns), "this")
        else:
            self._lose("constraint", text, ",".join(columns))

    # Other statements

    def comment(self, statement: exp.Comment) -> bool:
        """Read ``COMMENT ON`` the table or a column; return False if it is about something else."""
        text, name = statement.expression.name, statement.this.name
        match str(statement.args.get("kind")).upper():
            case "TABLE":
                self._note = text
            case "COLUMN" if name in self.natives:
                self.natives[name]["comment"] = text
            case _:
                return False
        return True

    def alter(self, statement: exp.Alter) -> None:
        """Read the columns and constraints that ALTER TABLE adds, and which columns take nulls; the rest is lost."""
        is_lost = any(_unread_args(statement, "this", "kind", "exists", "only", "check", "actions", "options"))
        actions = (*(statement.args.get("actions") or ()), *(statement.args.get("options") or ()))
        lists = (action.expressions if isinstance(action, exp.Schema) else [action] for action in actions)
        for action in chain.from_iterable(lists):
            match action:
                case exp.AddConstraint():
                    for constraint in action.expressions:
                        self._constrain(constraint)
                case exp.ColumnDef() if action.name not in self.natives:
                    self.natives[action.name] = self._column(action)
                case exp.AlterColumn(args={"allow_null": bool(allows)}) if action.name in self.natives and not any(
                    _unread_args(action, "this", "allow_null", "drop", "exists")
                ):
                    self.natives[action.name]["not_null"] = not allows
                case exp.SchemaCommentProperty():
                    self._note = action.this.name
                case _:
                    is_lost = True
        if is_lost:
            self._lose("statement", statement)

    def record(self, codec: Codec[dict[str, Any]], path: str, hints: Mapping[str | None, Any]) -> Record:
        """Return the table as formats take it."""
        columns = [
            (name, {**codec.restored(name, native, hints.get(name), path), **self._layout.get(name, {})})
            for name, native in self.natives.items()
        ]
        references = list(self._resolved_references())
        more = {"references": references} if references else {}
        return record(self.name, columns, self._note, hints.get(None), **more)

    def _resolved_references(self) -> Iterator[dict[str, Any]]:
        """Yield the foreign keys; a key without columns refers to the primary key, if its table is in the file."""
        folded = {name.casefold(): table for name, table in self._tables.items()}  # names without quotes have no case
        for reference in self._references:
            other_columns = reference.other_columns
            target = self._tables.get(reference.table, folded.get(reference.table.casefold()))
            if other_columns is None and target is not None:
                other_columns = [name for name, native in target.natives.items() if native.get("primary_key")]
            is_elsewhere = target is not None and "" != target._dataset != reference.dataset != ""
            if other_columns is None or len(other_columns) != len(reference.columns) or is_elsewhere:
                self._lose("constraint", reference.text, ",".join(reference.columns))
            else:
                columns = reference.columns
                yield {"columns": columns, "referenced_table": reference.table, "referenced_columns": other_columns}


def _clustered_columns(constraint: Any) -> list[exp.Expression] | None:
    """Return the columns of SQL Server's ``CLUSTERED (a ASC)``; None if it is something else."""
    kinds = (exp.ClusteredColumnConstraint, exp.NonClusteredColumnConstraint)
    return constraint.this if isinstance(constraint, kinds) and isinstance(constraint.this, list) else None


def _columns_in(node: exp.Expression) -> list[str] | None:
    """Return the columns that a clause names, a time also by its day; None if it contains more than names."""
    nodes: Sequence[exp.Expression]
    match node:
        case exp.Identifier() | exp.Column() | exp.ColumnDef():
            return [node.name]
        case exp.Ordered() if not any(_unread_args(node, "this", "nulls_first")):
            nodes = [node.this]
        case exp.Date() if not any(_unread_args(node, "this")):
            nodes = [node.this]
        case exp.Paren() | exp.PartitionedByProperty() | exp.DistKeyProperty():
            nodes = [node.this]
        case exp.SortKeyProperty():
            nodes = node.this
        case exp.Schema() | exp.Tuple() | exp.Struct() | exp.ClusterProperty() | exp.Order() if not any(
            _unread_args(node, "expressions")
        ):
            nodes = node.expressions
        case _:
            return None
    columns = [_columns_in(child) for child in nodes]
    return None if None in columns else [name for names in columns if names for name in names]
