"""From staged documents to the rows of one table: list after list is taken apart, and each row gets its key.

On the way a frame has ``file`` and ``number`` of the record; for each level of rows, from 0 for the document, ``e0``
the value that makes the row, ``t0`` its texts (``Item.texts``) where it has any, ``k0`` its key, ``o0`` whether it
brought that itself, ``i1`` its place in its list; and ``r``, whether a row above is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemactl.engine.cell_values import ReachedCell, Value, take_values
from schemactl.engine.items import Form, Item
from schemactl.engine.nested_types import sql_type
from schemactl.engine.reach import Reached, is_container_sql, reach, reach_elements
from schemactl.engine.row_keys import child_key, content_hash, hashed_text, marked, primary_key_hash, random_key
from schemactl.engine.sql import literal
from schemactl.engine.stage import Staged
from schemactl.inference.paths import ELEMENT
from schemactl.normalization.plan import Cell, Plan, RowKey, Rows, TargetColumn
from schemactl.schema import types
from schemactl.schema.contract import Mode
from schemactl.schema.types import DataType

Chain = tuple[Rows, ...]
"""Rows and all those above them, the document's first."""


@dataclass(frozen=True, slots=True)
class RowFrame:
    """The rows that one batch of documents has for one ``Rows`` of a plan.

    Attributes:
        frame: as above, and columns for the values of the last rows' cells.
        items: what the values are that make the rows, by level.
        values: the last rows' cells.
        key_values: where keys are made of values: SQL for each of them, null where there is none.
        may_be_below_refused: whether ``r`` may be true.
    """

    frame: DataFrame
    chain: Chain
    items: tuple[Item, ...]
    values: tuple[Value, ...] = ()
    key_values: tuple[tuple[str, str], ...] = ()
    may_be_below_refused: bool = False

    @property
    def rows(self) -> Rows:
        return self.chain[-1]

    @property
    def level(self) -> int:
        return len(self.chain) - 1

    def at(self, level: int) -> Reached:
        """Return the value that makes the row of a level."""
        item = self.items[level]
        return Reached(item, f"e{level}", f"t{level}" if item.texts is not None else None)


def row_frames(staged: Staged, plan: Plan, load_id: str) -> Iterator[RowFrame]:
    """Yield the rows that a batch of documents has, parents first; what it never has any of is left out."""
    texts = ("texts as t0",) if staged.item.texts is not None else ()
    frame = staged.frame.selectExpr("file", "number", "key", "doc as e0", *texts, "false as r")
    yield from _with_below(RowFrame(frame, (plan.rows,), (staged.item,)), plan, load_id)


def _with_below(rows: RowFrame, plan: Plan, load_id: str) -> Iterator[RowFrame]:
    keyed = _keyed(_filtered(rows), plan, load_id)
    cells = [cell for cell in rows.rows.cells if cell.name != plan.names.row_id]
    frame, values = take_values(keyed.frame, _sources(keyed, cells), "c", coerces=plan.coerces)
    yield replace(keyed, frame=frame, values=tuple(values))
    above = _refused(keyed, plan) if rows.rows.lists else keyed
    for below in rows.rows.lists:
        exploded = _exploded(above, below)
        if exploded is not None:
            yield from _with_below(exploded, plan, load_id)


def _levels_of_values(chain: Chain) -> set[int]:
    """Return the levels whose values the last rows of ``chain``, and those below, take cells from."""
    own = {_home(cell, chain) for cell in _cells_of(chain[-1])}
    return own.union(*(_levels_of_values((*chain, below)) for below in chain[-1].lists))


def _cells_of(rows: Rows) -> tuple[Cell, ...]:
    return (*rows.cells, *rows.own_key)


def _home(cell: Cell, chain: Chain) -> int:
    """Return the level of the row that a cell's value stands in: one above where rows pass it on."""
    for level in range(len(chain) - 1, -1, -1):
        path = chain[level].path
        if cell.path[: len(path)] == path and ELEMENT not in cell.path[len(path) :]:
            return level
    raise ValueError(f"no row of the chain has the path {cell.path}")


def _sources(rows: RowFrame, cells: Sequence[Cell]) -> list[ReachedCell]:
    sources: list[ReachedCell] = []
    for cell in cells:
        level = _home(cell, rows.chain)
        sources.append(ReachedCell(cell, reach(rows.at(level), cell.path[len(rows.chain[level].path) :])))
    return sources


