"""Tables on files get the nearest type to one of a database, and their own types as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from migrated_datasets import ID, apply, put, schema_of

from schemactl.destinations import DESTINATIONS, delta, iceberg, parquet
from schemactl.errors import InputError
from schemactl.flows.import_ import ImportRequest, import_files
from schemactl.flows.migrate.inspection import VerifyRequest, verify
from schemactl.flows.migrate.plan import PlanRequest, plan_migration
from schemactl.migration.notes import NoteKind
from schemactl.migration.options import PlanOptions
from schemactl.migration.reports import Outcome
from schemactl.schema.types import Column, Properties

pytestmark = pytest.mark.usefixtures("work")

LAKES = ("parquet", "delta", "iceberg")


def drift(url: str, reference: str) -> tuple[Any, ...]:
    return verify(VerifyRequest(reference, url, Path("schemas"))).drift


def columns_of(url: str) -> dict[str, Properties]:
    kind = url.partition(":")[0]
    found = DESTINATIONS[kind].read_catalogue(url).schema.tables["orders"].columns
    return {name: {key: each for key, each in column.properties.items() if each} for name, column in found.items()}


FOREIGN = {
    "uuid": "text",
    "character(3)": "text",
    "UBIGINT": "wei",
    "int(10) unsigned": "bigint",
    "interval day to second(3)": "text",
    "ENUM('a', 'b')": "text",
    "money": "decimal",
    "timestamp(3) without time zone": "timestamp",
}


@pytest.mark.parametrize("is_added", [False, True])
@pytest.mark.parametrize("kind", LAKES)
def test_a_type_of_a_database_becomes_the_nearest_one(kind: str, is_added: bool):
    url, start = f"{kind}:lake?dataset=shop", schema_of(ID)
    foreign = {written: word for written, word in FOREIGN.items() if (kind, written) != ("iceberg", "uuid")}
    if is_added:
        assert apply(url, put(start, "start.yaml")).outcome is Outcome.DONE
    columns = [Column(f"c{number}", {"x-database-type": written}) for number, written in enumerate(foreign)]
    wanted = put(schema_of(ID, *columns, before=start), "wanted.yaml")
    plan = plan_migration(PlanRequest(wanted, url, Path("schemas"), PlanOptions())).plan
    assert [note.column for note in plan.notes if note.kind is NoteKind.TYPE] == [column.name for column in columns]
    assert apply(url, wanted).outcome is Outcome.DONE
    assert drift(url, wanted) == ()
    types = [properties.get("data_type") for properties in columns_of(url).values()]
    # Delta and Iceberg keep dlt's largest integers as texts.
    words = [word if word != "wei" or kind == "parquet" else "text" for word in foreign.values()]
    assert types == ["bigint", *words]


@pytest.mark.parametrize("kind", LAKES)
def test_lists_of_a_database_stay_lists(kind: str):
    url = f"{kind}:lake?dataset=shop"
    wanted = put(schema_of(ID, Column("tags", {"x-database-type": "VARCHAR[]"})), "wanted.yaml")
    assert apply(url, wanted).outcome is Outcome.DONE
    assert drift(url, wanted) == ()
    assert columns_of(url)["tags"]["x-database-type"] == "array<string>"


@pytest.mark.parametrize("kind", LAKES)
def test_a_type_that_is_near_to_none_is_refused_before_anything_is_written(kind: str):
    wanted = schema_of(ID, Column("odd", {"x-database-type": "shop.mood"}), a_first=schema_of(ID).tables["orders"])
    with pytest.raises(InputError, match="`odd`"):
        apply(f"{kind}:lake?dataset=shop", put(wanted, "wanted.yaml"))
    assert not list(Path().rglob("a_first"))


@pytest.mark.parametrize("module", [parquet, delta, iceberg])
def test_a_data_type_goes_before_the_type_of_a_database(module: Any):
    column = Column("total", {"data_type": "decimal", "x-database-type": "numeric"})
    assert module.stored(column) == {"data_type": "decimal", "precision": 38, "scale": 9}


def test_types_that_only_arrow_has_are_made_as_they_are():
    integers = pa.list_(pa.field("element", pa.int32()))
    own = [integers, pa.uint64(), pa.duration("us"), pa.map_(pa.string(), pa.bool_()), pa.time64("ns")]
    table = pa.schema([pa.field(f"c{number}", kind) for number, kind in enumerate(own)]).empty_table()
    Path("made/shop/orders").mkdir(parents=True)
    pyarrow.parquet.write_table(table, "made/shop/orders/1.parquet")
    import_files(ImportRequest(("parquet:made?dataset=shop",), None, "shop", Path("schemas")))
    copy = "parquet:copy?dataset=shop"
    assert apply(copy, "shop").outcome is Outcome.DONE
    assert drift(copy, "shop") == ()
    assert columns_of(copy) == columns_of("parquet:made?dataset=shop")


def test_iceberg_s_uuids_are_made_as_they_are():
    url = "iceberg:lake?dataset=shop"
    first = put(schema_of(ID, Column("first", {"x-database-type": "uuid"})), "first.yaml")
    assert apply(url, first).outcome is Outcome.DONE
    second = schema_of(ID, Column("first", {"x-database-type": "uuid"}), Column("more", {"x-database-type": "UUID"}))
    assert apply(url, put(second, "second.yaml")).outcome is Outcome.DONE
    assert drift(url, "./second.yaml") == ()
    assert [properties.get("x-database-type") for properties in columns_of(url).values()] == [None, "uuid", "uuid"]
