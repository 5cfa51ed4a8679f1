"""Evolves a stored schema by evidence, under its contract; ``infer`` saves it, ``normalize`` loads data under it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from shlex import quote
from typing import TYPE_CHECKING, Final, TypeAlias

from schemactl.engine.input import COMPRESSIONS, RECORD_TAG
from schemactl.engine.input_formats import TEXTS
from schemactl.errors import InputError
from schemactl.flows.evidence import table_of
from schemactl.flows.schemas import Opened, to_save
from schemactl.inference.advice import (
    describe_contracts,
    describe_detection,
    describe_selection,
    describe_shortened,
    suggest_detection,
    suggest_migration,
    suggest_selection,
    suggest_spelling,
    suggest_typing,
)
from schemactl.inference.detection import with_detection
from schemactl.inference.evidence import Evidence
from schemactl.inference.findings import find_collisions, find_files, find_nulls, find_tables, find_violations
from schemactl.inference.fitting import Fitted
from schemactl.inference.lineage import Lineage, lineage_of
from schemactl.inference.odd_data import describe_odd_data
from schemactl.inference.promotion import NO_PROMOTIONS, CountNew, CountStored, Promoter, Promotions
from schemactl.inference.report import FileFinding, InferenceReport, PromotionFinding, TypingFinding
from schemactl.inference.resolve import Resolution, ResolveOptions
from schemactl.inference.source_names import fit_to_data, resolve_data, root_table
from schemactl.inference.source_nulls import with_source_nulls
from schemactl.normalization.normalizers import make_plan, module_of
from schemactl.normalization.plan import Plan
from schemactl.normalization.request import PlanRequest
from schemactl.redaction import redact
from schemactl.schema.contract import Mode, may_promote
from schemactl.schema.hints import with_hints
from schemactl.schema.judgment import Judgment, Violation, judge, leave_out
from schemactl.schema.naming import convention_name
from schemactl.schema.paths import format_path
from schemactl.schema.record_selection import with_selection
from schemactl.schema.settings import DEFAULT_NAMING, NormalizerConfig
from schemactl.schema.templates import RELATIONAL_NORMALIZER, new_schema
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder

if TYPE_CHECKING:
    from schemactl.engine.package import WrittenRows
    from schemactl.flows.request import InferRequest

Unfilled: TypeAlias = frozenset[tuple[str, str | None]]
"""Columns, and tables (column None), that nothing is loaded into."""


@dataclass(frozen=True, slots=True)
class PromotionCounts:
    """The counts for promotions: of reread data, and of stored values; None if neither is available."""

    new: CountNew | None = None
    stored: CountStored | None = None


NO_COUNTS: Final = PromotionCounts()


@dataclass(frozen=True, slots=True)
class Evolution:
    """The evolution of a schema by evidence.

    Attributes:
        before: the stored schema with the call's model and hints, under names that fit the destination.
        stored: the evolved schema as ``save`` stores it, with its version and hash.
        hints: the content of a new import file, as dlt writes it: no columns from data. None for an existing schema,
            of which dlt writes all.
        judgment: the schema that the contract allows, and the violations.
        lineage: the source paths that feed its tables and columns.
    """

    report: InferenceReport
    before: Schema
    schema: Schema
    stored: Schema
    hints: Schema | None
    resolution: Resolution
    judgment: Judgment
    lineage: Lineage

    def plan(self, evidence: Evidence) -> Plan:
        """Return the plan of the rows of the data with this evidence."""
        return make_plan(PlanRequest(evidence, self.resolution, self.judgment))

    def with_typing(self, findings: tuple[TypingFinding, ...], rejected: Mapping[str, int]) -> Evolution:
        """Return the evolution with typing errors, which may refuse it, and rejected records of no table, by file."""
        files = (FileFinding(path, count, count, 0, None, "") for path, count in rejected.items())
        return replace(self, report=replace(self.report, typing=findings, files=(*self.report.files, *files)))


@dataclass(frozen=True, slots=True)
class _Start:
    """A schema prepared for the inference of one root table.

    Attributes:
        table: the user's name for the root table.
        stored: the schema without the declarations of the call.
        fitted: the schema with the call's model and hints, under names that fit the destination.
        schema: the fitted schema with the detectors for the data.
        is_new: whether the stored schema has no columns for the root table.
        violations: declarations of the model that the contract refuses.
    """

    request: InferRequest
    evidence: Evidence
    table: str
    stored: Schema
    fitted: Fitted
    schema: Schema
    root: str
    is_new: bool
    violations: tuple[Violation, ...]

    @property
    def before(self) -> Schema:
        return self.fitted.schema


def evolve_schema(  # noqa: PLR0913 - a call, its data, and all that was found out about them
    request: InferRequest,
    opened: Opened,
    evidence: Evidence,
    is_loaded: bool = False,
    unfilled: Unfilled = frozenset(),
    after: Evolution | None = None,
    counts: PromotionCounts = NO_COUNTS,
) -> Evolution:
    """Evolve a schema by evidence; nothing is written.

    ``unfilled`` are tables and columns that only rejected rows need, so they are left out; ``after`` is the evolution
    by the data of another root table in the same call; ``counts`` tells which values survive in wider columns.
    """
    start = _prepare(request, opened, evidence, after)
    resolution, promotions = _promote(start, counts, is_loaded)
    if after is not None:
        # dlt silently mixes the elements of a list with the rows of another root table.
        for name in {table for table, _ in resolution.taken} - {resolution.root}:
            if not resolution.schema.tables[name].is_nested:
                message = f"a list in the data of table `{resolution.root}` and other data both go to table `{name}`"
                raise InputError(message, hint="use another name for one of the tables")
    if request.model is not None and _is_empty(evidence) and start.root not in start.before.tables:
        # The model rejects all records of the table; as with dlt, its first row creates it.
        unfilled |= {(start.root, None)}
    judgment = leave_out(judge(start.before, resolution.schema, request.contract), start.before, unfilled)
    violations = (*start.violations, *judgment.violations)
    if request.rejects_frozen:
        violations = tuple(
            replace(violation, mode=Mode.DISCARD_ROW) if violation.mode is Mode.FREEZE else violation
            for violation in violations
        )
    judgment = replace(judgment, violations=violations)
    evolved = start.before if judgment.is_refused else judgment.schema
    hints = _hints((after and after.hints) or start.before, start, evolved) if opened.schema is None else None
    saved = to_save(SchemasFolder.at(request.schemas), opened, evolved, hints)
    report = _report(start, opened, resolution, judgment, saved)
    if counts.stored is None:
        report = replace(report, hints=(*report.hints, *suggest_migration(start.before, promotions)))
    report = replace(report, promotions=promotions)
    lineage = lineage_of(evidence, resolution, evolved)
    return Evolution(report, start.before, evolved, saved, hints, resolution, judgment, lineage)


def _is_empty(evidence: Evidence) -> bool:
    return not (evidence.paths or evidence.declared)


def _prepare(request: InferRequest, opened: Opened, evidence: Evidence, after: Evolution | None) -> _Start:
    """Apply the model, the hints, the destination's limit of names and the detectors of a call to a schema."""
    stored = after.schema if after else schema_before(opened, request.naming, request.normalizer)
    if request.destination_schema is not None and after is None:
        stored = stored.with_missing_from(request.destination_schema)
    table = table_of(request.table, request.sources, evidence, request.name)
    schema, violations = stored, tuple[Violation, ...]()
    if request.model is not None and not _is_empty(evidence):
        from schemactl.flows.models import with_model

        model = request.model.of_table(request.dispatch, table)
        if model is not None:
            schema, violations = with_model(schema, model, root_table(schema, table), request.contract)
    if request.selection is not None:
        schema = replace(schema, settings=with_selection(schema.settings, request.selection))
    if request.hints is not None:
        schema = with_hints(schema, request.hints, root_table(schema, table))
    fitted = fit_to_data(schema, table, evidence, request.max_identifier_length)
    root = root_table(fitted.schema, table, fitted.max_length)
    stored_table = stored.tables.get(root) or stored.tables.get(root_table(stored, table))
    is_new = stored_table is None or stored_table.is_new
    has_new_texts = is_new and holds_texts(evidence.files, request.input_format)
    detecting = with_detection(fitted.schema, root, table, request.detect, has_new_texts)
    return _Start(request, evidence, table, stored, fitted, detecting, root, is_new, violations)


