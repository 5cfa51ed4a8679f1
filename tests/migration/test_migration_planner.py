from __future__ import annotations

from dataclasses import replace

import pytest
from migration_samples import COPYING, LAKE, SQL, catalogue_of, propose, schema_with
from schema_parts import column, table

from schemactl.destinations import duckdb, parquet, postgresql, sqlite
from schemactl.errors import InputError
from schemactl.migration.notes import NoteKind
from schemactl.migration.options import OnUnfit
from schemactl.migration.steps import (
    AddColumn,
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    CreateTable,
    DropColumn,
    DropNotNull,
    DropPrimaryKey,
    DropTable,
    DropUnique,
    FillColumn,
    RenameColumn,
    RenameTable,
    SetNotNull,
    Taken,
)
from schemactl.migration.ways import Risk, Way
from schemactl.schema.changes import ABSENT, ColumnPropertyChanged
from schemactl.schema.conversions import Conversion
from schemactl.schema.structure import NameLimits
from schemactl.schema.types import Column, Schema

ID = column("id", "bigint", nullable=False)
NOTE = column("note")


def planned(there, wanted, known=(), *, engine=duckdb, **options):
    """Return the proposal that leads from tables to tables."""
    catalogue = catalogue_of(schema_with(*there), engine.stored)
    return propose(catalogue, schema_with(*wanted), schema_with(*known) if known else None, engine=engine, **options)


def steps_of(*args, **options):
    return [each.step for each in planned(*args, **options).steps]


def columns(before, after, known=None, **options):
    """Return the steps for one table with these columns."""
    return steps_of(
        [table("orders", *before)], [table("orders", *after)], [table("orders", *known)] if known else (), **options
    )


def notes_of(*args, **options):
    return {(note.kind, note.table, note.column) for note in planned(*args, **options).notes}


def kinds(steps):
    return [type(each) for each in steps]


def test_a_new_destination_gets_dlt_s_tables_and_parents_before_what_is_nested_in_them():
    tags = table("a__tags", NOTE, parent="orders__items")
    items, orders = table("orders__items", NOTE, parent="orders"), table("orders", ID)
    proposal = propose(Schema(name="shop"), schema_with(tags, items, orders))
    created = [each.step.table.name for each in proposal.steps]
    assert created == ["_dlt_version", "_dlt_loads", "orders", "orders__items", "a__tags"]
    assert all(isinstance(each.step, CreateTable) for each in proposal.steps)


def test_dlt_s_own_tables_are_left_alone_where_they_are():
    catalogue = catalogue_of(
        schema_with(table("_dlt_pipeline_state", NOTE), table("_schemactl_steps", NOTE)), duckdb.stored
    )
    old = table("_dlt_version", column("version", "text"))
    proposal = propose(catalogue.with_table(old), schema_with(), schema_with(table("_dlt_pipeline_state", NOTE)))
    assert (proposal.steps, proposal.notes) == ((), ())


def test_a_destination_without_tables_for_dlt_s_bookkeeping_gets_none():
    assert propose(Schema(name="shop"), schema_with(), abilities=replace(SQL, keeps_dlt_tables=False)).steps == ()


def test_what_nobody_knows_is_left_alone_and_reported():
    there = [table("orders", NOTE, column("by_hand"), column("must", nullable=False)), table("extra", NOTE)]
    proposal = planned(there, [table("orders", NOTE)], [table("orders", NOTE)])
    assert proposal.steps == ()
    assert {(note.kind, note.table, note.column) for note in proposal.notes} == {
        (NoteKind.DRIFT, "orders", "by_hand"),
        (NoteKind.DRIFT, "orders", "must"),
        (NoteKind.DRIFT, "extra", None),
    }
    (of_required,) = (note for note in proposal.notes if note.column == "must")
    assert "is required" in of_required.message


def test_what_the_last_schema_had_is_dropped_last_and_nested_tables_before_their_parents():
    there = [table("old", NOTE), table("old__items", NOTE, parent="old"), table("orders", NOTE, column("gone"))]
    found = steps_of(there, [table("orders", NOTE, ID)], there)
    assert kinds(found) == [AddColumn, DropColumn, DropTable, DropTable]
    assert [each.table.name for each in found[2:]] == ["old__items", "old"]


def test_without_a_ledger_nothing_is_dropped():
    assert steps_of([table("old", NOTE), table("orders", NOTE, column("gone"))], [table("orders", NOTE)]) == []


