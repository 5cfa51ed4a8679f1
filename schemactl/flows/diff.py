"""``schemactl diff``: two references -> schemas -> changes -> rules -> report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from schemactl.destinations import is_migrator
from schemactl.errors import InputError, backquoted
from schemactl.flows.lineage import sources_beside
from schemactl.flows.references import Pair, Referred, comparable, find_pairs, find_schema, reported, revision_files
from schemactl.formats.dlt import Document
from schemactl.formats.dlt import read as read_document
from schemactl.garbage_collection import paused_collector
from schemactl.inference.lineage import Sources
from schemactl.progress import Progress, no_progress
from schemactl.redaction import redact
from schemactl.review.comparison import Comparison, SettingChange, Side
from schemactl.review.cosmetic import is_cosmetic
from schemactl.review.readers import Readership
from schemactl.review.report import Compatibility, Counted, Finding, Report, Review, Silence, Version
from schemactl.review.review import CountKey, ReviewSettings, compare, review
from schemactl.review.rules import all_rules
from schemactl.review.severity import Severity
from schemactl.review.silences import expired, unmatched
from schemactl.schema.changes import Change
from schemactl.schema.contract import PROMOTION_HINT
from schemactl.schema.hash import bump, version_hash
from schemactl.schema.hints import only_root
from schemactl.schema.nested_types import structure_in
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Properties, Schema
from schemactl.store.folder import SchemasFolder, SchemasPlace
from schemactl.store.git import find_repository, is_ancestor
from schemactl.store.history import versions_of
from schemactl.store.text import read_text

if TYPE_CHECKING:
    from schemactl.flows.reader_sources import ReaderSource
    from schemactl.flows.survival import DataRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffRequest:
    """The request of ``schemactl diff``.

    Attributes:
        base, head: REFs; None if the call omits them.
        compatibility: who the changes must not break.
        is_transitive: whether the head is also compared with older versions of the base.
        severities: severities that replace the defaults of single rules.
        today: the current date; silences that ended before do not apply.
        settings: the head's changes to the settings that review it.
        data: the data that decides row-dependent changes; None if no data was named.
        model: a Pydantic model, ``MODULE:CLASS``; the base is compared with the schema after a load with the model.
        readers: sources of queries and models that read the tables.
        table: the table of a model that is not a union; None for the schema's only root table.
    """

    base: str | None
    head: str | None
    schemas: SchemasPlace
    today: date
    compatibility: Compatibility = Compatibility.FULL
    is_transitive: bool = False
    severities: Mapping[str, Severity] = field(default_factory=dict)
    silences: tuple[Silence, ...] = ()
    settings: tuple[SettingChange, ...] = ()
    data: DataRequest | None = None
    model: str | None = None
    table: str | None = None
    readers: tuple[ReaderSource, ...] = ()


def diff_schemas(request: DiffRequest, progress: Progress | None = None) -> Report:
    """Compare the schemas that two references name."""
    with paused_collector():  # of 1,000 tables: a quarter of the time
        folder = SchemasFolder.at(request.schemas)
        if request.model is not None:
            pairs: tuple[Pair, ...] = (_with_model(request, request.model, folder),)
        else:
            pairs = find_pairs(request.base, request.head, folder)
        if request.data is not None and len(pairs) > 1:
            names = backquoted(pair.name for pair in pairs)
            raise InputError(
                f"`--data` is data of one schema, and these are {len(pairs)}: {names}", hint="name one of them"
            )
        return review_pairs(pairs, request, progress)


def review_pairs(pairs: Iterable[Pair], request: DiffRequest, progress: Progress | None = None) -> Report:
    """Review pairs of schemas; the references of the request are ignored."""
    pairs = tuple(pairs)
    pair_reviews = [_review_pair(pair, request, progress or no_progress) for pair in pairs]
    changed = {
        table
        for pair, review in zip(pairs, pair_reviews, strict=True)
        if review.changes
        for side in (pair.base, pair.head)
        if side is not None
        for table in side.schema.tables
    }
    reviews = (*_review_settings(request), *pair_reviews)
    findings = [finding for reviewed in reviews for finding in reviewed.findings]
    is_counted = any(finding.counted is not None for finding in findings)
    return Report(
        compatibility=request.compatibility,
        is_transitive=request.is_transitive,
        reviews=reviews,
        unmatched=unmatched(request.silences, findings, request.today, changed),
        expired=expired(request.silences, request.today),
        data=tuple(map(redact, request.data.sources)) if request.data and is_counted else (),
    )


def _with_model(request: DiffRequest, model: str, folder: SchemasFolder) -> Pair:
    """Return a schema, and the same schema with the columns of a model."""
    from schemactl.flows.models import find_model, schema_of, unfilled_columns

    if request.base is None or request.head is not None:
        raise InputError("`--model` is compared with one schema", hint=f"`schemactl diff NAME --model {model}`")
    base = find_schema(request.base, folder)
    if base.destination is not None:
        raise InputError("a destination's catalog cannot be compared with a model", hint="name a schema")
    table = request.table or only_root(base.schema)
    model_and_table = find_model(model, None), base.schema, table
    return Pair(base, Referred(schema_of(*model_and_table), model, unfilled=unfilled_columns(*model_and_table)))


def diff_files(paths: tuple[str, str], base: Path | None, head: Path | None, request: DiffRequest) -> Report:
    """Compare two versions of one file, each in a file as ``git diff`` passes them, or None for a missing file.

    ``paths`` are the paths of the file before and after; they name schemas that lack a name. The references of the
    request are ignored.
    """
    sides = [
        Referred.of(read_document(read_text(file), path), path) if file else None
        for path, file in zip(paths, (base, head), strict=True)
    ]
    return review_pairs((Pair(*sides),), request)


def _review_pair(pair: Pair, request: DiffRequest, progress: Progress) -> Review:
    if request.data is not None and pair.has_catalogue:
        raise InputError("a destination's catalog cannot be compared with data (`--data`)", hint="pass schema files")
    comparison = _compare(pair, request.today)
    counted = _count(comparison, pair, request, progress)
    settings = ReviewSettings(
        compatibility=request.compatibility,
        severities=request.severities,
        silences=request.silences,
        counted=counted,
        has_data=request.data is not None,
        readership=_readership(comparison, request),
        locate_head=pair.head.locate if pair.head else lambda _: None,
        locate_base=pair.base.locate if pair.base else lambda _: None,
    )
    findings = review(comparison, settings)
    if request.is_transitive and pair.base is not None:
        findings = _with_older(findings, pair, comparison, settings)
    versions = _versions(pair, comparison)
    return Review(
        name=pair.name,
        base=versions[0],
        head=versions[1],
        changes=comparison.changes,
        findings=findings,
        is_cosmetic=bool(comparison.changes) and is_cosmetic(comparison.changes),
        sources=_sources(pair, comparison),
    )


def _readership(comparison: Comparison, request: DiffRequest) -> Readership | None:
    """Return the readers of the tables on both sides; None if no readers are declared or nothing changed."""
    if not request.readers or not comparison.changes:
        return None
    from schemactl.flows.readers import read_readers

    schemas = (comparison.base.schema, comparison.head.schema)
    folder = SchemasFolder.at(request.schemas)
    base_files, head_files = (revision_files(reference, folder) for reference in (request.base, request.head))
    return read_readers(request.readers, schemas[0].name, schemas, files=head_files, base_files=base_files)


def _sources(pair: Pair, comparison: Comparison) -> Sources:
    """Return the source paths of both sides' tables and columns, by their names in the head."""
    sources: dict[tuple[str, str | None], tuple[str, ...]] = {}
    for side in (pair.base, pair.head):
        sources |= sources_beside(side.history, side.schema.name) if side is not None else {}
    for new, old in comparison.base_tables.items():
        renamed = {(new, column): paths for (table, column), paths in sources.items() if table == old}
        sources = {**renamed, **sources}
    for (table, new), old in comparison.base_columns.items():
        sources.setdefault((table, new), sources.get((table, old), ()))
    return sources


