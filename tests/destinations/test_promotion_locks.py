"""A load into PostgreSQL that has to widen a column while another session reads the table."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest

from schemactl.engine.choice import EngineName, EngineOptions
from schemactl.errors import LockNotAvailable
from schemactl.flows.infer import InferRequest
from schemactl.flows.normalize import NormalizeRequest, normalize
from schemactl.flows.promotion import PromoteLocks, PromotionOptions

LOCAL = EngineOptions(EngineName.LOCAL)


def load(to: str, score: float, locks: PromoteLocks) -> None:
    Path("orders.jsonl").write_text(json.dumps({"id": 1, "score": score}) + "\n")
    inference = InferRequest(
        ("orders.jsonl",), "shop", table="orders", schemas=Path("schemas"), contract="data_type=promote", engine=LOCAL
    )
    normalize(NormalizeRequest(inference, to, promotion=PromotionOptions(locks=locks)))


def test_a_load_fails_at_once_if_it_must_not_wait_for_a_reader(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    dataset = f"locks_{abs(hash(tmp_path))}"
    to = f"{postgres_url}?dataset={dataset}"
    load(to, 1, PromoteLocks.FAIL)
    query = f"select score from {dataset}.orders".encode()

    with psycopg.connect(postgres_url) as reader:
        assert reader.execute(query).fetchall() == [(1,)]
        with pytest.raises(LockNotAvailable):
            load(to, 1.5, PromoteLocks.FAIL)
    load(to, 1.5, PromoteLocks.FAIL)

    with psycopg.connect(postgres_url) as reader:
        assert sorted(reader.execute(query).fetchall()) == [(1.0,), (1.5,)]
