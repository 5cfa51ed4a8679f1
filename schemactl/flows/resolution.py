"""Resolves evidence; source keys whose names collide keep the names of their own that an earlier run gave them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from schemactl.errors import InputError
from schemactl.inference.evidence import Evidence
from schemactl.inference.findings import separate
from schemactl.inference.fitting import DataPaths, Fitted, fit_names
from schemactl.inference.nested_schema import resolve_nested
from schemactl.inference.renaming import SOURCE_NAMES
from schemactl.inference.resolve import Resolution, resolve
from schemactl.schema import paths
from schemactl.schema.naming import load_naming, naming_of
from schemactl.schema.nested_types import keeps_structure
from schemactl.schema.settings import NormalizerConfig
from schemactl.schema.templates import LOADS_TABLE, VERSION_TABLE
from schemactl.schema.types import Schema

OTHER_TABLE: Final = "name another table with `--table`, or with `--dispatch VALUE=TABLE` for `--table-by`"
"""The hint where data cannot go to the table that it names."""

_MOST_ROUNDS = 20


def root_table(schema: Schema, table: str, max_identifier_length: int | None = None) -> str:
    """Return the root table of data that the user names ``table``.

    Raises:
        InputError: it is no name, the schema has a nested table of that name, or dlt keeps its books in it.
    """
    config = NormalizerConfig.of(schema.normalizers)
    naming = load_naming(config.naming, max_identifier_length)
    breaks_path = config.use_break_path_on_normalize
    root = (naming.normalize_tables_path if breaks_path else naming.normalize_table_identifier)(table)
    if not root:
        raise InputError(f"`{table}` is not a name for a table", hint=OTHER_TABLE)
    if root in map(naming.normalize_table_identifier, (VERSION_TABLE, LOADS_TABLE)):
        # dlt takes such a schema, and fails when it loads the data.
        raise InputError(f"`{root}` is dlt's own table", hint=OTHER_TABLE)
    known = schema.tables.get(root)
    if known is not None and known.is_nested:
        raise InputError(f"`{root}` is nested in `{known.parent}` and cannot be a root table", hint=OTHER_TABLE)
    return root


def resolve_data(
    evidence: Evidence,
    before: Schema,
    table: str,
    separates: bool,
    max_identifier_length: int | None = None,
    is_loaded: bool = False,
) -> Resolution:
    """Resolve under the names that colliding keys have got before; give further ones where that is asked for."""
    naming = naming_of(before, max_identifier_length)
    root = root_table(before, table, max_identifier_length)
    known = _known_names(before, root)
    names = _by_path(known, evidence)
    # Under the normalizer that keeps structure, columns of it evolve as well.
    resolved = partial(
        resolve_nested if keeps_structure(before.normalizers) else resolve,
        evidence,
        before,
        table,
        max_identifier_length=max_identifier_length,
        is_loaded=is_loaded,
    )
    resolution = resolved(renamed=names)
    stated = (name for each in before.tables.values() for name in (each.name, *each.columns))
    reserved = {*known.values(), *(part for name in stated for part in naming.break_path(name))}
    for _ in range(_MOST_ROUNDS if separates else 0):
        further = separate(resolution, names, naming, reserved)
        if further == names:
            break
        names = further
        resolution = resolved(renamed=names)
    stated_names = {**known, **{paths.format_path(path): name for path, name in names.items()}}
    if not stated_names:
        return resolution
    of_root = resolution.schema.tables[root]
    of_root = replace(of_root, properties={**of_root.properties, SOURCE_NAMES: stated_names})
    return replace(resolution, schema=resolution.schema.with_table(of_root))


def fit_to_data(schema: Schema, table: str, evidence: Evidence, max_identifier_length: int | None) -> Fitted:
    """Return a schema with names that a destination keeps, made from the data's keys where the data has them.

    Raises:
        InputError: a name cannot be shortened.
    """
    names = _by_path(_known_names(schema, root_table(schema, table)), evidence)
    return fit_names(schema, DataPaths(table, _all_paths(evidence), names), max_identifier_length)


def _known_names(schema: Schema, root: str) -> Mapping[str, str]:
    stated = schema.tables[root].properties.get(SOURCE_NAMES) if root in schema.tables else None
    if stated is None:
        return {}
    if not isinstance(stated, Mapping) or not all(isinstance(name, str) and name for name in stated.values()):
        raise InputError(f"`{SOURCE_NAMES}` of table `{root}` must give names by path, like `$.userId: user_id_2`")
    return stated


def _by_path(known: Mapping[str, str], evidence: Evidence) -> Mapping[paths.Path, str]:
    """Return the known names of paths that the data has."""
    if not known:
        return {}
    formatted = ((path, paths.format_path(path)) for path in _all_paths(evidence))
    return {path: known[text] for path, text in formatted if text in known}


def _all_paths(evidence: Evidence) -> Iterator[paths.Path]:
    """Return the paths of all values, and of what typed columns stand in."""
    yield from evidence.paths
    yield from {path[:end] for path in evidence.typed for end in range(1, len(path) + 1)} - evidence.paths.keys()