def _review_settings(request: DiffRequest) -> tuple[Review, ...]:
    if not request.settings:
        return ()
    nothing = Side(new_schema("settings"))
    settings_by_key = {setting.key: setting for setting in request.settings}
    settings = ReviewSettings(
        compatibility=request.compatibility,
        severities=request.severities,
        silences=request.silences,
        locate_head=lambda keys: settings_by_key[str(keys[-1])].at,
        locate_base=lambda keys: settings_by_key[str(keys[-1])].base_at,
    )
    comparison = replace(compare(nothing, nothing, request.today), settings=request.settings)
    return (Review(name="settings", base=None, head=None, findings=review(comparison, settings)),)


def _compare(pair: Pair, today: date) -> Comparison:
    if pair.base is None or pair.head is None or not pair.has_catalogue:
        # A missing side is the other one without its tables, so that each table is new or gone.
        empty = Side(replace(pair.any_side.schema, tables={}))
        base, head = (_side(side) if side else empty for side in (pair.base, pair.head))
        return replace(compare(base, head, today), is_descendant=lambda: _is_descendant(pair))
    from schemactl.flows.migrate.ledger_schemas import warn_of_lost
    from schemactl.flows.target import find_destination

    for catalogue, file_side in ((pair.base, pair.head), (pair.head, pair.base)):
        if catalogue.address is not None and file_side.document is not None:
            warn_of_lost(file_side.document.schema, find_destination(catalogue.address))
    schemas = comparable(pair.base, pair.head)
    comparison = compare(_structure(pair.base, schemas[0]), _structure(pair.head, schemas[1]), today)
    destinations = (side.destination for side in (pair.base, pair.head) if side.destination is not None)
    # Reads the types of nested columns from a catalog; Spark's DDL if the destination does not support migrations.
    readers = [destination.ABILITIES.structure_in for destination in destinations if is_migrator(destination)]
    reader = readers[0] if readers else structure_in
    head = replace(comparison.head, schema=_with_promotions(comparison.head.schema, pair.head.schema))
    return replace(comparison, head=head, changes=reported(comparison.changes), structure_in=reader)


