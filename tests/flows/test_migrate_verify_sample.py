"""Verifies a sample of the rows of real databases."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from migrated_datasets import ID, Dataset, apply, column, new_dataset, put, schema_of

from schemactl.destinations import MigrationSession
from schemactl.destinations.parquet.migration import ParquetMigration
from schemactl.errors import InputError
from schemactl.flows.migrate.inspection import VerifyRequest, verify
from schemactl.inference.sample import parse_sample
from schemactl.migration.reports import VerifyReport

pytestmark = pytest.mark.destinations

ROWS = 2_000
LOOSE = schema_of(ID, column("note"))
STRICT = schema_of(ID, column("note", nullable=False), before=LOOSE)


@pytest.fixture
def dataset(dataset: Dataset) -> Dataset:
    """A table of 2,000 rows, a null in each second one."""
    apply(dataset, LOOSE)
    dataset.sql(f"""
        INSERT INTO @.orders
        WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {ROWS})
        SELECT n, CASE WHEN n % 2 = 0 THEN 'x' END FROM numbers
    """)
    return dataset


def verified(dataset: Dataset, sample: str) -> VerifyReport:
    request = VerifyRequest(put(STRICT, "strict.yaml"), dataset.url, Path("schemas"), sample=parse_sample(sample))
    return verify(request)


@pytest.mark.parametrize("sample", ["10%", "200"])
def test_a_sample_reads_about_as_many_rows_as_were_asked_for(dataset: Dataset, sample: str) -> None:
    report = verified(dataset, sample)

    (odd,) = (each for each in report.odd if each.column == "note")
    assert report.all_rows == ROWS
    assert 120 < report.rows < 280
    assert odd.rows == report.rows
    assert 0.3 < odd.count / odd.rows < 0.7


def test_a_sample_is_the_same_each_time(dataset: Dataset) -> None:
    first, second = (verified(dataset, "10%") for _ in range(2))

    assert first == second


@pytest.mark.parametrize("sample", ["full", "100%", "2000", "1000000"])
def test_all_rows_are_read_where_the_sample_leaves_none_out(dataset: Dataset, sample: str) -> None:
    report = verified(dataset, sample)

    (odd,) = (each for each in report.odd if each.column == "note")
    assert (report.rows, report.all_rows) == (ROWS, ROWS)
    assert odd.count == ROWS // 2


def test_a_table_whose_columns_hide_its_row_ids_is_sampled_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = new_dataset("sqlite", tmp_path)
    made.sql("CREATE TABLE orders (rowid TEXT, note BIGINT)")
    made.sql("INSERT INTO orders VALUES " + ", ".join("('same', 'odd')" for _ in range(ROWS)))
    wanted = put(schema_of(column("rowid"), column("note", "bigint")), "wanted.yaml")

    report = verify(VerifyRequest(wanted, made.url, Path("schemas"), sample=parse_sample("10%")))

    assert 120 < report.rows < 280
    assert [(odd.column, odd.count) for odd in report.odd] == [("note", report.rows)]


def test_a_destination_without_samples_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # All of ours have them; those of others may not.
    monkeypatch.setattr(ParquetMigration, "unfit", MigrationSession.unfit)
    monkeypatch.chdir(tmp_path)
    url = f"parquet:{tmp_path / 'lake'}"
    apply(url, LOOSE)
    pq.write_table(pa.table({"id": range(10), "note": ["x"] * 10}), "lake/orders/9999999999.1.a.parquet")
    request = VerifyRequest(put(STRICT, "strict.yaml"), url, Path("schemas"), sample=parse_sample("10%"))

    with pytest.raises(InputError, match="does not support `--sample`") as caught:
        verify(request)
    assert "read all rows without `--sample`" in (caught.value.hint or "")
