"""Which columns of a schema's tables a SQL text uses, by sqlglot's scopes.

A query is walked from its result to its sources: an output of a CTE or subquery that nobody asks for is no use of the
columns behind it. What cannot be followed is reported as blindness, never left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from sqlglot import exp, parse
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from schemactl.errors import InputError, Location
from schemactl.readers.tables import ReadTables
from schemactl.review.readers import Blindness, Clause, Reader, Readership, Use
from schemactl.time_limit import time_limit

MAX_SECONDS: Final = 10.0
"""Processor time for the text of one reader."""

MAX_CHARACTERS: Final = 2_000_000

_DATASET: Final = "schemactl__tables"
"""Names the dataset in a query whose tables were found, so that no other table has it."""

_CLAUSES: Final[Mapping[str, Clause]] = {
    "expressions": Clause.SELECT,
    "distinct": Clause.SELECT,
    "from_": Clause.FROM,
    "from": Clause.FROM,
    "laterals": Clause.FROM,
    "pivots": Clause.FROM,
    "joins": Clause.JOIN,
    "where": Clause.WHERE,
    "prewhere": Clause.WHERE,
    "group": Clause.GROUP,
    "having": Clause.HAVING,
    "windows": Clause.WINDOW,
    "qualify": Clause.QUALIFY,
    "order": Clause.ORDER,
    "sort": Clause.ORDER,
    "cluster": Clause.ORDER,
    "distribute": Clause.ORDER,
}
"""The clause of each part of a SELECT, by sqlglot's names."""

_NAMING_OUTPUTS: Final = ("where", "group", "having", "qualify", "order", "sort")
"""The parts of a SELECT that can name an output by its alias, in some dialects."""

_PASSING: Final = (
    exp.Alias,
    exp.Distinct,
    exp.Dot,
    exp.Group,
    exp.Having,
    exp.Join,
    exp.Order,
    exp.Ordered,
    exp.Paren,
    exp.Qualify,
    exp.Tuple,
    exp.Where,
)
"""Nodes that pass a column on as it is."""


def read_sql(text: str, reader: Reader, tables: ReadTables, dialect: str | None, *, first_line: int = 1) -> Readership:
    """Return the uses in a SQL text of one or several statements.

    Args:
        text: SQL without templates.
        reader: whose text it is; the path of its location is that of the uses.
        tables: those to look for.
        dialect: sqlglot's name; None for its own.
        first_line: the line of the reader's file in which the text begins.
    """
    path = reader.location.path if reader.location else reader.name

    def locate(line: int | None) -> Location:
        return Location(path, None if line is None else line + first_line - 1)

    def blind(reason: str, line: int | None = None) -> Readership:
        names = tables.mentioned_in(text)
        return Readership(blind=tuple(Blindness(reader, reason, table, location=locate(line)) for table in names))

    if not tables.mentioned_in(text):
        return Readership()
    if len(text) > MAX_CHARACTERS:
        return blind(f"SQL of more than {MAX_CHARACTERS:,} characters")
    collected = _Statement(tables, dialect)
    too_long = InputError(f"SQL that takes longer than {MAX_SECONDS:g} s to read")
    try:
        with time_limit(MAX_SECONDS, lambda: too_long, of_processor=True):
            for statement in filter(None, parse(text, dialect=dialect)):
                collected.walk(statement)
    except InputError as error:
        return blind(error.message)
    except ParseError as error:
        return blind("SQL that does not parse", error.errors[0].get("line") if error.errors else None)
    except (SqlglotError, RecursionError) as error:
        return blind(f"SQL that cannot be read ({type(error).__name__})")
    return Readership(
        tuple(
            Use(reader, table, column, use.clause, use.is_computed, use.is_positional, locate(use.line))
            for (table, column, use) in collected.uses
        ),
        tuple(
            Blindness(reader, reason, table, column, locate(line)) for table, column, reason, line in collected.blind
        ),
    )


