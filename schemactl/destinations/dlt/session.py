"""dlt's client of a destination, with dlt's configuration and credentials, and its errors as ours."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from schemactl.destinations._address import check_dataset
from schemactl.destinations._catalogue import driver
from schemactl.destinations._errors import wrap_errors
from schemactl.errors import DestinationError, DriverMissing, InputError, backquoted
from schemactl.schema.types import Schema

if TYPE_CHECKING:
    from dlt import Schema as DltSchema
    from dlt.common.destination import AnyDestination
    from dlt.common.destination.client import JobClientBase

_NAME: Final = re.compile(r"\w+(\.\w+)*")
_FORM: Final = "`dlt:NAME?dataset=NAME`, for example `dlt:snowflake?dataset=shop`"


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed address.

    Attributes:
        name: dlt's name of the destination.
        dataset: of the tables; None for a dataset named after the schema.
        staging: dlt's name of the destination that files go to first; None without one.
    """

    name: str
    dataset: str | None
    staging: str | None

    def __str__(self) -> str:
        return f"dlt:{self.name}"


def parse_address(url: str) -> Address:
    """Parse an address; raises ``InputError`` if it cannot be read."""
    _, _, remainder = url.partition(":")
    name, _, query = remainder.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    check_dataset(pairs)
    options = dict(pairs)
    unknown = next((key for key in options if key not in ("dataset", "staging")), None if pairs else query or None)
    if unknown is not None:
        hint = "use `?dataset=NAME` and `&staging=NAME`; configure everything else in dlt"
        raise InputError(f"`{unknown}` is not a parameter of `dlt`", hint=hint)
    if not _NAME.fullmatch(name):
        raise InputError(f"`dlt:{name}` does not name a destination of dlt", hint=_FORM)
    return Address(name, options.get("dataset"), options.get("staging"))


_LONGEST: Final = 600
"""The most characters of a message of dlt's."""


@dataclass(frozen=True, slots=True)
class Session:
    """A destination as dlt sees it for one schema.

    Attributes:
        address: of the destination.
        dataset: that holds the tables.
        schema: as dlt has it.
        destination: dlt's.
        client: of the destination.
        staging: the destination that files go to first, and its client; None without one.
    """

    address: Address
    dataset: str
    schema: DltSchema
    destination: AnyDestination
    client: JobClientBase
    staging: tuple[AnyDestination, JobClientBase] | None

    def wrap_errors(self, task: str, hint: str | None = None) -> AbstractContextManager[None]:
        """Turn errors of dlt and its drivers into ours."""
        return wrap_dlt_errors(self.address, task, hint)

    def capabilities(self) -> Any:
        """Return dlt's capabilities of the destination."""
        return self.destination.capabilities(self.client.config, naming=self.schema.naming)


def wrap_dlt_errors(address: Address, task: str, hint: str | None = None) -> AbstractContextManager[None]:
    """Turn errors of dlt and its drivers into ours: drivers are many, and have no base class."""

    def translate(error: Exception) -> DestinationError | None:
        if isinstance(error, DestinationError | InputError):
            return None
        message = " ".join(str(error).split()) or type(error).__name__
        message = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"
        return DestinationError(f"cannot {task} in `{address}`: {message}", hint=hint)

    return wrap_errors(translate)


def find_destination(name: str) -> AnyDestination:
    """Return dlt's destination of a name."""
    with driver("dlt", "dlt"):
        from dlt.common.destination import Destination
        from dlt.common.destination.exceptions import UnknownDestinationModule
    from dlt.common.destination.exceptions import DestinationException

    try:
        destination = Destination.from_reference(name)
        assert destination is not None  # as the name is no None
        return destination
    except (UnknownDestinationModule, DestinationException) as error:
        hint = (
            "see https://dlthub.com/docs/dlt-ecosystem/destinations, or configure a destination with that name in dlt"
        )
        raise InputError(f"dlt has no destination `{name}`", hint=hint) from error


def open_session(address: Address, schema: Schema) -> Session:
    """Return dlt's clients for a schema; nothing is connected yet."""
    destination = find_destination(address.name)
    staging = find_destination(address.staging) if address.staging else None
    from dlt import Schema as DltSchema
    from dlt.common.configuration.exceptions import ConfigFieldMissingException, ConfigurationException
    from dlt.common.exceptions import MissingDependencyException
    from dlt.dataset.utils import get_destination_clients

    dataset = address.dataset or schema.name
    with wrap_dlt_errors(address, f"use schema `{schema.name}`"):
        dlt_schema = DltSchema.from_dict(schema.to_dict())
    try:
        client, staging_client = get_destination_clients(
            schema=dlt_schema,
            destination=destination,
            destination_dataset_name=dataset,
            staging=staging,  # type: ignore[arg-type]
            staging_dataset_name=dataset,
        )
    except MissingDependencyException as error:
        hint = f'pip install "dlt[{destination.destination_name}]"'
        raise DriverMissing(f"`{address}`: its driver is not installed", hint=hint) from error
    except ConfigurationException as error:
        missing = error.fields if isinstance(error, ConfigFieldMissingException) else ()
        fields = backquoted(missing)
        fault = f"is missing {fields}" if fields else f"cannot be used: {' '.join(str(error).split())[:_LONGEST]}"
        hint = f"dlt reads `[destination.{address.name}]` in `.dlt/secrets.toml` and `.dlt/config.toml`, and variables "
        raise DestinationError(
            f"dlt's configuration of `{address}` {fault}", hint=f"{hint}`DESTINATION__{address.name.upper()}__...`"
        ) from error
    return Session(
        address,
        dataset,
        dlt_schema,
        destination,
        client,
        (staging, staging_client) if staging and staging_client else None,
    )