def test_a_column_that_lost_its_type_is_not_dropped():
    assert columns([NOTE, ID], [NOTE, Column("id", {"nullable": False})], known=[NOTE, ID]) == []


def test_a_stated_rename_takes_nested_tables_along_and_comes_before_all_else():
    there = [table("orders", NOTE), table("orders__items", NOTE, parent="orders")]
    wanted = [
        table("sales", column("memo", "text", **{"x-renamed-from": "note"}), ID, **{"x-renamed-from": "orders"}),
        table("sales__items", NOTE, parent="sales"),
    ]
    found = steps_of(there, wanted, there)
    assert found[:3] == [
        RenameTable("orders", "sales"),
        RenameTable("orders__items", "sales__items"),
        RenameColumn("sales", "note", "memo"),
    ]
    assert kinds(found[3:]) == [AddColumn]


def test_a_guessed_rename_is_reported_and_the_old_column_kept_unless_asked_for():
    before, after = [ID, column("customer_id", "text")], [ID, column("cust_id", "text")]
    there, wanted = [table("orders", *before)], [table("orders", *after)]
    proposal = planned(there, wanted)
    assert kinds(each.step for each in proposal.steps) == [AddColumn]
    (rename, drift) = proposal.notes
    assert (rename.kind, rename.column) == (NoteKind.RENAME, "cust_id")
    assert "x-renamed-from" in rename.hint
    assert drift.kind is NoteKind.DRIFT
    assert steps_of(there, wanted, guesses_renames=True) == [RenameColumn("orders", "customer_id", "cust_id")]


def test_columns_with_the_id_that_the_last_schema_had_are_renamed():
    known = [table("orders", column("customer", "text", **{"x-id": "c1"}))]
    wanted = [table("orders", column("buyer", "text", **{"x-id": "c1"}))]
    there = [table("orders", column("customer", "text"))]
    assert steps_of(there, wanted, known) == [RenameColumn("orders", "customer", "buyer")]
    assert kinds(steps_of(there, wanted)) == [AddColumn]


def test_names_that_differ_in_case_alone_are_one_name_where_the_destination_says_so():
    there, wanted = [table("Orders", column("Note"))], [table("orders", column("note", "bigint"))]
    (step,) = steps_of(there, wanted)
    assert isinstance(step, ChangeType)
    assert (step.table, step.before.name) == ("orders", "note")
    assert kinds(steps_of(there, wanted, engine=postgresql)) == [CreateTable]


@pytest.mark.parametrize(
    ("tables", "limits", "reported"),
    [
        ([table("orders", NOTE), table("Orders", NOTE)], NameLimits(is_case_sensitive=False), "are the same name"),
        ([table("orders", column("a"), column("A"))], NameLimits(is_case_sensitive=False), "`orders`: "),
        ([table("größe" * 12, NOTE)], NameLimits(max_bytes=63), "longer than 63 bytes"),
    ],
)
def test_names_that_the_destination_cannot_hold_are_refused(tables, limits, reported):
    with pytest.raises(InputError, match=reported):
        propose(Schema(name="shop"), schema_with(*tables), abilities=replace(SQL, names=limits))


def test_tables_that_wait_for_data_are_dlt_s_to_make():
    seen = table("orders", NOTE, **{"x-normalizer": {"seen-data": True}})
    proposal = planned([seen], [seen, table("later", NOTE)])
    assert proposal.steps == ()
    assert [(note.kind, note.table) for note in proposal.notes] == [(NoteKind.WAITS, "later")]


def test_a_required_column_is_filled_and_then_nulls_are_forbidden():
    added = column("state", "text", nullable=False, **{"x-backfill": "new"})
    add, fill, forbid = columns([ID], [ID, added])
    assert add.column.nullable
    assert (fill.value, fill.column.name) == ("new", "state")
    assert (forbid.column.name, forbid.needs_check) == ("state", False)


def test_a_required_column_is_filled_where_nulls_cannot_be_forbidden():
    added = column("state", "text", nullable=False, **{"x-backfill": "new"})
    there, wanted = [table("orders", ID)], [table("orders", ID, added)]
    options = {"engine": parquet, "abilities": parquet.ABILITIES}
    assert kinds(steps_of(there, wanted, **options)) == [AddColumn, FillColumn]
    assert notes_of(there, wanted, **options) == set()
    empty = {**options, "empty_tables": frozenset({"orders"})}
    assert kinds(steps_of(there, wanted, **empty)) == [AddColumn]
    assert notes_of(there, wanted, **empty) == set()
    optional = [table("orders", ID, column("state", "text", **{"x-backfill": "new"}))]
    assert kinds(steps_of(there, optional, **options)) == [AddColumn]


