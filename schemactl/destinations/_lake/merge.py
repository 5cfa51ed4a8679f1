"""Merges one family of tables: files that hold rows to go are written anew without them, rows that come are added.

What is held in memory are the keys of the rows of this load, and the keys of one file at a time of what is there.
The effects are dlt's (its ``delete-insert``, ``upsert``, ``insert-only`` and ``scd2`` on databases); nested rows
follow the rows that they are nested in, by the keys of their parents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemactl.destinations._chains import Chain, Strategy, first_hinted, hinted, moment_of, row_key
from schemactl.destinations._lake.files import read_staged, staged_files
from schemactl.destinations._lake.table import DataFile, LakeTable
from schemactl.destinations._package import StagedTable
from schemactl.errors import DestinationError
from schemactl.schema.types import Table

if TYPE_CHECKING:
    import pyarrow


_ROW: Final = "\0row"
_SORT: Final = "\0sort"
_TIE: Final = "\0tie"


@dataclass(frozen=True, slots=True)
class Keys:
    """The columns of a table that merges look at.

    Attributes:
        primary: of the primary key.
        merge: of the merge key.
        row: what distinguishes rows.
        root: the key of the root row that a nested row belongs to.
        parent: the key of the row above.
        hard_delete: says of a row that it asks to be deleted.
        dedup_sort: a column and ``asc`` or ``desc``: which row of a primary key counts.
        valid_from: when a row of a history began to be valid.
        valid_to: when it ended.
        active: what stands in ``valid_to`` of rows that are valid.
    """

    primary: tuple[str, ...]
    merge: tuple[str, ...]
    row: str
    root: str | None
    parent: str | None
    hard_delete: str | None
    dedup_sort: tuple[str, str] | None
    valid_from: str | None
    valid_to: str | None
    active: datetime | None = None

    @property
    def all(self) -> tuple[str, ...]:
        """Return the columns to read of rows that come, each once."""
        sort = self.dedup_sort[0] if self.dedup_sort else None
        named = (*self.primary, *self.merge, self.row, self.root, self.parent, self.hard_delete, sort)
        return tuple(dict.fromkeys(name for name in named if name))


def keys_of(table: Table) -> Keys:
    """Return the keys that a table's hints state.

    Raises:
        DestinationError: nothing distinguishes its rows.
    """
    sort, end = first_hinted(table, "dedup_sort"), first_hinted(table, "x-valid-to")
    stated = table.columns[end].properties.get("x-active-record-timestamp") if end else None
    return Keys(
        primary=hinted(table, "primary_key"),
        merge=hinted(table, "merge_key"),
        row=first_hinted(table, "x-row-version") or row_key(table),
        root=first_hinted(table, "root_key") if table.is_nested else None,
        parent=first_hinted(table, "parent_key") if table.is_nested else None,
        hard_delete=first_hinted(table, "hard_delete"),
        dedup_sort=(sort, "asc" if table.columns[sort].properties["dedup_sort"] == "asc" else "desc") if sort else None,
        valid_from=first_hinted(table, "x-valid-from"),
        valid_to=end,
        active=None if stated is None else moment_of(stated, table),
    )


def boundary_of(table: Table, inserted_at: datetime) -> datetime:
    """Return when rows of a slowly changing dimension begin and end: as the schema states, else with the load.

    Raises:
        DestinationError: the schema states no timestamp.
    """
    stated = table.properties.get("x-boundary-timestamp")
    return inserted_at if stated is None else moment_of(stated, table)


@dataclass(frozen=True, slots=True)
class Merge:
    """What becomes of one table.

    Attributes:
        going: for files with such rows, which of their rows go (or, of slowly changing dimensions, end).
        coming: for each staged file, which of its rows are added.
    """

    going: Mapping[str, pyarrow.BooleanArray] = field(default_factory=dict)
    coming: Sequence[pyarrow.BooleanArray] = ()


@dataclass(frozen=True, slots=True)
class _Staged:
    """The keys of a table's rows that come, file by file one after the other, and of those that only remove rows."""

    keys: pyarrow.Table
    counts: tuple[int, ...]
    superseded: pyarrow.Table

    @property
    def all(self) -> pyarrow.Table:
        import pyarrow

        return pyarrow.concat_tables([self.keys, self.superseded])

    def per_file(self, mask: pyarrow.BooleanArray) -> list[pyarrow.BooleanArray]:
        starts = [sum(self.counts[:number]) for number in range(len(self.counts))]
        return [mask.slice(start, count) for start, count in zip(starts, self.counts, strict=True)]


