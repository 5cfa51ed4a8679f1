"""The destination that ``--to`` names: ``loadable`` returns a destination for loads, ``migratable`` for migrations."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from schemactl.destinations import (
    DESTINATIONS,
    Destination,
    Loader,
    MigrationSession,
    Migrator,
    address_form,
    find_address,
    is_loader,
    is_migrator,
    name_limits,
)
from schemactl.errors import InputError, did_you_mean, nearest_or_all
from schemactl.migration.migration_plan import MigrationPlan, Render
from schemactl.migration.records import NO_PATIENCE, Patience
from schemactl.migration.rewrites import with_rewrites
from schemactl.redaction import redact
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, DataType, Table

FOLDER_KIND: Final = "parquet"
"""The destination of loads for a folder without a scheme."""


@dataclass(frozen=True, slots=True)
class Target:
    """A destination at an address.

    Attributes:
        kind: the scheme of its addresses.
    """

    kind: str
    destination: Destination
    url: str

    @property
    def max_identifier_length(self) -> int | None:
        """The longest name of a table or column, None without a limit that matters."""
        return name_limits(self.destination, self.url).max_bytes

    def settle_decimal(self, column: Column) -> Column:
        """Return a decimal column with the digits that it has in the destination, any other column as it is.

        A decimal of which the schema has only the precision or only the scale has the other one by the destination.
        """
        destination = self.destination
        is_decimal = column.data_type is DataType.DECIMAL and DATABASE_TYPE not in column.properties
        return destination.ABILITIES.settle(column) if is_decimal and is_migrator(destination) else column


@dataclass(frozen=True, slots=True)
class LoadTarget(Target):
    """The destination of a load."""

    destination: Loader

    @property
    def shown(self) -> str:
        """The address for people, without a password."""
        # Before anything else: a password may hold a `?`.
        url, _, query = redact(self.url).partition("?")
        dataset_parameters = [parameter for parameter in query.split("&") if parameter.startswith("dataset=")]
        return "?".join([url, *dataset_parameters[:1]])


@dataclass(frozen=True, slots=True)
class MigrationTarget(Target):
    """The destination of a migration."""

    destination: Migrator

    def open_for_reading(
        self, schema_name: str, *, may_be_new: bool = False, patience: Patience = NO_PATIENCE
    ) -> AbstractContextManager[MigrationSession]:
        """Open it without locks. ``may_be_new``: a missing dataset counts as empty.

        ``patience``: how long to wait for a process that has a DuckDB file open, as a load does.
        """
        return self.destination.connect(
            self.url, schema_name, patience=patience, is_read_only=True, may_be_new=may_be_new
        )

    def open_for_writing(self, schema_name: str, patience: Patience) -> AbstractContextManager[MigrationSession]:
        """Open an exclusive session."""
        return self.destination.connect(self.url, schema_name, patience=patience)

    def renderer(self, session: MigrationSession) -> Render:
        """Return the function that writes a step's statements for the dataset of a session."""
        return partial(self.destination.render, dataset=session.dataset)

    def decide_rewrites(
        self, session: MigrationSession, plan: MigrationPlan, tables: Mapping[str, Table], done: int = 0
    ) -> MigrationPlan:
        """Return a plan with the groups of steps that one rewrite of their table does; see ``with_rewrites``."""
        abilities, stored = self.destination.ABILITIES, self.destination.stored
        return with_rewrites(plan, tables, abilities, stored, session.render_rewrite, done)


def find_destination(text: str) -> Target:
    """Return the destination of an address, as loads read it: without a scheme it is a folder of Parquet."""
    kind, _, remainder = text.partition(":")
    if not text.strip():
        raise InputError("`--to` does not name a destination", hint="a folder, `duckdb:///PATH` ...")
    if address := find_address(text):
        kind, text = address
    else:
        if remainder.startswith("//") or (remainder and _SCHEME.fullmatch(kind) and not Path(text).exists()):
            kinds_hint = f"known: {', '.join(_of_installed(is_loader))}, or a folder: `./{redact(text)}`"
            raise InputError(f"there is no destination `{kind}`", hint=did_you_mean(kind, DESTINATIONS) or kinds_hint)
        engine = _ENGINES_OF_FILES.get(Path(text).suffix)
        if engine is not None and not Path(text).is_dir():
            hint = f"`{engine}:///{text}` is a database file, `{FOLDER_KIND}:{text}` is a folder of Parquet files"
            raise InputError(f"`{text}` is not the name of a folder", hint=hint)
        if not Path(text).is_dir() and (form := address_form(text.strip().removesuffix(":"))) is not None:
            hint = f"`--to {form}`, or `--to ./{text.strip()}` for a folder of Parquet"
            raise InputError(f"`{text}` is an engine, not a destination address", hint=hint)
        kind, text = FOLDER_KIND, f"{FOLDER_KIND}:{text}"
    return Target(kind, DESTINATIONS[kind], text)


_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+")
"""Schemes of addresses (RFC 3986, 3.1) of more than one letter, which drives of Windows have."""

_ENGINES_OF_FILES: Final = {".duckdb": "duckdb", ".db": "sqlite", ".sqlite": "sqlite", ".sqlite3": "sqlite"}


def loadable(text: str) -> LoadTarget:
    """Return the destination that an address names, as ``find_destination``; rows can be loaded into it."""
    target = find_destination(text)
    if not is_loader(target.destination):
        loader_kinds = ", ".join(_of_installed(is_loader))
        raise InputError(f"`{target.kind}` does not support loads yet", hint=f"known: {loader_kinds}")
    return LoadTarget(target.kind, target.destination, target.url)


def migratable(to: str | None) -> MigrationTarget:
    """Return the destination that ``--to`` names by an address with a scheme; it can be migrated."""
    if not to:
        raise InputError("no destination is named", hint="`--to DEST`, for example `--to duckdb:///data.duckdb`")
    address = find_address(to)
    if address is None:
        scheme, _, remainder = to.strip().partition(":")
        form = None if remainder else address_form(scheme)
        hint = f"`--to {form}`" if form else nearest_or_all(scheme.lower(), _of_installed(is_migrator))
        raise InputError(f"`{redact(to)}` is not the address of a destination", hint=hint)
    kind, url = address
    destination = DESTINATIONS[kind]
    if not is_migrator(destination):
        raise InputError(f"`{kind}` cannot be migrated", hint=f"known: {', '.join(_of_installed(is_migrator))}")
    return MigrationTarget(kind, destination, url)


def _of_installed(is_capable: Callable[[Destination], bool]) -> list[str]:
    """Return the destinations with an installed driver that have a capability."""
    kinds = []
    for kind in DESTINATIONS:
        with suppress(ModuleNotFoundError):
            kinds += [kind] if is_capable(DESTINATIONS[kind]) else []
    return kinds
