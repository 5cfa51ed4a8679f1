"""Hints for the user of an inference: shortened names, detectors, numbers in texts, contracts, misspelled columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import Final

from schemactl.errors import backquoted, first_names
from schemactl.examples import mask_examples
from schemactl.inference.classes import NULL, OBJECT, kind_of
from schemactl.inference.evidence import ClassEvidence, Evidence, PathEvidence
from schemactl.inference.findings import find_numbers_in_texts
from schemactl.inference.fitting import Fitted
from schemactl.inference.report import PromotionFinding
from schemactl.inference.resolve import DETECTIONS, Resolution
from schemactl.schema.contract import Entity, system_prefix, table_contract
from schemactl.schema.full_types import full_type
from schemactl.schema.likeness import misspelled_name
from schemactl.schema.naming import naming_of
from schemactl.schema.paths import ELEMENT
from schemactl.schema.personal import is_personal
from schemactl.schema.record_selection import SETTING, RecordSelection, stored_selection
from schemactl.schema.text_looks import Look, look_of
from schemactl.schema.types import Column, DataType, Schema, Table
from schemactl.schema.variants import find_variants
from schemactl.schema.wording import counted

_MOST_NAMES: Final = 3
"""Columns that a hint names."""

_LONG_LIST: Final = 10
"""Objects of a list per document, on average, from which on it is long."""

_MOST_OTHER_PATHS: Final = 10
"""The most values next to a long list in a document that is little more than this list."""


def describe_shortened(fitted: Fitted, limit: int | None) -> Iterator[str]:
    """Report names that were too long for the destination."""
    names = [
        f"`{table}` is now `{new}`" if column is None else f"`{table}.{column}` is now `{new}`"
        for (table, column), new in fitted.renamed.items()
    ]
    if names:
        yield f"the destination cuts names to {limit} characters: {first_names(names, _MOST_NAMES)}"


def describe_detection(before: Schema, after: Schema, root: str) -> Iterator[str]:
    """Report changed detectors of an existing table."""
    if after == before:
        return
    table_detections = after.tables[root].properties.get(DETECTIONS) or ()
    names = dict.fromkeys((*table_detections, *(after.settings.get("detections") or ())))  # in the order they run
    listed = backquoted(names) or "none"
    yield f"detectors of table `{root}` are now {listed}; existing columns keep their types"


def suggest_detection(start: Schema, resolution: Resolution, evidence: Evidence) -> Iterator[str]:
    """Suggest ``--detect`` if new columns have numbers as strings and the table does not set detectors."""
    if resolution.schema.tables[resolution.root].properties.get(DETECTIONS):
        return
    numbers = [f"`{table}.{column}`" for table, column in find_numbers_in_texts(start, resolution, evidence)]
    if numbers:
        names = first_names(numbers, _MOST_NAMES)
        yield f"strings in {names} look like numbers; add `--detect=+digits,+number` to read new columns as numbers"


def suggest_migration(before: Schema, promotions: Sequence[PromotionFinding]) -> Iterator[str]:
    """Name the command that widens the stored columns that became wider in the schema."""
    stored_columns = (before.column(finding.table, finding.column) for finding in promotions)
    names = [
        f"`{finding.table}.{finding.column}{finding.field}`"
        for finding, column in zip(promotions, stored_columns, strict=True)
        if finding.after is not None and column is not None and column.is_complete
    ]
    if names:
        yield (
            f"`schemactl migrate apply {before.name} --to DEST` counts and converts the stored values of "
            f"{first_names(names, _MOST_NAMES)}; so does the next load with the same contract"
        )


def suggest_sync(schema_name: str, widened: Sequence[tuple[str, Column]]) -> str:
    """Name the commands by which dlt pipelines that keep their working folder learn of stored columns that got wider.

    ``widened`` has at least one table and column.
    """
    table, column = widened[0]
    declared = f"{table}.{column.name}:{full_type(column.properties)}".replace(", ", ",")
    return (
        "dlt pipelines that keep their working folder write variants until `dlt pipeline NAME sync`, or, with "
        f"`import_schema_path`, `schemactl edit {schema_name} --column {quote(declared)}`"
    )


def suggest_folds(schema: Schema) -> Iterator[str]:
    """Name the command that folds variants whose values a type other than text holds together with their column's."""
    naming = naming_of(schema)
    groups = [group for table in schema.tables.values() for group in find_variants(table, naming)]
    if count := sum(len(group.foldable) for group in groups):
        yield f"{counted(count, 'variant')} of `{schema.name}` could fold: `schemactl edit {schema.name} --fold-all`"


