"""Reduces a destination's catalog and a schema to what both can store, names included, and compares them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from schemactl.errors import InputError, Problem
from schemactl.migration.abilities import Abilities
from schemactl.migration.conflicting_renames import moved, moves_of, renamed, settled, table_moves_of
from schemactl.migration.options import PlanOptions
from schemactl.migration.table_model import with_description
from schemactl.migration.ways import Way
from schemactl.schema.backfill import is_scalar
from schemactl.schema.changes import (
    ABSENT,
    Change,
    ColumnAdded,
    ColumnPropertyChanged,
    ColumnRemoved,
    ColumnRenamed,
    ColumnRetyped,
    NullabilityChanged,
    TableAdded,
    TableRemoved,
    TableRenamed,
)
from schemactl.schema.diff import diff
from schemactl.schema.folds import FOLDED_FROM, folds_of
from schemactl.schema.naming import Naming, naming_of
from schemactl.schema.renames import RENAMED_FROM, id_pairs, origins, table_renames
from schemactl.schema.settings import NormalizerConfig
from schemactl.schema.structure import DATABASE_TYPE, NameLimits, Stored, structure_of, typed_columns
from schemactl.schema.templates import LOADS_TABLE, VERSION_TABLE, new_schema
from schemactl.schema.types import Column, Properties, Schema, Table, ancestors

_DLT: Final = "_dlt_"
_OURS: Final = "_schemactl_"
_LEDGER: Final = frozenset((VERSION_TABLE, LOADS_TABLE))
_CONSTRAINTS: Final = frozenset(("unique", "primary_key"))
_ORIGINS: Final = (RENAMED_FROM, FOLDED_FROM)
_LEFT_OUT: Final = frozenset(("description", *_ORIGINS))


@dataclass(frozen=True)
class Comparison:
    """The catalog and the schema that it must match. Tables and columns have the names that they get from the renames.

    Attributes:
        catalogue: the destination's tables, spelled as the schema spells them; without bookkeeping tables.
        declared: the schema with its declared types, including types that the destination lacks.
        ledger_schema: the last schema of the destination's ledger.
        changes: from the catalog to the schema, as far as both can hold them.
        guesses: likely renames that the schema does not declare and that the options do not guess.
        missing: dlt's bookkeeping tables that the destination lacks.
        absent: names of tables that the schema has, and dlt creates with the first data.
        described: the tables of the catalog with their descriptions, which ``catalogue`` leaves out.
        renamed_tables, renamed_columns: old names by new names, of columns by table.
        left_names: former names of tables that no other table took.
        created: the tables that are new.
        retyped: table and column of columns that get another type.
        freed: table and column of columns that may be null now.
        own_types: the destination's own types of columns that are to get one (structs ...), by table and column.
    """

    catalogue: Schema
    schema: Schema
    ledger_schema: Schema | None
    changes: tuple[Change, ...]
    declared: Schema
    guesses: tuple[TableRenamed | ColumnRenamed, ...] = ()
    missing: tuple[Table, ...] = ()
    absent: tuple[str, ...] = ()
    described: Mapping[str, Table] = field(default_factory=dict)
    renamed_tables: dict[str, str] = field(default_factory=dict, init=False)
    renamed_columns: dict[str, dict[str, str]] = field(default_factory=dict, init=False)
    left_names: set[str] = field(default_factory=set, init=False)
    created: set[str] = field(default_factory=set, init=False)
    retyped: set[tuple[str, str]] = field(default_factory=set, init=False)
    freed: set[tuple[str, str]] = field(default_factory=set, init=False)
    own_types: dict[tuple[str, str], str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        """Index the changes by their subjects."""
        for change in self.changes:
            match change:
                case TableRenamed():
                    self.renamed_tables[change.after] = change.before
                case ColumnRenamed():
                    self.renamed_columns.setdefault(change.table, {})[change.after] = change.before
                case TableAdded():
                    self.created.add(change.table.name)
                case ColumnRetyped():
                    self.retyped.add((change.table, change.column))
                case NullabilityChanged() if change.after is not False:
                    self.freed.add((change.table, change.column))
                case ColumnPropertyChanged() if change.name == DATABASE_TYPE and change.after is not ABSENT:
                    self.own_types[change.table, change.column] = str(change.after)
                case _:
                    pass
        self.left_names.update(set(self.renamed_tables.values()) - self.renamed_tables.keys())

    @cached_property
    def naming(self) -> Naming:
        """The schema's naming convention."""
        return naming_of(self.schema)

    def has_table(self, name: str) -> bool:
        """Return whether there is a table of that name once tables are created and renamed."""
        if name in self.created:
            return True
        return self.old_table(name) in self.catalogue.tables and name not in self.left_names

    def old_table(self, name: str) -> str:
        """Return the name that a table has in the destination."""
        return self.renamed_tables.get(name, name)

    def old_column(self, table: str, name: str) -> str:
        """Return the name that a column has in the destination."""
        return self.renamed_columns.get(table, {}).get(name, name)

    def found_table(self, name: str) -> Table:
        """Return a table as the destination has it, by its new name; without columns if it is new."""
        if name in self.created or name in self.left_names:
            return Table(name)  # whatever had its name before
        return self.catalogue.tables.get(self.old_table(name)) or Table(name)

    def found_column(self, table: str, name: str) -> Column:
        """Return a column as the destination has it, under its new name."""
        return replace(self.found_table(table).columns[self.old_column(table, name)], name=name)