def _exploded(above: RowFrame, rows: Rows) -> RowFrame | None:
    keys = rows.path[len(above.rows.path) : -1]
    found = reach(above.at(above.level), keys)
    elements = reach_elements(found) if found is not None else None
    if elements is None:
        return None
    level = above.level + 1
    needed = {f"{name}{level}" for level in _levels_of_values((*above.chain, rows)) for name in "et"}
    kept = [name for name in above.frame.columns if name[0] not in "etp" or name in needed]
    if elements.texts is None:
        frame = above.frame.selectExpr(*kept, f"posexplode({elements.sql}) as (i{level}, e{level})")
    else:
        pairs = f"zip_with({elements.sql}, {elements.texts}, (e, t) -> named_struct('e', e, 't', t))"
        paired = above.frame.selectExpr(*kept, f"posexplode({pairs}) as (i{level}, pair)")
        frame = paired.selectExpr(*kept, f"i{level}", f"pair.e as e{level}", f"pair.t as t{level}")
    chain, items = (*above.chain, rows), (*above.items, elements.item)
    return RowFrame(frame, chain, items, may_be_below_refused=above.may_be_below_refused)


def _filtered(rows: RowFrame) -> RowFrame:
    """Leave out the rows without any value, where the plan says so."""
    if not rows.rows.skips_empty:
        return rows
    columns = rows.frame.columns
    cells = [replace(cell, targets=dict.fromkeys(cell.targets, ())) for cell in _cells_of(rows.rows)]
    frame, values = take_values(rows.frame, _sources(rows, cells), "s", coerces=True)
    present = [f"{value.sql} is not null" for value in values]
    is_any = f"exists(array({', '.join(present)}), x -> x)" if present else "false"
    return replace(rows, frame=frame.where(is_any).select(*columns))


# --- contracts ---


def refuses_row(target: TargetColumn) -> bool:
    """Return whether a value for the column keeps its whole row out."""
    return target.refusal is not None and target.refusal.mode is not Mode.DISCARD_VALUE


def _refused(rows: RowFrame, plan: Plan) -> RowFrame:
    """Add to ``r`` whether the last rows themselves are refused."""
    base = [name for name in rows.frame.columns if name != "r"]
    if rows.rows.refusal is not None:
        return replace(rows, frame=rows.frame.selectExpr(*base, "true as r"), may_be_below_refused=True)
    cells = [cell for cell in rows.rows.cells if any(map(refuses_row, _targets(cell)))]
    if not cells:
        return rows
    frame, values = take_values(rows.frame, _sources(rows, cells), "q", coerces=plan.coerces)
    refused = frame.selectExpr(*base, f"(r or {refused_sql(values)}) as r")
    return replace(rows, frame=refused, may_be_below_refused=True)


def _targets(cell: Cell) -> list[TargetColumn]:
    return [target for targets in cell.targets.values() for target in targets]


def refused_sql(values: Sequence[Value]) -> str:
    """Return SQL for whether one of the values keeps its row out."""
    found = [f"{take.sql} is not null" for value in values for take in value.takes if refuses_row(take.target)]
    return f"exists(array({', '.join(found)}), x -> x)" if found else "false"


# --- keys ---


def _keyed(rows: RowFrame, plan: Plan, load_id: str) -> RowFrame:
    """Add the key of the last rows."""
    level = rows.level
    base = [F.col(name) for name in rows.frame.columns if name != "key"]
    frame, own = _own_key(rows)
    frame, values = _key_values(replace(rows, frame=frame), plan)
    made = _made_key(rows, values, load_id)
    key = F.coalesce(own, made).alias(f"k{level}")
    columns = [*base, key, own.isNotNull().alias(f"o{level}")]
    names = [F.expr(sql).alias(f"p{at}") for at, (_, sql) in enumerate(values)]
    found = tuple((name, f"p{at}") for at, (name, _) in enumerate(values))
    return replace(rows, frame=frame.select(*columns, *names), key_values=found)


def _own_key(rows: RowFrame) -> tuple[DataFrame, Column]:
    """Return the keys that rows bring themselves; like dlt, what Python takes for false is none."""
    text = TargetColumn(types.Column("key", {"data_type": DataType.TEXT}))
    cells = [replace(cell, targets=dict.fromkeys(cell.targets, (text,))) for cell in rows.rows.own_key]
    frame, values = take_values(rows.frame, _sources(rows, cells), "w", coerces=True)
    found = [f"if({_is_truthy(value)}, {take.sql}, null)" for value in reversed(values) for take in value.takes]
    return frame, F.expr(f"coalesce({', '.join([*found, 'null'])})").cast("string")