def describe_selection(before: Schema, after: Schema) -> Iterator[str]:
    """Report a selection of records that the schema remembers from now on, or forgets."""
    if before.settings.get(SETTING) == after.settings.get(SETTING):
        return
    selection = stored_selection(after.settings)
    if selection is None:
        yield f"schema `{after.name}` no longer selects records inside documents"
    else:
        keep = f" --keep {','.join(key.text for key in selection.context_keys)}" if selection.context_keys else ""
        yield f"schema `{after.name}` remembers `--records {selection.text}{keep}`; `--records '$'` removes it"


def suggest_selection(before: Schema, evidence: Evidence) -> Iterator[str]:
    """Suggest ``--records`` if the documents have one long list of objects each, and little else."""
    if SETTING in before.settings or not evidence.documents:
        return
    objects = {
        path[:-1]: sum(of_class.count for name, of_class in classes.items() if kind_of(name) == OBJECT)
        for path, classes in evidence.paths.items()
        if len(path) > 1 and path[-1] is ELEMENT and ELEMENT not in path[:-1]
    }
    lists = [path for path, count in objects.items() if count >= _LONG_LIST * evidence.documents]
    if len(lists) != 1:
        return
    path = lists[0]
    other_paths = [
        other
        for other, classes in evidence.paths.items()
        if other and other[: len(path)] != path and other != path[: len(other)] and classes.keys() - {OBJECT}
    ]
    if len(other_paths) <= _MOST_OTHER_PATHS:
        text = RecordSelection(path).text
        subject = "the document has" if evidence.documents == 1 else "each document has"
        keys = ",".join(".".join(map(str, other)) for other in other_paths if ELEMENT not in other)
        keep = f"; add keys next to it with `--keep {keys}`" if keys else ""
        yield f"{subject} one long list, `{text}`, and little else: `--records {text}` makes its elements rows{keep}"


@dataclass(frozen=True, slots=True)
class _Looks:
    """The strings of a column by their looks.

    Attributes:
        look: the kind of value that most texts seem to hold.
        exception: the first value without this look, as an example, and its position; None if all have it.
        is_ambiguous: whether day and month could change places in all texts that look like dates.
    """

    look: Look
    count: int
    total: int
    exception: ClassEvidence | None
    is_ambiguous: bool


_LEAST_SHARE: Final = 0.8
"""The share of a column's values that look alike, from which on the column is reported."""


def suggest_typing(start: Schema, resolution: Resolution, evidence: Evidence, command: str) -> Iterator[str]:
    """Report new text columns whose texts look like dates, money, percentages or numbers with separators.

    ``start`` is the schema before the data, ``command`` drafts types for such columns.
    """
    lines: list[str] = []
    is_ambiguous = False
    for table, column in resolution.taken:
        known_table = start.tables.get(table)
        if known_table is not None and column in known_table.columns:
            continue
        if resolution.schema.tables[table].columns[column].data_type is not DataType.TEXT:
            continue
        paths = resolution.sources((table, column))
        looks = _find_looks([classes for path in paths if (classes := evidence.paths.get(path))])
        if looks is None:
            continue
        is_ambiguous |= looks.is_ambiguous
        line = f"`{table}.{column}` looks like {_NOUNS[looks.look]}: {looks.count:,} of {looks.total:,} texts"
        if looks.exception is not None:
            is_hidden = is_personal(resolution.schema, table, column)
            examples = "".join(f" `{text}`" for text in mask_examples(looks.exception.examples, is_hidden))
            line += f"; the first exception is{examples or ' a value'} in {looks.exception.first}"
        lines.append(line)
    yield from lines
    if lines:
        yield f"`{command}` drafts types for such columns, and applies them with `--apply`"
    if is_ambiguous:
        yield "day and month could change places: add `--dates day-first` or `--dates month-first` to the draft"


