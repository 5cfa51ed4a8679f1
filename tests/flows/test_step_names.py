"""Steps of a plan in the names that tables and columns have before the first one has run."""

from __future__ import annotations

from dataclasses import replace

from migrated_datasets import column

from schemactl.migration.effects import in_first_names
from schemactl.migration.steps import (
    AddColumn,
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    CreateTable,
    DropColumn,
    DropTable,
    RenameColumn,
    RenameTable,
    SetNotNull,
)
from schemactl.schema.types import Table

NOTE = column("note")


def test_what_is_renamed_later_is_named_as_it_is_first() -> None:
    found = list(
        in_first_names(
            [
                RenameTable("a", "b"),
                RenameColumn("b", "note", "memo"),
                RenameColumn("b", "memo", "text"),
                ChangeType("b", column("text"), column("text", "bigint")),
                RenameTable("b", "c"),
                DropColumn("c", column("text", "bigint")),
                AddUnique("c", "other"),
                AddPrimaryKey("c", ("text", "other")),
                DropTable(Table("c")),
            ]
        )
    )
    assert found == [
        RenameTable("a", "b"),
        RenameColumn("a", "note", "memo"),
        RenameColumn("a", "note", "text"),
        ChangeType("a", NOTE, column("note", "bigint")),
        RenameTable("a", "c"),
        DropColumn("a", column("note", "bigint")),
        AddUnique("a", "other"),
        AddPrimaryKey("a", ("note", "other")),
        DropTable(Table("a")),
    ]


def test_steps_on_a_table_that_is_made_by_the_plan_are_about_nothing_yet() -> None:
    made = CreateTable(Table("a", {"note": NOTE}))
    steps = [
        RenameTable("a", "old"),
        made,
        RenameColumn("a", "note", "memo"),
        RenameTable("a", "b"),
        AddUnique("b", "x"),
    ]
    assert list(in_first_names(steps)) == [steps[0], made, None, None, None]
    assert list(in_first_names([*steps, SetNotNull("old", NOTE)]))[-1] == SetNotNull("a", NOTE)


def test_a_column_that_takes_the_place_of_another_keeps_the_name_that_it_is_made_with() -> None:
    new = column("note__new_1", "bigint")
    steps = [
        AddColumn("a", new),
        Backfill("a", NOTE, new),
        RenameColumn("a", "note", "note__before_1"),
        RenameColumn("a", "note__new_1", "note"),
        SetNotNull("a", replace(new, name="note")),
        DropColumn("a", replace(NOTE, name="note__before_1")),
    ]
    assert list(in_first_names(steps)) == [*steps[:4], SetNotNull("a", new), DropColumn("a", NOTE)]