@dataclass(frozen=True, slots=True)
class _Context:
    """Where and how a column is used."""

    clause: Clause
    line: int | None = None
    is_computed: bool = False
    is_positional: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the column is only passed on."""
        return self.clause in (Clause.SELECT, Clause.STAR) and not self.is_computed


_COMPARED: Final = _Context(Clause.SELECT, is_computed=True)
"""The use of all outputs of SELECT DISTINCT, of UNION without ALL, and of a recursion."""


@dataclass(slots=True)
class _Demand:
    """How the users of a query use its outputs: single ones by name, and all of them."""

    by_output: defaultdict[str, dict[_Context, None]] = field(default_factory=lambda: defaultdict(dict))
    of_all: dict[_Context, None] = field(default_factory=dict)

    def contexts(self, output: str) -> list[_Context]:
        """Return the uses of an output; empty if nobody asks for it."""
        return [*self.by_output.get(output, ()), *self.of_all]


@dataclass(frozen=True)
class _Statement:
    """The uses of one statement: (table, column, context), and (table, column, reason, line) that cannot be told."""

    tables: ReadTables
    dialect: str | None
    uses: dict[tuple[str, str | None, _Context], None] = field(default_factory=dict)
    blind: dict[tuple[str, str | None, str, int | None], None] = field(default_factory=dict)

    def walk(self, statement: exp.Expr) -> None:
        """Collect the uses of all queries in a statement."""
        statement = normalize_identifiers(statement, dialect=self.dialect)
        if isinstance(statement, exp.Query):
            queries: list[exp.Expr] = [statement]
        else:
            queries = [query for query in statement.find_all(exp.Query) if query.find_ancestor(exp.Query) is None]
        is_positional = isinstance(statement, exp.Insert)
        for query in queries:
            self._walk_query(query, is_positional)
        if not isinstance(statement, (exp.Query, exp.Create, exp.Insert)):
            inner_nodes = {id(table) for query in queries for table in query.find_all(exp.Table)}
            for table in statement.find_all(exp.Table):
                if (name := self._find_table(table)) is not None and id(table) not in inner_nodes:
                    self.cannot_tell(name, None, f"a statement `{statement.key.upper()}`", _line(table))

    def _walk_query(self, query: exp.Expr, is_positional: bool) -> None:
        names = self._mark_tables(query)
        if not names:
            return
        star_lines = _star_lines(query)
        try:
            scopes = traverse_scope(self._qualified(query.copy(), names))
        except (SqlglotError, KeyError, AttributeError, ValueError):
            # Unknown tables make sqlglot give up; columns with an alias are found without it.
            scopes = traverse_scope(query)
        demands: defaultdict[int, _Demand] = defaultdict(_Demand)
        demands[id(scopes[-1])].of_all[_Context(Clause.STAR, is_positional=is_positional)] = None
        recursive = {
            id(cte.this)
            for clause in scopes[-1].expression.find_all(exp.With)
            if clause.recursive
            for cte in clause.expressions
        }
        for scope in reversed(scopes):
            demand = demands[id(scope)]
            if id(scope.expression) in recursive:
                demand.of_all[_COMPARED] = None
            if scope.set_operation_scopes:
                _ask_branches(scope, demand, demands)
            elif isinstance(scope.expression, exp.Select):
                _SelectWalk(self, scope, demand, demands, star_lines).walk()

    def _qualified(self, query: exp.Expr, names: set[str]) -> exp.Expr:
        """Return a query whose columns name their source, and whose stars are expanded."""
        columns = {name: {self.fold(column): "unknown" for column in self.tables.columns[name]} for name in names}
        return qualify(
            query,
            dialect=self.dialect,
            schema=MappingSchema({_DATASET: columns}, dialect=self.dialect, normalize=False),
            validate_qualify_columns=False,
            quote_identifiers=False,
            identify=False,
        )

    def _mark_tables(self, query: exp.Expr) -> set[str]:
        """Give the schema's tables a dataset that no other table has; return their names."""
        names: set[str] = set()
        tables = {
            id(source): source
            for scope in traverse_scope(query)
            for source in scope.sources.values()
            if isinstance(source, exp.Table)
        }
        for table in tables.values():
            name = self._find_table(table)
            if name is None:
                continue
            names.add(name)
            line = _line(table)
            self.uses[name, None, _Context(Clause.FROM, line)] = None
            if table.args.get("pivots"):
                self.cannot_tell(name, None, "a pivot", line)
            if not table.alias:
                table.set("alias", exp.TableAlias(this=table.this.copy()))
            table.set("this", exp.to_identifier(name, quoted=True))
            table.set("db", exp.to_identifier(_DATASET, quoted=True))
            table.set("catalog", None)
            table.meta["line"] = line
        return names

    def _find_table(self, table: exp.Table) -> str | None:
        """Return the schema's table that a query names; a name without a dataset is taken for the dataset's."""
        tables = self.tables
        if table.db and table.db not in (tables.dataset, self.fold(tables.dataset)):
            return None
        database = tables.database
        if database and table.catalog and table.catalog not in (database, self.fold(database)):
            return None
        return _names_in(self.dialect, tuple(tables.columns)).get(table.name)

    def column_of(self, table: str, name: str) -> str | None:
        """Return the column of a table that a query names."""
        return _names_in(self.dialect, self.tables.columns[table]).get(name)

    def fold(self, name: str) -> str:
        """Return a name as the dialect reads it without quotes."""
        return _fold(self.dialect, name)

    def cannot_tell(self, table: str, column: str | None, reason: str, line: int | None) -> None:
        """Note that a column, or any column of a table, may be used."""
        self.blind[table, column, reason, line] = None


