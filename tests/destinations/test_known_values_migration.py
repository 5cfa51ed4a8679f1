"""What a transaction has found out about values holds under new names, until a step writes such values."""

from dataclasses import replace

import pytest

from schemactl.destinations._migration.known import Known
from schemactl.migration.steps import (
    AddColumn,
    AddPrimaryKey,
    Backfill,
    ChangeType,
    DropColumn,
    DropPrimaryKey,
    DropTable,
    DropUnique,
    FillColumn,
    RenameColumn,
    RenameTable,
    SetNotNull,
)
from schemactl.schema.types import Column, Table


def retype(name, table="t"):
    return ChangeType(table, Column(name, {"data_type": "text"}), Column(name, {"data_type": "bigint"}))


def known_after(*steps):
    found = Known()
    found.begin()
    for name in "ab":
        found.note(retype(name))
    for step in steps:
        found.follow(step)
    return {each for each in ("a", "b", "c", "x") if found.holds(retype(each))}


A = Column("a", {"data_type": "text"})


@pytest.mark.parametrize(
    ("steps", "left"),
    [
        ((), "ab"),
        ((RenameColumn("t", "a", "c"),), "bc"),
        ((RenameColumn("T", "A", "c"),), "bc"),
        ((RenameColumn("u", "a", "c"),), "ab"),
        ((RenameColumn("t", "a", "x"), AddColumn("t", A)), "bx"),
        ((RenameColumn("t", "a", "x"), FillColumn("t", A, "?")), "bx"),
        ((RenameColumn("t", "a", "x"), retype("x")), "b"),
        ((Backfill("t", A, Column("b")),), "a"),
        ((DropColumn("t", A),), "b"),
        ((DropTable(Table("t")),), ""),
        ((DropTable(Table("u")),), "ab"),
        ((DropUnique("t", "a"), DropPrimaryKey("t", ("b",)), AddPrimaryKey("t", ("a",)), SetNotNull("t", A)), "ab"),
    ],
)
def test_only_a_step_that_writes_values_makes_them_unknown(steps, left):
    assert known_after(*steps) == set(left)


def test_two_columns_that_swap_their_names_keep_what_is_known_of_each():
    found = Known()
    found.begin()
    found.note(retype("a"))
    for step in (RenameColumn("t", "a", "x"), RenameColumn("t", "b", "a"), RenameColumn("t", "x", "b")):
        found.follow(step)
    assert (found.holds(retype("a")), found.holds(retype("b"))) == (False, True)


def test_a_table_takes_what_is_known_along_under_its_new_name():
    found = Known()
    found.begin()
    found.note(retype("a"))
    found.follow(RenameTable("t", "u"))
    assert (found.holds(retype("a")), found.holds(replace(retype("a"), table="u"))) == (False, True)
    found.end()
    assert not found.holds(replace(retype("a"), table="u"))