def _with_promotions(structure: Schema, schema: Schema) -> Schema:
    """Return the compared structure of a schema with the hints that let data widen its columns."""
    tables = {}
    for name, table in structure.tables.items():
        declared_table = schema.tables.get(name)
        if declared_table is None:
            tables[name] = table
            continue
        columns = {
            key: Column(key, {**column.properties, **_promotion(declared_column.properties)})
            if (declared_column := declared_table.columns.get(key)) is not None
            else column
            for key, column in table.columns.items()
        }
        tables[name] = replace(
            table, columns=columns, properties={**table.properties, **_promotion(declared_table.properties)}
        )
    return replace(structure, tables=tables, settings={**structure.settings, **_promotion(schema.settings)})


def _promotion(properties: Properties) -> Properties:
    return {key: value for key, value in properties.items() if key == PROMOTION_HINT}


def _is_descendant(pair: Pair) -> bool:
    """Return whether the base is a revision that the head's revision, or working tree, comes from."""
    base, head = pair.base, pair.head
    if base is None or head is None or base.commit is None or base.history is None or head.history is None:
        return False
    try:
        top = find_repository(base.history)
        is_same_repository = find_repository(head.history) == top
    except InputError:
        return False  # a file that is in no repository has no revisions
    # A working tree in the middle of a merge comes from both branches.
    tips = (head.commit,) if head.commit else ("HEAD", "MERGE_HEAD")
    return is_same_repository and any(is_ancestor(top, base.commit, tip) for tip in tips)


def _structure(referred: Referred, schema: Schema) -> Side:
    """Return the side of a comparison with a catalog: its structure, and its hashes or limits of names."""
    if referred.destination is not None:
        return Side(schema, destination=referred.destination.NAMES, hashes=referred.hashes)
    hashes = (bump(referred.schema).version_hash, *bump(referred.schema).previous_hashes)
    return Side(schema, hashes=hashes)


def _side(referred: Referred) -> Side:
    document = referred.document
    if document is None:
        questions = referred.effective.merged.open_questions if referred.effective else ()
        return Side(referred.schema, open_questions=questions, unfilled=referred.unfilled)
    return Side(document.schema, document.stated_hash, document.is_edited, document.stated_engine_version)


