"""Times reading a large schema file step by step, and a PyYAML load of the same text beside it.

    uv run --group dev python benchmarks/read.py --tables 1000 --columns 30

Each time is the best of several rounds, in milliseconds.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TYPES = ("text", "bigint", "timestamp", "bool", "double", "decimal", "json")
HINTS = ("sort", "unique", "partition", "merge_key")
WORDS = ("order", "customer", "amount", "created", "updated", "status", "line", "total", "country", "device")


def main() -> None:
    arguments = _parse_arguments()
    text = made_up_schema(arguments.tables, arguments.columns)
    if arguments.output:
        arguments.output.write_text(text)
    print(f"{len(text) / 1e6:.1f} MB, {text.count(chr(10)):,} lines")
    for name, step in steps(text):
        print(f"{best_of(arguments.rounds, step) * 1000:8.0f} ms  {name}")


def steps(text: str) -> tuple[tuple[str, Callable[[], Any]], ...]:
    """Return what reading consists of, the whole first."""
    import yaml

    from schemactl.formats import dlt
    from schemactl.schema.hash import version_hash
    from schemactl.schema.types import schema_from_dict
    from schemactl.schema.validation import check
    from schemactl.trees.nodes import Source, value_of
    from schemactl.trees.yaml_text import parse_yaml

    path = "made.schema.yaml"
    root = parse_yaml(Source(path, text))
    stored = value_of(root)
    schema = schema_from_dict(stored)
    return (
        ("read", lambda: dlt.read(text, path)),
        ("  text -> tree", lambda: parse_yaml(Source(path, text))),
        ("  tree -> values", lambda: value_of(root)),
        ("  check", lambda: check(stored)),
        ("  values -> Schema", lambda: schema_from_dict(stored)),
        ("  hash", lambda: version_hash(schema)),
        ("PyYAML, libyaml", lambda: yaml.load(text, yaml.CSafeLoader)),
    )


def made_up_schema(tables: int, columns: int, seed: int = 0) -> str:
    """Return a schema file as dlt exports it."""
    from schemactl.formats.dlt import write
    from schemactl.schema.hash import bump
    from schemactl.schema.templates import new_schema
    from schemactl.schema.types import Column, Table

    source = random.Random(seed)
    schema = new_schema("made")
    made = dict(schema.tables)
    for number in range(tables):
        name = f"{source.choice(WORDS)}_{number}"
        held = {
            column: Column(column, _properties(source))
            for column in (f"{source.choice(WORDS)}_{source.choice(WORDS)}_{place}" for place in range(columns))
        }
        made[name] = Table(name, held, {"write_disposition": "append", "resource": name})
    return write(bump(type(schema)(**{**_fields(schema), "tables": made})))


def _properties(source: random.Random) -> dict[str, Any]:
    properties: dict[str, Any] = {"data_type": source.choice(TYPES), "nullable": source.random() < 0.8}
    if source.random() < 0.2:
        properties[source.choice(HINTS)] = True
    if source.random() < 0.1:
        properties["description"] = f"the {source.choice(WORDS)}'s {source.choice(WORDS)}: as the source has it"
    if properties["data_type"] == "decimal":
        properties |= {"precision": 38, "scale": 9}
    return properties


def _fields(schema: Any) -> dict[str, Any]:
    return {name: getattr(schema, name) for name in schema.__slots__}


def best_of(rounds: int, step: Callable[[], Any]) -> float:
    """Return the seconds of the fastest round."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        step()
        times.append(time.perf_counter() - started)
    return min(times)


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--columns", type=int, default=30, help="in each table")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, help="keep the file here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
