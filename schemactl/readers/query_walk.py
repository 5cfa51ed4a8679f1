"""Walks queries from their tables to their results, and notes each use of a column of the schema's tables.

A column that a query names is a use, even if its result is not used: without the column, the query fails. A column
that ``*`` returns becomes a use when a later query names it, or when the statement returns it. The walk reports each
table and column that it cannot follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Final

from sqlglot import exp

from schemactl.readers.relations import (
    UNKNOWN,
    ColumnUse,
    Output,
    Relation,
    Scope,
    Source,
    fold,
    fold_identifier,
    foreign_relation,
    join_relations,
    merge_passages,
    rename_outputs,
    spellings_in,
    table_relation,
)
from schemactl.readers.sql_casts import read_target
from schemactl.readers.tables import ReadTables
from schemactl.readers.templates import VALUE, has_template
from schemactl.review.readers import Clause
from schemactl.schema.casts import Cast

_CLAUSES: Final[Mapping[str, Clause]] = {
    "where": Clause.WHERE,
    "prewhere": Clause.WHERE,
    "connect": Clause.WHERE,
    "group": Clause.GROUP,
    "having": Clause.HAVING,
    "windows": Clause.WINDOW,
    "qualify": Clause.QUALIFY,
    "order": Clause.ORDER,
    "sort": Clause.ORDER,
    "cluster": Clause.ORDER,
    "distribute": Clause.ORDER,
}
"""The clause of each part of a SELECT after its outputs, by sqlglot's names; other parts count as SELECT."""

_SOURCES_AND_OUTPUTS: Final = (
    "with_",
    "from_",
    "joins",
    "laterals",
    "expressions",
    "distinct",
    "pivots",
    "hint",
    "into",
)
"""The parts of a SELECT that are no clauses after its outputs."""

_PASSING: Final = frozenset(
    {
        exp.Alias,
        exp.Cluster,
        exp.Cube,
        exp.Distinct,
        exp.Distribute,
        exp.Dot,
        exp.Group,
        exp.GroupingSets,
        exp.Having,
        exp.Order,
        exp.Ordered,
        exp.Paren,
        exp.PreWhere,
        exp.Qualify,
        exp.Returning,
        exp.Rollup,
        exp.Sort,
        exp.Tuple,
        exp.Where,
    }
)
"""Nodes that pass a column on as it is."""

_COMPARISONS: Final = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Between, exp.Like, exp.ILike)

_ALIASES_IN_WHERE: Final = frozenset({"clickhouse", "duckdb", "redshift", "snowflake", "teradata"})
"""Dialects whose WHERE can name an output of SELECT by its alias."""


