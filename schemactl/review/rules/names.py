"""Rules about naming conventions, normalizers, and names that a destination or SQL does not take: M9xx."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from schemactl.errors import InputError
from schemactl.review.hints import is_unset, max_nesting
from schemactl.review.rule import BREAKS_ALL, Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import from_to, listed, place, plain
from schemactl.schema.changes import (
    ColumnAdded,
    ColumnRenamed,
    NormalizerChanged,
    TableAdded,
    TablePropertyChanged,
    TableRenamed,
)
from schemactl.schema.collisions import BLANK, find_collisions
from schemactl.schema.naming import Naming, convention_name, load_naming
from schemactl.schema.settings import DEFAULT_NAMING
from schemactl.schema.structure import NameLimits
from schemactl.schema.templates import RELATIONAL_NORMALIZER
from schemactl.schema.types import Schema


@dataclass(frozen=True, slots=True)
class NamingChange:
    """Another naming convention, by the references in the two schemas."""

    before: str
    after: str


def naming_changes(comparison: Comparison) -> Iterator[NamingChange]:
    """Yield the change of convention, if there is one; dlt has several references of one convention."""
    for change in comparison.of(NormalizerChanged, "names"):
        before, after = (str(plain(stated) or DEFAULT_NAMING) for stated in (change.before, change.after))
        if convention_name(before) != convention_name(after):
            yield NamingChange(before, after)


def new_convention(change: NamingChange) -> Naming | None:
    """Return the new convention, None where it is not installed here."""
    try:
        return load_naming(change.after)
    except InputError:
        return None


def new_names(comparison: Comparison, naming: Naming) -> Iterator[tuple[str, str | None, str]]:
    """Yield the tables and columns of the base schema that get another name: table, column, new name."""
    for table in comparison.base.schema.tables.values():
        renamed = naming.normalize_tables_path(table.name) or BLANK
        if renamed != table.name:
            yield table.name, None, renamed
        for column in table.columns:
            renamed = naming.normalize_path(column) or BLANK
            if renamed != column:
                yield table.name, column, renamed


def table_collisions(comparison: Comparison, naming: Naming) -> Mapping[str, tuple[str, ...]]:
    """Return the new table names that several tables of the base schema would get, with these tables."""
    groups: dict[str, list[str]] = {}
    for name in comparison.base.schema.tables:
        groups.setdefault(naming.normalize_tables_path(name) or BLANK, []).append(name)
    return {name: tuple(same) for name, same in groups.items() if len(same) > 1}


def column_collisions(comparison: Comparison, naming: Naming) -> Iterator[tuple[str, Mapping[str, tuple[str, ...]]]]:
    """Yield the tables of the base schema where several columns would get one name: the table, and the names."""
    for table in comparison.base.schema.tables.values():
        if found := find_collisions(table.columns, naming):
            yield table.name, found


def tables_newly_named(comparison: Comparison) -> Iterator[str]:
    """Yield the tables that are new or renamed."""
    yield from (change.table.name for change in comparison.of(TableAdded))
    yield from (change.after for change in comparison.of(TableRenamed))


def columns_newly_named(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Yield the columns that are new or renamed, those of new tables too: table and column."""
    for added in comparison.of(TableAdded):
        yield from ((added.table.name, column) for column in added.table.columns)
    yield from ((change.table, change.column.name) for change in comparison.of(ColumnAdded))
    yield from ((change.table, change.after) for change in comparison.of(ColumnRenamed))


