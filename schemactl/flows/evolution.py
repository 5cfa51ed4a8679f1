"""Evolves a stored schema by evidence, under its contract; ``infer`` saves it, ``normalize`` loads data under it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from schemactl.errors import InputError
from schemactl.flows.evidence import table_of
from schemactl.flows.models import with_model
from schemactl.flows.resolution import fit_to_data, resolve_data, root_table
from schemactl.flows.schemas import Opened, to_save
from schemactl.inference.evidence import Evidence
from schemactl.inference.findings import (
    find_collisions,
    find_files,
    find_nulls,
    find_numbers_in_texts,
    find_tables,
    find_violations,
)
from schemactl.inference.fitting import Fitted
from schemactl.inference.lineage import Lineage, lineage_of
from schemactl.inference.report import FileFinding, InferenceReport, TypingFinding
from schemactl.inference.resolve import DETECTIONS, Resolution
from schemactl.inference.source_nulls import with_source_nulls
from schemactl.normalization.normalizers import make_plan, module_of
from schemactl.normalization.plan import Plan
from schemactl.normalization.request import PlanRequest
from schemactl.schema.contract import Entity, Mode, stated_contract, system_prefix
from schemactl.schema.hints import with_hints
from schemactl.schema.judgment import Judgment, Violation, judge, leave_out
from schemactl.schema.likeness import misspelled_name
from schemactl.schema.naming import convention_name, naming_of
from schemactl.schema.paths import format_path
from schemactl.schema.settings import DEFAULT_NAMING, NormalizerConfig
from schemactl.schema.templates import RELATIONAL_NORMALIZER, new_schema
from schemactl.schema.types import Schema, Table
from schemactl.store.folder import SchemasFolder

if TYPE_CHECKING:
    from schemactl.engine.package import WrittenRows
    from schemactl.flows.request import InferRequest


from collections.abc import Iterable
from pathlib import PurePosixPath

from schemactl.engine.input import COMPRESSIONS, RECORD_TAG
from schemactl.engine.input_formats import TEXTS
from schemactl.schema.detectors import DETECTORS

MOST_NAMES: Final = 3
"""Columns that a hint names."""


Unfilled: TypeAlias = frozenset[tuple[str, str | None]]
"""Columns, and tables (column None), that nothing is loaded into."""


@dataclass(frozen=True, slots=True)
class Evolution:
    """The evolution of a schema by evidence.

    Attributes:
        before: the schema as it was, with what the call states, under names that the destination keeps.
        stored: the schema as ``save`` would store it, with its version and hash.
        hints: what a new import file holds: no column that data brought, as dlt writes it. None for a schema that is
            there: of that dlt writes all.
        judgment: what the contract says of it.
        lineage: which source paths feed its tables and columns.
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

    def with_typing(self, found: tuple[TypingFinding, ...], rejected: Mapping[str, int]) -> Evolution:
        """Return the same with what is wrong with rows, which may refuse it, and with rejected records of no table."""
        files = (FileFinding(path, count, count, 0, None, "") for path, count in rejected.items())
        return replace(self, report=replace(self.report, typing=found, files=(*self.report.files, *files)))