@dataclass
class QueryWalk:
    """The uses of columns in the queries of a text.

    Attributes:
        blind: (table, column, reason, line) of what may be used; None for any column or table.
        table_uses: (table, line) of each table in FROM and JOIN.
        created: the results of the tables and views that the text creates, by name.
        shared: the created tables and views that other texts can read, by dataset ("" without one) and name.
        result: of the text's last query, or of its last CREATE with a query.
    """

    tables: ReadTables
    dialect: str | None
    uses: list[ColumnUse] = field(default_factory=list)
    blind: dict[tuple[str | None, str | None, str, int | None], None] = field(default_factory=dict)
    table_uses: dict[tuple[str, int | None], None] = field(default_factory=dict)
    created: dict[str, Relation] = field(default_factory=dict)
    shared: dict[tuple[str, str], Relation] = field(default_factory=dict)
    result: Relation = UNKNOWN

    def cannot_tell(self, table: str | None, column: str | None, reason: str, line: int | None) -> None:
        """Note that a column may be used; without one, any column of a table."""
        self.blind[table, column, reason, line] = None

    def use(
        self,
        passages: Iterable[ColumnUse],
        clause: Clause,
        line: int | None,
        *,
        is_computed: bool = False,
        is_positional: bool = False,
        cast: Cast | None = None,
    ) -> None:
        """Note the use of columns in a clause."""
        for passage in passages:
            use_line = passage.line if line is None else line
            use = ColumnUse(passage.table, passage.column, clause, use_line, is_computed, is_positional, cast)
            self.uses.append(use)

    def return_all(self, relation: Relation, *, is_positional: bool = False) -> None:
        """Note that a statement returns a result: columns that only ``*`` has passed on are used by it."""
        for passage in relation.passages:
            passage.is_positional |= is_positional
        self.uses.extend(relation.stars)

    def query(self, query: exp.Expr, scope: Scope, recursive_cte: exp.Expr | None = None) -> Relation:
        """Return the result of a query in a scope, and note its uses.

        ``recursive_cte`` is the common table expression of the query, if the query can name it.
        """
        if with_clause := query.args.get("with_"):
            scope = replace(scope, ctes=self.ctes(with_clause, scope))
        match query:
            case exp.Select():
                return self._select(query, Scope(scope.ctes, scope.outer, scope.is_derived))
            case exp.SetOperation():
                return self._set_operation(query, scope, recursive_cte)
            case exp.Subquery():
                return self._subquery(query, scope, recursive_cte)
            case exp.Pivot():
                return self._pivoted(self.source(query.this, scope, Clause.FROM).relation, [query], scope)
            case exp.Table():
                return self.source(query, scope, Clause.FROM).relation
            case _:
                self.walk(query, scope, Clause.SELECT, is_computed=True)
                return UNKNOWN

    def ctes(self, with_clause: exp.Expr, scope: Scope) -> Mapping[str, Relation]:
        """Return the results that a query with this WITH can name."""
        ctes = dict(scope.ctes)
        for cte in with_clause.expressions:
            if _is_named_expression(cte):
                continue
            inner = Scope(dict(ctes), scope.outer, is_derived=True)
            relation = self.query(cte.this, inner, cte if with_clause.args.get("recursive") else None)
            ctes[self.fold(cte.args["alias"].this)] = self._aliased(relation, cte.args["alias"])
        return ctes

    def _subquery(self, query: exp.Subquery, scope: Scope, recursive_cte: exp.Expr | None) -> Relation:
        if _is_join(query):
            joined = Scope(scope.ctes, scope.outer, scope.is_derived)
            self.add_source(query.this, joined, Clause.FROM)
            relation = Relation(tuple(joined.outputs()), joined.is_open)
        else:
            relation = self.query(query.this, scope, recursive_cte)
        self._walk_end(query, relation, scope)
        return self._pivoted(relation, query.args.get("pivots") or (), scope)

    def _set_operation(self, query: exp.SetOperation, scope: Scope, recursive_cte: exp.Expr | None) -> Relation:
        # A union of many branches nests on the left.
        operations = [query]
        while isinstance(operations[-1].this, exp.SetOperation) and not operations[-1].this.args.get("with_"):
            operations.append(operations[-1].this)
        relation = self.query(operations[-1].this, scope)
        if recursive_cte is not None:
            alias = recursive_cte.args["alias"]
            scope = replace(scope, ctes={**scope.ctes, self.fold(alias.this): self._aliased(relation, alias)})
        for operation in reversed(operations):
            relation = self._united(relation, self.query(operation.expression, scope), operation)
            self._walk_end(operation, relation, scope)
        return relation

    def _united(self, first_branch: Relation, second_branch: Relation, operation: exp.Expr) -> Relation:
        """Return the result of a union, whose branches answer by position."""
        has_star = bool(first_branch.stars or second_branch.stars)
        is_by_name = bool(operation.args.get("by_name"))
        if operation.args.get("distinct"):
            self._compare_all(first_branch)
            self._compare_all(second_branch)
        if not is_by_name:
            self.return_all(first_branch, is_positional=True)
            self.return_all(second_branch, is_positional=True)
        is_open = first_branch.is_open or second_branch.is_open
        if is_by_name or has_star or is_open or len(first_branch.outputs) != len(second_branch.outputs):
            names = {name for output in first_branch.outputs for name in output.names}
            outputs = [
                replace(item, passages=merge_passages(item.passages, second_branch.find(item.name) or ()), line=None)
                for item in first_branch.outputs
            ]
            unmatched = [output for output in second_branch.outputs if names.isdisjoint(output.names)]
            if is_by_name or first_branch.is_open:
                # Branches mostly have the same names: the unknown columns of the first one can have these.
                outputs += unmatched
            else:
                self._blind_positions(unmatched)
            return Relation(tuple(outputs), is_open or not is_by_name)
        return Relation(
            tuple(
                replace(left_output, passages=merge_passages(left_output.passages, right_output.passages), line=None)
                for left_output, right_output in zip(first_branch.outputs, second_branch.outputs, strict=True)
            )
        )

    def _blind_positions(self, outputs: Iterable[Output]) -> None:
        """Note that outputs of a branch of a union may have any name of its first branch."""
        for output in outputs:
            for passage in output.passages:
                self.cannot_tell(passage.table, passage.column, "a union with columns by position", passage.line)

    def _compare_all(self, relation: Relation) -> None:
        """Note that DISTINCT or UNION compares columns; no query has named the columns of ``*`` yet."""
        for output in relation.outputs:
            for passage in output.passages:
                is_star = passage.clause is Clause.STAR
                clause, line = (passage.clause, passage.line) if is_star else (Clause.SELECT, output.line)
                self.use([passage], clause, line, is_computed=True, is_positional=passage.is_positional)

    def _use_outputs(self, outputs: Iterable[Output], clause: Clause, *, is_computed: bool = False) -> None:
        """Note that a clause uses items of SELECT without naming them."""
        for output in outputs:
            self.use(output.passages, clause, output.line, is_computed=is_computed)

    # The parts of a SELECT.

    def _select(self, select: exp.Select, scope: Scope) -> Relation:
        if from_clause := select.args.get("from_"):
            self.add_source(from_clause.this, scope, Clause.FROM)
        self.add_joins(select, scope)
        self._name_expressions(select, scope)
        outputs: list[Output] = []
        is_open = False
        for projection in select.expressions:
            projected, has_more = self._project(projection, scope)
            outputs += projected
            is_open |= has_more
            if projection.alias:
                scope.aliases |= {output.name: output.passages for output in projected}
        relation = Relation(tuple(outputs), is_open)
        if distinct := select.args.get("distinct"):
            if distinct.args.get("on"):
                self.walk(distinct.args["on"], scope, Clause.SELECT)
            else:
                self._compare_all(relation)
        self._use_ordinals(select, relation)
        if select.args.get("match"):
            self._blind_rows(scope, "MATCH_RECOGNIZE", None)
        for key, node in select.args.items():
            if key not in _SOURCES_AND_OUTPUTS:
                self._walk_clause(node, scope, _CLAUSES.get(key, Clause.SELECT), relation if key == "order" else None)
        return self._pivoted(relation, select.args.get("pivots") or (), scope)

    def _name_expressions(self, select: exp.Select, scope: Scope) -> None:
        """Add the values that WITH names, as in ClickHouse, to the names of a SELECT."""
        with_clause = select.args.get("with_")
        for cte in with_clause.expressions if with_clause else ():
            if _is_named_expression(cte):
                (output,), _ = self._project(exp.alias_(cte.this, cte.args["alias"].this), scope)
                scope.aliases[output.name] = output.passages

    def _walk_clause(self, clause_node: object, scope: Scope, clause: Clause, outputs: Relation | None = None) -> None:
        """Walk a part of a SELECT, in which a name of ``outputs`` comes before a name of the sources."""
        parts = clause_node if isinstance(clause_node, list) else [clause_node]
        nodes = [child for child in parts if isinstance(child, exp.Expr)]
        if outputs is not None:
            nodes = [ordered for node in nodes for ordered in node.expressions]
        for node in nodes:
            column = node.this if isinstance(node, exp.Ordered) else node
            is_bare = isinstance(column, exp.Column) and not column.table
            passages = outputs.find(self.fold(column.this)) if outputs is not None and is_bare else None
            if passages is not None:
                self.use(passages, clause, _line(column))
            else:
                self.walk(node, scope, clause)

    def _walk_end(self, query: exp.Expr, relation: Relation, scope: Scope) -> None:
        """Walk the ORDER BY and LIMIT of a union, or of a query in parentheses."""
        output_scope = Scope(
            scope.ctes,
            scope.outer,
            aliases={name: output.passages for output in relation.outputs for name in output.names},
        )
        for key, node in query.args.items():
            if key in ("order", "limit", "offset", "fetch"):
                self._walk_clause(node, output_scope, _CLAUSES.get(key, Clause.SELECT))

    def _use_ordinals(self, select: exp.Select, relation: Relation) -> None:
        """GROUP BY 1, GROUP BY ALL and ORDER BY 1 name outputs by position."""
        for key, clause in (("group", Clause.GROUP), ("order", Clause.ORDER)):
            node = select.args.get(key)
            if node is None:
                continue
            items = [item.this if isinstance(item, exp.Ordered) else item for item in node.expressions]
            if node.args.get("all") or any(isinstance(item, exp.Var) and item.name.upper() == "ALL" for item in items):
                self._use_outputs(relation.outputs, clause)
            for item in items:
                if not isinstance(item, exp.Literal) or item.is_string or not item.name.isdigit():
                    continue
                position = int(item.name)
                before = relation.outputs[:position]
                stars = [passage for output in before for passage in output.passages if passage.clause is Clause.STAR]
                for table in dict.fromkeys(passage.table for passage in stars):
                    self.cannot_tell(table, None, f"`{key} by {position}` after `select *`", stars[0].line)
                if before and len(before) == position and not stars:
                    self._use_outputs(before[-1:], clause)

    def _project(self, projection: exp.Expr, scope: Scope) -> tuple[list[Output], bool]:
        """Return the outputs of an item of SELECT, and whether it has more that are not known."""
        inner = projection
        while isinstance(inner, (exp.Alias, exp.Paren)):
            inner = inner.this
        name = self.fold(projection.args.get("alias")) if isinstance(projection, exp.Alias) else ""
        if isinstance(inner, exp.Star):
            return self._expand(inner, list(scope.outputs()), scope), scope.is_open
        if isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star):
            relation = self._relation_named([self.fold(identifier) for identifier in inner.parts[:-1]], scope)
            if relation is None:
                self._use_star(inner, scope, Clause.SELECT, is_computed=False)
                return [], True
            line = _line(inner.parts[0])
            return self._expand(inner.this, list(relation.outputs), scope, line), relation.is_open
        if inner.find(exp.Columns, exp.PositionalColumn):
            self._blind_rows(scope, "columns by pattern or position", None)
            return [], True
        field_access = inner
        while isinstance(field_access, (exp.Dot, exp.Paren)):
            field_access = field_access.this
        if not isinstance(field_access, exp.Column):
            self.walk(inner, scope, Clause.SELECT)
            return [Output(name or self._name_of(inner))], isinstance(inner, (exp.Explode, exp.Inline))
        line = _line(field_access)
        passages = self._resolve(field_access, scope, Clause.SELECT)
        return [Output(name or self._name_of(inner), tuple(self._passed(passages, line)), line)], False

    def _name_of(self, node: exp.Expr) -> str:
        identifier = node.this if isinstance(node, exp.Column) else node.args.get("expression")
        return self.fold(identifier) if isinstance(identifier, exp.Identifier) else ""

    def _passed(self, passages: Iterable[ColumnUse], line: int | None) -> Iterable[ColumnUse]:
        """Return columns that SELECT names: the first name after a star is the use."""
        for passage in passages:
            if passage.clause is not Clause.STAR:
                yield passage
                continue
            use = replace(passage, clause=Clause.SELECT, line=passage.line if line is None else line)
            self.uses.append(use)
            yield use

    def _expand(self, star: exp.Expr, outputs: list[Output], scope: Scope, line: int | None = None) -> list[Output]:
        """Return the outputs of a star with its EXCEPT, REPLACE and RENAME."""
        star_line = line or _meta_line(star)
        by_name = {name: output for output in outputs for name in output.names}
        dropped: set[str] = set()
        for column in star.args.get("except_") or ():
            name = self.fold(column.this if isinstance(column, exp.Column) else column)
            dropped.add(name)
            if name in by_name:
                list(self._passed(by_name[name].passages, _line(column)))
        if star.args.get("ilike"):
            self._blind_rows(scope, "columns by pattern or position", star_line)
        new_outputs: dict[str, Output] = {}
        for alias in star.args.get("replace") or ():
            name = self.fold(alias.args.get("alias"))
            new_outputs[name] = self._project(alias, scope)[0][0]
        for alias in star.args.get("rename") or ():
            name = self.fold(alias.this.this if isinstance(alias.this, exp.Column) else alias.this)
            new_name = self.fold(alias.args.get("alias"))
            renamed = by_name.get(name, Output(name)).passages
            new_outputs[name] = Output(new_name, tuple(self._passed(renamed, _line(alias.this))))
        expanded = []
        for output in outputs:
            if not dropped.isdisjoint(output.names):
                continue
            if replaced_names := [name for name in output.names if name in new_outputs]:
                expanded.append(new_outputs.pop(replaced_names[0]))
                continue
            if star_line is not None:
                passages = [
                    replace(passage, line=star_line) if passage.clause is Clause.STAR else passage
                    for passage in output.passages
                ]
                expanded.append(replace(output, passages=tuple(passages), line=star_line))
            else:
                expanded.append(replace(output, line=None))
        return [*expanded, *new_outputs.values()]

    # Sources.

    def add_joins(self, node: exp.Expr, scope: Scope) -> None:
        """Add the sources that are joined to a source, and walk their conditions."""
        for lateral in node.args.get("laterals") or ():
            self.add_source(lateral, scope, Clause.FROM)
        for join in node.args.get("joins") or ():
            self._join(join, scope)

    def add_source(self, node: exp.Expr, scope: Scope, clause: Clause) -> list[Source]:
        """Add a source of FROM or JOIN to a scope, with the sources that are joined to it in parentheses."""
        before = len(scope.sources)
        if isinstance(node, exp.Subquery) and _is_join(node) and not node.alias:
            self.add_source(node.this, scope, clause)
        else:
            scope.sources.append(self.source(node, scope, clause))
        self.add_joins(node, scope)
        return scope.sources[before:]

    def source(self, node: exp.Expr, scope: Scope, clause: Clause) -> Source:
        """Return a table, query or function in FROM or JOIN."""
        name, dataset = "", ""
        match node:
            case exp.Table(this=exp.Identifier()):
                relation = self._table(node, scope, clause)
                name, dataset = self.fold(node.this), self.fold(node.args.get("db"))
                relation = self._pivoted(relation, node.args.get("pivots") or (), scope)
            case exp.Lateral(this=exp.Query()):
                relation = self.query(node.this, Scope(scope.ctes, scope))
            case exp.Pivot() | exp.Query():
                relation = self.query(node, Scope(scope.ctes, scope, is_derived=True))
            case exp.Final():
                return self.source(node.this, scope, clause)
            case _:
                self._walk_function_source(node, scope, clause)
                relation = UNKNOWN
        for alias in (node.args.get("alias"), *(pivot.args.get("alias") for pivot in node.args.get("pivots") or ())):
            if isinstance(alias, exp.TableAlias):
                relation = self._aliased(relation, alias)
                if alias.this:
                    name, dataset = self.fold(alias.this), ""
        return Source(name, relation, dataset)

    def _walk_function_source(self, node: exp.Expr, scope: Scope, clause: Clause) -> None:
        """Walk a table function: the columns that it takes, and names of tables in its texts."""
        for key, argument in node.args.items():
            for child in argument if isinstance(argument, list) else [argument]:
                if isinstance(child, exp.Expr) and key not in ("alias", "joins", "laterals", "pivots"):
                    self.walk(child, scope, clause, is_computed=True)
        if isinstance(node, exp.Table) and _is_parameter(node.this):
            for table in self.tables.columns:
                self.cannot_tell(table, None, "a parameter that names a table", None)
        for text in node.find_all(exp.Literal):
            if text.is_string:
                self.blind_text(text.name, "a table function", None)

    def blind_text(self, text: str, reason: str, line: int | None) -> None:
        """Note that a text that is not read as SQL names tables."""
        for table in self.tables.mentioned_in(text):
            self.cannot_tell(table, None, reason, line)

    def _aliased(self, relation: Relation, alias: exp.Expr) -> Relation:
        return self.named_by_position(relation, alias.args.get("columns") or ())

    def named_by_position(self, relation: Relation, columns: Iterable[exp.Expr]) -> Relation:
        """Return a relation whose first columns have other names."""
        names = [self.fold(column) for column in columns]
        if not names:
            return relation
        for table in dict.fromkeys(passage.table for passage in relation.stars):
            self.cannot_tell(table, None, "columns that are named by position", None)
        return rename_outputs(relation, names)

    def _table(self, table: exp.Table, scope: Scope, clause: Clause) -> Relation:
        name, line = self.fold(table.this), _line(table.this)
        dataset = self.fold(table.args.get("db"))
        if not dataset:
            if name in scope.ctes:
                return scope.ctes[name]
            if name in self.created:
                return self.created[name]
        elif (sibling := scope.named(self.fold(table.parts[0]))) is not None:
            # `from orders as o, o.items`: a list in a column.
            column = self.fold(table.parts[1])
            self.use(sibling.find(column) or (), clause, line, is_computed=True)
            return UNKNOWN
        if (schema_table := self.find_table(table)) is None:
            reason = "a template that names a table" if has_template(name) else "a table by pattern"
            for wildcard in self._matching(table):
                self.cannot_tell(wildcard, None, reason, line)
            columns = self.tables.foreign.get(f"{table.db}.{table.name}".casefold())
            relation = UNKNOWN if columns is None else foreign_relation(columns, self.dialect)
            return self.created.get(f"{dataset}.{name}", relation)
        self.table_uses[schema_table, line] = None
        return table_relation(self.tables, schema_table, self.dialect, line)

    def _matching(self, table: exp.Table) -> list[str]:
        """Return the tables that a name with wildcards or templates may name."""
        pattern = table.name.lower().replace(VALUE, "*")
        if "*" not in pattern or not self._is_named(table.args.get("db"), self.tables.dataset):
            return []
        return [name for name in self.tables.columns if fnmatchcase(name.lower(), pattern)]

    def find_table(self, table: exp.Expr) -> str | None:
        """Return the schema's table that a query names.

        A name without a dataset, or with one that a template fills in, is taken for the dataset's.
        """
        tables = self.tables
        if not self._is_named(table.args.get("db"), tables.dataset):
            return None
        if tables.database and not self._is_named(table.args.get("catalog"), tables.database):
            return None
        name = spellings_in(self.dialect, tuple(tables.columns)).get(self.fold(table.this))
        return None if name in tables.shadowed and not table.args.get("db") else name

    def _is_named(self, identifier: exp.Expr | None, name: str) -> bool:
        if not isinstance(identifier, exp.Expr) or has_template(identifier.name):
            return True
        return self.fold(identifier) in (name, fold(name, self.dialect))

    def _join(self, join: exp.Expr, scope: Scope) -> None:
        before = list(scope.sources)
        added = self.add_source(join.this, scope, Clause.JOIN)
        line = _line(join.this.this) if isinstance(join.this, exp.Table) else None
        using = [self.fold(identifier) for identifier in join.args.get("using") or ()]
        lines = [_line(identifier) for identifier in join.args.get("using") or ()]
        if str(join.args.get("method") or "").upper() == "NATURAL":
            using = self._natural_names(before, added, line)
            lines = [line] * len(using)
        for name, name_line in zip(using, lines, strict=True):
            self._merge_using(name, name_line, before, added, str(join.args.get("side") or "").upper(), scope)
        for key, node in join.args.items():
            if key not in ("this", "using") and isinstance(node, exp.Expr):
                self.walk(node, scope, Clause.JOIN)
        if str(join.args.get("kind") or "").upper() in ("SEMI", "ANTI"):
            scope.sources[:] = before

    def _natural_names(self, before: list[Source], added: list[Source], line: int | None) -> list[str]:
        """Return the columns that both sides of a natural join have."""
        left_relation = join_relations([source.relation for source in before])
        right_relation = join_relations([source.relation for source in added])
        if left_relation.is_open or right_relation.is_open:
            for table in dict.fromkeys(
                passage.table for passage in (*left_relation.passages, *right_relation.passages)
            ):
                self.cannot_tell(table, None, "a natural join with a table whose columns are not known", line)
            return []
        return [output.name for output in left_relation.outputs if right_relation.find(output.name) is not None]

    def _merge_using(
        self, name: str, line: int | None, before: list[Source], added: list[Source], side: str, scope: Scope
    ) -> None:
        """Compare the columns of USING, and make one of them."""
        left_passages = scope.merged.get(name)
        if left_passages is None:
            left_passages = Scope({}, sources=before).find(name) or ()
        right_passages = Scope({}, sources=added).find(name) or ()
        self.use((*left_passages, *right_passages), Clause.JOIN, line, is_computed=True)
        sides = {"RIGHT": right_passages, "FULL": merge_passages(left_passages, right_passages)}
        scope.merged[name] = sides.get(side, left_passages or right_passages)

    def _pivoted(self, relation: Relation, pivots: Iterable[exp.Expr], scope: Scope) -> Relation:
        """Return the result of PIVOT, which groups by all columns that it does not name, or UNPIVOT."""
        for pivot in pivots:
            inner = Scope(scope.ctes, scope, is_derived=True, sources=[Source("", relation)])
            names: set[str] = set()
            for key, argument in pivot.args.items():
                for node in argument if isinstance(argument, list) else [argument]:
                    if not isinstance(node, exp.Expr) or key in ("this", "alias"):
                        continue
                    names |= {self.fold(column.this) for column in node.find_all(exp.Column)}
                    self.walk(node, inner, Clause.FROM, is_computed=True)
            if pivot.args.get("unpivot"):
                outputs = tuple(output for output in relation.outputs if names.isdisjoint(output.names))
            else:
                outputs = relation.outputs
                for table in dict.fromkeys(passage.table for passage in relation.stars):
                    self.cannot_tell(table, None, "a pivot", _line_in(pivot))
                explicit = [passage for passage in relation.passages if passage.clause is not Clause.STAR]
                self.use(explicit, Clause.GROUP, None)
            relation = Relation(outputs, is_open=True)
        return relation

    # Expressions.

    def walk(self, root: exp.Expr, scope: Scope, clause: Clause, *, is_computed: bool = False) -> None:
        """Note the uses of columns in an expression of a clause."""
        stack: list[tuple[exp.Expr, Clause, bool]] = [(root, clause, is_computed)]
        casts: dict[int, Cast] = {}
        while stack:
            node, node_clause, node_is_computed = stack.pop()
            if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
                passages = self._resolve(node, scope, node_clause)
                cast = casts.get(id(node))
                self.use(passages, node_clause, _line(node), is_computed=node_is_computed, cast=cast)
            elif isinstance(node, exp.Window):
                # `this` is the function; the other parts are its window.
                parts = [child for child in node.iter_expressions() if child is not node.this]
                stack += ((child, Clause.WINDOW, False) for child in parts)
                stack.append((node.this, node_clause, node_is_computed))
            elif not self._walk_rows(node, scope, node_clause):
                if isinstance(node, exp.Cast) and (column := _operand(node)) and self._is_whole(column, scope):
                    cast_target = read_target(node, self.dialect)
                    if cast_target is not None:
                        casts[id(column)] = Cast(*cast_target, is_operand=node_is_computed)
                is_operand = node_is_computed or type(node) not in _PASSING
                stack += ((child, node_clause, is_operand) for child in node.iter_expressions())

    def _walk_rows(self, node: exp.Expr, scope: Scope, clause: Clause) -> bool:
        """Note the uses of subqueries, and of columns that an expression does not name; False for other nodes."""
        match node:
            case exp.Exists(this=exp.Query()):
                self.query(node.this, Scope(scope.ctes, scope))
            case exp.Query():
                relation = self.query(node, Scope(scope.ctes, scope))
                self._use_outputs(relation.outputs, clause, is_computed=True)
            case exp.Star() if not isinstance(node.parent, exp.Count):
                self._blind_rows(scope, "a whole row as a value", _meta_line(node))
            case exp.Column() if not isinstance(node.parent, exp.Count):
                self._use_star(node, scope, clause, is_computed=True)
            case exp.Star() | exp.Column():
                pass  # `count(*)` uses no column
            case exp.Columns() | exp.PositionalColumn():
                self._blind_rows(scope, "columns by pattern or position", None)
            case exp.Parameter(this=exp.Literal(is_string=False)) if self.dialect == "snowflake":
                self._blind_rows(scope, "columns by pattern or position", None)
            case exp.Table(this=exp.Identifier()) if (table := self.find_table(node)) is not None:
                self.table_uses[table, _line(node)] = None
                self.cannot_tell(table, None, "a whole table as a value", _line(node))
            case _:
                return False
        return True

    def walk_values(self, values: exp.Expr, scope: Scope) -> None:
        """Note the uses in values that a statement writes to columns of a fixed type."""
        for node in values.expressions if isinstance(values, exp.Tuple) else [values]:
            if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
                passages = self._resolve(node, scope, Clause.SELECT)
                self.use(passages, Clause.SELECT, _line(node), is_positional=True)
            else:
                self.walk(node, scope, Clause.SELECT)

    def _resolve(self, column: exp.Column, scope: Scope, clause: Clause) -> tuple[ColumnUse, ...]:
        """Return the columns of tables that a name in an expression names, and note what cannot be told."""
        parts = [self.fold(identifier) for identifier in column.parts]
        if isinstance(column.this, exp.Parameter):
            self._blind_rows(scope, "columns by pattern or position", _line(column))
            return ()
        if any(map(has_template, parts)) and not (len(parts) == 1 and _is_value(column)):
            self._blind_rows(scope, "a template that may be any SQL", _line(column))
            return ()
        level: Scope | None = scope
        while level is not None and len(parts) > 1:
            if (relation := level.named(parts[0])) is not None:
                # A struct column can have the name of its table.
                return relation.find(parts[1]) or relation.find(parts[0]) or ()
            if len(parts) > 2 and (relation := level.named(parts[1], parts[0])) is not None:
                return relation.find(parts[2]) or ()
            if len(parts) > 3 and (relation := level.named(parts[2], parts[1])) is not None:
                return relation.find(parts[3]) or ()
            level = level.outer
        return self._resolve_bare(parts[0], column, scope, clause)

    def _is_whole(self, column: exp.Column, scope: Scope) -> bool:
        """Return whether a name names a column, not a field in one."""
        if not column.table:
            return True
        parts = [self.fold(identifier) for identifier in column.parts]
        return self._relation_named(parts[:-1], scope) is not None

    def _resolve_bare(self, name: str, column: exp.Column, scope: Scope, clause: Clause) -> tuple[ColumnUse, ...]:
        level: Scope | None = scope
        is_doubtful = False
        while level is not None:
            passages = level.find(name)
            if passages is None and self._may_be_alias(name, level, clause):
                passages = level.aliases[name]
            if passages is not None:
                if not is_doubtful:
                    return passages
                for passage in passages:
                    reason = f"`{column.name}` may be a column of another table"
                    self.cannot_tell(passage.table, passage.column, reason, _line(column))
                return ()
            if (relation := level.named(name)) is not None:
                self._use_row(relation, clause, _line(column))
                return ()
            if level.is_open and level.is_derived:
                return ()
            is_doubtful |= level.is_open
            level = level.outer
        return ()

    def _may_be_alias(self, name: str, scope: Scope, clause: Clause) -> bool:
        if name not in scope.aliases:
            return False
        return clause not in (Clause.WHERE, Clause.JOIN) or not scope.is_open or self.dialect in _ALIASES_IN_WHERE

    def _relation_named(self, parts: list[str], scope: Scope) -> Relation | None:
        """Return the source that the names before a star name."""
        level: Scope | None = scope
        while level is not None:
            relation = level.named(parts[-1], parts[-2] if len(parts) > 1 else "")
            if relation is not None:
                return relation
            level = level.outer
        return None

    def _use_star(self, star: exp.Column, scope: Scope, clause: Clause, *, is_computed: bool) -> None:
        """Use a source's row as a value, or the fields of a struct: ``o.*``."""
        parts, line = [self.fold(identifier) for identifier in star.parts[:-1]], _line(star.parts[0])
        relation = self._relation_named(parts, scope)
        if relation is not None:
            self._use_row(relation, clause, line)
            return
        level: Scope | None = scope
        while level is not None:
            relation = level.named(parts[0]) if len(parts) > 1 else None
            passages = relation.find(parts[1]) if relation else level.find(parts[0])
            if passages is not None:
                self.use(passages, clause, line, is_computed=is_computed)
                return
            level = level.outer

    def _use_row(self, relation: Relation, clause: Clause, line: int | None) -> None:
        """Use a whole row as a value."""
        for table in dict.fromkeys(passage.table for passage in relation.stars):
            self.cannot_tell(table, None, "a whole row as a value", line)
        explicit = [passage for passage in relation.passages if passage.clause is not Clause.STAR]
        self.use(explicit, clause, line, is_computed=True)

    def _blind_rows(self, scope: Scope, reason: str, line: int | None) -> None:
        """Note that any column of the sources may be used."""
        stars = [passage for source in scope.sources for passage in source.relation.stars]
        for table, table_line in dict.fromkeys((passage.table, passage.line) for passage in stars):
            self.cannot_tell(table, None, reason, line or table_line)
        explicit = [
            passage
            for source in scope.sources
            for passage in source.relation.passages
            if passage.clause is not Clause.STAR
        ]
        self.use(explicit, Clause.SELECT, line, is_computed=True)

    def fold(self, identifier: exp.Expr | None) -> str:
        """Return the name by which the dialect compares an identifier; "" without one."""
        return fold_identifier(identifier, self.dialect)