_WORDS: Final = """
BigQuery: all and any array as asc assert_rows_modified at between by case cast collate contains create cross cube
    current default define desc distinct else end enum escape except exclude exists extract false fetch following for
    from full group grouping groups hash having if ignore in inner intersect interval into is join lateral left like
    limit lookup merge natural new no not null nulls of on or order outer over partition preceding proto qualify range
    recursive respect right rollup rows select set some struct tablesample then to treat true unbounded union unnest
    using when where window with within
Databricks: anti cross default except false full inner intersect join lateral left minus natural null on right semi
    true union using
DuckDB: all analyse analyze and anti any array as asc asof asymmetric at authorization binary both by case cast check
    collate collation column columns concurrently constraint create cross default deferrable desc describe distinct do
    else end except false fetch for foreign freeze from full generated glob group having ilike in initially inner
    intersect into is isnull join lambda lateral leading left like limit map natural not notnull null offset on only
    or order outer overlaps pivot pivot_longer pivot_wider placing positional primary qualify references returning
    right select semi show similar some struct summarize symmetric table tablesample then to trailing true try_cast
    tuple union unique unpack unpivot using variadic verbose when where window with
PostgreSQL: all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate
    collation column concurrently constraint create cross current_catalog current_date current_role current_schema
    current_time current_timestamp current_user default deferrable desc distinct do else end except false fetch for
    foreign freeze from full grant group having ilike in initially inner intersect into is isnull join lateral leading
    left like limit localtime localtimestamp natural not notnull null offset on only or order outer overlaps placing
    primary references returning right select session_user similar some symmetric system_user table tablesample then
    to trailing true union unique user using variadic verbose when where window with
Redshift: aes128 aes256 all allowoverwrite analyse analyze and any array as asc authorization az64 backup between
    binary blanksasnull both bytedict bzip2 case cast check collate column constraint create credentials cross
    current_date current_time current_timestamp current_user current_user_id default deferrable deflate defrag delta
    delta32k desc disable distinct do else emptyasnull enable encode encrypt encryption end except explicit false for
    foreign freeze from full globaldict256 globaldict64k grant group gzip having identity ignore ilike in initially
    inner intersect interval into is isnull join leading left like limit localtime localtimestamp lun luns lzo lzop
    minus mostly16 mostly32 mostly8 natural new not notnull null nulls off offline offset oid old on only open or
    order outer overlaps parallel partition percent permissions pivot placing primary raw readratio recover references
    rejectlog resort respect restore right select session_user similar snapshot some sysdate system table tag tdes
    text255 text32k then timestamp to top trailing true truncatecolumns type union unique unnest unpivot user using
    verbose wallet when where with without
Snowflake: all alter and any as between by case cast check column connect constraint create cross current current_date
    current_time current_timestamp current_user delete distinct drop else exists false following for from full grant
    group having ilike in increment inner insert intersect into is join lateral left like localtime localtimestamp
    minus natural not null of on or order qualify regexp revoke right rlike row rows sample select set some start
    table tablesample then to trigger true try_cast union unique update using values when whenever where with
"""


RESERVED_WORDS: Final[Mapping[str, frozenset[str]]] = {
    warehouse: frozenset(listed.split())
    for warehouse, listed in re.findall(r"^(\w+): ((?:.|\n(?= ))+)", _WORDS, re.MULTILINE)
}
"""Words in lower case, by the warehouse."""


def warehouses_reserving(name: str) -> tuple[str, ...]:
    """Return the warehouses that take a bare name for a word of SQL."""
    return tuple(warehouse for warehouse, words in RESERVED_WORDS.items() if name.casefold() in words)


def find_naming_changed(comparison: Comparison) -> Matches:
    """Yield the change of convention, with the names that it changes."""
    for change in naming_changes(comparison):
        yield Match(
            sentence=f"the naming convention changes from `{change.before}` to `{change.after}`: "
            f"{_naming_effect(comparison, change)}",
            keys=("normalizers", "names"),
            before=change.before,
            after=change.after,
        )


def _naming_effect(comparison: Comparison, change: NamingChange) -> str:
    naming = new_convention(change)
    if naming is None:
        return "it is not installed here, so nobody knows which names change"
    old = [f"{table}.{column}" if column else table for table, column, _ in new_names(comparison, naming)]
    return f"{listed(old)} would get other names" if old else "no name changes by it"


M901 = Rule(
    title="naming convention changed",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="dlt names every table and column anew. Where a table has received data (`seen-data`) it raises "
    "`TableIdentifiersFrozen` instead, even if no name changes. Names that do change are new tables and columns in "
    "the destination; the old ones stay there with the old rows.",
    fix="Keep the convention of a schema that has data. For another one, start a new schema and dataset, load it anew, "
    "and move the readers over.",
    find=find_naming_changed,
)


