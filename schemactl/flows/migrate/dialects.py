"""Statements for engines that are not connected, written by sqlglot; which steps an engine can take stands here.

Types are those that dlt gives its columns there. Values are converted by the engine's own cast, as nobody can look at
them; a guard beside it holds its result against the value, so that nothing is rounded or cut unseen. Where an engine
cannot change a type in its place, or not with a guard, a new column takes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, assert_never

from schemactl.destinations import check_name, cut_comment, new_column
from schemactl.errors import InputError, nearest_or_all
from schemactl.migration.abilities import Abilities, Way
from schemactl.migration.fit import fit
from schemactl.migration.plan import Render
from schemactl.migration.steps import (
    AddColumn,
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    CreateTable,
    DescribeTable,
    DropColumn,
    DropNotNull,
    DropPrimaryKey,
    DropTable,
    DropUnique,
    FillColumn,
    OnlineStep,
    RenameColumn,
    RenameTable,
    SetNotNull,
    Step,
    Taken,
    table_of,
)
from schemactl.schema.conversions import Conversion
from schemactl.schema.sql_types import DIALECTS, UPPER_CASE, type_in
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

_WIDER: Final[Mapping[DataType, str]] = {
    DataType.BIGINT: "DECIMAL(38, 9)",
    DataType.WEI: "DECIMAL(38, 9)",
    DataType.DECIMAL: "DOUBLE",
    DataType.DATE: "TIMESTAMP",
}
"""What takes the texts of a type whole that a cast to it would round or cut."""

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

_DIGITS: Final[Mapping[DataType, tuple[int, int]]] = {DataType.DECIMAL: (38, 9), DataType.WEI: (38, 0)}
_RETYPES_IN_PLACE: Final = frozenset(("postgres", "duckdb", "materialize", "risingwave", "mysql", "tsql"))
_CONVERTS_IN_PLACE: Final = frozenset(("postgres", "duckdb"))
"""Who takes an expression with a change of type (``USING``)."""
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
_COMMENTS_ON: Final[Mapping[str, str]] = {
    **dict.fromkeys(("postgres", "duckdb", "redshift", "trino", "materialize", "risingwave"), "NULL"),
    **dict.fromkeys(("snowflake", "oracle", "teradata", "exasol"), "''"),
}
"""Who has ``COMMENT ON``, with what takes a comment away."""
_COMMENTS: Final[Mapping[str, tuple[str, str]]] = {
    **dict.fromkeys(
        ("databricks", "spark"),
        ("COMMENT ON TABLE {table} IS {text}", "ALTER TABLE {table} ALTER COLUMN {column} COMMENT {text}"),
    ),
    "mysql": ("ALTER TABLE {table} COMMENT = {text}", "ALTER TABLE {table} MODIFY COLUMN {definition} COMMENT {text}"),
    "clickhouse": ("ALTER TABLE {table} MODIFY COMMENT {text}", "ALTER TABLE {table} COMMENT COLUMN {column} {text}"),
    "bigquery": (
        "ALTER TABLE {table} SET OPTIONS (description = {text})",
        "ALTER TABLE {table} ALTER COLUMN {column} SET OPTIONS (description = {text})",
    ),
    "hive": (
        "ALTER TABLE {table} SET TBLPROPERTIES ('comment' = {text})",
        "ALTER TABLE {table} CHANGE COLUMN {column} {definition} COMMENT {text}",
    ),
}
"""How others describe a table, and a column."""
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

    def retype(before: Column, after: Column) -> Way:
        is_guarded = dialect in _CONVERTS_IN_PLACE or fit(before, after).conversion is Conversion.WHOLE
        return Way.REWRITE if dialect in _RETYPES_IN_PLACE and is_guarded else Way.NONE

    not_null = Way.SCAN if dialect in _SETS_NOT_NULL else Way.NONE
    return Abilities(
        transactional_ddl=False,
        adds_not_null=not_null is Way.NONE,
        rename_column=Way.NONE if dialect in _RENAMES_NO_COLUMN else Way.IN_PLACE,
        retype=retype,
        set_not_null=not_null,
        drop_not_null=Way.NONE if dialect in _KEEPS_NOT_NULL else Way.IN_PLACE,
        add_unique=Way.NONE if dialect in _HAS_NO_UNIQUE else Way.SCAN,
        drop_unique=Way.NONE,  # nobody can look up the constraint's name
        add_primary_key=Way.SCAN if dialect in _HAS_PRIMARY_KEY else Way.NONE,
        drop_primary_key=Way.IN_PLACE if dialect in _DROPS_PRIMARY_KEY else Way.NONE,
        describe_table=Way.IN_PLACE if dialect in _COMMENTS_ON or dialect in _COMMENTS else Way.NONE,
        kept_description=cut_comment if dialect == "mysql" else lambda text, _: text,
        keeps_dlt_tables=False,
    )


def render_for(dialect: str) -> Render:
    """Return what writes a step's statements in a dialect."""
    writer = _Writer(dialect)

    def render(step: Step, table: Table | None) -> tuple[str, ...]:
        return tuple(each.sql(dialect, identify=True) for each in writer.write(step, table))

    return render


