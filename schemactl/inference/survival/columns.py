"""Which values of a column survive its new type, variants included, by evidence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from schemactl.inference.classes import LIST, OBJECT, kind_of
from schemactl.inference.evidence import ClassEvidence, Evidence
from schemactl.inference.paths import Path
from schemactl.inference.resolve import Resolution, Taken
from schemactl.inference.survival.classes import Verdict, judge_class
from schemactl.inference.survival.tallies import Tally, add
from schemactl.inference.survival.target import TargetType
from schemactl.inference.taking import variant_bases
from schemactl.schema.types import DataType


@dataclass(frozen=True, slots=True)
class Judged:
    """What evidence says of a column's values.

    Attributes:
        tally: of all values but the scalars at the open paths.
        open_paths: where the values themselves have to be looked at.
    """

    tally: Tally
    open_paths: tuple[Path, ...] = ()


def feeds(resolution: Resolution, table: str, column: str) -> tuple[Taken, ...]:
    """Return what of the data is for a column: what it takes, and what went to its variants instead."""
    bases = variant_bases(resolution.schema)
    beside = [origin for origin, base in bases.items() if origin[0] == table and base == column]
    origins = [(table, column), *beside]
    return tuple(dict.fromkeys(each for origin in origins for each in resolution.taken.get(origin, ())))


def judge_values(evidence: Evidence, fed: Iterable[Taken], target: TargetType) -> Judged | None:
    """Judge the values of a column by evidence; None where objects or lists may be too long for a text.

    Args:
        evidence: what the data, or a part of it, holds.
        fed: paths and classes of the column's values (``feeds``).
        target: the column's new type.
    """
    known = [(path, name, evidence.paths[path][name]) for path, name in fed if name in evidence.paths.get(path, {})]
    verdicts = [(path, name, seen, judge_class(name, seen, target)) for path, name, seen in known]
    open_paths = dict.fromkeys(path for path, _, _, verdict in verdicts if verdict is Verdict.OPEN)
    if any(verdict is Verdict.OPEN and not _is_scalar(name) for _, name, _, verdict in verdicts):
        return None
    tallies = [
        Tally(seen.count, seen.count, tuple(_examples(name, seen)), seen.first)
        if verdict is Verdict.NONE
        else Tally(seen.count)
        for path, name, seen, verdict in verdicts
        if not (path in open_paths and _is_scalar(name))
    ]
    return Judged(add(tallies), tuple(open_paths))


def _is_scalar(name: str) -> bool:
    return kind_of(name) not in (OBJECT, LIST)


def _examples(name: str, seen: ClassEvidence) -> Iterator[Any]:
    is_text = kind_of(name) == DataType.TEXT
    yield from seen.examples if is_text else map(json.loads, seen.examples)
