"""The journal of a load, as JSON, written before readers can see a part of the load: the next load ends a killed one.

No format has a commit for several tables. If tables have versions, an interrupted load is undone (``Versions``).
Otherwise a load is certain to complete once its journal exists (``Moves``, ``Pending``): each step can run twice
without harm. Destinations choose the location of a journal.

A writer to the destination can write a journal. So journals are read strictly, and each destination refuses names that
no load of ours makes before it follows a journal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from datetime import datetime
from types import UnionType
from typing import Any, ClassVar, Final, TypeVar, get_args, get_origin, get_type_hints

from schemactl.errors import DestinationError

_ATTEMPT: Final = re.compile("[0-9a-f]{32}")


def is_attempt(text: str) -> bool:
    """Return whether a text is how the names of a load's new files begin; it is part of a pattern that removes them."""
    return _ATTEMPT.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Versions:
    """A load that is undone by restoring tables (Delta, Iceberg).

    Attributes:
        load_id: its id.
        schema_name: the schema of the load.
        attempt: the prefix of the names of its new files.
        tables: the version of each table before it, None for tables that it creates.
        files: new files outside of tables.
    """

    load_id: str
    schema_name: str
    attempt: str
    tables: Mapping[str, int | None]
    files: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not is_attempt(self.attempt):
            raise ValueError(f"`attempt` is `{self.attempt}`, not 32 hexadecimal digits")


@dataclass(frozen=True, slots=True)
class Moves:
    """The changes of a load to the files of a dataset (Parquet); paths are relative to its folder.

    Attributes:
        removals: files that go first.
        moves: old and new names, in their order.
        version: of this form.
    """

    VERSION: ClassVar = 1

    removals: tuple[str, ...] = ()
    moves: tuple[tuple[str, str], ...] = ()
    version: int = VERSION

    def __post_init__(self) -> None:
        if self.version != Moves.VERSION:
            raise ValueError(f"it is of version {self.version}")


@dataclass(frozen=True, slots=True)
class TableMove:
    """The change of a load to one table of a Spark catalog.

    Attributes:
        source: the table that holds the rows; None if the journal holds them, or the table is emptied.
        overwrites: the rows are all that the table holds afterwards.
        key: the column by which rows are not appended twice; None for all columns.
        takes_place: the table that holds the rows replaces the other table, and takes its name.
        is_new: no other table exists, and the table that holds the rows gets the name, unless another program takes it.
        rows: rows to append from the journal: values of JSON and timestamps, of the same columns in all rows.
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


_HINT: Final = (
    "finish the load with the schemactl version that wrote the journal; "
    "if no version did, delete the journal, and check who can write there"
)


def journal_error(name: str, reason: str) -> DestinationError:
    """Return the error for a journal that is not carried out."""
    return DestinationError(f"cannot read the journal {name}: {reason}", hint=_HINT)


def read_journal(kind: type[J], text: str, name: str) -> J:
    """Return a journal from its text; raises ``DestinationError``, with ``name``, for any other text."""
    try:
        journal: J = _record(kind, json.loads(text))
        return journal
    except RecursionError as error:
        raise journal_error(name, "it is nested too deep") from error
    except ValueError as error:
        raise journal_error(name, str(error)) from error


def _record(kind: type[Any], document: Any) -> Any:
    """Return a record of a JSON object; ``ValueError`` unless that has its fields, with values of their types."""
    if not isinstance(document, dict):
        raise ValueError("it is not an object")
    types = get_type_hints(kind)
    if unknown := sorted(document.keys() - {field.name for field in fields(kind)}):
        raise ValueError(f"it has an unknown field `{unknown[0]}`")
    values = {}
    for name, value in document.items():
        try:
            values[name] = _value(types[name], value)
        except ValueError as error:
            raise ValueError(f"`{name}` {error}") from error
    try:
        return kind(**values)
    except TypeError as error:
        raise ValueError(f"a field is missing: {error}") from error


def _value(kind: Any, value: Any) -> Any:
    """Return a JSON value in the type of a field; ``ValueError`` for a value of another type."""
    kinds = get_args(kind)
    match get_origin(kind):
        case None if is_dataclass(kind) and isinstance(kind, type):
            return _record(kind, value)
        # JSON's true is an integer to `isinstance`. Neither a name nor a path is empty or holds NUL.
        case None if type(value) is kind and (kind is not str or (value and "\0" not in value)):
            if kind is int and value < 0:
                raise ValueError("is below 0")
            return value
        case origin if origin is UnionType:  # with None
            return None if value is None else _value(kinds[0], value)
        case origin if origin is tuple and isinstance(value, list):
            if kinds[-1] is not ... and len(value) != len(kinds):
                raise ValueError(f"is not a list of {len(kinds)} values")
            return tuple(_value(kinds[0], item) for item in value)  # the items are of one type
        case origin if origin is Mapping and isinstance(value, dict):
            if kinds[1] is not Any:
                return {_value(kinds[0], key): _value(kinds[1], item) for key, item in value.items()}
            # A row: a journal may have a hundred thousand, so their values are not read one by one.
            if any(isinstance(item, dict | list) for item in value.values()):
                raise ValueError("has a row with values that are not plain")
            return value
        case _:
            raise ValueError(f"is not of type {getattr(kind, '__name__', kind)}")
