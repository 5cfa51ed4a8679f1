"""The loop with a dlt pipeline: its import file is edited, the destination follows, and the pipeline goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from forked_commands import MIGRATION, Commands, forked_commands

TO = "duckdb:///data.duckdb?dataset=d"

HINTS = """  payments:
    columns: {}
"""
EDITED = """  payments:
    columns:
      amount:
        data_type: double # cents are no whole numbers
      note:
        data_type: text
"""


@pytest.fixture(scope="module")
def schemactl() -> Iterator[Commands]:
    with forked_commands(MIGRATION) as run:
        yield run


def run_pipeline(*rows: dict[str, Any]) -> None:
    import dlt

    pipeline = dlt.pipeline(
        "p",
        destination=dlt.destinations.duckdb("data.duckdb"),
        dataset_name="d",
        pipelines_dir="pipelines",
        import_schema_path="schemas/import",
        export_schema_path="schemas/export",
    )
    pipeline.run(list(rows), table_name="payments").raise_on_failed_jobs()


def rows_of(query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect("data.duckdb") as connection:
        return connection.execute(query).fetchall()


def columns() -> dict[str, str]:
    return {name: kind for name, kind, *_ in rows_of("DESCRIBE d.payments")}


@pytest.fixture(autouse=True)
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_pipeline({"id": 1, "amount": 3, "coupon": "x", "tags": ["a"]})


def edit_hints() -> None:
    path = Path("schemas/import/p.schema.yaml")
    text = path.read_text()
    assert HINTS in text
    path.write_text(text.replace(HINTS, EDITED))


def test_a_pipeline_goes_on_after_an_edit_of_its_import_file(schemactl: Commands) -> None:
    edit_hints()
    answer = schemactl("diff", "p")
    assert "amount" in answer.out
    assert "_dlt_id" not in answer.out
    assert "coupon" not in answer.out

    plan = schemactl("migrate", "plan", "import:p", "--to", TO)
    assert (plan.code, plan.err) == (0, "")
    assert ", 0 to drop" in plan.out
    assert schemactl("migrate", "apply", "import:p", "--to", TO, "--yes").code == 0
    assert columns()["amount"] == "DOUBLE"
    assert {"_dlt_id", "_dlt_load_id", "coupon", "note"} <= columns().keys()

    run_pipeline({"id": 2, "amount": 3.7, "note": "n", "tags": []})
    assert rows_of("SELECT id, amount, note, coupon FROM d.payments ORDER BY id") == [
        (1, 3.0, None, "x"),
        (2, 3.7, "n", None),
    ]
    assert "amount__v_double" not in columns()
    assert schemactl("diff", "p").code == 0


def test_a_file_of_hints_drops_nothing_unasked(schemactl: Commands) -> None:
    edit_hints()
    hints = "schemas/import/p.schema.yaml"  # the file alone: it states neither `coupon` nor dlt's own columns
    answer = schemactl("migrate", "apply", hints, "--to", TO, "--yes")
    assert answer.code == 0, answer.err
    plan = schemactl("migrate", "plan", hints, "--to", TO).out
    for name in ("payments.coupon", "payments.id", "payments__tags"):
        assert f"left out: `{name}` is not dropped" in plan
    assert "_dlt" not in plan.replace("_dlt_version", "")
    assert columns()["amount"] == "DOUBLE"

    answer = schemactl("migrate", "apply", hints, "--to", TO, "--yes", "--allow-destructive")
    assert answer.code == 0, answer.err
    assert columns().keys() == {"amount", "note", "_dlt_id", "_dlt_load_id"}
    run_pipeline({"id": 2, "amount": 3.7, "note": "n"})
    assert rows_of("SELECT amount, note FROM d.payments ORDER BY amount") == [(3.0, None), (3.7, "n")]
