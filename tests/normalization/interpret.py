"""Runs a plan on documents in memory, value by value: what the engine does with Spark, for tests."""

from __future__ import annotations

import base64
import hashlib
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC
from decimal import Decimal

import orjson

from schemactl.inference.values import kind
from schemactl.normalization.plan import RowKey
from schemactl.schema.coercion import coerce, is_beyond_64_bits
from schemactl.schema.contract import Mode
from schemactl.schema.paths import ELEMENT
from schemactl.schema.types import DataType

MISSING = object()


@dataclass
class Outcome:
    """Rows by table, and what is not loaded."""

    rows: dict = field(default_factory=lambda: defaultdict(list))
    rejected: list = field(default_factory=list)
    unfit: list = field(default_factory=list)


def run(plan, documents, random_key, load_id="load"):
    """Return what becomes of the documents; ``random_key()`` gives keys for ``RowKey.RANDOM``."""
    outcome = Outcome()
    for document in documents:
        Run(plan, outcome, random_key, load_id).row(plan.rows, {(): document}, {}, None, None)
    return outcome


class Run:
    """One document.

    ``places`` are the values around a row by path, ``made`` the columns of dlt's own of the rows above by path.
    """

    def __init__(self, plan, outcome, random_key, load_id):
        self.plan, self.outcome, self.random_key, self.load_id = plan, outcome, random_key, load_id
        self.names = plan.names

    def row(self, rows, places, made, parent_key, index):
        element = places[rows.path]
        if rows.refusal:
            self.outcome.rejected.append((rows.table, rows.refusal, element))
            return
        has_cells = isinstance(element, dict | list) or rows.path == ()
        own = self.own_key(rows, places) if isinstance(element, dict) else None
        key = own or self.new_key(rows, places, parent_key, index)
        cells, refusal, is_empty = self.cells(rows, places, own)
        if refusal:
            self.outcome.rejected.append((rows.table, refusal, element))
            return
        if rows.skips_empty and is_empty:
            return
        system = {self.names.row_id: key} if not own else {}
        if rows.parent and not own:
            system |= {self.names.parent_id: parent_key, self.names.list_index: index}
        if rows.has_load_id and has_cells:
            system[self.names.load_id] = self.load_id
        passed = {each.target.name: made[each.path][each.column] for each in rows.passed}
        columns = self.plan.tables[rows.table].columns
        stored = {**cells, **passed, **system}
        stored = {name: self.link(value, columns[name]) for name, value in stored.items() if name in columns}
        self.outcome.rows[rows.table].append(stored)
        here = {**made, rows.path: {**system, self.names.row_id: key}}
        for below in rows.lists:
            for at, value in enumerate(self.elements(below.path, rows.path, element)):
                self.row(below, {**places, below.path: value}, here, key, at)

    def link(self, value, column):
        """Keys that the data brings keep their type on the way down."""
        own = value if isinstance(value, Decimal) else None
        return value if own is not None or not self.is_key(column) else _coerced(value, kind(value), column)

    def is_key(self, column):
        return column.name in (self.names.parent_id, self.names.root_id)

    def elements(self, path, above, element):
        """Return the elements of the list at ``path``, which stands somewhere in ``element``."""
        steps = path[len(above) : -1]
        value = element
        for step in steps:
            value = value.get(step, MISSING) if isinstance(value, dict) else MISSING
        return value if isinstance(value, list) else []

    def value_at(self, path, places):
        """Return the value at a path of this row or of one above."""
        start = max((place for place in places if path[: len(place)] == place), key=len)
        value = places[start]
        for step in path[len(start) :]:
            if step is ELEMENT or not isinstance(value, dict) or step not in value:
                return MISSING
            value = value[step]
        return value

    def kinds_at(self, cell, rows, places):
        """Yield the value of a cell with its kind, where it is one that the cell is for."""
        value = self.value_at(cell.path, places)
        if value is MISSING or value is None:
            return
        is_own = cell.path == rows.path
        found = DataType.JSON if isinstance(value, dict | list) else kind(value)
        if is_own and isinstance(value, dict):
            return
        if str(found) in cell.targets:
            yield value, found

    def cells(self, rows, places, own):
        stored, refusal, is_empty = {}, None, True
        for cell in (*rows.cells, *(rows.own_key if own else ())):
            for value, found in self.kinds_at(cell, rows, places):
                is_empty = False
                for target in cell.targets[str(found)]:
                    if self.plan.coerces or target.column.data_type is found:
                        taken = _coerced(value, found, target.column)
                        if taken is not MISSING:
                            break
                else:
                    self.outcome.unfit.append((rows.table, cell.path, value))
                    continue
                if target.refusal is None:
                    stored[target.column.name] = taken
                elif target.refusal.mode is Mode.DISCARD_ROW:
                    refusal = target.refusal
                else:
                    self.outcome.rejected.append((rows.table, target.refusal, value))
        return stored, refusal, is_empty

    def own_key(self, rows, places):
        values = [value for cell in rows.own_key if (value := self.value_at(cell.path, places)) is not MISSING]
        return values[-1] if values and values[-1] else None

    def new_key(self, rows, places, parent_key, index):
        element = places[rows.path]
        match rows.key:
            case RowKey.PARENT:
                return _hash(f"{parent_key}_{rows.table}_{index}".encode())
            case RowKey.RANDOM:
                return self.random_key()
            case RowKey.PRIMARY_KEY:
                values = {cell.name: self.value_at(cell.path, places) for cell in rows.cells}
                return _hash(_canonical({name: values[name] for name in rows.key_columns}))
            case RowKey.CONTENT:
                wrap = self.names.value if rows.path == () or not isinstance(element, list) else "list"
                item = element if isinstance(element, dict) else {wrap: element}
                return _hash(_canonical({key: value for key, value in item.items() if not key.startswith("_dlt")}))


def _canonical(value):
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _hash(text):
    return base64.b64encode(hashlib.shake_128(text).digest(10)).decode().rstrip("=")


def _coerced(value, found, column):
    """Return what is stored, MISSING where the column cannot take the value."""
    is_long = type(value) in (int, float) and is_beyond_64_bits(value)
    if is_long and column.data_type is DataType.BIGINT:
        return MISSING
    if is_long and type(value) is int:
        if found is DataType.TEXT and column.data_type in (DataType.WEI, DataType.DECIMAL):
            return MISSING
        if found is DataType.TEXT and column.data_type is DataType.DOUBLE and abs(value) >= 2**1024 - 2**970:
            return MISSING
        value = Decimal(value) if found is DataType.WEI else str(value)
    try:
        taken = coerce(value, found, column.data_type)
    except ValueError:
        return MISSING
    if column.data_type is DataType.TIMESTAMP:
        zoned = taken.replace(tzinfo=UTC) if taken.tzinfo is None else taken.astimezone(UTC)
        return zoned.replace(tzinfo=None) if column.properties.get("timezone") is False else zoned
    return taken