def find_names_collide(comparison: Comparison) -> Matches:
    """Yield the tables, and the columns of one table, that would get one name."""
    for change in naming_changes(comparison):
        naming = new_convention(change)
        if naming is None:
            continue
        for name, found in table_collisions(comparison, naming).items():
            # Tables stand in any order in a file, columns in that of the table.
            tables = sorted(found)
            yield Match(
                sentence=f"under `{change.after}` the tables {listed(tables)} become one: `{name}`",
                table=tables[0],
                before=tables,
                after=name,
            )
        for table, collisions in column_collisions(comparison, naming):
            for name, columns in collisions.items():
                yield Match(
                    sentence=f"under `{change.after}` the columns {listed(columns)} of `{table}` become one: `{name}`",
                    table=table,
                    column=columns[0],
                    before=list(columns),
                    after=name,
                )


M902 = Rule(
    title="names collide",
    impact=BREAKS_ALL,
    direction=Direction.TIGHTENS,
    why="dlt merges columns that come to the same name, with a line in its log: the hints of the later one win, and in "
    "each row the last value. Tables that come to one name receive each other's rows.",
    fix="Rename one of them at the source, or keep a convention that keeps them apart.",
    find=find_names_collide,
)


_GUARD: Final = "allow_identifier_change_on_table_with_data"


def find_name_guard_off(comparison: Comparison) -> Matches:
    """Yield the flag where it is set and was not."""
    for change in comparison.of(NormalizerChanged, _GUARD):
        if is_unset(change.before) and not is_unset(change.after):
            yield Match.of(change, f"`{_GUARD}` is set: tables with data may get other names")


M903 = Rule(
    title="guard of names switched off",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN, data=Severity.WARN),
    direction=Direction.LOOSENS,
    why="With this flag dlt no longer raises `TableIdentifiersFrozen` when the naming convention of a schema with data "
    "changes: it goes on under the new names, and the old tables stay behind with the old rows. dlt stores the flag "
    "in the schema, where it stays.",
    fix="Set it only for the one change that needs it, and take it out of the schema afterwards.",
    find=find_name_guard_off,
)


_BREAKS_PATHS = "use_break_path_on_normalize"


def find_nesting_changed(comparison: Comparison) -> Matches:
    """Yield each changed option of the JSON normalizer, for the schema and for single tables."""
    for change in comparison.of(NormalizerChanged):
        if change.name == "json":
            yield from _normalizer_options(comparison, change)
        elif change.name == _BREAKS_PATHS and _breaks_paths(change.before) != _breaks_paths(change.after):
            phrase = "is kept as a separator now" if _breaks_paths(change.after) else "becomes `_` now"
            sentence = f"`__` in the names of the data {phrase}: such columns and tables get other names"
            yield Match.of(change, sentence)
    for of_table in comparison.of(TablePropertyChanged, "x-normalizer"):
        before, after = max_nesting(of_table.before), max_nesting(of_table.after)
        if before != after:
            yield Match(
                sentence=f"`max_nesting` of {place(of_table.table)} changes {from_to(before, after)}",
                table=of_table.table,
                keys=("tables", of_table.table, "x-normalizer", "max_nesting"),
                before=before,
                after=after,
            )


def _normalizer_options(comparison: Comparison, change: NormalizerChanged) -> Matches:
    before, after = ((plain(stated) or {}).get("config") or {} for stated in (change.before, change.after))
    path = ("normalizers", "json", "config")
    for name in {**before, **after}:
        old, new = before.get(name), after.get(name)
        if name != "propagation" and old != new:
            yield _option_match(f"`{name}` changes {from_to(old, new)}", (*path, name), old, new)
    for table, old, new in _propagation_changes(comparison, before, after):
        whose = f"the rows of {place(table)}" if table else "all root tables"
        sentence = f"what {whose} hand down to nested rows changes {from_to(old, new)}"
        place_of = ("tables", table) if table else ("root",)
        yield _option_match(sentence, (*path, "propagation", *place_of), old, new)