def compare(
    catalogue: Schema,
    schema: Schema,
    ledger_schema: Schema | None,
    stored: Stored,
    abilities: Abilities,
    options: PlanOptions,
) -> Comparison:
    """Reduce both sides to what both can express, and return their differences."""
    names = abilities.names
    check_names(schema, names)
    declared, schema = schema, with_own_types(schema, abilities.settle)
    catalogue, ledger_schema = (
        spelled_as(catalogue, schema, names),
        ledger_schema and spelled_as(ledger_schema, schema, names),
    )
    described = catalogue.tables
    stored = _remembering(stored)
    missing = [table for table in _ledger(schema) if table.name not in catalogue.tables]
    catalogue, target = user_tables(catalogue, ledger_schema), _with_origins(_own(schema), ledger_schema)
    # All tables get their names first, because columns may swap names in a renamed table.
    table_moves = table_moves_of(catalogue, target, ledger_schema, names)
    renamed_catalogue = renamed(catalogue, table_moves)
    before, after = _before(renamed_catalogue, target, stored), _after(renamed_catalogue, target, stored)
    if undeclared_renames := table_renames(before, after, is_guessing=options.guesses_renames):
        table_moves = tuple(settled(table_moves, undeclared_renames))
        renamed_catalogue = renamed(catalogue, table_moves)
    moves = moves_of(renamed_catalogue, target, ledger_schema and renamed(ledger_schema, table_moves), names)
    if undeclared_renames or moves:
        before = _before(moved(renamed_catalogue, moves), target, stored)
        after = _after(renamed_catalogue, target, stored)
    differing = diff(before, after, guess_renames=options.guesses_renames, renamed_tables=())
    changes = (*table_moves, *moves, *_with_own_retypes(differing, abilities))
    has_lost = any(isinstance(change, TableRemoved | ColumnRemoved) for change in changes)
    guessed = diff(before, after) if has_lost and not options.guesses_renames else ()
    certain = set(_renames(changes))
    # By the current names: some tables have moved before.
    first = {move.after: move.before for move in table_moves}
    guesses = (
        replace(change, before=first.get(change.before, change.before)) if isinstance(change, TableRenamed) else change
        for change in _renames(guessed)
    )
    return Comparison(
        catalogue,
        schema,
        ledger_schema,
        changes,
        declared=declared,
        guesses=tuple(change for change in guesses if change not in certain),
        missing=tuple(missing) if abilities.keeps_dlt_tables else (),
        absent=tuple(name for name in target.tables if typed_columns(target.tables[name]) and name not in after.tables),
        described=described,
    )


def was_declared(comparison: Comparison, table: str, column: str | None, options: PlanOptions) -> bool:
    """Return whether an earlier schema of the destination had a table, or a column of it."""
    old, ledger_schema = comparison.old_table(table), comparison.ledger_schema
    if (old, column) in options.removed_before:
        return True
    if ledger_schema is None or old not in ledger_schema.tables:
        return False
    return column is None or column in ledger_schema.tables[old].columns


def with_own_types(schema: Schema, settle: Callable[[Column], Column]) -> Schema:
    """Return a schema whose columns have types of the destination, also if they declare types of another engine."""
    tables = {}
    for name, table in schema.tables.items():
        columns = table.columns
        settled_columns = {key: settled for key in columns if (settled := settle(columns[key])) is not columns[key]}
        tables[name] = replace(table, columns={**columns, **settled_columns}) if settled_columns else table
    return replace(schema, tables=tables)


