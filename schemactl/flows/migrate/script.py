"""``schemactl migrate plan --dialect D``: a script for an engine that is not connected.

Columns have the types that dlt uses on the engine. No values can be read, so the engine's cast converts them, and a
guard compares each result with the original value: nothing is silently rounded or cut. If an engine cannot change a
type in place, or not with a guard, a new column gets the type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from schemactl.destinations import settle_in
from schemactl.errors import InputError, backquoted
from schemactl.flows.migrate.state import find_goal_schema, with_content_hash
from schemactl.flows.references import find_schemas
from schemactl.migration.abilities import Abilities
from schemactl.migration.migration_plan import Place, Render, make_plan
from schemactl.migration.options import PlanOptions
from schemactl.migration.planner import plan_steps
from schemactl.migration.reports import BlockerKind, PlanBlocker, PlanReport
from schemactl.migration.statements import Engine, Retype, checked_type, render
from schemactl.migration.steps import ChangeType, Step
from schemactl.migration.ways import Way
from schemactl.schema.conversions import Conversion
from schemactl.schema.fit import fit
from schemactl.schema.full_types import decimal_sizes
from schemactl.schema.hash import bump
from schemactl.schema.structure import DATABASE_TYPE, structure_of, with_descriptions
from schemactl.schema.types import Column, DataType, Properties, Schema, Table
from schemactl.store.folder import SchemasFolder, SchemasPlace
from schemactl.type_systems.ddl import Dialect
from schemactl.type_systems.dialect_names import resolve_dialect
from schemactl.type_systems.sql_types import CASTS_WITHOUT_SIZES, DIALECTS, UPPER_CASE, cast_in, defined_type, type_in

if TYPE_CHECKING:
    from sqlglot import exp


def write_script(
    reference: str | Schema, start: str | Schema | None, dialect: str, schemas: SchemasPlace, options: PlanOptions
) -> PlanReport:
    """Return the plan from one schema to another, with the statements of a dialect; no data is read.

    ``reference`` is the wanted schema, a REF or a `Schema`; ``start`` is the engine's current schema, or None for no
    tables.
    """
    dialect = resolve_dialect(dialect)
    schema = find_goal_schema(reference, schemas)
    start_schema = _find_start(start, schema.name, SchemasFolder.at(schemas)) if start else None
    stored = partial(stored_in, dialect=dialect)
    empty = Schema(name=schema.name, tables={})
    catalogue = (
        with_descriptions(structure_of(start_schema, start_schema, stored), start_schema) if start_schema else empty
    )
    catalogue = replace(catalogue, name=schema.name)
    if start_schema is not None:
        catalogue = _with_keys(catalogue, start_schema, options)
    abilities = abilities_of(dialect)
    # Tables of the schema that the engine has contain data; dlt creates the remaining tables with their data.
    proposal = plan_steps(catalogue, schema, start_schema, stored=stored, abilities=abilities, options=options)
    if start_schema is not None:  # some engines drop a description unless it is repeated
        proposal = replace(proposal, catalogue=with_descriptions(proposal.catalogue, start_schema))
    render = render_for(dialect)
    plan = make_plan(proposal, catalogue, schema, Place(dialect, "", ""), render)
    if plan.is_applicable:
        return PlanReport(plan)
    blocker = PlanBlocker(BlockerKind.IMPOSSIBLE, f"{dialect} does not support all steps", "", plan.impossible)
    return PlanReport(plan, blockers=(blocker,))


def _find_start(reference: str | Schema, name: str, folder: SchemasFolder) -> Schema:
    """Return the current schema of the engine; if a REF has several schemas, the schema with the same name."""
    if isinstance(reference, Schema):
        return bump(reference)
    candidates = find_schemas(reference, folder)
    chosen = (
        next((referred for referred in candidates if referred.schema.name == name), None)
        if len(candidates) > 1
        else candidates[0]
    )
    if chosen is None:
        names = backquoted(referred.schema.name for referred in candidates)
        raise InputError(f"`{reference}` has no schema `{name}`", hint=f"it has {names}")
    return with_content_hash(chosen, reference)


def _with_keys(catalogue: Schema, start: Schema, options: PlanOptions) -> Schema:
    """Return the tables with the requested keys of their schema, which an earlier script has created."""
    key_hints = [
        *(["unique"] if options.compares_unique else ()),
        *(["primary_key"] if options.compares_primary_keys else ()),
    ]

    def keyed(column: Column, schema_column: Column) -> Column:
        keys = {name: True for name in key_hints if schema_column.properties.get(name)}
        return replace(column, properties={**column.properties, **keys})

    tables = {
        name: replace(
            table,
            columns={key: keyed(column, start.tables[name].columns[key]) for key, column in table.columns.items()},
        )
        for name, table in catalogue.tables.items()
    }
    return replace(catalogue, tables=tables)


_KEPT: Final = ("data_type", "precision", "scale", "timezone", DATABASE_TYPE)

_TEXT: Final = Column("", {"data_type": "text"})
_DECIMAL: Final = Column("", {"data_type": "decimal"})
_WIDER: Final[Mapping[DataType, Column]] = {
    DataType.BIGINT: _DECIMAL,
    DataType.WEI: _DECIMAL,
    DataType.DECIMAL: Column("", {"data_type": "double"}),
    DataType.DATE: Column("", {"data_type": "timestamp", "timezone": False}),
}
"""Columns that take the texts of a type whole that a cast to it would round or cut."""
_MOST_BITS: Final = 64
_CONVERTS_WHERE_ASSIGNED: Final = frozenset(("mysql", "sqlite"))
"""Engines that convert a text that is assigned to a column, and cast to other types than columns have.