def _versions(pair: Pair, comparison: Comparison) -> tuple[Version | None, Version | None]:
    base, head = _version(pair.base, comparison.base), _version(pair.head, comparison.head)
    if base is None or head is None or not pair.has_catalogue:
        return base, head
    # A catalog has no version: without drift it has the version of the other side.
    if pair.head and pair.head.destination:
        return base, _held_version(head, base, comparison.changes)
    return _held_version(base, head, comparison.changes), head


def _held_version(catalogue: Version, other: Version, changes: tuple[Change, ...]) -> Version:
    return replace(catalogue, number=other.number, hash=catalogue.hash if changes else other.hash)


def _version(referred: Referred | None, compared: Side) -> Version | None:
    if referred is None:
        return None
    schema, document = referred.schema, referred.document
    if document is None:
        return Version(
            origin=referred.origin, number=schema.version, stated_hash=None, hash=version_hash(compared.schema)
        )
    is_current = document.stated_engine_version == schema.engine_version
    holds = document.stated_hash is not None and is_current and not document.is_edited
    return Version(
        origin=referred.origin,
        number=schema.version,
        stated_hash=document.stated_hash,
        hash=document.stated_hash if holds and document.stated_hash else version_hash(schema),
        is_edited=document.is_edited,
    )


def _count(comparison: Comparison, pair: Pair, request: DiffRequest, progress: Progress) -> Mapping[CountKey, Counted]:
    """Count in the data, or in the destination whose catalog becomes the head schema."""
    is_stored = pair.base is not None and pair.base.destination is not None and is_migrator(pair.base.destination)
    stored_address = pair.base.address if pair.base is not None and is_stored else None
    has_head_schema = pair.head is not None and pair.head.destination is None
    if request.data is None and not (stored_address is not None and has_head_schema):
        return {}
    from schemactl.flows.survival import Question, count_survivors

    matches = (match for rule in all_rules() for match in rule.find(comparison))
    questions = list(
        dict.fromkeys(
            Question(match.table, match.column, match.question, match.field)
            for match in matches
            if match.table and match.column and match.question
        )
    )
    if request.data is not None:
        counts = count_survivors(comparison.base.schema, comparison.head.schema, questions, request.data, progress)
    else:
        from schemactl.flows.stored_counts import count_stored

        assert pair.head is not None
        assert stored_address is not None
        counts = count_stored(stored_address, pair.head.schema, questions)
    return {(item.table, item.column, item.kind, item.field): counted for item, counted in counts.items()}


def _with_older(
    findings: tuple[Finding, ...], pair: Pair, comparison: Comparison, settings: ReviewSettings
) -> tuple[Finding, ...]:
    """Add the findings that break older versions of the base, each with the newest version that it breaks."""
    known_fingerprints = {finding.fingerprint for finding in findings}
    about_file = {rule.id for rule in all_rules() if rule.is_about_file}
    older_findings = []
    older_settings = replace(settings, locate_base=lambda _: None, counted={})
    for name, document in _older_versions(pair):
        version = Pair(Referred.of(document, name), pair.head)
        for finding in review(_compare(version, comparison.today), older_settings):
            is_new = finding.fingerprint not in known_fingerprints and finding.rule not in about_file
            if is_new and finding.severity is not Severity.INFO:
                known_fingerprints.add(finding.fingerprint)
                older_findings.append(replace(finding, against=name))
    return tuple(sorted((*findings, *older_findings), key=lambda finding: -finding.severity.rank))


def _older_versions(pair: Pair) -> Iterator[tuple[str, Document]]:
    """Yield versions of the base's file in git, newest first, except for the version that is already compared."""
    assert pair.base is not None
    # Compare content, because a file written by hand has no hash and an edited file has an old hash.
    compared_hashes = {version_hash(pair.base.schema)}
    if pair.base.history is None:
        hint = "name a file of a repository, or `git:REV`"
        raise InputError(f"`{pair.base.origin}` has no older versions (`--transitive`)", hint=hint)
    for version in versions_of(pair.base.history):
        try:
            document = read_document(version.text, str(version.path))
            content = version_hash(document.schema)
        except InputError:
            # A commit of the past may contain anything; a file that never was a schema had no readers.
            continue
        if content not in compared_hashes:
            compared_hashes.add(content)
            yield version.name, document
