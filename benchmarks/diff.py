"""Times ``diff`` and ``apply`` on made-up schemas of many tables, functions only: no files, no report.

    uv run --group dev python benchmarks/diff.py --tables 1000 --columns 30

Each figure is the best of some rounds, on schemas that share no object, as two files would give them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace

from schemactl.schema.apply import apply
from schemactl.schema.diff import diff
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

TYPES = ("text", "bigint", "double", "timestamp", "bool")
EDITED_TABLES = 5


def main() -> None:
    arguments = _parse_arguments()
    tables, columns, rounds = arguments.tables, arguments.columns, arguments.rounds
    base, same = schema(tables, columns, "field_{}_of_some_thing"), schema(tables, columns, "field_{}_of_some_thing")
    others = {
        "nothing changed": same,
        "a few columns changed": edited(same),
        "every column renamed": schema(tables, columns, "fields_{}_of_some_thing"),
        "every column another": schema(tables, columns, "value_{}"),
        "every table another": replace(base, tables={f"new_{name}": _moved(t) for name, t in base.tables.items()}),
    }
    for name, head in others.items():
        changes = diff(base, head)
        spent = best_of(rounds, lambda head=head: diff(base, head))
        applied = best_of(rounds, lambda changes=changes: apply(base, changes))
        print(f"{name:24} {len(changes):7,} changes   diff {spent * 1000:7.1f} ms   apply {applied * 1000:7.1f} ms")


def schema(tables: int, columns: int, pattern: str) -> Schema:
    made = (Table(f"table_{number}", _columns(columns, f"{pattern}_x{number}")) for number in range(tables))
    return replace(new_schema("benchmark"), tables={table.name: table for table in made})


def _columns(count: int, pattern: str) -> dict[str, Column]:
    names = [pattern.format(number) for number in range(count)]
    return {
        name: Column(name, {"data_type": TYPES[n % len(TYPES)], "nullable": n > 0, "description": f"the {n}th"})
        for n, name in enumerate(names)
    }


def edited(whole: Schema) -> Schema:
    """Return the schema with one column of some tables changed."""
    for table in list(whole.tables.values())[:EDITED_TABLES]:
        name, column = next(iter(table.columns.items()))
        changed = replace(column, properties={**column.properties, "data_type": "json"})
        whole = whole.with_table(replace(table, columns={**table.columns, name: changed}))
    return whole


def _moved(table: Table) -> Table:
    return replace(table, name=f"new_{table.name}")


def best_of(rounds: int, work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    main()
