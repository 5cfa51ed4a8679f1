"""Addresses of PostgreSQL servers: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE?dataset=NAME``."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from schemactl.destinations._address import ServerAddress as Address
from schemactl.destinations._address import parse_server_address, without_password

__all__ = ["Address", "parse_address", "without_password"]

_PATIENCE_SECONDS: Final = "10"


def parse_address(url: str) -> Address:
    """Return what an address says.

    Raises:
        InputError: it cannot be read.
    """
    found = parse_server_address(url, "PostgreSQL")
    return replace(found, parameters={"connect_timeout": _PATIENCE_SECONDS, **found.parameters})
