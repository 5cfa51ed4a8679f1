"""Evidence: statistics and examples of a dataset, path by path. A scan collects it, ``resolve`` reads it.

Evidence is a commutative monoid: ``merge`` is associative and commutative and ``Evidence()`` is its identity, so
evidence of any parts of a dataset merges into evidence of the whole (tests/inference/test_evidence.py proves it).
Positions are ordered by path of the file, then by position within the file.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, TypeVar

from schemactl.errors import InputError, Location
from schemactl.inference.classes import NULL, OBJECT, classify, has_row_key, is_row_key, kind_of
from schemactl.inference.widening import widen
from schemactl.schema.coercion import EXACT_INTEGERS
from schemactl.schema.paths import ELEMENT, Path
from schemactl.schema.types import DataType

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

MAX_EXAMPLE_LENGTH = 80

MOST_LEVELS: Final = 200
"""How deep documents may nest: later code recurses into them, and Python's stack is limited."""


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """The place of a document: file, and its number in the file counted from 1.

    In a file of lines it is the line, in CSV the row as a spreadsheet counts them: header and blank lines are some.
    """

    file: str
    number: int

    @property
    def location(self) -> Location:
        """The place as people look it up: rows in spreadsheets, lines in other files."""
        return Location(self.file, row=self.number) if _ROWS.search(self.file) else Location(self.file, self.number)

    def __str__(self) -> str:
        return str(self.location)

    def __reduce__(self) -> tuple[type[Position], tuple[str, int]]:
        """Pickle the constructor's arguments: pickling the fields, as dataclasses do, takes four times as long."""
        return Position, (self.file, self.number)


_ROWS: Final = re.compile(r"\.(?:csv|tsv|tab)(?:\.\w+)?$", re.IGNORECASE)
"""Endings of files whose numbers are called rows; in other files they are called lines."""


@dataclass(frozen=True, slots=True)
class ClassEvidence:
    """The evidence of one class of values at one path.

    Attributes:
        first: the first document with such a value.
        examples: a scalar of that document as the data has it (texts unquoted, numbers as written), in a tuple.
        shortest, longest: length of texts in characters, of lists in elements; None for other kinds.
        least, greatest: range of numbers; None for other kinds.
        varies: whether texts, booleans or moments differ, by their examples and lengths; False for numbers.
        places: the most decimal places that doubles with fractions need, see ``decimal_places``; None for other kinds,
            and in files of earlier versions.
    """

    count: int
    first: Position
    examples: tuple[str, ...] = ()
    shortest: int | None = None
    longest: int | None = None
    least: float | None = None
    greatest: float | None = None
    varies: bool = False
    places: int | None = None

    def __reduce__(self) -> tuple[type[ClassEvidence], tuple[Any, ...]]:
        """Pickle the constructor's arguments, as positions do."""
        numbers = (self.shortest, self.longest, self.least, self.greatest)
        return ClassEvidence, (self.count, self.first, self.examples, *numbers, self.varies, self.places)

    @property
    def is_constant(self) -> bool:
        """Whether all values are equal, as far as known: integers past 2**53 and their ranges are not exact."""
        if not self.examples or self.varies:
            return False
        if self.least is None or self.greatest is None:
            return self.shortest == self.longest
        return self.least == self.greatest and abs(self.least) <= EXACT_INTEGERS


@dataclass(frozen=True, slots=True)
class FileEvidence:
    """The counts of one input: documents, unreadable records, all records before a sample was taken."""

    documents: int
    bad: int = 0
    first_bad: int | None = None
    records: int = 0

    def with_part(self, other: FileEvidence) -> FileEvidence:
        """Return the evidence of both parts of an input."""
        first = _outer(min, self.first_bad, other.first_bad)
        documents, records = self.documents + other.documents, self.records + other.records
        return FileEvidence(documents, self.bad + other.bad, first, records)


