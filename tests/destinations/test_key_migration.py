"""Databases take primary keys and give them up, and their columns can be changed meanwhile."""

import time
from functools import partial

import pytest
from migrated_datasets import take
from schema_parts import column, table

from schemactl.destinations import duckdb, postgresql
from schemactl.errors import DestinationError
from schemactl.migration.migration_plan import Place, make_plan
from schemactl.migration.options import PlanOptions
from schemactl.migration.planner import plan_steps
from schemactl.migration.steps import (
    AddColumn,
    AddPrimaryKey,
    AddUnique,
    ChangeType,
    CreateTable,
    DropColumn,
    DropNotNull,
    DropPrimaryKey,
    DropUnique,
    RenameColumn,
    RenameTable,
    SetNotNull,
)
from schemactl.schema.conversions import Conversion
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column

LINES = table(
    "lines",
    column("note"),
    column("order_id", nullable=False),
    column("position", "bigint", nullable=False),
    column("total", "double"),
)
KEY = ("order_id", "position")
ROWS = [("n", "1", 1, 0.5), ("n", "1", 2, 0.5), (None, "2", 1, None)]


def fill(session, dataset, rows, name="lines"):
    session.database.insert(f'"{dataset}"."{name}"', tuple(LINES.columns), rows)


def key_of(session, name="lines"):
    found = session.catalogue().schema.tables[name].columns.values()
    return {each.name for each in found if each.properties.get("primary_key")}


def reported(session, kind, name="lines"):
    """Return what the catalog says of a table's columns."""
    found = session.catalogue().schema.tables[name].columns.values()
    return {each.name: (kind.stored(each), bool(each.properties.get("primary_key"))) for each in found}


def expected(kind, table):
    return {name: (kind.stored(each), bool(each.properties.get("primary_key"))) for name, each in table.columns.items()}


def test_a_primary_key_of_two_columns_takes_no_pair_twice_until_it_is_dropped(place):
    kind, url, dataset = place
    tables = {}
    with kind.connect(url, "shop") as session:
        take(session, kind, dataset, tables, CreateTable(LINES))
        fill(session, dataset, ROWS)
        take(session, kind, dataset, tables, AddPrimaryKey("lines", KEY))
        assert key_of(session) == set(KEY)
        with pytest.raises(DestinationError), session.database.wrap_errors("insert"):
            fill(session, dataset, ROWS[:1])
        take(session, kind, dataset, tables, DropPrimaryKey("lines", KEY))
        assert key_of(session) == set()
        fill(session, dataset, ROWS[:1])
        assert session.row_count("lines") == 4
        assert reported(session, kind) == expected(kind, LINES)


def test_columns_of_a_table_with_a_key_can_be_changed_and_the_key_stays(place):
    kind, url, dataset = place
    tables = {}
    number = column("order_id", "bigint", nullable=False, primary_key=True)
    with kind.connect(url, "shop") as session, session.transaction():
        take(session, kind, dataset, tables, CreateTable(LINES))
        fill(session, dataset, ROWS)
        take(
            session,
            kind,
            dataset,
            tables,
            AddPrimaryKey("lines", KEY),
            ChangeType("lines", tables_column(tables, "order_id"), number, Conversion.DEPENDS, True),
            RenameColumn("lines", "position", "at"),
            AddColumn("lines", column("extra", "bigint")),
            ChangeType("lines", LINES.columns["total"], column("total")),
            DropColumn("lines", LINES.columns["note"]),
            RenameTable("lines", "rows"),
        )
        assert reported(session, kind, "rows") == expected(kind, tables["rows"])
        assert key_of(session, "rows") == {"order_id", "at"}
        found = session.database.query(f'SELECT "order_id", "at" FROM "{dataset}"."rows" ORDER BY 1, 2')
        assert found == [(1, 1), (1, 2), (2, 1)]


def tables_column(tables, name):
    return tables["lines"].columns[name]


