"""Reads the sources of readers in settings files: ``[[readers]]`` and ``[readers.datasets]``.

A settings file may come with a stranger's pull request, so a file of the repository cannot name a database server: its
address comes from an environment variable, or from the user's own file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from schemactl.cli.declarations import SettingsTable
from schemactl.cli.settings import LOCAL_ADDRESS, address_in
from schemactl.errors import InputError, nearest_or_all
from schemactl.flows.reader_sources import ReaderSource, make_reader_source
from schemactl.readers import READER_KINDS

_STRINGS: Final = ("kind", "where", "where-env", "dialect", "dataset", "database", "base")
_KEYS: Final = (*_STRINGS, "complete", "datasets")


def parse_reader_tables(tables: Iterable[SettingsTable], environ: Mapping[str, str]) -> tuple[ReaderSource, ...]:
    """Return the sources that settings declare.

    A table with nothing but ``datasets`` declares no source. Datasets of any table count for all sources.
    """
    tables = tuple(tables)
    datasets = read_datasets(tables)
    return tuple(_source(table, environ, datasets) for table in tables if set(_values(table)) != {"datasets"})


def read_datasets(tables: Iterable[SettingsTable]) -> dict[str, str]:
    """Return the datasets in ``[readers.datasets]``, by the schema's name."""
    return {name: dataset for table in tables for name, dataset in _values(table).get("datasets", {}).items()}


def check_reader_tables(tables: Iterable[SettingsTable]) -> None:
    """Raise InputError if a table has an unknown key, or a value of another type."""
    for table in tables:
        _values(table)


def _values(table: SettingsTable) -> dict[str, Any]:
    """Return the values of a table by their keys, which are known, and have the right types."""
    values = {key.replace("_", "-"): value for key, value in table.values.items()}
    for key, value in values.items():
        if key not in _KEYS:
            raise InputError(f"there is no setting `readers.{key}`", at=table.at, hint=nearest_or_all(key, _KEYS))
        if key in _STRINGS and not (isinstance(value, str) and value):
            raise InputError(f"`{key}` of `readers` must be a string", at=table.at)
        if key == "complete" and not isinstance(value, bool):
            raise InputError("`complete` of `readers` must be `true` or `false`", at=table.at)
        if key == "datasets" and not (
            isinstance(value, Mapping) and all(isinstance(text, str) for text in value.values())
        ):
            raise InputError('`readers.datasets` must be a table of names: `shop = "raw"`', at=table.at)
    return values


def _source(table: SettingsTable, environ: Mapping[str, str], datasets: Mapping[str, str]) -> ReaderSource:
    values = _values(table)
    places = [key for key in ("where", "where-env") if key in values]
    if "kind" not in values or len(places) != 1:
        hint = '`kind = "sql"` and `where = "queries/**/*.sql"`'
        raise InputError("each of `readers` needs `kind`, and `where` or `where-env`", at=table.at, hint=hint)
    try:
        if "where-env" in values:
            where = address_in(values["where-env"], environ, "readers", "the address of a database")
        else:
            where = _from_folder(values["where"], table) if values["kind"] in READER_KINDS else values["where"]
        source = make_reader_source(
            values["kind"],
            where,
            dialect=values.get("dialect"),
            dataset=values.get("dataset"),
            database=values.get("database"),
            base=_from_folder(values["base"], table) if "base" in values else None,
            is_complete=values.get("complete", False),
        )
        is_database = source.kind not in READER_KINDS
        if is_database and "where" in values and not table.is_own and not LOCAL_ADDRESS.fullmatch(source.where):
            hint = 'set the address in an environment variable: `where-env = "READERS_URL"`'
            raise InputError("`where` of `readers` names a server, which a repository file cannot set", hint=hint)
    except InputError as error:
        error.at = error.at or table.at
        raise
    return replace(source, datasets={**datasets, **values.get("datasets", {})})


def _from_folder(where: str, table: SettingsTable) -> str:
    """Convert a path relative to the settings file to a path relative to the working folder."""
    if "://" in where:
        return where
    path = os.path.expanduser(where) if where.startswith("~/") else where  # noqa: PTH111 - it may be a pattern
    return path if os.path.isabs(path) else os.path.relpath(table.folder / path)  # noqa: PTH117