PathEvidence = Mapping[str, ClassEvidence]
"""The classes of values at one path, by name."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of a dataset.

    Attributes:
        paths: the classes of values at each path.
        witnesses: each document that has the first value of some class at some path, cut down to these values. Key
            order is the document's.
        files: the counts of each input.
        declared: columns whose type the source itself declares (Parquet, tables ...), in order: path -> dlt column
            properties. Inference reads no values of these.
        conflicting_types: all data types that sources declare for columns of ``declared``, if they differ.
        nullable: whether columns of ``declared`` may be null, if their sources declare that too.
        counted: counts of values in sources that declare types; no schema depends on them. Classes are the declared
            data types, ``null``, ``object`` and ``list``.
        room: the properties that columns, by table and name, need for all values; only rows show them.
    """

    paths: Mapping[Path, PathEvidence] = field(default_factory=dict)
    witnesses: Mapping[Position, Any] = field(default_factory=dict)
    files: Mapping[str, FileEvidence] = field(default_factory=dict)
    declared: Mapping[Path, Mapping[str, Any]] = field(default_factory=dict)
    conflicting_types: Mapping[Path, frozenset[DataType]] = field(default_factory=dict)
    nullable: Mapping[Path, bool] = field(default_factory=dict)
    counted: Mapping[Path, PathEvidence] = field(default_factory=dict)
    room: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)

    def declared_types(self, path: Path) -> frozenset[DataType]:
        """Return the types that sources declare at ``path``; empty if undeclared."""
        if path in self.conflicting_types:
            return self.conflicting_types[path]
        return frozenset({DataType(self.declared[path]["data_type"])}) if path in self.declared else frozenset()

    @property
    def documents(self) -> int:
        """Number of documents that were read."""
        return sum(file.documents for file in self.files.values())

    def nulls(self, path: Path) -> int:
        """Return how many values at ``path`` are null."""
        return self._count(path, NULL)

    def count(self, path: Path) -> int:
        """Return how many values ``path`` has, nulls included."""
        return sum(class_evidence.count for _, class_evidence in self._at(path))

    def absences(self, path: Path) -> int:
        """Return how many objects that could hold the last key of ``path`` do not; 0 for elements of lists."""
        if not path or path[-1] is ELEMENT:
            return 0
        return self._count(path[:-1], OBJECT) - self.count(path)

    def _count(self, path: Path, kind: str) -> int:
        return sum(class_evidence.count for name, class_evidence in self._at(path) if kind_of(name) == kind)

    def _at(self, path: Path) -> Iterator[tuple[str, ClassEvidence]]:
        yield from self.paths.get(path, {}).items()
        yield from self.counted.get(path, {}).items()


def merge(*parts: Evidence) -> Evidence:
    """Return the evidence of all parts together.

    The parts must not overlap: a file in two parts would count twice, so callers reject that first.
    """
    paths = _merge_paths(partial.paths for partial in parts)
    witnesses = {position: document for partial in parts for position, document in partial.witnesses.items()}
    if sum(bool(partial.paths) for partial in parts) > 1:
        witnesses = cut_witnesses(paths, witnesses)
    declared = _merge_keyed((partial.declared for partial in parts), widen)
    all_types = {path: frozenset().union(*(partial.declared_types(path) for partial in parts)) for path in declared}
    return Evidence(
        paths,
        witnesses,
        files=_merge_keyed((partial.files for partial in parts), FileEvidence.with_part),
        declared=declared,
        conflicting_types={path: types for path, types in all_types.items() if len(types) > 1},
        nullable=_merge_nullable(parts),
        counted=_merge_paths(partial.counted for partial in parts),
        room=_merge_keyed((partial.room for partial in parts), widen),
    )


def _merge_nullable(parts: Sequence[Evidence]) -> dict[Path, bool]:
    """Merge the nullability that sources declare.

    A column may be null if one source says so. It may not if all sources say so and no part has documents without it.
    """
    merged: dict[Path, bool] = {}
    for path in dict.fromkeys(path for partial in parts for path in partial.nullable):
        relevant_parts = [
            partial for partial in parts if partial.documents or path in partial.declared or path in partial.nullable
        ]
        declarations = [partial.nullable.get(path) for partial in relevant_parts]
        if True in declarations or None not in declarations:
            merged[path] = True in declarations
    return merged


def _merge_paths(parts: Iterable[Mapping[Path, PathEvidence]]) -> dict[Path, PathEvidence]:
    return _merge_keyed(parts, lambda *parts: _merge_keyed(parts, merge_classes))


def _merge_keyed(
    parts: Iterable[Mapping[_Key, _Value]], both: Callable[[_Value, _Value], _Value]
) -> dict[_Key, _Value]:
    merged: dict[_Key, _Value] = {}
    for key, value in chain.from_iterable(partial.items() for partial in parts):
        merged[key] = both(merged[key], value) if key in merged else value
    return merged


def merge_classes(left: ClassEvidence, right: ClassEvidence) -> ClassEvidence:
    """Merge two parts' evidence of one class at one path."""
    earlier, later = (left, right) if left.first <= right.first else (right, left)
    return ClassEvidence(
        count=left.count + right.count,
        first=earlier.first,
        examples=earlier.examples or later.examples,
        shortest=_outer(min, left.shortest, right.shortest),
        longest=_outer(max, left.longest, right.longest),
        least=_outer(min, left.least, right.least),
        greatest=_outer(max, left.greatest, right.greatest),
        varies=left.varies or right.varies or _differ(left, right),
        places=None if left.places is None or right.places is None else max(left.places, right.places),
    )