def test_with_a_column_of_a_key_the_whole_key_goes(place):
    kind, url, dataset = place
    tables = {}
    with kind.connect(url, "shop") as session:
        take(session, kind, dataset, tables, CreateTable(LINES))
        fill(session, dataset, ROWS)
        gone = LINES.columns["position"]
        take(session, kind, dataset, tables, AddPrimaryKey("lines", KEY), DropColumn("lines", gone))
        assert reported(session, kind) == expected(kind, tables["lines"])
        assert key_of(session) == set()
        assert session.row_count("lines") == 3


def test_a_unique_column_can_get_another_type(place):
    kind, url, dataset = place
    tables = {}
    with kind.connect(url, "shop") as session:
        take(session, kind, dataset, tables, CreateTable(LINES))
        fill(session, dataset, ROWS[1:])
        take(session, kind, dataset, tables, AddUnique("lines", "order_id"))
        found = tables_column(tables, "order_id")
        after = column("order_id", "bigint", nullable=False, unique=True)
        take(session, kind, dataset, tables, ChangeType("lines", found, after, Conversion.DEPENDS, True))
        assert session.catalogue().schema.tables["lines"].columns["order_id"].properties["unique"]
        take(session, kind, dataset, tables, DropUnique("lines", "order_id"))
        fill(session, dataset, [("n", 1, 9, None)])
        assert session.row_count("lines") == 3


def test_nulls_and_rows_that_share_their_key_are_counted_with_examples(place):
    kind, url, dataset = place
    tables = {}
    key = AddPrimaryKey("lines", KEY)
    with kind.connect(url, "shop") as session:
        take(session, kind, dataset, tables, CreateTable(LINES))
        fill(session, dataset, ROWS)
        assert session.unfit(key).count == 0
        take(session, kind, dataset, tables, DropNotNull("lines", LINES.columns["position"]))
        fill(session, dataset, [("a", "1", 2, None), ("b", "3", None, None)])
        found = session.unfit(key)
        assert (found.count, found.rows) == (3, 5)
        assert {each.value for each in found.examples} == {"1, 2", "3, null"}
        alone = session.unfit(AddPrimaryKey("lines", ("order_id",)))
        assert (alone.count, {each.value for each in alone.examples}) == (3, {"1"})


@pytest.mark.parametrize("name", ['a"; DROP TABLE "safe"; --', "a'b''c", "back\\slash\\", "%s %(x)s {0}", "näme 🙂"])
def test_no_name_in_a_key_can_end_a_statement(place, name):
    kind, url, dataset = place
    tables = {}
    made = table(name, column(name, nullable=False), column("k"))
    with kind.connect(url, "shop") as session:
        take(session, kind, dataset, tables, CreateTable(table("safe", column("k"))), CreateTable(made))
        assert session.unfit(AddPrimaryKey(name, (name,))).count == 0
        take(session, kind, dataset, tables, AddPrimaryKey(name, (name,)))
        assert key_of(session, name) == {name}
        take(session, kind, dataset, tables, DropPrimaryKey(name, (name,)))
        assert key_of(session, name) == set()
        assert {*session.catalogue().schema.tables} == {"safe", name}


def test_a_key_that_somebody_has_named_is_found_and_dropped(place):
    kind, url, dataset = place
    tables = {}
    with kind.connect(url, "shop") as session:
        take(session, kind, dataset, tables, CreateTable(table("other", column("k"))))
        session.database.execute(
            f'CREATE TABLE "{dataset}"."lines" '
            '("a" VARCHAR NOT NULL, "b" VARCHAR NOT NULL, CONSTRAINT "Their Key" PRIMARY KEY ("b", "a"))'
        )
        tables = dict(session.catalogue().schema.tables)
        assert key_of(session) == {"a", "b"}
        take(session, kind, dataset, tables, DropPrimaryKey("lines", ("a", "b")))
        assert key_of(session) == set()