def _promote(
    start: _Start, counts: PromotionCounts, is_loaded: bool
) -> tuple[Resolution, tuple[PromotionFinding, ...]]:
    """Resolve the evidence of one root table, with wider columns in place of variants if the contract promotes them."""
    before, override = start.before, start.request.contract
    if not may_promote(before, override):
        return _resolve(start, is_loaded), ()
    settle_decimal = start.request.settle_decimal
    promoter = Promoter(start.evidence, before, override, counts.new, counts.stored, settle_decimal)
    resolution, promotions = promoter.promote(lambda promotions: _resolve(start, is_loaded, promotions))
    return resolution, promotions.findings


def _resolve(start: _Start, is_loaded: bool, promotions: Promotions = NO_PROMOTIONS) -> Resolution:
    """Resolve the evidence of one root table, with the nulls of its sources."""
    request, evidence = start.request, start.evidence
    options = ResolveOptions(
        max_identifier_length=start.fitted.max_length,
        is_loaded=is_loaded,
        wider=promotions.wider,
        refused=promotions.refused,
        wider_fields=promotions.wider_fields,
    )
    resolution = resolve_data(evidence, start.schema, start.table, request.resolve_collisions, options)
    resolution = with_source_nulls(resolution, start.before, evidence, request.contract, _columns_with_nulls(start))
    _check_named(resolution, evidence, convention_name(NormalizerConfig.of(start.before.normalizers).naming))
    return resolution


