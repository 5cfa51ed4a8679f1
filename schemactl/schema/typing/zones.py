"""Time zones by the ids that Java's ``ZoneId.of`` takes."""

from __future__ import annotations

import re
from datetime import UTC, timedelta, timezone, tzinfo
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

_OFFSET: Final = re.compile(r"([+-])(?:(\d)|(\d\d)(?::?(\d\d)(?::?(\d\d))?)?)", re.ASCII)
_PREFIX: Final = re.compile(r"(?:UTC|GMT|UT)(?=[+-]|$)")
_NOT_IN_JAVA: Final = frozenset(("EST", "MST", "HST", "ROC", "Factory", "localtime", "posixrules"))
_MOST_HOURS: Final = 18


@cache
def region_ids() -> frozenset[str]:
    """Return the names of regions that Java knows."""
    named = (name for name in available_timezones() if not name.startswith(("posix/", "right/")))
    return frozenset(named) - _NOT_IN_JAVA


@cache
def find_zone(zone_id: str) -> tzinfo | None:
    """Return the zone of an id, None where Java knows no such id.

    >>> find_zone("+10") == find_zone("+1000") == find_zone("UTC+10:00")
    True
    """
    if zone_id in ("Z", "UTC", "GMT", "UT"):
        return UTC
    if zone_id in region_ids():
        return ZoneInfo(zone_id)
    return offset_zone(_PREFIX.sub("", zone_id, count=1))


def offset_zone(text: str) -> tzinfo | None:
    """Return the zone of an offset in one of Java's forms, None where it is none or beyond 18 hours."""
    found = _OFFSET.fullmatch(text)
    if found is None:
        return None
    sign, hour, hours, minutes, seconds = found.groups()
    parts = [int(part or 0) for part in (hour or hours, minutes, seconds)]
    total = timedelta(hours=parts[0], minutes=parts[1], seconds=parts[2])
    if max(parts[1:]) > 59 or total > timedelta(hours=_MOST_HOURS):
        return None
    return timezone(-total if sign == "-" else total)
