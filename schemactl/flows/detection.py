"""``--detect``: which detectors give types to the values of a table, and those that text sources have by default."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final

from schemactl.engine.input import COMPRESSIONS, TEXTS
from schemactl.errors import InputError
from schemactl.inference.resolve import DETECTIONS
from schemactl.schema.detectors import DETECTORS
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Schema, Table

_BY_DEFAULT: Final = ("digits", "number", "bool", "iso_date")
_OF_DLT: Final = frozenset(
    ("timestamp", "iso_timestamp", "iso_date", "large_integer", "hexbytes_to_text", "wei_to_double")
)
"""Those that dlt knows: it refuses a schema whose ``settings`` name others."""


@dataclass(frozen=True, slots=True)
class Detection:
    """The detectors of a schema and of one of its root tables.

    Attributes:
        schema: in ``settings.detections``, which dlt reads.
        table: in the table's ``x-detections``; these are asked first, and of whole columns.
    """

    schema: tuple[str, ...]
    table: tuple[str, ...]


def with_detection(
    before: Schema, table: str, source: str, asked: str | None, files: Iterable[str], input_format: str | None
) -> Schema:
    """Return the schema with the detectors for its data, to infer by.

    Raises:
        InputError: there is no such detector.
    """
    known = before.tables.get(table)
    stated = known.properties.get(DETECTIONS) if known else None
    found = Detection(tuple(before.settings.get("detections") or ()), tuple(stated or ()))
    wanted = found
    if asked is not None:
        wanted = parse_detection(asked, found)
    elif known is None and _has_no_rules(before) and holds_texts(files, input_format):
        wanted = replace(found, table=_BY_DEFAULT)
    if wanted == found:
        return before
    there = known or Table(table, {}, {"write_disposition": "append", "resource": source})
    kept = {key: value for key, value in there.properties.items() if key != DETECTIONS}
    own = {DETECTIONS: list(wanted.table)} if wanted.table else {}
    changed = replace(there, properties={**kept, **own})
    return replace(before.with_table(changed), settings={**before.settings, "detections": list(wanted.schema)})


def parse_detection(asked: str, found: Detection) -> Detection:
    """Return the detectors that ``--detect`` asks for.

    Names take the place of those that are there; ``-name`` and ``+name`` alone take one away or add one.

    Raises:
        InputError: there is no such detector.
    """
    names = [name.strip() for name in asked.split(",") if name.strip()]
    for name in names:
        DETECTORS[name.lstrip("+-")]
    changes = [name for name in names if name.startswith(("+", "-"))]
    if not changes:
        return _parted(names)
    if len(changes) < len(names):
        raise InputError(f"`--detect {asked}` both names detectors and changes them", hint="do one of the two")
    kept = [
        [name for name in there if f"-{name}" not in changes and f"+{name}" not in changes]
        for there in (found.schema, found.table)
    ]
    added = _parted([name[1:] for name in changes if name.startswith("+")])
    return Detection((*kept[0], *added.schema), (*kept[1], *added.table))


def _parted(names: Iterable[str]) -> Detection:
    parts: tuple[list[str], list[str]] = ([], [])
    for name in names:
        parts[name not in _OF_DLT].append(name)
    return Detection(tuple(parts[0]), tuple(parts[1]))


def _has_no_rules(schema: Schema) -> bool:
    """Return whether nobody has said yet how types are found."""
    usual = new_schema(schema.name).settings["detections"]
    return not schema.settings.get("preferred_types") and schema.settings.get("detections") == usual


def holds_texts(files: Iterable[str], input_format: str | None) -> bool:
    """Return whether all values of some files are texts, by the format that is stated or by the names."""
    if input_format is not None:
        return input_format in TEXTS
    known = {ending for each in TEXTS.values() for ending in each}
    endings = [_ending(name) for name in files]
    return bool(endings) and known.issuperset(endings)


def _ending(name: str) -> str:
    suffixes = [suffix.lower() for suffix in PurePosixPath(name).suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix not in COMPRESSIONS), "")


def detectors_of(schema: Schema, root: str) -> tuple[str, ...]:
    """Return the detectors for the data of a root table, in the order they are asked."""
    own = schema.tables[root].properties.get(DETECTIONS) or ()
    return tuple(dict.fromkeys((*own, *(schema.settings.get("detections") or ()))))
