"""Saved evidence is a source beside files of data."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from loading_shop import LOCAL

from schemactl.errors import InputError
from schemactl.flows.infer import InferRequest, infer
from schemactl.inference.report import InferenceReport

ORDERS: list[Any] = [
    {"id": 1, "at": "2026-01-31T10:00:00Z", "place": None},
    {"id": "idx-2", "at": None},
    {"id": 3, "place": {"x": 1.5}, "lines": [{"n": 1}]},
]


def test_last_week_s_evidence_and_today_s_file_are_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text(json.dumps(ORDERS[0]))
    Path("b.jsonl").write_text("\n".join(map(json.dumps, ORDERS[1:])))
    inferred("week", "a.jsonl", evidence_file=Path("week.evidence.json"))

    parts, whole = inferred("parts", "b.jsonl", "week.evidence.json"), inferred("whole", "a.jsonl", "b.jsonl")

    assert parts == whole
    assert {table.name for table in parts.tables} == {"orders", "orders__lines"}


def inferred(folder: str, *sources: str, **asked: Any) -> InferenceReport:
    request = InferRequest(sources=sources, name="shop", table="orders", schemas=Path(folder), engine=LOCAL)
    return replace(infer(replace(request, **asked)), written=())


@pytest.mark.parametrize("source", ["duckdb:///a.duckdb", "postgresql://ann@db/a", "sqlite:///a.db", "delta:a"])
def test_a_destination_is_no_source_and_the_hint_names_the_commands_for_it(source: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        inferred(str(tmp_path / "schemas"), source)

    assert caught.value.message == f"`{source}` is a destination, not data"
    assert caught.value.hint is not None
    assert f"`schemactl migrate plan NAME --to {source}`" in caught.value.hint
    assert f"`schemactl import {source} --name NAME`" in caught.value.hint


def test_a_file_with_the_name_of_an_address_is_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("duckdb:a").mkdir()
    Path("duckdb:a/b.jsonl").write_text('{"id": 1}')

    assert inferred("schemas", "duckdb:a/b.jsonl").tables


def test_the_commands_of_a_hint_quote_an_address_with_blanks(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        inferred(str(tmp_path / "schemas"), "duckdb:///my data.duckdb")

    assert "`schemactl import 'duckdb:///my data.duckdb' --name NAME`" in str(caught.value.hint)
