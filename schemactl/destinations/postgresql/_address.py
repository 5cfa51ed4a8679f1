"""Addresses of PostgreSQL servers: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE?dataset=NAME``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from schemactl.destinations._address import check_dataset
from schemactl.errors import InputError
from schemactl.redaction import HIDDEN

_PATIENCE_SECONDS: Final = "10"


@dataclass(frozen=True, slots=True)
class Address:
    """What a URI says, and how it is shown: without the password, and without its other parameters."""

    parameters: Mapping[str, str]
    dataset: str | None
    shown: str


def parse_address(url: str) -> Address:
    """Return what an address says.

    Raises:
        InputError: it cannot be read.
    """
    problem = InputError(
        "the address of the PostgreSQL server cannot be read",
        hint="postgresql://USER@HOST:PORT/DATABASE?dataset=NAME; other characters than letters and digits in a "
        "password are written as %XX",
    )
    try:
        parts = urlsplit(url)
        asked = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True)) if parts.query else {}
        port = parts.port
    except ValueError:
        raise problem from None
    user, _, host = parts.netloc.rpartition("@")
    # A password with an unescaped `@`, `/`, `#` would have its rest taken for a host, and shown.
    if "@" in user or "@" in parts.path or parts.fragment or not url.startswith(f"{parts.scheme}://"):
        raise problem
    check_dataset(asked.items())
    dataset = asked.pop("dataset", None)
    stated = {
        "host": parts.hostname,
        "port": str(port) if port else None,
        "user": unquote(parts.username) if parts.username else None,
        "password": unquote(parts.password) if parts.password else None,
        "dbname": unquote(parts.path.removeprefix("/")) or None,
    }
    parameters = {"connect_timeout": _PATIENCE_SECONDS, **{key: value for key, value in stated.items() if value}}
    who = f"{parts.username}@" if parts.username else ""
    return Address({**parameters, **asked}, dataset, f"{parts.scheme}://{who}{host}{parts.path}")


def without_password(message: str, address: Address) -> str:
    """Return a message in which the password does not stand."""
    password = address.parameters.get("password")
    return message.replace(password, HIDDEN) if password else message