def _is_truthy(value: Value) -> str:
    match value.kind:
        case DataType.TEXT:
            return f"{value.sql} != ''"
        case DataType.BIGINT | DataType.DOUBLE | DataType.DECIMAL | DataType.WEI:
            return f"cast({value.sql} as double) != 0"
        case DataType.BOOL:
            return value.sql
        case DataType.JSON:
            return f"{value.sql} not in ('{{}}', '[]')"
        case _:
            return f"{value.sql} is not null"


def _key_values(rows: RowFrame, plan: Plan) -> tuple[DataFrame, list[tuple[str, str]]]:
    """Return the columns of the primary key with SQL for their values as JSON."""
    if rows.rows.key is not RowKey.PRIMARY_KEY:
        return rows.frame, []
    frame, found = rows.frame, []
    for at, column in enumerate(rows.rows.key_columns):
        cells = [
            replace(cell, targets=dict.fromkeys(cell.targets, ())) for cell in rows.rows.cells if cell.name == column
        ]
        frame, values = take_values(frame, _sources(rows, cells), f"h{at}_", coerces=plan.coerces)
        texts = [f"if({value.sql} is null, null, {_json_of(value)})" for value in reversed(values)]
        found.append((column, f"coalesce({', '.join([*texts, 'null'])})"))
    return frame, found


def _json_of(value: Value) -> str:
    match value.kind:
        case DataType.BIGINT | DataType.WEI | DataType.BOOL | DataType.DOUBLE:
            return f"cast({value.sql} as string)"
        case DataType.JSON:
            return value.sql
        case _:
            listed = f"to_json(array({hashed_text(DataType(value.kind), value.sql)}))"
            return f"substring({listed}, 2, length({listed}) - 2)"


def _made_key(rows: RowFrame, values: Sequence[tuple[str, str]], load_id: str) -> Column:
    level, last = rows.level, rows.rows
    match last.key:
        case RowKey.PARENT:
            return child_key(F.col(f"k{level - 1}"), last.table, F.col(f"i{level}"))
        case RowKey.PRIMARY_KEY:
            names = (literal(json.dumps(name, ensure_ascii=False) + ":") for name, _ in values)
            pairs = (f"{name}, coalesce({sql}, 'null')" for name, (_, sql) in zip(names, values, strict=True))
            joined = ", ',', ".join(pairs)
            return primary_key_hash(F.expr(f"concat('{{', {joined}, '}}')"))
        case RowKey.RANDOM if level:
            place = F.concat_ws(".", "number", *(f"i{at}" for at in range(1, level + 1)))
            return random_key(load_id, last.table, F.col("file"), place)
        case RowKey.CONTENT if level:
            return content_hash(row_json(rows, is_marked=True))
        case _:
            return F.col("key")


# --- what rows pass on ---


def made_sql(rows: RowFrame, level: int, column: str, plan: Plan, load_id: str) -> str:
    """Return SQL for a value that the normaliser makes for the row of a level, null where it makes none.

    Args:
        rows: what has the level.
        level: of the row.
        column: one of the plan's ``names``.
        plan: of the load.
        load_id: of the load.
    """
    of, names = rows.chain[level], plan.names
    for passed in of.passed:
        if passed.target.name == column:
            at = [each.path for each in rows.chain].index(passed.path)
            return made_sql(rows, at, passed.column, plan, load_id)
    if column == names.row_id:
        return f"k{level}"
    if column == names.load_id and of.has_load_id:
        there = "true" if level == 0 else is_container_sql(rows.at(level))
        return f"if({there}, {literal(load_id)}, null)"
    if column == names.parent_id and of.parent is not None:
        return f"if(o{level}, null, k{level - 1})"
    if column == names.list_index and of.parent is not None:
        return f"if(o{level}, null, cast(i{level} as bigint))"
    return "null"


def row_json(rows: RowFrame, *, is_marked: bool = False) -> Column:
    """Return what makes the last rows, as JSON with the keys of the data.

    Args:
        rows: the rows.
        is_marked: whether it is for a key (``row_keys.marked``).
    """
    name, item = f"e{rows.level}", rows.items[-1]
    if item.form is Form.JSON:
        return F.col(name)
    shown = f"cast({name} as {sql_type(item.shown_type())})"
    listed = F.to_json(F.array(F.expr(marked(item.shown_type(), shown) if is_marked else shown)))
    return F.substring(listed, F.lit(2), F.length(listed) - 2)