def _columns_with_nulls(start: _Start) -> frozenset[tuple[str, str]]:
    """Return the tables and columns whose nullability the call sets."""
    before, hints = start.before, start.request.hints
    if hints is None:
        return frozenset()
    empty = replace(before, tables={name: replace(table, columns={}) for name, table in before.tables.items()})
    tables = with_hints(empty, hints, start.root, before).tables.values()
    return frozenset(
        (table.name, column.name)
        for table in tables
        for column in table.columns.values()
        if "nullable" in column.properties
    )


def _check_named(resolution: Resolution, evidence: Evidence, naming: str) -> None:
    """Refuse keys that the naming convention turns into an empty name, as ``__``: dlt fails at such values."""
    for (table, column), taken_classes in resolution.taken.items():
        if not column:
            path, class_name = taken_classes[0]
            class_evidence = evidence.paths.get(path, {}).get(class_name)
            message = f"`{format_path(path)}` results in an empty column name in table `{table}`"
            hint = "rename the key in the data"
            if naming != "direct":
                hint += ", or create the schema with `--naming direct`, which keeps keys unchanged"
            raise InputError(message, at=class_evidence.first.location if class_evidence else None, hint=hint)


def _hints(earlier: Schema, start: _Start, evolved: Schema) -> Schema:
    """Return a new schema without the columns from data: the call's declarations and the root tables."""
    table = evolved.tables.get(start.root)
    declared = start.before.tables.get(start.root)
    return earlier.with_table(replace(table, columns=declared.columns if declared else {})) if table else earlier


def _report(
    start: _Start, opened: Opened, resolution: Resolution, judgment: Judgment, saved: Schema
) -> InferenceReport:
    request, evidence, before = start.request, start.evidence, start.before
    stored = opened.stored or opened.schema
    export = opened.export_document
    tables = find_tables(start.stored, judgment.schema, resolution, evidence)
    source = redact(next(iter(request.all_sources), "SOURCE"))
    draft = f"schemactl typing draft {quote(source)} --name {request.name}"
    return InferenceReport(
        name=request.name,
        table=resolution.root,
        sample=request.sample,
        files=find_files(evidence, resolution.root),
        tables=tables,
        collisions=find_collisions(resolution),
        nulls=find_nulls(resolution, evidence, judgment.schema),
        violations=find_violations(judgment.violations, resolution, evidence, before, request.contract),
        before_hash=stored.version_hash if stored else None,
        before_version=stored.version if stored else None,
        after_hash=saved.version_hash,
        after_version=saved.version,
        is_check=request.is_check,
        saved=False,
        schema=saved,
        import_adopted=opened.import_adopted,
        dropped=tuple(_dropped(opened.stored, saved)) if opened.import_adopted and opened.stored else (),
        export_edited=stored is not None and export is not None and export.stated_hash != stored.version_hash,
        hints=(
            *describe_shortened(start.fitted, start.fitted.max_length),
            *(() if start.is_new else describe_detection(before, start.schema, start.root)),
            *(suggest_detection(start.schema, resolution, evidence) if request.detect is None else ()),
            *(suggest_typing(start.schema, resolution, evidence, draft) if request.typing is None else ()),
            *describe_contracts(before, judgment.schema, request.contract),
            *describe_selection(start.stored, before),
            *describe_odd_data(tables, judgment.schema, resolution, evidence),
            *(suggest_selection(before, evidence) if start.is_new and request.selection is None else ()),
            *(suggest_spelling(start.stored, before, resolution) if request.hints is not None else ()),
        ),
    )


