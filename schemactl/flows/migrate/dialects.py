"""Statements for engines that are not connected, written by sqlglot; which steps an engine can take stands here.

Types are those that dlt gives its columns there. Values are converted by the engine's own cast: nobody can look at
them. Where an engine cannot change a type in its place, a new column takes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, assert_never

from schemactl.destinations._migration.ddl import check_name
from schemactl.errors import InputError, nearest_or_all
from schemactl.migration.abilities import Abilities, Way
from schemactl.migration.plan import Render
from schemactl.migration.steps import (
    AddColumn,
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    CreateTable,
    DropColumn,
    DropNotNull,
    DropPrimaryKey,
    DropTable,
    DropUnique,
    FillColumn,
    RenameColumn,
    RenameTable,
    SetNotNull,
    Step,
    Taken,
    table_of,
)
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, DataType, Properties, Table

if TYPE_CHECKING:
    from sqlglot import exp

_KEPT: Final = ("data_type", "precision", "scale", "timezone", DATABASE_TYPE)

_TYPES: Final[Mapping[DataType, str]] = {
    DataType.TEXT: "TEXT",
    DataType.DOUBLE: "DOUBLE",
    DataType.BOOL: "BOOLEAN",
    DataType.TIMESTAMP: "TIMESTAMPTZ",
    DataType.BIGINT: "BIGINT",
    DataType.BINARY: "VARBINARY",
    DataType.JSON: "JSON",
    DataType.DECIMAL: "DECIMAL",
    DataType.WEI: "DECIMAL",
    DataType.DATE: "DATE",
    DataType.TIME: "TIME",
}

_OWN_TYPES: Final[Mapping[str, Mapping[DataType, str]]] = {
    "snowflake": {DataType.JSON: "VARIANT"},
    "redshift": {DataType.JSON: "SUPER", DataType.TEXT: "VARCHAR(MAX)"},
    "databricks": {DataType.JSON: "STRING", DataType.TIME: "STRING"},
    "spark": {DataType.JSON: "STRING", DataType.TIME: "STRING"},
    "athena": {DataType.JSON: "STRING", DataType.TIME: "STRING"},
    "mysql": {DataType.TEXT: "LONGTEXT", DataType.BINARY: "LONGBLOB"},
    "tsql": {DataType.JSON: "NVARCHAR(MAX)", DataType.TEXT: "NVARCHAR(MAX)", DataType.BINARY: "VARBINARY(MAX)"},
}
"""Where an engine's own word is meant, and sqlglot's is another."""

_FOLDS: Final[Mapping[str, Callable[[str], str]]] = {"snowflake": str.upper}
"""How dlt writes names for an engine, where that is not as the schema spells them."""

_DIGITS: Final[Mapping[DataType, tuple[int, int]]] = {DataType.DECIMAL: (38, 9), DataType.WEI: (38, 0)}
_RETYPES_IN_PLACE: Final = frozenset(("postgres", "duckdb", "materialize", "risingwave", "mysql", "tsql"))
_RENAMES_NO_COLUMN: Final = frozenset(("tsql", "hive", "athena"))
_KEEPS_NOT_NULL: Final = frozenset(("hive", "athena", "singlestore"))
"""Who has no words by which nulls are allowed again."""
_SETS_NOT_NULL: Final = frozenset(("postgres", "duckdb", "snowflake", "databricks", "materialize", "risingwave"))
_HAS_NO_UNIQUE: Final = frozenset(("bigquery", "spark", "hive", "athena", "trino", "presto", "clickhouse"))
_HAS_PRIMARY_KEY: Final = frozenset(
    (
        *("postgres", "duckdb", "mysql", "tsql", "oracle", "exasol", "teradata"),
        *("bigquery", "databricks", "redshift", "snowflake"),  # these note it, and do not see to it
    )
)
"""Who can give a table a primary key that was made without one."""
_DROPS_PRIMARY_KEY: Final = frozenset(("bigquery", "databricks", "exasol", "mysql", "oracle", "snowflake"))
"""Who can drop it without its constraint's name, which nobody can look up."""
_NOTED_ONLY: Final = frozenset(("bigquery",))
"""Who takes a primary key only with the words that nobody sees to it."""


