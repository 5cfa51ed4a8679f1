"""Reads the documents that stand first in the input: most often all that a new schema depends on is in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from schemactl.engine.inputs import shown_path
from schemactl.engine.measure import Place
from schemactl.engine.parse import is_blank
from schemactl.engine.survey import Reading, Survey
from schemactl.inference.evidence import Evidence, Position, merge, observe

MOST_RECORDS: Final = 1_000
MOST_CHARACTERS: Final = 2_000_000
"""Of all documents together; Python looks at each of their values."""

_MOST_BLOCKS: Final = 50
"""Input blocks to look into; each is a condition of the query."""


@dataclass(frozen=True, slots=True)
class _Head:
    """The first records of an input block."""

    reading: Reading
    file: str
    block: int
    end: int

    def condition(self) -> Column:
        return (F.col("file") == self.file) & (F.col("block") == self.block) & (F.col("id") < self.end)


def observe_first(survey: Survey) -> Evidence:
    """Return the evidence of the first documents of the input, with the files and stated types of all of it.

    In the order of the input no document stands between them that is left out.

    Raises:
        EngineError: Spark cannot read them.
    """
    observed = observe(_within(MOST_CHARACTERS, _first_documents(survey)))
    known = Evidence(files=survey.files, typed=survey.types, stated=survey.stated)
    return merge(Evidence(observed.paths, observed.witnesses), known)


def _first_documents(survey: Survey) -> list[tuple[Position, str]]:
    """Return the texts of the first documents, in the order of the input."""
    found: list[tuple[Position, str]] = []
    heads = list(_heads(survey))
    for reading in survey.readings:
        conditions = [head.condition() for head in heads if head.reading is reading]
        if conditions:
            texts = reading.texts.where(reduce(or_, conditions) & ~is_blank(F.col("text")))
            rows = texts.select("file", "block", "id", "text").collect()
            found += [(reading.places.position(Place(row.file, row.block, row.id)), row.text) for row in rows]
    return sorted(found)


def _heads(survey: Survey) -> Iterator[_Head]:
    blocks = [
        (shown_path(row.file), row.block, reading, row) for reading in survey.readings for row in reading.places.blocks
    ]
    left = MOST_RECORDS
    for _, _, reading, row in sorted(blocks, key=lambda block: block[:2])[:_MOST_BLOCKS]:
        taken = min(left, row.lines)
        yield _Head(reading, row.file, row.block, row.first_id + taken)
        left -= taken
        if not left:
            return


def _within(most: int, texts: list[tuple[Position, str]]) -> Iterator[tuple[Position, Any]]:
    """Yield documents until they have ``most`` characters, the first one in any case."""
    for position, text in texts:
        yield position, json.loads(text)
        most -= len(text)
        if most < 0:
            return