def _propagation_changes(
    comparison: Comparison, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[tuple[str | None, Any, Any]]:
    """Yield each table (None for all root tables) that propagates other columns, with those before and after.

    Tables of one schema only are left out: dlt adds an entry with each new table that it merges (docs/dlt.md §5.5).
    """
    old, new = before.get("propagation") or {}, after.get("propagation") or {}
    if (old.get("root") or {}) != (new.get("root") or {}):
        yield None, old.get("root") or {}, new.get("root") or {}
    of_old, of_new = old.get("tables") or {}, new.get("tables") or {}
    for table in {**of_old, **of_new}:
        origin = comparison.base_tables.get(table, table)
        is_shared = origin in comparison.base.schema.tables and table in comparison.head.schema.tables
        left, right = of_old.get(origin) or {}, of_new.get(table) or {}
        if is_shared and left != right:
            yield table, left, right


def _option_match(sentence: str, keys: tuple[str, ...], before: Any, after: Any) -> Match:
    return Match(sentence=sentence, keys=keys, before=before, after=after)


def _breaks_paths(stated: Any) -> bool:
    """Return whether ``__`` parts a name; it does where nothing is stated."""
    return plain(stated) is None or bool(stated)


M904 = Rule(
    title="nesting or propagation changed",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN, data=Severity.ERROR),
    direction=Direction.BOTH,
    why="With less nesting, what was a nested table becomes a `json` column at the next load, and the other way round; "
    "both stay in the destination, each with a part of the rows. With other propagation, nested tables get columns "
    "such as `_dlt_root_id`, which must not be null and thus cannot be added to tables that have rows.",
    fix="Load the tables that are concerned anew (`refresh`), or change the nesting together with a new dataset.",
    find=find_nesting_changed,
)


def find_name_beyond_destination(comparison: Comparison) -> Matches:
    """Yield each such table and column of the side that is compared with a destination's catalog."""
    sides = comparison.base, comparison.head
    for catalogue, file in (sides, sides[::-1]):
        if catalogue.destination is not None and file.destination is None:
            yield from _troubled_names(file.schema, catalogue.destination)


def _troubled_names(schema: Schema, limits: NameLimits) -> Matches:
    # Tables stand in any order in a file, columns in that of the table.
    for name, kind, phrase in _name_troubles(sorted(schema.tables), limits):
        yield Match(sentence=f"table `{name}` {phrase}", table=name, aspect=kind)
    for table in schema.tables.values():
        for name, kind, phrase in _name_troubles(table.columns, limits):
            yield Match(
                sentence=f"column `{name}` of `{table.name}` {phrase}", table=table.name, column=name, aspect=kind
            )


def _name_troubles(names: Iterable[str], limits: NameLimits) -> Iterator[tuple[str, str, str]]:
    """Yield names with the kind of trouble and what the destination makes of them; a name may be in both kinds."""
    met: dict[str, str] = {}
    for name in names:
        size = len(name.encode("utf-8", "surrogatepass"))
        if limits.max_bytes is not None and size > limits.max_bytes:
            yield name, "length", f"has {size} bytes, and the destination keeps {limits.max_bytes}"
        known = met.setdefault(name.casefold(), name)
        if known != name and not limits.is_case_sensitive:
            yield name, "case", f"is `{known}` to the destination, which ignores case"


M905 = Rule(
    title="name beyond the destination",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    direction=Direction.TIGHTENS,
    why="PostgreSQL cuts identifiers after 63 bytes; DuckDB and SQLite take `Id` and `id` for one. dlt shortens names "
    "to what it knows of its destination when it loads, so a schema that was made for another destination holds names "
    "that this one does not have: queries by the schema fail, and two columns may become one.",
    fix="Make the schema with the destination's limits: `schemactl infer SOURCE... --to DEST` gives such names anew, "
    "and `migrate` renames what other destinations hold; or choose a naming convention that folds case "
    "(`snake_case`, `sql_ci_v1`).",
    find=find_name_beyond_destination,
)


