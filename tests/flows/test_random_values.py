"""Random values in columns that become wider or whose variants fold: on every destination no value changes.

Each example has columns of many types at the root and in a nested table. ``SCHEMACTL_DRAWS=100`` runs so many
examples for each destination except Spark catalogs; by default one.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

import pytest
from drawn_columns import DRAW_BY_TYPE, DrawnColumn, draw_column
from loading_shop import Shop
from stored_cells import Rows, is_same_cell, number_of, read_rows, survives

from schemactl.errors import DestinationError, InputError
from schemactl.flows.edit import edit_import
from schemactl.flows.migrate.apply import ApplyRequest, apply_migration
from schemactl.flows.migrate.rollback import RollbackRequest, rollback
from schemactl.flows.sync import sync_schemas
from schemactl.migration.options import PlanOptions
from schemactl.migration.reports import Outcome
from schemactl.schema.edits import Edits
from schemactl.schema.hints import Hints, parse_column

pytestmark = pytest.mark.destinations

EXAMPLES: Final = int(os.environ.get("SCHEMACTL_DRAWS", "1"))
SCHEMAS: Final = Path("schemas")
ROWS: Final = 3
TABLES: Final = ("orders", "orders__items")
CONTRACTS: Final = ("promote", "promote_text")


def kind_of(to: str) -> str:
    return "parquet" if to == "warehouse" else to.partition(":")[0]


def is_possible(kind: str, value: Any) -> bool:
    """Return whether a destination stores a value; others end in a refusal, or in another documented value."""
    number = number_of(value) if isinstance(value, int | float | str) else None
    is_negative_zero = number == 0 and isinstance(number, float)
    is_infinite = isinstance(number, float) and not is_negative_zero
    match kind:
        case "postgresql":
            return not (isinstance(value, str) and "\0" in value)
        case "sqlite":
            # Decimals are doubles there, and a double has neither NaN nor a sign of zero.
            return not (is_infinite or is_negative_zero) and not (number is not None and has_many_digits(value))
        case "mysql":
            return not (is_infinite or is_negative_zero)
        case _:
            return True


def has_many_digits(value: Any) -> bool:
    """Return whether a number, or a text of one, has more digits than a double."""
    return not isinstance(value, float) and sum(character.isdigit() for character in str(value)) > 15


def draw_columns(to: str, example: int, loads: int, *, has_sizes: bool) -> dict[str, list[DrawnColumn]]:
    kind = kind_of(to)
    chance = random.Random(f"{kind} {example}")
    excluded_types = () if has_sizes else UNGROWN_TYPES
    if kind == "spark":
        excluded_types = (*excluded_types, "time", "time(3)")  # reading them needs a setting of the session
    types = sorted(DRAW_BY_TYPE.keys() - set(excluded_types))
    return {
        table: [draw_column(chance, loads, ROWS, lambda value: is_possible(kind, value), types) for _ in range(count)]
        for table, count in zip(TABLES, (3, 2), strict=True)
    }


UNGROWN_TYPES: Final = (
    "bigint(8)",
    "bigint(16)",
    "bigint(32)",
    "decimal(6,2)",
    "decimal(20,10)",
    "text(5)",
    "binary(4)",
)
"""Types whose columns need a migration, without ``promote``, before they hold longer values."""


def load_all(shop: Shop, to: str, columns: dict[str, list[DrawnColumn]], **options: Any) -> bool:
    """Load the values of columns; the first load declares their types. Return whether no load was stopped."""
    declared = [
        parse_column(f"{table}.c{number}:{column.type_words}")
        for table, table_columns in columns.items()
        for number, column in enumerate(table_columns)
    ]
    loads = len(columns["orders"][0].loads)
    for load in range(loads):
        rows: dict[str, list[dict[str, Any]]] = {
            table: [
                {"id": row_id(load, row)}
                | {f"c{number}": column.loads[load][row] for number, column in enumerate(table_columns)}
                for row in range(ROWS)
            ]
            for table, table_columns in columns.items()
        }
        documents = [root | {"items": [item]} for root, item in zip(*rows.values(), strict=True)]
        hints = {"hints": Hints(columns=tuple(declared))} if load == 0 else {}
        report = shop.load(shop.write(f"{load}.jsonl", *documents), to=to, **hints, **options)
        if report.unfit:
            return False
    return True


def row_id(load: int, row: int) -> int:
    return load * ROWS + row


def new_shop(shop: Shop, monkeypatch: pytest.MonkeyPatch, example: int) -> Shop:
    folder = shop.folder / f"example_{example}"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return Shop(folder, shop.engine)


def test_all_values_survive_loads_that_widen_columns(
    shop: Shop, any_destination: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for example in range(1 if kind_of(any_destination) == "spark" else EXAMPLES):  # a catalog has one schema here
        columns = draw_columns(any_destination, example, 3, has_sizes=True)
        to = f"{any_destination}_{example}" if "dataset=" in any_destination else any_destination
        contract = f"data_type={CONTRACTS[example % 2]}"
        assert load_all(new_shop(shop, monkeypatch, example), to, columns, contract=contract), (to, example)

        for table, table_columns in columns.items():
            stored = read_rows(to, table)
            for number, column in enumerate(table_columns):
                changed = changed_values(stored, f"c{number}", column)
                assert changed == [], (to, example, table, column)


def changed_values(stored: Rows, name: str, column: DrawnColumn) -> list[tuple[Any, dict[str, Any]]]:
    """Return the values of a column that its cells, or those of its variants, do not hold, with these cells."""
    names = [stored_name for stored_name in stored.types if f"{stored_name}__v_".startswith(f"{name}__v_")]
    changed = []
    for load, values in enumerate(column.loads):
        for row, value in enumerate(values):
            cells = stored.values(row_id(load, row), *names)
            holds_value = len(cells) == 1 and all(
                survives(value, cell, stored.types[cell_name], column.data_type) for cell_name, cell in cells.items()
            )
            is_child = isinstance(value, dict | list) and column.type_words != "json"  # has columns of its own
            if not (cells == {} if value is None or is_child else holds_value):
                changed.append((value, cells))
    return changed


def test_all_values_survive_folds_or_refuse_them(
    shop: Shop, any_destination: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for example in range(1 if kind_of(any_destination) == "spark" else EXAMPLES):  # a catalog has one schema here
        columns = draw_columns(any_destination, example, 2, has_sizes=False)
        to = f"{any_destination}_{example}" if "dataset=" in any_destination else any_destination
        if not load_all(new_shop(shop, monkeypatch, example), to, columns):
            continue  # without `promote`, a number that neither a column nor its variant has room for stops a load
        for table, table_columns in columns.items():
            for number in range(len(table_columns)):
                check_fold(f"parquet:{to}" if to == "warehouse" else to, table, f"c{number}")


def check_fold(to: str, table: str, name: str) -> None:
    """Fold the variants of a column: all of its values are the same afterwards, or nothing has changed."""
    before = read_rows(to, table)
    variants = [variant for variant in before.types if variant.startswith(f"{name}__v_")]
    if not variants:
        return
    shutil.copytree(SCHEMAS, "schemas_before")
    is_done = is_folded(to, [f"{table}.{variant}" for variant in variants])
    after = read_rows(to, table)
    if is_done:
        for row in before.cells:
            old, new = before.values(row, name, *variants), after.cells[row][name]
            assert len(old) == (new is not None)
            for old_name, cell in old.items():
                assert is_same_cell(cell, before.types[old_name], new, after.types[name]), (cell, new)
        request = RollbackRequest("shop", to, allows_destructive=True)
        undo = rollback(request, lambda _: True, lambda: nullcontext(None))
        assert undo.outcome is Outcome.DONE, undo.blockers
        after = read_rows(to, table)
    for row in before.cells:
        assert after.values(row, name, *variants) == before.values(row, name, *variants)
    shutil.rmtree(SCHEMAS)
    shutil.move("schemas_before", SCHEMAS)


def is_folded(to: str, variants: list[str]) -> bool:
    """Return whether a fold was possible and has run."""
    try:
        edit_import("shop", SCHEMAS, Edits(folds=tuple(variants)))
    except InputError as error:
        if "no type holds all values of" in error.message:
            return False
        raise
    sync_schemas(("shop",), SCHEMAS, lambda _: True)
    request = ApplyRequest("shop", to, SCHEMAS, PlanOptions())
    report = apply_migration(request, lambda _: True, lambda: nullcontext(None))
    assert report.outcome in (Outcome.DONE, Outcome.REFUSED), report
    assert (report.outcome is Outcome.REFUSED) == any(
        "would not survive" in blocker.message for blocker in report.planned.blockers
    )
    return report.outcome is Outcome.DONE


@pytest.mark.parametrize(
    ("destination", "value", "refusal"),
    [
        ("postgresql", "a\0b", "PostgreSQL refuses NUL characters"),
        ("mysql", "NaN", "nan can not be used with MySQL"),
        ("mysql", "Infinity", "inf can not be used with MySQL"),
    ],
)
def test_values_that_a_destination_lacks_stop_the_load(
    shop: Shop, destination: str, value: str, refusal: str, request: pytest.FixtureRequest
) -> None:
    to = (
        f"{request.getfixturevalue('postgres_database')}?dataset=lacks"
        if destination == "postgresql"
        else f"{request.getfixturevalue('mariadb_url')}&dataset=lacks"
    )
    column = parse_column("x:text" if destination == "postgresql" else "x:double")

    with pytest.raises(DestinationError) as raised:
        shop.load(shop.write("a.jsonl", {"x": value}), to=to, hints=Hints(columns=(column,)))

    assert refusal in str(raised.value)


def test_halves_of_surrogate_pairs_are_no_text(shop: Shop) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        shop.load(shop.write("a.jsonl", {"x": json.loads('"a\\ud800b"')}), contract="data_type=promote")