@dataclass(frozen=True, slots=True)
class _Writer:
    dialect: str

    def write(self, step: Step, table: Table | None) -> list[exp.Expression]:
        """Return the statements of a step on a table as the step finds it."""
        from sqlglot import exp

        match step:
            case CreateTable():
                columns = [self._definition(column) for column in step.table.columns.values()]
                made = exp.Schema(this=self._table(step.table.name), expressions=columns)
                return [exp.Create(this=made, kind="TABLE")]
            case DropTable():
                return [exp.Drop(tables=[self._table(step.table.name)], kind="TABLE")]
            case Backfill() | FillColumn():
                return [self._update(step, table)]
            case DescribeTable():
                return [self._describe(step, column, text, table) for column, text in step.after.items()]
            case OnlineStep():
                raise InputError("a script has no steps of `--online`")
            case _:
                return [exp.Alter(this=self._table(table_of(step)), kind="TABLE", actions=[self._action(step)])]

    def _describe(self, step: DescribeTable, column: str, text: str | None, table: Table | None) -> exp.Expression:
        from sqlglot import exp

        def written(made: exp.Expr) -> str:
            return made.sql(self.dialect, identify=True)

        is_column, place = bool(column), written(self._table(step.table))
        if self.dialect in _COMMENTS_ON:
            what = f"COLUMN {place}.{written(self._name(column))}" if is_column else f"TABLE {place}"
            value = _COMMENTS_ON[self.dialect] if text is None else written(exp.convert(text))
            return exp.Var(this=f"COMMENT ON {what} IS {value}")
        names = {"column": written(self._name(column))} if is_column else {}
        if is_column and table is not None:
            names["definition"] = written(self._definition(table.columns[column]))
        made = _COMMENTS[self.dialect][is_column].format(table=place, text=written(exp.convert(text or "")), **names)
        return exp.Var(this=made)

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
        using: exp.Expression | None = None
        if self.dialect in _CONVERTS_IN_PLACE:
            source = self._source(step.before)
            using = exp.Cast(this=source, to=kind)
            fits = self._fits(step.before, step.after) if step.conversion is not Conversion.WHOLE else None
            if fits is not None:
                text = exp.DataType.build("TEXT")
                described = exp.DPipe(this=exp.convert("does not survive: "), expression=exp.Cast(this=source, to=text))
                is_kept = exp.Or(this=exp.Is(this=source, expression=exp.Null()), expression=fits)
                # The statement fails, and its message shows the value.
                using = exp.Case().when(is_kept, using).else_(exp.Cast(this=described, to=kind))
        # A text or an integer that has no room fails; times would be rounded to a stated precision without a word.
        is_sized = step.after.data_type in (DataType.TEXT, DataType.BIGINT, DataType.BINARY)
        dtype = self._word(step.after) if is_sized else kind
        return exp.AlterColumn(this=self._name(step.after.name), dtype=dtype, using=using)

    def _update(self, step: Backfill | FillColumn, table: Table | None) -> exp.Expression:
        from sqlglot import exp

        if isinstance(step, FillColumn):
            target = step.column
            value: exp.Expression = exp.Cast(this=exp.convert(step.value), to=self.type_of(target))
            where: exp.Expression = exp.Is(this=self._column(target.name), expression=exp.Null())
        else:
            source, target = self._source(step.source), step.target
            where = exp.Not(this=exp.Is(this=source, expression=exp.Null()))
            if step.taken is Taken.UNFIT:
                value = exp.Cast(this=source, to=self.type_of(target))
                is_left = exp.Is(this=self._column(new_column(step, table)), expression=exp.Null())
                where = exp.And(this=where, expression=is_left)
            else:
                value = exp.TryCast(this=source, to=self.type_of(target))
                fits = self._fits(step.source, target) if step.conversion is not Conversion.WHOLE else None
                value = exp.Case().when(fits, value) if fits is not None else value
        assignment = exp.EQ(this=self._column(target.name), expression=value)
        return exp.Update(this=self._table(step.table), expressions=[assignment], where=exp.Where(this=where))

    def _source(self, column: Column) -> exp.Column:
        """Return a column with its type, which decides how a cast of it is written (Snowflake tries texts only)."""
        source = self._column(column.name)
        source.type = self.type_of(column) if column.data_type is not DataType.TEXT else "TEXT"
        return source

    def _fits(self, before: Column, after: Column) -> exp.Expression | None:
        """Return whether a converted value is what it was; None where casts either take a value whole or fail.

        Texts are held against the type that takes all of the digits, or of the time, which the new one may round off.
        """
        from sqlglot import exp

        source = self._source(before)
        converted: exp.Expression = exp.TryCast(this=source, to=self.type_of(after))
        if before.data_type is not DataType.TEXT:
            return exp.EQ(this=exp.Cast(this=converted, to=self.type_of(before)), expression=source)
        wide = _WIDER.get(after.data_type) if after.data_type is not None else None
        if wide is None:
            return None
        kind = exp.DataType.build(wide)
        return exp.EQ(this=exp.TryCast(this=source, to=kind), expression=exp.Cast(this=converted, to=kind))

    def _definition(self, column: Column) -> exp.ColumnDef:
        from sqlglot import exp

        required = [] if column.nullable else [exp.ColumnConstraint(kind=exp.NotNullColumnConstraint())]
        return exp.ColumnDef(this=self._name(column.name), kind=self._word(column), constraints=required)

    def _name(self, name: str) -> exp.Identifier:
        from sqlglot import exp

        check_name(name)
        return exp.to_identifier(name.upper() if self.dialect in UPPER_CASE else name, quoted=True)

    def _column(self, name: str) -> exp.Column:
        from sqlglot import exp

        return exp.Column(this=self._name(name))

    def _table(self, name: str) -> exp.Table:
        from sqlglot import exp

        return exp.Table(this=self._name(name))

    def _word(self, column: Column) -> exp.DataType:
        """Return a column's type as dlt says it there, with its size.

        Raises:
            InputError: it has none, or one that dlt refuses there.
        """
        from sqlglot import exp

        self.type_of(column)
        word = type_in(column, self.dialect)
        if word is None:
            size = column.properties.get("precision")
            raise InputError(f"`{self.dialect}` has no {column.data_type} of precision {size} (`{column.name}`)")
        if self.dialect not in DIALECTS:
            return exp.DataType.build(word, dialect=self.dialect)
        # sqlglot would spell dlt's word as another one.
        return exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=word)

    def type_of(self, column: Column) -> exp.DataType:
        """Return the type that values are cast to.

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
