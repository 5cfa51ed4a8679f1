"""Options of several commands about rejects."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal

from schemactl.cli.commands.migrate._options import with_spark
from schemactl.cli.declarations import option
from schemactl.cli.options import PastLoadsOptions, schema_name
from schemactl.errors import InputError

if TYPE_CHECKING:
    from schemactl.flows.rejects import RejectStore
    from schemactl.normalization.rejects import RejectFilter

__all__ = ["ReasonOptions", "RejectsOptions", "StateOptions", "read_age", "read_moment", "schema_name", "with_spark"]

_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectsOptions(PastLoadsOptions):
    """The options of all of them: the destination, and which rejects."""

    id: Sequence[str] = option("Only the record with this ID or ID prefix. Repeatable.", metavar="ID", default=[])
    table: Sequence[str] = option(
        "Only records with a rejected row in this table. Repeatable.", metavar="TABLE", default=[]
    )
    column: Sequence[str] = option(
        "Only records with a rejected value in this column. Repeatable.", metavar="COLUMN", default=[]
    )
    file: Sequence[str] = option("Only records of matching files. Repeatable.", metavar="GLOB", default=[])
    load_id: Sequence[str] = option("Only rejects of this load. Repeatable.", metavar="ID", default=[])
    since: str | None = option(
        "Only rejects since a date, a timestamp or a duration ago: `2026-03-31`, `2026-03-31T08:00Z`, `7d`.",
        metavar="TIME",
    )

    def selection(self) -> RejectFilter:
        """Return the waiting rejects that the options name."""
        from schemactl.normalization.rejects import RejectFilter

        return RejectFilter(
            record_ids=tuple(self.id),
            load_ids=tuple(self.load_id),
            tables=tuple(self.table),
            columns=tuple(self.column),
            files=tuple(self.file),
            since=None if self.since is None else read_moment(self.since, "--since"),
        )

    def open_store(self, name: str) -> RejectStore:
        """Return the rejects of a schema."""
        from schemactl.flows.rejects import open_store

        return open_store(name, self.to, self.schemas_folder)


@dataclass(frozen=True, kw_only=True)  # no slots: two bases with slots cannot be combined
class ReasonOptions(RejectsOptions):
    """Options of commands that select rejects by their reason."""

    reason: str | None = option(
        "Only rejects of this kind or reason: `contract`, `typing`, `model`, `data_type`, `columns=discard_row`, or a "
        "part of the reason.",
        metavar="REASON",
    )

    def selection(self) -> RejectFilter:
        """Return the waiting rejects that the options name."""
        return replace(super().selection(), reason=self.reason)


@dataclass(frozen=True, kw_only=True)  # no slots: two bases with slots cannot be combined
class StateOptions(ReasonOptions):
    """Options of commands that read rejects in any state."""

    state: Literal["waiting", "replayed", "discarded", "all"] = option("The state of the rejects.", default="waiting")

    def selection(self) -> RejectFilter:
        """Return the rejects that the options name."""
        from schemactl.normalization.tally import RejectState

        states = None if self.state == "all" else frozenset((RejectState(self.state),))
        return replace(super().selection(), states=states)


def read_age(text: str, option: str) -> timedelta:
    """Return a time span.

    >>> read_age("90d", "--older-than")
    datetime.timedelta(days=90)
    """
    match = re.fullmatch(r"(\d{1,6})([mhdw])", text.strip())
    if match is None:
        raise InputError(f"`{text}` is not a time span (`{option}`)", hint="write it like `90d`, `12h` or `2w`")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def read_moment(text: str, option: str) -> datetime:
    """Return a moment in UTC: of a day its beginning, of a time span so long ago.

    >>> read_moment("2026-03-31", "--since")
    datetime.datetime(2026, 3, 31, 0, 0, tzinfo=datetime.timezone.utc)
    """
    from schemactl.schema.iso8601 import parse

    try:
        if re.fullmatch(r"\d+[mhdw]", text.strip()):
            return datetime.now(UTC) - read_age(text, option)
        moment = parse(text.strip())
        if isinstance(moment, datetime):
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        if isinstance(moment, date):
            return datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    except (ValueError, OverflowError):
        pass
    hint = "write it like `2026-03-31`, `2026-03-31T08:00Z` or `7d`"
    raise InputError(f"`{text}` is not a day, a moment or a time span (`{option}`)", hint=hint)
