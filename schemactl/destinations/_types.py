"""Takes types apart as databases write them: ``DECIMAL(10,2)``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from schemactl.schema.types import Properties

_WRITTEN: Final = re.compile(r"(?P<name>[^()]+?)\s*(?:\(\s*(?P<sizes>\d+(?:\s*,\s*-?\d+)*)\s*\)\s*(?P<rest>[^()]*))?")


@dataclass(frozen=True, slots=True)
class DatabaseType:
    """A database's type.

    Attributes:
        name: upper case, without the sizes: ``TIMESTAMP WITH TIME ZONE`` of ``timestamp(3) with time zone``.
        sizes: what stood in brackets.
    """

    name: str
    sizes: tuple[int, ...] = ()


def parse_type(written: str) -> DatabaseType | None:
    """Return a type in its parts, None where it is of no such form (``STRUCT(a INTEGER)``, ``text[]`` ...)."""
    match = _WRITTEN.fullmatch(written.strip())
    if match is None:
        return None
    sizes = tuple(int(size) for size in match["sizes"].split(",")) if match["sizes"] else ()
    name = " ".join(f"{match['name']} {match['rest'] or ''}".split())
    return DatabaseType(name.upper(), sizes)


def decimal(precision: int, scale: int) -> Properties:
    """Return dlt's decimal of this size."""
    return {"data_type": "decimal", "precision": precision, "scale": scale}


def integer(bits: int) -> Properties:
    """Return dlt's integer of this many bits; 64 are not stated."""
    return {"data_type": "bigint"} if bits == 64 else {"data_type": "bigint", "precision": bits}
