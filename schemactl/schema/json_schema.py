"""The JSON Schema of schema files, for editors: the checks of ``schema.validation`` with words for people.

It lets through all that the checks do, and files that state less, as people write them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schemactl.schema.types import ENGINE_VERSION
from schemactl.schema.validation import shape

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_NAMES: Final = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_LAST_DAYS: Final = {"type": "object"}
_NESTED_TYPE: Final = {"type": ["string", "null"], "pattern": "^arrow-ipc:"}
_DEPRECATED: Final = "Will go: `true`, the last day (`2026-06-30`), or `{until, reason, use}`."
_RENAMED: Final = "Its former name, or names; `[]` says that it had none."

COLUMN_HINTS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "x-renamed-from": (_RENAMED, _NAMES),
    "x-id": ("What stays the same when the name changes: a number or a text.", {}),
    "x-backfill": ("The value that stored rows get when the column is added and may not be null.", {}),
    "x-deprecated": (_DEPRECATED, {}),
    "x-stability": ("What readers are promised.", {"examples": ["draft", "beta", "stable"]}),
    "x-annotation-pii": (
        "Whether the values are personal: they are masked in reports. `drop` also keeps them out of `_rejects`.",
        {},
    ),
    "x-classification": ("How confidential the values are; other than `public` they are masked in reports.", {}),
    "x-enum": ("The values that there may be.", {"type": "array"}),
    "x-pattern": ("A regular expression that texts match.", {"type": "string"}),
    "x-minimum": ("The least value.", {}),
    "x-maximum": ("The greatest value.", {}),
    "x-exclusive-minimum": ("What values are greater than.", {}),
    "x-exclusive-maximum": ("What values are less than.", {}),
    "x-multiple-of": ("What values are multiples of.", {}),
    "x-min-length": ("The least number of characters.", {}),
    "x-max-length": ("The greatest number of characters.", {}),
    "x-min-items": ("The least number of items in a list.", {}),
    "x-max-items": ("The greatest number of items in a list.", {}),
    "x-unique-items": ("Whether the items of a list differ.", {}),
    "x-unit": ("What a number counts: `epoch_s`, `EUR`, `kg` ...", {}),
    "x-units": ("As `x-unit`.", {}),
    "x-format": ("How texts are written.", {}),
    "x-currency": ("The currency of an amount.", {}),
    "x-encoding": ("How texts or bytes are encoded.", {}),
    "x-timezone": ("The time zone of times that state none.", {}),
    "x-time-zone": ("As `x-timezone`.", {}),
    "x-spark-type": ("Spark's type of a column of `json`: `struct<city: string>`, `array<int>`.", {"type": "string"}),
    "x-nested-type": ("The Arrow type that dlt keeps the column in, where it loaded Arrow data.", _NESTED_TYPE),
    "x-fields": ("What `x-spark-type` cannot say of the fields in it, by their paths.", {}),
    "x-database-type": ("A type of a database that dlt has not.", {"type": "string"}),
    "x-type-definition": (
        "What the enum, domain or composite type that `x-database-type` names consists of: `ENUM('a', 'b')`.",
        {"type": "string"},
    ),
    "x-metadata": ("Metadata of the column, as Arc has it.", {}),
    "x-typing": ("How texts become values of this column, as Arc says it.", {}),
    "x-tags": ("Words to find it by.", {}),
    "x-business-name": ("What people call it.", {}),
    "x-proto-type": ("Its declared type in messages of Protocol Buffers, such as `sint32`.", {"type": "string"}),
    "x-proto-key": ("The declared type of a map's keys in messages of Protocol Buffers.", {"type": "string"}),
    "x-proto-enum": ("The numbers of the values of the enum that `x-proto-type` names.", {"type": "object"}),
    "x-proto-reserved": ("Numbers and names that no field of its message may have.", {"type": "array"}),
    "x-logical-name": ("Its name in data contracts, if the database names it otherwise.", {"type": "string"}),
    "x-row-version": ("Whether it holds the hash by which a history (scd2) knows rows.", {}),
    "x-row-id": ("Whether it holds dlt's id of a row.", {}),
    "x-valid-from": ("Whether it holds when a row of a history (scd2) begins.", {}),
    "x-valid-to": ("Whether it holds when a row of a history (scd2) ends.", {}),
    "x-active-record-timestamp": ("What `x-valid-to` holds of rows that have not ended; null by default.", {}),
    "x-normalizer": ("Marks of dlt's normalizer.", {}),
}
"""Hints of columns that schemactl reads, with what they mean and the JSON Schema of their values."""

TABLE_HINTS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "x-merge-strategy": (
        "How a load with `write_disposition: merge` treats the rows that are there; `delete-insert` by default.",
        {"examples": ["delete-insert", "upsert", "insert-only", "scd2"]},
    ),
    "x-boundary-timestamp": ("When rows of a history (scd2) begin and end; by default the time of the load.", {}),
    "x-stage-data-deduplicated": ("Whether the data of one load has each key once.", {}),
    "x-removed-columns": ("Columns that will go, with the last day of each: `{note: 2026-01-31}`.", _LAST_DAYS),
    "x-renamed-from": (_RENAMED, _NAMES),
    "x-deprecated": (_DEPRECATED, {}),
    "x-stability": COLUMN_HINTS["x-stability"],
    "x-annotation-pii": (
        "Whether its rows are personal: values are masked in reports. `drop` also keeps them out of `_rejects`.",
        {},
    ),
    "x-classification": COLUMN_HINTS["x-classification"],
    "x-tags": COLUMN_HINTS["x-tags"],
    "x-business-name": COLUMN_HINTS["x-business-name"],
    "x-logical-name": COLUMN_HINTS["x-logical-name"],
    "x-proto-reserved": COLUMN_HINTS["x-proto-reserved"],
    "x-contract-sizes": (
        "`evolve`: sizes may change under a contract that freezes `data_type`, as in dbt.",
        {"enum": ["evolve"]},
    ),
    "x-source-names": ("Names of columns whose keys in the data collide, by JSONPath; written by schemactl.", {}),
    "x-detections": ("Detectors of this table's new columns.", {"type": "array"}),
    "x-normalizer": ("Marks of dlt's normalizer, and `max_nesting` of the table.", {}),
}
"""As ``COLUMN_HINTS``, of tables."""

SCHEMA_HINTS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "x-removed-tables": ("Tables that will go, with the last day of each: `{carts: 2026-06-30}`.", _LAST_DAYS),
    "x-proto-package": ("The package of its messages in Protocol Buffers.", {"type": "string"}),
    "x-proto-syntax": (
        "`proto3`, or an edition: the schema is that of messages, whose fields without a value have the default one.",
        {"type": "string"},
    ),
}
"""As ``COLUMN_HINTS``, at the top of a file."""

SETTINGS_HINTS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "x-records": (
        "The records inside JSON documents, as `--records` and `--keep` declare them: `{path: $.data, keep: [page]}`.",
        {
            "type": ["object", "string", "null"],
            "properties": {"path": {"type": "string"}, "keep": {"type": "array", "items": {"type": "string"}}},
            "required": ["path"],
        },
    ),
}
"""As ``COLUMN_HINTS``, in ``settings``."""

_WORDS: Final[Mapping[str, str]] = {
    "name": "The schema's name; by default the file's.",
    "version": "A number that grows with each change.",
    "version_hash": "The hash of the content.",
    "previous_hashes": "The hashes of earlier versions, the last one first.",
    "imported_version_hash": "The hash of the import file that was taken over last.",
    "engine_version": f"The version of dlt's form of schemas: {ENGINE_VERSION}. Files by hand leave it out.",
    "tables": "The tables by name.",
    "settings": "Contract, detectors, default hints and preferred types of all tables.",
    "normalizers": "How names and nested data become tables.",
}
_SETTINGS_WORDS: Final[Mapping[str, str]] = {
    "schema_contract": "What data may change: one mode, or one for `tables`, `columns` and `data_type` each.",
    "detections": "Detectors that give new columns types by their values.",
    "default_hints": "Hints by the names of columns that get them: `primary_key: [id]`, `not_null: ['re:_id$']`.",
    "preferred_types": "Types by the names of columns: `'re:.*_at$': timestamp`.",
}
_TABLE_WORDS: Final[Mapping[str, str]] = {
    "description": "What it holds.",
    "columns": "The columns by name.",
    "parent": "The table that it is nested in.",
    "write_disposition": "What a load does with the rows that are there; `append` by default.",
    "schema_contract": "What data may change of this table.",
    "resource": "dlt's resource that the data comes from.",
    "references": "Columns that name rows of other tables.",
    "table_format": "How a destination stores it.",
    "filters": "Paths in the data that are left out or kept.",
}
_COLUMN_WORDS: Final[Mapping[str, str]] = {
    "data_type": "dlt's type; without one the column waits for data.",
    "precision": "Characters of a text, digits of a decimal, bits of an integer, digits after the second of a time.",
    "scale": "Digits after the point.",
    "nullable": "Whether there may be nulls; true by default.",
    "description": "What it holds.",
    "primary_key": "Whether rows are found by it.",
    "merge_key": "Whether a merge replaces all rows that share it.",
    "unique": "Whether no value is there twice.",
    "partition": "Whether the destination partitions the table by it.",
    "cluster": "Whether the destination clusters the table by it.",
    "sort": "Whether the destination sorts the table by it.",
    "hard_delete": "Whether a value in it removes the row in a merge.",
    "dedup_sort": "Which of several rows with one key a merge keeps.",
    "timezone": "False for times without a time zone.",
    "variant": "Whether it takes the values of another type of the column beside it.",
    "row_key": "dlt's id of the row.",
    "parent_key": "dlt's id of the row that this one is nested in.",
    "root_key": "dlt's id of the document's row.",
    "incremental": "Whether dlt loads by it what is new.",
}


def file_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``*.schema.yaml`` and ``*.schema.json``."""
    top = _described(shape(), _WORDS, SCHEMA_HINTS)
    properties = top["properties"]
    properties["settings"] = _described(properties["settings"], _SETTINGS_WORDS, SETTINGS_HINTS)
    table = _described(properties["tables"]["additionalProperties"], _TABLE_WORDS, TABLE_HINTS)
    column = _described(table["properties"]["columns"]["additionalProperties"], _COLUMN_WORDS, COLUMN_HINTS)
    # A file by hand may say nothing of a table or column but its name.
    optional = {"type": ["object", "null"]}
    properties["tables"] |= {**optional, "additionalProperties": {**table, **optional}}
    table["properties"]["columns"] |= {**optional, "additionalProperties": {**column, **optional}}
    older = {"properties": {"engine_version": {"type": "integer", "exclusiveMaximum": ENGINE_VERSION}}}
    return {
        "$schema": DIALECT,
        "$id": "urn:schemactl:schema-file",
        "title": "A schema file of dlt and schemactl",
        # Those of older engine versions have other keys, and are upgraded when they are read.
        "if": {**older, "required": ["engine_version"]},
        "then": {"type": "object"},
        "else": top,
    }


def _described(
    shape: Mapping[str, Any], words: Mapping[str, str], hints: Mapping[str, tuple[str, Mapping[str, Any]]]
) -> dict[str, Any]:
    properties = {
        name: {**({"description": words[name]} if name in words else {}), **property_shape}
        for name, property_shape in shape["properties"].items()
    }
    ours = {name: {"description": text, **values} for name, (text, values) in hints.items()}
    return {**shape, "properties": {**properties, **ours}}
