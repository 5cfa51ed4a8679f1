"""Decide which columns become wider instead of getting a variant column (contract mode ``promote``).

A column becomes wider only if all values survive exactly: the new ones by evidence, or by a second look at them, and
the stored ones by a count at the destination. Otherwise the values go to a variant column as in dlt, and the finding
says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from schemactl.examples import mask_examples
from schemactl.inference.classes import LIST, NULL, OBJECT, kind_of
from schemactl.inference.evidence import Evidence
from schemactl.inference.report import PromotionFinding
from schemactl.inference.resolve import Origin, Resolution, TakenClass, variant_bases
from schemactl.inference.survival import EXACT_INTEGERS, Tally, add, judge_values
from schemactl.inference.values import DECLARED
from schemactl.schema.contract import ContractValue, Promotion, promotion_for
from schemactl.schema.full_types import DEFAULT_DECIMAL, MAX_DIGITS, FullType, digits_of_bits, full_type
from schemactl.schema.naming import naming_of
from schemactl.schema.paths import Path
from schemactl.schema.personal import is_personal
from schemactl.schema.types import MICROSECOND_DIGITS, Column, DataType, Schema
from schemactl.schema.widening import holds_all, widened_types
from schemactl.schema.wording import counted, show_value

CountNew: TypeAlias = Callable[[tuple[Path, ...], FullType, frozenset[str]], Tally]
"""Reads the scalars of some kinds at some paths again, and counts the scalars that do not survive a type."""


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


CountStored: TypeAlias = Callable[[str, str, FullType], StoredValues]
"""Counts the stored values of a column, by table and name, that would not survive a type."""


@dataclass(frozen=True, slots=True)
class Promotions:
    """Wider types by column, and the reasons for wider and for unchanged columns.

    Attributes:
        refused: the kinds of values that go to a variant column, by column, although dlt would round them to fit.
    """

    wider: Mapping[Origin, FullType]
    refused: Mapping[Origin, frozenset[DataType]]
    findings: tuple[PromotionFinding, ...] = ()


NO_PROMOTIONS: Final = Promotions({}, {})


@dataclass(frozen=True, slots=True)
class Promoter:
    """Makes columns wider by the data of one root table.

    Attributes:
        before: the schema before the data.
        contract: the contract of the call; those of the schema stay in force beside it.
        count_new: None if the data cannot be read again.
        count_stored: None without a destination.
    """

    evidence: Evidence
    before: Schema
    contract: ContractValue = None
    count_new: CountNew | None = None
    count_stored: CountStored | None = None

    def promote(self, resolve: Callable[[Promotions], Resolution]) -> tuple[Resolution, Promotions]:
        """Return the resolution in which columns become wider in place of variants, and these columns.

        Values that a column refuses may need a wider variant column in turn, such as 2^63 in a variant of bigint.
        """
        promotions = NO_PROMOTIONS
        resolution = resolve(promotions)
        while len((more := self._decide_all(resolution, promotions)).findings) > len(promotions.findings):
            resolution, promotions = resolve(more), more
        return resolution, promotions

    def _decide_all(self, resolution: Resolution, decided: Promotions) -> Promotions:
        """Return the promotions of a resolution's columns beside the decided ones, which the resolution has."""
        wider, refused_kinds, findings = dict(decided.wider), dict(decided.refused), list(decided.findings)
        decided_columns = {(finding.table, finding.column) for finding in findings}
        for origin, variants in self._candidates(resolution).items():
            if origin in decided_columns:
                continue
            for finding, attempt in self._decide(resolution, origin, variants):
                findings.append(finding)
                if attempt.wider is not None:
                    wider[origin] = attempt.wider
                elif attempt.refused:
                    refused_kinds[origin] = refused_kinds.get(origin, frozenset()) | attempt.refused
        for (table, variant), base in variant_bases(resolution.schema).items():
            # The wider type would take the values of an existing variant as well, rounded.
            stored_variant = self.before.column(table, variant)
            kind = None if stored_variant is None else stored_variant.data_type
            has_values = (table, base) in wider and (table, variant) in resolution.taken
            if has_values and kind is not None and kind in _ROUNDED_KINDS:
                refused_kinds[table, base] = refused_kinds.get((table, base), frozenset()) | {kind}
        return Promotions(wider, refused_kinds, tuple(findings))

    def _candidates(self, resolution: Resolution) -> dict[Origin, list[str]]:
        """Return the columns that promote, with the variant columns that the data adds; none for lossy values."""
        candidates: dict[Origin, list[str]] = {}
        for (table, variant), base in variant_bases(resolution.schema).items():
            stored_variant = self.before.column(table, variant)
            is_new = stored_variant is None or not stored_variant.is_complete
            if is_new and self._mode(resolution, table, base) is not Promotion.VARIANT:
                candidates.setdefault((table, base), []).append(variant)
        for (table, _), variants in candidates.items():
            variants.sort(key=list(resolution.schema.tables[table].columns).index)  # in order of the data
        for origin in resolution.taken:
            is_promoting = self._base_column(resolution, origin).data_type in _LOSSY and (
                self._mode(resolution, *origin) is not Promotion.VARIANT
            )
            if is_promoting and self._lossy_types(resolution, origin):
                candidates.setdefault(origin, [])
        return candidates

    def _mode(self, resolution: Resolution, table: str, column: str) -> Promotion:
        """Return the treatment of values that do not fit a column; new nested tables follow their parents."""
        tables = {**resolution.schema.tables, **self.before.tables}
        return promotion_for(replace(self.before, tables=tables), table, column, self.contract)

    def _base_column(self, resolution: Resolution, origin: Origin) -> Column:
        """Return a column as it is before the data, or as its first value makes it."""
        stored_column = self.before.column(*origin)
        if stored_column is not None and stored_column.is_complete:
            return stored_column
        return resolution.schema.tables[origin[0]].columns[origin[1]]

    def _decide(
        self, resolution: Resolution, origin: Origin, variants: Sequence[str]
    ) -> Iterator[tuple[PromotionFinding, _Attempt]]:
        """Yield a finding for the values that fit no narrower type, with the attempt to find a wider one."""
        table, name = origin
        columns = resolution.schema.tables[table].columns
        base_type = full_type(self._base_column(resolution, origin).properties)
        assert base_type is not None
        stored_column = self.before.column(table, name)
        is_stored = stored_column is not None and stored_column.is_complete
        misfits: list[tuple[str | None, FullType | None]] = [
            (variant, full_type(columns[variant].properties)) for variant in variants
        ]
        misfits = [*((None, lossy_type) for lossy_type in self._lossy_types(resolution, origin)), *misfits]
        wider, fed = base_type, resolution.taken.get(origin, ())
        for variant, misfit_type in misfits:
            assert misfit_type is not None
            all_fed = fed if variant is None else (*fed, *resolution.taken.get((table, variant), ()))
            values = sum(self._count(path, class_name) for path, class_name in all_fed)
            allows_text = self._mode(resolution, table, name) is Promotion.PROMOTE_TEXT
            attempt = self._widen(
                origin, _candidates_for(wider, misfit_type, allows_text), all_fed, is_stored=is_stored
            )
            reason = attempt.reason or f"no type holds the values of {wider} and {misfit_type} exactly"
            if attempt.wider is not None:
                wider, fed, variant, reason = attempt.wider, all_fed, None, _survival(values, attempt.rows)
            elif variant is not None:
                # A type that became wider for other values would take these, rounded.
                attempt = replace(attempt, refused=frozenset({misfit_type.data_type}) & _ROUNDED_KINDS.keys())
            elif misfit_type.data_type in _ROUNDED_KINDS and wider.data_type is not DataType.BIGINT:
                attempt = replace(attempt, refused=_ROUNDED_KINDS[misfit_type.data_type])
                variant = naming_of(self.before).shorten_fragments(name, f"v_{misfit_type.data_type}")
            after = None if attempt.wider is None else str(wider)
            finding = PromotionFinding(table, name, str(base_type), after, variant, values, attempt.rows, reason)
            yield finding, attempt

    def _widen(
        self, origin: Origin, candidates: Iterable[FullType], fed: Sequence[TakenClass], *, is_stored: bool
    ) -> _Attempt:
        """Return the first type in which all values survive, or the reason why every type fails."""
        rows: int | None = None
        reasons: list[str] = []
        for candidate in candidates:
            tally = self._judge(fed, candidate)
            if isinstance(tally, str) or tally.bad:
                reasons.append(tally if isinstance(tally, str) else self._loss(origin, tally, candidate))
                continue
            stored = StoredValues()
            if is_stored and self.count_stored is not None:
                stored = self.count_stored(*origin, candidate)
                rows = stored.rows
            if not (stored.unfit or stored.blocker):
                return _Attempt(candidate, rows)
            example = f", such as {stored.examples[0]}" if stored.examples else ""
            unfit = f"{counted(stored.unfit, 'stored value')} would not survive as {candidate}{example}"
            reasons.append(stored.blocker or unfit)
        return _Attempt(None, rows, "; ".join(reasons))

    def _loss(self, origin: Origin, tally: Tally, candidate: FullType) -> str:
        examples = mask_examples(tally.examples[:1], is_personal(self.before, *origin))
        example = f", such as {show_value(examples[0])}" if examples else ""
        return f"{counted(tally.bad, 'new value')} would not survive as {candidate}{example}"

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
        if not judged.open_paths:
            return judged.tally
        if judged.tally.bad:
            return judged.tally
        if self.count_new is None:
            return "it cannot be told whether all values survive, because the data cannot be read again"
        return add(
            (
                judged.tally,
                self.count_new(judged.open_paths, target, frozenset(kind_of(class_name) for _, class_name in fed)),
            )
        )

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

    def _lossy_types(self, resolution: Resolution, origin: Origin) -> tuple[FullType, ...]:
        """Return the types of values that dlt would cut or round to fit a column, or that stop the load there.

        dlt takes a timestamp into a date column without its time of day, checks no text or binary against a length, and
        lets the destination round numbers and points in time that have more digits than the column.
        """
        stored_type = full_type(self._base_column(resolution, origin).properties)
        if stored_type is None:
            return ()
        fed = resolution.taken.get(origin, ())
        match stored_type.data_type:
            case DataType.DATE:
                has_times = any(_is_timestamp(self.evidence, path, class_name) for path, class_name in fed)
                return (FullType(DataType.TIMESTAMP, MICROSECOND_DIGITS, timezone=True),) if has_times else ()
            case DataType.TEXT if stored_type.precision is not None:
                longest = self._longest_text(fed)
                return (FullType(DataType.TEXT, longest),) if longest > stored_type.precision else ()
            case DataType.BIGINT:
                # dlt reads unsigned integers of 64 bits, and no bigint holds the larger half.
                is_unsigned = any("uint64" in class_name for _, class_name in fed)
                return (FullType(DataType.WEI, scale=0),) if is_unsigned else ()
            case DataType.DOUBLE:
                return (FullType(DataType.BIGINT, 64),) if self._rounds(fed, DataType.BIGINT, stored_type) else ()
            case DataType.BINARY if stored_type.precision is not None:
                longest = self._longest_text(fed) * 3 // 4  # dlt reads the bytes of a text as Base64
                return (FullType(DataType.BINARY, longest),) if longest > stored_type.precision else ()
            case DataType.TIMESTAMP | DataType.TIME if (stored_type.precision or 0) < MICROSECOND_DIGITS:
                finest = replace(stored_type, precision=MICROSECOND_DIGITS)
                return (finest,) if self._rounds(fed, DataType.TEXT, stored_type) else ()
            case DataType.DECIMAL | DataType.WEI:
                misfits = {
                    DataType.DOUBLE: FullType(DataType.DOUBLE),
                    DataType.BIGINT: FullType(DataType.WEI, scale=0),
                    DataType.TEXT: FullType(DataType.DECIMAL, *DEFAULT_DECIMAL),
                }
                # The column has already grown by the digits that the numbers have before the point.
                grown = full_type(resolution.schema.tables[origin[0]].columns[origin[1]].properties) or stored_type
                # A wei has no limit in dlt, but a double of more digits than a destination has would stop the load.
                limited = grown if grown.precision is not None else replace(grown, precision=MAX_DIGITS)
                targets = dict.fromkeys(misfits, grown) | {DataType.DOUBLE: limited}
                return tuple(of for kind, of in misfits.items() if self._rounds(fed, kind, targets[kind]))
            case _:
                return ()

    def _longest_text(self, fed: Sequence[TakenClass]) -> int:
        """Return the length of the longest text among the values of a column."""
        classes = ((self.evidence.paths.get(path, {}).get(name), name) for path, name in fed)
        return max((of.longest or 0 for of, name in classes if of and kind_of(name) == DataType.TEXT), default=0)

    def _rounds(self, fed: Sequence[TakenClass], value_kind: DataType, target: FullType) -> bool:
        """Return whether values of a kind do not survive a type, or cannot be proven to."""
        classes = [(path, class_name) for path, class_name in fed if kind_of(class_name) == value_kind]
        tally = self._judge(classes, target)
        return isinstance(tally, str) or bool(tally.bad)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The type in which all values survive, or None and the reason; the number of stored rows, if they were counted."""

    wider: FullType | None
    rows: int | None
    reason: str = ""
    refused: frozenset[DataType] = frozenset()


_LOSSY: Final = (
    *(DataType.DATE, DataType.TEXT, DataType.BIGINT),
    *(DataType.DOUBLE, DataType.DECIMAL, DataType.WEI),
    *(DataType.TIMESTAMP, DataType.TIME, DataType.BINARY),
)
"""The types of columns into which dlt puts values that do not survive there."""

_ROUNDED_KINDS: Final[Mapping[DataType, frozenset[DataType]]] = {
    DataType.DOUBLE: frozenset({DataType.DOUBLE}),
    DataType.BIGINT: frozenset({DataType.BIGINT, DataType.WEI}),
    DataType.WEI: frozenset({DataType.WEI}),
}
"""The kinds of values that a variant column takes because a column would round them, by the variant's type."""