def evolve_schema(
    request: InferRequest,
    opened: Opened,
    evidence: Evidence,
    is_loaded: bool = False,
    unfilled: Unfilled = frozenset(),
    after: Evolution | None = None,
) -> Evolution:
    """Return what the evidence makes of a schema; nothing is written.

    ``unfilled`` is what only rejected rows ask for, which does not come about; ``after`` what data of another root
    table has made of the schema in the same call.

    Raises:
        InputError: the schema does not allow such data, or two root tables of the call share one.
    """
    before = after.schema if after else schema_before(opened, request.naming, request.normalizer)
    if request.held is not None and after is None:
        before = before.with_rest_of(request.held)
    known = before
    table = table_of(request.table, request.sources, evidence, request.name)
    refused: tuple[Violation, ...] = ()
    is_empty = not (evidence.paths or evidence.typed)
    model = None if request.model is None or is_empty else request.model.of_table(request.dispatch, table)
    if model is not None:
        before, refused = with_model(before, model, root_table(before, table), request.contract)
    if request.hints is not None:
        before = with_hints(before, request.hints, root_table(before, table))
    fitted = fit_to_data(before, table, evidence, request.max_identifier_length)
    limit = fitted.max_length
    before, root = fitted.schema, root_table(fitted.schema, table, limit)
    known_table = known.tables.get(root) or known.tables.get(root_table(known, table))
    is_new = known_table is None or known_table.is_new
    texts_of_new = is_new and holds_texts(evidence.files, request.input_format)
    start = with_detection(before, root, table, request.detect, texts_of_new)
    resolution = resolve_data(evidence, start, table, request.resolve_collisions, limit, is_loaded=is_loaded)
    resolution = with_source_nulls(resolution, before, evidence, request.contract, _stated_nulls(request, before, root))
    _check_named(resolution, evidence, convention_name(NormalizerConfig.of(before.normalizers).naming))
    if after is not None:
        _check_apart(resolution)
    if request.model is not None and is_empty and root not in before.tables:
        # The model rejects all records of the table; as with dlt, it comes about with its first row.
        unfilled |= {(root, None)}
    judgment = leave_out(judge(before, resolution.schema, request.contract), before, unfilled)
    judgment = replace(judgment, violations=(*refused, *judgment.violations))
    evolved = before if judgment.is_refused else judgment.schema
    hints = (
        _hints(after.hints if after else before, before, evolved, resolution.root) if opened.schema is None else None
    )
    saved = to_save(SchemasFolder.at(request.schemas), opened, evolved, hints)
    stored = opened.stored or opened.schema
    report = InferenceReport(
        name=request.name,
        table=resolution.root,
        sample=request.sample,
        files=find_files(evidence, resolution.root),
        tables=find_tables(known, judgment.schema, resolution, evidence),
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
        dropped=tuple(_dropped(opened.stored, evolved)) if opened.import_adopted and opened.stored else (),
        export_edited=(
            stored is not None
            and opened.export_document is not None
            and opened.export_document.stated_hash != stored.version_hash
        ),
        hints=(
            *_say_fitted(fitted, limit),
            *(() if is_new else _say_detection(before, start, root)),
            *_say_numbers(request, start, resolution, evidence),
            *_say_contracts(before, judgment.schema, request.contract),
            *(_say_misspelled(known, before, resolution) if request.hints is not None else ()),
        ),
    )
    lineage = lineage_of(evidence, resolution, evolved)
    return Evolution(report, before, evolved, saved, hints, resolution, judgment, lineage)


def _stated_nulls(request: InferRequest, before: Schema, root: str) -> frozenset[tuple[str, str]]:
    """Return the columns, by table, of which the call states whether they may be null."""
    if request.hints is None:
        return frozenset()
    empty = replace(before, tables={name: replace(table, columns={}) for name, table in before.tables.items()})
    tables = with_hints(empty, request.hints, root, before).tables.values()
    return frozenset(
        (table.name, column.name)
        for table in tables
        for column in table.columns.values()
        if "nullable" in column.properties
    )


def _check_named(resolution: Resolution, evidence: Evidence, naming: str) -> None:
    """Refuse keys that the naming convention leaves no name of, as ``__``: dlt fails at such values."""
    unnamed = ((table, taken) for (table, column), taken in resolution.taken.items() if not column)
    for table, ((path, class_), *_) in unnamed:
        found = evidence.paths.get(path, {}).get(class_)
        message = f"`{format_path(path)}` leaves no name for a column of table `{table}`"
        more = (
            "" if naming == "direct" else ", or begin the schema with `--naming direct`, which keeps names as they are"
        )
        hint = f"rename the key in the data{more}"
        raise InputError(message, at=found.first.location if found else None, hint=hint)


def _check_apart(resolution: Resolution) -> None:
    """Refuse lists whose elements would go to another root table of the same call: dlt mixes them without a word."""
    for name in {table for table, _ in resolution.taken} - {resolution.root}:
        if not resolution.schema.tables[name].is_nested:
            message = f"a list in the data of table `{resolution.root}` and other data both go to table `{name}`"
            raise InputError(message, hint="name one of the tables otherwise")


def _hints(known: Schema | None, before: Schema, evolved: Schema, root: str) -> Schema:
    """Return what is known of a new schema before data comes: what was stated, and the root tables."""
    known = known or before
    table = evolved.tables.get(root)
    stated = before.tables.get(root)
    return known.with_table(replace(table, columns=stated.columns if stated else {})) if table else known


def _say_fitted(fitted: Fitted, limit: int | None) -> Iterator[str]:
    """Report names that were too long for the destination."""
    names = [
        f"`{table}` is now `{new}`" if column is None else f"`{table}.{column}` is now `{new}`"
        for (table, column), new in fitted.renamed.items()
    ]
    if names:
        more = f", and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        yield f"the destination keeps {limit} characters of a name: {', '.join(names[:MOST_NAMES])}{more}"


