"""The JSON Schemas of ``schemactl.toml`` and ``pyproject.toml``, for editors: made from the options of the commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from schemactl.cli.declarations import OptionSpec, option_specs, table_specs
from schemactl.cli.settings import DESTINATIONS, FALSE, OF_DESTINATIONS, TRUE
from schemactl.review.silences import SILENCE_SCHEMA
from schemactl.schema.json_schema import DIALECT

_FLAG: Final = {"anyOf": [{"type": "boolean"}, {"enum": [*sorted(TRUE | FALSE), 0, 1]}]}
_TEXT: Final = {"type": ["string", "number"]}
_LIST: Final = {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "object"}]}

_DATASETS: Final = {
    "description": "The datasets with the tables of schemas, by the schema's name. Default: the schema's name.",
    "type": "object",
    "additionalProperties": {"type": "string"},
}
_READER_STRINGS: Final = {
    "kind": "`sql`, `dbt`, `duckdb`, `mysql`, `postgresql`, `sqlite`, or a kind of a package.",
    "where": "The pattern, the path of a manifest, or the address of a database file.",
    "where-env": "The environment variable with the address of a database.",
    "dialect": "The SQL dialect. Default: that of the manifest or database.",
    "dataset": "The dataset with the tables. Default: the schema's name.",
    "database": "The database with the dataset. Default: any.",
    "base": "The source before the change under review. Default: `where` in the base's git revision.",
}
_READERS: Final = {
    "description": "The sources of readers of the tables.",
    "anyOf": [
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    **{key: {"description": text, "type": "string"} for key, text in _READER_STRINGS.items()},
                    "complete": {"description": "Whether these are all readers.", "type": "boolean"},
                    "datasets": _DATASETS,
                },
                "required": ["kind"],
                "patternProperties": {"^where_env$": {"type": "string"}},
                "additionalProperties": False,
            },
        },
        {"type": "object", "properties": {"datasets": _DATASETS}, "additionalProperties": False},
    ],
}


def settings_schema(commands: Mapping[str, type[Any]]) -> dict[str, Any]:
    """Return the JSON Schema of a settings file."""
    specs = [spec for options in commands.values() for spec in option_specs(options) if spec.setting.in_file]
    keys_by_command = {name: table_specs(options) for name, options in commands.items()}
    everywhere = [spec for group in keys_by_command.values() for spec in group if not spec.setting.in_file_only]
    sections: dict[str, dict[str, Any]] = {}
    for spec in specs:
        if (section := spec.setting.section) is not None:
            sections.setdefault(section[0], {})[section[1]] = _shape(spec)
    of_destination = {
        **_keys([*keys_by_command.get("migrate", ()), *keys_by_command.get("normalize", ())]),
        **{key: {"type": "boolean" if key == "protected" else "string"} for key in OF_DESTINATIONS},
    }
    tables = {
        **{name: _table(_keys(group)) for name, group in keys_by_command.items()},
        **{name: _table(keys) for name, keys in sections.items()},
        DESTINATIONS: {"type": "object", "additionalProperties": _table(of_destination)},
        **{spec.key: _READERS for spec in specs if spec.setting.is_top_level},
    }
    return {
        "$schema": DIALECT,
        "$id": "urn:schemactl:settings",
        "title": "Settings of schemactl",
        # A `schemactl.toml` may have the table of a `pyproject.toml`, too.
        **_table({**_keys(everywhere), **tables, "tool": {"type": "object"}}),
    }


def project_schema(commands: Mapping[str, type[Any]]) -> dict[str, Any]:
    """Return the JSON Schema of ``[tool.schemactl]`` in a ``pyproject.toml``, which allows any other content."""
    tool = {"type": "object", "properties": {"schemactl": settings_schema(commands)}}
    return {
        "$schema": DIALECT,
        "$id": "urn:schemactl:pyproject",
        "title": "Settings of schemactl in pyproject.toml",
        "type": "object",
        "properties": {"tool": tool},
    }


def _keys(specs: Iterable[OptionSpec]) -> dict[str, Any]:
    """Return the JSON Schemas of settings by key; of a key with several meanings, any of them."""
    shapes_by_key: dict[str, list[dict[str, Any]]] = {}
    for spec in specs:
        shape = _shape(spec)
        if shape not in shapes_by_key.setdefault(spec.key, []):
            shapes_by_key[spec.key].append(shape)
    return {key: shapes[0] if len(shapes) == 1 else {"anyOf": shapes} for key, shapes in sorted(shapes_by_key.items())}


def _table(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a table with these keys, which may be written with ``_`` as well."""
    spellings = {f"^{key.replace('-', '[-_]')}$": shape for key, shape in keys.items() if "-" in key}
    return {
        "type": "object",
        "properties": dict(keys),
        **({"patternProperties": spellings} if spellings else {}),
        "additionalProperties": False,
    }


def _shape(spec: OptionSpec) -> dict[str, Any]:
    """Return the JSON Schema of a setting in the table of a command, where only silences are tables."""
    description = {"description": spec.help} if spec.help else {}
    if spec.setting.in_file_only:
        return {**description, "type": "array", "items": SILENCE_SCHEMA}
    text = {"enum": list(spec.choices)} if spec.choices else {"type": "string"} if spec.setting.is_path else _TEXT
    return {**description, **(_FLAG if spec.kind is bool else _LIST if spec.kind is list else text)}