@lru_cache(maxsize=100_000)
def _fold(dialect: str | None, name: str) -> str:
    return str(Dialect.get_or_raise(dialect).normalize_identifier(exp.to_identifier(name)).name)


@lru_cache(maxsize=10_000)
def _names_in(dialect: str | None, names: tuple[str, ...]) -> Mapping[str, str]:
    """Return names by their spellings in a query: as they are, and as they are read without quotes."""
    return {_fold(dialect, name): name for name in names} | {name: name for name in names}


def _ask_branches(scope: Scope, demand: _Demand, demands: Mapping[int, _Demand]) -> None:
    """Pass the demand on a union to its branches, which answer by position."""
    names = _output_names(scope.expression)
    for branch in scope.set_operation_scopes:
        branch_demand = demands[id(branch)]
        branch_names = _output_names(branch.expression)
        if scope.expression.args.get("distinct"):
            branch_demand.of_all[_COMPARED] = None
        all_contexts = list(demand.of_all)
        if "*" in names or "*" in branch_names or len(names) != len(branch_names):
            all_contexts += [context for contexts in demand.by_output.values() for context in contexts]
        for context in all_contexts:
            branch_demand.of_all[replace(context, is_positional=True)] = None
        for name, branch_name in zip(names, branch_names, strict=False):
            for context in demand.by_output.get(name, ()):
                branch_demand.by_output[branch_name][replace(context, is_positional=True)] = None


