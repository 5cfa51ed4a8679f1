"""Evidence: what a dataset was seen to hold, path by path. Made by a scan, saved, merged, read by ``resolve``.

Evidence is a commutative monoid: ``merge`` is associative and commutative and ``Evidence()`` is its identity, so
evidence of any parts of a dataset merges into evidence of the whole (tests/inference/test_evidence.py holds it).
"Where first" is a place in the input: files by path, then position within the file.
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
from schemactl.schema.paths import ELEMENT, Path
from schemactl.schema.types import DataType

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

MAX_EXAMPLE_LENGTH = 80

MOST_LEVELS: Final = 200
"""How deep documents may nest: what comes after goes through them level by level, as Python's stack allows."""


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """The place of a document: file, and its number in the file counted from 1.

    In a file of lines it is the line, in CSV the row as a spreadsheet counts them: header and blank lines are some.
    """

    file: str
    number: int

    @property
    def location(self) -> Location:
        """The place as people look it up."""
        return Location(self.file, row=self.number) if _ROWS.search(self.file) else Location(self.file, self.number)

    def __str__(self) -> str:
        return str(self.location)

    def __reduce__(self) -> tuple[type[Position], tuple[str, int]]:
        """Be pickled by what makes it: by its fields, as dataclasses are, takes four times as long."""
        return Position, (self.file, self.number)


_ROWS: Final = re.compile(r"\.(?:csv|tsv|tab)(?:\.\w+)?$", re.IGNORECASE)
"""How names of files end whose numbers are called rows; those of other names are right, and read as lines."""


@dataclass(frozen=True, slots=True)
class ClassEvidence:
    """The evidence of one class of values at one path.

    Attributes:
        first: the first document that holds one.
        examples: a scalar of that document as it stood in the data (texts unquoted, numbers as written), in a tuple.
        shortest, longest: length of texts in characters, of lists in elements; None for other kinds.
        least, greatest: range of numbers; None for other kinds.
    """

    count: int
    first: Position
    examples: tuple[str, ...] = ()
    shortest: int | None = None
    longest: int | None = None
    least: float | None = None
    greatest: float | None = None

    def __reduce__(self) -> tuple[type[ClassEvidence], tuple[Any, ...]]:
        """Be pickled as positions are."""
        found = (self.count, self.first, self.examples, self.shortest, self.longest, self.least, self.greatest)
        return ClassEvidence, found


@dataclass(frozen=True, slots=True)
class FileEvidence:
    """One input as it was read: documents, records that could not be read, all records before a sample was taken."""

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
"""The classes met at one path, by name."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of a dataset.

    Attributes:
        paths: for each path the classes of values met there.
        witnesses: for each document that is the first of some class at some path, its content, cut down to the
            values that it is the first of. Key order is the document's.
        files: what was read, by input.
        typed: columns whose type the source itself states (Parquet, tables ...), in order: path -> dlt column
            properties. No value has to be looked at for these.
        stated: for columns of ``typed`` that sources do not agree about, all data types that they state.
        nullable: whether columns of ``typed`` may be null, where their sources state that too.
        counted: what stands in sources that state types, where it was counted: nothing that a schema depends on.
            Classes are named by the stated data type, beside ``null``, ``object`` and ``list``.
        room: what columns, by table and name, need to take all values, as properties: known only where rows were made.
    """

    paths: Mapping[Path, PathEvidence] = field(default_factory=dict)
    witnesses: Mapping[Position, Any] = field(default_factory=dict)
    files: Mapping[str, FileEvidence] = field(default_factory=dict)
    typed: Mapping[Path, Mapping[str, Any]] = field(default_factory=dict)
    stated: Mapping[Path, frozenset[DataType]] = field(default_factory=dict)
    nullable: Mapping[Path, bool] = field(default_factory=dict)
    counted: Mapping[Path, PathEvidence] = field(default_factory=dict)
    room: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)

    def stated_types(self, path: Path) -> frozenset[DataType]:
        """Return the data types that sources state at ``path``, none where none does."""
        if path in self.stated:
            return self.stated[path]
        return frozenset({DataType(self.typed[path]["data_type"])}) if path in self.typed else frozenset()

    @property
    def documents(self) -> int:
        """Number of documents that were read."""
        return sum(file.documents for file in self.files.values())

    def nulls(self, path: Path) -> int:
        """Return how many values at ``path`` are null."""
        return self._count(path, NULL)

    def count(self, path: Path) -> int:
        """Return how many values stand at ``path``, nulls included."""
        return sum(seen.count for _, seen in self._at(path))

    def absences(self, path: Path) -> int:
        """Return how many objects that could hold the last key of ``path`` do not; 0 for elements of lists."""
        if not path or path[-1] is ELEMENT:
            return 0
        return self._count(path[:-1], OBJECT) - self.count(path)

    def _count(self, path: Path, kind: str) -> int:
        return sum(seen.count for name, seen in self._at(path) if kind_of(name) == kind)

    def _at(self, path: Path) -> Iterator[tuple[str, ClassEvidence]]:
        yield from self.paths.get(path, {}).items()
        yield from self.counted.get(path, {}).items()


