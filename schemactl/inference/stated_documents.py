"""Documents that stand for columns whose types their sources state, so that inference takes both the same way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schemactl.inference.classes import NULL
from schemactl.inference.evidence import Evidence, PathEvidence
from schemactl.inference.paths import ELEMENT, Path
from schemactl.inference.room import bits_for
from schemactl.inference.values import TypedValue
from schemactl.inference.widening import MAPS
from schemactl.schema.types import DataType

_TIMES: Final = (DataType.TIMESTAMP, DataType.TIME)
_DEFAULT_SECOND_DIGITS: Final = 6


def stated_documents(evidence: Evidence) -> list[dict[str, Any]]:
    """Return documents whose values stand for the columns that sources state the types of.

    One will do, unless there is a scalar in one source where another has an object or a list. The types that a column
    is widened from come after its own: they may need variants where the schema has another type.
    """
    documents: list[dict[str, Any]] = []
    typed = [(path, _stated_value(path, evidence)) for path in evidence.typed]
    narrower = [
        (path, TypedValue({"data_type": str(data_type)}))
        for path, stated in evidence.stated.items()
        for data_type in sorted(stated - {DataType(evidence.typed[path]["data_type"])})
    ]
    for path, value in (*typed, *narrower):
        if not any(_plant(document, path, value) for document in documents):
            documents.append({})
            _plant(documents[-1], path, value)
    return documents


def _stated_value(path: Path, evidence: Evidence) -> TypedValue:
    column = _of_column(evidence.typed[path])
    counted = evidence.counted.get(path, {})
    null = counted.get(NULL)
    return TypedValue(column, room=_room(column, counted), first_null=null.first if null else None)


def _room(column: Mapping[str, Any], counted: PathEvidence) -> Mapping[str, Any]:
    """Return what a column needs that takes all values.

    Integers of 64 bits are what many programs write of any integer: these ask for as many bits as were seen.
    """
    seen = counted.get(DataType.BIGINT)
    if column["data_type"] != DataType.BIGINT or "precision" in column:
        return column
    if seen is None or seen.least is None or seen.greatest is None:
        return {}
    return {**column, "precision": bits_for(seen.least, seen.greatest)}


def _of_column(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties that dlt's extractors keep: of times neither zone nor a default or finer precision."""
    kept = {key: value for key, value in properties.items() if key != MAPS}
    if kept["data_type"] in _TIMES:
        kept.pop("timezone", None)
        if kept.get("precision", _DEFAULT_SECOND_DIGITS) >= _DEFAULT_SECOND_DIGITS:
            kept.pop("precision", None)
    return kept


def _plant(container: Any, path: Path, value: TypedValue) -> bool:
    """Put ``value`` at ``path``; return whether there was room."""
    step, rest = path[0], path[1:]
    if step is ELEMENT and isinstance(container, list):
        is_free = not container
        if is_free:
            container.append(_container(rest) if rest else value)
        inner = container[0]
    elif step is not ELEMENT and isinstance(container, dict):
        is_free = step not in container
        inner = container.setdefault(step, _container(rest) if rest else value)
    else:
        return False
    return _plant(inner, rest, value) if rest else is_free


def _container(rest: Path) -> Any:
    return [] if rest[0] is ELEMENT else {}
