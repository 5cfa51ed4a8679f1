"""Reads, writes, saves, compares, reviews and migrates schemas by the flows of the commands.

Only destinations with a Spark catalog start Spark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Literal, TypeVar

from schemactl.api.choices import check_choice
from schemactl.api.reports import ApplyReport, Imported, PlanReport, Report, ScriptReport
from schemactl.errors import InputError, hinting_at_extras, nearest_or_all
from schemactl.flows.diff import DiffRequest, review_pairs
from schemactl.flows.import_ import import_schema, read_source
from schemactl.flows.migrate.apply import ApplyRequest, apply_migration
from schemactl.flows.migrate.plan import PlanRequest, plan_migration
from schemactl.flows.migrate.script import write_script
from schemactl.flows.references import Pair, Referred, find_schema
from schemactl.flows.schemas import with_lineage
from schemactl.formats import FORMATS
from schemactl.formats._folding import fold
from schemactl.migration.options import OnUnfit, PlanOptions
from schemactl.review.report import Compatibility, Silence
from schemactl.review.severities import parse_severity
from schemactl.review.severity import Severity
from schemactl.schema.changes import Change
from schemactl.schema.diff import diff as diff_schemas
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder, SchemasPlace

_Choice = TypeVar("_Choice", bound=StrEnum)


@hinting_at_extras()
def read(source: str | Path, format: str | None = None, *, schemas: SchemasPlace = "schemas") -> Schema:
    """Return a schema: of a file of any format, a destination's address, or a REF (``shop``, ``git:main:...``).

    Args:
        source: the schema to read: a file, a REF or an address.
        format: the format of a file; None to detect it as ``schemactl import`` does.
        schemas: the folder that names are looked up in, or a ``SchemasFolder``.

    Raises:
        InputError: there is no such schema, or it cannot be read.
        DestinationError: the destination cannot be read.
    """
    if format is None and not Path(source).is_file():
        return find_schema(str(source), SchemasFolder.at(schemas)).schema
    ((_, document),) = read_source(source, format, schemas)
    return document.schema


@hinting_at_extras()
def write(schema: Schema, format: str = "dlt", *, nested: bool = False) -> str | bytes:
    """Return a schema in a format.

    Args:
        schema: the schema.
        format: as in ``schemactl export --to``.
        nested: whether nested tables are folded back into documents.

    Raises:
        InputError: there is no such format, or it cannot hold the schema.
    """
    if format not in FORMATS:
        raise InputError(f"there is no format `{format}`", hint=nearest_or_all(format, FORMATS))
    return FORMATS[format].write(fold(schema) if nested else schema)


def save(schema: Schema, schemas: SchemasPlace = "schemas", *, merge: bool = False, dry_run: bool = False) -> Imported:
    """Save a schema under its name in a schemas folder, as ``schemactl import`` does.

    If the stored contract forbids changes, they are in ``violations`` of the result and nothing is written.

    Args:
        schema: the schema.
        schemas: the folder of ``import/`` and ``export/``, or a ``SchemasFolder``.
        merge: whether to keep stored tables and columns that the schema lacks.
        dry_run: whether to write nothing.

    Raises:
        InputError: the folder cannot be read or written.
    """
    return Imported.of(import_schema(schema, schemas, is_check=dry_run, is_merged=merge))


def diff(base: Schema, head: Schema) -> tuple[Change, ...]:
    """Return the changes that turn ``base`` into ``head``, without changes of schema names, versions and hashes."""
    return diff_schemas(base, with_lineage(replace(head, name=base.name), base))


@hinting_at_extras()
def review(
    base: Schema | str | Path,
    head: Schema | str | Path,
    *,
    compatibility: Literal["readers", "writers", "full", "none"] = "full",
    severities: Mapping[str, Severity | Literal["none", "info", "warn", "error"]] | None = None,
    silences: Sequence[Silence] = (),
    schemas: SchemasPlace = "schemas",
) -> Report:
    """Review the changes that turn ``base`` into ``head``, as ``schemactl diff`` does, without settings files.

    Args:
        base: a schema, a file, a REF or a destination's address.
        head: a schema, a file, a REF or a destination's address.
        compatibility: who a change must not break.
        severities: severities that replace the defaults of single rules.
        silences: findings that the team accepts.
        schemas: the folder that names are looked up in, or a ``SchemasFolder``.

    Raises:
        InputError: there is no such schema or rule, or a schema cannot be read.
        DestinationError: the destination cannot be read.
    """
    folder = SchemasFolder.at(schemas)
    pair = Pair(_referred(base, "base", folder), _referred(head, "head", folder))
    request = DiffRequest(
        base=None,
        head=None,
        schemas=schemas,
        today=date.today(),
        compatibility=_chosen("compatibility", Compatibility, compatibility),
        severities={rule: parse_severity(rule, level) for rule, level in (severities or {}).items()},
        silences=tuple(silences),
    )
    return Report.of(review_pairs((pair,), request))


def _chosen(argument: str, of: type[_Choice], value: str) -> _Choice:
    check_choice(argument, value, of)
    return of(value)


def _referred(schema: Schema | str | Path, side: str, folder: SchemasFolder) -> Referred:
    if isinstance(schema, Schema):
        return Referred(schema, f"{side} `{schema.name}`")
    return find_schema(str(schema), folder)


@hinting_at_extras()
def plan(
    schema: Schema | str | Path,
    to: str | None = None,
    *,
    dialect: str | None = None,
    start: Schema | str | None = None,
    allow_destructive: bool = False,
    on_unfit: Literal["refuse", "expand", "variant"] = "refuse",
    out: str | Path | None = None,
    schemas: SchemasPlace = "schemas",
) -> PlanReport:
    """Plan the steps that make a destination match a schema, as ``schemactl migrate plan`` does; change nothing.

    The report's ``blockers`` say why the plan cannot be applied.

    Args:
        schema: a schema, a file or a REF.
        to: the destination's address.
        dialect: a sqlglot dialect; plans without a connection, in place of ``to``.
        start: with ``dialect``, the current schema of the engine; None for an empty database.
        allow_destructive: whether steps may lose data.
        on_unfit: what to do if values of a column do not fit its new type.
        out: a file ``*.plan.json`` to save the plan in, for ``apply``.
        schemas: the folder that names are looked up in, or a ``SchemasFolder``.

    Raises:
        InputError: the call is wrong, or the schema cannot be read.
        DestinationError: the destination cannot be reached or read.
    """
    reference = schema if isinstance(schema, Schema) else str(schema)
    options = PlanOptions(on_unfit=_chosen("on_unfit", OnUnfit, on_unfit))
    if dialect is None:
        if start is not None:
            raise InputError("`start` needs `dialect`", hint="name it: `dialect=`")
        plan_file = None if out is None else Path(out)
        return PlanReport.of(plan_migration(PlanRequest(reference, to, schemas, options, allow_destructive, plan_file)))
    if to is not None or out is not None:
        raise InputError("`dialect` writes a script offline", hint="remove `to` and `out`")
    return ScriptReport.of(write_script(reference, start, dialect, schemas, options))


@hinting_at_extras()
def apply(
    reference: str | Path,
    to: str,
    *,
    allow_destructive: bool = False,
    on_unfit: Literal["refuse", "expand", "variant"] = "refuse",
    schemas: SchemasPlace = "schemas",
) -> ApplyReport:
    """Make a destination match a schema, as ``schemactl migrate apply --yes`` does.

    A plan with blockers changes nothing: see ``outcome`` and ``planned`` of the report.

    Args:
        reference: a plan file, a schema file or a REF.
        to: the destination's address.
        allow_destructive: whether steps may lose data; needed for plan files, too.
        on_unfit: what to do if values of a column do not fit its new type; a plan file contains this choice.
        schemas: the folder that names are looked up in, or a ``SchemasFolder``.

    Raises:
        InputError: the call is wrong, or the schema or the plan cannot be read.
        DestinationError: the destination failed, or does not match the schema afterwards.
    """
    if not isinstance(reference, (str, Path)):
        message = f"`apply` needs a plan file, a schema file or a REF, not a value of type `{type(reference).__name__}`"
        raise InputError(message, hint='save the plan with `plan(schema, to, out="x.plan.json")`, and apply the file')
    options = PlanOptions(on_unfit=_chosen("on_unfit", OnUnfit, on_unfit))
    request = ApplyRequest(str(reference), to, schemas, options, allow_destructive)
    return ApplyReport.of(apply_migration(request, lambda _: True, lambda: nullcontext(None)))
