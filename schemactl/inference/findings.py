"""Makes findings for people from a resolution, its evidence, and the schemas before and after."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations, count
from typing import Final, TypeVar

from schemactl.examples import Examples, examples_of, mask_examples
from schemactl.grouping import group_by
from schemactl.inference.classes import LIST, NULL, OBJECT, kind_of
from schemactl.inference.evidence import ClassEvidence, Evidence, Position
from schemactl.inference.relational import NO_PATH
from schemactl.inference.report import (
    CollisionFinding,
    ColumnFinding,
    FileFinding,
    NullFinding,
    TableFinding,
    ViolationFinding,
)
from schemactl.inference.resolve import Origin, Resolution, type_of_texts, variant_bases
from schemactl.inference.values import DECLARED, DeclaredValue, fits
from schemactl.schema.collisions import BLANK, numbered
from schemactl.schema.contract import ContractValue, Entity, TableContract, system_prefix, table_contract
from schemactl.schema.judgment import Violation
from schemactl.schema.naming import Naming, naming_of
from schemactl.schema.paths import ELEMENT, Path, format_path, row_path
from schemactl.schema.personal import is_personal
from schemactl.schema.types import Column, DataType, Schema

_DATA_TYPES: Final = frozenset(map(str, DataType))

Seen = tuple[str, ClassEvidence]
"""A class of values and its evidence."""


class ColumnEvidence:
    """Indexes the evidence at the source paths of each column of a resolution."""

    def __init__(self, resolution: Resolution, evidence: Evidence) -> None:
        self.resolution = resolution
        self.evidence = evidence
        self.bases = variant_bases(resolution.schema)
        # Columns that take values of declared types, by table and path.
        self._declared_columns: dict[tuple[str, Path], list[Origin]] = {}
        for origin, taken_classes in resolution.taken.items():
            for path, name in taken_classes:
                if name == DECLARED:
                    self._declared_columns.setdefault((origin[0], path), []).append(origin)
        self._totals: Counter[tuple[str, Path]] = Counter()
        for origin in resolution.taken:
            for path, _, of_class in self._taken(origin):
                self._totals[origin[0], path] += of_class.count

    def taken(self, origin: Origin) -> list[Seen]:
        """Return the classes that a column takes, with their evidence."""
        return [(name, of_class) for _, name, of_class in self._taken(origin)]

    def total(self, table: str, sources: Iterable[Path]) -> int:
        """Return how many values from ``sources`` all columns of the table take, variants included."""
        return sum(self._totals[table, path] for path in sources)

    def _taken(self, origin: Origin) -> Iterator[tuple[Path, str, ClassEvidence]]:
        for path, name in self.resolution.taken.get(origin, ()):
            for class_name, of_class in self._at(origin, path, name):
                yield path, class_name, of_class

    def _at(self, origin: Origin, path: Path, name: str) -> Iterator[Seen]:
        """Yield the evidence of one class at a path that a column takes; ``DECLARED`` is any declared type."""
        counted = self.evidence.counted.get(path, {})
        if name == DECLARED:
            yield from (item for item in counted.items() if self._is_declared_for(origin, path, item[0]))
            return
        if (of_class := self.evidence.paths.get(path, {}).get(name)) is not None:
            yield name, of_class
        kind = kind_of(name)
        if kind in (OBJECT, LIST) and kind in counted:
            yield kind, counted[kind]

    def _is_declared_for(self, origin: Origin, path: Path, name: str) -> bool:
        """Return whether values of a declared type go to this column rather than to its base or variants."""
        if name not in _DATA_TYPES:
            return False
        columns = self._declared_columns[origin[0], path]
        value = DeclaredValue({"data_type": name})
        fitting_columns = (column for column in columns if fits(value, self._type_of(column)))
        # Base columns come first; variants only take values of their data type.
        variants = (column for column in columns if column in self.bases and self._type_of(column) == name)
        base = next((column for column in fitting_columns if column not in self.bases), None)
        return origin == (base or next(variants, None) or columns[0])

    def _type_of(self, origin: Origin) -> DataType:
        table, column = origin
        return DataType(self.resolution.schema.tables[table].columns[column].properties["data_type"])


STATED: Final = "stated"
"""The reason of a column that the call declares, for example by a model, and the data lacks."""

Number = TypeVar("Number", int, float)


def find_tables(before: Schema, after: Schema, resolution: Resolution, evidence: Evidence) -> tuple[TableFinding, ...]:
    """Return the tables of ``after`` that are new in it or have new or changed columns."""
    by_column = ColumnEvidence(resolution, evidence)
    prefix = system_prefix(naming_of(after))
    findings = []
    for table in after.tables.values():
        old = before.tables.get(table.name)
        known_columns = old.columns if old else {}
        columns = tuple(
            _find_column(table.name, known_columns.get(name), column, by_column, is_of_dlt=name.startswith(prefix))
            for name, column in table.columns.items()
            if known_columns.get(name) != column and column.data_type
        )
        if columns or old is None:
            findings.append(TableFinding(table.name, table.parent, old is None, columns))
    return tuple(findings)


def _find_column(
    table: str, before: Column | None, column: Column, by_column: ColumnEvidence, *, is_of_dlt: bool
) -> ColumnFinding:
    origin = (table, column.name)
    sources = by_column.resolution.sources(origin)
    base = by_column.bases.get(origin)
    base_sources = () if base is None else by_column.resolution.sources((table, base))
    taken_classes = by_column.taken(origin)
    kinds: Counter[str] = Counter()
    for name, of_class in taken_classes:
        kinds[kind_of(name)] += of_class.count
    by_position = sorted((of_class for _, of_class in taken_classes), key=lambda of_class: of_class.first)
    examples = dict.fromkeys(example for of_class in by_position for example in of_class.examples)
    texts = [of_class for name, of_class in taken_classes if kind_of(name) == "text"]
    is_of_person = is_personal(by_column.resolution.schema, table, base or column.name)
    span = _span([of_class.least for of_class in by_position], [of_class.greatest for of_class in by_position])
    return ColumnFinding(
        name=column.name,
        is_new=before is None,
        before=str(before.data_type) if before and before.data_type else None,
        data_type=str(column.data_type),
        precision=column.properties.get("precision"),
        scale=column.properties.get("scale"),
        timezone=column.properties.get("timezone"),
        variant_of=base,
        sources=tuple(format_path(path) for path in sources),
        values=sum(kinds.values()),
        total=by_column.total(table, dict.fromkeys((*base_sources, *sources))),
        nulls=sum(by_column.evidence.nulls(path) for path in sources),
        absences=sum(by_column.evidence.absences(path) for path in sources),
        kinds=dict(kinds),
        first=by_position[0].first if by_position else None,
        examples=mask_examples(examples, is_of_person),
        lengths=_span([text.shortest for text in texts], [text.longest for text in texts]),
        range=span if examples_of(is_of_person) is Examples.PLAIN else None,
        reason=_reason(origin, before, column, kinds, taken_classes, by_column) if sources or is_of_dlt else STATED,
    )


def _reason(
    origin: Origin,
    before: Column | None,
    column: Column,
    kinds: Mapping[str, int],
    taken_classes: list[Seen],
    by_column: ColumnEvidence,
) -> str | None:
    """Return why a new column has its type, unless its values decide it."""
    if origin in by_column.resolution.reasons:
        return by_column.resolution.reasons[origin]
    if (before is not None and before.data_type) or len(kinds) < 2:
        return None
    name, first = min(taken_classes, key=lambda item: item[1].first)
    return f"{kind_of(name)} came first ({first.first})" if kind_of(name) == column.data_type else None


def _span(least: list[Number | None], greatest: list[Number | None]) -> tuple[Number, Number] | None:
    lows = [value for value in least if value is not None]
    highs = [value for value in greatest if value is not None]
    return (min(lows), max(highs)) if lows and highs else None


def find_collisions(resolution: Resolution) -> tuple[CollisionFinding, ...]:
    """Return the tables and columns that several source paths feed, so that one row cannot hold all their values."""
    return tuple(
        CollisionFinding(table, column, tuple(format_path(path) for path in paths))
        for (table, column), paths in _collisions(resolution)
    )


def _collisions(resolution: Resolution) -> Iterator[tuple[tuple[str, str | None], tuple[Path, ...]]]:
    """Yield tables (column None) with the lists that feed them, and columns with the values that feed them."""
    rows: dict[str, dict[Path, None]] = {}
    columns: dict[Origin, dict[Path, None]] = {}
    bases = variant_bases(resolution.schema)
    for table, column in resolution.taken:
        sources = resolution.sources((table, column))
        rows.setdefault(table, {}).update(dict.fromkeys(row_path(path) for path in sources))
        columns.setdefault((table, bases.get((table, column), column)), {}).update(dict.fromkeys(sources))
    for table, paths in rows.items():
        if lists := _apart(paths):
            yield (table, None), lists
    for (table, column), paths in columns.items():
        # Values of different lists meet in one row only if the lists themselves meet, which is reported above.
        for together in group_by(paths, row_path).values():
            if values := _apart(together):
                yield (table, column), values


def _apart(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return the paths whose values occur in one row with values of another path."""
    paths = tuple(paths)
    meeting = {path for pair in combinations(paths, 2) if _meet(*pair) for path in pair}
    return tuple(path for path in paths if path in meeting)


