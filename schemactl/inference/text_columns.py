"""Types for columns of sources that have nothing but texts (CSV, TSV, XML), by all the texts of a column together.

dlt's detectors decide by the first value, as it meets one after the other. Who reads a CSV file looks at whole columns:
``1`` above ``n/a`` is no number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from schemactl.inference.classes import kind_of
from schemactl.inference.evidence import PathEvidence
from schemactl.schema.types import DataType

DETECTIONS: Final = "x-detections"
"""Property of a root table: the detectors for its data, asked before those of the schema's ``settings``."""

_MOST_DIGITS: Final = 18
"""Longer integers may not fit into 64 bits."""

_TOGETHER: Final[Mapping[frozenset[DataType], DataType]] = {
    frozenset((DataType.BIGINT, DataType.DOUBLE)): DataType.DOUBLE,
    frozenset((DataType.DATE, DataType.TIMESTAMP)): DataType.TIMESTAMP,
}


def type_of_texts(seen: PathEvidence, detectors: Sequence[str]) -> tuple[DataType, str]:
    """Return the type that all texts at one path have, ``text`` where they have none together, and who says so.

    Args:
        seen: the classes at the path.
        detectors: in the order they are asked.
    """
    found = dict(_detected(name, seen, detectors) for name in seen if kind_of(name) == DataType.TEXT)
    data_type = next(iter(found)) if len(found) == 1 else _TOGETHER.get(frozenset(found), DataType.TEXT)
    return data_type, "" if data_type is DataType.TEXT else ", ".join(sorted(found.values()))


def _detected(name: str, seen: PathEvidence, detectors: Sequence[str]) -> tuple[DataType, str]:
    answers = dict(answer.split("=") for answer in name.partition(":")[2].split(",") if "=" in answer)
    asked = next((detector for detector in detectors if detector in answers), None)
    found = DataType(answers[asked]) if asked else DataType.TEXT
    is_long = found is DataType.BIGINT and (seen[name].longest or 0) > _MOST_DIGITS
    return (DataType.TEXT, "") if asked is None or is_long else (found, asked)
