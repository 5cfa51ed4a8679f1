"""Decimals of more digits than loads bring, or with more after the point: refused before anything is read or saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemactl.cli.app import run
from schemactl.flows.normalize import Call, NormalizeRequest, prepare
from schemactl.flows.request import InferRequest

MORE = "`t.d` has 50 digits; a load into `{}` supports up to 38"


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # It is not read: that would take Spark, and fail.
    Path("data.jsonl").write_text("no JSON\n")


@pytest.mark.parametrize(
    ("address", "kind"),
    [("out", "parquet"), ("delta:out", "delta"), ("iceberg:out", "iceberg"), ("duckdb:///out", "duckdb"),
     ("sqlite:///out", "sqlite")],
)  # fmt: skip
@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("decimal(50,40)", MORE),
        ("decimal(5)", "`t.d`: a load has no decimal(5,9) (`d`): the scale is larger than the precision"),
    ],
)
def test_a_stated_size_that_no_load_brings_is_refused(
    address: str, kind: str, size: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["normalize", "data.jsonl", "--name", "shop", "--table", "t", "--column", f"d:{size}", "--to", address]
    assert run(call) == 2
    printed = capsys.readouterr().err
    assert message.format(kind) in printed
    assert "hint: " in printed
    assert not Path("schemas").exists()


def test_one_that_the_schema_has_is_refused_for_its_own_table_alone(capsys: pytest.CaptureFixture[str]) -> None:
    file = Path("schemas/import/shop.schema.yaml")
    file.parent.mkdir(parents=True)
    columns = "columns: {d: {data_type: decimal, precision: 50, scale: 2}}"
    file.write_text(f"name: shop\ntables:\n  t: {{{columns}}}\n  s: {{columns: {{a: {{data_type: bigint}}}}}}\n")
    assert run(["normalize", "data.jsonl", "--name", "shop", "--table", "t", "--to", "out"]) == 2
    assert MORE.format("parquet") in capsys.readouterr().err
    other = InferRequest(("data.jsonl",), "shop", "s", Path("schemas"))
    assert isinstance(prepare(NormalizeRequest(other, "out")), Call)


def test_a_size_that_the_destination_lacks_is_refused_before_the_schema_is_saved(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call = ["normalize", "data.jsonl", "--name", "shop", "--table", "t", "--to", "duckdb:///out"]
    assert run([*call, "--column", "d:bigint(200)"]) == 2
    assert "`t.d`: `duckdb` has no bigint of precision 200 (`d`): 128 at most" in capsys.readouterr().err
    assert not Path("schemas").exists()