def plan_merge(chain: Chain, tables: Mapping[str, LakeTable]) -> dict[str, Merge]:
    """Return what becomes of each table of a chain that is merged.

    Args:
        chain: with rows for its root.
        tables: those that are there, with all columns of this load.

    Raises:
        DestinationError: nothing in a nested table leads to its root.
    """
    above = dict[str, _Moved]()
    merges: dict[str, Merge] = {}
    for table in chain.tables:
        if table.name not in tables:
            continue
        lake, keys = tables[table.name], keys_of(table)
        staged = _staged_keys(chain.staged.get(table.name), lake, keys)
        if table.name == chain.root.name:
            merge, moved = _root(chain, lake, keys, staged)
        elif keys.root:
            merge, moved = _nested(chain.strategy, lake, keys, staged, (keys.root, above[chain.root.name]))
        elif keys.parent and table.parent in above:
            merge, moved = _nested(chain.strategy, lake, keys, staged, (keys.parent, above[table.parent]))
        else:
            raise _unlinked(table.name, chain.root.name)
        merges[table.name], above[table.name] = merge, moved
    return merges


def _unlinked(table: str, root: str) -> DestinationError:
    hint = "`root_key_propagation: true` in the schema's `normalizers.json.config` gives it one"
    return DestinationError(f"table `{table}` cannot be merged: nothing in it leads to the rows of `{root}`", hint=hint)


_Moved = tuple["pyarrow.ChunkedArray", "pyarrow.ChunkedArray"]
"""The keys of the rows that go, and of those that come."""

_Outcome = tuple[Merge, _Moved]


def _root(chain: Chain, lake: LakeTable, keys: Keys, staged: _Staged) -> _Outcome:
    is_unique = bool(chain.root.properties.get("x-stage-data-deduplicated"))
    match chain.strategy:
        case Strategy.SCD2:
            return _scd2(lake, keys, staged)
        case Strategy.INSERT_ONLY:
            there = (rows for _, rows in _read(lake, keys.primary))
            coming = _and(_wanted(keys, staged, is_unique), _not(_found_in_any(staged.keys, there, keys.primary)))
            return Merge({}, staged.per_file(coming)), (_no_keys(lake, keys), _picked(staged, keys, coming))
        case Strategy.UPSERT | Strategy.DELETE_INSERT as strategy:
            matched = [keys.primary] if strategy is Strategy.UPSERT else [keys.primary, keys.merge]
            going, lost = _going(lake, keys, staged, [columns for columns in matched if columns])
            coming = _wanted(keys, staged, is_unique)
            return Merge(going, staged.per_file(coming)), (lost, _picked(staged, keys, coming))


def _going(
    lake: LakeTable, keys: Keys, staged: _Staged, matched: Sequence[Sequence[str]]
) -> tuple[dict[str, pyarrow.BooleanArray], pyarrow.ChunkedArray]:
    """Return the rows there that match rows that come by any of several keys, and their own keys."""
    columns, named = tuple(dict.fromkeys((*(name for names in matched for name in names), keys.row))), staged.all
    going: dict[str, pyarrow.BooleanArray] = {}
    lost = []
    for file, rows in _read(lake, columns) if matched else ():
        mask = _none_of(rows.num_rows)
        for names in matched:
            mask = _or(mask, _matches(rows, named, names))
        if mask.true_count:
            going[file.path] = mask
            lost.append(rows[keys.row].filter(mask))
    return going, _concatenated(lost, lake, keys)


def _scd2(lake: LakeTable, keys: Keys, staged: _Staged) -> _Outcome:
    """Rows that are valid and do not come end, those that come and are not valid are added.

    With a merge key only those rows end whose merge key comes.
    """
    columns = tuple(dict.fromkeys((*keys.merge, keys.row, *((keys.valid_to,) if keys.valid_to else ()))))
    ending: dict[str, pyarrow.BooleanArray] = {}
    is_there = _none_of(staged.keys.num_rows)
    for file, rows in _read(lake, columns):
        is_valid = _is_active(rows, keys, lake)
        mask = _and(is_valid, _not(_is_among(rows[keys.row], staged.keys[keys.row])))
        if keys.merge:
            mask = _and(mask, _matches(rows, staged.keys, keys.merge))
        is_there = _or(is_there, _matches(staged.keys, rows.filter(is_valid), (keys.row,)))
        if mask.true_count:
            ending[file.path] = mask
    coming = _not(is_there)
    return Merge(ending, staged.per_file(coming)), (_no_keys(lake, keys), _picked(staged, keys, coming))


