"""Looks at single values again, where evidence leaves open which of them fit a type, or which rows lack one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from schemactl.inference.classes import SCALAR_KINDS, classify, kind_of
from schemactl.inference.evidence import Position
from schemactl.inference.resolve import TakenClass
from schemactl.inference.survival import MAX_EXAMPLES, Scalars, Tally, distinct, shown, survives
from schemactl.schema.paths import Path, values_at

_MOST_REMEMBERED = 1 << 16


@dataclass(frozen=True, slots=True)
class Absences:
    """Asks for the first document with a row that lacks a value; rows and values are given by their paths."""

    rows: tuple[Path, ...]
    fed: tuple[TakenClass, ...]


class Recount:
    """Answers questions by batches of documents."""

    def __init__(self, questions: Sequence[Scalars | Absences]) -> None:
        self._answers = [
            _Survivors(question) if isinstance(question, Scalars) else _Missing(question) for question in questions
        ]

    def add(self, documents: Sequence[Any], positions: Sequence[Position]) -> None:
        """Count in a batch of documents."""
        for answer in self._answers:
            answer.add(documents, positions)

    def tallies(self) -> tuple[Tally, ...]:
        """Return the answers; for absences, only the position of the first."""
        return tuple(answer.tally() for answer in self._answers)


@dataclass(slots=True)
class _Survivors:
    ask: Scalars
    values: int = 0
    bad: int = 0
    bad_values: list[tuple[Position, Any]] = field(default_factory=list)
    known: dict[tuple[type, Any], bool] = field(default_factory=dict)

    def add(self, documents: Sequence[Any], positions: Sequence[Position]) -> None:
        for document, position in zip(documents, positions, strict=True):
            for path in self.ask.paths:
                for value in values_at(document, path):
                    if value is None or isinstance(value, (dict, list)) or not self._is_asked(value):
                        continue
                    self.values += 1
                    if not self._survives(value):
                        self.bad += 1
                        self._keep(position, shown(value))

    def _is_asked(self, value: Any) -> bool:
        return self.ask.kinds is None or SCALAR_KINDS[type(value)] in self.ask.kinds

    def _survives(self, value: Any) -> bool:
        key = (type(value), value)
        if key not in self.known:
            if len(self.known) >= _MOST_REMEMBERED:
                self.known.clear()
            self.known[key] = survives(value, self.ask.target)
        return self.known[key]

    def _keep(self, new_position: Position, value: Any) -> None:
        """Keep the first bad values; all of the first documents, as one value may come often."""
        documents = {position for position, _ in self.bad_values}
        if len(documents) >= MAX_EXAMPLES and new_position not in documents:
            if new_position > (last := max(documents)):
                return
            self.bad_values = [bad_value for bad_value in self.bad_values if bad_value[0] != last]
        self.bad_values.append((new_position, value))

    def tally(self) -> Tally:
        bad_values = sorted(self.bad_values, key=lambda position_and_value: position_and_value[0])
        first = bad_values[0][0] if bad_values else None
        return Tally(self.values, self.bad, distinct(value for _, value in bad_values), first)


@dataclass(slots=True)
class _Missing:
    ask: Absences
    first: Position | None = None

    def add(self, documents: Sequence[Any], positions: Sequence[Position]) -> None:
        for document, position in zip(documents, positions, strict=True):
            if self.first is not None and position > self.first:
                continue
            rows = sum(1 for path in self.ask.rows for _ in values_at(document, path))
            if rows > self._values(document):
                self.first = position

    def _values(self, document: Any) -> int:
        """Return the number of values of a document with a kind that counts."""
        kinds: dict[Path, set[str]] = {}
        for path, name in self.ask.fed:
            kinds.setdefault(path, set()).add(_kind_group(name))
        return sum(1 for path, groups in kinds.items() for group in _groups_at(document, path) if group in groups)

    def tally(self) -> Tally:
        return Tally(first=self.first)


def _groups_at(document: Any, path: Path) -> Iterator[str]:
    for value in values_at(document, path):
        yield _kind_group(kind_of(classify(value)) if isinstance(value, (dict, list)) or value is None else "scalar")


def _kind_group(name: str) -> str:
    kind = kind_of(name)
    return kind if kind in ("null", "object", "list") else "scalar"
