"""schemactl in Python: the commands as functions that return values, for notebooks, tests and schedulers.

    from schemactl.api import infer, plan, read, review

    report = infer([{"id": 1, "total": 9.5}], "shop")
    for step in plan(report.schema, "duckdb:///data.duckdb").plan.steps: ...

The functions call the same code as the commands, but print and ask nothing. Findings are part of the returned values;
errors raise a `SchemactlError`. The names in ``__all__``, their parameters and the attributes of the returned values
follow Semantic Versioning; other modules of schemactl are internal.
"""

from schemactl.api.builder import SchemaBuilder, build, edit
from schemactl.api.data import SparkSettings, infer, normalize
from schemactl.api.reports import (
    ApplyReport,
    Imported,
    InferenceReport,
    NormalizeReport,
    PlanReport,
    Report,
    ScriptReport,
)
from schemactl.api.schemas import apply, diff, plan, read, review, save, write
from schemactl.errors import DestinationError, EngineError, InputError, SchemactlError
from schemactl.review.report import Silence
from schemactl.review.severity import Severity
from schemactl.schema.changes import Change
from schemactl.schema.types import Column, Schema, Table
from schemactl.store.folder import SchemasFolder

__all__ = [
    "ApplyReport",
    "Change",
    "Column",
    "DestinationError",
    "EngineError",
    "Imported",
    "InferenceReport",
    "InputError",
    "NormalizeReport",
    "PlanReport",
    "Report",
    "Schema",
    "SchemaBuilder",
    "SchemactlError",
    "SchemasFolder",
    "ScriptReport",
    "Severity",
    "Silence",
    "SparkSettings",
    "Table",
    "apply",
    "build",
    "diff",
    "edit",
    "infer",
    "normalize",
    "plan",
    "read",
    "review",
    "save",
    "write",
]
