"""Times judging rows: Arc's typing beside Spark's CSV reader, models beside Pydantic alone, ten tables beside one.

    uv run --group dev python benchmarks/validation.py --rows 1000000

Typing: twelve columns of texts, read with declared types by Spark, and typed by ``--typing`` (a first look at errors,
and the rows, each reading the texts). Models: one core, without Spark. Tables: the same events into one table and, by
``--table-by``, into ten, evidence and rows. Spark's start is left out.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from targets import note

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DDL = ", ".join(f"i{at} BIGINT, d{at} DATE, n{at} DECIMAL(10,2), t{at} STRING" for at in range(3))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    compare_models(min(arguments.rows, 200_000), arguments.rounds)
    from schemactl.engine.spark.session import SparkOptions, open_session

    with tempfile.TemporaryDirectory(prefix="schemactl-benchmark-") as name:
        conf = {"spark.driver.memory": "4g"}
        with open_session(SparkOptions(master="local[2]", conf=conf)) as spark:
            compare_typing(spark, Path(name), arguments.rows, arguments.rounds)
            compare_tables(spark, Path(name), arguments.rows // 5, arguments.rounds)


def best_of(rounds: int, run: Callable[[], Any]) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def print_ratio(what: str, seconds: float, beside: str, others: float) -> None:
    print(f"{what:<44} {seconds:8.2f} s   {beside:<34} {others:8.2f} s   ratio {seconds / others:.2f}", flush=True)
    note(what, {"schemactl": seconds, beside: others})


def compare_models(rows: int, rounds: int) -> None:
    from pydantic import BaseModel, TypeAdapter

    from schemactl.garbage_collection import paused_collector
    from schemactl.kernel.dispatch import Piece, Positions
    from schemactl.kernel.models import ModelSource, ModelTask, Validator
    from schemactl.kernel.parsing import parse_texts
    from schemactl.schema.contract import Mode

    class Line(BaseModel):
        sku: str
        quantity: int
        price: float

    class Order(BaseModel):
        id: int
        at: datetime
        customer: str
        paid: bool
        total: float
        lines: list[Line]

    globals()["Order"] = Order
    text = [
        json.dumps(
            {
                "id": at, "at": "2024-05-06T07:08:09Z", "customer": f"customer {at}", "paid": True, "total": at / 7,
                "lines": [{"sku": "a", "quantity": 1, "price": 2.5}] * (at % 4),
            }
        ).encode()
        for at in range(rows)
    ]  # fmt: skip
    adapter = TypeAdapter(list[Order])
    batches = [text[at : at + 1_000] for at in range(0, rows, 1_000)]

    def alone() -> None:
        for batch in batches:
            adapter.validate_json(b"[" + b",".join(batch) + b"]")

    def ours() -> None:
        validator = Validator(ModelTask(ModelSource(__name__, "Order"), Mode.DISCARD_VALUE, Mode.FREEZE))
        with paused_collector():
            for batch in batches:
                list(validator.sort(Piece(batch, Positions("f", 0, range(len(batch))), batch), None))

    def parse() -> None:
        for batch in batches:
            parse_texts(batch)

    print(f"models, {rows:,} records, one core; parsing before takes {best_of(rounds, parse):.2f} s")
    print_ratio("--model: validate, and make documents", best_of(rounds, ours), "validate_json", best_of(rounds, alone))


def compare_typing(spark: SparkSession, folder: Path, rows: int, rounds: int) -> None:
    from schemactl.arc.fields import TypingTask
    from schemactl.arc.typing_file import read_typing
    from schemactl.engine.inputs import find_inputs
    from schemactl.engine.package import write_rows
    from schemactl.engine.scan import scan_inputs
    from schemactl.engine.spark.engine import SparkEngine
    from schemactl.inference.resolve import resolve
    from schemactl.inference.sample import parse_sample
    from schemactl.kernel.reading import ReadOptions
    from schemactl.normalization.normalizers import make_plan
    from schemactl.normalization.request import PlanRequest
    from schemactl.normalization.tally import LoadTime
    from schemactl.schema.judgment import judge
    from schemactl.schema.templates import new_schema

    path = folder / "rows.csv"
    with path.open("w") as file:
        file.write(",".join(name.split()[0] for name in _DDL.split(", ")) + "\n")
        for at in range(rows):
            cells = (f"{at},2020-01-{at % 28 + 1:02},{at % 9999}.25,name {at % 1000}",) * 3
            file.write(",".join(cells) + "\n")
    stated = [
        {"name": f"{kind}{at}", "nullable": True, "trim": False, "nullableValues": []} | of
        for at in range(3)
        for kind, of in (
            ("i", {"type": "long"}),
            ("d", {"type": "date", "formatters": ["uuuu-MM-dd"]}),
            ("n", {"type": "decimal", "precision": 10, "scale": 2}),
            ("t", {"type": "string"}),
        )
    ]
    task = TypingTask(read_typing(json.dumps([{**each, "id": each["name"]} for each in stated]), "rows.arc.json"))
    inputs = find_inputs([str(path)])
    options = ReadOptions(task=task)
    schema = new_schema("made")
    numbers = iter(range(1_000))

    def reader() -> None:
        target = folder / f"spark{next(numbers)}"
        spark.read.csv(str(path), schema=_DDL, header=True).write.parquet(str(target))

    def ours() -> None:
        scan = scan_inputs(SparkEngine(spark), inputs, parse_sample("full"), options=options)
        resolution = resolve(scan.evidence, schema, "rows")
        plan = make_plan(PlanRequest(scan.evidence, resolution, judge(schema, resolution.schema)))
        write_rows(
            SparkEngine(spark), scan, {("",): plan}, LoadTime("1", datetime.now(UTC)), folder / f"ours{next(numbers)}"
        )

    def only_types() -> None:
        scan_inputs(SparkEngine(spark), inputs, parse_sample("full"), options=options)

    def only_read() -> None:
        spark.read.csv(str(path), schema=_DDL, header=True).write.format("noop").mode("overwrite").save()

    print(f"typing, {rows:,} rows of 12 columns")
    print_ratio("typed once", best_of(rounds, only_types), "Spark's reader, declared types", best_of(rounds, only_read))
    whole, theirs = best_of(rounds, ours), best_of(rounds, reader)
    print_ratio("typed twice, rows with keys into Parquet", whole, "Spark's, into Parquet", theirs)


def compare_tables(spark: SparkSession, folder: Path, rows: int, rounds: int) -> None:
    from schemactl.engine.inputs import find_inputs
    from schemactl.engine.package import write_rows
    from schemactl.engine.scan import scan_inputs
    from schemactl.engine.spark.engine import SparkEngine
    from schemactl.inference.resolve import resolve
    from schemactl.inference.sample import parse_sample
    from schemactl.kernel.dispatch import Dispatch
    from schemactl.kernel.reading import ReadOptions
    from schemactl.normalization.normalizers import make_plan
    from schemactl.normalization.request import PlanRequest
    from schemactl.normalization.tally import LoadTime
    from schemactl.schema.judgment import judge
    from schemactl.schema.templates import new_schema

    path = folder / "events.jsonl"
    chosen = random.Random(7)
    with path.open("w") as file:
        for at in range(rows):
            kind, moment = f"kind{chosen.randrange(10)}", "2024-05-06T07:08:09Z"
            event = {"kind": kind, "id": at, "at": moment, "user": f"u{at % 99}"}
            file.write(json.dumps({**event, "amount": at / 7, "tags": ["a", "b"][: at % 3]}) + "\n")
    inputs, schema, numbers = find_inputs([str(path)]), new_schema("made"), iter(range(1_000))

    def load(options: ReadOptions) -> None:
        scan = scan_inputs(SparkEngine(spark), inputs, parse_sample("full"), options=options)
        plans = {}
        for name, evidence in scan.tables.items():
            resolution = resolve(evidence, schema, name or "events")
            plans[name,] = make_plan(PlanRequest(evidence, resolution, judge(schema, resolution.schema)))
        write_rows(SparkEngine(spark), scan, plans, LoadTime("1", datetime.now(UTC)), folder / f"load{next(numbers)}")

    print(f"tables, {rows:,} events")
    load(ReadOptions())  # the first load compiles Spark's code
    ten = best_of(rounds, lambda: load(ReadOptions(dispatch=Dispatch(("kind",)))))
    print_ratio("evidence and rows of ten tables", ten, "of one table", best_of(rounds, lambda: load(ReadOptions())))


if __name__ == "__main__":
    main()