def test_a_required_column_without_a_value_is_added_as_nullable_and_reported():
    there, wanted = [table("orders", NOTE)], [table("orders", NOTE, ID)]
    (step,) = steps_of(there, wanted)
    assert step.column.nullable
    assert notes_of(there, wanted) == {(NoteKind.NULLABLE, "orders", "id")}


def test_a_required_column_of_an_empty_table_needs_no_value():
    there, wanted = [table("orders", NOTE)], [table("orders", NOTE, ID)]
    assert kinds(steps_of(there, wanted, empty_tables=frozenset({"orders"}))) == [AddColumn, SetNotNull]
    (step,) = steps_of(there, wanted, empty_tables=frozenset({"orders"}), abilities=LAKE)
    assert not step.column.nullable
    assert notes_of(there, wanted, empty_tables=frozenset({"orders"})) == set()


def test_nulls_are_counted_before_they_are_forbidden():
    (step,) = columns([column("id", "bigint")], [ID])
    assert step == SetNotNull("orders", column("id", "bigint"), needs_check=True)
    assert step.needs_count
    assert step.caution == "only if no stored value is null"
    (freed,) = columns([ID], [column("id", "bigint")])
    assert kinds([freed]) == [DropNotNull]


@pytest.mark.parametrize(("before", "after", "conversion"), [
    (column("x", "bigint"), column("x", "text"), Conversion.WHOLE),
    (column("x", "text"), column("x", "bigint"), Conversion.DEPENDS),
    (column("x", "timestamp"), column("x", "date"), Conversion.LOSES),
    (column("x", "json"), column("x", "bool"), Conversion.REFUSED),
    (column("x", "bigint", precision=16), column("x", "bigint"), Conversion.WHOLE),
    (column("x", "bigint"), column("x", "bigint", precision=16), Conversion.DEPENDS),
    (column("x", "decimal", precision=10, scale=2), column("x", "decimal", precision=12, scale=2), Conversion.WHOLE),
    (column("x", "decimal", precision=10, scale=2), column("x", "decimal", precision=10, scale=4), Conversion.DEPENDS),
    (column("x", "decimal", precision=10, scale=2), column("x", "decimal", precision=12, scale=4), Conversion.WHOLE),
    (column("x", "decimal"), column("x", "decimal", precision=38, scale=2), Conversion.LOSES),
    (column("x", "text"), column("x", "text", precision=10), Conversion.DEPENDS),
    (column("x", "text", precision=5), column("x", "text", precision=10), Conversion.WHOLE),
    (column("x", "text", precision=5), column("x", "text"), Conversion.WHOLE),
    (column("x", "timestamp"), column("x", "timestamp", timezone=False), Conversion.WHOLE),
    (column("x", "timestamp", precision=6), column("x", "timestamp", precision=3), Conversion.LOSES),
    (column("x", "bigint"), column("x", "text", precision=4), Conversion.DEPENDS),
    (column("x", "bigint"), column("x", "decimal", precision=19, scale=0), Conversion.WHOLE),
    (column("x", "bigint"), column("x", "decimal", precision=10, scale=0), Conversion.DEPENDS),
    (column("x", "double"), column("x", "decimal", precision=38, scale=9), Conversion.DEPENDS),
    (column("x", "double"), column("x", "decimal", precision=10, scale=2), Conversion.DEPENDS),
    (Column("x", {"x-database-type": "interval"}), column("x", "text"), Conversion.REFUSED),
])  # fmt: skip
def test_a_type_is_changed_in_place_and_values_are_counted_where_they_may_be_lost(before, after, conversion):
    (step,) = columns([before], [after], engine=postgresql)
    assert step.conversion is conversion
    assert step.needs_check == (conversion is not Conversion.WHOLE)
    assert bool(step.caution) == step.needs_check


def test_numbers_that_count_seconds_are_no_loss_of_meaning():
    (step,) = columns([column("at", "bigint")], [column("at", "timestamp", **{"x-unit": "epoch_s"})])
    assert (step.conversion, step.counts_seconds) == (Conversion.DEPENDS, True)


