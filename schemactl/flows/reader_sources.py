"""Sources of readers: as ``--readers`` and the settings name them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from schemactl.destinations import find_address, find_kind
from schemactl.errors import InputError, nearest_or_all
from schemactl.readers import READER_KINDS
from schemactl.redaction import redact
from schemactl.type_systems.dialect_names import resolve_dialect

KEYS: Final = ("dialect", "dataset", "database", "base", "complete")
"""The keys that may follow the `?` of a source of readers."""

_QUERY: Final = re.compile(r"\?(?=[A-Za-z_-]+=)")


@dataclass(frozen=True, slots=True)
class ReaderSource:
    """A source of readers, as ``--readers`` names it.

    Attributes:
        kind: a kind of reader, or of destination.
        where: the pattern, path or address.
        dialect: sqlglot's name of the dialect; None for the source's own.
        dataset: the dataset with the tables; None for the schema's name, or for that in ``datasets``.
        database: the database with the dataset; None for any.
        base: the source before the change under review; None for the same path in the base's git revision.
        is_complete: whether the source has all readers of the tables.
        datasets: the datasets with the tables of schemas, by the schema's name.
    """

    kind: str
    where: str
    dialect: str | None = None
    dataset: str | None = None
    database: str | None = None
    base: str | None = None
    is_complete: bool = False
    datasets: Mapping[str, str] = field(default_factory=dict)

    def dataset_of(self, schema: str) -> str:
        """Return the dataset with the tables of a schema."""
        return self.dataset or self.datasets.get(schema) or schema


def parse_reader_source(text: str) -> ReaderSource:
    """Return a source of readers.

    >>> source = parse_reader_source("sql:queries/**/*.sql?dialect=duckdb&dataset=raw")
    >>> source.where, source.dialect, source.dataset
    ('queries/**/*.sql', 'duckdb', 'raw')
    """
    address, query = (*_QUERY.split(text, maxsplit=1), "")[:2]
    keys = dict(parse_qsl(query, keep_blank_values=True))
    destination = find_address(text)
    if destination is not None:
        kind = destination[0]
        other_keys = {key: value for key, value in keys.items() if key not in KEYS or key == "dataset"}
        where = f"{address}?{urlencode(other_keys)}" if other_keys else address
    else:
        kind, colon, where = address.partition(":")
        if not colon or kind not in READER_KINDS:
            kinds = reader_kinds()
            hint = (
                nearest_or_all(kind, kinds)
                if colon
                else "`sql:queries/**/*.sql`, `dbt:target/manifest.json`, or a database"
            )
            raise InputError(f"`{text}` is not a source of readers", hint=hint)
        if unknown := [key for key in keys if key not in KEYS]:
            raise InputError(
                f"`{unknown[0]}` is not a key of a source of readers", hint=nearest_or_all(unknown[0], KEYS)
            )
    if keys.get("complete", "false") not in ("true", "false"):
        raise InputError(f"`complete={keys['complete']}` in `{text}`", hint="`complete=true` or `complete=false`")
    return ReaderSource(
        kind,
        where,
        resolve_dialect(keys["dialect"]) if keys.get("dialect") else None,
        keys.get("dataset") or None,
        keys.get("database") or None,
        keys.get("base") or None,
        keys.get("complete") == "true",
    )


def no_readers() -> InputError:
    """Return the error for a command that needs readers if the settings and the command line declare none."""
    hint = "`--readers 'sql:queries/**/*.sql'`, `--readers dbt:target/manifest.json`, or a database"
    return InputError("no readers are declared", hint=hint)


def reader_kinds() -> tuple[str, ...]:
    """Return the kinds of sources: files, projects, and databases with views."""
    return (*READER_KINDS, "duckdb", "mysql", "postgresql", "sqlite")


def make_reader_source(kind: str, where: str, **more: Any) -> ReaderSource:
    """Return a source of readers from its kind, its place, and other attributes of ``ReaderSource``.

    The place of a database is its address, with or without the kind.
    """
    if kind not in READER_KINDS:
        address = find_address(where) or find_address(f"{kind}:{where}")
        if address is None or find_kind(kind) is None:
            raise InputError(f"`{kind}` is not a kind of readers", hint=nearest_or_all(kind, reader_kinds()))
        if address[0] != find_kind(kind):
            raise InputError(f"`{kind}` is not the kind of `{redact(where)}`", hint=f'`kind = "{address[0]}"`')
        kind, where = address
    if more.get("dialect") is not None:
        more["dialect"] = resolve_dialect(more["dialect"])
    return ReaderSource(kind, where, **more)