_NOUNS: Final = {
    Look.DATE: "dates",
    Look.MONEY: "money",
    Look.PERCENT: "percentages",
    Look.NUMBER: "numbers with separators",
}


def _find_looks(sources: Sequence[PathEvidence]) -> _Looks | None:
    """Return the kind of a column's texts; None if they are of no kind or of many."""
    classes = [(name, values) for source in sources for name, values in source.items() if kind_of(name) != NULL]
    total = sum(values.count for _, values in classes)
    for look in Look:
        marked = [(name, values) for name, values in classes if _has_look(name, look)]
        alike = [values for name, values in classes if _has_look(name, look) or _is_compatible(name, look)]
        count = sum(values.count for values in alike)
        if marked and count >= total * _LEAST_SHARE:
            exceptions = [values for _, values in classes if values not in alike]
            orders = {detail for _, detail in filter(None, (look_of(name) for name, _ in marked))}
            is_ambiguous = look is Look.DATE and "any-first" in orders and orders.isdisjoint(_CERTAIN_ORDERS)
            first = min(exceptions, key=lambda values: values.first, default=None)
            return _Looks(look, count, total, first, is_ambiguous)
    return None


_CERTAIN_ORDERS: Final = frozenset({"day-first", "month-first"})


def _has_look(value_class: str, look: Look) -> bool:
    look_and_detail = look_of(value_class)
    return (look_and_detail is not None and look_and_detail[0] is look) or (
        look is Look.DATE and "iso_date=date" in value_class
    )


def _is_compatible(value_class: str, look: Look) -> bool:
    """Return whether a column with this look may also contain values of a class: plain numbers, or timestamps."""
    if look in (Look.MONEY, Look.NUMBER):
        return "number=double" in value_class or _has_look(value_class, Look.NUMBER)
    return look is Look.DATE and "iso_timestamp=timestamp" in value_class


def suggest_spelling(stored: Schema, before: Schema, resolution: Resolution) -> Iterator[str]:
    """Report columns that the call declares, no data fills, and whose names are similar to another of their table."""
    for name, table in before.tables.items():
        resolved = resolution.schema.tables.get(name)
        for column in table.columns:
            if stored.column(name, column) or (name, column) in resolution.taken or resolved is None:
                continue
            near = misspelled_name(column, resolved.columns)
            if near is not None:
                yield f"the new column `{name}.{column}` has no data; did you mean `{near}`?"


def describe_contracts(before: Schema, after: Schema, override: str | None) -> Iterator[str]:
    """Report contracts that override that of the call, and changes of entities that the contract leaves out."""
    contracts = replace(before, tables={**after.tables, **before.tables})
    names_by_gap: dict[str, list[str]] = {}
    prefix = system_prefix(naming_of(before))
    is_first = all(name.startswith(prefix) for name in before.tables)
    for name, table in after.tables.items():
        stored_table, contract = before.tables.get(name), table_contract(contracts, name, override)
        if table == stored_table or not contract.entities:
            continue
        kind, _, owner = contract.level.partition(" ")
        level = f"table `{owner}`" if owner else f"the {kind}"
        if override and contract.level != "call":
            yield f"the contract of {level} overrides `--contract` for table `{name}`"
        for entity, new_name in _new_names(stored_table, table, prefix):
            if entity not in contract.entities and not (is_first and entity == Entity.TABLES):
                names_by_gap.setdefault(f"the contract of {level} does not set `{entity}`", []).append(new_name)
    for gap, names in names_by_gap.items():
        yield f"{gap}, which evolves: {first_names(names, _MOST_NAMES)}"


def _new_names(stored_table: Table | None, table: Table, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield the new table, or its new columns, each with the contract entity that decides on it."""
    if stored_table is None or stored_table.is_new:
        yield Entity.TABLES, f"`{table.name}`"
        return
    for column in table.columns.values():
        if column.name not in stored_table.columns and not column.name.startswith(prefix):
            yield Entity.DATA_TYPE if column.is_variant else Entity.COLUMNS, f"`{table.name}.{column.name}`"
