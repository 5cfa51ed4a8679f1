"""Kept Spark drivers for a person and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from schemactl.engine.session.kept import KeptDriver
from schemactl.render.console import FAINT, NAME, Look, indented, print_sections
from schemactl.review.wording import counted

_NONE = "no Spark is kept\n"


def print_status(drivers: tuple[KeptDriver, ...], look: Look) -> str:
    """Return what each driver is, whether it is in use, and where its log is."""
    if not drivers:
        return "" if look.is_quiet else _NONE
    return print_sections([_describe(driver) for driver in drivers], look)


def print_stopped(drivers: tuple[KeptDriver, ...], look: Look) -> str:
    """Return which drivers have ended, and which will."""
    if look.is_quiet:
        return ""
    lines = []
    for driver in drivers:
        users = f"ends with the {counted(driver.commands, 'command')} that use it"
        lines.append(f"process {driver.pid} {users if driver.commands else 'has ended'}\n")
    return "".join(lines) or _NONE


def drivers_document(drivers: tuple[KeptDriver, ...]) -> dict[str, Any]:
    """Return the drivers as ``schemactl engine --format json`` prints them."""
    return {"drivers": [asdict(driver) for driver in drivers]}


def _describe(driver: KeptDriver) -> list[RenderableType]:
    name = Text(f"process {driver.pid}", style=NAME).append(f": Spark {driver.spark}, Java {driver.java}", style="")
    served = f"{counted(driver.served, 'command')} so far"
    if driver.seconds_left is None:
        use = f"used by {counted(driver.commands, 'command')} now, {served}"
    else:
        use = f"idle, ends in {_duration(driver.seconds_left)}; {served}"
    details = (f"{driver.master} in {driver.folder}", use, f"log: {driver.log}")
    return [name, *(indented(Text(line, style=FAINT)) for line in details)]


def _duration(seconds: float) -> str:
    """Return a time for a person.

    >>> [_duration(seconds) for seconds in (4.2, 61, 5400)]
    ['4 s', '1 min 1 s', '90 min 0 s']
    """
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
