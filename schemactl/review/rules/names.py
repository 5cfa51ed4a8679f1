"""Rules about naming conventions, normalizers, and names that a destination or SQL does not take: M9xx."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from schemactl.errors import InputError
from schemactl.grouping import group_by
from schemactl.review.hints import is_unset, max_nesting
from schemactl.review.rule import BREAKS_ALL, Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import from_to, full_name, listed, plain
from schemactl.schema import changes
from schemactl.schema.collisions import BLANK, find_collisions
from schemactl.schema.naming import Naming, convention_name, load_naming
from schemactl.schema.settings import DEFAULT_NAMING
from schemactl.schema.structure import NameLimits
from schemactl.schema.templates import RELATIONAL_NORMALIZER
from schemactl.schema.types import Schema


def _naming_change(comparison: Comparison) -> Iterator[tuple[str, str, Naming | None]]:
    """Yield the references of the old and the new convention, if these differ, and the new one if it is installed.

    dlt has several references of one convention.
    """
    for change in comparison.of(changes.NormalizerChanged, "names"):
        before, after = (str(plain(convention) or DEFAULT_NAMING) for convention in (change.before, change.after))
        if convention_name(before) != convention_name(after):
            try:
                yield before, after, load_naming(after)
            except InputError:
                yield before, after, None


def find_naming_changed(comparison: Comparison) -> Matches:
    """Yield the change of convention, with the names that it changes."""
    for before, after, naming in _naming_change(comparison):
        effect = "it is not installed here, so the names that change are unknown"
        if naming is not None:
            changed: list[str] = []
            for table in comparison.base.schema.tables.values():
                if (naming.normalize_tables_path(table.name) or BLANK) != table.name:
                    changed.append(table.name)
                columns = (name for name in table.columns if (naming.normalize_path(name) or BLANK) != name)
                changed += [f"{table.name}.{name}" for name in columns]
            effect = f"{listed(changed)} would get other names" if changed else "no name changes"
        sentence = f"the naming convention changes from `{before}` to `{after}`: {effect}"
        yield Match(sentence=sentence, keys=("normalizers", "names"), before=before, after=after)


M901 = Rule(
    title="naming convention changed",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="dlt builds the name of every table and column again. If a table has received data (`seen-data`), dlt raises "
    "`TableIdentifiersFrozen` instead, even if no name changes. Names that change become new tables and columns at "
    "the destination; the old ones stay there with the old rows.",
    fix="Keep the convention of a schema that has data. To use another one, start a new schema and dataset, load the "
    "data there, and move readers.",
    find=find_naming_changed,
)


def find_names_collide(comparison: Comparison) -> Matches:
    """Yield the tables, and the columns of one table, that would get one name."""
    for _, after, naming in _naming_change(comparison):
        if naming is None:
            continue
        # A file has tables in any order.
        names = {table: naming.normalize_tables_path(table) or BLANK for table in sorted(comparison.base.schema.tables)}
        for name, tables in group_by(names, names.__getitem__).items():
            if len(tables) > 1:
                sentence = f"under `{after}` the tables {listed(tables)} become one: `{name}`"
                yield Match(sentence=sentence, table=tables[0], before=tables, after=name)
        for table, of in comparison.base.schema.tables.items():
            for name, columns in find_collisions(of.columns, naming).items():
                sentence = f"under `{after}` the columns {listed(columns)} of `{table}` become one: `{name}`"
                yield Match(sentence=sentence, table=table, column=columns[0], before=list(columns), after=name)


M902 = Rule(
    title="names collide",
    impact=BREAKS_ALL,
    direction=Direction.TIGHTENS,
    why="dlt merges columns that get the same name, and only logs a line: the hints of the later column win, and each "
    "row keeps the last value. Tables that get the same name receive each other's rows.",
    fix="Rename one of them at the source, or keep a convention that keeps them apart.",
    find=find_names_collide,
)


_GUARD: Final = "allow_identifier_change_on_table_with_data"


def find_name_guard_off(comparison: Comparison) -> Matches:
    """Yield the flag if it is newly set."""
    for change in comparison.of(changes.NormalizerChanged, _GUARD):
        if is_unset(change.before) and not is_unset(change.after):
            yield Match.of(change, f"`{_GUARD}` is set: tables with data may get other names")


M903 = Rule(
    title="name-change protection disabled",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN, data=Severity.WARN),
    direction=Direction.LOOSENS,
    why="With this flag, dlt no longer raises `TableIdentifiersFrozen` when the naming convention of a schema with "
    "data changes: it continues under the new names, and the old tables stay with the old rows. dlt stores the flag "
    "in the schema, where it stays set.",
    fix="Set the flag only for the change that needs it, and remove it from the schema afterwards.",
    find=find_name_guard_off,
)


_BREAKS_PATHS = "use_break_path_on_normalize"


def find_nesting_changed(comparison: Comparison) -> Matches:
    """Yield each changed option of the JSON normalizer, for the schema and for single tables."""
    for change in comparison.of(changes.NormalizerChanged):
        if change.name == "json":
            yield from _normalizer_options(comparison, change)
        elif change.name == _BREAKS_PATHS and _breaks_paths(change.before) != _breaks_paths(change.after):
            phrase = "is now kept as a separator" if _breaks_paths(change.after) else "now becomes `_`"
            yield Match.of(change, f"`__` in keys of the data {phrase}: such columns and tables get other names")
    for of_table in comparison.of(changes.TablePropertyChanged, "x-normalizer"):
        table, before, after = of_table.table, max_nesting(of_table.before), max_nesting(of_table.after)
        if before != after:
            sentence = f"`max_nesting` of {full_name(table)} changes {from_to(before, after)}"
            keys = ("tables", table, "x-normalizer", "max_nesting")
            yield Match(sentence=sentence, table=table, keys=keys, before=before, after=after)


def _normalizer_options(comparison: Comparison, change: changes.NormalizerChanged) -> Matches:
    before, after = ((plain(normalizer) or {}).get("config") or {} for normalizer in (change.before, change.after))
    path = ("normalizers", "json", "config")
    for name in {**before, **after}:
        old, new = before.get(name), after.get(name)
        if name != "propagation" and old != new:
            yield Match(sentence=f"`{name}` changes {from_to(old, new)}", keys=(*path, name), before=old, after=new)
    for table, old, new in _propagation_changes(comparison, before, after):
        whose = f"the rows of {full_name(table)}" if table else "all root tables"
        sentence = f"the columns that {whose} pass to nested rows change {from_to(old, new)}"
        table_keys = ("tables", table) if table else ("root",)
        yield Match(sentence=sentence, keys=(*path, "propagation", *table_keys), before=old, after=new)


def _propagation_changes(
    comparison: Comparison, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[tuple[str | None, Any, Any]]:
    """Yield each table (None for all root tables) that propagates other columns, with the columns before and after.

    Tables of one schema only are left out: dlt adds an entry with each new table that it merges (docs/dlt.md §5.5).
    """
    old, new = before.get("propagation") or {}, after.get("propagation") or {}
    if (old.get("root") or {}) != (new.get("root") or {}):
        yield None, old.get("root") or {}, new.get("root") or {}
    of_old, of_new = old.get("tables") or {}, new.get("tables") or {}
    for table in {**of_old, **of_new}:
        origin = comparison.base_tables.get(table, table)
        is_shared = origin in comparison.base.schema.tables and table in comparison.head.schema.tables
        base_columns, head_columns = of_old.get(origin) or {}, of_new.get(table) or {}
        if is_shared and base_columns != head_columns:
            yield table, base_columns, head_columns


def _breaks_paths(flag: Any) -> bool:
    """Return whether ``__`` separates the parts of a name; by default it does."""
    return plain(flag) is None or bool(flag)


M904 = Rule(
    title="nesting or propagation changed",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN, data=Severity.ERROR),
    direction=Direction.BOTH,
    why="With less nesting, a nested table becomes a `json` column at the next load; with more nesting, a `json` "
    "column becomes a nested table. Both stay at the destination, each with some of the rows. With other propagation, "
    "nested tables get required columns such as `_dlt_root_id`, which cannot be added to tables that have rows.",
    fix="Reload the affected tables (`refresh`), or change the nesting together with a new dataset.",
    find=find_nesting_changed,
)


def find_name_beyond_destination(comparison: Comparison) -> Matches:
    """Yield each such table and column of the side that is compared with a destination's catalog."""
    sides = comparison.base, comparison.head
    for catalogue, file in (sides, sides[::-1]):
        if catalogue.destination is not None and file.destination is None:
            yield from _troubled_names(file.schema, catalogue.destination)