def _is_active(rows: pyarrow.Table, keys: Keys, lake: LakeTable) -> pyarrow.BooleanArray:
    import pyarrow
    import pyarrow.compute as pc

    if keys.valid_to is None:
        return _all_of(rows.num_rows)
    ends = rows[keys.valid_to]
    if keys.active is None:
        return _joined(pc.is_null(ends))
    at = pyarrow.scalar(keys.active, lake.fields.field(keys.valid_to).type)
    return _joined(pc.fill_null(pc.equal(ends, at), False))


def _nested(strategy: Strategy, lake: LakeTable, keys: Keys, staged: _Staged, above: tuple[str, _Moved]) -> _Outcome:
    """Rows go with those that they are nested in, and come with them, each key once.

    Where nothing goes (``insert-only``, ``scd2``), those come whose keys are not there.
    """
    link, (gone, come) = above
    once = _first_of_each(staged.keys, (keys.row,))
    if strategy in (Strategy.INSERT_ONLY, Strategy.SCD2):
        there = (rows for _, rows in _read(lake, (keys.row,)))
        coming = _and(once, _not(_found_in_any(staged.keys, there, (keys.row,))))
        return Merge({}, staged.per_file(coming)), (_no_keys(lake, keys), _picked(staged, keys, coming))
    going: dict[str, pyarrow.BooleanArray] = {}
    lost = []
    for file, rows in _read(lake, dict.fromkeys((keys.row, link))) if len(gone) else ():
        mask = _is_among(rows[link], gone)
        if mask.true_count:
            going[file.path] = mask
            lost.append(rows[keys.row].filter(mask))
    coming = _and(once, _is_among(staged.keys[link], come))
    return Merge(going, staged.per_file(coming)), (_concatenated(lost, lake, keys), _picked(staged, keys, coming))


def _wanted(keys: Keys, staged: _Staged, is_unique: bool) -> pyarrow.BooleanArray:
    """Return the rows to add: one for each primary key, and none that says that it is deleted."""
    import pyarrow.compute as pc
    import pyarrow.types as is_a

    rows = staged.keys
    wanted = _all_of(rows.num_rows)
    if keys.primary and not is_unique:
        wanted = _first_of_each(rows, keys.primary, keys.dedup_sort, keys.row)
    if keys.hard_delete:
        marks = rows[keys.hard_delete]
        is_deleted = pc.fill_null(marks, False) if is_a.is_boolean(marks.type) else pc.is_valid(marks)
        wanted = _and(wanted, _not(_joined(is_deleted)))
    return wanted


def _staged_keys(staged: StagedTable | None, lake: LakeTable, keys: Keys) -> _Staged:
    """Return the keys of the rows that come, in the types that they have there."""
    import pyarrow

    fields = pyarrow.schema(
        [
            lake.fields.field(name).with_nullable(True).remove_metadata()
            for name in keys.all
            if name in lake.fields.names
        ]
    )
    found = _keys_of(staged, fields)
    superseded = _keys_of(staged.superseded if staged else None, fields)
    nothing = fields.empty_table()
    counts = tuple(each.num_rows for each in found)
    return _Staged(pyarrow.concat_tables([nothing, *found]), counts, pyarrow.concat_tables([nothing, *superseded]))


def _keys_of(staged: StagedTable | None, fields: pyarrow.Schema) -> list[pyarrow.Table]:
    return [_keys_in(file, fields) for file in staged_files(staged)] if staged else []


def _keys_in(file: Path, fields: pyarrow.Schema) -> pyarrow.Table:
    import pyarrow

    batches = []
    for batch in read_staged(file, fields.names):
        columns = [
            batch.column(each.name).cast(each.type)
            if each.name in batch.schema.names
            else pyarrow.nulls(batch.num_rows, each.type)
            for each in fields
        ]
        batches.append(pyarrow.RecordBatch.from_arrays(columns, schema=fields))
    return pyarrow.Table.from_batches(batches, fields)


def _read(lake: LakeTable, columns: Iterable[str]) -> Iterator[tuple[DataFile, pyarrow.Table]]:
    import pyarrow

    # A column that is new here is null in all rows that are there.
    fields = pyarrow.schema([lake.fields.field(name).with_nullable(True).remove_metadata() for name in columns])
    for file in lake.files():
        batches = (
            pyarrow.RecordBatch.from_arrays([batch.column(each.name).cast(each.type) for each in fields], schema=fields)
            for batch in lake.read(file, fields.names)
        )
        yield file, pyarrow.Table.from_batches(batches, fields)