def test_what_an_index_of_postgresql_only_carries_along_is_no_part_of_its_key(postgres_url):
    dataset = f"k{time.monotonic_ns()}"
    with postgresql.connect(f"{postgres_url}?dataset={dataset}", "shop") as session:
        take(session, postgresql, dataset, {}, CreateTable(LINES))
        place = f'"{dataset}"."lines"'
        session.database.execute(f"ALTER TABLE {place} ADD PRIMARY KEY (order_id, position) INCLUDE (note)")
        session.database.execute(f"CREATE UNIQUE INDEX ON {place} (total) INCLUDE (note)")
        found = session.catalogue().schema.tables["lines"].columns
        assert key_of(session) == set(KEY)
        assert {name for name, each in found.items() if each.properties.get("unique")} == {"total"}


def plan(session, kind, before, after, **options):
    catalogue = session.catalogue().schema
    schema = bump(new_schema("shop").with_table(after))
    known = bump(new_schema("shop").with_table(before))
    proposal = plan_steps(
        catalogue, schema, known, stored=kind.stored, abilities=kind.ABILITIES, options=PlanOptions(**options)
    )
    where = Place("any", session.origin, session.dataset)
    return make_plan(proposal, catalogue, schema, where, partial(kind.render, dataset=session.dataset))


def run(session, plan, *, undoes=False):
    with session.transaction():
        for each in reversed(plan.steps) if undoes else plan.steps:
            session.run(each.step, each.undo_statements if undoes else each.statements)


def test_a_plan_makes_the_key_of_a_schema_and_takes_it_back(place):
    kind, url, dataset = place
    keyed = table(
        "lines",
        LINES.columns["note"],
        column("order_id", "bigint", nullable=False, primary_key=True),
        column("place", "bigint", nullable=False, primary_key=True, **{"x-renamed-from": "position"}),
        LINES.columns["total"],
    )
    loose = table("lines", *(column(name, each.data_type) for name, each in LINES.columns.items()))
    with kind.connect(url, "shop") as session:
        take(session, kind, dataset, {}, CreateTable(loose))
        fill(session, dataset, ROWS)
        before = reported(session, kind)
        made = plan(session, kind, loose, keyed, compares_primary_keys=True)
        steps = [each.step for each in made.steps if each.step.table_name == "lines"]
        assert steps[-1] == AddPrimaryKey("lines", ("order_id", "place"))
        assert {type(each) for each in steps} == {RenameColumn, ChangeType, SetNotNull, AddPrimaryKey}
        run(session, made)
        assert key_of(session) == {"order_id", "place"}
        assert not plan(session, kind, keyed, keyed, compares_primary_keys=True).steps
        run(session, made, undoes=True)
        assert reported(session, kind) == before


def test_a_plan_changes_a_key_to_other_columns_and_drops_what_was_in_it(place):
    kind, url, dataset = place
    tables = {}
    keyed = table(
        "lines", *(column(name, each.data_type, nullable=each.nullable) for name, each in LINES.columns.items())
    )
    wanted = table("lines", LINES.columns["note"], column("order_id", nullable=False, primary_key=True))
    with kind.connect(url, "shop") as session:
        take(session, kind, dataset, tables, CreateTable(LINES), AddPrimaryKey("lines", KEY))
        fill(session, dataset, ROWS[1:])
        made = plan(session, kind, keyed, wanted, compares_primary_keys=True)
        steps = [each.step for each in made.steps if each.step.table_name == "lines"]
        rest = [AddPrimaryKey, DropColumn, DropColumn]
        # A table that has a key is copied there to drop a column.
        assert [type(each) for each in steps] == [DropPrimaryKey, *(rest[::-1] if kind is duckdb else rest)]
        run(session, made)
        assert reported(session, kind) == expected(kind, wanted)


def test_without_being_asked_a_plan_leaves_keys_alone(place):
    kind, url, dataset = place
    wanted = table(
        "lines",
        *(
            Column(name, {**each.properties, "primary_key": True})
            for name, each in LINES.columns.items()
            if name in KEY
        ),
    )
    with kind.connect(url, "shop") as session:
        take(session, kind, dataset, {}, CreateTable(LINES))
        made = plan(session, kind, LINES, wanted)
        assert {type(each.step) for each in made.steps} <= {DropColumn, CreateTable}
        run(session, made)
        assert key_of(session) == set()