def _troubled_names(schema: Schema, limits: NameLimits) -> Matches:
    # A file has tables in any order, columns in that of the table.
    for name, kind, phrase in _name_troubles(sorted(schema.tables), limits):
        yield Match(sentence=f"table `{name}` {phrase}", table=name, aspect=kind)
    for table in schema.tables.values():
        for name, kind, phrase in _name_troubles(table.columns, limits):
            sentence = f"column `{name}` of `{table.name}` {phrase}"
            yield Match(sentence=sentence, table=table.name, column=name, aspect=kind)


def _name_troubles(names: Iterable[str], limits: NameLimits) -> Iterator[tuple[str, str, str]]:
    """Yield names that the destination changes, with the kind of trouble and its effect; a name can have both kinds."""
    names_by_folded: dict[str, str] = {}
    for name in names:
        size = len(name.encode("utf-8", "surrogatepass"))
        if limits.max_bytes is not None and size > limits.max_bytes:
            yield name, "length", f"has {size} bytes, but the destination keeps only {limits.max_bytes}"
        first_name = names_by_folded.setdefault(name.casefold(), name)
        if first_name != name and not limits.is_case_sensitive:
            yield name, "case", f"is the same as `{first_name}` at the destination, which ignores case"


M905 = Rule(
    title="name not supported by destination",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    direction=Direction.TIGHTENS,
    why="PostgreSQL cuts identifiers after 63 bytes; DuckDB and SQLite treat `Id` and `id` as one name. dlt shortens "
    "names to its destination's limits when it loads, so a schema made for another destination has names that do not "
    "exist in this one: queries written from the schema fail, and two columns may become one.",
    fix="Create the schema with the destination's limits: `schemactl infer SOURCE... --to DEST` rebuilds such names, "
    "and `migrate` renames them at other destinations. Or choose a naming convention that folds case (`snake_case`, "
    "`sql_ci_v1`).",
    find=find_name_beyond_destination,
)