def _say_detection(before: Schema, after: Schema, root: str) -> Iterator[str]:
    """Report what another list of detectors does with a table that was there before."""
    if after == before:
        return
    own = after.tables[root].properties.get(DETECTIONS) or ()
    names = dict.fromkeys((*own, *(after.settings.get("detections") or ())))  # in the order in which they are asked
    listed = ", ".join(f"`{name}`" for name in names) or "none"
    yield f"detectors of table `{root}` are now {listed}; columns that are there keep their types"


def _say_numbers(request: InferRequest, start: Schema, resolution: Resolution, evidence: Evidence) -> Iterator[str]:
    """Point to ``--detect`` where new columns hold texts that are numbers."""
    if request.detect is not None or resolution.schema.tables[resolution.root].properties.get(DETECTIONS):
        return
    found = [f"`{table}.{column}`" for table, column in find_numbers_in_texts(start, resolution, evidence)]
    if found:
        names = _first_names(found)
        yield f"texts of {names} look like numbers; `--detect=+digits,+number` makes numbers of such new columns"


def _say_misspelled(known: Schema, before: Schema, resolution: Resolution) -> Iterator[str]:
    """Report columns that the call states, no data fills, and that are nearly called as others of their table."""
    for name, table in before.tables.items():
        stored, resolved = known.tables.get(name), resolution.schema.tables.get(name)
        for column in table.columns:
            if (stored and column in stored.columns) or (name, column) in resolution.taken or resolved is None:
                continue
            near = misspelled_name(column, resolved.columns)
            if near is not None:
                yield f"no data fills the new column `{name}.{column}`; did you mean `{near}`?"


def _say_contracts(before: Schema, after: Schema, override: str | None) -> Iterator[str]:
    """Report contracts that go before that of the call, and what evolved as the contract leaves it out."""
    stated = replace(before, tables={**after.tables, **before.tables})
    open_ones: dict[str, list[str]] = {}
    prefix = system_prefix(naming_of(before))
    is_first = all(name.startswith(prefix) for name in before.tables)
    for name, table in after.tables.items():
        known, contract = before.tables.get(name), stated_contract(stated, name, override)
        if table == known or not contract.entities:
            continue
        if override and contract.level != "call":
            yield f"the contract of {_in_words(contract.level)} goes before `--contract` for table `{name}`"
        for entity, place in _evolved(known, table, prefix):
            if entity not in contract.entities and not (is_first and entity == Entity.TABLES):
                open_ones.setdefault(f"the contract of {_in_words(contract.level)} leaves out `{entity}`", []).append(
                    place
                )
    for what, places in open_ones.items():
        yield f"{what}, which evolves: {_first_names(places)}"