def _dropped(stored: Schema, evolved: Schema) -> Iterator[str]:
    """Yield the tables and columns of the stored schema that the evolved schema lacks."""
    for name, table in stored.tables.items():
        if name not in evolved.tables:
            yield name
        else:
            yield from (f"{name}.{column}" for column in table.columns if column not in evolved.tables[name].columns)


def schema_before(opened: Opened, naming: str | None = None, normalizer: str | None = None) -> Schema:
    """Return the stored schema, or a new one; another naming convention or normalizer than the stored is an error."""
    module = RELATIONAL_NORMALIZER if normalizer is None else module_of(normalizer)
    if opened.schema is None:
        return new_schema(opened.name, naming or DEFAULT_NAMING, module)
    config = NormalizerConfig.of(opened.schema.normalizers)
    if naming is not None and convention_name(naming) != convention_name(config.naming):
        raise _began_otherwise(opened.name, "naming", "naming convention", config.naming)
    stored_module = str(config.module or RELATIONAL_NORMALIZER)
    if normalizer is not None and module_of(stored_module) != module:
        raise _began_otherwise(opened.name, "normalizer", "normalizer", stored_module)
    return opened.schema


def _began_otherwise(name: str, option: str, kind: str, stored_value: str) -> InputError:
    change = f", or `schemactl edit {name} --naming`" if option == "naming" else ", or use another name"
    hint = f"the {kind} of a schema is fixed: remove `--{option}`{change}"
    return InputError(f"the schema `{name}` has the {kind} `{stored_value}`", hint=hint)


def may_be_unfilled(evolution: Evolution) -> bool:
    """Return whether a new table or column may have values in rejected rows only."""
    judgment = evolution.judgment
    rejects_rows = any(violation.mode is Mode.DISCARD_ROW for violation in judgment.violations)
    return rejects_rows and not judgment.is_refused and judgment.schema != evolution.before


def find_unfilled(evolution: Evolution, rows: WrittenRows) -> Unfilled:
    """Return the new columns without a value, and the tables without a row (column None), if rows are rejected."""
    unfilled: set[tuple[str, str | None]] = set()
    if not any(counts.rejected for counts in rows.tally.tables.values()):
        return frozenset()
    for name, table in evolution.judgment.schema.tables.items():
        counts, earlier_table = rows.tally.tables.get(name), evolution.before.tables.get(name)
        if counts is None or table == earlier_table:
            continue
        if not counts.loaded:
            if earlier_table is not None or table.is_nested:
                unfilled.add((name, None))
            continue
        for column in table.columns:
            earlier_column = evolution.before.column(name, column)
            is_new = earlier_column is None or not earlier_column.is_complete
            if is_new and (name, column) in evolution.resolution.taken and (name, column) not in rows.filled:
                unfilled.add((name, column))
    return frozenset(unfilled)


def holds_texts(files: Iterable[str], input_format: str | None) -> bool:
    """Return whether all values of some files are texts, by the format of the call or the files' endings."""
    if input_format is not None:
        return input_format in TEXTS or input_format.startswith(RECORD_TAG)
    text_endings = {ending for endings in TEXTS.values() for ending in endings}
    suffixes = ([suffix.lower() for suffix in reversed(PurePosixPath(name).suffixes)] for name in files)
    endings = [next((suffix for suffix in of_file if suffix not in COMPRESSIONS), "") for of_file in suffixes]
    return bool(endings) and text_endings.issuperset(endings)
