"""Made-up catalogs and schemas, and a model of a dataset that runs steps for itself."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from schemactl.destinations import duckdb, postgresql, sqlite
from schemactl.migration import steps as s
from schemactl.migration.abilities import Abilities
from schemactl.migration.options import OnUnfit, PlanOptions
from schemactl.migration.planner import plan_steps
from schemactl.migration.table_model import with_description
from schemactl.migration.ways import Way
from schemactl.schema.backfill import backfill_fault
from schemactl.schema.hash import bump
from schemactl.schema.structure import description_of
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

TABLES = ("orders", "orders__items", "orders__items__tags", "sales", "sales__items", "clients")
COLUMNS = ("id", "note", "notes", "price", "paid_at", "_dlt_id")

SQL = Abilities(describe_table=Way.IN_PLACE)
COPYING = Abilities(retype=lambda *_: Way.COPY, set_not_null=Way.COPY, drop_not_null=Way.COPY, names=sqlite.NAMES)
LAKE = Abilities(
    transactional_ddl=False,
    retype=lambda *_: Way.NONE,
    adds_not_null=True,
    describe_table=Way.IN_PLACE,
    kept_description=lambda text, is_table: text[: 3 if is_table else 2],
)
ENGINES = ((duckdb, replace(SQL, names=duckdb.NAMES)), (postgresql, SQL), (sqlite, COPYING), (duckdb, LAKE))


def schema_with(*tables):
    made = new_schema("shop")
    return bump(replace(made, tables={**made.tables, **{each.name: each for each in tables}}))


def is_held(of):
    return of.is_complete or "x-database-type" in of.properties


def text_of(of, abilities):
    """Return what a destination keeps of the description of a table or a column."""
    text = description_of(of)
    return None if text is None else abilities.kept_description(text, isinstance(of, Table))


def catalogue_of(schema, stored, unique=(), keys=(), texts=None):
    """Return the catalog of a dataset that holds just the tables of a schema, dlt's own included.

    Args:
        unique: table and column of those that are unique there.
        keys: table and column of those that are in a primary key there.
        texts: what of a table or a column is its description there; None for none of all.
    """
    said = texts or (lambda _: None)
    tables = {}
    for each in schema.tables.values():
        columns = {name: Column(name, dict(stored(of))) for name, of in each.columns.items() if is_held(of)}
        for name in columns:
            if (each.name, name) in unique:
                columns[name] = Column(name, {**columns[name].properties, "unique": True})
            if (each.name, name) in keys:
                columns[name] = Column(name, {**columns[name].properties, "nullable": False, "primary_key": True})
        columns = {
            name: replace(of, properties=with_description(of.properties, said(each.columns[name])))
            for name, of in columns.items()
        }
        if columns:
            properties = {"write_disposition": "append", "resource": each.name}
            tables[each.name] = Table(each.name, columns, with_description(properties, said(each)))
    return replace(new_schema("shop"), tables=tables)


def propose(catalogue, schema, known=None, *, engine=duckdb, abilities=None, **options):
    return plan_steps(
        catalogue,
        schema,
        known,
        stored=engine.stored,
        abilities=abilities or replace(SQL, names=engine.NAMES),
        options=PlanOptions(**options),
    )


class Dataset:
    """Tables as name -> {column: [type, may it be null, is it unique, is it in the key]}; steps change it in place.

    Descriptions stand beside them, as name -> {column: text}, a table's own under the empty name.
    """

    def __init__(self, catalogue, stored):
        self.stored = stored
        self.texts = {
            name: {key: text for key, of in (("", each), *each.columns.items()) if (text := description_of(of))}
            for name, each in catalogue.tables.items()
        }
        self.tables = {name: self._columns(each) for name, each in catalogue.tables.items()}

    def _columns(self, of):
        return {name: self._column(each) for name, each in of.columns.items()}

    def _column(self, of):
        kind = {name: value for name, value in self.stored(of).items() if name != "nullable"}
        return [kind, of.nullable, bool(of.properties.get("unique")), bool(of.properties.get("primary_key"))]

    def run(self, step):
        match step:
            case s.CreateTable(made):
                assert made.name not in self.tables
                self.tables[made.name], self.texts[made.name] = self._columns(made), {}
            case s.DropTable(dropped):
                del self.tables[dropped.name], self.texts[dropped.name]
            case s.RenameTable(before, after):
                assert after not in self.tables
                self.tables[after], self.texts[after] = self.tables.pop(before), self.texts.pop(before)
            case s.DescribeTable(name, before, after):
                assert before == {key: self.texts[name].get(key) for key in after}
                assert before != after
                assert set(after) <= {"", *self.tables[name]}
                texts = {**self.texts[name], **after}
                self.texts[name] = {key: text for key, text in texts.items() if text is not None}
            case s.AddColumn() | s.DropColumn() | s.RenameColumn() | s.AddUnique() | s.DropUnique():
                self._rearrange(self.tables[step.table], step)
                self._move_text(self.texts[step.table], step)
            case s.AddPrimaryKey() | s.DropPrimaryKey():
                self._change_key(self.tables[step.table], step)
            case _:
                self._alter(self.tables[step.table], step)

    def _rearrange(self, columns, step):
        match step:
            case s.AddColumn(_, added):
                assert added.name not in columns
                columns[added.name] = self._column(added)
            case s.DropColumn(_, dropped):
                if columns.pop(dropped.name)[3]:
                    for left in columns.values():
                        left[3] = False
            case s.RenameColumn(_, before, after):
                assert after not in columns
                columns[after] = columns.pop(before)
            case s.AddUnique(_, name) | s.DropUnique(_, name):
                columns[name][2] = isinstance(step, s.AddUnique)

    def _move_text(self, texts, step):
        match step:
            case s.DropColumn(_, dropped):
                texts.pop(dropped.name, None)
            case s.RenameColumn(_, before, after) if before in texts:
                texts[after] = texts.pop(before)

    def _change_key(self, columns, step):
        found = {name for name, each in columns.items() if each[3]}
        is_added = isinstance(step, s.AddPrimaryKey)
        assert found == (set() if is_added else set(step.columns))
        for name in step.columns:
            assert not columns[name][1], "databases have no nulls in a primary key"
            columns[name][3] = is_added

    def _alter(self, columns, step):
        match step:
            case s.ChangeType(_, before, after):
                assert columns[before.name][:2] == self._column(before)[:2]
                assert before.nullable == after.nullable
                columns[after.name][0] = self._column(after)[0]
            case s.Backfill(_, source, target):
                assert columns[source.name][0] == self._column(source)[0]
                assert columns[target.name][:2] == [self._column(target)[0], True]
            case s.FillColumn(_, target, _):
                assert columns[target.name][1]
            case s.SetNotNull(_, found) | s.DropNotNull(_, found):
                assert columns[found.name][:2] == self._column(found)[:2]
                assert columns[found.name][1] == isinstance(step, s.SetNotNull)
                assert not columns[found.name][3], "databases allow no nulls in a primary key"
                columns[found.name][1] = not columns[found.name][1]

    def catalogue(self):
        """Return the tables as a catalog would say them."""
        tables = {
            name: Table(
                name,
                {
                    key: Column(
                        key,
                        {
                            **kind,
                            **({} if null else {"nullable": False}),
                            **({"unique": True} if unique else {}),
                            **({"primary_key": True} if is_key else {}),
                            **({"description": self.texts[name][key]} if key in self.texts[name] else {}),
                        },
                    )
                    for key, (kind, null, unique, is_key) in columns.items()
                },
                {"description": self.texts[name][""]} if "" in self.texts[name] else {},
            )
            for name, columns in self.tables.items()
        }
        return Schema(name="shop", tables=tables)


_types = st.sampled_from(
    (
        {"data_type": "text"},
        {"data_type": "text", "precision": 8},
        {"data_type": "bigint"},
        {"data_type": "bigint", "precision": 16},
        {"data_type": "double"},
        {"data_type": "decimal", "precision": 10, "scale": 2},
        {"data_type": "timestamp"},
        {"data_type": "timestamp", "timezone": False},
        {"data_type": "json"},
        {},
    )
)
_flags = st.sampled_from((True, False, None))
_properties = st.fixed_dictionaries(
    {},
    optional={
        "nullable": _flags,
        "unique": _flags,
        "primary_key": _flags,
        "description": st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
        "x-backfill": st.sampled_from(("a", 1, 0.5, True, None, [])),
        "x-renamed-from": st.sampled_from(COLUMNS) | st.lists(st.sampled_from(COLUMNS), max_size=2) | st.just(7),
        "x-note": st.sampled_from(("a", {"b": [1]}, None, float("inf"))),
    },
)


def _column(name, properties):
    """Return a column; a value for stored rows that it cannot hold, which plans refuse, is left out."""
    made = Column(name, properties)
    return made if backfill_fault(made) is None else Column(name, {**properties, "x-backfill": None})


_columns = st.dictionaries(st.sampled_from(COLUMNS), st.tuples(_types, _properties), max_size=5).map(
    lambda found: {name: _column(name, {**kind, **more}) for name, (kind, more) in found.items()}
)
_origins = st.sampled_from(TABLES) | st.lists(st.sampled_from(TABLES), max_size=2)


def _parent(name):
    return {"parent": name.rpartition("__")[0]} if "__" in name else {}


@st.composite
def _tables(draw):
    names = draw(st.sets(st.sampled_from(TABLES)))
    # A nested table has its parent.
    names |= {name.rpartition("__")[0] for name in names if "__" in name}
    names |= {name.rpartition("__")[0] for name in names if "__" in name}
    made = []
    for name in sorted(names):
        renamed = {"x-renamed-from": draw(_origins)} if draw(st.integers(0, 3)) == 0 else {}
        seen = {"x-normalizer": {"seen-data": True}} if draw(st.booleans()) else {}
        made.append(Table(name, draw(_columns), {**_parent(name), **renamed, **seen}))
    return made


schemas = _tables().map(lambda found: schema_with(*found))
engines = st.sampled_from(ENGINES)
options = st.builds(
    PlanOptions,
    on_unfit=st.sampled_from(list(OnUnfit)),
    compares_unique=st.booleans(),
    compares_primary_keys=st.booleans(),
    guesses_renames=st.booleans(),
    drops_kept=st.booleans(),
    empty_tables=st.frozensets(st.sampled_from(TABLES)),
)


def _renamed_table(there, schema, old, new):
    """Return both sides such that ``new`` of the schema, and what is nested in it, was ``old`` so far."""
    if old in schema.tables or new not in schema.tables or new not in there.tables:
        return there, schema
    stated = replace(schema.tables[new], properties={**schema.tables[new].properties, "x-renamed-from": old})
    names = {name: old + name.removeprefix(new) for name in there.tables if name == new or name.startswith(f"{new}__")}
    if {*names.values()} & {*schema.tables, *there.tables}:
        return there, schema
    tables = {names.get(name, name): _under_names(each, names) for name, each in there.tables.items()}
    return replace(there, tables=tables), schema.with_table(stated)


def _under_names(of, names):
    parent = {"parent": names.get(of.parent, of.parent)} if of.parent else {}
    return replace(of, name=names.get(of.name, of.name), properties={**of.properties, **parent})


def _renamed_column(there, schema, name, old, new):
    """Return both sides such that a column ``new`` of the schema was ``old`` so far."""
    table, found = schema.tables.get(name), there.tables.get(name)
    if not table or not found or old in table.columns or old in found.columns or new not in found.columns:
        return there, schema
    if new not in table.columns:
        return there, schema
    stated = Column(new, {**table.columns[new].properties, "x-renamed-from": [old]})
    renamed = {old if key == new else key: each for key, each in found.columns.items()}
    renamed[old] = replace(renamed[old], name=old)
    return (
        there.with_table(replace(found, columns=renamed)),
        schema.with_table(replace(table, columns={**table.columns, new: stated})),
    )


@st.composite
def cases(draw):
    """Draw an engine, a catalog, a schema that shares tables with it, what was known, and options."""
    engine, abilities = draw(engines)
    other, schema = draw(schemas), draw(schemas)
    mixed = {name: each for name, each in other.tables.items() if draw(st.booleans()) or name not in schema.tables}
    there = schema_with(*{**schema.tables, **mixed}.values())
    for old, new in draw(st.lists(st.tuples(st.sampled_from(TABLES), st.sampled_from(TABLES)), max_size=3)):
        there, schema = _renamed_table(there, schema, old, new)
    pairs = st.tuples(st.sampled_from(TABLES), st.sampled_from(COLUMNS), st.sampled_from(COLUMNS))
    for name, old, new in draw(st.lists(pairs, max_size=6)):
        there, schema = _renamed_column(there, schema, name, old, new)
    places = st.tuples(st.sampled_from(TABLES), st.sampled_from(COLUMNS))
    unique, keys = draw(st.sets(places, max_size=3)), draw(st.sets(places, max_size=6))
    is_described = abilities.describe_table is not Way.NONE and draw(st.booleans())
    texts = (lambda of: text_of(of, abilities)) if is_described else None
    catalogue = catalogue_of(there, engine.stored, unique, keys, texts)
    kept = {name: each for name, each in catalogue.tables.items() if draw(st.integers(0, 6))}
    known = draw(st.none() | schemas | st.just(other) | st.just(there))
    return engine, abilities, replace(catalogue, tables=kept), schema, known, draw(options)
