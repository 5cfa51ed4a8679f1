"""What sources state of nulls, and contracts: dlt loads the same tables of Arrow beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dlt
import duckdb
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from dlt.pipeline.exceptions import PipelineStepFailed
from loading_shop import Shop

from schemactl.cli.app import run
from schemactl.flows.schemas import open_schemas
from schemactl.normalization.report import Outcome
from schemactl.schema.types import Column
from schemactl.store.folder import SchemasFolder

pytestmark = pytest.mark.usefixtures("work")

TO = "duckdb:///shop.duckdb"


def table(nullable: bool, *values: int | None) -> pa.Table:
    """Return a table whose column `id` states whether it may be null."""
    schema = pa.schema([pa.field("id", pa.int64(), nullable), pa.field("note", pa.string())])
    ids = list(values) or [1, 2]
    return pa.table({"id": ids, "note": ["x"] * len(ids)}, schema=schema)


def write(name: str, data: pa.Table) -> str:
    if name.endswith(".parquet"):
        pq.write_table(data, name)
    elif name.endswith(".feather"):
        pyarrow.feather.write_feather(data, name)
    else:
        with pa.OSFile(name, "wb") as file, pa.ipc.new_stream(file, data.schema) as writer:
            writer.write_table(data)
    return name


def load(*files: str, table: str = "orders", **options: str) -> int:
    stated = [f"--{key.replace('_', '-')}={value}" for key, value in {"to": TO, **options}.items()]
    return run(["normalize", *files, "--name", "shop", "--table", table, "--engine", "local", *stated])


def column(name: str = "id", table: str = "orders") -> Column:
    schema = open_schemas(SchemasFolder.at("schemas"), "shop").schema
    assert schema is not None
    return schema.tables[table].columns[name]


def stored_nulls() -> dict[str, bool]:
    """Return whether each column of the table in the database may be null."""
    with duckdb.connect("shop.duckdb") as connection:
        found = connection.execute("SELECT column_name, is_nullable FROM duckdb_columns() WHERE table_name = 'orders'")
        return dict(found.fetchall())


def by_dlt(contract: str, *tables: pa.Table) -> bool | None:
    """Return whether dlt's column may be null after loads of some tables; None where it refuses one."""
    pipeline = dlt.pipeline("shop", pipelines_dir="dlt", destination=dlt.destinations.duckdb("dlt.duckdb"))
    for at, data in enumerate(tables):
        try:
            # A contract does not hold for what makes a table.
            pipeline.run([data], table_name="orders", schema_contract={"data_type": contract} if at else None)
        except PipelineStepFailed:
            return None
    return bool(pipeline.default_schema.tables["orders"]["columns"]["id"].get("nullable", True))


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.arrows"])
@pytest.mark.parametrize("nullable", [True, False])
def test_a_new_column_takes_nulls_if_its_source_does(
    name: str, nullable: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert load(write(name, table(nullable))) == 0
    assert ("id: bigint; not null in its source" in capsys.readouterr().out) is not nullable
    assert column().nullable is nullable
    assert stored_nulls() == {"id": nullable, "note": True, "_dlt_load_id": False, "_dlt_id": False}
    assert by_dlt("evolve", table(nullable)) is nullable


@pytest.mark.parametrize("contract", ["evolve", "freeze", "discard_row"])
@pytest.mark.parametrize("nullable", [True, False])
def test_a_column_that_exists_is_judged_as_dlt_judges_it(
    contract: str, nullable: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert load(write("a.parquet", table(not nullable))) == 0
    capsys.readouterr()
    is_refused = load(write("b.parquet", table(nullable)), contract=f"data_type={contract}", format="json") == 1
    document = json.loads(capsys.readouterr().out)
    by_theirs = by_dlt(contract, table(not nullable), table(nullable))
    if contract == "evolve" and not nullable:
        # Rows of earlier loads may have nulls, so that no migration could take this over.
        assert (by_theirs, column().nullable) == (False, True)
        return
    assert is_refused is (by_theirs is None)
    if is_refused:
        (violation,) = document["inference"]["violations"]
        assert (violation["column"], violation["entity"], violation["mode"]) == ("id", "data_type", "freeze")
        assert f"nullable: {str(nullable).lower()}" in violation["found"]
        assert column().nullable is not nullable
    else:
        assert column().nullable is by_theirs


def test_a_frozen_schema_takes_what_states_the_same() -> None:
    for nullable in (True, False):
        assert load(write("a.parquet", table(nullable)), load_id=f"a{nullable}", to=f"duckdb:///{nullable}.db") == 0
        assert load("a.parquet", load_id=f"b{nullable}", to=f"duckdb:///{nullable}.db", contract="freeze") == 0
        Path("schemas/import/shop.schema.yaml").unlink()
        Path("schemas/export/shop.schema.yaml").unlink()


def test_nulls_stop_a_load_where_the_contract_keeps_them_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert load(write("a.parquet", table(False))) == 0
    nulls = write("b.parquet", table(True, 1, None))
    for contract in ("discard_row", "discard_value"):
        capsys.readouterr()
        assert load(nulls, contract=f"data_type={contract}") == 1
        assert "orders.id is required, but $.id is null 1 time" in capsys.readouterr().out
        assert column().nullable is False
    assert load(nulls) == 3
    assert "`schemactl migrate apply`" in capsys.readouterr().err
    assert column().nullable is True
    assert run(["migrate", "apply", "shop", "--to", TO, "--yes"]) == 0
    assert load(nulls, load_id="later") == 0


def test_files_state_together_what_all_of_them_state() -> None:
    write("a.parquet", table(False))
    write("b.parquet", table(True))
    pq.write_table(pa.table({"note": ["x"]}), "c.parquet")
    write("d.feather", table(False))
    Path("e.jsonl").write_text('{"note": "x"}\n')
    Path("f.jsonl").write_text('{"id": 1}\n')
    for files, nullable in {
        ("a.parquet", "d.feather"): False,
        ("a.parquet", "b.parquet"): True,
        ("b.parquet", "d.feather"): True,
        ("a.parquet", "c.parquet"): True,
        ("a.parquet", "e.jsonl"): True,
        ("a.parquet", "f.jsonl"): True,
    }.items():
        assert load(*files, to="duckdb:///other.duckdb", load_id=files[1]) == 0
        assert column().nullable is nullable, files
        for path in ("schemas/import/shop.schema.yaml", "schemas/export/shop.schema.yaml", "other.duckdb"):
            Path(path).unlink()


def test_keys_and_columns_of_the_call_stay_as_they_are() -> None:
    data = write("a.parquet", table(True))
    assert load(data, column="id:bigint,primary_key") == 0
    assert load(data, load_id="later") == 0
    assert column().nullable is False
    assert load(data, column="note:text,not_null", table="stated", load_id="2") == 0
    assert column("note", "stated").nullable is False
    assert load(data, column="note:text,not_null", table="stated", load_id="3", contract="freeze") == 0
    assert load(data, table="stated", load_id="4") == 0
    assert column("note", "stated").nullable is True


def test_fields_of_structs_and_lists_state_their_own() -> None:
    inner = pa.struct([pa.field("must", pa.int64(), False), pa.field("may", pa.int64())])
    schema = pa.schema(
        [
            pa.field("known", inner, False),
            pa.field("perhaps", inner),
            pa.field("lines", pa.list_(pa.field("item", inner, False))),
            pa.field("codes", pa.list_(pa.field("item", pa.int64(), False)), False),
        ]
    )
    value = {"must": 1, "may": 2}
    row = {"known": value, "perhaps": value, "lines": [value], "codes": [1]}
    assert load(write("a.parquet", pa.Table.from_pylist([row], schema=schema))) == 0
    nullable = {name: column(name).nullable for name in ("known__must", "known__may", "perhaps__must")}
    assert nullable == {"known__must": False, "known__may": True, "perhaps__must": True}
    assert [column(name, "orders__lines").nullable for name in ("must", "may")] == [False, True]
    assert column("value", "orders__codes").nullable is False


def test_nulls_in_a_column_of_arrow_that_states_none_are_believed() -> None:
    wrong = pa.table([pa.array([1, None], pa.int64())], schema=pa.schema([pa.field("id", pa.int64(), False)]))
    assert load(write("a.arrows", wrong)) == 0
    assert column().nullable is True


def test_saved_evidence_keeps_what_sources_state() -> None:
    call = ["infer", write("a.parquet", table(False)), "--name", "first", "--table", "orders", "--engine", "local"]
    assert run([*call, "--evidence", "a.evidence.json"]) == 0
    assert run(["infer", "a.evidence.json", "--name", "shop", "--table", "orders"]) == 0
    assert column().nullable is False


@pytest.mark.spark
@pytest.mark.usefixtures("loads_by_spark")
def test_spark_reads_what_files_state_of_nulls_from_their_footers(shop: Shop) -> None:
    write("a.parquet", table(False))
    write("b.parquet", table(False))
    assert shop.load("*.parquet").outcome is Outcome.LOADED
    assert column().nullable is False
    write("a.parquet", table(True))
    assert shop.load("*.parquet", contract="freeze", load_id="later").outcome is Outcome.STOPPED
    assert shop.load("*.parquet", load_id="later").outcome is Outcome.LOADED
    assert column().nullable is True


def test_a_contract_judges_nulls_in_edits_of_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert load(write("a.parquet", table(True))) == 0
    assert run(["edit", "shop", "--contract", "data_type=freeze"]) == 0
    assert run(["sync", "shop", "--yes"]) == 0
    assert run(["edit", "shop", "--table", "orders", "--column", "id:bigint,not_null"]) == 0
    capsys.readouterr()
    assert run(["diff", "--format", "json"]) == 1
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert '"is_violation": true' in json.dumps(found)