def _differ(first: ClassEvidence, second: ClassEvidence) -> bool:
    """Return whether texts, booleans or moments of two parts differ; the ranges of numbers say it of these."""
    if first.least is not None or second.least is not None or not (first.examples and second.examples):
        return False
    return (first.examples, first.shortest, first.longest) != (second.examples, second.shortest, second.longest)


def _outer(choose: Callable[[Any, Any], Any], first: Any, second: Any) -> Any:
    """Return the lesser (``min``) or greater (``max``) of two limits; None means no limit."""
    if first is None or second is None:
        return second if first is None else first
    return choose(first, second)


def example_of(value: str | float | bool) -> str:
    """Return a scalar as JSON writes it, texts without quotes and cut to a line's length."""
    return value[:MAX_EXAMPLE_LENGTH] if isinstance(value, str) else json.dumps(value)


def observe(documents: Iterable[tuple[Position, Any]]) -> Evidence:
    """Collect the evidence of documents in memory, as a scan does."""
    paths: dict[Path, dict[str, ClassEvidence]] = {}
    first: dict[Position, Any] = {}
    counts: Counter[str] = Counter()
    for position, document in documents:
        _observe_value(document, (), position, paths)
        first[position] = document
        counts[position.file] += 1
    files = {file: FileEvidence(documents=count, records=count) for file, count in counts.items()}
    return Evidence(paths=paths, witnesses=cut_witnesses(paths, first), files=files)


def too_deep(position: Position) -> InputError:
    """Return the error for a document that nests deeper than ``MOST_LEVELS``."""
    return InputError(f"a record nests deeper than {MOST_LEVELS} levels", at=position.location)


def _observe_value(value: Any, path: Path, position: Position, paths: dict[Path, dict[str, ClassEvidence]]) -> None:
    if len(path) > MOST_LEVELS:
        raise too_deep(position)
    name = classify(value)
    class_evidence = _observe_one(value, position)
    classes = paths.setdefault(path, {})
    classes[name] = merge_classes(classes[name], class_evidence) if name in classes else class_evidence
    match value:
        case dict():
            for key, item in value.items():
                _observe_value(item, (*path, key), position, paths)
        case list():
            for item in value:
                _observe_value(item, (*path, ELEMENT), position, paths)


def _observe_one(value: Any, position: Position) -> ClassEvidence:
    match value:
        case None | dict():
            return ClassEvidence(1, position)
        case list():
            return ClassEvidence(1, position, (), len(value), len(value))
        case bool():
            return ClassEvidence(1, position, (example_of(value),))
        case str():
            return ClassEvidence(1, position, (example_of(value),), len(value), len(value))
        case _:
            number = as_float(value)
            places = decimal_places(value) if isinstance(value, float) and has_fractions(classify(value)) else None
            return ClassEvidence(1, position, (example_of(value),), least=number, greatest=number, places=places)


EXACT_POWERS: Final = 22
"""Doubles hold the powers of ten up to this one."""

MOST_PLACES: Final = 1_074
"""No double has more decimal places."""


def has_fractions(class_name: str) -> bool:
    """Return whether a class has doubles with fractions: doubles without become bigint, too."""
    value_kind, _, marks = class_name.partition(":")
    return value_kind == DataType.DOUBLE and DataType.BIGINT not in marks.split(",")


def decimal_places(number: float) -> int:
    """Return how many decimal places a double needs; ``MOST_PLACES`` if it needs 16 digits or so, or is not finite.

    An integer that a double holds, divided by a power of ten that a double holds, gives the double nearest to the
    quotient: so Python writes the double with as many places, or fewer.
    """
    for places in range(EXACT_POWERS + 1):
        power = float(10**places)
        if not abs(number * power) < EXACT_INTEGERS:
            break
        if round(number * power) / power == number:
            return places
    return MOST_PLACES


def as_float(value: float) -> float | None:
    """Return a number for a range: an infinity for integers beyond all floats, None for NaN, which has no order."""
    try:
        number = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return None if math.isnan(number) else number


