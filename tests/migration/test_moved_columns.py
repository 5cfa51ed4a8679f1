"""Names that columns take from each other are renames, in an order in which each name is free."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.destinations.duckdb.migration import ABILITIES
from schemactl.migration.conflicting_renames import in_order
from schemactl.migration.notes import NoteKind
from schemactl.migration.options import PlanOptions
from schemactl.migration.planner import plan_steps
from schemactl.migration.steps import AddColumn, ChangeType, DropColumn, DropNotNull, RenameColumn
from schemactl.schema.structure import NameLimits
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table


def column(name, kind="text", origin=None, **properties):
    stated = {} if origin is None else {"x-renamed-from": origin}
    return Column(name, {"data_type": kind, **stated, **properties})


def schema_of(*columns):
    bookkeeping = new_schema("shop")
    table = Table("orders", {each.name: each for each in columns}, {"resource": "orders"})
    return replace(bookkeeping, tables={**bookkeeping.tables, "orders": table})


BEFORE = schema_of(column("id", "bigint"), column("a"), column("b"))


def plan(after, known=BEFORE, before=BEFORE, **options):
    def stored(found):
        kept = {"data_type", "nullable"}
        return {name: value for name, value in found.properties.items() if name in kept and value is not True}

    return plan_steps(before, after, known, stored=stored, abilities=ABILITIES, options=PlanOptions(**options))


def steps(*args, **options):
    return [planned.step for planned in plan(*args, **options).steps]


def test_two_columns_swap_their_names():
    after = schema_of(column("id", "bigint"), column("a", origin="b"), column("b", origin="a"))
    assert steps(after) == [
        RenameColumn("orders", "b", "b__moved_1"),
        RenameColumn("orders", "a", "b"),
        RenameColumn("orders", "b__moved_1", "a"),
    ]


def test_a_swap_that_the_ledger_knows_is_history():
    after = schema_of(column("id", "bigint"), column("a", origin="b"), column("b", origin="a"))
    found = plan(after, known=after)
    assert found.steps == ()
    assert found.notes == ()


def test_a_chain_begins_at_the_free_name():
    after = schema_of(column("id", "bigint"), column("b", origin="a"), column("c", origin="b"))
    assert steps(after) == [RenameColumn("orders", "b", "c"), RenameColumn("orders", "a", "b")]


def test_what_is_swapped_gets_the_type_of_its_new_name():
    after = schema_of(column("id", "bigint"), column("a", "bigint", origin="b"), column("b", origin="a"))
    *renames, retype = steps(after)
    assert [type(each) for each in renames] == [RenameColumn] * 3
    assert isinstance(retype, ChangeType)
    assert (retype.before.name, retype.before.data_type, retype.after.data_type) == ("a", "text", "bigint")


def test_a_column_whose_name_is_taken_is_kept_beside():
    before = schema_of(column("id", "bigint"), column("a"), column("b", nullable=False))
    after = schema_of(column("id", "bigint"), column("b", origin="a"))
    found = plan(after, known=before, before=before, drops_kept=True)
    renames = [RenameColumn("orders", "b", "b__before_1"), RenameColumn("orders", "a", "b")]
    assert [each.step for each in found.steps][:2] == renames
    assert isinstance(found.steps[2].step, DropNotNull)  # loads leave it empty
    assert [(note.kind, note.column) for note in found.notes] == [(NoteKind.KEPT, "b__before_1")]
    kept = schema_of(column("id", "bigint"), column("b"), column("b__before_1"))
    assert [type(each) for each in steps(after, known=after, before=kept, drops_kept=True)] == [DropColumn]


@pytest.mark.parametrize("known", [BEFORE, None])
def test_a_name_that_stays_anothers_is_reported_and_not_taken(known):
    after = schema_of(column("id", "bigint"), column("a"), column("b"), column("c", origin="a"))
    found = plan(after, known=known)
    assert [type(each.step) for each in found.steps] == [AddColumn]
    (note,) = found.notes
    assert (note.kind, note.column) == (NoteKind.RENAME, "c")
    assert "is not renamed from `a`" in note.message


def test_without_a_ledger_a_swap_is_reported_and_not_done():
    after = schema_of(column("id", "bigint"), column("a", origin="b"), column("b", origin="a"))
    found = plan(after, known=None)
    assert found.steps == ()
    assert [note.column for note in found.notes] == ["a", "b"]


NAMES = st.sampled_from("abcdefgh")


@given(st.permutations("abcdefgh"), st.sets(NAMES), st.booleans())
def test_renames_in_order_never_meet_a_name_that_is_there(shuffled, some, is_case_sensitive):
    pairs = {old: new for old, new in zip("abcdefgh", shuffled, strict=True) if old != new and old not in some}
    pairs = {old: new for old, new in pairs.items() if new in pairs or new not in some}
    there = {name: name for name in pairs}
    for old, new in in_order(pairs, {*pairs, *pairs.values()}, NameLimits(is_case_sensitive=is_case_sensitive)):
        assert new not in there
        there[new] = there.pop(old)
    assert {origin: name for name, origin in there.items()} == pairs
