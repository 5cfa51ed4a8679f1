"""The JSON Schema of schema files, for editors: the checks of ``schema.validation`` with words for people.

It accepts everything that the checks accept, and also partial files, as people write them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schemactl.schema.contract import PROMOTION_HINT, Promotion
from schemactl.schema.types import ENGINE_VERSION
from schemactl.schema.validation import shape

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_NAMES: Final = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_LAST_DAYS: Final = {"type": "object"}
_NESTED_TYPE: Final = {"type": ["string", "null"], "pattern": "^arrow-ipc:"}
_DEPRECATED: Final = "Deprecated: `true`, the last day (`2026-06-30`), or `{until, reason, use}`."
_RENAMED: Final = "The former name or names; `[]` for a new name."

_PROMOTION: Final = (
    "What happens to values that do not fit a column: `promote` makes it wider if all values survive exactly, "
    "`promote_text` makes it text otherwise, `evolve` adds a variant column. To dlt, `data_type` evolves.",
    {
        "anyOf": [
            {"enum": [*Promotion]},
            {"type": "object", "properties": {"data_type": {"enum": [*Promotion]}}, "additionalProperties": False},
        ]
    },
)

COLUMN_HINTS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "x-renamed-from": (_RENAMED, _NAMES),
    "x-folded-from": ("The variant column or columns whose values the column holds.", _NAMES),
    "x-id": ("A stable ID that survives renames: a number or a string.", {}),
    "x-backfill": ("The value for existing rows when the column is added as required.", {}),
    "x-deprecated": (_DEPRECATED, {}),
    "x-stability": ("The stability that readers can expect.", {"examples": ["draft", "beta", "stable"]}),
    "x-annotation-pii": (
        "Whether the values are personal: they are masked in reports. `drop` also keeps them out of `_rejects`.",
        {},
    ),
    "x-classification": ("How confidential the values are; other than `public` they are masked in reports.", {}),
    "x-enum": ("The allowed values.", {"type": "array"}),
    "x-pattern": ("A regular expression that strings must match.", {"type": "string"}),
    "x-minimum": ("The minimum value.", {}),
    "x-maximum": ("The maximum value.", {}),
    "x-exclusive-minimum": ("The exclusive minimum.", {}),
    "x-exclusive-maximum": ("The exclusive maximum.", {}),
    "x-multiple-of": ("A divisor of all values.", {}),
    "x-min-length": ("The minimum number of characters.", {}),
    "x-max-length": ("The maximum number of characters.", {}),
    "x-min-items": ("The minimum number of items in a list.", {}),
    "x-max-items": ("The maximum number of items in a list.", {}),
    "x-unique-items": ("Whether the items of a list are unique.", {}),
    "x-unit": ("The unit of a number: `epoch_s`, `EUR`, `kg` ...", {}),
    "x-units": ("Same as `x-unit`.", {}),
    "x-format": ("The format of strings.", {}),
    "x-currency": ("The currency of an amount.", {}),
    "x-encoding": ("The encoding of strings or bytes.", {}),
    "x-timezone": ("The time zone of times without a time zone.", {}),
    "x-time-zone": ("Same as `x-timezone`.", {}),
    "x-spark-type": ("The Spark type of a `json` column: `struct<city: string>`, `array<int>`.", {"type": "string"}),
    "x-nested-type": ("The Arrow type of the column, if dlt loaded it from Arrow data.", _NESTED_TYPE),
    "x-fields": ("Hints of nested fields, by path, that `x-spark-type` cannot express.", {}),
    "x-database-type": ("A database type that dlt does not support.", {"type": "string"}),
    "x-type-definition": (
        "The definition of the enum, domain or composite type in `x-database-type`: `ENUM('a', 'b')`.",
        {"type": "string"},
    ),
    "x-metadata": ("Arc metadata of the column.", {}),
    "x-typing": ("The Arc rules that convert strings to values of this column.", {}),
    "x-tags": ("Search tags.", {}),
    "x-business-name": ("The business name.", {}),
    "x-proto-type": ("The declared Protocol Buffers type, such as `sint32`.", {"type": "string"}),
    "x-proto-key": ("The declared Protocol Buffers type of map keys.", {"type": "string"}),
    "x-proto-enum": ("The value numbers of the enum in `x-proto-type`.", {"type": "object"}),
    "x-proto-reserved": ("Reserved numbers and names of the Protocol Buffers message.", {"type": "array"}),
    "x-logical-name": ("The name in data contracts, if it differs from the database.", {"type": "string"}),
    PROMOTION_HINT: _PROMOTION,
    "x-row-version": ("Whether the column contains the row hash of a history (scd2).", {}),
    "x-row-id": ("Whether the column contains dlt's row ID.", {}),
    "x-valid-from": ("Whether the column contains the start of a row's validity (scd2).", {}),
    "x-valid-to": ("Whether the column contains the end of a row's validity (scd2).", {}),
    "x-active-record-timestamp": ("The `x-valid-to` value of current rows. Default: null.", {}),
    "x-normalizer": ("Marks of dlt's normalizer.", {}),
}
"""Hints of columns that schemactl reads, with their meaning and the JSON Schema of their values."""

TABLE_HINTS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "x-merge-strategy": (
        "How a load with `write_disposition: merge` changes existing rows. Default: `delete-insert`.",
        {"examples": ["delete-insert", "upsert", "insert-only", "scd2"]},
    ),
    "x-boundary-timestamp": ("The start and end of row validity (scd2). Default: the time of the load.", {}),
    "x-stage-data-deduplicated": ("Whether each key is unique in the data of a load.", {}),
    "x-removed-columns": ("Columns to remove, with the last day of each: `{note: 2026-01-31}`.", _LAST_DAYS),
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
    PROMOTION_HINT: _PROMOTION,
    "x-contract-sizes": (
        "`evolve`: a contract that freezes `data_type` allows other sizes, as in dbt.",
        {"enum": ["evolve"]},
    ),
    "x-source-names": ("Column names by JSONPath, for keys that share a name. schemactl writes this.", {}),
    "x-detections": ("Detectors of this table's new columns.", {"type": "array"}),
    "x-normalizer": ("Marks of dlt's normalizer, and `max_nesting` of the table.", {}),
}
"""As ``COLUMN_HINTS``, of tables."""

SCHEMA_HINTS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "x-removed-tables": ("Tables to remove, with the last day of each: `{carts: 2026-06-30}`.", _LAST_DAYS),
    PROMOTION_HINT: ("Has no effect here: put it into `settings`, a table or a column.", {"not": {}}),
    "x-proto-package": ("The Protocol Buffers package of the messages.", {"type": "string"}),
    "x-proto-syntax": (
        "`proto3` or an edition, for schemas of messages, whose missing fields have default values.",
        {"type": "string"},
    ),
}
"""As ``COLUMN_HINTS``, at the top of a file."""

SETTINGS_HINTS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    PROMOTION_HINT: _PROMOTION,
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
    "name": "The schema's name. Default: the name of the file.",
    "version": "A number that increases with each change.",
    "version_hash": "The hash of the content.",
    "previous_hashes": "The hashes of earlier versions, newest first.",
    "imported_version_hash": "The hash of the last applied import file.",
    "engine_version": f"The version of dlt's schema format: {ENGINE_VERSION}. Optional in files that you write.",
    "tables": "The tables by name.",
    "settings": "Contract, detectors, default hints and preferred types of all tables.",
    "normalizers": "The naming convention, and how nested data becomes tables.",
}
_SETTINGS_WORDS: Final[Mapping[str, str]] = {
    "schema_contract": "Which schema changes data can make: a mode, or a mode for `tables`, `columns`, `data_type`.",
    "detections": "Detectors that pick a new column's type from its values.",
    "default_hints": "Hints by column name: `primary_key: [id]`, `not_null: ['re:_id$']`.",
    "preferred_types": "Types by column name: `'re:.*_at$': timestamp`.",
}
_TABLE_WORDS: Final[Mapping[str, str]] = {
    "description": "The content, in words.",
    "columns": "The columns by name.",
    "parent": "The parent table.",
    "write_disposition": "What a load does with existing rows. Default: `append`.",
    "schema_contract": "Which changes data can make to this table.",
    "resource": "The dlt resource of the data.",
    "references": "Columns that refer to rows of other tables.",
    "table_format": "The table format of the destination.",
    "filters": "Paths in the data to exclude or include.",
}
_COLUMN_WORDS: Final[Mapping[str, str]] = {
    "data_type": "The dlt type. A column without a type gets it from data.",
    "precision": "Characters of text, digits of a decimal, bits of an integer, fractional digits of a time.",
    "scale": "Decimal places.",
    "nullable": "Whether the column can contain nulls. Default: true.",
    "description": "The content, in words.",
    "primary_key": "Whether the column is part of the primary key.",
    "merge_key": "Whether a merge replaces all rows with the same value.",
    "unique": "Whether values are unique.",
    "partition": "Whether the destination partitions the table by this column.",
    "cluster": "Whether the destination clusters the table by this column.",
    "sort": "Whether the destination sorts the table by this column.",
    "hard_delete": "Whether a value in this column deletes the row in a merge.",
    "dedup_sort": "Which row a merge keeps of several rows with the same key.",
    "timezone": "False for times without a time zone.",
    "variant": "Whether this is a variant column, for values of another type.",
    "row_key": "dlt's row ID.",
    "parent_key": "dlt's ID of the parent row.",
    "root_key": "dlt's ID of the root row.",
    "incremental": "Whether dlt uses the column for incremental loads.",
}


def file_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``*.schema.yaml`` and ``*.schema.json``."""
    top = _described(shape(), _WORDS, SCHEMA_HINTS)
    properties = top["properties"]
    properties["settings"] = _described(properties["settings"], _SETTINGS_WORDS, SETTINGS_HINTS)
    table = _described(properties["tables"]["additionalProperties"], _TABLE_WORDS, TABLE_HINTS)
    column = _described(table["properties"]["columns"]["additionalProperties"], _COLUMN_WORDS, COLUMN_HINTS)
    # A file by hand may contain only the name of a table or column.
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