def test_expanding_fills_a_new_column_and_keeps_the_old_one():
    found = columns(
        [column("x", "text", nullable=False)], [column("x", "bigint", nullable=False)], on_unfit=OnUnfit.EXPAND
    )
    add, fill, keep, free, take, forbid = found
    assert (add.column.name, add.column.nullable) == ("x__new_1", True)
    assert (fill.source.name, fill.target.name, fill.taken) == ("x", "x__new_1", Taken.FITTING)
    assert keep == RenameColumn("orders", "x", "x__before_1")
    assert (type(free), free.column.name) == (DropNotNull, "x__before_1")
    assert take == RenameColumn("orders", "x__new_1", "x")
    assert (type(forbid), forbid.needs_check) == (SetNotNull, True)


def test_a_type_that_loses_nothing_is_not_expanded():
    assert kinds(columns([column("x", "bigint")], [column("x", "text")], on_unfit=OnUnfit.EXPAND)) == [ChangeType]


def test_a_destination_that_cannot_change_types_gets_a_new_column():
    found = columns([column("x", "bigint")], [column("x", "text")], abilities=LAKE)
    assert kinds(found) == [AddColumn, Backfill, RenameColumn, RenameColumn]


def test_a_type_of_which_dlt_takes_nothing_over_is_not_filled():
    found = columns([column("x", "json")], [column("x", "bool")], on_unfit=OnUnfit.EXPAND)
    assert kinds(found) == [AddColumn, RenameColumn, RenameColumn]


def test_a_variant_takes_what_does_not_fit_under_dlt_s_name():
    there, wanted = [table("orders", column("x"))], [table("orders", column("x", "bigint"))]
    proposal = planned(there, wanted, on_unfit=OnUnfit.VARIANT)
    _, _, add, fill, *_ = (each.step for each in proposal.steps)
    assert (add.column.name, add.column.data_type) == ("x__v_text", "text")
    assert (fill.source.name, fill.target.name, fill.taken) == ("x", "x__v_text", Taken.UNFIT)
    assert [(note.kind, note.column) for note in proposal.notes] == [(NoteKind.VARIANT, "x__v_text")]


def test_a_variant_that_is_there_is_used():
    variant = column("x__v_text", "text", variant=True)
    found = columns([column("x"), variant], [column("x", "bigint"), variant], on_unfit=OnUnfit.VARIANT)
    assert kinds(found) == [AddColumn, Backfill, Backfill, RenameColumn, RenameColumn]


def test_kept_columns_are_reported_and_dropped_on_request():
    there = [table("orders", ID, column("id__before_1", "text"), column("other__before_1"))]
    wanted = [table("orders", ID)]
    assert notes_of(there, wanted) == {
        (NoteKind.KEPT, "orders", "id__before_1"),
        (NoteKind.DRIFT, "orders", "other__before_1"),
    }
    (step,) = steps_of(there, wanted, drops_kept=True)
    assert (type(step), step.column.name) == (DropColumn, "id__before_1")


def test_names_of_kept_columns_are_free_and_short_enough():
    name = "ä" * 31
    found = columns(
        [column(name), column("b")],
        [column(name, "bigint"), column("b")],
        on_unfit=OnUnfit.EXPAND,
        abilities=replace(SQL, names=NameLimits(max_bytes=63)),
    )
    (_, _, keep, _) = found
    assert len(keep.after.encode()) <= 63
    there = [column("x"), column("x__before_1", "text")]
    found = columns(there, [column("x", "bigint")], on_unfit=OnUnfit.EXPAND)
    assert found[2] == RenameColumn("orders", "x", "x__before_2")


def expanded_key(abilities=SQL):
    catalogue = catalogue_of(schema_with(table("orders", column("x"))), duckdb.stored)
    key = Column("x", {"data_type": "text", "primary_key": True, "nullable": False})
    wanted = schema_with(table("orders", column("x", "bigint", nullable=False)))
    proposal = propose(catalogue.with_table(table("orders", key)), wanted, on_unfit=OnUnfit.EXPAND, abilities=abilities)
    return [each.step for each in proposal.steps]


def test_a_primary_key_moves_to_the_column_that_takes_the_name():
    found = expanded_key()
    moved = [AddColumn, Backfill, RenameColumn, DropNotNull, RenameColumn, SetNotNull]
    assert kinds(found) == [DropPrimaryKey, *moved, AddPrimaryKey]
    assert (found[0].columns, found[-1].columns) == (("x",), ("x",))


@pytest.mark.parametrize("stuck", ["drop_primary_key", "add_primary_key"])
def test_a_primary_key_that_cannot_be_moved_stays_on_its_column(stuck):
    (step,) = expanded_key(replace(SQL, **{stuck: Way.NONE}))
    assert isinstance(step, ChangeType)
    assert step.after.properties["primary_key"] is True


