"""Files of own SQL: how they are divided, what they may say, and that they count in a migration's hash."""

from __future__ import annotations

from dataclasses import replace

import pytest
from migrated_datasets import ADDED, FIRST

from schemactl.destinations import DESTINATIONS
from schemactl.errors import InputError
from schemactl.migration.custom_sql import OwnSql, When, read_own
from schemactl.migration.migration_files import DialectPlan, Migration, own_files_of, with_own_files
from schemactl.migration.migration_plan import MigrationPlan, Place, plain_schema, with_own
from schemactl.migration.plan_documents import from_document, plan_hash, read_plan, to_document, write_plan
from schemactl.migration.planner import plan_steps
from schemactl.schema.structure import structure_of
from schemactl.schema.types import Schema


def read(text: str, dialect: str = "postgresql", when: When = When.BEFORE) -> OwnSql:
    return read_own(text, "f.sql", 1, when, dialect)


def test_what_stands_above_the_first_marker_runs() -> None:
    found = read("""-- Orders without an amount; see issue 5.
UPDATE ${dataset}.orders SET amount = 0 WHERE amount IS NULL;
DELETE FROM ${dataset}.orders WHERE id < 0

-- schemactl: undo
-- Nothing was lost.
""")
    assert found.statements == (
        "UPDATE ${dataset}.orders SET amount = 0 WHERE amount IS NULL",
        "DELETE FROM ${dataset}.orders WHERE id < 0",
    )
    assert (found.undo, found.precondition, found.is_undoable) == ((), None, True)


def test_sections_may_stand_in_any_order() -> None:
    found = read("""
-- schemactl: undo
DELETE FROM a;
  --schemactl:  precondition
SELECT 1 FROM b WHERE c = 'x;y';
-- schemactl: run
INSERT INTO a SELECT * FROM b;
""")
    assert found.statements == ("INSERT INTO a SELECT * FROM b",)
    assert found.undo == ("DELETE FROM a",)
    assert found.precondition == "SELECT 1 FROM b WHERE c = 'x;y'"


def test_a_file_without_an_undo_cannot_be_undone_and_an_empty_one_need_not_be() -> None:
    assert not read("DELETE FROM a").is_undoable
    empty = read("-- nothing for this dialect\n")
    assert empty.is_undoable
    assert empty.is_empty
    assert not read("-- schemactl: precondition\nSELECT 1").is_empty


@pytest.mark.parametrize(("dialect", "text", "count"), [
    ("postgresql", "DO $body$ BEGIN PERFORM 1; COMMIT; END $body$; SELECT ';--'", 2),
    ("postgresql", "SELECT E'it\\'s; -- schemactl: undo'; /* a; /* b; */ c; */ SELECT 2", 2),
    ("postgresql", "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; END; SELECT 1", 2),
    ("sqlite", "CREATE TRIGGER t AFTER INSERT ON o BEGIN UPDATE o SET a = CASE WHEN 1 THEN 2 END; END; SELECT 1;", 2),
    ("sqlite", "CREATE TRIGGER t AFTER INSERT ON o BEGIN UPDATE o SET \"end\" = 'begin'; SELECT 1; END; SELECT 2", 2),
    ("postgresql", "CREATE FUNCTION begin() RETURNS int LANGUAGE sql AS 'SELECT 1'; SELECT 'end'", 2),
    ("sqlite", 'SELECT [a;b], "c;d", `e;f`;;', 1),
    ("duckdb", "SELECT 'a\n-- schemactl: undo\nb'", 1),
    ("duckdb", "SELECT $$a;b$$; FROM orders SELECT count(*)", 2),
])  # fmt: skip
def test_statements_end_where_the_dialect_ends_them(dialect: str, text: str, count: int) -> None:
    found = read(text, dialect).statements
    assert len(found) == count
    assert all(each in text for each in found)


def test_line_ends_of_windows_change_nothing() -> None:
    text = "UPDATE a\nSET b = 1;\n-- schemactl: undo\nUPDATE a SET b = 0;\n"
    assert read(text.replace("\n", "\r\n")) == read(text)


