"""Decide which columns become wider instead of getting a variant column (contract mode ``promote``).

A column becomes wider only if all values survive exactly: the new ones by evidence, or by a second look at them, and
the stored ones by a count at the destination. Otherwise the values go to a variant column as in dlt, and the finding
says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeAlias

from schemactl.examples import mask_examples
from schemactl.inference.classes import LIST, NULL, OBJECT, kind_of
from schemactl.inference.evidence import Evidence
from schemactl.inference.nested_schema import ChangedField, find_changed_fields
from schemactl.inference.report import PromotionFinding
from schemactl.inference.resolve import Origin, Resolution, TakenClass, variant_bases
from schemactl.inference.survival import (
    LONGEST_DOUBLE,
    LONGEST_INTEGER,
    Scalars,
    Tally,
    add,
    judge_values,
)
from schemactl.inference.values import DECLARED
from schemactl.schema.coercion import EXACT_INTEGERS
from schemactl.schema.contract import ContractValue, Promotion, promotion_for
from schemactl.schema.full_types import DEFAULT_DECIMAL, MAX_DIGITS, FullType, digits_of_bits, full_type
from schemactl.schema.naming import naming_of
from schemactl.schema.nested_types import NestedType, path_text
from schemactl.schema.nested_widening import leaf_full_type, leaf_of_full, with_field
from schemactl.schema.paths import Path
from schemactl.schema.personal import is_personal
from schemactl.schema.types import MICROSECOND_DIGITS, Column, DataType, Schema
from schemactl.schema.widening import holds_all, widened_types
from schemactl.schema.wording import counted, show_value

CountNew: TypeAlias = Callable[[Sequence[Scalars]], Sequence[Tally]]
"""Counts the scalars that do not survive a type. It reads the data once for all questions that it has not answered."""


@dataclass(frozen=True, slots=True)
class StoredValues:
    """The stored values of a column, counted at the destination.

    Attributes:
        rows: the number of rows of its table.
        unfit: the number of values that would not survive the wider type.
        examples: a few of them, as texts that may be shown.
        blocker: why the destination cannot change the column; empty if it can.
    """

    rows: int | None = None
    unfit: int = 0
    examples: tuple[str, ...] = ()
    blocker: str = ""


CountStored: TypeAlias = Callable[[str, str, FullType | NestedType], StoredValues]
"""Counts the stored values of a column, by table and name, that would not survive a type."""


@dataclass(frozen=True, slots=True)
class Promotions:
    """Wider types by column, and the reasons for wider and for unchanged columns.

    Attributes:
        refused: the kinds of values that go to a variant column, by column, although dlt would round them to fit.
        wider_fields: wider types of fields inside columns of structs, lists and maps, by the paths of their values.
    """

    wider: Mapping[Origin, FullType]
    refused: Mapping[Origin, frozenset[DataType]]
    findings: tuple[PromotionFinding, ...] = ()
    wider_fields: Mapping[Path, NestedType] = field(default_factory=dict)


NO_PROMOTIONS: Final = Promotions({}, {})


@dataclass(frozen=True, slots=True)
class Promoter:
    """Makes columns wider by the data of one root table.

    Attributes:
        before: the schema before the data.
        contract: the contract of the call; the contracts of the schema also apply.
        count_new: None if the data cannot be read again.
        count_stored: None without a destination.
        settle_decimal: returns a decimal column with the digits that it has in the destination.
    """

    evidence: Evidence
    before: Schema
    contract: ContractValue = None
    count_new: CountNew | None = None
    count_stored: CountStored | None = None
    settle_decimal: Callable[[Column], Column] = lambda column: column

    def promote(self, resolve: Callable[[Promotions], Resolution]) -> tuple[Resolution, Promotions]:
        """Return the resolution in which columns become wider in place of variants, and these columns.

        Values that a column refuses may need a wider variant column in turn, such as 2^63 in a variant of bigint.
        """
        promotions = NO_PROMOTIONS
        resolution = resolve(promotions)
        while (more := self._decide_all(resolution, promotions)) != promotions:
            resolution, promotions = resolve(more), more
        # A column that became wider may take the values of a variant, too.
        findings = tuple(
            finding
            for finding in promotions.findings
            if finding.variant is None or (finding.table, finding.variant) in resolution.taken
        )
        return resolution, replace(promotions, findings=findings)

    def _decide_all(self, resolution: Resolution, decided: Promotions) -> Promotions:
        """Return the decided promotions, which the resolution has, with promotions of further columns."""
        wider, refused_kinds, findings = dict(decided.wider), dict(decided.refused), list(decided.findings)
        for origin, variants in self._candidates(resolution, decided).items():
            for finding, attempt in self._decide(resolution, origin, variants, decided.wider.get(origin)):
                findings.append(finding)
                if attempt.wider is not None:
                    wider[origin] = attempt.wider
                elif attempt.refused:
                    refused_kinds[origin] = refused_kinds.get(origin, frozenset()) | attempt.refused
        wider_fields = dict(decided.wider_fields)
        decided_fields = {(finding.table, finding.column, finding.field) for finding in findings}
        for changed in find_changed_fields(self.evidence, self.before, resolution):
            is_decided = (*changed.origin, path_text(changed.field)) in decided_fields
            is_decided = is_decided or wider_fields.keys() >= set(changed.paths)
            if not is_decided and self._mode(resolution, *changed.origin) is not Promotion.VARIANT:
                finding, field_type = self._decide_field(resolution, changed)
                wider_fields |= {} if field_type is None else dict.fromkeys(changed.paths, field_type)
                findings += [finding] if finding.after != finding.before else []
        # A finding that repeats says nothing new: without this, ``promote`` would not end.
        return Promotions(wider, refused_kinds, tuple(dict.fromkeys(findings)), wider_fields)

    def _candidates(self, resolution: Resolution, decided: Promotions) -> dict[Origin, list[str]]:
        """Return the columns that promote, with the variant columns that the data adds; none for lossy values.

        Columns that are decided appear again if their wider type takes more values, and changes them.
        """
        decided_columns = {(finding.table, finding.column) for finding in decided.findings if not finding.field}
        candidates: dict[Origin, list[str]] = {}
        for (table, variant), base in variant_bases(resolution.schema).items():
            stored_variant = self.before.column(table, variant)
            is_new = (stored_variant is None or not stored_variant.is_complete) and (table, base) not in decided_columns
            if is_new and self._mode(resolution, table, base) is not Promotion.VARIANT:
                candidates.setdefault((table, base), []).append(variant)
        for (table, _), variants in candidates.items():
            variants.sort(key=list(resolution.schema.tables[table].columns).index)  # in order of the data
        types = {
            origin: decided.wider.get(origin) or self._base_type(resolution, origin)
            for origin in resolution.taken
            if self._mode(resolution, *origin) is not Promotion.VARIANT
        }
        self._count_ahead(resolution, types)
        for origin, column_type in types.items():
            if self._lossy_types(resolution, origin, column_type):
                candidates.setdefault(origin, [])
        return candidates

    def _count_ahead(self, resolution: Resolution, types: Mapping[Origin, FullType | None]) -> None:
        """Count new values for all columns at once: columns that ask one by one would read the data once each."""
        if self.count_new is None:
            return
        questions: list[Scalars] = []

        def collect(new_questions: Sequence[Scalars]) -> list[Tally]:
            questions.extend(new_questions)
            return [Tally() for _ in new_questions]

        collecting = replace(self, count_new=collect)
        for origin, column_type in types.items():
            collecting._lossy_types(resolution, origin, column_type)
        self.count_new(questions)

    def _mode(self, resolution: Resolution, table: str, column: str) -> Promotion:
        """Return the treatment of values that do not fit a column; new nested tables follow their parents."""
        tables = {**resolution.schema.tables, **self.before.tables}
        return promotion_for(replace(self.before, tables=tables), table, column, self.contract)

    def _base_type(self, resolution: Resolution, origin: Origin) -> FullType | None:
        """Return the type of a column before the data, or as its first value makes it; None without one."""
        stored_column = self.before.column(*origin)
        if stored_column is None or not stored_column.is_complete:
            stored_column = resolution.schema.tables[origin[0]].columns[origin[1]]
        return full_type(self.settle_decimal(stored_column).properties)

    def _decide(
        self, resolution: Resolution, origin: Origin, variants: Sequence[str], decided_type: FullType | None
    ) -> Iterator[tuple[PromotionFinding, _Attempt]]:
        """Yield a finding for the values that fit no narrower type, with the attempt to find a wider one."""
        table, name = origin
        columns = resolution.schema.tables[table].columns
        base_type = self._base_type(resolution, origin)
        assert base_type is not None
        stored_column = self.before.column(table, name)
        is_stored = stored_column is not None and stored_column.is_complete
        wider, fed = decided_type or base_type, resolution.taken.get(origin, ())
        lossy_types = self._lossy_types(resolution, origin, wider)
        misfits: list[_Misfits] = [
            _Misfits(lossy_type, _of_kind(fed, kind), kind) for kind, lossy_type in lossy_types.items()
        ]
        for variant in variants:
            variant_type = full_type(columns[variant].properties)
            assert variant_type is not None
            misfits.append(_Misfits(variant_type, resolution.taken.get((table, variant), ()), variant=variant))
        allows_text = self._mode(resolution, table, name) is Promotion.PROMOTE_TEXT
        # Values of other kinds that do not survive either must not keep the column from its wider type.
        fed = tuple(taken_class for taken_class in fed if kind_of(taken_class[1]) not in lossy_types)
        for misfit in misfits:
            all_fed = (*fed, *misfit.fed)
            values = sum(self._count(path, class_name) for path, class_name in all_fed)
            count = partial(self.count_stored, *origin) if is_stored and self.count_stored is not None else None
            attempt = self._widen(origin, _candidates_for(wider, misfit.full_type, allows_text), all_fed, count)
            reason = attempt.reason or f"no type holds the values of {wider} and {misfit.full_type} exactly"
            variant_name = misfit.variant
            if attempt.wider is not None:
                wider, fed, variant_name, reason = attempt.wider, all_fed, None, _survival(values, attempt.rows)
            elif misfit.kind is not None:
                attempt = replace(attempt, refused=_REFUSED_KINDS[misfit.kind])
                variant_name = naming_of(self.before).shorten_fragments(name, f"v_{misfit.kind}")
            after = None if attempt.wider is None else str(wider)
            finding = PromotionFinding(table, name, str(base_type), after, variant_name, values, attempt.rows, reason)
            yield finding, attempt

    def _decide_field(
        self, resolution: Resolution, changed: ChangedField
    ) -> tuple[PromotionFinding, NestedType | None]:
        """Return a finding for a field whose values have another type, with its wider type if all values survive.

        The finding says nothing new if the values of another type survive in the type that the field has.
        """
        table, column = changed.origin
        allows_text = self._mode(resolution, table, column) is Promotion.PROMOTE_TEXT
        narrow = leaf_full_type(changed.leaf)
        fed: tuple[TakenClass, ...] = ()
        wider, rows, reason = narrow, None, ""
        for misfit_type, classes in self._types_at(changed.paths).items():
            fed = (*fed, *classes)
            if wider is None or narrow is None or reason:
                continue
            candidates = [
                candidate
                for candidate in dict.fromkeys((wider, *_candidates_for(wider, misfit_type, allows_text)))
                if _is_written(misfit_type.data_type, candidate.data_type, allows_text)
            ]
            attempt = self._widen(changed.origin, candidates, fed, partial(self._count_field, changed))
            wider, rows = attempt.wider, attempt.rows
            if wider is None:
                reason = attempt.reason or f"no type holds the values of {narrow} and {misfit_type} exactly"
        values = sum(self._count(path, class_name) for path, class_name in fed)
        before = changed.leaf.name if narrow is None else str(narrow)
        after = None if wider is None else str(wider)
        reason = _survival(values, rows) if wider is not None else reason or f"`{before}` is not a type of dlt"
        finding = PromotionFinding(table, column, before, after, None, values, rows, reason, path_text(changed.field))
        return finding, None if wider is None else leaf_of_full(wider) if wider != narrow else changed.leaf

    def _types_at(self, paths: Iterable[Path]) -> dict[FullType, list[TakenClass]]:
        """Return the types of the values at some paths, with their classes, integers first.

        A double takes no integers past 2^53, so its integers are judged before its fractions.
        """
        classes_by_type: dict[FullType, list[TakenClass]] = {}
        for path in paths:
            properties = self.evidence.declared.get(path)
            declared_types = [] if properties is None else self.evidence.declared_types(path)
            for data_type in declared_types:
                declared = full_type({**(properties or {}), "data_type": str(data_type)})
                if declared is not None:
                    classes_by_type.setdefault(declared, []).append((path, DECLARED))
            for name in self.evidence.paths.get(path, {}):
                if name != NULL:
                    classes_by_type.setdefault(_type_of_class(name), []).append((path, name))
        return dict(sorted(classes_by_type.items(), key=lambda of: of[0].data_type not in _INTEGERS))

    def _count_field(self, changed: ChangedField, wider: FullType) -> StoredValues:
        """Count the stored values of a field that would not survive a type."""
        if self.count_stored is None or wider == leaf_full_type(changed.leaf):
            return StoredValues()
        return self.count_stored(*changed.origin, with_field(changed.column, changed.field, leaf_of_full(wider)))

    def _widen(
        self,
        origin: Origin,
        candidates: Iterable[FullType],
        fed: Sequence[TakenClass],
        count_stored: Callable[[FullType], StoredValues] | None,
    ) -> _Attempt:
        """Return the first type in which all values survive, or the reason why every type fails."""
        rows: int | None = None
        reasons: list[str] = []
        for candidate in candidates:
            tally = self._judge(fed, candidate)
            if isinstance(tally, str):
                reasons.append(tally)
            elif tally.bad:
                examples = mask_examples(tally.examples[:1], is_personal(self.before, *origin))
                reasons.append(_loss("new", tally.bad, candidate, tuple(map(show_value, examples))))
            else:
                stored = StoredValues()
                if count_stored is not None:
                    stored = count_stored(candidate)
                    rows = stored.rows
                if not (stored.unfit or stored.blocker):
                    return _Attempt(candidate, rows)
                reasons.append(stored.blocker or _loss("stored", stored.unfit, candidate, stored.examples))
        return _Attempt(None, rows, "; ".join(reasons))

    def _judge(self, fed: Sequence[TakenClass], target: FullType) -> Tally | str:
        """Return the new values that survive a type, or the reason why they are unknown."""
        for path in (path for path, class_name in fed if class_name == DECLARED):
            for data_type in self.evidence.declared_types(path):
                declared = full_type({**self.evidence.declared[path], "data_type": str(data_type)})
                if declared is None or not (holds_all(declared, target) or self._is_in_double(path, declared, target)):
                    return f"values that their source declares as {declared} may not survive"
        if target.data_type is DataType.DOUBLE and any(self._passes_double(*taken_class) for taken_class in fed):
            return "integers above 2^53 would not survive as double"
        judged = judge_values(self.evidence, fed, target)
        if judged is None:
            return "objects and lists do not survive"
        if not judged.open_paths or judged.tally.bad:
            return judged.tally
        if self.count_new is None:
            return "it cannot be told whether all values survive, because the data cannot be read again"
        kinds = frozenset(kind_of(class_name) for _, class_name in fed)
        return add((judged.tally, *self.count_new([Scalars(judged.open_paths, target, kinds)])))

    def _passes_double(self, path: Path, class_name: str) -> bool:
        """Return whether integers of a class are past 2^53: a double may spell them alike, and be another number."""
        integers = self.evidence.paths.get(path, {}).get(class_name)
        if integers is None or kind_of(class_name) != DataType.BIGINT:
            return False
        return any(end is not None and abs(end) > EXACT_INTEGERS for end in (integers.least, integers.greatest))

    def _is_in_double(self, path: Path, declared: FullType, target: FullType) -> bool:
        """Return whether a source's integers are known to be within the integers that a double holds."""
        integers = self.evidence.counted.get(path, {}).get(DataType.BIGINT)
        if (declared.data_type, target.data_type) != (DataType.BIGINT, DataType.DOUBLE) or integers is None:
            return False
        ends = (integers.least, integers.greatest)
        return all(end is not None and abs(end) < EXACT_INTEGERS for end in ends)

    def _count(self, path: Path, class_name: str) -> int:
        if class_name == DECLARED:
            counted_classes = self.evidence.counted.get(path, {}).items()
            return sum(of.count for name, of in counted_classes if name not in (NULL, OBJECT, LIST))
        classes = self.evidence.paths.get(path, {})
        return classes[class_name].count if class_name in classes else 0

    def _lossy_types(
        self, resolution: Resolution, origin: Origin, column_type: FullType | None
    ) -> dict[DataType, FullType]:
        """Return the kinds of values that a column of a type would change, each with a type that may hold them.

        dlt takes a timestamp into a date column without its time of day, checks no text or binary against a length, and
        lets the destination round, or refuse, numbers and points in time that have more digits than the column.
        """
        if column_type is None:
            return {}
        fed = resolution.taken.get(origin, ())
        size = column_type.precision
        target, wider_types = column_type, dict[DataType, FullType]()
        match column_type.data_type:
            case DataType.DATE:
                moment = FullType(DataType.TIMESTAMP, MICROSECOND_DIGITS, timezone=True)
                fed = tuple(taken_class for taken_class in fed if self._may_have_time(*taken_class))
                wider_types = dict.fromkeys((DataType.BIGINT, DataType.DOUBLE, DataType.TEXT), moment)
            case DataType.TEXT if size is not None:
                wider_types = {kind: FullType(DataType.TEXT, self._longest(fed, kind)) for kind in _LONGEST_TEXTS}
            case DataType.BINARY if size is not None:
                # dlt reads the bytes of a text as Base64.
                longest = {DataType.TEXT: self._longest(fed, DataType.TEXT) * 3 // 4, DataType.BIGINT: LONGEST_INTEGER}
                wider_types = {kind: FullType(DataType.BINARY, length) for kind, length in longest.items()}
            case DataType.TIMESTAMP | DataType.TIME if (size or 0) < MICROSECOND_DIGITS:
                finest = replace(column_type, precision=MICROSECOND_DIGITS)
                wider_types = dict.fromkeys((DataType.DOUBLE, DataType.TEXT), finest)
            case DataType.DOUBLE:
                wider_types = {DataType.BIGINT: FullType(DataType.BIGINT, 64), DataType.TEXT: FullType(DataType.TEXT)}
            case DataType.BIGINT | DataType.DECIMAL | DataType.WEI:
                # The column has already grown by the digits that the numbers have before the point.
                column = resolution.schema.tables[origin[0]].columns[origin[1]]
                grown = full_type(self.settle_decimal(column).properties)
                target = grown if grown is not None and grown.data_type is column_type.data_type else column_type
                integers = FullType(DataType.WEI, scale=0)
                decimals = FullType(DataType.DECIMAL, *DEFAULT_DECIMAL)
                texts = integers if column_type.data_type is DataType.BIGINT else decimals
                wider_types = {
                    DataType.DOUBLE: FullType(DataType.DOUBLE),
                    DataType.BIGINT: integers,
                    DataType.TEXT: texts,
                }
        lossy_types: dict[DataType, FullType] = {}
        for kind, wider_type in wider_types.items():
            is_endless = target.data_type is DataType.WEI and target.precision is None and kind is DataType.DOUBLE
            # A wei has no limit in dlt, but a double of more digits than a destination has would stop the load.
            limited = replace(target, precision=MAX_DIGITS) if is_endless else target
            if self._rounds(fed, kind, limited):
                lossy_types[kind] = wider_type
        return lossy_types

    def _may_have_time(self, path: Path, class_name: str) -> bool:
        """Return whether some values of a class in a date column may have a time of day: numbers count seconds."""
        if class_name == DECLARED:
            return DataType.TIMESTAMP in self.evidence.declared_types(path)
        marks = class_name.partition(":")[2].split(",")
        return kind_of(class_name) != DataType.TEXT or "iso_timestamp=timestamp" in marks or DataType.DOUBLE in marks

    def _longest(self, fed: Sequence[TakenClass], kind: DataType) -> int:
        """Return the length of the longest text among the values of a kind, or more."""
        classes = [self.evidence.paths.get(path, {}).get(name) for path, name in _of_kind(fed, kind)]
        if kind is DataType.TEXT:
            return max((of.longest or 0 for of in classes if of), default=0)
        if kind is DataType.BIGINT:
            ends = (end for of in classes if of for end in (of.least, of.greatest) if end is not None)
            return max((len(str(int(end))) for end in ends), default=0)
        return _LONGEST_TEXTS[kind]

    def _rounds(self, fed: Sequence[TakenClass], value_kind: DataType, target: FullType) -> bool:
        """Return whether values of a kind do not survive a type, or cannot be proven to."""
        tally = self._judge(_of_kind(fed, value_kind), target)
        return isinstance(tally, str) or bool(tally.bad)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The type in which all values survive, or None and the reason; the number of stored rows, if they were counted."""

    wider: FullType | None
    rows: int | None
    reason: str = ""
    refused: frozenset[DataType] = frozenset()


@dataclass(frozen=True, slots=True)
class _Misfits:
    """Values that a column does not take, or that it changes.

    Attributes:
        full_type: a type that may hold them.
        fed: their paths and classes.
        kind: their kind, if the column takes them.
        variant: the column that they went to, if it does not.
    """

    full_type: FullType
    fed: tuple[TakenClass, ...]
    kind: DataType | None = None
    variant: str | None = None


_LONGEST_TEXTS: Final[Mapping[DataType, int]] = {
    DataType.TEXT: 0,
    DataType.BIGINT: 0,
    DataType.DOUBLE: LONGEST_DOUBLE,
    DataType.BOOL: len("False"),
}
"""Characters of the longest text of a kind of values; 0 if only the values tell."""

_REFUSED_KINDS: Final[Mapping[DataType, frozenset[DataType]]] = {
    DataType.BIGINT: frozenset({DataType.BIGINT, DataType.WEI}),
    DataType.DOUBLE: frozenset({DataType.DOUBLE}),
    DataType.TEXT: frozenset({DataType.TEXT}),
    DataType.BOOL: frozenset({DataType.BOOL}),
}
"""The kinds of values that a variant column takes because a column would change them, by their kind in evidence."""


def _loss(kind: str, count: int, candidate: FullType, examples: Sequence[str]) -> str:
    example = f", such as {examples[0]}" if examples else ""
    return f"{counted(count, f'{kind} value')} would not survive as {candidate}{example}"


def _of_kind(fed: Sequence[TakenClass], kind: DataType) -> tuple[TakenClass, ...]:
    return tuple(taken_class for taken_class in fed if kind_of(taken_class[1]) == kind)


def _candidates_for(narrow: FullType, misfit: FullType, allows_text: bool) -> dict[FullType, None]:
    """Return the types that may hold two types, also a decimal with all places that integers leave free."""
    if narrow.data_type is DataType.DOUBLE:
        # Never a decimal: it rounds doubles, and later ones as well.
        return dict.fromkeys((narrow, FullType(DataType.TEXT)) if allows_text else (narrow,))
    if misfit.data_type is DataType.DOUBLE and narrow.data_type in (DataType.DECIMAL, DataType.WEI):
        misfit = FullType(DataType.DECIMAL, *DEFAULT_DECIMAL)  # for the digits of these values
    if misfit.data_type is DataType.DECIMAL and narrow.data_type in (DataType.DECIMAL, DataType.WEI):
        whole_digits = MAX_DIGITS if narrow.integer_digits is None else narrow.integer_digits
        widest = FullType(DataType.DECIMAL, MAX_DIGITS, MAX_DIGITS - whole_digits)
        return dict.fromkeys((*widened_types(narrow, misfit), widest))
    if narrow.data_type is DataType.BIGINT and misfit.data_type is DataType.WEI:
        return dict.fromkeys((replace(narrow, precision=64), *widened_types(narrow, misfit)))
    most_places = MAX_DIGITS - digits_of_bits(narrow.precision) if narrow.data_type is DataType.BIGINT else 0
    with_places = widened_types(narrow, misfit, scale=most_places, allow_text=allows_text)
    return dict.fromkeys((*widened_types(narrow, misfit), *with_places))


def _type_of_class(class_name: str) -> FullType:
    """Return the type of a class of values of documents."""
    kind, _, marks = class_name.partition(":")
    if kind in (OBJECT, LIST):
        return FullType(DataType.JSON)
    if kind == DataType.BIGINT and {"uint64", "wide", "beyond-wei"}.intersection(marks.split(",")):
        return FullType(DataType.WEI, scale=0)
    of = full_type({"data_type": kind})
    assert of is not None
    return of


def _is_written(value: DataType, field_type: DataType, allows_text: bool) -> bool:
    """Return whether loads write values of a type into fields of another type: they read no texts."""
    if field_type is DataType.TEXT and allows_text:
        return value is not DataType.JSON
    return value is field_type or field_type in _WRITTEN_INTO.get(value, ())


_INTEGERS: Final = (DataType.BIGINT, DataType.WEI)
_WRITTEN_INTO: Final[Mapping[DataType, tuple[DataType, ...]]] = {
    DataType.BIGINT: (DataType.DOUBLE, DataType.DECIMAL, DataType.WEI),
    DataType.WEI: (DataType.DOUBLE, DataType.DECIMAL),
    DataType.DOUBLE: (DataType.DECIMAL, DataType.WEI),
    DataType.DECIMAL: (DataType.WEI,),
    DataType.DATE: (DataType.TIMESTAMP,),
}


def _survival(values: int, rows: int | None) -> str:
    """Return the reason for a wider column in words."""
    new = f"all {values:,} values survive" if values != 1 else "the value survives"
    if rows is None:
        return new
    return f"{new}, and so {'does' if rows == 1 else 'do'} {counted(rows, 'stored row')}"
