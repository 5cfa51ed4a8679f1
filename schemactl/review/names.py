"""Compare the names of two schemas: a new naming convention, names that are new, and reserved words of SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from schemactl.errors import InputError
from schemactl.review.comparison import Comparison
from schemactl.review.wording import plain
from schemactl.schema.changes import ColumnAdded, ColumnRenamed, NormalizerChanged, TableAdded, TableRenamed
from schemactl.schema.collisions import BLANK, find_collisions
from schemactl.schema.naming import Naming, convention_name, load_naming
from schemactl.schema.settings import DEFAULT_NAMING


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
