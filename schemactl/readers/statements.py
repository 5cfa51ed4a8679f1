"""Walks statements: queries, and statements that create, write or copy tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

from schemactl.readers.query_walk import QueryWalk
from schemactl.readers.relations import UNKNOWN, Relation, Scope, Source, table_relation
from schemactl.review.readers import Clause


class StatementWalk(QueryWalk):
    """The uses of columns in the statements of a text: queries, and statements that write tables."""

    def statement(self, statement: exp.Expr, text: str) -> None:
        """Note the uses of a statement."""
        if type(statement) in _WRITES or isinstance(statement, (exp.Query, exp.Pivot, exp.Values)):
            self.result = self.query(statement, Scope({}))
            self.return_all(self.result)
        elif isinstance(statement, exp.Create):
            self._create(statement, text)
        else:
            self.blind_text(text, f"a statement `{text.split(maxsplit=1)[0].upper()}`", None)

    def query(self, query: exp.Expr, scope: Scope, recursive_cte: exp.Expr | None = None) -> Relation:
        """Return the result of a query; the columns of RETURNING are not known."""
        if (write := _WRITES.get(type(query))) is None:
            return super().query(query, scope, recursive_cte)
        if with_clause := query.args.get("with_"):
            scope = Scope(self.ctes(with_clause, scope))
        write(self, query, scope)
        return UNKNOWN

    def _create(self, statement: exp.Expr, text: str) -> None:
        """CREATE TABLE and VIEW: later statements can read the result by name."""
        if not isinstance(statement.expression, exp.Query):
            # A list of columns defines a table and reads none.
            if statement.args["kind"] != "TABLE" or statement.find(exp.LikeProperty, exp.Clone):
                self.blind_text(text, f"a statement `CREATE {statement.args['kind']}`", None)
            return
        scope = Scope({})
        if with_clause := statement.args.get("with_"):
            scope = Scope(self.ctes(with_clause, scope))
        relation = self.query(statement.expression, scope)
        target = statement.this
        names = target.expressions if isinstance(target, exp.Schema) else []
        self.return_all(relation, is_positional=bool(names))
        table = target.this if isinstance(target, exp.Schema) else target
        self.result = self.named_by_position(relation, [name_node.find(exp.Identifier) for name_node in names])
        if isinstance(table, exp.Table) and self.find_table(table) is None:
            name, dataset = self.fold(table.this), self.fold(table.args.get("db"))
            self.created[f"{dataset}.{name}" if dataset else name] = self.result
            if not statement.find(exp.TemporaryProperty):
                self.shared[dataset, name] = self.result

    def _copy(self, statement: exp.Expr, scope: Scope) -> None:
        target = statement.this
        if statement.args.get("kind"):
            self._write(target, "COPY")
            # Snowflake copies a table or query to a stage in the same words.
            for source in statement.args.get("files") or ():
                if isinstance(source, (exp.Query, exp.Table)):
                    self.return_all(self.source(source, scope, Clause.FROM).relation)
            return
        if not isinstance(target, exp.Schema):
            self.return_all(self.source(target, scope, Clause.FROM).relation)
            return
        relation = self.source(target.this, scope, Clause.FROM).relation
        for column in target.expressions:
            passages = relation.find(self.fold(column)) or ()
            self.use(passages, Clause.SELECT, _line_of(column))

    # Statements that write.

    def _insert(self, statement: exp.Expr, scope: Scope) -> None:
        has_columns = isinstance(statement.this, exp.Schema)
        target = statement.this.this if has_columns else statement.this
        self._write(target, "INSERT", statement.this.expressions if has_columns else [])
        if statement.expression is not None:
            relation = self.query(statement.expression, scope)
            self.return_all(relation, is_positional=not statement.args.get("by_name"))
        conflict = statement.args.get("conflict")
        if conflict is None and statement.args.get("returning") is None:
            return
        written = self._target_scope(target, scope)
        if conflict is not None:
            self._assign_all(conflict.expressions, written, target, "INSERT")
            for node in (*(conflict.args.get("conflict_keys") or ()), conflict.args.get("where")):
                if node is not None:
                    self.walk(node, written, Clause.WHERE)
        self._conditions(statement, written)

    def _update(self, statement: exp.Expr, scope: Scope) -> None:
        target = statement.this
        written = self._target_scope(target, scope)
        if from_clause := statement.args.get("from_"):
            self.add_source(from_clause.this, written, Clause.FROM)
        self._assign_all(statement.expressions, written, target, "UPDATE")
        self._conditions(statement, written)

    def _delete(self, statement: exp.Expr, scope: Scope) -> None:
        written = self._target_scope(statement.this, scope)
        for source in statement.args.get("using") or ():
            self.add_source(source, written, Clause.FROM)
        self._conditions(statement, written)

    def _merge(self, statement: exp.Expr, scope: Scope) -> None:
        target = statement.this
        written = self._target_scope(target, scope)
        (source,) = self.add_source(statement.args["using"], written, Clause.FROM)
        self.walk(statement.args["on"], written, Clause.JOIN)
        for when in statement.args["whens"].expressions:
            if condition := when.args.get("condition"):
                self.walk(condition, written, Clause.WHERE)
            match when.args.get("then"):
                case exp.Update() as update:
                    if any(isinstance(node, exp.Star) for node in update.expressions) or not update.expressions:
                        self._merge_all(target, source)
                    self._assign_all(update.expressions, written, target, "MERGE")
                case exp.Insert() as insert:
                    if isinstance(insert.this, exp.Star) or insert.expression is None:
                        self._merge_all(target, source)
                    else:
                        columns = insert.this.expressions if isinstance(insert.this, exp.Tuple) else []
                        self._write(target, "MERGE", columns)
                        self.walk_values(insert.expression, written)
        if returning := statement.args.get("returning"):
            self.walk(returning, written, Clause.SELECT)

    def _merge_all(self, target: exp.Expr, source: Source) -> None:
        """UPDATE SET * and INSERT * copy all columns of the source."""
        self._write(target, "MERGE")
        self.return_all(source.relation, is_positional=True)

    def _conditions(self, statement: exp.Expr, scope: Scope) -> None:
        self.add_joins(statement, scope)
        for key, clause in (("where", Clause.WHERE), ("order", Clause.ORDER), ("returning", Clause.SELECT)):
            if node := statement.args.get(key):
                self.walk(node, scope, clause)

    def _assign_all(self, assignments: list[exp.Expr], scope: Scope, target: exp.Expr, statement_name: str) -> None:
        for assignment in assignments:
            if isinstance(assignment, exp.EQ):
                columns = list(assignment.this.find_all(exp.Column)) or [assignment.this]
                self._write(target, statement_name, columns)
                self.walk_values(assignment.expression, scope)

    def _write(self, target: exp.Expr, statement_name: str, columns: list[exp.Expr] | None = None) -> None:
        """Note the columns of a table that a statement writes; without columns, it writes by position."""
        target = target.this if isinstance(target, exp.Schema) else target
        table = self.find_table(target) if isinstance(target, exp.Table) else None
        if table is None:
            return
        reason = f"`{statement_name}` writes it"
        if not columns:
            self.cannot_tell(table, None, reason, _line_of(target))
        relation = table_relation(self.tables, table, self.dialect, None)
        for column in columns or ():
            for passage in relation.find(self.fold(column.this if isinstance(column, exp.Column) else column)) or ():
                self.cannot_tell(table, passage.column, reason, _line_of(column))

    def _target_scope(self, target: exp.Expr, scope: Scope) -> Scope:
        """Return a scope with the table that a statement writes."""
        written = Scope(scope.ctes)
        if isinstance(target, exp.Table):
            # Only Transact-SQL can write to a common table expression.
            ctes = scope.ctes if self.dialect in ("tsql", "fabric") else {}
            outer = Scope(ctes)
            self.add_source(target, outer, Clause.FROM)
            written.sources.extend(outer.sources)
        return written


_WRITES: Final[Mapping[type[exp.Expr], Callable[[StatementWalk, exp.Expr, Scope], None]]] = {
    exp.Insert: StatementWalk._insert,
    exp.Update: StatementWalk._update,
    exp.Delete: StatementWalk._delete,
    exp.Merge: StatementWalk._merge,
    exp.Copy: StatementWalk._copy,
}


def _line_of(node: exp.Expr) -> int | None:
    identifier = node if isinstance(node, exp.Identifier) else node.find(exp.Identifier)
    line = identifier.meta.get("line") if identifier is not None else None
    return int(line) if line else None