def _with_own_retypes(changes: Iterable[Change], abilities: Abilities) -> Iterator[Change]:
    """Yield changes, and a change of type for each column of one own type that gets another one.

    Structs, lists and maps get wider fields by a step, but fields that are only new with a load.
    """
    changes = tuple(changes)
    retyped = {(change.table, change.column) for change in changes if isinstance(change, ColumnRetyped)}
    for change in changes:
        yield change
        match change:
            case ColumnPropertyChanged(name=name, before=str() as before, after=str() as after) if (
                name == DATABASE_TYPE and (change.table, change.column) not in retyped
            ):
                is_structure = abilities.structure_in(before) is not None or abilities.structure_in(after) is not None
                stored, declared = (Column(change.column, {DATABASE_TYPE: own_type}) for own_type in (before, after))
                can_retype = (
                    abilities.widens_structure(stored, declared)
                    if is_structure
                    else abilities.retype(stored, declared) is not Way.NONE
                )
                if can_retype:
                    yield ColumnRetyped(change.table, change.column, {}, {})


def user_tables(catalogue: Schema, ledger_schema: Schema | None) -> Schema:
    """Return the tables of a catalog that steps are about: no bookkeeping, with parents, without descriptions.

    Descriptions matter only to the steps that set them. The last schema declares parents.
    """
    catalogue = _own(catalogue)
    tables = {}
    for name, table in catalogue.tables.items():
        columns = {
            key: replace(column, properties=with_description(column.properties, None))
            if "description" in column.properties
            else column
            for key, column in table.columns.items()
        }
        if ledger_schema is not None and name in ledger_schema.tables:
            parent = ledger_schema.tables[name].parent
        else:  # it follows from the name
            words = name.split("__")
            longer_first = ("__".join(words[:count]) for count in range(len(words) - 1, 0, -1))
            parent = next((start for start in longer_first if start in catalogue.tables), None)
        tables[name] = replace(table, columns=columns, properties={"parent": parent} if parent else {})
    return replace(catalogue, tables=tables)


def bare(column: Column, *, keeps_constraints: bool = False) -> Column:
    """Return the part of a column that a step needs: its scalar properties, without constraints unless they count."""
    left_out = _LEFT_OUT if keeps_constraints else _LEFT_OUT | _CONSTRAINTS
    return Column(column.name, _scalars(column.properties, left_out))


def bare_table(table: Table) -> Table:
    """Return the part of a table that a step needs, without columns that wait for data."""
    columns = {column.name: bare(column) for column in typed_columns(table)}
    return Table(table.name, columns, _scalars(table.properties, _LEFT_OUT))


def is_bookkeeping(name: str) -> bool:
    """Return whether a table is dlt's own, or schemactl's."""
    return name.lower().startswith((_DLT, _OURS))


def _scalars(properties: Mapping[str, Any], left_out: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in properties.items() if name not in left_out and is_scalar(value)}


def _renames(changes: Iterable[Change]) -> Iterator[TableRenamed | ColumnRenamed]:
    return (change for change in changes if isinstance(change, TableRenamed | ColumnRenamed))


def _ledger(schema: Schema) -> list[Table]:
    """Return dlt's tables of versions and loads, as the schema or its naming convention names them."""
    schema_tables = [table for name, table in schema.tables.items() if name.lower() in _LEDGER]
    fresh = new_schema("ledger", NormalizerConfig.of(schema.normalizers).naming).tables.values()
    names = {table.name.lower() for table in schema_tables}
    return [*schema_tables, *(table for table in fresh if table.name.lower() not in names)]


def _own(schema: Schema) -> Schema:
    return replace(schema, tables={name: table for name, table in schema.tables.items() if not is_bookkeeping(name)})


def _remembering(stored: Stored) -> Stored:
    """Return the same function for a comparison of many columns: few differ in more than their names."""
    cache: dict[tuple[Any, ...], Properties] = {}

    def remembered(column: Column) -> Properties:
        properties = column.properties
        if "description" in properties:
            properties = {name: value for name, value in properties.items() if name != "description"}
        key = (*properties.items(), *map(type, properties.values()))  # 1 and True are equal
        try:
            stored_properties = cache.get(key)
        except TypeError:  # a value that has no hash
            return stored(column)
        if stored_properties is None:
            stored_properties = cache[key] = stored(column)
        return stored_properties

    return remembered