@dataclass(frozen=True)
class _SelectWalk:
    """The uses of one SELECT whose outputs are asked for."""

    statement: _Statement
    scope: Scope
    demand: _Demand
    demands: Mapping[int, _Demand]
    star_lines: Mapping[str, int]

    def walk(self) -> None:
        """Note the uses of columns, and pass on the demand to the queries behind this one."""
        select = self.scope.expression
        if select.args.get("distinct"):
            self.demand.of_all[_COMPARED] = None
        self._ask_outputs_by_alias(select)
        for output in select.expressions:
            if output.is_star:
                self._ask_unexpanded(output)
        for join in select.args.get("joins") or ():
            if str(join.method).upper() == "NATURAL":
                self._use_natural(join)
        outputs = {id(output): output for output in select.expressions}
        for column in self.scope.columns:
            context, clause_node = _context_of(column, select)
            output = outputs.get(id(clause_node))
            self._use(column, [context] if output is None else self._contexts_of_output(context, output))
        for row in self.scope.table_columns:
            self._use_row(row)
        for subquery in self.scope.subquery_scopes:
            self._ask_subquery(subquery, select)

    def _contexts_of_output(self, context: _Context, output: exp.Expr) -> list[_Context]:
        """Return how a column in an output is used; empty if nobody asks for the output.

        Who uses an output that is nothing but the column uses the column.
        """
        contexts = self.demand.contexts(output.alias_or_name)
        if not contexts or not context.is_plain:
            return [context] if contexts else []
        if context.line is None:  # of a star that was expanded
            return contexts
        is_positional = any(inherited.is_positional for inherited in contexts)
        return [replace(context, is_positional=is_positional), *(user for user in contexts if not user.is_plain)]

    def _use_natural(self, join: exp.Expr) -> None:
        """A natural join compares the columns that both sides have."""
        line = _line(join.this) or join.this.meta.get("line")
        tables = [_marked(source) for source in self.scope.sources.values()]
        for name in filter(None, tables):
            if None in tables:
                self.statement.cannot_tell(name, None, "a natural join with a table whose columns are not known", line)
                continue
            others = {column for other in tables if other and other != name for column in self._columns(other)}
            for column in self._columns(name):
                if column in others:
                    self.statement.uses[name, column, _Context(Clause.JOIN, line, is_computed=True)] = None

    def _columns(self, table: str) -> tuple[str, ...]:
        return self.statement.tables.columns[table]

    def _ask_outputs_by_alias(self, select: exp.Expr) -> None:
        """ORDER BY and others can name an output by its alias."""
        names = {output.alias_or_name for output in select.expressions}
        clause_nodes = [select.args[key] for key in _NAMING_OUTPUTS if isinstance(select.args.get(key), exp.Expr)]
        for column in (column for clause_node in clause_nodes for column in clause_node.find_all(exp.Column)):
            if not column.table and column.name in names and column.find_ancestor(exp.Select) is select:
                self.demand.by_output[column.name][_context_of(column, select)[0]] = None

    def _ask_subquery(self, subquery: Scope, select: exp.Expr) -> None:
        """A subquery in an expression is used there; EXISTS asks for none of its outputs."""
        if isinstance(subquery.expression.parent, exp.Exists):
            return
        node = subquery.expression.parent or subquery.expression
        path = list(_ancestors(node, select))
        clause = _CLAUSES.get(path[-1][1], Clause.SELECT) if path else Clause.SELECT
        context = _Context(clause, _line_in(subquery.expression), is_computed=True)
        self.demands[id(subquery)].of_all[context] = None

    def _use(self, column: exp.Column, contexts: Iterable[_Context]) -> None:
        source = self._source_of(column)
        if isinstance(source, Scope):
            self.demands[id(source)].by_output[column.name].update(dict.fromkeys(contexts))
            return
        if source is None and not column.table:
            self._use_unresolved(column)
            return
        table = _marked(source)
        if table is None or source is None:
            return
        name = self.statement.column_of(table, column.name)
        if name is None:
            return
        line = _line(column) or self.star_lines.get(column.table) or source.meta.get("line")
        for context in contexts:
            located = context if context.line is not None else replace(context, line=line)
            self.statement.uses[table, name, located] = None

    def _source_of(self, column: exp.Column) -> exp.Table | Scope | None:
        """Return where a column comes from; None if it may come from several sources."""
        if column.table:
            return self.scope.sources.get(column.table)
        sources = [source for _, source in self.scope.selected_sources.values()]
        is_alone = len(sources) == 1 and not self.scope.can_be_correlated
        return sources[0] if is_alone else None

    def _use_unresolved(self, column: exp.Column) -> None:
        """A column without an alias, of one of several sources whose columns are not all known."""
        outputs = {output.alias for output in self.scope.expression.expressions if isinstance(output, exp.Alias)}
        for source in self.scope.sources.values():
            if isinstance(source, Scope):
                self.demands[id(source)].by_output[column.name][_Context(Clause.SELECT, _line(column), True)] = None
                continue
            table = _marked(source)
            if table is None:
                continue
            name = self.statement.column_of(table, column.name)
            if name is not None and column.name not in outputs:
                reason = f"`{column.name}` may be a column of another table"
                self.statement.cannot_tell(table, name, reason, _line(column))

    def _use_row(self, row: exp.Expr) -> None:
        """A table's alias as a value: the whole row."""
        source = self.scope.sources.get(row.name)
        if isinstance(source, Scope):
            self.demands[id(source)].of_all[_COMPARED] = None
        elif (table := _marked(source)) is not None:
            self.statement.cannot_tell(table, None, "a whole row as a value", _line(row))

    def _ask_unexpanded(self, output: exp.Expr) -> None:
        """A star over sources that do not all have known columns."""
        alias = output.table if isinstance(output, exp.Column) else ""
        contexts = dict(self.demand.of_all)
        for by_name in self.demand.by_output.values():
            contexts |= by_name
        for name, (_, source) in self.scope.selected_sources.items():
            if alias not in ("", name):
                continue
            if isinstance(source, Scope):
                behind = self.demands[id(source)]
                behind.of_all.update(self.demand.of_all)
                for output_name, by_name in self.demand.by_output.items():
                    behind.by_output[output_name].update(by_name)
            elif (table := _marked(source)) is not None:
                for column in self.statement.tables.columns[table]:
                    if self.demand.of_all or self.statement.fold(column) in self.demand.by_output:
                        reason = "`select *` together with a table whose columns are not known"
                        self.statement.cannot_tell(table, column, reason, source.meta.get("line"))