def _found_in_any(rows: pyarrow.Table, parts: Iterable[pyarrow.Table], columns: Sequence[str]) -> pyarrow.BooleanArray:
    mask = _none_of(rows.num_rows)
    for part in parts:
        mask = _or(mask, _matches(rows, part, columns))
    return mask


def _picked(staged: _Staged, keys: Keys, mask: pyarrow.BooleanArray) -> pyarrow.ChunkedArray:
    return staged.keys[keys.row].filter(mask)


def _no_keys(lake: LakeTable, keys: Keys) -> pyarrow.ChunkedArray:
    return _concatenated([], lake, keys)


def _concatenated(parts: Sequence[pyarrow.ChunkedArray], lake: LakeTable, keys: Keys) -> pyarrow.ChunkedArray:
    import pyarrow

    return pyarrow.chunked_array([chunk for part in parts for chunk in part.chunks], lake.fields.field(keys.row).type)


def _and(left: pyarrow.BooleanArray, right: pyarrow.BooleanArray) -> pyarrow.BooleanArray:
    import pyarrow.compute as pc

    return _joined(pc.and_(left, right))


def _or(left: pyarrow.BooleanArray, right: pyarrow.BooleanArray) -> pyarrow.BooleanArray:
    import pyarrow.compute as pc

    return _joined(pc.or_(left, right))


def _not(mask: pyarrow.BooleanArray) -> pyarrow.BooleanArray:
    import pyarrow.compute as pc

    return _joined(pc.invert(mask))


def _matches(rows: pyarrow.Table, keys: pyarrow.Table, columns: Sequence[str]) -> pyarrow.BooleanArray:
    """Return for each row whether ``keys`` has one with the same values; a null equals nothing, as in SQL."""
    if not columns or not rows.num_rows or not keys.num_rows:
        return _none_of(rows.num_rows)
    hits = _numbered(rows.select(columns)).join(keys.select(columns), list(columns), join_type="left semi")
    return _marked(hits[_ROW], rows.num_rows)


def _is_among(rows: pyarrow.ChunkedArray, values: pyarrow.ChunkedArray) -> pyarrow.BooleanArray:
    """Return for each value whether it is among ``values``; nulls are not."""
    import pyarrow.compute as pc

    return _joined(pc.is_in(rows, value_set=values.cast(rows.type), skip_nulls=True))


def _first_of_each(
    rows: pyarrow.Table, columns: Sequence[str], sort: tuple[str, str] | None = None, tie: str | None = None
) -> pyarrow.BooleanArray:
    """Return for each row whether it is the one to keep among those with the same values in ``columns``.

    Args:
        rows: all of them, in the order of the input.
        columns: what must be unique.
        sort: a column, and ``asc`` or ``desc``: the first one in this order is kept, nulls last.
        tie: a column of which the smallest value decides then; after it the place in the input does.
    """
    numbered = _numbered(rows.select(columns))
    order = [(_ROW, "ascending")]
    if tie:
        numbered = numbered.append_column(_TIE, rows[tie])
        order.insert(0, (_TIE, "ascending"))
    if sort:
        numbered = numbered.append_column(_SORT, rows[sort[0]])
        order.insert(0, (_SORT, "descending" if sort[1] == "desc" else "ascending"))
    kept = numbered.sort_by(order).group_by(list(columns), use_threads=False).aggregate([(_ROW, "first")])
    return _marked(kept[f"{_ROW}_first"], rows.num_rows)


def _all_of(count: int) -> pyarrow.BooleanArray:
    """Return a mask of all rows."""
    import pyarrow

    return pyarrow.repeat(True, count)


def _none_of(count: int) -> pyarrow.BooleanArray:
    """Return a mask of no rows."""
    import pyarrow

    return pyarrow.repeat(False, count)


def _joined(values: pyarrow.ChunkedArray) -> pyarrow.Array:
    """Return the chunks of an array as one."""
    import pyarrow

    return values.combine_chunks() if isinstance(values, pyarrow.ChunkedArray) else values


def _numbered(rows: pyarrow.Table) -> pyarrow.Table:
    import numpy
    import pyarrow

    return rows.append_column(_ROW, pyarrow.array(numpy.arange(rows.num_rows)))


def _marked(numbers: pyarrow.ChunkedArray, count: int) -> pyarrow.BooleanArray:
    import numpy
    import pyarrow

    mask = numpy.zeros(count, dtype=bool)
    mask[numbers.to_numpy()] = True
    return pyarrow.array(mask)