@pytest.mark.parametrize(("text", "line", "message"), [
    ("SELECT 1;\nCOMMIT;", 2, "`COMMIT` is about transactions"),
    ("begin; SELECT 1; END", 1, "`BEGIN` is about transactions"),
    ("SELECT 1;\n\nrollback to savepoint a", 3, "`ROLLBACK` is about transactions"),
    ("START TRANSACTION", 1, "`START` is about transactions"),
    ("SELECT 1;\n-- schemactl: undo\nSAVEPOINT a", 3, "`SAVEPOINT` is about transactions"),
    ("SELECT 1;\n-- schemactl: rollback\nSELECT 2", 2, "there is no section `rollback`"),
    ("-- schemactl: undo\n-- schemactl: undo\n", 2, "there are two sections `undo`"),
    ("SELECT 1;\n-- schemactl: run\nSELECT 2", 1, "there are statements above the first section"),
    ("/*\n-- schemactl: undo\n*/ SELECT 1", 2, "this marker is not at the start of a line, or is in a comment"),
    ("/* a /* b */\n-- schemactl: undo\n*/ SELECT 1", 2,
     "this marker is not at the start of a line, or is in a comment"),
    ("SELECT 1; -- schemactl: undo", 1, "this marker is not at the start of a line, or is in a comment"),
    ("-- schemactl: precondition\nSELECT 1; SELECT 2", 1, "a precondition must be one query"),
    ("-- schemactl: precondition\nDELETE FROM a", 1, "a precondition must be one query"),
    ("-- schemactl: precondition\n", 1, "a precondition must be one query"),
    ("SELECT 'a", None, "this is not SQL"),
    ("SELECT 1 /* a", None, "this is not SQL"),
    ("CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; COMMIT;", 1, "a `BEGIN` has no `END`"),
    ("CREATE FUNCTION f() RETURNS int AS 'begin';\nCOMMIT; SELECT 'end'", 2, "`COMMIT` is about transactions"),
])  # fmt: skip
def test_what_cannot_run_in_a_transaction_or_be_understood_is_refused_with_its_line(
    text: str, line: int | None, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(text)
    assert caught.value.message.startswith(message)
    assert caught.value.at is not None
    assert caught.value.at.line == line


def test_many_comments_before_a_marker_take_no_time() -> None:
    assert read("/* a */ -- b\n" * 500 + "-- schemactl: undo\nSELECT 1").undo == ("SELECT 1",)
    with pytest.raises(InputError):
        read("SELECT 1;" + "/**//**/" * 500 + "/* a\n-- schemactl: undo\n*/")


def test_nothing_instead_of_a_step_is_refused() -> None:
    with pytest.raises(InputError, match="the file has no statement to run instead of the step"):
        read("-- schemactl: undo\nSELECT 1", when=When.INSTEAD)


def migration(*dialects: str) -> Migration:
    """From ``FIRST`` to ``ADDED``: a retype, a rename, a new column."""
    plans = {}
    for dialect in dialects:
        module = DESTINATIONS[dialect]
        catalogue = Schema(name="shop", tables=dict(structure_of(FIRST, FIRST, module.stored).tables))
        steps = plan_steps(catalogue, ADDED, FIRST, stored=module.stored, abilities=module.ABILITIES)  # type: ignore[attr-defined]
        plans[dialect] = DialectPlan(steps.steps, steps.notes)
    return Migration(7, "add", None, FIRST.version_hash, plain_schema(ADDED), plans)


def attached(texts: dict[str, str], *dialects: str) -> tuple[Migration, list[str]]:
    found, problems = with_own_files(migration(*(dialects or ("duckdb",))), texts)
    return found, [each.message for each in problems]


def test_own_sql_counts_in_the_hash_of_its_migration_and_comments_do_not() -> None:
    name = "0007_add.duckdb.2.before.sql"
    bare = migration("duckdb").mark
    first, problems = attached({name: "SELECT 1"})
    assert problems == []
    assert first.mark.name == bare.name
    marks = {bare.hash, first.mark.hash}
    for text in ("SELECT 2", "SELECT 1;\n-- schemactl: undo", "-- schemactl: precondition\nSELECT 1", ""):
        marks.add(attached({name: text})[0].mark.hash)
    marks.add(attached({"0007_add.duckdb.1.before.sql": "SELECT 1"})[0].mark.hash)
    marks.add(attached({"0007_add.duckdb.2.after.sql": "SELECT 1"})[0].mark.hash)
    assert len(marks) == 8
    assert attached({name: "-- why\nSELECT 1;\n"})[0].mark == first.mark


def test_files_are_found_by_their_names_alone() -> None:
    names = [
        "0007_add.json",
        "0007_add.duckdb.sql",
        "0007_add.duckdb.2.after.sql",
        "0007_add.duckdb.02.after.sql",
        "0007_add.duckdb.2.during.sql",
        "0007_add_more.duckdb.2.after.sql",
    ]
    assert own_files_of("0007_add", names) == ["0007_add.duckdb.2.after.sql"]


def test_a_step_or_a_dialect_that_is_not_there_is_named() -> None:
    _, problems = attached({"0007_add.duckdb.9.before.sql": "SELECT 1", "0007_add.postgres.1.before.sql": "SELECT 1"})
    assert problems == [
        "`0007_add.duckdb.9.before.sql` is for step 9, and of its steps `0007_add` has 3 with duckdb",
        "`0007_add.postgres.1.before.sql` is for step 1, and of its steps `0007_add` has none for postgres",
    ]


def test_a_dialect_without_own_sql_says_so_with_an_empty_file() -> None:
    texts = {"0007_add.duckdb.2.before.sql": "SELECT 1"}
    _, problems = attached(texts, "duckdb", "sqlite")
    assert problems == ["`0007_add` has custom SQL for duckdb, but not for sqlite"]
    assert attached({**texts, "0007_add.sqlite.1.after.sql": "-- none is needed\n"}, "duckdb", "sqlite")[1] == []


def plan(texts: dict[str, str]) -> MigrationPlan:
    found, problems = attached(texts)
    assert problems == []
    steps = found.plans["duckdb"]
    bare = MigrationPlan(Place("duckdb", "x", "shop"), found.schema, (), "", steps.steps, (), found.mark)
    return with_own(bare, steps.own)


def test_a_plan_says_that_a_step_whose_own_sql_has_no_undo_cannot_be_undone() -> None:
    made = plan(
        {"0007_add.duckdb.1.after.sql": "SELECT 1", "0007_add.duckdb.2.after.sql": "SELECT 1\n-- schemactl: undo"}
    )
    assert made.steps[0].undo.note == "`0007_add.duckdb.1.after.sql` does not declare its undo"
    assert not made.steps[0].undo.is_possible


def test_own_sql_is_kept_with_its_plan_and_counts_in_its_hash() -> None:
    texts = {
        "0007_add.duckdb.2.after.sql": "SELECT 3",
        "0007_add.duckdb.2.before.sql": (
            "-- schemactl: precondition\nSELECT 1\n-- schemactl: run\nSELECT 2\n-- schemactl: undo\n"
        ),
        "0007_add.duckdb.2.instead.sql": "SELECT 4",
    }
    made = plan(texts)
    assert [own.when for own in made.own_of(2)] == [When.BEFORE, When.INSTEAD, When.AFTER]
    assert all(from_document(OwnSql, to_document(own)) == own for own in made.own)
    assert read_plan(write_plan(made), "x") == made
    assert plan_hash(made) != plan_hash(replace(made, own=()))


def test_what_own_sql_may_have_changed_begins_behind_it() -> None:
    before, after = (plan({f"0007_add.duckdb.2.{when}.sql": "SELECT 1"}) for when in ("before", "after"))
    assert (before.changed_from(), before.changed_from(1), before.changed_from(2)) == (1, 1, 3)
    assert after.changed_from() == 2
    assert 1 in before.cuts
    assert 2 in after.cuts