def _meet(path: Path, other: Path) -> bool:
    """Return whether one document can hold values at both paths.

    The first steps that differ must both be keys of an object: no value contains itself, and no list is an object.
    """
    parting = next((steps for steps in zip(path, other, strict=False) if steps[0] != steps[1]), None)
    return parting is not None and ELEMENT not in parting


def separate(
    resolution: Resolution, renamed: Mapping[Path, str], naming: Naming, reserved: Iterable[str] = ()
) -> dict[Path, str]:
    """Return names for source keys that keep colliding paths apart.

    In each collision one path keeps its name: a path that ``renamed`` names, or the first path of the data. Its name
    is returned as well, so that it stays the same when later data has another order. Names of ``renamed`` stay unless
    their path still collides; ``reserved`` names belong to other data.
    """
    names = dict(renamed)
    used = set(reserved)
    for _, paths in _collisions(resolution):
        kept_path = next(
            (path for path in paths if any(path[:end] in renamed for end in range(1, len(path) + 1))), paths[0]
        )
        for path in paths:
            if path == kept_path:
                continue
            named_path, kept_named_path = _parting(path, kept_path, naming)
            if named_path in names and named_path not in renamed:
                continue
            taken_names = used.union(names.values())
            natural = _name_of(named_path, naming)
            names.setdefault(kept_named_path, _name_of(kept_named_path, naming))
            candidates = (numbered(natural, number, naming) for number in count(2))
            names[named_path] = next(name for name in candidates if name not in taken_names)
    return names