@pytest.mark.parametrize(
    ("changes", "order"),
    [
        ({}, [AddUnique, DropColumn]),
        ({"copies_keyed": True}, [DropColumn, AddUnique]),
        # What is dropped does not come back there.
        ({"copies_keyed": True, "transactional_ddl": False}, [AddUnique, DropColumn]),
    ],
)
def test_columns_go_before_keys_come_where_a_key_makes_that_a_copy(changes, order):
    there = [table("orders", column("a"), NOTE)]
    wanted = [table("orders", column("a", unique=True))]
    found = planned(there, wanted, there, abilities=replace(SQL, **changes), compares_unique=True).steps
    assert kinds([each.step for each in found]) == order


def test_unique_constraints_are_planned_on_request_only():
    wanted = schema_with(table("orders", column("a", unique=True), NOTE))
    catalogue = catalogue_of(wanted, duckdb.stored, unique={("orders", "note")})
    assert propose(catalogue, wanted).steps == ()
    found = [each.step for each in propose(catalogue, wanted, compares_unique=True).steps]
    assert found == [DropUnique("orders", "note"), AddUnique("orders", "a")]


def test_a_constraint_goes_over_to_the_column_that_takes_the_name():
    wanted = schema_with(table("orders", column("x", "text", unique=True)))
    catalogue = catalogue_of(schema_with(table("orders", column("x", "bigint"))), duckdb.stored, {("orders", "x")})
    found = [each.step for each in propose(catalogue, wanted, abilities=LAKE).steps]
    assert kinds(found) == [AddColumn, Backfill, RenameColumn, RenameColumn, AddUnique]
    without = schema_with(table("orders", column("x", "text")))
    found = [each.step for each in propose(catalogue, without, abilities=LAKE, compares_unique=True).steps]
    assert kinds(found) == [DropUnique, AddColumn, Backfill, RenameColumn, RenameColumn]


def test_ways_and_risks_are_the_destination_s():
    there = [table("orders", column("x", "bigint"), column("gone"), column("n"))]
    wanted = [table("orders", column("x", "text"), column("n", nullable=False), column("new"))]

    def judged(abilities):
        return {
            type(each.step): (each.way, each.risk) for each in planned(there, wanted, there, abilities=abilities).steps
        }

    assert judged(SQL) == {
        AddColumn: (Way.IN_PLACE, Risk.SAFE),
        ChangeType: (Way.REWRITE, Risk.REWRITES),
        SetNotNull: (Way.SCAN, Risk.BLOCKS),
        DropColumn: (Way.IN_PLACE, Risk.LOSES_DATA),
    }
    assert judged(COPYING)[ChangeType] == (Way.COPY, Risk.REWRITES)


def test_what_is_undone_says_what_is_not_as_before():
    there = [table("orders", column("x", "text"), column("gone"), ID)]
    wanted = [table("orders", column("x", "bigint"), column("id", "bigint"), column("new"))]
    undo = {type(each.step): each.undo for each in planned(there, wanted, there).steps}
    assert not undo[DropColumn].is_possible
    assert undo[DropColumn].note == "its values are lost"
    assert kinds(undo[AddColumn].steps) == [DropColumn]
    (back,) = undo[ChangeType].steps
    assert (back.before.data_type, back.after.data_type, back.needs_check) == ("bigint", "text", True)
    assert "canonical form" in undo[ChangeType].note
    assert kinds(undo[DropNotNull].steps) == [SetNotNull]


def test_a_step_that_cannot_be_taken_back_there_says_so():
    stuck = replace(SQL, retype=lambda before, after: Way.IN_PLACE if after.data_type == "text" else Way.NONE)
    (step,) = planned([table("o", column("x", "bigint"))], [table("o", column("x"))], abilities=stuck).steps
    assert not step.undo.is_possible
    assert step.undo.steps == ()


def test_sizes_that_a_destination_does_not_keep_are_no_change():
    before, after = [column("x", "text", precision=5)], [column("x", "text", precision=9)]
    assert columns(before, after, engine=sqlite) == []
    assert kinds(columns(before, after, engine=postgresql)) == [ChangeType]


def test_a_fill_undoes_nothing_of_its_own():
    added = column("state", "text", nullable=False, **{"x-backfill": "new"})
    undo = {type(each.step): each.undo for each in planned([table("o", ID)], [table("o", ID, added)]).steps}
    assert undo[FillColumn].is_possible
    assert undo[FillColumn].steps == ()


