"""Which columns a SQL text uses, in a form that JSON has."""

from __future__ import annotations

from typing import Any, Final

Uses = dict[str, list[list[Any]]]
"""The rows of ``tables`` are (table, line), of ``columns`` (table, column, clause, is_computed, is_positional, cast,
line) with the arguments of ``Cast``, of ``blind`` (table, column, reason, line), of ``outputs`` (output, table, column,
is_named): the columns that the result of the text's last query passes on, named by a query or only by ``*``; of
``created`` (dataset, name, outputs): the tables and views that the text creates; the dataset can be "".
"""

MAX_SECONDS: Final = 5
"""Processor time for a text."""

TOO_LONG: Final = f"SQL that takes longer than {MAX_SECONDS} s to read"
"""The reason why a text is blind that another run, on a faster machine, may read."""