def _first_names(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"{', '.join(names[:MOST_NAMES])}{more}"


def _in_words(level: str) -> str:
    kind, _, name = level.partition(" ")
    return f"table `{name}`" if name else f"the {kind}"


def _evolved(known: Table | None, table: Table, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield what is new in a table, by the entity of contracts that decides on it."""
    if known is None or known.is_new:
        yield Entity.TABLES, f"`{table.name}`"
        return
    for column in table.columns.values():
        if column.name not in known.columns and not column.name.startswith(prefix):
            yield Entity.DATA_TYPE if column.is_variant else Entity.COLUMNS, f"`{table.name}.{column.name}`"


def _dropped(stored: Schema, evolved: Schema) -> Iterator[str]:
    """Yield what data brought to the stored schema and the evolved one lacks."""
    for name, table in stored.tables.items():
        if name not in evolved.tables:
            yield name
        else:
            known = evolved.tables[name].columns
            yield from (f"{name}.{each.name}" for each in table.columns.values() if each.name not in known)


def schema_before(opened: Opened, naming: str | None = None, normalizer: str | None = None) -> Schema:
    """Return the schema as it was, a new one where there was none.

    Raises:
        InputError: there is no such naming convention or normalizer, or the schema has another one.
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
    change = f", or `schemactl edit {name} --naming`" if option == "naming" else ", or use another name"
    hint = f"a schema keeps the {kind} that it began with: leave `--{option}` out{change}"
    return InputError(f"the schema `{name}` has the {kind} `{stated}`", hint=hint)


def may_be_unfilled(evolution: Evolution) -> bool:
    """Return whether only rejected rows may ask for something that is new."""
    judgment = evolution.judgment
    rejects_rows = any(each.mode is Mode.DISCARD_ROW for each in judgment.violations)
    return rejects_rows and not judgment.is_refused and judgment.schema != evolution.before


def find_unfilled(evolution: Evolution, rows: WrittenRows) -> Unfilled:
    """Return the new columns without a value, and the tables without a row (column None), where rows are rejected."""
    found: set[tuple[str, str | None]] = set()
    if not any(counts.rejected for counts in rows.tally.tables.values()):
        return frozenset()
    for name, table in evolution.judgment.schema.tables.items():
        counts, known = rows.tally.tables.get(name), evolution.before.tables.get(name)
        if counts is None or table == known:
            continue
        if not counts.loaded:
            found |= {(name, None)} if known is not None or table.is_nested else set()
            continue
        for column in table.columns.values():
            is_new = known is None or column.name not in known.columns or not known.columns[column.name].is_complete
            is_asked_for = (name, column.name) in evolution.resolution.taken
            if is_new and is_asked_for and (name, column.name) not in rows.filled:
                found.add((name, column.name))
    return frozenset(found)


# --- `--detect`: which detectors give types to the values of a table ---

_BY_DEFAULT: Final = ("digits", "number", "bool", "iso_date")
_OF_DLT: Final = frozenset(
    ("timestamp", "iso_timestamp", "iso_date", "large_integer", "hexbytes_to_text", "wei_to_double")
)
"""Those that dlt knows: it refuses a schema whose ``settings`` name others."""


@dataclass(frozen=True, slots=True)
class Detection:
    """The detectors of a schema and of one of its root tables.

    Attributes:
        schema: in ``settings.detections``, which dlt reads.
        table: in the table's ``x-detections``; these are asked first, and of whole columns.
    """

    schema: tuple[str, ...]
    table: tuple[str, ...]


def with_detection(before: Schema, table: str, source: str, asked: str | None, texts_of_new: bool) -> Schema:
    """Return the schema with the detectors for its data, to infer by.

    Args:
        before: with what the call states of columns.
        table: the root table of the data.
        source: the name that the user gives it.
        asked: the list of ``--detect``, which replaces or changes the one that would hold without it.
        texts_of_new: whether the data is nothing but texts, for a table that is new to the schema.

    Raises:
        InputError: there is no such detector.
    """
    known = before.tables.get(table)
    stated = known.properties.get(DETECTIONS) if known else None
    found = Detection(tuple(before.settings.get("detections") or ()), tuple(stated or ()))
    usual = Detection(tuple(new_schema(before.name).settings["detections"]), _BY_DEFAULT)
    # Another table of the call may have changed the schema's list already.
    lists = {usual.schema, usual.schema if asked is None else parse_detection(asked, usual).schema}
    has_rules = bool(before.settings.get("preferred_types")) or found.schema not in lists or stated is not None
    wanted = replace(found, table=_BY_DEFAULT) if texts_of_new and not has_rules else found
    if asked is not None:
        wanted = parse_detection(asked, wanted)
    if wanted == found:
        return before
    there = known or Table(table, {}, {"write_disposition": "append", "resource": source})
    kept = {key: value for key, value in there.properties.items() if key != DETECTIONS}
    own = {DETECTIONS: list(wanted.table)} if wanted.table else {}
    changed = replace(there, properties={**kept, **own})
    return replace(before.with_table(changed), settings={**before.settings, "detections": list(wanted.schema)})


def parse_detection(asked: str, found: Detection) -> Detection:
    """Return the detectors that ``--detect`` asks for.

    Names take the place of those that are there; ``-name`` and ``+name`` alone take one away or add one.

    Raises:
        InputError: there is no such detector.
    """
    names = [name.strip() for name in asked.split(",") if name.strip()]
    for name in names:
        DETECTORS[name.lstrip("+-")]
    changes = [name for name in names if name.startswith(("+", "-"))]
    if not changes:
        return _parted(names)
    if len(changes) < len(names):
        raise InputError(f"`--detect {asked}` both names detectors and changes them", hint="do one of the two")
    kept = [[name for name in there if f"-{name}" not in changes] for there in (found.schema, found.table)]
    added = _parted([name[1:] for name in changes if name.startswith("+") and name[1:] not in (*kept[0], *kept[1])])
    return Detection((*kept[0], *added.schema), (*kept[1], *added.table))


def _parted(names: Iterable[str]) -> Detection:
    parts: tuple[list[str], list[str]] = ([], [])
    for name in names:
        parts[name not in _OF_DLT].append(name)
    return Detection(tuple(parts[0]), tuple(parts[1]))


def holds_texts(files: Iterable[str], input_format: str | None) -> bool:
    """Return whether all values of some files are texts, by the format that is stated or by the names."""
    if input_format is not None:
        return input_format in TEXTS or input_format.startswith(RECORD_TAG)
    known = {ending for each in TEXTS.values() for ending in each}
    suffixes = ([each.lower() for each in reversed(PurePosixPath(name).suffixes)] for name in files)
    endings = [next((each for each in of_file if each not in COMPRESSIONS), "") for of_file in suffixes]
    return bool(endings) and known.issuperset(endings)
