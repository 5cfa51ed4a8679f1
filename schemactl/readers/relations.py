"""The results of tables and queries: the columns of the schema's tables that each of their columns passes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect, NormalizationStrategy
from sqlglot.dialects.mysql import MySQL

from schemactl.errors import InputError
from schemactl.readers.tables import ReadTables
from schemactl.review.readers import Clause
from schemactl.schema.casts import Cast


@dataclass(slots=True, eq=False)
class ColumnUse:
    """The use of a column in a statement.

    Attributes:
        line: of the statement's text, from 1; None if the parser does not know it.
    """

    table: str
    column: str
    clause: Clause
    line: int | None
    is_computed: bool = False
    is_positional: bool = False
    cast: Cast | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """A column of a result.

    Attributes:
        passages: the columns of tables that it passes on as they are; empty if it is computed or of another table.
            No query has named a column of the clause STAR yet.
        line: of the item of SELECT that returns it, if that is known.
        spelling: the name that a table has for it, by which queries can call it as well: in quotes.
    """

    name: str
    passages: tuple[ColumnUse, ...] = ()
    line: int | None = None
    spelling: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which queries can call it."""
        return (self.name, self.spelling) if self.spelling and self.spelling != self.name else (self.name,)


MAX_OUTPUTS: Final = 20_000
"""A hostile text doubles the columns of its result with each query."""


def merge_passages(*passages: tuple[ColumnUse, ...]) -> tuple[ColumnUse, ...]:
    """Return the columns that several outputs pass on, once for each line."""
    merged: dict[tuple[str, str, Clause, int | None], ColumnUse] = {}
    for passage in (passage for several in passages for passage in several):
        merged.setdefault((passage.table, passage.column, passage.clause, passage.line), passage)
    return tuple(merged.values())


@dataclass(frozen=True)
class Relation:
    """The result of a table or query.

    Attributes:
        is_open: whether it has more columns than ``outputs``.
    """

    outputs: tuple[Output, ...] = ()
    is_open: bool = False

    def __post_init__(self) -> None:
        if len(self.outputs) > MAX_OUTPUTS:
            raise InputError(f"SQL with a result of more than {MAX_OUTPUTS:,} columns")

    @cached_property
    def _passages(self) -> Mapping[str, tuple[ColumnUse, ...]]:
        by_name: dict[str, tuple[ColumnUse, ...]] = {}
        for output in self.outputs:
            for name in output.names:
                by_name[name] = merge_passages(by_name.get(name, ()), output.passages)
        return by_name

    def find(self, name: str) -> tuple[ColumnUse, ...] | None:
        """Return the columns that an output passes on; None if no output has this name."""
        return self._passages.get(name)

    @property
    def passages(self) -> Iterator[ColumnUse]:
        """The columns that all outputs pass on."""
        return (passage for output in self.outputs for passage in output.passages)

    @property
    def stars(self) -> list[ColumnUse]:
        """The columns that only ``*`` has passed on."""
        return [passage for passage in self.passages if passage.clause is Clause.STAR]


UNKNOWN: Final = Relation(is_open=True)
"""The result of a table that is not one of the schema's."""


@dataclass
class Source:
    """A table or query in FROM or JOIN.

    Attributes:
        name: its alias, or the table's name.
        dataset: of a table without an alias.
        is_in_star: whether ``*`` returns its columns.
    """

    name: str
    relation: Relation
    dataset: str = ""
    is_in_star: bool = True