def _is_named_expression(cte: exp.Expr) -> bool:
    """Return whether WITH names a value, as in ClickHouse: ``with id + 1 as next``."""
    return isinstance(cte.this, (exp.Condition, exp.Alias)) and not isinstance(cte.this, exp.Query)


def _is_join(query: exp.Subquery) -> bool:
    """Return whether parentheses hold a table, or tables that are joined, and no query."""
    inner = query.this
    if isinstance(inner, exp.Subquery):
        return bool(inner.alias or inner.args.get("joins"))
    return isinstance(inner, exp.Table)


def _is_parameter(name: exp.Expr) -> bool:
    """Return whether a table's name is a parameter: ``:name``, ``identifier($name)``."""
    if isinstance(name, exp.DynamicIdentifier):
        return not isinstance(name.this, exp.Literal)
    return isinstance(name, (exp.Placeholder, exp.Parameter))


def _is_value(column: exp.Expr) -> bool:
    """Return whether a template is the right side of a comparison, or a limit."""
    parent = column.parent
    if isinstance(parent, _COMPARISONS):
        return column.arg_key != "this"
    return isinstance(parent, (exp.Limit, exp.Offset, exp.Interval, exp.Fetch))


def _operand(cast: exp.Expr) -> exp.Column | None:
    """Return the column that a cast converts; None if that is another expression."""
    operand = cast.this
    while isinstance(operand, exp.Paren):
        operand = operand.this
    return operand if isinstance(operand, exp.Column) else None


def _meta_line(node: exp.Expr) -> int | None:
    line = node.meta.get("line")
    return int(line) if line else None


def _line(node: exp.Expr | None) -> int | None:
    """Return the line of a column's or table's name; None for one that sqlglot has added."""
    identifier = node.this if isinstance(node, (exp.Column, exp.Table)) else node
    return _meta_line(identifier) if isinstance(identifier, exp.Expr) else None


def _line_in(node: exp.Expr) -> int | None:
    """Return the first line of a name in a part of a query."""
    lines = (_meta_line(identifier) for identifier in node.find_all(exp.Identifier))
    return min((line for line in lines if line), default=None)
