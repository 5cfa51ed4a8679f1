"""Finds the documents that bring what the first ones lack: a key, or another kind of value, that comes late."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemactl.engine.measure import Place, find_firsts
from schemactl.engine.parts import read_texts
from schemactl.engine.scan import fetch_documents
from schemactl.engine.survey import Survey
from schemactl.inference.assumption import Kinds
from schemactl.inference.evidence import Evidence, Position
from schemactl.inference.missing_kinds import missing_kinds, observe_first_values
from schemactl.inference.paths import Path


def observe_missing(survey: Survey, kinds: Mapping[Path, Kinds], first: Evidence) -> Evidence:
    """Return the evidence of the first value of each kind that the first documents lack.

    The documents are read once more, but for the paths alone at which a kind is missing.

    Args:
        survey: of all documents, whose large integers are not marked.
        kinds: what may stand at each path.
        first: of the documents before all others.

    Raises:
        EngineError: Spark cannot read them.
    """
    wanted = missing_kinds(kinds, first)
    firsts: dict[tuple[Path, str], Position] = {}
    documents: dict[Position, Any] = {}
    for reading in survey.readings:
        there = wanted.keys() & {path for path, _ in reading.shape.walk()}
        places: dict[Position, Place] = {}
        for path, kind, place in find_firsts(read_texts(reading.texts), reading.shape, there) if there else ():
            if kind in wanted[path]:
                position = reading.places.position(place)
                places[position] = place
                firsts[path, kind] = min(firsts.get((path, kind), position), position)
        documents |= fetch_documents(reading.records, {at: places[at] for at in {*firsts.values()} & places.keys()})
    return observe_first_values(documents, firsts)