def _candidates_for(narrow: FullType, misfit: FullType, allows_text: bool) -> dict[FullType, None]:
    """Return the types that may hold two types, also a decimal with all places that integers leave free."""
    if narrow.data_type is DataType.DOUBLE:
        # Never a decimal: it rounds doubles, and later ones as well.
        return dict.fromkeys((narrow, FullType(DataType.TEXT)) if allows_text else (narrow,))
    if misfit.data_type is DataType.DECIMAL and narrow.data_type in (DataType.DECIMAL, DataType.WEI):
        whole_digits = MAX_DIGITS if narrow.integer_digits is None else narrow.integer_digits
        widest = FullType(DataType.DECIMAL, MAX_DIGITS, MAX_DIGITS - whole_digits)
        return dict.fromkeys((*widened_types(narrow, misfit), widest))
    most_places = MAX_DIGITS - digits_of_bits(narrow.precision) if narrow.data_type is DataType.BIGINT else 0
    with_places = widened_types(narrow, misfit, scale=most_places, allow_text=allows_text)
    return dict.fromkeys((*widened_types(narrow, misfit), *with_places))


def _is_timestamp(evidence: Evidence, path: Path, class_name: str) -> bool:
    if class_name == DECLARED:
        return DataType.TIMESTAMP in evidence.declared_types(path)
    return "iso_timestamp=timestamp" in class_name.partition(":")[2].split(",")


def _survival(values: int, rows: int | None) -> str:
    """Return the reason for a wider column in words."""
    new = f"all {values:,} values survive" if values != 1 else "the value survives"
    if rows is None:
        return new
    return f"{new}, and so do {counted(rows, 'stored row')}"