def merge(*parts: Evidence) -> Evidence:
    """Return the evidence of all parts together.

    The parts must not overlap: a file that two have read would count twice, so callers refuse that before.
    """
    paths = _merge_paths(part.paths for part in parts)
    witnesses = {at: document for part in parts for at, document in part.witnesses.items()}
    if sum(bool(part.paths) for part in parts) > 1:
        witnesses = cut_witnesses(paths, witnesses)
    typed = _merge_keyed((part.typed for part in parts), widen)
    stated = {path: frozenset().union(*(part.stated_types(path) for part in parts)) for path in typed}
    return Evidence(
        paths,
        witnesses,
        files=_merge_keyed((part.files for part in parts), FileEvidence.with_part),
        typed=typed,
        stated={path: types for path, types in stated.items() if len(types) > 1},
        nullable=_merge_nullable(parts),
        counted=_merge_paths(part.counted for part in parts),
        room=_merge_keyed((part.room for part in parts), widen),
    )


def _merge_nullable(parts: Sequence[Evidence]) -> dict[Path, bool]:
    """Merge what sources state of nulls.

    A column may be null if one source states so. It may not if all state that, and no part has documents without it.
    """
    merged: dict[Path, bool] = {}
    for path in dict.fromkeys(path for part in parts for path in part.nullable):
        concerned = [part for part in parts if part.documents or path in part.typed or path in part.nullable]
        stated = [part.nullable.get(path) for part in concerned]
        if True in stated or None not in stated:
            merged[path] = True in stated
    return merged


def _merge_paths(parts: Iterable[Mapping[Path, PathEvidence]]) -> dict[Path, PathEvidence]:
    return _merge_keyed(parts, lambda left, right: _merge_keyed((left, right), merge_classes))


def _merge_keyed(
    parts: Iterable[Mapping[_Key, _Value]], both: Callable[[_Value, _Value], _Value]
) -> dict[_Key, _Value]:
    merged: dict[_Key, _Value] = {}
    for key, value in chain.from_iterable(part.items() for part in parts):
        merged[key] = both(merged[key], value) if key in merged else value
    return merged


def merge_classes(left: ClassEvidence, right: ClassEvidence) -> ClassEvidence:
    """Merge what two parts of a dataset saw of one class at one path."""
    earlier, later = (left, right) if left.first <= right.first else (right, left)
    return ClassEvidence(
        count=left.count + right.count,
        first=earlier.first,
        examples=earlier.examples or later.examples,
        shortest=_outer(min, left.shortest, right.shortest),
        longest=_outer(max, left.longest, right.longest),
        least=_outer(min, left.least, right.least),
        greatest=_outer(max, left.greatest, right.greatest),
    )


