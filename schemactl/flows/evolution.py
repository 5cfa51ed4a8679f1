"""What evidence makes of a stored schema, under its contract; ``infer`` saves it, ``normalize`` loads data under it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemactl.errors import InputError
from schemactl.flows.evidence import table_of
from schemactl.flows.resolution import resolve_data
from schemactl.flows.schemas import Opened, to_save
from schemactl.inference.evidence import Evidence
from schemactl.inference.findings import find_collisions, find_files, find_nulls, find_tables, find_violations
from schemactl.inference.report import InferenceReport
from schemactl.inference.resolve import Resolution
from schemactl.normalization.choose import module_of
from schemactl.schema.hash import bump
from schemactl.schema.judgement import Judgement, judge
from schemactl.schema.naming import convention_name
from schemactl.schema.settings import DEFAULT_NAMING, NormalizerConfig
from schemactl.schema.templates import RELATIONAL_NORMALIZER, new_schema
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder

if TYPE_CHECKING:
    from schemactl.flows.infer import InferRequest


@dataclass(frozen=True, slots=True)
class Evolution:
    """What becomes of a schema by evidence.

    Attributes:
        report: what is found; nothing is saved so far.
        schema: for ``save``.
        stored: the schema as ``save`` would store it, with its version and hash.
        resolution: all that the data asks for.
        judgement: what the contract says of it.
    """

    report: InferenceReport
    schema: Schema
    stored: Schema
    resolution: Resolution
    judgement: Judgement


def evolve_schema(
    request: InferRequest,
    folder: SchemasFolder,
    opened: Opened,
    evidence: Evidence,
    max_identifier_length: int | None = None,
    is_loaded: bool = False,
) -> Evolution:
    """Return what the evidence makes of a schema; nothing is written.

    Args:
        request: what was asked for.
        folder: what ``opened`` was read from.
        opened: the schema.
        evidence: what the data holds.
        max_identifier_length: of the destination; None for no limit.
        is_loaded: whether the data is loaded there.

    Raises:
        InputError: the schema does not allow such data.
    """
    before = schema_before(opened, request.naming, request.normalizer)
    table = table_of(request.table, request.sources, evidence, request.name)
    resolution = resolve_data(
        evidence, before, table, request.resolve_collisions, max_identifier_length, is_loaded=is_loaded
    )
    judgement = judge(before, resolution.schema, request.contract)
    evolved = before if judgement.is_refused else judgement.schema
    after = to_save(folder, opened, evolved)
    stored = _stored(opened)
    report = InferenceReport(
        name=request.name,
        table=resolution.root,
        sample=request.sample,
        files=find_files(evidence),
        tables=find_tables(before, judgement.schema, resolution, evidence),
        collisions=find_collisions(resolution),
        nulls=find_nulls(resolution, evidence),
        violations=find_violations(judgement.violations, resolution, evidence),
        before_hash=stored.version_hash if stored else None,
        before_version=stored.version if stored else None,
        after_hash=after.version_hash,
        after_version=after.version,
        is_check=request.is_check,
        saved=False,
        import_adopted=opened.import_adopted,
        export_edited=stored is not None and _is_edited(opened, stored),
    )
    return Evolution(report, evolved, after, resolution, judgement)


def _stored(opened: Opened) -> Schema | None:
    """Return the schema of the export file, with the hash of its content."""
    return bump(opened.export_document.schema) if opened.export_document else opened.schema


def _is_edited(opened: Opened, stored: Schema) -> bool:
    document = opened.export_document
    return document is not None and document.stated_hash != stored.version_hash


def schema_before(opened: Opened, naming: str | None = None, normalizer: str | None = None) -> Schema:
    """Return the schema as it was, a new one where there was none.

    Args:
        opened: what is stored.
        naming: of a new schema.
        normalizer: of a new schema.

    Raises:
        InputError: there is no such naming convention or normaliser, or the schema has another one.
    """
    module = RELATIONAL_NORMALIZER if normalizer is None else module_of(normalizer)
    if opened.schema is None:
        return new_schema(opened.name, naming or DEFAULT_NAMING, module)
    config = NormalizerConfig.of(opened.schema.normalizers)
    if naming is not None and convention_name(naming) != convention_name(config.naming):
        raise _began_otherwise(opened.name, "naming", "naming convention", config.naming)
    stated = str((opened.schema.normalizers.get("json") or {}).get("module") or RELATIONAL_NORMALIZER)
    if normalizer is not None and module_of(stated) != module:
        raise _began_otherwise(opened.name, "normalizer", "normalizer", stated)
    return opened.schema


def _began_otherwise(name: str, option: str, kind: str, stated: str) -> InputError:
    hint = f"a schema keeps the {kind} that it began with: leave `--{option}` out, or use another name"
    return InputError(f"the schema `{name}` has the {kind} `{stated}`", hint=hint)
