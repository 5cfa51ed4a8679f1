"""What rejected rows ask for: beside pipelines of dlt, whose later rejected rows add nothing to the schema either."""

from __future__ import annotations

import copy
from typing import Any

from loaded_tables import ByDlt, BySchemactl
from test_inference_parity import PLAIN
from test_normalize_contract_parity import known

FIRST = {"nr": 0, "new": 1}
"""The first row that dlt rejects; the ones after it are not looked at."""

CASES: dict[str, list[Any]] = {
    "of_variant": [{"nr": 1}, FIRST, {"nr": "x", "new": 5}, {"nr": 2}],
    "of_table": [{"nr": 1}, FIRST, {"nr": 2, "new": 5, "items": [{"y": 1}]}],
    "of_all": [FIRST, {"nr": "x", "new": 5}],
    "kept": [FIRST, {"nr": "x", "new": 5}, {"nr": "y"}, {"nr": 2}],
    "nested": [{"nr": 1, "lines": [{"a": 1}]}, {"nr": 2, "lines": [{"b": 1}, {"a": "x", "b": 2}]}],
}
"""By the names of their tables."""


def stored_schema() -> dict[str, Any]:
    """Return a schema as an edited import file leaves it, without marks of data."""
    stored = copy.deepcopy(PLAIN)
    contract = {"columns": "discard_row"}
    for name in CASES:
        stored["tables"][name] = {**known(None, contract, nr="bigint"), "resource": name}
        stored["tables"][f"{name}__lines"] = known(name, contract, a="bigint")
    for table in stored["tables"].values():
        table.pop("x-normalizer", None)
    return stored


def test_rejected_rows_add_nothing_to_the_schema(local_engine: Any, tmp_path: Any) -> None:
    theirs = ByDlt(tmp_path / "theirs", stored_schema())
    theirs.load_tables({case: (rows, {}) for case, rows in CASES.items()})
    ours = BySchemactl(local_engine, tmp_path / "ours", stored_schema())

    ours.load_tables(CASES)

    found, expected = ours.stored["tables"], theirs.stored["tables"]
    assert {name: list(table["columns"]) for name, table in found.items()} == {
        name: list(table["columns"]) for name, table in expected.items()
    }
    assert {name: table.get("x-normalizer") for name, table in found.items()} == {
        name: table.get("x-normalizer") for name, table in expected.items()
    }


def test_a_load_whose_rows_are_all_rejected_makes_no_version(local_engine: Any, tmp_path: Any) -> None:
    ours = BySchemactl(local_engine, tmp_path, stored_schema(), table="kept")
    before = (ours.stored["version"], ours.stored["version_hash"])
    ours.load([{"nr": "x", "new": 5, "items": [{"y": 1}]}])
    assert (ours.stored["version"], ours.stored["version_hash"]) == before
