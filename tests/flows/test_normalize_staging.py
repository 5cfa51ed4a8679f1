"""Where a load keeps rows while they are made, and Spark the documents that they are made of."""

from pathlib import Path

import pytest

from schemactl.engine.choice import EngineOptions
from schemactl.engine.spark.options import SparkOptions
from schemactl.flows.infer import InferRequest
from schemactl.flows.normalize import NormalizeRequest, normalize


class Opened(Exception):
    """Stands for the session that is not opened."""


def options_of(folder: Path, staging: Path | None, spark: SparkOptions) -> SparkOptions:
    """Return the options that a load opens its session with."""
    (folder / "data.jsonl").write_text('{"a": 1}\n')
    found: list[SparkOptions] = []

    def open_engine(options, _inputs, _progress):
        found.append(options.spark)
        raise Opened

    inference = InferRequest(
        (str(folder / "data.jsonl"),), "t", "t", folder / "schemas", engine=EngineOptions(spark=spark)
    )
    with pytest.raises(Opened):
        normalize(NormalizeRequest(inference, str(folder / "out"), staging=staging), open_engine=open_engine)
    return found[0]


def test_spark_keeps_its_files_in_a_stated_staging_folder(tmp_path: Path):
    staging = tmp_path / "large"

    place = Path(options_of(tmp_path, staging, SparkOptions()).conf["spark.local.dir"])

    assert place.is_relative_to(staging)
    assert list(staging.iterdir()) == []


def test_spark_keeps_its_files_where_a_user_wants_them(tmp_path: Path):
    spark = SparkOptions(conf={"spark.local.dir": "/mine"})

    assert options_of(tmp_path, tmp_path / "large", spark).conf == spark.conf


@pytest.mark.parametrize(
    ("staging", "spark"), [(None, SparkOptions()), ("large", SparkOptions(master="spark://there:7077"))]
)
def test_else_spark_is_left_alone(tmp_path: Path, staging, spark):
    assert options_of(tmp_path, staging and tmp_path / staging, spark) == spark


def test_a_stated_master_goes_before_the_setting(tmp_path: Path):
    spark = SparkOptions(master="local[2]", conf={"spark.master": "yarn"})

    assert options_of(tmp_path, None, spark) == spark
