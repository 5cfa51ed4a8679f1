"""How often a plan and its undo copy a table where the engine cannot change it in its place."""

import pytest
from schema_parts import column

from schemactl.destinations import duckdb
from schemactl.migration.effects import apply_to_model
from schemactl.migration.migration_plan import Place, make_plan
from schemactl.migration.options import PlanOptions
from schemactl.migration.planner import plan_steps
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Table


def table(*columns):
    return Table("orders", {each.name: each for each in columns})


ID = column("id", "bigint", nullable=False)
UNIQUE = column("code", unique=True)


def copies(statements):
    return sum(each.startswith("CREATE TABLE") and "_schemactl_copy_" in each for each in statements)


@pytest.mark.parametrize(
    ("before", "after", "forth", "back"),
    [
        # The new key alone; no column is dropped from a table that has it.
        (table(ID, column("code"), column("a"), column("b")), table(ID, UNIQUE), 1, None),
        # Its undo drops the key first, and then the new columns in their place.
        (table(ID, column("code")), table(ID, UNIQUE, column("a"), column("b")), 1, 1),
        (table(ID, UNIQUE, column("a")), table(ID, column("code"), column("b"), column("c")), 1, None),
    ],
)
def test_a_table_is_copied_for_its_keys_alone(before, after, forth, back, tmp_path):
    known, wanted = (bump(new_schema("shop").with_table(each)) for each in (before, after))
    with duckdb.connect(f"duckdb:///{tmp_path / 'file.duckdb'}?dataset=shop", "shop") as session:
        session.database.execute('CREATE SCHEMA "shop"')
        listed = '"id" BIGINT NOT NULL, ' + ", ".join(
            f'"{each.name}" VARCHAR{" UNIQUE" if each.properties.get("unique") else ""}'
            for each in list(before.columns.values())[1:]
        )
        session.database.execute(f'CREATE TABLE "shop"."orders" ({listed})')
        session.database.execute("""INSERT INTO "shop"."orders" ("id", "code") VALUES (1, 'x'), (2, 'y')""")
        catalogue = session.catalogue().schema
        options = PlanOptions(compares_unique=True)
        proposal = plan_steps(
            catalogue, wanted, known, stored=duckdb.stored, abilities=duckdb.ABILITIES, options=options
        )

        def render(step, there):
            return duckdb.render(step, there, "shop")

        plan = make_plan(proposal, catalogue, wanted, Place("duckdb", session.origin, "shop"), render)
        assert copies(statement for each in plan.steps for statement in each.statements) == forth
        with session.transaction():
            for each in plan.steps:
                session.run(each.step, each.statements)
        found = session.catalogue().schema.tables["orders"]
        model = dict(proposal.catalogue.tables)
        apply_to_model(model, [each.step for each in plan.steps])
        assert set(found.columns) == set(model["orders"].columns) == set(after.columns)
        assert session.row_count("orders") == 2
        if back is not None:
            undone = [statement for each in reversed(plan.steps) for statement in each.undo_statements]
            assert copies(undone) == back
            with session.transaction():
                for each in reversed(plan.steps):
                    session.run(each.step, each.undo_statements)
            assert set(session.catalogue().schema.tables["orders"].columns) == set(before.columns)