def check_dialect(dialect: str) -> None:
    """Raise InputError where sqlglot knows no such dialect."""
    from sqlglot.dialects.dialect import Dialect

    known = sorted(name for name in Dialect.classes if name)
    if dialect not in known:
        raise InputError(f"there is no dialect `{dialect}`", hint=nearest_or_all(dialect, known))


def stated(column: Column) -> Properties:
    """Return what a schema says of a column's type and of nulls."""
    kind = {name: column.properties[name] for name in _KEPT if name in column.properties}
    return kind if column.nullable else {**kind, "nullable": False}


def abilities_of(dialect: str) -> Abilities:
    """Return what an engine can do, as far as that is known; the bookkeeping is left to dlt."""
    retype = Way.REWRITE if dialect in _RETYPES_IN_PLACE else Way.NONE
    not_null = Way.SCAN if dialect in _SETS_NOT_NULL else Way.NONE
    return Abilities(
        transactional_ddl=False,
        adds_not_null=not_null is Way.NONE,
        rename_column=Way.NONE if dialect in _RENAMES_NO_COLUMN else Way.IN_PLACE,
        retype=lambda *_: retype,
        set_not_null=not_null,
        drop_not_null=Way.NONE if dialect in _KEEPS_NOT_NULL else Way.IN_PLACE,
        add_unique=Way.NONE if dialect in _HAS_NO_UNIQUE else Way.SCAN,
        drop_unique=Way.NONE,  # nobody can look up the constraint's name
        add_primary_key=Way.SCAN if dialect in _HAS_PRIMARY_KEY else Way.NONE,
        drop_primary_key=Way.IN_PLACE if dialect in _DROPS_PRIMARY_KEY else Way.NONE,
        keeps_dlt_tables=False,
    )


def render_for(dialect: str) -> Render:
    """Return what writes a step's statements in a dialect."""
    writer = _Writer(dialect)

    def render(step: Step, table: Table | None) -> tuple[str, ...]:  # noqa: ARG001 - no step copies its table
        return tuple(each.sql(dialect, identify=True) for each in writer.write(step))

    return render


