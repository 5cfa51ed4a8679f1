"""Rules about keys, references and other hints that decide which rows are kept: K5xx."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from schemactl.review.comparison import is_filled_by_dlt
from schemactl.review.hints import hint_rule, is_unset
from schemactl.review.rule import (
    BREAKS_ALL,
    BREAKS_NOBODY,
    Comparison,
    Direction,
    Finder,
    Impact,
    Match,
    Matches,
    ReaderEffect,
    Rule,
    Severity,
)
from schemactl.review.wording import full_name, key
from schemactl.schema import changes


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A table's key whose columns changed, by their names in the head schema, in the table's order."""

    table: str
    hint: str
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def added(self) -> tuple[str, ...]:
        return tuple(column for column in self.after if column not in self.before)

    @property
    def removed(self) -> tuple[str, ...]:
        return tuple(column for column in self.before if column not in self.after)

    def match(self, sentence: str, impact: Impact | None = None) -> Match:
        """Return the match, which points to the changed column if only one changed."""
        moved = (*self.added, *self.removed)
        column = moved[0] if len(moved) == 1 else None
        keys = ("tables", self.table, "columns", *((column, self.hint) if column else ()))
        aspect = "" if column else self.hint  # one column may be in several keys, which then change alike
        return Match(
            sentence=sentence,
            table=self.table,
            column=column,
            keys=keys,
            before=list(self.before),
            after=list(self.after),
            aspect=aspect,
            impact=impact,
        )


def key_changes(comparison: Comparison, hint: str) -> Iterator[KeyChange]:
    """Yield each existing table whose set of columns with ``hint`` changed.

    A key of new columns only is reported only if stored rows lack values for it: not in a table without rows, and not
    if dlt fills the columns.
    """
    moved: tuple[changes.ColumnAdded | changes.ColumnRemoved, ...] = (
        *comparison.of(changes.ColumnAdded),
        *comparison.of(changes.ColumnRemoved),
    )
    touched = dict.fromkeys(change.table for change in comparison.of(changes.ColumnPropertyChanged, hint))
    touched |= dict.fromkeys(change.table for change in moved if change.column.properties.get(hint))
    if not touched:
        return
    added = {(change.table, change.column.name) for change in comparison.of(changes.ColumnAdded)}
    for table in touched:
        before, after = _sides(comparison, table, hint)
        is_harmless = not before and all((table, column) in added for column in after)
        if is_harmless and comparison.has_stored_rows(table):
            is_harmless = all(is_filled_by_dlt(column) for column in after)
        if set(before) != set(after) and not is_harmless:
            yield KeyChange(table, hint, before, after)