SQLite's cast makes numbers of dates and booleans: 2024 of ``2024-01-02``.
"""
_RETYPES_IN_PLACE: Final = frozenset(("postgres", "duckdb", "materialize", "risingwave", "mysql", "tsql"))
_CONVERTS_IN_PLACE: Final = frozenset(("postgres", "duckdb"))
"""Engines that take an expression with a change of type (``USING``)."""
_RENAMES_NO_COLUMN: Final = frozenset(("tsql", "hive", "athena"))
_KEEPS_NOT_NULL: Final = frozenset(("hive", "athena", "redshift", "singlestore"))
"""Engines that cannot allow nulls again."""
_SETS_NOT_NULL: Final = frozenset(
    ("postgres", "duckdb", "snowflake", "databricks", "materialize", "risingwave", "mysql", "tsql", "fabric")
)
_HAS_NO_UNIQUE: Final = frozenset(("bigquery", "spark", "hive", "athena", "trino", "presto", "clickhouse"))
_HAS_PRIMARY_KEY: Final = frozenset(
    (
        *("postgres", "duckdb", "mysql", "tsql", "oracle", "exasol", "teradata"),
        *("bigquery", "databricks", "redshift", "snowflake"),  # these note it, and do not see to it
    )
)
"""Engines that can give a table a primary key that was made without one."""
_DROPS_PRIMARY_KEY: Final = frozenset(("bigquery", "databricks", "exasol", "mysql", "oracle", "snowflake"))
"""Engines that can drop a primary key without its constraint's name, which a script cannot look up."""


def stored_in(column: Column, dialect: str) -> Properties:
    """Return a column's type as an engine has it, and whether it may be null."""
    properties = settle_in(dialect)(column).properties
    kind = {name: properties[name] for name in _KEPT if name in properties}
    return kind if column.nullable else {**kind, "nullable": False}


def abilities_of(dialect: str) -> Abilities:
    """Return the known abilities of an engine; the bookkeeping is left to dlt."""

    def retype(before: Column, after: Column) -> Way:
        is_guarded = dialect in _CONVERTS_IN_PLACE or fit(before, after).conversion is Conversion.WHOLE
        return Way.REWRITE if dialect in _RETYPES_IN_PLACE and is_guarded else Way.NONE

    sql = Dialect(dialect)
    not_null = Way.SCAN if dialect in _SETS_NOT_NULL else Way.NONE
    return Abilities(
        transactional_ddl=False,
        adds_not_null=not_null is Way.NONE,
        rename_column=Way.NONE if dialect in _RENAMES_NO_COLUMN else Way.IN_PLACE,
        retype=retype,
        set_not_null=not_null,
        drop_not_null=Way.NONE if dialect in _KEEPS_NOT_NULL else Way.IN_PLACE,
        add_unique=Way.NONE if dialect in _HAS_NO_UNIQUE else Way.SCAN,
        drop_unique=Way.NONE,  # a script cannot look up the constraint's name
        add_primary_key=Way.SCAN if dialect in _HAS_PRIMARY_KEY else Way.NONE,
        drop_primary_key=Way.IN_PLACE if dialect in _DROPS_PRIMARY_KEY else Way.NONE,
        describe_table=Way.IN_PLACE if sql.can_describe else Way.NONE,
        kept_description=sql.kept_description,
        keeps_dlt_tables=False,
        settle=settle_in(dialect),
    )


def render_for(dialect: str) -> Render:
    """Return the renderer of a step's statements in a dialect."""
    engine = Engine(
        sql=Dialect(dialect, folds=dialect in UPPER_CASE),
        type_of=partial(_type_of, dialect=dialect),
        convert=partial(_Cast, dialect),
        parts_of=lambda _: (),
        cast_type=None if dialect in _CONVERTS_WHERE_ASSIGNED else lambda column: _kind(column, dialect).sql(dialect),
        casts_nulls=True,
        converts_in_place=dialect in _CONVERTS_IN_PLACE,
    )

    def write(step: Step, table: Table | None) -> tuple[str, ...]:
        if isinstance(step, ChangeType) and step.after.data_type in (DataType.TIMESTAMP, DataType.TIME):
            # A declared precision would silently round times.
            step = replace(step, after=_without_size(step.after))
        return render(step, table, engine)

    return write