def find_json_normalizer_changed(comparison: Comparison) -> Matches:
    """Yield the change of the JSON normalizer's module."""
    for change in comparison.of(NormalizerChanged, "json"):
        before, after = _normalizer_module(change.before), _normalizer_module(change.after)
        if before != after:
            yield Match(
                sentence=f"the JSON normalizer changes from `{before}` to `{after}`",
                keys=("normalizers", "json", "module"),
                before=before,
                after=after,
            )


def _normalizer_module(stated: Any) -> str:
    """Return the module of ``normalizers.json``; dlt's own may be named without its package (docs/dlt.md §1.5)."""
    name = (plain(stated) or {}).get("module") or RELATIONAL_NORMALIZER
    return RELATIONAL_NORMALIZER if name == RELATIONAL_NORMALIZER.rpartition(".")[2] else str(name)


M906 = Rule(
    title="JSON normalizer changed",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="The normalizer decides which tables and columns come out of a document, how rows are linked, and what becomes "
    "of values of another type. Another one makes other tables of the same data, beside those that are stored.",
    fix="Load everything anew into a new dataset with the new normalizer, compare, and move the readers over.",
    find=find_json_normalizer_changed,
)


def find_reserved_word(comparison: Comparison) -> Matches:
    """Yield each new or renamed table and column with such a name."""
    for table in tables_newly_named(comparison):
        yield from _reserved_match(table, None)
    for table, column in columns_newly_named(comparison):
        yield from _reserved_match(table, column)


def _reserved_match(table: str, column: str | None) -> Matches:
    name = table if column is None else column
    warehouses = warehouses_reserving(name)
    if warehouses:
        yield Match(
            sentence=f"{place(table, column)} is a reserved word in {', '.join(warehouses)}",
            table=table,
            column=column,
            after=name,
        )


M907 = Rule(
    title="reserved word",
    impact=Impact(readers=Severity.WARN, writers=Severity.INFO),
    direction=Direction.NONE,
    why="dlt and schemactl quote all names, so loads go on. A query that names it without quotes is refused, or means "
    "something else: `SELECT user FROM orders` is the name of the session's user in PostgreSQL. Looked at are "
    "BigQuery, Databricks, DuckDB, PostgreSQL, Redshift and Snowflake, whichever of them is in use.",
    fix="Choose another name while nobody reads it: `order_no` for `order`. Else inform the readers to quote it.",
    find=find_reserved_word,
)


def find_case_clash(comparison: Comparison) -> Matches:
    """Yield each new or renamed table and column whose name another one has in another case."""
    tables = comparison.head.schema.tables
    of_tables = _by_case(sorted(tables))
    of_columns: dict[str, Mapping[str, Sequence[str]]] = {}
    for table in tables_newly_named(comparison):
        if other := _other_case(table, of_tables):
            yield Match(sentence=f"table `{table}` differs from `{other}` in case alone", table=table, after=other)
    for table, column in columns_newly_named(comparison):
        if table not in of_columns:
            of_columns[table] = _by_case(tables[table].columns)
        if other := _other_case(column, of_columns[table]):
            yield Match(
                sentence=f"{place(table, column)} differs from `{other}` in case alone",
                table=table,
                column=column,
                after=other,
            )


def _by_case(names: Iterable[str]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(name.casefold(), []).append(name)
    return found


def _other_case(name: str, by_case: Mapping[str, Sequence[str]]) -> str | None:
    return next((each for each in by_case[name.casefold()] if each != name), None)


M908 = Rule(
    title="names that differ in case alone",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    direction=Direction.NONE,
    why="BigQuery, Databricks, DuckDB and Redshift take both for one name, and refuse the table or the query. "
    "Snowflake and PostgreSQL distinguish them only where every query quotes them. dlt's naming conventions fold case, "
    "except `direct`, `duck_case` and those whose names end in `_cs_v1`.",
    fix="Give one of the two another name, or use a naming convention that folds case (`snake_case`, `sql_ci_v1`).",
    find=find_case_clash,
)
