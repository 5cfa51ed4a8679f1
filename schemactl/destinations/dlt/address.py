"""Addresses of destinations that dlt knows: ``dlt:NAME?dataset=NAME&staging=NAME``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

from schemactl.destinations._address import check_dataset
from schemactl.errors import InputError

_NAME: Final = re.compile(r"\w+(\.\w+)*")
_FORM: Final = "`dlt:NAME?dataset=NAME`, for example `dlt:snowflake?dataset=shop`"


@dataclass(frozen=True, slots=True)
class Address:
    """What an address says.

    Attributes:
        name: dlt's name of the destination.
        dataset: where the tables are; None for one that is named as the schema.
        staging: dlt's name of the destination that files go to first; None where there is none.
    """

    name: str
    dataset: str | None
    staging: str | None

    def __str__(self) -> str:
        return f"dlt:{self.name}"


def parse_address(url: str) -> Address:
    """Return what an address says.

    Raises:
        InputError: it cannot be read.
    """
    _, _, rest = url.partition(":")
    name, _, query = rest.partition("?")
    asked = parse_qsl(query, keep_blank_values=True)
    check_dataset(asked)
    stated = dict(asked)
    others = [key for key in stated if key not in ("dataset", "staging")]
    if others or (query and not asked):
        hint = "`?dataset=NAME`, `&staging=NAME`; all else stands in dlt's configuration"
        raise InputError(f"`{others[0] if others else query}` means nothing to `dlt`", hint=hint)
    if not _NAME.fullmatch(name):
        raise InputError(f"`dlt:{name}` names no destination of dlt", hint=_FORM)
    return Address(name, stated.get("dataset"), stated.get("staging"))
