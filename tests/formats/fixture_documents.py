"""The documents of the fixtures, and the schemas that inference finds of them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from schemactl.inference.evidence import Position
from schemactl.inference.resolve import resolve
from schemactl.kernel.observation import Observer
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Schema

FIXTURES = Path(__file__).parents[2] / "fixtures"


def documents(name: str) -> list[dict[str, Any]]:
    text = (FIXTURES / name).read_text()
    found: list[dict[str, Any]] = (
        json.loads(text) if name.endswith(".json") else [json.loads(line) for line in text.splitlines()]
    )
    return found


@cache
def inferred(name: str) -> Schema:
    table = name.partition(".")[0]
    found, observer = documents(name), Observer()
    observer.add(found, [Position(name, number) for number in range(1, len(found) + 1)])
    return resolve(observer.evidence(), new_schema("shop"), table).schema