def find_json_normalizer_changed(comparison: Comparison) -> Matches:
    """Yield the change of the JSON normalizer's module."""
    for change in comparison.of(changes.NormalizerChanged, "json"):
        before, after = _normalizer_module(change.before), _normalizer_module(change.after)
        if before != after:
            sentence = f"the JSON normalizer changes from `{before}` to `{after}`"
            yield Match(sentence=sentence, keys=("normalizers", "json", "module"), before=before, after=after)


def _normalizer_module(normalizer: Any) -> str:
    """Return the module of ``normalizers.json``; dlt's own may be named without its package (docs/dlt.md §1.5)."""
    name = (plain(normalizer) or {}).get("module") or RELATIONAL_NORMALIZER
    return RELATIONAL_NORMALIZER if name == RELATIONAL_NORMALIZER.rpartition(".")[2] else str(name)


M906 = Rule(
    title="JSON normalizer changed",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="The normalizer decides which tables and columns a document becomes, how rows are linked, and where values of "
    "another type go. Another normalizer creates other tables from the same data, next to the existing ones.",
    fix="Load all data into a new dataset with the new normalizer, compare, and move readers there.",
    find=find_json_normalizer_changed,
)


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


def _newly_named(comparison: Comparison) -> Iterator[tuple[str, str | None]]:
    """Yield the new and renamed tables, then the new and renamed columns, including all columns of new tables."""
    yield from ((added.table.name, None) for added in comparison.of(changes.TableAdded))
    yield from ((renamed.after, None) for renamed in comparison.of(changes.TableRenamed))
    for of_table in comparison.of(changes.TableAdded):
        yield from ((of_table.table.name, column) for column in of_table.table.columns)
    yield from ((change.table, change.column.name) for change in comparison.of(changes.ColumnAdded))
    yield from ((change.table, change.after) for change in comparison.of(changes.ColumnRenamed))


def find_reserved_word(comparison: Comparison) -> Matches:
    """Yield each new or renamed table and column with such a name."""
    for table, column in _newly_named(comparison):
        name = column or table
        if warehouses := [warehouse for warehouse, words in RESERVED_WORDS.items() if name.casefold() in words]:
            sentence = f"{full_name(table, column)} is a reserved word in {', '.join(warehouses)}"
            yield Match(sentence=sentence, table=table, column=column, after=name)


M907 = Rule(
    title="reserved word",
    impact=Impact(readers=Severity.WARN, writers=Severity.INFO),
    why="dlt and schemactl quote all names, so loads keep working. A query that uses the name without quotes fails or "
    "means something else: `SELECT user FROM orders` returns the session's user in PostgreSQL. The rule checks the "
    "reserved words of BigQuery, Databricks, DuckDB, PostgreSQL, Redshift and Snowflake, even if you use only one of "
    "them.",
    fix="Choose another name while no one reads it: `order_no` for `order`. Otherwise tell readers to quote it.",
    find=find_reserved_word,
)


def find_case_clash(comparison: Comparison) -> Matches:
    """Yield each new or renamed table and column whose name another one has in another case."""
    tables = comparison.head.schema.tables
    by_case: dict[str | None, Mapping[str, Sequence[str]]] = {None: group_by(sorted(tables), str.casefold)}
    for table, column in _newly_named(comparison):
        name, owner = (table, None) if column is None else (column, table)
        if owner is not None and owner not in by_case:
            by_case[owner] = group_by(tables[owner].columns, str.casefold)
        clashing_name = next((candidate for candidate in by_case[owner][name.casefold()] if candidate != name), None)
        if clashing_name is not None:
            subject = f"table `{table}`" if column is None else full_name(table, column)
            sentence = f"{subject} differs from `{clashing_name}` only in case"
            yield Match(sentence=sentence, table=table, column=column, after=clashing_name)


M908 = Rule(
    title="names that differ only in case",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    why="BigQuery, Databricks, DuckDB and Redshift treat both as one name, and reject the table or the query. "
    "Snowflake and PostgreSQL distinguish them only if every query quotes them. dlt's naming conventions fold case, "
    "except `direct`, `duck_case` and conventions whose names end in `_cs_v1`.",
    fix="Rename one of the two, or use a naming convention that folds case (`snake_case`, `sql_ci_v1`).",
    find=find_case_clash,
)
