"""The detectors that give types to the values of a table: the schema's, the table's, and the list of ``--detect``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from schemactl.errors import InputError
from schemactl.inference.resolve import DETECTIONS
from schemactl.schema.detectors import DETECTORS
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Schema, Table

_BY_DEFAULT: Final = ("digits", "number", "bool", "iso_date")
_OF_DLT: Final = frozenset(
    ("timestamp", "iso_timestamp", "iso_date", "large_integer", "hexbytes_to_text", "wei_to_double")
)
"""dlt's own detectors; dlt rejects a schema whose ``settings`` name any other detector."""


@dataclass(frozen=True, slots=True)
class Detection:
    """The detectors of ``settings.detections``, which dlt reads, and of the ``x-detections`` of one root table.

    The detectors of the table run first, and on whole columns.
    """

    schema: tuple[str, ...]
    table: tuple[str, ...]


def with_detection(before: Schema, table: str, source: str, requested: str | None, has_new_texts: bool) -> Schema:
    """Return the schema with the detectors for its data, to infer by.

    ``requested`` is the list of ``--detect``, which replaces or changes the detectors that apply without it.
    ``has_new_texts`` tells whether all values are texts and the table is new to the schema.
    """
    stored_table = before.tables.get(table)
    table_detections = stored_table.properties.get(DETECTIONS) if stored_table else None
    current = Detection(tuple(before.settings.get("detections") or ()), tuple(table_detections or ()))
    usual = Detection(tuple(new_schema(before.name).settings["detections"]), _BY_DEFAULT)
    # Another table of the call may have changed the schema's list already.
    unruled = {usual.schema, usual.schema if requested is None else parse_detection(requested, usual).schema}
    has_rules = (
        bool(before.settings.get("preferred_types")) or current.schema not in unruled or table_detections is not None
    )
    detection = replace(current, table=_BY_DEFAULT) if has_new_texts and not has_rules else current
    if requested is not None:
        detection = parse_detection(requested, detection)
    if detection == current:
        return before
    root = stored_table or Table(table, {}, {"write_disposition": "append", "resource": source})
    properties = {key: value for key, value in root.properties.items() if key != DETECTIONS}
    if detection.table:
        properties[DETECTIONS] = list(detection.table)
    changed = before.with_table(replace(root, properties=properties))
    return replace(changed, settings={**before.settings, "detections": list(detection.schema)})


def parse_detection(requested: str, current: Detection) -> Detection:
    """Return the detectors that ``--detect`` requests.

    Plain names replace the current detectors; ``-name`` and ``+name`` remove or add one.
    """
    names = [name.strip() for name in requested.split(",") if name.strip()]
    for name in names:
        DETECTORS[name.lstrip("+-")]
    changes = [name for name in names if name.startswith(("+", "-"))]
    if not changes:
        return _divide(names)
    if len(changes) < len(names):
        raise InputError(f"`--detect {requested}` both names detectors and changes them", hint="use one of them")
    schema, table = ([name for name in names if f"-{name}" not in changes] for names in (current.schema, current.table))
    added = _divide(name[1:] for name in changes if name.startswith("+") and name[1:] not in (*schema, *table))
    return Detection((*schema, *added.schema), (*table, *added.table))


def _divide(names: Iterable[str]) -> Detection:
    names = tuple(names)
    schema = tuple(name for name in names if name in _OF_DLT)
    return Detection(schema, tuple(name for name in names if name not in _OF_DLT))
