"""What a load writes down, as JSON, before readers may see anything of it: whoever comes after a killed one ends it.

No format has a commit for several tables. Where tables have versions, a load that broke off is undone (``Versions``).
Where they have none it is certain once its journal is there, and is finished (``Moves``, ``Pending``): each step may be
taken twice. Destinations say where a journal is kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, ClassVar, TypeVar

from schemactl.errors import DestinationError


@dataclass(frozen=True, slots=True)
class Versions:
    """A load that is undone by restoring tables (Delta, Iceberg).

    Attributes:
        load_id: its id.
        schema_name: whose load it is.
        attempt: what the names of its new files start with.
        tables: the version of each table before it, None for tables that it makes.
        files: what it makes beside tables.
    """

    load_id: str
    schema_name: str
    attempt: str
    tables: Mapping[str, int | None]
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Moves:
    """What a load does to the files of a dataset (Parquet); paths are relative to its folder.

    Attributes:
        removals: files that go first.
        moves: old and new names, in their order.
        version: of this form.
    """

    VERSION: ClassVar = 1

    removals: tuple[str, ...] = ()
    moves: tuple[tuple[str, str], ...] = ()
    version: int = VERSION


@dataclass(frozen=True, slots=True)
class TableMove:
    """What a load does to one table of a Spark catalog.

    Attributes:
        source: the table that holds the rows; None where the journal holds them, or the table is emptied.
        overwrites: the rows are all that the table holds afterwards.
        key: the column by which rows are not appended twice; all columns where it is None.
        takes_place: the table that holds the rows takes the other one's place, and its name.
        is_new: there is no other, and the table that holds the rows gets the name, unless another program makes one.
        rows: rows to append that the journal holds: values of JSON and moments, of the same columns in all rows.
    """

    table: str
    source: str | None
    overwrites: bool = False
    key: str | None = None
    takes_place: bool = False
    is_new: bool = False
    rows: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Pending:
    """A load into a Spark catalog that is certain.

    Attributes:
        steps: in their order, the tables in which loads are kept last.
        table: in which this is kept.
    """

    load_id: str
    schema_name: str
    steps: tuple[TableMove, ...]
    table: str


J = TypeVar("J", Versions, Moves, Pending)


def journal_text(journal: Versions | Moves | Pending) -> str:
    """Return a journal as JSON."""
    return json.dumps(asdict(journal), ensure_ascii=False, default=datetime.isoformat)


def read_journal(kind: type[J], text: str, place: str) -> J:
    """Return a journal of its text; raises ``DestinationError``, with ``place``, where it is none of this version."""
    try:
        held = {name: _frozen(name, value) for name, value in json.loads(text).items()}
        found = kind(**held)
        if isinstance(found, Moves) and found.version != Moves.VERSION:
            raise ValueError(f"it is of version {found.version}")
        return found
    except (ValueError, AttributeError, TypeError) as error:
        hint = "another version of schemactl may have written it: finish the load with that one"
        raise DestinationError(f"cannot read the journal {place}: {error}", hint=hint) from error


def _frozen(name: str, value: Any) -> Any:
    match name:
        case "steps":
            return tuple(TableMove(**{**each, "rows": tuple(each.get("rows", ()))}) for each in value)
        case "moves":
            return tuple((old, new) for old, new in value)
        case _:
            return tuple(value) if isinstance(value, list) else value
