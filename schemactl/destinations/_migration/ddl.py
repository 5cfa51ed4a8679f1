"""Names and types of a schema as SQL, checked: nothing in a schema file can end a statement and begin another."""

from __future__ import annotations

import re
from typing import Final

from schemactl.destinations._ddl import ColumnType
from schemactl.destinations._session import quote
from schemactl.errors import InputError
from schemactl.migration.steps import DescribeTable
from schemactl.schema.structure import DATABASE_TYPE, NameLimits
from schemactl.schema.types import Column

_PART_OF_TYPE: Final = re.compile(r"""[A-Za-z0-9_ .:<>\[\]]+|"(?:[^"\0]|"")*"|'(?:[^'\\\0]|'')*'|[(),]""")
_SIZES: Final = ("precision", "scale")


def check_name(name: str) -> None:
    """Refuse what can name nothing in a database, or would begin a line of a script as a statement of its own.

    Raises:
        InputError: it is such a name.
    """
    if not name or "\0" in name:
        raise InputError(f"{name!r} cannot name anything in a database")
    if len(f"{name}.".splitlines()) > 1:
        hint = "rename it: a naming convention such as `snake_case` makes no such names"
        raise InputError(f"{name!r} has a line break, and goes into no statement", hint=hint)


def quoted(name: str, limits: NameLimits) -> str:
    """Return a name as SQL quotes it.

    Raises:
        InputError: no database can have such a name, or this one would cut it.
    """
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise InputError(f"{name!r} cannot name anything: it is not Unicode") from None
    check_name(name)
    if limits.max_bytes is not None and size > limits.max_bytes:
        raise InputError(f"`{name}` is longer than the {limits.max_bytes} bytes that the destination keeps of a name")
    return quote(name)


def checked_texts(step: DescribeTable) -> tuple[tuple[str, str | None], ...]:
    """Return the descriptions that a step sets, by column, the table's under the empty name.

    Raises:
        InputError: one is no text.
    """
    for column, text in step.after.items():
        if text is not None and (not isinstance(text, str) or not text or "\0" in text):
            raise InputError(f"the description of `{step.table}{column and '.'}{column}` is no text: {text!r}")
    return tuple(step.after.items())


def checked_type(column: Column, column_type: ColumnType) -> str:
    """Return a column's type.

    Args:
        column: a complete one, or one with ``x-database-type``.
        column_type: of the destination.

    Raises:
        InputError: it is no type: sizes that are no numbers, SQL in ``x-database-type``.
    """
    for name in _SIZES:
        size = column.properties.get(name)
        if size is not None and (isinstance(size, bool) or not isinstance(size, int)):
            raise InputError(f"`{name}` of column `{column.name}` is no integer: {size!r}")
    try:
        written = column_type(column)
    except ValueError as error:
        raise InputError(str(error)) from error
    if DATABASE_TYPE in column.properties and not _is_type(written):
        raise InputError(f"`{DATABASE_TYPE}` of column `{column.name}` is no type: `{written}`")
    return written


def _is_type(written: str) -> bool:
    """Return whether a text stays within its place: brackets are closed, and no comma stands outside of them."""
    depth = place = 0
    while place < len(written):
        part = _PART_OF_TYPE.match(written, place)
        if part is None:
            return False
        place = part.end()
        depth += {"(": 1, ")": -1}.get(part[0], 0)
        if depth < 0 or (part[0] == "," and depth == 0):
            return False
    return depth == 0 and bool(written.strip())
