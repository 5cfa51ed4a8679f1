"""Made-up plans, one for each situation that a reader meets."""

from __future__ import annotations

from dataclasses import replace

from schemactl.destinations import postgresql
from schemactl.migration.abilities import Abilities
from schemactl.migration.custom_sql import DATASET, OwnSql, When
from schemactl.migration.migration_plan import MigrationMark, MigrationPlan, Place, make_plan, with_own
from schemactl.migration.options import OnUnfit, PlanOptions
from schemactl.migration.planner import PlannedStep, plan_steps
from schemactl.migration.steps import Step
from schemactl.migration.ways import Way
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

EVIL = "a|b`c``d\\\n::error\r\n\x1b[31m\x9b2J\u202e[red]*x*😀 "
_PLACE = Place("postgresql", "postgresql://loader@db.example:5432/shop", "shop_data")
_ABILITIES = Abilities(names=postgresql.NAMES)


def empty() -> MigrationPlan:
    """A destination that has all, and one table that waits for data."""
    seen = _table("orders", _column("id", "bigint"), **{"x-normalizer": {"seen-data": True}})
    later = _table("refunds", _column("id", "bigint"))
    return _plan([seen], [seen, later], [seen])


def changed() -> MigrationPlan:
    """A bit of everything."""
    there = [
        _table(
            "orders",
            _column("id", "bigint", nullable=False),
            _column("amount", "bigint"),
            _column("note"),
            _column("paid", "text"),
            _column("legacy_code"),
            _column("by_hand", nullable=False),
            _column("total__before_1"),
            _column("total", "double"),
        ),
        _table("carts", _column("id", "bigint")),
    ]
    wanted = [
        _table(
            "orders",
            _column("id", "bigint"),
            _column("amount", "text"),
            _column("memo", **{"x-renamed-from": "note"}),
            _column("paid", "timestamp", nullable=False),
            _column("state", nullable=False, **{"x-backfill": "new"}),
            _column("channel", nullable=False),
            _column("total", "double"),
        ),
        _table("orders__items", _column("sku"), _column("price", "decimal", precision=10, scale=2), parent="orders"),
    ]
    return _plan(there, wanted, [*there], known_leaves=("by_hand", "total__before_1"))


def own() -> MigrationPlan:
    """A retype and a new column, with SQL of the migration's own around the first and instead of the second."""
    there = [_table("orders", _column("amount"))]
    wanted = [_table("orders", _column("amount", "bigint"), _column("paid", "bool"))]
    plan = _plan(there, wanted, there)
    numbers = {type(planned.step).__name__: number for number, planned in enumerate(plan.steps, 1)}
    name, retype, adding = "0007_amount.postgresql", numbers["ChangeType"], numbers["AddColumn"]
    table = f"{DATASET}.orders"
    texts = [
        OwnSql(
            f"{name}.{retype}.before.sql",
            retype,
            When.BEFORE,
            (f"UPDATE {table}\nSET amount = NULL\nWHERE amount = ''", f"DROP VIEW {DATASET}.totals"),
            (f"CREATE VIEW {DATASET}.totals AS SELECT amount FROM {table}", f"UPDATE {table} SET amount = ''"),
            f"SELECT 1 FROM {table}",
        ),
        OwnSql(f"{name}.{retype}.after.sql", retype, When.AFTER, (f"ANALYZE {table}",), ()),
        OwnSql(f"{name}.{adding}.instead.sql", adding, When.INSTEAD, (f"ALTER TABLE {table} ADD paid boolean",)),
    ]
    return with_own(replace(plan, migration=MigrationMark("0007_amount", "ab12")), texts)


def expanded() -> MigrationPlan:
    """A column whose values may not fit, exchanged; what does not fit goes to a variant."""
    there, wanted = [_table("orders", _column("paid", nullable=False))], [_table("orders", _column("paid", "bool"))]
    return _plan(there, wanted, there, options=PlanOptions(on_unfit=OnUnfit.VARIANT))


def stuck() -> MigrationPlan:
    """A destination that copies tables, and cannot do all."""
    abilities = replace(_ABILITIES, retype=lambda *_: Way.COPY, drop_column=Way.NONE)
    there = [_table("orders", _column("id", "bigint"), _column("gone"))]
    return _plan(there, [_table("orders", _column("id"))], there, abilities=abilities)


def shared() -> MigrationPlan:
    """Three steps that one copy of their table does, and two that write a table's rows anew once."""
    there = [
        _table("orders", _column("amount"), _column("paid"), _column("state")),
        _table("carts", _column("size"), _column("seen")),
    ]
    wanted = [
        _table("orders", _column("amount", "bigint"), _column("paid", "date"), _column("state", "bool")),
        _table("carts", _column("size", "bigint"), _column("seen", "date")),
    ]
    made = _plan(there, wanted, there)
    copied, rewritten = made.steps[:3], made.steps[3:]
    copies = tuple(statement for each in copied for statement in each.statements)
    return replace(made, steps=(*_at_once(copied, 3, copies), *_at_once(rewritten, 5, rewritten[-1].statements)))


def _at_once(steps: tuple[PlannedStep, ...], last: int, statements: tuple[str, ...]) -> tuple[PlannedStep, ...]:
    bare = tuple(replace(each, statements=(), done_with=last) for each in steps)
    return (*bare[:-1], replace(bare[-1], statements=statements))


def hostile() -> MigrationPlan:
    """Names and values that try to steer the terminal."""
    stored = (_column(f"{EVIL}1"), _column(f"{EVIL}2", "bigint"), _column(f"{EVIL}note", nullable=False))
    columns = (_column(f"{EVIL}2"), _column(f"{EVIL}notes", nullable=False, **{"x-backfill": EVIL}))
    made = _plan([_table("orders", *stored)], [_table("orders", *columns)], [_table("orders", _column(f"{EVIL}1"))])
    return replace(made, place=Place(EVIL, EVIL, EVIL), schema={**made.schema, "name": EVIL})


def _column(name: str, data_type: str = "text", **hints: object) -> Column:
    return Column(name, {"data_type": data_type, **hints})


def _table(name: str, *columns: Column, **properties: object) -> Table:
    return Table(name, {column.name: column for column in columns}, properties)


def _schema(tables: list[Table], leaves: tuple[str, ...] = ()) -> Schema:
    made = new_schema("shop")
    for table in tables:
        columns = {name: column for name, column in table.columns.items() if name not in leaves}
        made = made.with_table(replace(table, columns=columns))
    return bump(made)


def _plan(
    there: list[Table],
    wanted: list[Table],
    known: list[Table],
    *,
    abilities: Abilities = _ABILITIES,
    options: PlanOptions | None = None,
    known_leaves: tuple[str, ...] = (),
) -> MigrationPlan:
    catalogue, schema, last = _schema(there), _schema(wanted), _schema(known, known_leaves)
    proposal = plan_steps(catalogue, schema, last, stored=postgresql.stored, abilities=abilities, options=options)
    return make_plan(proposal, catalogue, schema, _PLACE, _render)


def _render(step: Step, _: Table | None) -> tuple[str, ...]:
    column = step.column_name
    place = f'"shop_data"."{step.table_name}"' + (f' ("{column}")' if column else "")
    return (f"{type(step).__name__.upper()} {place}\n  -- as this database would say it",)