def cut_witnesses(paths: Mapping[Path, PathEvidence], documents: Mapping[Position, Any]) -> dict[Position, Any]:
    """Reduce each document to the values that are the first of their class, and drop documents without any.

    A remaining list keeps the scalars of the surrounding rows, because they may be copied into its own rows
    (``propagation`` in the config of dlt's normalizer).
    """
    firsts: dict[Position, _Firsts] = {}
    for path, classes in paths.items():
        for name, class_evidence in classes.items():
            firsts.setdefault(class_evidence.first, _Firsts()).at(path, classes).names.add(name)
    witnesses: dict[Position, Any] = {}
    for position in sorted(firsts.keys() & documents.keys()):
        cut = _cut_row(documents[position], firsts[position])
        if cut is not _NOTHING:
            witnesses[position] = cut
    return witnesses


_NOTHING: Any = object()

_LONGEST_WITNESS: Final = 1 << 16


@dataclass(slots=True)
class _Firsts:
    """The classes, at one path and below it, whose first value a document has and that were not met yet."""

    names: set[str] = field(default_factory=set)
    below: dict[str | None, _Firsts] = field(default_factory=dict)
    classes: PathEvidence = field(default_factory=dict)
    is_single: bool = True

    def at(self, path: Path, classes: PathEvidence) -> _Firsts:
        """Return the node of a path below the document."""
        node = self
        for step in path:
            node = node.below.setdefault(step, _Firsts(is_single=node.is_single and step is not ELEMENT))
        node.classes = classes
        return node

    def take(self, value: Any) -> bool:
        """Return whether this is the first value of its class, and mark the class as met."""
        if not self.names:
            return False
        # A path outside lists has one value, so the names are its class. Classifying takes seconds for 10,000 columns.
        if self.is_single:
            self.names.clear()
            return True
        name = classify(value)
        if name not in self.names:
            return name not in self.classes
        self.names.discard(name)
        return True


def _cut_row(value: Any, firsts: _Firsts) -> Any:
    """Cut a value that becomes a row: a document or an element of a list."""
    cut = _cut(value, firsts)
    return _with_scalars(cut, value) if isinstance(cut, dict) and _holds_list(cut) else cut


def _cut(value: Any, firsts: _Firsts) -> Any:
    """Return ``value`` without the parts that another document witnesses, ``_NOTHING`` if nothing remains."""
    is_first = firsts.take(value)
    match value:
        case dict():
            items = {key: _cut_below(value[key], firsts, key) for key in list(filter(firsts.below.__contains__, value))}
            if not is_first and all(item is _NOTHING for item in items.values()):
                return _NOTHING
            if has_row_key(value):
                # Without its own row key the object would become another kind of row.
                items = {key: item if is_row_key(key) else items.get(key, _NOTHING) for key, item in value.items()}
            return {key: item for key, item in items.items() if item is not _NOTHING}
        case list():
            elements = [_cut_below(item, firsts, ELEMENT) for item in value if ELEMENT in firsts.below]
            elements_left = _first_of_each([item for item in elements if item is not _NOTHING])
            return elements_left if elements_left or is_first else _NOTHING
        case _:
            return _shortened(value) if is_first else _NOTHING


def _cut_below(value: Any, firsts: _Firsts, step: str | None) -> Any:
    """Cut a value one step further, and drop the node once all its classes were met."""
    below = firsts.below[step]
    cut = _cut_row(value, below) if step is ELEMENT else _cut(value, below)
    if not below.names and not below.below:
        del firsts.below[step]
    return cut


def _shortened(value: Any) -> Any:
    """Return the beginning of a very long text if that has the same class; any other value unchanged."""
    if not isinstance(value, str) or len(value) <= _LONGEST_WITNESS:
        return value
    start = value[:_LONGEST_WITNESS]
    return start if classify(start) == classify(value) else value


def _holds_list(value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, dict) and any(map(_holds_list, value.values())))


def _with_scalars(cut: dict[str, Any], uncut: dict[str, Any]) -> dict[str, Any]:
    """Return ``cut`` with all scalars of ``uncut`` outside its lists."""
    items: dict[str, Any] = {}
    for key, item in uncut.items():
        match item:
            case dict():
                inner = _with_scalars(cut.get(key, {}), item)
                if inner or key in cut:
                    items[key] = inner
            case list():
                if key in cut:
                    items[key] = cut[key]
            case _:
                items[key] = _shortened(item)
    return items


def _first_of_each(elements: list[Any]) -> list[Any]:
    """Drop scalars of a class that an earlier element of the same list has; objects and lists are cut already."""
    scalar_classes: set[str] = set()
    elements_left: list[Any] = []
    for element in elements:
        name = classify(element)
        if isinstance(element, (dict, list)) or name not in scalar_classes:
            elements_left.append(element)
        scalar_classes.add(name)
    return elements_left
