"""Nulls and contracts: an edit of a file that changes them is judged, what a source states of them is not."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from loading_shop import Shop

from schemactl.cli.app import run
from schemactl.normalization.report import Outcome

IMPORT = Path("schemas/import/shop.schema.yaml")


def test_a_contract_judges_nulls_in_edits_of_files_and_not_those_that_sources_state(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pa.table({"id": [1]})
    pq.write_table(table, "orders.parquet")
    assert shop.load("orders.parquet").outcome is Outcome.LOADED

    stated = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    pq.write_table(table.cast(stated), "orders.parquet")
    assert shop.load("orders.parquet", contract="freeze", load_id="later").outcome is Outcome.LOADED

    assert run(["edit", "shop", "--contract", "data_type=freeze"]) == 0
    assert run(["sync", "shop", "--yes"]) == 0
    assert run(["edit", "shop", "--table", "orders", "--column", "id:bigint,not_null"]) == 0
    capsys.readouterr()
    assert run(["diff", "--format", "json"]) == 1
    out = capsys.readouterr().out
    assert '"is_violation": true' in out
    assert "nullable" in out