def _with_origins(schema: Schema, ledger_schema: Schema | None) -> Schema:
    """Return the schema with the old names of columns that the last schema has by the same ``x-id``.

    No catalog has ids.
    """
    for name, table in schema.tables.items():
        before = ledger_schema.tables.get(name) if ledger_schema is not None else None
        if before is None:
            continue
        gone = {key: column.properties for key, column in before.columns.items() if key not in table.columns}
        new = {key: column.properties for key, column in table.columns.items() if key not in before.columns}
        former_names = {after: old for old, after in id_pairs(gone, new).items() if RENAMED_FROM not in new[after]}
        renamed_columns = {key: Column(key, {**new[key], RENAMED_FROM: old}) for key, old in former_names.items()}
        if renamed_columns:
            schema = schema.with_table(replace(table, columns={**table.columns, **renamed_columns}))
    return schema


def _before(catalogue: Schema, schema: Schema, stored: Stored) -> Schema:
    tables = structure_of(catalogue, schema, stored).tables
    tables = {name: replace(tables[name], properties=_parent(catalogue.tables[name])) for name in tables}
    return Schema(name=schema.name, tables=tables)


def _after(catalogue: Schema, schema: Schema, stored: Stored) -> Schema:
    def with_origin(column: Column) -> dict[str, Any]:
        return {**stored(column), **_origin(column.properties)}

    # A renamed table has seen data under its old name.
    names = {**catalogue.tables, **{name: schema.tables[name] for name in _renamed_tables(catalogue, schema)}}
    structure = structure_of(schema, replace(catalogue, tables=names), with_origin)
    tables = {
        name: replace(table, properties={**_parent(schema.tables[name]), **_origin(schema.tables[name].properties)})
        for name, table in structure.tables.items()
    }
    return Schema(name=schema.name, tables=tables)


def _renamed_tables(catalogue: Schema, schema: Schema) -> set[str]:
    """Return the tables that declare a former name which the catalog has, and the tables nested in them."""
    gone = catalogue.tables.keys() - schema.tables.keys()  # a table that stays was not renamed
    renamed_names = {name for name, table in schema.tables.items() if not gone.isdisjoint(origins(table.properties))}
    return renamed_names | {name for name in schema.tables if renamed_names.intersection(ancestors(schema, name))}


def _parent(table: Table) -> dict[str, Any]:
    return {"parent": table.parent} if table.parent else {}


def _origin(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {name: properties[name] for name in _ORIGINS if name in properties}


def without_origin(change: Change) -> Change:
    """Return a change without the former name of its table or column, which the destination does not store."""
    match change:
        case TableAdded() | TableRemoved():
            columns = {name: bare(column, keeps_constraints=True) for name, column in change.table.columns.items()}
            properties = _scalars(change.table.properties, _LEFT_OUT)
            return replace(change, table=Table(change.table.name, columns, properties))
        case ColumnAdded():
            return replace(change, column=bare(change.column, keeps_constraints=True))
        case _:
            return change


# --- names ---


def spelled_as(catalogue: Schema, schema: Schema, limits: NameLimits) -> Schema:
    """Return the catalog in the schema's spelling, if names that differ only in case are the same there."""
    if limits.is_case_sensitive:
        return catalogue
    spelling = {name.lower(): name for name in schema.tables}
    tables = {}
    for table in catalogue.tables.values():
        name = spelling.get(table.name.lower(), table.name)
        schema_columns = schema.tables[name].columns if name in schema.tables else {}
        spelled_names = {*schema_columns, *folds_of(schema_columns.values())}
        if name == table.name and spelled_names >= table.columns.keys():
            tables[name] = table
            continue
        of_columns = {column.lower(): column for column in spelled_names}
        columns = (replace(of, name=of_columns.get(key.lower(), key)) for key, of in table.columns.items())
        tables[name] = replace(table, name=name, columns={column.name: column for column in columns})
    return replace(catalogue, tables=tables)


def check_names(schema: Schema, limits: NameLimits) -> None:
    """Refuse names that a destination cuts, or takes for one."""
    problems: list[Problem] = []
    column_names = {name: [column.name for column in typed_columns(table)] for name, table in schema.tables.items()}
    column_names = {name: columns for name, columns in column_names.items() if columns}
    namespaces = {"": list(column_names)} | {f"`{name}`: ": columns for name, columns in column_names.items()}
    for prefix, names in namespaces.items():
        long = filter(limits.is_too_long, names)
        problems += (Problem(f"{prefix}`{name}` is longer than {limits.max_bytes} bytes") for name in long)
        for first, second in limits.clashes(names):
            problems.append(Problem(f"{prefix}`{first}` and `{second}` are the same name"))
    if problems:
        hint = "shorten names with `schemactl infer SOURCE... --to DEST`, or use a case-insensitive naming convention"
        raise InputError("the destination does not support the schema's names", problems=tuple(problems), hint=hint)
