"""Names that tables take from each other are renames, in an order in which each name is free; nested ones follow."""

from dataclasses import replace

from hypothesis import event, given
from hypothesis import strategies as st

from schemactl.destinations import duckdb
from schemactl.destinations.duckdb.migration import ABILITIES
from schemactl.migration.effects import apply_to_model
from schemactl.migration.notes import NoteKind
from schemactl.migration.options import PlanOptions
from schemactl.migration.planner import plan_steps
from schemactl.migration.steps import AddColumn, CreateTable, DropTable, RenameColumn, RenameTable
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table


def column(name, kind="text", origin=None):
    return Column(name, {"data_type": kind, **({} if origin is None else {"x-renamed-from": origin})})


def table(name, *columns, origin=None):
    parent = name.rpartition("__")[0]
    properties = {"parent": parent} if parent else {"resource": name}
    stated = {} if origin is None else {"x-renamed-from": origin}
    return Table(name, {each.name: each for each in columns or (column("id"),)}, {**properties, **stated})


def schema_of(*tables):
    bookkeeping = new_schema("shop")
    return replace(bookkeeping, tables={**bookkeeping.tables, **{each.name: each for each in tables}})


OLD, NEW = column("old"), column("new")
BEFORE = schema_of(table("a", OLD), table("b", NEW))
SWAPPED = schema_of(table("a", NEW, origin="b"), table("b", OLD, origin="a"))


def plan(after, known=BEFORE, before=BEFORE, **options):
    chosen = PlanOptions(**options)
    return plan_steps(before, after, known, stored=duckdb.stored, abilities=ABILITIES, options=chosen)


def steps(*args, **options):
    return [planned.step for planned in plan(*args, **options).steps]


def test_two_tables_swap_their_names():
    assert steps(SWAPPED) == [RenameTable("b", "b__moved_1"), RenameTable("a", "b"), RenameTable("b__moved_1", "a")]


def test_a_swap_of_tables_that_the_ledger_knows_is_history():
    found = plan(SWAPPED, known=SWAPPED, before=SWAPPED)
    assert (found.steps, found.notes) == ((), ())


def test_without_a_ledger_a_swap_of_tables_is_reported_and_not_done():
    found = plan(SWAPPED, known=None)
    assert not any(isinstance(each.step, RenameTable) for each in found.steps)
    assert [note.table for note in found.notes if note.kind is NoteKind.RENAME] == ["a", "b"]


def test_a_chain_of_tables_begins_at_the_free_name():
    after = schema_of(table("b", OLD, origin="a"), table("c", NEW, origin="b"))
    assert steps(after) == [RenameTable("b", "c"), RenameTable("a", "b")]


def test_columns_are_compared_with_those_that_the_table_had_under_its_old_name():
    after = schema_of(
        table("a", column("newer", origin="new"), origin="b"), table("b", OLD, column("more"), origin="a")
    )
    assert steps(after)[3:] == [
        RenameColumn("a", "new", "newer"),
        AddColumn("b", Column("more", {"data_type": "text"})),
    ]


def test_nested_tables_follow_those_that_swap_their_names():
    nested = [table(name) for name in ("a__items", "a__items__tags", "b__items")]
    before = schema_of(*BEFORE.tables.values(), *nested)
    after = schema_of(*SWAPPED.tables.values(), *(table(name) for name in ("a__items", "b__items", "b__items__tags")))
    found = plan(after, known=before, before=before)
    tables = {name: replace(each, columns={name: column("id")}) for name, each in before.tables.items()}
    apply_to_model(tables, [each.step for each in found.steps])
    there = {name: next(iter(each.columns)) for name, each in tables.items() if not name.startswith("_")}
    assert there == {
        "a": "b",
        "b": "a",
        "a__items": "b__items",
        "b__items": "a__items",
        "b__items__tags": "a__items__tags",
    }
    assert all(isinstance(each.step, RenameTable) for each in found.steps)
    assert found.notes == ()