def _parting(path: Path, kept_path: Path, naming: Naming) -> tuple[Path, Path]:
    """Return the prefixes of two colliding paths that end with the keys to name.

    These are the first keys that differ if both become one name (``userInfo`` and ``user_info``), otherwise the last
    keys (``a.b`` and ``a__b``).
    """
    for index, (step, other) in enumerate(zip(path, kept_path, strict=False)):
        if step == other:
            continue
        prefix, kept_prefix = path[: index + 1], kept_path[: index + 1]
        if step is not ELEMENT and other is not ELEMENT and _name_of(prefix, naming) == _name_of(kept_prefix, naming):
            return prefix, kept_prefix
        break
    return _to_last_key(path), _to_last_key(kept_path)


def _to_last_key(path: Path) -> Path:
    return path[: max(number for number, step in enumerate(path, start=1) if step is not ELEMENT)]


def _name_of(path: Path, naming: Naming) -> str:
    """Return the name that the convention gives to the last key of ``path``."""
    key = path[-1]
    return naming.normalize_path(key) if key is not None and key.strip() else BLANK


def find_nulls(resolution: Resolution, evidence: Evidence, judged: Schema) -> tuple[NullFinding, ...]:
    """Return the nulls that no column takes, including nulls left behind by values that go to a variant."""
    findings = [
        NullFinding(null.table, null.column, format_path(null.path), evidence.nulls(null.path), null.first)
        for null in resolution.nulls
        if null.path is not NO_PATH
        if (column := judged.column(null.table, null.column)) is None or not column.nullable
    ]
    by_column = ColumnEvidence(resolution, evidence)
    for (table, variant), base in by_column.bases.items():
        columns = judged.tables[table].columns if table in judged.tables else {}
        variant_evidence = [class_evidence for _, class_evidence in by_column.taken((table, variant))]
        if variant_evidence and variant in columns and not columns[base].nullable:
            source = format_path(resolution.sources((table, variant))[0])
            first = min(class_evidence.first for class_evidence in variant_evidence)
            count = sum(class_evidence.count for class_evidence in variant_evidence)
            findings.append(NullFinding(table, base, source, count, first, variant))
    return tuple(findings)