def _output_names(query: exp.Expr) -> list[str]:
    return query.named_selects if isinstance(query, exp.Query) else []


def _marked(source: object) -> str | None:
    """Return the name of a table of the schema; None for another table."""
    return source.name if isinstance(source, exp.Table) and source.db == _DATASET else None


def _line(node: exp.Expr) -> int | None:
    """Return the line of a column's or table's name; None for one that sqlglot has added."""
    identifier = node.this if isinstance(node, exp.Column | exp.Table | exp.TableColumn) else node
    line = identifier.meta.get("line") if isinstance(identifier, exp.Expr) else None
    return int(line) if line else None


def _line_in(node: exp.Expr) -> int | None:
    """Return the first line of a name in a part of a query."""
    lines = (identifier.meta.get("line") for identifier in node.find_all(exp.Identifier))
    return min((int(line) for line in lines if line), default=None)


def _star_lines(query: exp.Expr) -> dict[str, int]:
    """Return the lines of ``alias.*`` by alias."""
    stars = (column for column in query.find_all(exp.Column) if isinstance(column.this, exp.Star) and column.table)
    return {star.table: int(line) for star in stars if (line := star.args["table"].meta.get("line"))}


def _ancestors(node: exp.Expr, top: exp.Expr) -> Iterator[tuple[exp.Expr, str]]:
    """Yield each node from the given one up to a part of ``top``, with its key in its parent."""
    current = node
    while current is not top and current.parent is not None:
        yield current, str(current.arg_key)
        current = current.parent


def _context_of(column: exp.Column, select: exp.Expr) -> tuple[_Context, exp.Expr | None]:
    """Return how a column is used in a SELECT, and the part of the SELECT that holds it."""
    path = list(_ancestors(column, select))
    clause_node, key = path[-1]
    clause = _CLAUSES.get(key, Clause.SELECT)
    operands = path[1:]
    for index, (node, _) in enumerate(operands):
        # What a window function computes is its `this`; the other parts are the window.
        if isinstance(node, exp.Window) and path[index][1] != "this":
            clause, operands = Clause.WINDOW, operands[:index]
            break
    is_computed = any(not isinstance(node, _PASSING) for node, _ in operands)
    return _Context(clause, _line(column), is_computed), clause_node