def test_rows_of_a_nested_table_stay_with_those_of_its_parent_where_the_schema_knows_no_such_table():
    before = schema_of(*BEFORE.tables.values(), table("a__items"))
    after = schema_of(*SWAPPED.tables.values(), table("a__items"))
    found = plan(after, known=before, before=before)
    assert RenameTable("a__items", "b__items") in [each.step for each in found.steps]
    assert [each.step.table.name for each in found.steps if isinstance(each.step, CreateTable)] == ["a__items"]
    assert not any(isinstance(each.step, DropTable) for each in found.steps)
    assert [(note.kind, note.table) for note in found.notes] == [(NoteKind.LEFT_OUT, "b__items")]


def test_a_table_whose_name_is_taken_is_kept_beside_with_what_is_nested_in_it():
    before = schema_of(*BEFORE.tables.values(), table("b__items"))
    after = schema_of(table("b", OLD, origin="a"), table("b__items"))
    found = plan(after, known=before, before=before)
    renames = [each.step for each in found.steps if isinstance(each.step, RenameTable)]
    assert set(map(str, renames)) == {
        str(RenameTable("a", "b")),
        str(RenameTable("b", "b__before_1")),
        str(RenameTable("b__items", "b__before_1__items")),
    }
    assert [each.step.table.name for each in found.steps if isinstance(each.step, CreateTable)] == ["b__items"]
    kept = [(NoteKind.KEPT, "b__before_1"), (NoteKind.KEPT, "b__before_1__items")]
    assert sorted((note.kind, note.table) for note in found.notes) == kept
    left = schema_of(*after.tables.values(), table("b__before_1", NEW), table("b__before_1__items"))
    again = plan(after, known=after, before=left, drops_kept=True)
    assert again.steps == ()
    assert sorted((note.kind, note.table) for note in again.notes) == kept


def test_a_table_name_that_stays_anothers_is_reported_and_not_taken():
    after = schema_of(table("a", OLD), table("b", NEW, origin="a"))
    found = plan(after)
    assert found.steps == ()
    (note,) = found.notes
    assert (note.kind, note.table, note.column) == (NoteKind.RENAME, "b", None)
    assert "is not renamed from `a`" in note.message


def test_a_guess_goes_on_from_where_a_table_is_kept():
    after = schema_of(table("b", OLD, origin="a"), table("bees", NEW, column("x"), column("y")))
    before = schema_of(table("a", OLD), table("b", NEW, column("x"), column("y")))
    found = steps(after, known=before, before=before, guesses_renames=True)
    tables = dict(before.tables)
    apply_to_model(tables, found)
    assert {"b", "bees"} <= tables.keys()
    assert all(isinstance(each, RenameTable) for each in found)
    assert list(tables["b"].columns) == ["old"]
    reported = [note for note in plan(after, known=before, before=before).notes if note.kind is NoteKind.RENAME]
    assert [(note.table, "possibly `b` under a new name" in note.message) for note in reported] == [("bees", True)]


NAMES = st.sampled_from(["a", "b", "c", "a__x", "b__x", "a__x__y", "c__x"])


@st.composite
def moves(draw):
    def with_parents(names):
        return {part for name in names for part in ("__".join(name.split("__")[:count]) for count in (1, 2, 3))}

    there, wanted = (with_parents(draw(st.sets(NAMES, min_size=1))) for _ in range(2))
    before = schema_of(*(table(name, column(f"of_{name}")) for name in sorted(there)))
    stated = {name: draw(st.none() | NAMES) for name in sorted(wanted)}
    return before, schema_of(*(table(name, origin=origin) for name, origin in stated.items()))


@given(moves(), st.booleans(), st.booleans())
def test_no_rename_meets_a_name_that_is_there_and_none_is_undone_wrongly(case, knows, guesses):
    before, after = case
    found = plan(after, known=before if knows else None, before=before, guesses_renames=guesses)
    tables = dict(before.tables)
    renames = [each for each in found.steps if isinstance(each.step, RenameTable)]
    event(f"{len(renames)} renames")
    apply_to_model(tables, [each.step for each in found.steps])
    undone = [step for each in reversed(found.steps) for step in each.undo.steps]
    assert after.tables.keys() <= tables.keys()
    if all(each.undo.is_possible for each in found.steps):
        apply_to_model(tables, undone)
        assert tables.keys() == before.tables.keys()
        for name in before.tables:
            if not name.startswith("_"):
                assert f"of_{name}" in tables[name].columns
