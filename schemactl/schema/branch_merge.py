"""Merge two schemas that grew from a common one, table by table and column by column, as git merges two branches.

A change that only one side made is applied; a change that both made alike is applied once. Changes that contradict each
other are conflicts. ``import_merge`` has another purpose: it applies the edits of an import file to an export file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Any, Final, Generic, NamedTuple, TypeVar

from schemactl.grouping import group_by
from schemactl.schema.arrow_hint import NESTED_TYPE
from schemactl.schema.changes import ABSENT, TYPE_PROPERTIES, Change
from schemactl.schema.diff import is_same
from schemactl.schema.hash import MAX_PREVIOUS_HASHES, version_hash
from schemactl.schema.renames import RENAMED_FROM, column_renames, table_renames
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, Properties, Schema, Table, ancestors
from schemactl.schema.validation import check
from schemactl.schema.wording import describe_type, show_value

_TYPE: Final = (*TYPE_PROPERTIES, NESTED_TYPE, DATABASE_TYPE)
"""Properties that make up a column's type: half of one type and half of another is not a type."""

Keys = tuple[str, ...]
"""The path to a value in a schema file."""

NewNames = Mapping[tuple[str, str | None], str]
"""New names of tables and columns by their names in one file; None for the table's own name."""

_Renames = dict[tuple[str, str | None], str]
Named = TypeVar("Named", bound=Table | Column)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two changes that exclude each other.

    Attributes:
        table, column, property: the thing that both changed; None above that level.
        keys: the path to it in the merged schema; a path to a missing thing ends in the name that it would have.
        message: what each side did, as a sentence without a period.
        base, ours, theirs: the values of a property; ``ABSENT`` for no value.
    """

    table: str | None
    column: str | None
    property: str | None
    keys: Keys
    message: str
    base: Any = ABSENT
    ours: Any = ABSENT
    theirs: Any = ABSENT


@dataclass(frozen=True, slots=True)
class MergedSchema:
    """A merged schema, in which one side wins all conflicts.

    Attributes:
        renames: the names that tables and columns of base, ours and theirs have in the merged schema, if they differ.
    """

    schema: Schema
    conflicts: tuple[Conflict, ...]
    renames: tuple[NewNames, NewNames, NewNames]


@dataclass(frozen=True, slots=True)
class MergedFile:
    """A merged schema file or lineage file.

    Attributes:
        path: the file, for messages; its ending says whether it is YAML, JSON, or lineage.
        text: the merged file, None if one side deleted it; conflicts are between markers, as git writes them.
        changes: their changes that our side gets.
        lost_comments: comments of their side about lines that the text has in another form.
        fault: why the file was merged line by line, as git does; in this case, only the text has the conflicts.
        written: the file that the text was written to.
    """

    path: str
    text: str | None
    changes: tuple[Change, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    lost_comments: tuple[str, ...] = ()
    fault: str | None = None
    written: str | None = None

    @property
    def is_clean(self) -> bool:
        """Return whether no decision is left to the user."""
        return not self.conflicts and self.fault is None


def merge_schemas(base: Schema | None, ours: Schema, theirs: Schema, *, prefers_theirs: bool = False) -> MergedSchema:
    """Return our schema with the changes of theirs since ``base``; None as base if both sides added the schema.

    If both sides added columns in one position, our columns come first. Version and hash match the content;
    ``previous_hashes`` contains the hashes of both sides, if they have any. Our side wins conflicts, or with
    ``prefers_theirs`` their side.
    """
    return _Merge(base or Schema(name=""), ours, theirs, prefers_theirs).merged()


class _Trio(NamedTuple, Generic[Named]):
    """A table or column in all three schemas, under its name there; None if it does not exist."""

    base: Named | None
    ours: Named | None
    theirs: Named | None

    @property
    def last_name(self) -> str:
        return next(item.name for item in (self.ours, self.theirs, self.base) if item is not None)

    @property
    def is_changed(self) -> bool:
        """Return whether the side that still has the column changed it."""
        survivor = self.ours or self.theirs
        if self.base is None or survivor is None:
            return True
        return self.base.name != survivor.name or not is_same(self.base.properties, survivor.properties)


@dataclass(frozen=True, slots=True)
class _Location:
    """A location of merged values: the path in the merged schema, and the table and column for messages."""

    keys: Keys = ()
    table: str | None = None
    column: str | None = None

    def inside(self, key: str) -> _Location:
        return replace(self, keys=(*self.keys, key))

    @property
    def label(self) -> str:
        if self.table is None:
            return f"`{'.'.join(self.keys)}`" if self.keys else "the schema"
        return f"`{self.table}`" if self.column is None else f"`{self.table}.{self.column}`"


class _Merge:
    def __init__(self, base: Schema, ours: Schema, theirs: Schema, prefers_theirs: bool) -> None:
        self._base, self._ours, self._theirs, self._prefers_theirs = base, ours, theirs, prefers_theirs
        self._conflicts: list[Conflict] = []
        self._renames: tuple[_Renames, _Renames, _Renames] = ({}, {}, {})

    def merged(self) -> MergedSchema:
        base, ours, theirs = self._base, self._ours, self._theirs
        top = _Location()
        headers = [{"name": schema.name, "description": schema.description} for schema in (base, ours, theirs)]
        header = self._mapping(top, *({key: value for key, value in header.items() if value} for header in headers))
        settings = self._mapping(top.inside("settings"), base.settings, ours.settings, theirs.settings)
        normalizers = self._mapping(top.inside("normalizers"), base.normalizers, ours.normalizers, theirs.normalizers)
        # The import file is merged by itself: which hash it gets is unknown here.
        is_relinked = ours.imported_version_hash != base.imported_version_hash
        schema = replace(
            ours,
            name=header["name"],
            description=header.get("description"),
            settings=settings,
            normalizers=normalizers,
            tables=self._tables(),
            extensions=self._mapping(top, base.extensions, ours.extensions, theirs.extensions),
            imported_version_hash=(ours if is_relinked else theirs).imported_version_hash,
        )
        conflicts = (*self._conflicts, *(_fault_conflicts(schema) if not self._conflicts else ()))
        return MergedSchema(_with_ancestry(schema, ours, theirs), conflicts, self._renames)

    def _tables(self) -> dict[str, Table]:
        schemas = (self._base, self._ours, self._theirs)
        sides = [schema.tables for schema in schemas]
        renames = (table_renames(self._base, side, is_guessing=False, heeds_moves=True) for side in schemas[1:])
        trios = _paired(sides, [{rename.before: rename.after for rename in renamed} for renamed in renames])
        used_tables = [_used_tables(self._base, side) for side in schemas[1:]]

        def is_used(trio: _Trio[Table]) -> bool:
            pairs = zip((trio.ours, trio.theirs), used_tables, strict=True)
            return any(table is not None and table.name in used for table, used in pairs)

        names = self._names(trios, None, is_used, _orphans(trios, self._ours, self._theirs))
        new_names = _new_names(trios, names)
        for renamed, pairs in zip(self._renames, new_names, strict=True):
            renamed |= {(old, None): new for old, new in pairs.items() if new != old}
        tables = {}
        for index in self._order(trios, names, sides, None):
            moved = (table and _with_parent(table, pairs) for table, pairs in zip(trios[index], new_names, strict=True))
            tables[names[index]] = self._table(names[index], _Trio(*moved))
        return tables

    def _table(self, name: str, trio: _Trio[Table]) -> Table:
        ours, theirs = trio.ours, trio.theirs
        if ours is None or theirs is None:
            survivor = ours or theirs
            assert survivor is not None, "a table without a name has no content"
            return replace(survivor, name=name)
        location = _Location(("tables", name), name)
        before = trio.base.properties if trio.base else {}
        properties = self._mapping(location, before, *_with_one_origin(name, ours, theirs))
        return Table(name, self._columns(name, trio), properties)

    def _columns(self, table: str, trio: _Trio[Table]) -> dict[str, Column]:
        base = trio.base or Table(table)
        assert trio.ours is not None, "a table that one side lacks has no columns to merge"
        assert trio.theirs is not None, "a table that one side lacks has no columns to merge"
        sides = [base.columns, trio.ours.columns, trio.theirs.columns]
        renames = (column_renames(base, side, is_guessing=False, heeds_moves=True) for side in (trio.ours, trio.theirs))
        trios = _paired(sides, [{rename.before: rename.after for rename in renamed} for renamed in renames])
        parent = _Location(("tables", table, "columns"), table)
        names = self._names(trios, parent, lambda column: column.is_changed, {})
        table_names = (base.name, trio.ours.name, trio.theirs.name)
        for renamed, old_table, pairs in zip(self._renames, table_names, _new_names(trios, names), strict=True):
            renamed |= {(old_table, old): new for old, new in pairs.items() if new != old}
        order = self._order(trios, names, sides, parent)
        return {names[index]: self._column(parent, names[index], trios[index]) for index in order}

    def _column(self, parent: _Location, name: str, trio: _Trio[Column]) -> Column:
        ours, theirs = trio.ours, trio.theirs
        if ours is None or theirs is None:
            survivor = ours or theirs
            assert survivor is not None, "a column without a name has no content"
            return Column(name, survivor.properties)
        location = replace(parent.inside(name), column=name)
        types, hints = [], []
        before = trio.base.properties if trio.base else {}
        for properties in (before, *_with_one_origin(name, ours, theirs)):
            types.append({key: value for key, value in properties.items() if key in _TYPE})
            hints.append({key: value for key, value in properties.items() if key not in _TYPE})
        merged_type = self._type(location, *types)
        if trio.base is None and ours.nullable != theirs.nullable and ours.is_complete and theirs.is_complete:
            # An absent `nullable` is a statement here: neither side has seen the other's.
            hints[1], hints[2] = (
                {**hint, "nullable": column.nullable} for hint, column in zip(hints[1:], (ours, theirs), strict=True)
            )
        properties = {**merged_type, **self._mapping(location, *hints)}
        key_order = dict.fromkeys((*ours.properties, *theirs.properties))
        return Column(name, {key: properties[key] for key in key_order if key in properties})

    def _type(self, location: _Location, base: Properties, ours: Properties, theirs: Properties) -> Properties:
        if is_same(ours, theirs) or is_same(base, theirs):
            return ours
        if is_same(base, ours):
            return theirs
        types = [f"`{describe_type(properties)}`" if properties else "without a type" for properties in (ours, theirs)]
        message = f"{location.label} is {types[0]} in ours and {types[1]} in theirs"
        chosen: Properties = self._choose(location.inside("data_type"), "data_type", message, (base, ours, theirs))
        return chosen

    def _mapping(self, location: _Location, base: Properties, ours: Properties, theirs: Properties) -> dict[str, Any]:
        """Merge mappings key by key, our keys first."""
        merged = {
            key: self._value(location, key, base.get(key, ABSENT), ours.get(key, ABSENT), theirs.get(key, ABSENT))
            for key in dict.fromkeys((*ours, *theirs))
        }
        return {key: value for key, value in merged.items() if value is not ABSENT}

    def _value(self, location: _Location, key: str, base: Any, ours: Any, theirs: Any) -> Any:
        if is_same(ours, theirs) or is_same(base, theirs):
            return ours
        if is_same(base, ours):
            return theirs
        if isinstance(ours, Mapping) and isinstance(theirs, Mapping) and (base is ABSENT or isinstance(base, Mapping)):
            return self._mapping(location.inside(key), {} if base is ABSENT else base, ours, theirs)
        if all(map(_is_set, (base, ours, theirs))):
            return _merged_sets(base, ours, theirs)
        values = ["unset" if value is ABSENT else show_value(value) for value in (ours, theirs)]
        owner = f" of {location.label}" if location.keys else ""
        message = f"`{key}`{owner} is {values[0]} in ours and {values[1]} in theirs"
        return self._choose(location.inside(key), key, message, (base, ours, theirs))

    def _choose(self, location: _Location, key: str, message: str, values: tuple[Any, Any, Any]) -> Any:
        """Add a conflict between two values of a property, and return the preferred value."""
        table, column = location.table, location.column
        self._conflicts.append(Conflict(table, column, key, location.keys, message, *values))
        return values[2] if self._prefers_theirs else values[1]

    # Names

    def _names(
        self,
        trios: Sequence[_Trio[Named]],
        parent: _Location | None,
        is_used: Callable[[_Trio[Named]], bool],
        orphans: Mapping[int, str],
    ) -> dict[int, str]:
        """Return the merged names of tables, or of the columns of one table, by index, without dropped ones.

        ``is_used`` tells whether the only side with a table or column needs it; ``orphans`` are the missing tables that
        new ones need.
        """
        names: dict[int, str] = {}
        for index, trio in enumerate(trios):
            preferred = self._preferred(trio)
            if index in orphans:
                adding, dropping = ("ours", "theirs") if trio.ours else ("theirs", "ours")
                need = f"needs `{orphans[index]}`, which {dropping} drops"
                self._add_conflict(parent, trio, f"`{trio.last_name}` is new in {adding} and {need}")
                if preferred is not None:
                    names[index] = preferred
            elif trio.base is None:
                names[index] = trio.last_name
            elif trio.ours and trio.theirs:
                before, our_name, their_name = trio.base.name, trio.ours.name, trio.theirs.name
                names[index] = our_name if before == their_name else their_name
                if before not in (our_name, their_name) and our_name != their_name:
                    renamed = f"is renamed to `{our_name}` in ours and to `{their_name}` in theirs"
                    self._add_conflict(parent, trio, f"{_shown(parent, before)} {renamed}")
                    names[index] = preferred or our_name
            elif (trio.ours or trio.theirs) and is_used(trio):
                in_ours, in_theirs = ("changed", "dropped") if trio.ours else ("dropped", "changed")
                message = f"{_shown(parent, trio.base.name)} is {in_ours} in ours and {in_theirs} in theirs"
                self._add_conflict(parent, trio, message)
                if preferred is not None:
                    names[index] = preferred
        return self._with_unique_names(trios, names, parent)

    def _with_unique_names(
        self, trios: Sequence[_Trio[Named]], names: dict[int, str], parent: _Location | None
    ) -> dict[int, str]:
        """Return distinct names: on a collision, the names of the preferred side."""
        kind = "tables" if parent is None else "columns"
        while True:
            owners = group_by(names, names.__getitem__)
            collisions = {name: indexes for name, indexes in owners.items() if len(indexes) > 1}
            if not collisions:
                return names
            for name, indexes in collisions.items():
                descriptions = " and ".join(_origin(trios[index], name) for index in indexes)
                message = f"two {kind} would be named {_shown(parent, name)}: {descriptions}"
                self._add_conflict(parent, trios[indexes[0]], message)
                for index in indexes:
                    preferred = self._preferred(trios[index])
                    if preferred is None:
                        del names[index]
                    else:
                        names[index] = preferred

    def _preferred(self, trio: _Trio[Named]) -> str | None:
        item = trio.theirs if self._prefers_theirs else trio.ours
        return item.name if item else None

    def _add_conflict(self, parent: _Location | None, trio: _Trio[Named], message: str) -> None:
        name = self._preferred(trio) or trio.last_name
        location = (parent or _Location(("tables",))).inside(name)
        table, column = (name, None) if parent is None else (parent.table, name)
        self._conflicts.append(Conflict(table, column, None, location.keys, message))

    def _order(
        self,
        trios: Sequence[_Trio[Named]],
        names: Mapping[int, str],
        sides: Sequence[Mapping[str, Named]],
        parent: _Location | None,
    ) -> list[int]:
        """Return the indexes of tables or columns in their merged order; the order of tables has no meaning."""
        orders: list[list[int]] = []
        for side, items in zip(sides, list(zip(*trios, strict=True)) or [(), (), ()], strict=True):
            index_of = {item.name: index for index, item in enumerate(items) if item is not None}
            orders.append([index_of[name] for name in side if index_of[name] in names])
        _, ours, theirs = orders
        shared = set.intersection(*map(set, orders))
        before, our_order, their_order = ([index for index in order if index in shared] for order in orders)
        order = their_order if our_order == before else our_order
        if before not in (our_order, their_order) and our_order != their_order:
            order = their_order if self._prefers_theirs else our_order
            if parent is not None:
                message = f"the columns of `{parent.table}` are in one order in ours and in another in theirs"
                self._conflicts.append(Conflict(parent.table, None, "columns", parent.keys, message))
        return _with_additions(_with_additions(order, ours), theirs)


def _fault_conflicts(schema: Schema) -> Iterator[Conflict]:
    """Yield a conflict for each fault that only both changes together make, as two tables nested in each other."""
    for finding in check(schema.to_dict()):
        keys = tuple(map(str, finding.keys))
        table = keys[1] if keys[0] == "tables" and len(keys) > 1 else None
        message = f"both changes together are no valid schema: {finding.message}"
        yield Conflict(table, None, keys[-1], keys, message)


def _paired(sides: Sequence[Mapping[str, Named]], renames: Sequence[Mapping[str, str]]) -> list[_Trio[Named]]:
    """Return the tables or columns of base, ours and theirs side by side.

    ``renames`` has the new names in ours and in theirs by the name in base.
    """
    base, *branches = sides
    trios: list[_Trio[Named]] = []
    pairs = [(branch, new_names, {*new_names.values()}) for branch, new_names in zip(branches, renames, strict=True)]
    for name, item in base.items():
        successors: list[Named | None] = []
        for branch, new_names, taken_names in pairs:
            new_name = new_names.get(name, None if name in taken_names else name)
            successors.append(branch.get(new_name) if new_name is not None else None)
            if new_name is not None:
                taken_names.add(new_name)
        trios.append(_Trio(item, *successors))
    for name in dict.fromkeys(chain(*branches)):
        additions = [None if name in taken_names else branch.get(name) for branch, _, taken_names in pairs]
        if any(additions):
            trios.append(_Trio(None, *additions))
    return trios


def _new_names(trios: Sequence[_Trio[Named]], names: Mapping[int, str]) -> list[dict[str, str]]:
    """Return merged names by the names in base, ours and theirs."""
    new_names: list[dict[str, str]] = [{}, {}, {}]
    for index, name in names.items():
        for pairs, item in zip(new_names, trios[index], strict=True):
            if item is not None:
                pairs[item.name] = name
    return new_names


def _used_tables(base: Schema, side: Schema) -> set[str]:
    """Return the tables that a side changed or added, with their parents and newly referenced tables."""
    used: set[str] = set()
    for table in side.tables.values():
        earlier = base.tables.get(table.name)
        if earlier is None or not is_same(earlier.to_dict(), table.to_dict()):
            used |= {table.name, *ancestors(side, table.name)}
            used |= _referenced_tables(table) - (_referenced_tables(earlier) if earlier else set())
    return used


def _orphans(trios: Sequence[_Trio[Table]], ours: Schema, theirs: Schema) -> dict[int, str]:
    """Return the new tables of one side, by index, that need a table which the other side dropped, with its name."""
    dropped_in_theirs = {trio.ours.name for trio in trios if trio.base and trio.ours and not trio.theirs}
    dropped_in_ours = {trio.theirs.name for trio in trios if trio.base and trio.theirs and not trio.ours}
    orphans: dict[int, str] = {}
    for index, trio in enumerate(trios):
        for table, other, side, dropped in (
            (trio.ours, trio.theirs, ours, dropped_in_theirs),
            (trio.theirs, trio.ours, theirs, dropped_in_ours),
        ):
            if table is not None and other is None and trio.base is None:
                needed = (*ancestors(side, table.name), *sorted(_referenced_tables(table)))
                orphans[index] = next((name for name in needed if name in dropped), "")
    return {index: name for index, name in orphans.items() if name}


def _referenced_tables(table: Table) -> set[str]:
    return {reference["referenced_table"] for reference in table.properties.get("references") or ()}


def _with_parent(table: Table, new_names: Mapping[str, str]) -> Table:
    if table.parent is None or table.parent not in new_names:
        return table
    return replace(table, properties={**table.properties, "parent": new_names[table.parent]})


def _with_one_origin(name: str, ours: Named, theirs: Named) -> tuple[Properties, Properties]:
    """Return the properties of both sides, with the former names of the side whose name was chosen."""
    if ours.name == theirs.name:
        return ours.properties, theirs.properties
    named_properties = (ours if ours.name == name else theirs).properties
    former_names = {RENAMED_FROM: named_properties[RENAMED_FROM]} if RENAMED_FROM in named_properties else {}
    our_properties, their_properties = (
        {key: value for key, value in item.properties.items() if key != RENAMED_FROM} for item in (ours, theirs)
    )
    return {**our_properties, **former_names}, {**their_properties, **former_names}


def _shown(parent: _Location | None, name: str) -> str:
    return f"`{name}`" if parent is None else f"`{parent.table}.{name}`"


def _origin(trio: _Trio[Named], name: str) -> str:
    """Return a description of the origin of a table or column that would get a name."""
    kind = "column" if isinstance(trio.ours or trio.theirs, Column) else "table"
    sides = [side for side, item in (("ours", trio.ours), ("theirs", trio.theirs)) if item and item.name == name]
    where = " and ".join(sides)
    if trio.base is None:
        return f"a new {kind} in {where}"
    return f"the {kind} in {where}" if trio.base.name == name else f"`{trio.base.name}`, renamed in {where}"


def _with_additions(order: list[int], side: Iterable[int]) -> list[int]:
    """Return an order with the indexes that it lacks, each behind the index before it on its side.

    Between the two come indexes that the side does not have.
    """
    side_order = list(side)
    side_indexes = set(side_order)
    following: dict[int | None, int | None] = dict(zip((None, *order), (*order, None), strict=True))
    previous: int | None = None
    for index in side_order:
        if index not in following:
            anchor = previous
            while (after := following[anchor]) is not None and after not in side_indexes:
                anchor = after
            following[index], following[anchor] = following[anchor], index
        previous = index
    merged: list[int] = []
    current = following[None]
    while current is not None:
        merged.append(current)
        current = following[current]
    return merged


def _is_set(value: Any) -> bool:
    """Return whether a value is a list of distinct scalars, so that single items can be added and removed."""
    if not isinstance(value, (list, tuple)) or any(isinstance(item, (Mapping, list, tuple)) for item in value):
        return False
    return len({(type(item), item) for item in value}) == len(value)


def _merged_sets(base: Sequence[Any], ours: Sequence[Any], theirs: Sequence[Any]) -> list[Any]:
    """Return our items without the items that theirs removed, and insert their new items behind their predecessors."""
    keys = [[(type(item), item) for item in items] for items in (base, ours, theirs)]
    removed = {*keys[0]} - {*keys[2]}
    dropped = {*keys[0]} - {*keys[1]}
    values = dict(chain.from_iterable(zip(keys[side], (base, ours, theirs)[side], strict=True) for side in (1, 2)))
    numbers = {key: number for number, key in enumerate(values)}
    order = [numbers[key] for key in keys[1] if key not in removed]
    additions = [numbers[key] for key in keys[2] if key not in dropped]
    items = list(values.values())
    return [items[number] for number in _with_additions(order, additions)]


def _with_ancestry(schema: Schema, ours: Schema, theirs: Schema) -> Schema:
    """Return merged content with its version and hash; its ancestors are the hashes of both sides, newest first.

    dlt takes a schema whose ``previous_hashes`` has the stored hash for a later version of it (docs/dlt.md §2.3).
    """
    if not (ours.version_hash or theirs.version_hash):
        return schema
    current = version_hash(schema)
    lineages = ((side.version_hash, *side.previous_hashes) for side in (ours, theirs))
    hashes = dict.fromkeys(chain.from_iterable(zip_longest(*lineages)))
    previous = tuple(earlier for earlier in hashes if earlier and earlier != current)
    version = max(ours.version, theirs.version) + (current not in (ours.version_hash, theirs.version_hash))
    return replace(schema, version=version, version_hash=current, previous_hashes=previous[:MAX_PREVIOUS_HASHES])