def _sides(comparison: Comparison, table: str, hint: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns of a table's key before and after, by names of the head schema."""
    old, new = comparison.base_table(table), comparison.head.schema.tables.get(table)
    columns = old.hinted(hint) if old else ()
    before = tuple(comparison.head_columns.get((table, column), column) for column in columns)
    return before, new.hinted(hint) if new else ()


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference, by names of the head schema, with its declaration."""

    table: str
    columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...]
    cardinality: str | None
    hint: Any

    @property
    def meaning(self) -> tuple[Any, ...]:
        """Return the key for comparisons; the order of its pairs of columns does not count."""
        return sorted(zip(self.columns, self.target_columns, strict=False)), self.target, self.cardinality

    def __str__(self) -> str:
        kind = f", {self.cardinality.replace('_', ' ')}" if self.cardinality else ""
        return f"{key(self.columns)} to `{self.target}` {key(self.target_columns)}{kind}"


class ReferenceChange(NamedTuple):
    """A reference that is new (no ``before``), gone (no ``after``) or another one."""

    before: Reference | None
    after: Reference | None


def reference_rule(applies: Callable[[ReferenceChange], bool], sentence: str) -> Finder:
    """Return the finder of changed references; the sentence has ``{table}``, ``{before}`` and ``{after}`` in it."""

    def find(comparison: Comparison) -> Iterator[Match]:
        for before, after in filter(applies, reference_changes(comparison)):
            table = next(reference.table for reference in (after, before) if reference)
            text = sentence.format(table=full_name(table), before=before, after=after)
            old, new = (reference.hint if reference else None for reference in (before, after))
            yield Match(sentence=text, table=table, keys=("tables", table, "references"), before=old, after=new)

    return find


def reference_changes(comparison: Comparison) -> Iterator[ReferenceChange]:
    """Yield the changed references of tables that both schemas have, matched by their columns, then by their target."""
    for change in comparison.of(changes.TablePropertyChanged, "references"):
        base_references = read_references(change.table, change.before)
        before = distinct(_in_head_names(comparison, reference) for reference in base_references)
        after = distinct(read_references(change.table, change.after))
        for aspect in _ASPECTS:
            for old in list(before):
                new = next((candidate for candidate in after if aspect(candidate) == aspect(old)), None)
                if new is not None:
                    before.remove(old)
                    after.remove(new)
                    if old.meaning != new.meaning:
                        yield ReferenceChange(old, new)
        yield from (ReferenceChange(removed, None) for removed in before)
        yield from (ReferenceChange(None, added) for added in after)


_ASPECTS: Final[tuple[Callable[[Reference], Any], ...]] = (
    lambda reference: reference.meaning,
    lambda reference: reference.columns,
    lambda reference: reference.target,
)


def distinct(references: Iterable[Reference]) -> list[Reference]:
    """Return the references without repetitions."""
    distinct_references: list[Reference] = []
    for reference in references:
        if all(reference.meaning != other.meaning for other in distinct_references):
            distinct_references.append(reference)
    return distinct_references


def read_references(table: str, hint: Any) -> list[Reference]:
    """Return the references that a table declares."""
    references: list[Mapping[str, Any]] = [] if hint is changes.ABSENT or not hint else hint
    return [
        Reference(
            table,
            tuple(reference.get("columns") or ()),
            reference.get("referenced_table") or "",
            tuple(reference.get("referenced_columns") or ()),
            reference.get("cardinality"),
            reference,
        )
        for reference in references
    ]


def _in_head_names(comparison: Comparison, reference: Reference) -> Reference:
    """Return a reference of the base schema by the names of the head schema."""
    tables = {change.before: change.after for change in comparison.of(changes.TableRenamed)}
    columns, target = comparison.head_columns, tables.get(reference.target, reference.target)
    return replace(
        reference,
        columns=tuple(columns.get((reference.table, name), name) for name in reference.columns),
        target=target,
        target_columns=tuple(columns.get((target, name), name) for name in reference.target_columns),
    )


def find_primary_key_extended(comparison: Comparison) -> Matches:
    """Yield each table whose primary key has more columns, and all it had before."""
    for change in key_changes(comparison, "primary_key"):
        if change.removed:
            continue
        if change.before:
            grown = f"grows from {key(change.before)} to {key(change.after)}"
            yield change.match(f"the primary key of {full_name(change.table)} {grown}")
        else:
            yield change.match(f"{full_name(change.table)} now has a primary key: {key(change.after)}")


K501 = Rule(
    title="primary key extended",
    impact=Impact(readers=Severity.WARN, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.BOTH,
    why="With the write disposition `merge`, dlt deletes and inserts by the whole key: rows that used to replace each "
    "other are now stored side by side, and readers that join by the old key get several rows. With a first key, new "
    "rows replace rows that were kept before. Key columns must not be null.",
    fix="Make sure that every pipeline sends all key columns and that existing rows have values in them. Reload the "
    "table, or deduplicate it by the new key, in the same release.",
    find=find_primary_key_extended,
)


def find_primary_key_reduced(comparison: Comparison) -> Matches:
    """Yield each table whose primary key is gone or lost columns, even if it has new columns instead."""
    for change in key_changes(comparison, "primary_key"):
        verb, sides = "changes" if change.added else "shrinks", f"from {key(change.before)} to {key(change.after)}"
        if not change.after:
            yield change.match(f"{full_name(change.table)} no longer has a primary key; it was {key(change.before)}")
        elif change.removed:
            sentence = f"the primary key of {full_name(change.table)} {verb} {sides}"
            yield change.match(sentence, impact=BREAKS_ALL if change.added else None)


K502 = Rule(
    title="primary key reduced",
    impact=Impact(readers=Severity.ERROR, writers=Severity.WARN, data=Severity.ERROR),
    direction=Direction.BOTH,
    why="With a smaller key, dlt's merge treats distinct rows as duplicates, and the next load deletes all but one of "
    "them. Without a key, merge appends: every load stores the same row again, and readers that join by the key get "
    "duplicates.",
    fix="Keep the key. If it must change, write to a new table with the new key and move readers there.",
    find=find_primary_key_reduced,
)


_KEYS: Final = (("primary_key", "primary key"), ("merge_key", "merge key"))


def find_key_reordered(comparison: Comparison) -> Matches:
    """Yield each composite key whose columns are the same in another order."""
    for hint, name in _KEYS:
        for change in comparison.of(changes.ColumnsReordered):
            before, after = _sides(comparison, change.table, hint)
            if before != after and set(before) == set(after):
                sentence = f"the {name} of {full_name(change.table)} is reordered to {key(after)}"
                yield KeyChange(change.table, hint, before, after).match(sentence)


K503 = Rule(
    title="key order changed",
    impact=BREAKS_NOBODY,
    why="A key is a set: dlt merges by all of its columns, in any order. Only an index that a destination creates "
    "from the key may speed up other queries than before.",
    fix="No action needed. To keep the key's order, keep the order of the table's columns.",
    find=find_key_reordered,
)


K504 = Rule(
    title="unique added",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.TIGHTENS,
    why="dlt itself does not check for duplicates. A new table gets a `UNIQUE` constraint if the destination creates "
    "indexes (PostgreSQL does, DuckDB only on request), and loads with duplicates fail there. Existing tables do not "
    "change.",
    fix="Check existing rows for duplicates before you create the constraint, and remove duplicates in the pipeline, "
    "for example by merging on a primary key.",
    find=hint_rule("unique", says=lambda change: "must now be unique" if is_unset(change.before) else None),
)


K505 = Rule(
    title="unique removed",
    impact=Impact(readers=Severity.ERROR, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="Readers that join by the column get several rows instead of one, so sums are too high. A destination that "
    "has the constraint keeps it, and rejects duplicates until someone drops it.",
    fix="Keep the hint while anyone joins by the column. Otherwise warn readers, and drop the constraint at the "
    "destination.",
    find=hint_rule("unique", says=lambda change: "no longer needs to be unique" if is_unset(change.after) else None),
    effect=ReaderEffect.COMPARED,
)


def find_merge_key_changed(comparison: Comparison) -> Matches:
    """Yield each table with another merge key."""
    for change in key_changes(comparison, "merge_key"):
        where, before, after = full_name(change.table), key(change.before), key(change.after)
        if not change.before:
            yield change.match(f"{where} now has a merge key: {after}")
        elif not change.after:
            yield change.match(f"{where} no longer has a merge key; it was {before}")
        else:
            yield change.match(f"the merge key of {where} changes from {before} to {after}")


K506 = Rule(
    title="merge key changed",
    impact=Impact(readers=Severity.WARN, writers=Severity.ERROR, data=Severity.ERROR),
    direction=Direction.BOTH,
    why="Before dlt's merge inserts the new rows, it deletes every stored row with the same merge key. With another "
    "key, the next load deletes other rows than before: too many, or none.",
    fix="Reload the table with the new key, or write to a new table. Do not change the key of a table while loads "
    "still merge into it.",
    find=find_merge_key_changed,
    effect=ReaderEffect.MEANING,
)


_LINKS: Final = (("row_key", "row key"), ("parent_key", "parent key"), ("root_key", "root key"))


def find_row_links_changed(comparison: Comparison) -> Matches:
    """Yield each table with another row key, parent key or root key."""
    for hint, name in _LINKS:
        for change in key_changes(comparison, hint):
            before, after = (key(side) if side else "nothing" for side in (change.before, change.after))
            yield change.match(f"the {name} of {full_name(change.table)} changes from {before} to {after}")


K507 = Rule(
    title="links between nested rows changed",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="dlt fills these columns itself, and they join nested tables to their parents. Existing rows keep the old "
    "links, so joins miss them, and dlt's merge deletes nested rows by the root key.",
    fix="Leave these hints to dlt. If they must change, reload the table and all tables nested in it.",
    find=find_row_links_changed,
)


K508 = Rule(
    title="reference added",
    impact=Impact(readers=Severity.INFO, writers=Severity.WARN, data=Severity.DEPENDS),
    direction=Direction.TIGHTENS,
    why="dlt records references but does not check them: the other table, or the matching rows, may not exist. "
    "Readers rely on the reference, so rows without a match (orphans) are missing from their joins.",
    fix="Check the existing rows for orphans, and load the referenced table first.",
    find=reference_rule(lambda change: change.before is None, "{table} has a new reference: {after}"),
    effect=ReaderEffect.NONE,
)


K509 = Rule(
    title="reference removed",
    impact=Impact(readers=Severity.WARN, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="Tools that draw or generate joins from the schema lose this reference. dlt loads as before. dlt never "
    "removes a reference, so someone removed it from the schema.",
    fix="Keep the reference while the columns still mean the same. Otherwise warn readers who join the two tables.",
    find=reference_rule(lambda change: change.after is None, "{table} has lost a reference: {before}"),
    effect=ReaderEffect.NONE,
)


K510 = Rule(
    title="reference changed",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.BOTH,
    why="Joins that follow the reference find other rows, or several rows instead of one, so sums are too high. dlt "
    "does not check references, and silently replaces the old reference to the same table.",
    fix="Add the new reference on separate columns and keep the old one for a while. Check the existing rows for "
    "orphans.",
    find=reference_rule(lambda change: None not in change, "a reference of {table} changes from {before} to {after}"),
    effect=ReaderEffect.NONE,
)


_ROLES: Final[Mapping[str, str]] = {
    "dedup_sort": "the order in which duplicates are dropped (`dedup_sort`)",
    "hard_delete": "the mark of deleted rows (`hard_delete`)",
    "incremental": "the incremental cursor (`incremental`)",
}


def _role_phrase(change: changes.ColumnPropertyChanged) -> str:
    role = _ROLES[change.name]
    if is_unset(change.after):
        return f"is no longer {role}"
    if is_unset(change.before):
        return f"is now {role}" + (f": `{change.after}`" if isinstance(change.after, str) else "")
    return f"changes {role} from `{change.before}` to `{change.after}`"


K511 = Rule(
    title="row selection changed",
    impact=Impact(readers=Severity.WARN, writers=Severity.ERROR, data=Severity.ERROR),
    direction=Direction.BOTH,
    why="These hints decide which rows survive the next load: which of several duplicates dlt's merge keeps, which "
    "rows it deletes at the destination, and where an incremental resource resumes. A wrong hint loses rows or loads "
    "them twice, without an error.",
    fix="Try the change on a copy of the table. If a cursor changes, reload the table, because the stored state "
    "belongs to the old cursor.",
    find=hint_rule(*_ROLES, says=_role_phrase),
    effect=ReaderEffect.MEANING,
)


def find_root_key_added(comparison: Comparison) -> Matches:
    """Yield each root key that is new in a nested table with rows, and may not be null."""
    for change in comparison.of(changes.ColumnAdded):
        base, column = comparison.base_table(change.table), change.column
        is_root_key = bool(column.properties.get("root_key")) or column.name.casefold() == "_dlt_root_id"
        if base and base.is_nested and not base.is_new and is_root_key and not column.nullable:
            where, table = full_name(change.table, change.column.name), full_name(change.table)
            yield Match.of(change, f"{where} is new and required, but the existing rows of {table} have no value")


K512 = Rule(
    title="root key added to nested rows",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.ERROR),
    direction=Direction.TIGHTENS,
    why="dlt adds the column with `NOT NULL`, which databases reject for a table that has rows: the next load fails, "
    "for example with `NOT NULL constraint failed`. dlt adds `_dlt_root_id` if the root table is merged or "
    "`root_key_propagation` is set.",
    fix="Before the next load, add the column and fill it: `ALTER TABLE orders__items ADD COLUMN _dlt_root_id "
    "varchar`, then `UPDATE orders__items SET _dlt_root_id = _dlt_parent_id` in tables nested directly in the root "
    "table, and the `_dlt_root_id` of the parent row in deeper tables. dlt uses the existing column. Or reload the "
    "table (`refresh`).",
    find=find_root_key_added,
)


def find_reference_to_nothing(comparison: Comparison) -> Matches:
    """Yield each reference to a table or column that the head schema lacks and the base schema had."""
    for table in comparison.head.schema.tables.values():
        for reference in distinct(read_references(table.name, table.properties.get("references"))):
            keys = ("tables", table.name, "references")
            for gone in dict.fromkeys(_gone_names(comparison, reference)):
                sentence = f"{full_name(table.name)} has a reference {reference}, but {gone} is missing"
                yield Match(sentence=sentence, table=table.name, keys=keys, before=reference.hint, after=gone)


def _gone_names(comparison: Comparison, reference: Reference) -> Iterator[str]:
    """Yield the names that the base has and the head lacks; names in neither may belong to another schema."""
    base, head = comparison.base.schema.tables, comparison.head.schema.tables
    if reference.target in base and reference.target not in head:
        yield full_name(reference.target)
        return
    for name, columns in ((reference.table, reference.columns), (reference.target, reference.target_columns)):
        base_table, head_table = comparison.base_table(name), head.get(name)
        for column in columns:
            if base_table and head_table and column in base_table.columns and column not in head_table.columns:
                yield full_name(name, column)


K513 = Rule(
    title="reference to a missing table or column",
    impact=Impact(readers=Severity.ERROR, writers=Severity.WARN),
    direction=Direction.BOTH,
    why="The table or column was removed or renamed, and a reference still names it. Tools that draw or generate "
    "joins from the schema create queries that fail, and no foreign key can be created from the reference. dlt does "
    "not check references.",
    fix="Remove the reference, or point it at the current name.",
    find=find_reference_to_nothing,
    effect=ReaderEffect.NONE,
)
