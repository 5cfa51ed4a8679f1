"""The JSON Schemas of ``schemactl.toml`` and ``pyproject.toml``, for editors: made from the options of the commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from schemactl.cli.options import CommonOptions, OptionSpec, option_specs
from schemactl.cli.settings import DESTINATIONS, FALSE, OF_DESTINATIONS, TRUE
from schemactl.review.silences import SILENCE_SCHEMA
from schemactl.schema.json_schema import DIALECT

_FLAG: Final = {"anyOf": [{"type": "boolean"}, {"enum": [*sorted(TRUE | FALSE), 0, 1]}]}
_TEXT: Final = {"type": ["string", "number"]}
_LIST: Final = {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "object"}]}


def settings_schema(commands: Mapping[str, type[CommonOptions]]) -> dict[str, Any]:
    """Return the JSON Schema of a settings file."""
    specs = {
        name: [each for each in option_specs(options) if each.setting.in_file] for name, options in commands.items()
    }
    own = {name: [each for each in found if each.setting.section is None] for name, found in specs.items()}
    everywhere = [each for found in own.values() for each in found if not each.setting.in_file_only]
    sections: dict[str, dict[str, Any]] = {}
    for each in (each for found in specs.values() for each in found):
        if (section := each.setting.section) is not None:
            sections.setdefault(section[0], {})[section[1]] = _shape(each)
    of_destination = {
        **_keys([*own.get("migrate", ()), *own.get("normalize", ())]),
        **{key: {"type": "boolean" if key == "protected" else "string"} for key in OF_DESTINATIONS},
    }
    tables = {
        **{name: _table(_keys(found)) for name, found in own.items()},
        **{name: _table(keys) for name, keys in sections.items()},
        DESTINATIONS: {"type": "object", "additionalProperties": _table(of_destination)},
    }
    return {
        "$schema": DIALECT,
        "$id": "urn:schemactl:settings",
        "title": "Settings of schemactl",
        # A `schemactl.toml` may have the table of a `pyproject.toml`, too.
        **_table({**_keys(everywhere), **tables, "tool": {"type": "object"}}),
    }


def project_schema(commands: Mapping[str, type[CommonOptions]]) -> dict[str, Any]:
    """Return the JSON Schema of ``[tool.schemactl]`` in a ``pyproject.toml``, which says nothing of the rest of it."""
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
    found: dict[str, list[dict[str, Any]]] = {}
    for each in specs:
        shape = _shape(each)
        if shape not in found.setdefault(each.key, []):
            found[each.key].append(shape)
    return {key: shapes[0] if len(shapes) == 1 else {"anyOf": shapes} for key, shapes in sorted(found.items())}


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
    said = {"description": spec.help} if spec.help else {}
    if spec.setting.in_file_only:
        return {**said, "type": "array", "items": SILENCE_SCHEMA}
    if spec.kind is bool:
        return {**said, **_FLAG}
    if spec.kind is list:
        return {**said, **_LIST}
    return {
        **said,
        **({"enum": list(spec.choices)} if spec.choices else {"type": "string"} if spec.setting.is_path else _TEXT),
    }
