"""Whole stages are compiled where they are asked for, and nowhere else."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemactl.engine.codegen import whole_stages

pytestmark = pytest.mark.spark

WHOLE_STAGE = "spark.sql.codegen.wholeStage"
MOST_FIELDS = "spark.sql.codegen.maxFields"


def compiled(spark: SparkSession, columns: int = 1) -> bool:
    frame = spark.range(3).select(*(F.rand().alias(f"c{at}") for at in range(columns)))
    plan = frame._jdf.queryExecution().executedPlan().toString()
    return "*(1) Project" in plan


def test_stages_are_compiled_within_the_block_alone(spark: SparkSession) -> None:
    assert not compiled(spark)
    with whole_stages(spark):
        assert compiled(spark)
    assert not compiled(spark)


def test_wide_steps_stay_apart(spark: SparkSession) -> None:
    with whole_stages(spark, most_fields=4):
        assert compiled(spark, columns=4)
        assert not compiled(spark, columns=5)


def test_settings_are_put_back_after_a_fault(spark: SparkSession) -> None:
    before = spark.conf.get(WHOLE_STAGE), spark.conf.get(MOST_FIELDS)
    with pytest.raises(ValueError, match="fault"), whole_stages(spark, most_fields=4):
        raise ValueError("fault")
    assert (spark.conf.get(WHOLE_STAGE), spark.conf.get(MOST_FIELDS)) == before
