"""Resolves evidence under the names that source keys already have, which keep colliding keys apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from schemactl.errors import InputError
from schemactl.inference.evidence import Evidence
from schemactl.inference.findings import separate
from schemactl.inference.fitting import DataPaths, Fitted, fit_names
from schemactl.inference.nested_schema import resolve_nested
from schemactl.inference.resolve import AS_IT_IS, Resolution, ResolveOptions, resolve
from schemactl.schema.naming import load_naming, naming_of
from schemactl.schema.nested_types import keeps_structure
from schemactl.schema.paths import Path, format_path
from schemactl.schema.renames import SOURCE_NAMES
from schemactl.schema.settings import NormalizerConfig
from schemactl.schema.templates import LOADS_TABLE, VERSION_TABLE
from schemactl.schema.types import Schema

OTHER_TABLE: Final = "name another table with `--table`, or with `--dispatch VALUE=TABLE` for `--table-by`"
"""The hint for data that cannot go to the table that it names."""

_MOST_ROUNDS = 20


def root_table(schema: Schema, table: str, max_identifier_length: int | None = None) -> str:
    """Return the root table of data that the user names ``table``; dlt's own and nested tables are errors."""
    config = NormalizerConfig.of(schema.normalizers)
    naming = load_naming(config.naming, max_identifier_length)
    breaks_path = config.use_break_path_on_normalize
    root = (naming.normalize_tables_path if breaks_path else naming.normalize_table_identifier)(table)
    if not root:
        raise InputError(f"`{table}` is not a name for a table", hint=OTHER_TABLE)
    if root in map(naming.normalize_table_identifier, (VERSION_TABLE, LOADS_TABLE)):
        # dlt accepts such a schema, and fails when it loads the data.
        raise InputError(f"`{root}` is dlt's own table", hint=OTHER_TABLE)
    stored_table = schema.tables.get(root)
    if stored_table is not None and stored_table.is_nested:
        raise InputError(f"`{root}` is nested in `{stored_table.parent}` and cannot be a root table", hint=OTHER_TABLE)
    return root


def resolve_data(
    evidence: Evidence, before: Schema, table: str, separates: bool, options: ResolveOptions = AS_IT_IS
) -> Resolution:
    """Resolve evidence under the stored names of colliding keys; name further colliding keys if ``separates``."""
    naming = naming_of(before, options.max_identifier_length)
    stored_names = _stored_names(before, root_table(before, table, options.max_identifier_length))
    names = _names_by_path(stored_names, evidence)
    resolve_any = resolve_nested if keeps_structure(before.normalizers) else resolve
    resolution = resolve_any(evidence, before, table, replace(options, renamed=names))
    schema_names = (name for stored in before.tables.values() for name in (stored.name, *stored.columns))
    reserved = set(stored_names.values()).union(*map(naming.break_path, schema_names))
    for _ in range(_MOST_ROUNDS if separates else 0):
        separated = separate(resolution, names, naming, reserved)
        if separated == names:
            break
        names = separated
        resolution = resolve_any(evidence, before, table, replace(options, renamed=names))
    source_names = {**stored_names, **{format_path(path): name for path, name in names.items()}}
    if not source_names:
        return resolution
    root = resolution.schema.tables[resolution.root]
    root = replace(root, properties={**root.properties, SOURCE_NAMES: source_names})
    return replace(resolution, schema=resolution.schema.with_table(root))


def fit_to_data(schema: Schema, table: str, evidence: Evidence, max_identifier_length: int | None) -> Fitted:
    """Return a schema with names that fit a destination, made from the data's keys if the data has them."""
    names = _names_by_path(_stored_names(schema, root_table(schema, table)), evidence)
    return fit_names(schema, DataPaths(table, _all_paths(evidence), names), max_identifier_length)


def _stored_names(schema: Schema, root: str) -> Mapping[str, str]:
    names = schema.tables[root].properties.get(SOURCE_NAMES) if root in schema.tables else None
    if names is None:
        return {}
    if not isinstance(names, Mapping) or not all(isinstance(name, str) and name for name in names.values()):
        raise InputError(f"`{SOURCE_NAMES}` of table `{root}` must give names by path, like `$.userId: user_id_2`")
    return names


def _names_by_path(stored_names: Mapping[str, str], evidence: Evidence) -> Mapping[Path, str]:
    """Return the stored names of paths that the data has."""
    if not stored_names:
        return {}
    formatted = ((path, format_path(path)) for path in _all_paths(evidence))
    return {path: stored_names[text] for path, text in formatted if text in stored_names}


def _all_paths(evidence: Evidence) -> Iterator[Path]:
    """Return the paths of all values, and of the objects and lists around columns of declared types."""
    yield from evidence.paths
    yield from {path[:end] for path in evidence.declared for end in range(1, len(path) + 1)} - evidence.paths.keys()
