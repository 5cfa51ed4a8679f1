"""The ways in which a change of a table breaks the queries that read it."""

from __future__ import annotations

from enum import StrEnum


class ReaderEffect(StrEnum):
    """The effect of a change on readers of its column or table."""

    NONE = "breaks nothing"
    REMOVED = "breaks every use"
    RETYPED = "breaks uses that compute, compare, join, sort or group"
    COMPARED = "breaks uses that compute, compare or join"
    MEANING = "breaks uses that compute or compare"
    ADDED = "breaks `select *` into a fixed list of columns"
