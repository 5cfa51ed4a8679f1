"""Runs the same call on both engines, and compares all that a user could see of it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, chdir, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from task_sizes import task_size

from schemactl.engine.choice import EngineName, EngineOptions
from schemactl.engine.inputs import find_inputs
from schemactl.engine.protocol import Engine
from schemactl.engine.scan import scan_inputs
from schemactl.engine.spark.session.failure import explain_failure, is_spark_failure
from schemactl.errors import SchemactlError
from schemactl.flows.infer import infer
from schemactl.flows.normalize import NormalizeRequest, normalize
from schemactl.flows.request import InferRequest
from schemactl.inference.sample import parse_sample
from schemactl.inference.saved_evidence import write_evidence

SPARK = EngineOptions(EngineName.SPARK)
"""The choice of an engine, which is as without a choice but for a hint at the other engine."""

TIMES = {"inserted_at", "modified_at", "loaded_at"}


@dataclass(frozen=True)
class Outcome:
    """What a call leaves and says.

    Attributes:
        report: as data; None where the call failed.
        error: class, message with places, hint and exit code.
        warnings: texts in their order.
        files: texts of schemas and saved evidence, by path.
        tables: Arrow schemas of the files of each table, and all rows, sorted.
    """

    report: dict[str, Any] | None
    error: tuple[Any, ...] | None
    warnings: list[str]
    files: dict[str, str]
    tables: dict[str, tuple[list[str], list[dict[str, str]]]]


def assert_equal_outcomes(local: Outcome, spark: Outcome) -> None:
    """Compare the parts, and show where the first differences are."""
    differences = [
        text
        for field in fields(Outcome)
        for text in _differences(getattr(local, field.name), getattr(spark, field.name), field.name)
    ]
    assert not differences, "\n".join(["local and Spark differ:", *differences[:20]])


def _differences(local: Any, spark: Any, path: str) -> Iterator[str]:
    match local, spark:
        case (dict(), dict()):
            if list(local) != list(spark):
                yield f"{path}: keys {list(local)} {list(spark)}"
            for key in local.keys() & spark.keys():
                yield from _differences(local[key], spark[key], f"{path}.{key}")
        case ((list() | tuple()), (list() | tuple())) if len(local) == len(spark):
            for number, (of_local, of_spark) in enumerate(zip(local, spark, strict=True)):
                yield from _differences(of_local, of_spark, f"{path}[{number}]")
        case (str(), str()) if local.startswith("{") and spark.startswith("{") and path.endswith(("json", "evidence")):
            yield from _differences(json.loads(local), json.loads(spark), path)
        case _ if local != spark:
            yield f"{path}:\n    {local!r:.1500}\n    {spark!r:.1500}"


def infer_outcome(
    engine: Engine,
    folder: Path,
    request: InferRequest,
    opened: Callable[[Engine], AbstractContextManager[Engine]] = nullcontext,
) -> Outcome:
    """Run ``infer`` in a folder; ``opened`` opens the engine, once the inputs are listed."""
    return _outcome(folder, lambda: infer(request, None, lambda *_: opened(engine)).to_dict())


def scan_outcome(engine: Engine, folder: Path, sources: tuple[str, ...], sample: str = "full") -> Outcome:
    """Collect the evidence of sources in a folder."""

    def scan() -> dict[str, Any]:
        inputs = find_inputs(sources)
        with engine.explaining(inputs):
            found = scan_inputs(engine, inputs, parse_sample(sample))
        bad = [(str(record.position), record.text) for record in found.bad_records]
        return {"evidence": write_evidence(found.evidence), "bad": bad}

    return _outcome(folder, scan)


def normalize_outcome(engine: Engine, folder: Path, request: InferRequest, **options: Any) -> Outcome:
    """Run ``normalize`` into files of Parquet in a folder."""
    call = NormalizeRequest(request, "warehouse", **{"load_id": "1", "lineage": True, **options})
    return _outcome(folder, lambda: normalize(call, None, lambda *_: nullcontext(engine)).to_dict())


def _outcome(folder: Path, call: Callable[[], dict[str, Any]]) -> Outcome:
    folder.mkdir(exist_ok=True)
    report, error = None, None
    with chdir(folder), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            report = call()
        except Exception as raised:
            if not (isinstance(raised, SchemactlError) or is_spark_failure(raised)):
                raise
            failure = explain_failure(raised)
            error = (type(failure).__name__, str(failure), failure.hint, failure.code)
    if report is not None and (inference := report.get("inference", report)) is not None:
        inference.pop("reading", None)
    texts = [str(warning.message) for warning in caught]
    return Outcome(report, error, texts, _texts_in(folder), _tables_in(folder / "warehouse"))


def _texts_in(folder: Path) -> dict[str, str]:
    paths = sorted(path for path in folder.rglob("*") if path.suffix in (".yaml", ".json") and path.is_file())
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in paths}


def _tables_in(warehouse: Path) -> dict[str, tuple[list[str], list[dict[str, str]]]]:
    tables = {}
    for folder in sorted(path for path in warehouse.glob("*") if path.is_dir()):
        files = [pq.read_table(str(file), partitioning=None) for file in sorted(folder.glob("*.parquet"))]
        schemas = sorted({file.schema.to_string(show_field_metadata=True) for file in files})
        tables[folder.name] = (schemas, sorted((row for file in files for row in _rows_of(file)), key=repr))
    return tables


def _rows_of(table: pa.Table) -> list[dict[str, str]]:
    """Return rows with values as Python writes them, by which NaN is NaN, and -0.0 is not 0.0."""
    columns = [name for name in table.column_names if name not in TIMES]
    return [{name: repr(value) for name, value in row.items()} for row in table.select(columns).to_pylist()]


Call = Callable[..., Outcome]


class Contract:
    """Both engines, a folder for data and one for what each of them leaves.

    Attributes:
        sizes: of tasks in bytes, for each engine; None for the usual.
    """

    def __init__(self, folder: Path, local: Engine, spark: Engine) -> None:
        self.data = folder / "data"
        self.data.mkdir()
        self._folder = folder
        self._engines = (local, spark)
        self.sizes: tuple[int, int] | None = None

    def folder_of(self, engine: str) -> Path:
        return self._folder / engine

    def check(self, call: Call, *args: Any, **options: Any) -> Outcome:
        """Return the outcome of a call, which is the same on both engines."""
        local, spark = self.outcomes(call, *args, **options)
        assert_equal_outcomes(local, spark)
        return local

    def outcomes(self, call: Call, *args: Any, **options: Any) -> list[Outcome]:
        """Return the outcome of a call on this machine, and that on Spark."""
        return [self._run(number, call, *args, **options) for number in range(2)]

    def _run(self, number: int, call: Call, *args: Any, **options: Any) -> Outcome:
        engine = self._engines[number]
        if self.sizes is None:
            return call(engine, self.folder_of(engine.name), *args, **options)
        with task_size(engine, self.sizes[number]):
            return call(engine, self.folder_of(engine.name), *args, **options)


def request(*sources: str, **options: Any) -> InferRequest:
    return InferRequest(
        **{"sources": sources, "name": "shop", "table": "data", "schemas": "schemas", "engine": SPARK, **options}
    )