def _type_of(column: Column, dialect: str) -> str:
    """Return a column's type: the engine's own, or as dlt says it there, with its size."""
    own_type = column.properties.get(DATABASE_TYPE)
    return checked_type(column, lambda column: defined_type(column, dialect) if own_type is None else str(own_type))


def _without_size(column: Column) -> Column:
    properties = {name: value for name, value in column.properties.items() if name not in ("precision", "scale")}
    return replace(column, properties=properties)


def _kind(column: Column, dialect: str) -> exp.DataType:
    """Return the type for casts, without a size that would cut or round values."""
    from sqlglot import exp

    of_rows = Dialect(dialect).of_rows.name
    written = _type_of(column, dialect)
    if DATABASE_TYPE in column.properties:
        return exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=written)
    is_sized = column.data_type is DataType.DECIMAL or (column.properties.get("precision") or 0) > _MOST_BITS
    cast_column = column if is_sized else _without_size(column)
    word = cast_in(cast_column, of_rows)
    assert word is not None  # `_type_of` has refused it
    if of_rows in DIALECTS or word != type_in(cast_column, of_rows):
        # sqlglot would spell dlt's word differently.
        return exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=word)
    return exp.DataType.build(word, dialect=of_rows)


@dataclass(frozen=True, slots=True)
class _Cast:
    """A conversion by an engine's casts, guarded if its verdict asks for that; see ``statements.Conversion``."""

    dialect: str
    retype: Retype
    source: str

    @property
    def fits(self) -> str:
        """The condition that the value survives."""
        guard = self._guard() if self.retype.is_strict else None
        return "TRUE" if guard is None else self._written(guard)

    @property
    def value(self) -> str:
        """The value in its new type; the statement fails if it does not survive, and its message shows the value."""
        from sqlglot import exp

        source, kind = self._source(), _kind(self.retype.after, self.dialect)
        value: exp.Expression = exp.Cast(this=source, to=kind)
        if self.retype.is_strict and (fits := self._guard()) is not None:
            text = _kind(_TEXT, self.dialect)
            described = exp.DPipe(this=exp.convert("does not survive: "), expression=exp.Cast(this=source, to=text))
            is_kept = exp.Or(this=exp.Is(this=source, expression=exp.Null()), expression=fits)
            value = exp.Case().when(is_kept, value).else_(exp.Cast(this=described, to=kind))
        return self._written(value)

    @property
    def or_null(self) -> str:
        """The value in its new type, null if it does not survive."""
        from sqlglot import exp

        value: exp.Expression = self._tried(self.retype.after)
        fits = self._guard() if self.retype.is_strict else None
        return self._written(value if fits is None else exp.Case().when(fits, value))

    def _source(self) -> exp.Expression:
        """Return the value with its type, which decides how a cast of it is written (Snowflake tries texts only)."""
        from sqlglot import exp

        source, before = exp.Var(this=self.source), self.retype.before
        source.type = "TEXT" if before.data_type is DataType.TEXT else _kind(before, self.dialect)
        return source

    def _tried(self, column: Column) -> exp.Expression:
        """Return the value cast to a column's type and rounded as in the column; null if the cast fails."""
        from sqlglot import exp

        tried = exp.TryCast(this=self._source(), to=_kind(column, self.dialect))
        if self.dialect in CASTS_WITHOUT_SIZES and column.data_type is DataType.DECIMAL:
            return exp.Round(this=tried, decimals=exp.convert(decimal_sizes(column.properties)[1]))
        return tried

    def _guard(self) -> exp.Expression | None:
        """Return whether a converted value equals the original; None if a cast either keeps the whole value or fails.

        Strings are compared in a wider type, which keeps all digits, or the full time, that the new type may round.
        """
        from sqlglot import exp

        before, after, source = self.retype.before, self.retype.after, self._source()
        converted = self._tried(after)
        if before.data_type is not DataType.TEXT:
            return exp.EQ(this=exp.Cast(this=converted, to=_kind(before, self.dialect)), expression=source)
        wide = _WIDER.get(after.data_type) if after.data_type is not None else None
        if wide is None:
            return None
        kind = _kind(wide, self.dialect)
        return exp.EQ(this=exp.TryCast(this=source, to=kind), expression=exp.Cast(this=converted, to=kind))

    def _written(self, expression: exp.Expression) -> str:
        return expression.sql(Dialect(self.dialect).of_rows.name, identify=True)