@dataclass(frozen=True, slots=True)
class _Writer:
    dialect: str

    def write(self, step: Step) -> list[exp.Expression]:
        """Return the statements of a step."""
        from sqlglot import exp

        match step:
            case CreateTable():
                columns = [self._definition(column) for column in step.table.columns.values()]
                made = exp.Schema(this=self._table(step.table.name), expressions=columns)
                return [exp.Create(this=made, kind="TABLE")]
            case DropTable():
                return [exp.Drop(tables=[self._table(step.table.name)], kind="TABLE")]
            case Backfill() | FillColumn():
                return [self._update(step)]
            case _:
                return [exp.Alter(this=self._table(table_of(step)), kind="TABLE", actions=[self._action(step)])]

    def _action(
        self,
        step: RenameTable
        | AddColumn
        | DropColumn
        | RenameColumn
        | ChangeType
        | SetNotNull
        | DropNotNull
        | AddUnique
        | DropUnique
        | AddPrimaryKey
        | DropPrimaryKey,
    ) -> exp.Expression:
        from sqlglot import exp

        match step:
            case RenameTable():
                return exp.AlterRename(this=self._table(step.after))
            case AddColumn():
                return self._definition(step.column)
            case DropColumn():
                return exp.Drop(tables=[self._column(step.column.name)], kind="COLUMN")
            case RenameColumn():
                return exp.RenameColumn(this=self._name(step.before), to=self._name(step.after), exists=False)
            case ChangeType():
                return self._retype(step)
            case SetNotNull():
                # `allow_null=False`, as sqlglot reads it, gives the same text and a warning.
                return exp.AlterColumn(this=self._name(step.column.name), drop=False, allow_null=True)
            case DropNotNull():
                return exp.AlterColumn(this=self._name(step.column.name), drop=True, allow_null=True)
            case AddUnique() | DropUnique() | AddPrimaryKey() | DropPrimaryKey():
                return self._key(step)
            case _:
                assert_never(step)

    def _key(self, step: AddUnique | DropUnique | AddPrimaryKey | DropPrimaryKey) -> exp.Expression:
        from sqlglot import exp

        match step:
            case AddUnique():
                unique = exp.UniqueColumnConstraint(this=exp.Schema(expressions=[self._name(step.column)]))
                return exp.AddConstraint(expressions=[unique])
            case DropUnique():
                raise InputError(f"the constraint of `{step.table}.{step.column}` has a name that is not known")
            case AddPrimaryKey():
                options = ["NOT ENFORCED"] if self.dialect in _NOTED_ONLY else None
                key = exp.PrimaryKey(expressions=[self._name(column) for column in step.columns], options=options)
                return exp.AddConstraint(expressions=[key])
            case DropPrimaryKey():
                return exp.Drop(kind="PRIMARY KEY")
            case _:
                assert_never(step)

    def _retype(self, step: ChangeType) -> exp.Expression:
        from sqlglot import exp

        kind = self.type_of(step.after)
        using = exp.Cast(this=self._column(step.before.name), to=kind) if self.dialect == "postgres" else None
        return exp.AlterColumn(this=self._name(step.after.name), dtype=kind, using=using)

    def _update(self, step: Backfill | FillColumn) -> exp.Expression:
        from sqlglot import exp

        if isinstance(step, FillColumn):
            value: exp.Expression = exp.Cast(this=exp.convert(step.value), to=self.type_of(step.column))
            where: exp.Expression
            target, where = step.column, exp.Is(this=self._column(step.column.name), expression=exp.Null())
        else:
            source, kind = self._column(step.source.name), self.type_of(step.target)
            converted = exp.TryCast(this=source, to=self.type_of(step.target))
            is_unfit = step.taken is Taken.UNFIT
            value, target = exp.Cast(this=source, to=kind) if is_unfit else converted, step.target
            where = exp.Not(this=exp.Is(this=self._column(step.source.name), expression=exp.Null()))
        assignment = exp.EQ(this=self._column(target.name), expression=value)
        return exp.Update(this=self._table(step.table), expressions=[assignment], where=exp.Where(this=where))

    def _definition(self, column: Column) -> exp.ColumnDef:
        from sqlglot import exp

        required = [] if column.nullable else [exp.ColumnConstraint(kind=exp.NotNullColumnConstraint())]
        return exp.ColumnDef(this=self._name(column.name), kind=self.type_of(column), constraints=required)

    def _name(self, name: str) -> exp.Identifier:
        from sqlglot import exp

        check_name(name)
        return exp.to_identifier(_FOLDS.get(self.dialect, str)(name), quoted=True)

    def _column(self, name: str) -> exp.Column:
        from sqlglot import exp

        return exp.Column(this=self._name(name))

    def _table(self, name: str) -> exp.Table:
        from sqlglot import exp

        return exp.Table(this=self._name(name))

    def type_of(self, column: Column) -> exp.DataType:
        """Return a column's type.

        Raises:
            InputError: it has none that the engine knows.
        """
        from sqlglot import exp

        kind = column.data_type
        if kind is None:
            raise InputError(f"column `{column.name}` has no type that dlt knows")
        own = _OWN_TYPES.get(self.dialect, {}).get(kind)
        if own is not None:
            return exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=own)
        if kind is DataType.TIMESTAMP and column.properties.get("timezone") is False:
            return exp.DataType.build("TIMESTAMP")
        if kind in _DIGITS:
            precision, scale = _DIGITS[kind]
            precision = _size(column, "precision", precision)
            scale = _size(column, "scale", min(scale, precision))
            return exp.DataType.build(f"DECIMAL({precision}, {scale})")
        return exp.DataType.build(_TYPES[kind])


def _size(column: Column, name: str, default: int) -> int:
    size = column.properties.get(name)
    if size is None:
        return default
    if isinstance(size, bool) or not isinstance(size, int):
        raise InputError(f"`{name}` of column `{column.name}` is no integer: {size!r}")
    return size