def find_violations(
    violations: tuple[Violation, ...],
    resolution: Resolution,
    evidence: Evidence,
    before: Schema,
    override: ContractValue,
) -> tuple[ViolationFinding, ...]:
    """Return contract violations with their values, and the level that set the contract."""
    if not violations:
        return ()
    by_column = ColumnEvidence(resolution, evidence)
    columns_by_table = group_by(resolution.taken, lambda origin: origin[0])
    contracts = replace(before, tables={**resolution.schema.tables, **before.tables})
    return tuple(
        _find_violation(
            violation,
            columns_by_table.get(violation.table, []),
            by_column,
            before,
            table_contract(contracts, violation.table, override),
        )
        for violation in violations
    )


def _find_violation(
    violation: Violation,
    table_columns: list[Origin],
    by_column: ColumnEvidence,
    before: Schema,
    contract: TableContract,
) -> ViolationFinding:
    """Return a violation with its values, the data of dlt's ``DataValidationError``, and the level of each mode."""
    stored_table = before.tables.get(violation.table)
    modes = {str(entity): str(contract.contract.mode_of(entity)) for entity in Entity}
    origins = table_columns if violation.column is None else [(violation.table, violation.column)]
    values = [of_class for origin in origins for _, of_class in by_column.taken(origin)]
    first = min(values, key=lambda of_class: of_class.first, default=None)
    is_of_person = is_personal(by_column.resolution.schema, violation.table, violation.variant_of or violation.column)
    return ViolationFinding(
        table=violation.table,
        column=violation.column,
        variant_of=violation.variant_of,
        entity=str(violation.entity),
        mode=str(violation.mode),
        expected=violation.expected,
        found=violation.found,
        values=sum(of_class.count for of_class in values),
        first=first.first if first else None,
        example=next(iter(mask_examples(first.examples, is_of_person)), None) if first else None,
        schema_name=before.name,
        table_schema=stored_table.to_dict() if stored_table else None,
        schema_contract={entity: {"mode": mode, "level": contract.level_of(entity)} for entity, mode in modes.items()},
    )


def find_files(evidence: Evidence, table: str) -> tuple[FileFinding, ...]:
    """Return the inputs of a root table with their counts, by path."""
    return tuple(
        FileFinding(path, file.records, file.documents, file.bad, file.first_bad, table)
        for path, file in sorted(evidence.files.items())
    )


def find_numbers_in_texts(before: Schema, resolution: Resolution, evidence: Evidence) -> tuple[Origin, ...]:
    """Return the new text columns whose texts, all of them, are numbers."""

    def are_numbers(path: Path) -> bool:
        classes = evidence.paths.get(path, {})
        is_text = {kind_of(name) for name in classes} - {NULL} == {DataType.TEXT}
        return is_text and type_of_texts(classes, ("digits", "number"))[0] is not DataType.TEXT

    return tuple(
        (table, column)
        for table, column in resolution.taken
        if table not in before.tables or column not in before.tables[table].columns
        if resolution.schema.tables[table].columns[column].data_type is DataType.TEXT
        if all(map(are_numbers, resolution.sources((table, column))))
    )


_LONGEST_RECORD: Final = 1_000


def mask_records(records: Mapping[Position, str], schema: Schema) -> dict[Position, str | None]:
    """Return the beginnings of records (JSON), masked like examples if any column of the schema is personal."""
    is_of_person = any(
        is_personal(schema, table.name, name) for table in schema.tables.values() for name in table.columns
    )

    def mask(record: str) -> str | None:
        masked = mask_examples((json.loads(record),), is_of_person)
        return json.dumps(masked[0], ensure_ascii=False)[:_LONGEST_RECORD] if masked else None

    return {position: mask(record) for position, record in records.items()}