@dataclass
class Scope:
    """The names that a query can use.

    Attributes:
        ctes: results by the names of common table expressions.
        outer: the query around this one, whose names a subquery can use.
        is_derived: whether this is a query in FROM or WITH, which can use outer names only with LATERAL.
        aliases: the outputs of SELECT by name.
        merged: the columns of USING and NATURAL by name.
    """

    ctes: Mapping[str, Relation]
    outer: Scope | None = None
    is_derived: bool = False
    sources: list[Source] = field(default_factory=list)
    aliases: dict[str, tuple[ColumnUse, ...]] = field(default_factory=dict)
    merged: dict[str, tuple[ColumnUse, ...]] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """Whether a source has columns that are not known."""
        return any(source.relation.is_open for source in self.sources)

    def named(self, name: str, dataset: str = "") -> Relation | None:
        """Return the source with a name."""
        relations = [
            source.relation
            for source in self.sources
            if source.name == name and (not dataset or source.dataset == dataset)
        ]
        return join_relations(relations) if relations else None

    def find(self, name: str) -> tuple[ColumnUse, ...] | None:
        """Return the columns that a name without a table names in the sources; None if no known source has it."""
        if name in self.merged:
            return self.merged[name]
        candidates = [source.relation.find(name) for source in self.sources]
        passages = [candidate for candidate in candidates if candidate is not None]
        return merge_passages(*passages) if passages else None

    def outputs(self) -> Iterator[Output]:
        """Yield the columns that ``*`` returns."""
        yielded: set[str] = set()
        for source in self.sources:
            for output in source.relation.outputs if source.is_in_star else ():
                merged_name = next((name for name in output.names if name in self.merged), None)
                if merged_name is None:
                    yield output
                elif merged_name not in yielded:
                    yielded.add(merged_name)
                    yield replace(output, passages=self.merged[merged_name], line=None)


def join_relations(relations: list[Relation]) -> Relation:
    """Return one relation with the columns of several."""
    if len(relations) == 1:
        return relations[0]
    return Relation(
        tuple(output for relation in relations for output in relation.outputs),
        any(relation.is_open for relation in relations),
    )


@lru_cache(maxsize=64)
def strategy_of(dialect: str | None) -> NormalizationStrategy:
    """Return how names of a dialect compare; without a dialect, in any case: one that differs may be the same."""
    if dialect is None:
        return NormalizationStrategy.CASE_INSENSITIVE
    instance = Dialect.get_or_raise(dialect)
    # Columns and aliases of MySQL are the same in any case, and so are its tables on some systems.
    if isinstance(instance, MySQL):
        return NormalizationStrategy.CASE_INSENSITIVE
    return instance.normalization_strategy


def fold(name: str, dialect: str | None, *, is_quoted: bool = False) -> str:
    """Return the name by which a dialect compares one in a query.

    >>> fold("Id", "postgres"), fold("Id", "snowflake"), fold("Id", "postgres", is_quoted=True)
    ('id', 'ID', 'Id')
    """
    match strategy_of(dialect):
        case NormalizationStrategy.CASE_SENSITIVE:
            return name
        case NormalizationStrategy.LOWERCASE:
            return name if is_quoted else name.lower()
        case NormalizationStrategy.UPPERCASE:
            return name if is_quoted else name.upper()
        case _:
            return name.lower()


def fold_identifier(node: exp.Expr | None, dialect: str | None) -> str:
    """Return the name by which a dialect compares an identifier; "" without one."""
    if not isinstance(node, exp.Expr):  # `database..table` has an empty text
        return ""
    return fold(node.name, dialect, is_quoted=bool(node.args.get("quoted")))


@lru_cache(maxsize=10_000)
def spellings_in(dialect: str | None, names: tuple[str, ...]) -> Mapping[str, str]:
    """Return names by their spellings in a query: as they are, and as they are read without quotes."""
    return {fold(name, dialect): name for name in names} | {name: name for name in names}


def table_relation(tables: ReadTables, table: str, dialect: str | None, line: int | None) -> Relation:
    """Return the columns of a table of the schema."""
    columns = tables.columns[table]
    return Relation(
        tuple(
            Output(fold(column, dialect), (ColumnUse(table, column, Clause.STAR, line),), spelling=column)
            for column in columns
        )
    )


def foreign_relation(columns: Iterable[str], dialect: str | None) -> Relation:
    """Return the columns of a table that is not one of the schema's."""
    return Relation(tuple(Output(fold(column, dialect), spelling=column) for column in columns))


def rename_outputs(relation: Relation, names: Iterable[str]) -> Relation:
    """Return a relation whose first outputs are named by position; further names are of columns that are not known."""
    new_names = list(names)
    outputs = [Output(name, output.passages) for name, output in zip(new_names, relation.outputs, strict=False)]
    outputs += [Output(name) for name in new_names[len(outputs) :]]
    return Relation((*outputs, *relation.outputs[len(outputs) :]))