def _outer(choose: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Return the outer one of two ends, by ``min`` or ``max``; None is no end."""
    if left is None or right is None:
        return right if left is None else left
    return choose(left, right)


def example_of(value: str | float | bool) -> str:
    """Return a scalar as it stands in JSON, texts without quotes and cut to a line's length."""
    return value[:MAX_EXAMPLE_LENGTH] if isinstance(value, str) else json.dumps(value)


def observe(documents: Iterable[tuple[Position, Any]]) -> Evidence:
    """Collect evidence from documents in memory: what a Spark scan collects, for tests and for small inputs.

    Raises:
        InputError: a document nests too deep.
    """
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
    seen = _observe_one(value, position)
    classes = paths.setdefault(path, {})
    classes[name] = merge_classes(classes[name], seen) if name in classes else seen
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
            return ClassEvidence(1, position, (example_of(value),), least=number, greatest=number)


def as_float(value: float) -> float | None:
    """Return a number for a range: an integer past all floats as an infinity, None for NaN, which has no place."""
    try:
        number = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return None if math.isnan(number) else number


def cut_witnesses(paths: Mapping[Path, PathEvidence], documents: Mapping[Position, Any]) -> dict[Position, Any]:
    """Cut each document down to the values that are the first of their class, and drop documents without any.

    What is left of a list keeps the scalars of the rows around it, as those may be copied into its own rows
    (``propagation`` in the config of dlt's normalizer).
    """
    firsts: dict[Position, _Firsts] = {}
    for path, classes in paths.items():
        for name, seen in classes.items():
            firsts.setdefault(seen.first, _Firsts()).at(path, classes).names.add(name)
    kept: dict[Position, Any] = {}
    for position in sorted(firsts.keys() & documents.keys()):
        cut = _cut_row(documents[position], firsts[position])
        if cut is not _NOTHING:
            kept[position] = cut
    return kept


_NOTHING: Any = object()

_LONGEST_WITNESS: Final = 1 << 16


@dataclass(slots=True)
class _Firsts:
    """The classes at one path, and below, that a document is the first of, as far as they were not met yet."""

    names: set[str] = field(default_factory=set)
    below: dict[str | None, _Firsts] = field(default_factory=dict)
    known: PathEvidence = field(default_factory=dict)
    is_single: bool = True

    def at(self, path: Path, known: PathEvidence) -> _Firsts:
        """Return those of a path below the document."""
        found = self
        for step in path:
            found = found.below.setdefault(step, _Firsts(is_single=found.is_single and step is not ELEMENT))
        found.known = known
        return found

    def take(self, value: Any) -> bool:
        """Return whether a value is a first; the next one of its class is none."""
        if not self.names:
            return False
        # A value by itself is what the names are of. To classify each takes seconds in rows of 10,000 columns.
        if self.is_single:
            self.names.clear()
            return True
        name = classify(value)
        if name not in self.names:
            return name not in self.known
        self.names.discard(name)
        return True


def _cut_row(value: Any, firsts: _Firsts) -> Any:
    """Cut a value that makes a row of its own: a document or an element of a list."""
    cut = _cut(value, firsts)
    return _with_scalars(cut, value) if isinstance(cut, dict) and _holds_list(cut) else cut


def _cut(value: Any, firsts: _Firsts) -> Any:
    """Return ``value`` without the parts that another document witnesses, ``_NOTHING`` where nothing is left."""
    is_first = firsts.take(value)
    match value:
        case dict():
            parts = {key: _cut_below(value[key], firsts, key) for key in list(filter(firsts.below.__contains__, value))}
            if not is_first and all(part is _NOTHING for part in parts.values()):
                return _NOTHING
            if has_row_key(value):
                # Without its own row key the object would become another kind of row.
                parts = {key: item if is_row_key(key) else parts.get(key, _NOTHING) for key, item in value.items()}
            return {key: part for key, part in parts.items() if part is not _NOTHING}
        case list():
            elements = [_cut_below(item, firsts, ELEMENT) for item in value if ELEMENT in firsts.below]
            left = _first_of_each([item for item in elements if item is not _NOTHING])
            return left if left or is_first else _NOTHING
        case _:
            return _shortened(value) if is_first else _NOTHING


def _cut_below(value: Any, firsts: _Firsts, step: str | None) -> Any:
    """Cut a value one step further; where nothing more is left to be met, nobody looks there again."""
    below = firsts.below[step]
    cut = _cut_row(value, below) if step is ELEMENT else _cut(value, below)
    if not below.names and not below.below:
        del firsts.below[step]
    return cut


def _shortened(value: Any) -> Any:
    """Return a text of megabytes by its beginning, where that is of the same class; any other value as it is."""
    if not isinstance(value, str) or len(value) <= _LONGEST_WITNESS:
        return value
    start = value[:_LONGEST_WITNESS]
    return start if classify(start) == classify(value) else value


def _holds_list(value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, dict) and any(map(_holds_list, value.values())))


def _with_scalars(cut: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    """Return ``cut`` with all scalars of ``whole`` outside its lists."""
    kept: dict[str, Any] = {}
    for key, item in whole.items():
        match item:
            case dict():
                inner = _with_scalars(cut.get(key, {}), item)
                if inner or key in cut:
                    kept[key] = inner
            case list():
                if key in cut:
                    kept[key] = cut[key]
            case _:
                kept[key] = _shortened(item)
    return kept


def _first_of_each(elements: list[Any]) -> list[Any]:
    """Drop scalars of a class that an earlier element of the same list has; objects and lists were cut already."""
    met: set[str] = set()
    left: list[Any] = []
    for element in elements:
        name = classify(element)
        if isinstance(element, (dict, list)) or name not in met:
            left.append(element)
        met.add(name)
    return left