KEY = column("id", "bigint", nullable=False, primary_key=True)
AT = column("at", "bigint", nullable=False, primary_key=True)


def keyed(there, wanted, **options):
    """Return the steps for one table whose columns `there` that are hinted as its key are one in the catalog."""
    held = table("orders", *there)
    keys = {("orders", each.name) for each in there if each.properties.get("primary_key")}
    catalogue = catalogue_of(schema_with(held), duckdb.stored, keys=keys)
    wanted = schema_with(table("orders", *wanted))
    return propose(catalogue, wanted, schema_with(held), **{"compares_primary_keys": True, **options})


def only_steps(proposal):
    return [each.step for each in proposal.steps]


def test_a_primary_key_is_planned_only_where_it_is_asked_for():
    assert only_steps(keyed([ID], [KEY], compares_primary_keys=False)) == []
    (planned_key,) = keyed([ID], [KEY]).steps
    assert planned_key.step == AddPrimaryKey("orders", ("id",))
    assert (planned_key.risk, planned_key.undo.steps) == (Risk.BLOCKS, (DropPrimaryKey("orders", ("id",)),))
    assert planned_key.step.needs_count
    assert planned_key.reason == ColumnPropertyChanged("orders", "id", "primary_key", ABSENT, True)


def test_a_key_of_several_columns_is_in_their_order_and_comes_when_they_may_hold_no_nulls():
    found = only_steps(keyed([column("id", "text"), NOTE], [KEY, NOTE, AT], empty_tables=frozenset(["orders"])))
    assert kinds(found) == [AddColumn, ChangeType, SetNotNull, SetNotNull, AddPrimaryKey]
    assert found[-1] == AddPrimaryKey("orders", ("id", "at"))


def test_another_key_is_dropped_before_its_columns_change_and_made_before_columns_are_dropped():
    wanted = [column("number", "text", nullable=False, primary_key=True, **{"x-renamed-from": "id"})]
    found = only_steps(keyed([KEY, AT], wanted))
    assert kinds(found) == [DropPrimaryKey, RenameColumn, ChangeType, AddPrimaryKey, DropColumn]
    assert (found[0].columns, found[3].columns) == (("id", "at"), ("number",))
    assert not found[2].before.properties.get("primary_key")


def test_a_column_of_a_key_that_stays_is_renamed_and_retyped_with_it():
    wanted = column("number", "text", nullable=False, primary_key=True, **{"x-renamed-from": "id"})
    found = only_steps(keyed([KEY, AT], [wanted, AT], on_unfit=OnUnfit.EXPAND))
    assert kinds(found) == [RenameColumn, ChangeType]
    assert found[1].after.properties["primary_key"]


def test_a_key_that_may_hold_nulls_is_reported_and_not_planned():
    proposal = keyed([ID, NOTE], [KEY, column("note", primary_key=True)])
    assert only_steps(proposal) == []
    (note,) = proposal.notes
    assert (note.kind, note.table, note.column) == (NoteKind.PRIMARY_KEY, "orders", None)
    assert "allows nulls in `note`" in note.message


def test_a_key_with_a_new_column_is_planned_once_stored_rows_have_values():
    proposal = keyed([ID], [KEY, AT])
    assert AddPrimaryKey not in kinds(only_steps(proposal))
    assert {note.kind for note in proposal.notes} == {NoteKind.NULLABLE, NoteKind.PRIMARY_KEY}
    filled = column("at", "bigint", nullable=False, primary_key=True, **{"x-backfill": 0})
    assert only_steps(keyed([ID], [KEY, filled]))[-1] == AddPrimaryKey("orders", ("id", "at"))


def test_nulls_are_not_allowed_in_a_key_that_stays_there():
    wanted = [column("id", "bigint"), NOTE]
    proposal = keyed([KEY, NOTE], wanted, compares_primary_keys=False)
    assert only_steps(proposal) == []
    assert [(note.kind, note.column) for note in proposal.notes] == [(NoteKind.PRIMARY_KEY, "id")]
    assert kinds(only_steps(keyed([KEY, NOTE], wanted))) == [DropPrimaryKey, DropNotNull]


def test_a_destination_without_primary_keys_is_reported():
    (planned_key,) = keyed([ID], [KEY], abilities=replace(SQL, add_primary_key=Way.NONE)).steps
    assert not planned_key.is_possible
