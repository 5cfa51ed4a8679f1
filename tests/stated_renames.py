"""Made-up renames of tables and columns, stated by ``x-renamed-from``, with where each value belongs afterwards."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import strategies as st

from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

Place = tuple[str, str]
"""A table and a column."""

_TABLES = ("orders", "sales", "clients")
_NEW_TABLES = ("orders", "sales", "clients", "bills", "offers")
_NESTED = ("items", "tags")
_NEW_NESTED = ("items", "tags", "lines")
_COLUMNS = ("a", "b", "c")
_NEW_COLUMNS = ("a", "b", "c", "d", "e")
ADDED = "added"


@dataclass(frozen=True, slots=True)
class Renames:
    """Two versions of a schema.

    Attributes:
        origins: where the values of each place of ``after`` stand in ``before``; those of ``ADDED`` stand nowhere.
    """

    before: Schema
    after: Schema
    origins: dict[Place, Place]

    def __repr__(self) -> str:
        stated = {
            name: (table.properties.get("x-renamed-from"), self._columns(table))
            for name, table in self.after.tables.items()
            if not name.startswith("_")
        }
        before = {name: list(table.columns) for name, table in self.before.tables.items() if not name.startswith("_")}
        return f"{before} -> {stated}"

    def _columns(self, table: Table) -> dict[str, object]:
        return {name: column.properties.get("x-renamed-from") for name, column in table.columns.items()}


@st.composite
def stated_renames(draw: st.DrawFn) -> Renames:
    """Draw any set of renames: swaps, chains, circles, of tables, nested tables and columns, all at once."""
    before: dict[str, Table] = {}
    after: dict[str, Table] = {}
    origins: dict[Place, Place] = {}
    new_names = _injection(draw, draw(st.lists(st.sampled_from(_TABLES), min_size=1, unique=True)), _NEW_TABLES)
    for old, new in new_names.items():
        _add(draw, before, after, origins, (old, new, None, None))
        nested = draw(st.lists(st.sampled_from(_NESTED), unique=True))
        for old_end, new_end in _injection(draw, nested, _NEW_NESTED).items():
            _add(draw, before, after, origins, (f"{old}__{old_end}", f"{new}__{new_end}", old, new))
    start = bump(_with(new_schema("shop"), before))
    return Renames(start, bump(_with(start, after)), origins)


def _add(
    draw: st.DrawFn,
    before: dict[str, Table],
    after: dict[str, Table],
    origins: dict[Place, Place],
    names: tuple[str, str, str | None, str | None],
) -> None:
    old, new, old_parent, new_parent = names
    columns = draw(st.lists(st.sampled_from(_COLUMNS), min_size=1, unique=True))
    new_columns = _injection(draw, columns, _NEW_COLUMNS)
    before[old] = Table(old, {name: _column(name) for name in columns}, _properties(old, old_parent))
    properties = _properties(new, new_parent)
    # Nested tables follow their parents, said or not.
    is_following = old_parent is not None and new_parent is not None and new == new_parent + old[len(old_parent) :]
    if old != new and not (is_following and draw(st.booleans())):
        properties["x-renamed-from"] = old
    kept = draw(st.lists(st.sampled_from(list(new_columns)), min_size=1, unique=True))
    made = [_column(new_columns[origin], origin) for origin in kept]
    made += [_column(ADDED)] if draw(st.booleans()) else []
    after[new] = Table(new, {each.name: each for each in draw(st.permutations(made))}, properties)
    origins.update({(new, new_columns[origin]): (old, origin) for origin in kept})


def _injection(draw: st.DrawFn, names: list[str], targets: tuple[str, ...]) -> dict[str, str]:
    """Draw a new name for each name, the same one as often as not."""
    free = list(draw(st.permutations(targets)))
    kept = [name for name in names if draw(st.booleans())]
    others = iter([name for name in free if name not in kept])
    return {name: name if name in kept else next(others) for name in names}


def _properties(name: str, parent: str | None) -> dict[str, object]:
    own: dict[str, object] = {"resource": name, "write_disposition": "append"} if parent is None else {"parent": parent}
    return {**own, "x-normalizer": {"seen-data": True}}


def _column(name: str, origin: str | None = None) -> Column:
    stated = {} if origin is None or origin == name else {"x-renamed-from": origin}
    return Column(name, {"data_type": "text", **stated})


def _with(schema: Schema, tables: dict[str, Table]) -> Schema:
    own = {name: table for name, table in schema.tables.items() if name.startswith("_")}
    return replace(schema, tables={**own, **tables})
