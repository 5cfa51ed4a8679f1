"""What Spark converts of a stored column is what `coerce` gives, value by value; the rest is null, and so counted."""

from __future__ import annotations

import itertools
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import test_migration_conversions_parity as databases
from pyspark.sql import functions as F

from schemactl.destinations.spark.conversion import survivor
from schemactl.destinations.spark.merge import configured
from schemactl.destinations.spark.types import stored_type
from schemactl.migration.statements import Retype
from schemactl.schema.conversions import CONVERSIONS, Conversion
from schemactl.schema.types import Column, DataType

pytestmark = [pytest.mark.parity, pytest.mark.spark]

T = DataType
TARGETS = {
    before: [to for _, to in pairs]
    for before, pairs in itertools.groupby(sorted(databases.PAIRS), key=lambda pair: pair[0])
}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("before", TARGETS, ids=str)
def test_a_stored_value_is_converted_as_dlt_does_or_not_at_all(
    spark: Any, before: DataType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "MANY", 100)
    source, targets = Column("v", {"data_type": str(before)}), TARGETS[before]
    given = [databases.values(random.Random(f"{before} {to}"), before, to) for to in targets]
    stored = [[databases.stored(value, before) for value in values] for values in given]
    kinds = ", ".join(["i INT", *(f"v{at} {stored_type(source).simpleString()}" for at in range(len(targets)))])
    rows = [(number, *row) for number, row in enumerate(itertools.zip_longest(*stored))]
    with configured(spark):
        frame = spark.createDataFrame(rows, kinds)
        made = [
            survivor(F.col(f"v{at}"), Retype(source, Column("v", {"data_type": str(to)}), counts_seconds=True)).alias(
                f"v{at}"
            )
            for at, to in enumerate(targets)
        ]
        texts = [as_text(F.col(f"v{at}"), to) for at, to in enumerate(targets)]
        found = sorted(frame.select("i", *made).select("i", *texts).collect())
    for at, to in enumerate(targets):
        taken = {
            number: databases.comparable(of_text(row[at + 1], to), to)
            for number, row in enumerate(found)
            if row[at + 1] is not None
        }
        wrong = [
            (given[at][number], value)
            for number, value in taken.items()
            if value != expected(given[at][number], before, to)
        ]
        assert not wrong, (to, len(wrong), wrong[:5])
        assert taken
        if before is T.TEXT:
            missed = [text for text in databases.PLAIN_TEXTS[to] if given[at].index(text) not in taken]
            assert not missed, to
        if CONVERSIONS[before, to] is Conversion.WHOLE and to is not T.DECIMAL:
            assert len(taken) == len(given[at])


def expected(value: Any, before: DataType, to: DataType) -> Any:
    try:
        return databases.expected(value, before, to)
    except OverflowError:  # a moment that leaves Python's calendar in UTC
        return None


def as_text(value: Any, to: DataType) -> Any:
    match to:
        case T.BINARY:
            return F.hex(value)
        case T.TIMESTAMP:
            return F.unix_micros(value).cast("string")
        case _:
            return value.cast("string")


def of_text(text: str, to: DataType) -> Any:
    match to:
        case T.TIMESTAMP:
            return EPOCH + timedelta(microseconds=int(text))
        case T.DOUBLE:
            return float(text.replace("Infinity", "inf"))
        case _:
            return databases.of_text(text, to)
