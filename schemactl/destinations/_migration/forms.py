"""Forms of texts that all databases can read as dlt's coercion does, as regular expressions of RE2 and POSIX alike."""

from __future__ import annotations

from typing import Final

BLANKS: Final = r"[ \t\n\r\f\v]*"

INTEGER: Final = "[+-]?[0-9]+(_[0-9]+)*"
HEX: Final = "0x[0-9a-fA-F]{1,15}"
REAL: Final = "[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]{1,2})?"
LARGE_REAL: Final = "[+-]?[1-9]([.][0-9]{0,17})?[eE][+-]?[12][0-9]{2}"
"""Neither form leaves the range of a double, on which PostgreSQL would fail."""
NO_NUMBER: Final = "-?[iI][nN][fF]([iI][nN][iI][tT][yY])?|[nN][aA][nN]"

YES: Final = ("yes", "true", "t", "y", "1")
NO: Final = ("no", "false", "f", "n", "0")

HEX_BYTES: Final = "0x([0-9a-fA-F]{2})*"
BASE64: Final = "([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"

_LEAP_YEAR: Final = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)"
_DAY: Final = (
    "([0-9]{4}-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)"
    f"|{_LEAP_YEAR}-02-29)"
)
"""A day that there is, but for those of the year 0."""

CLOCK: Final = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?"
MOMENT: Final = f"{_DAY}([T ]{CLOCK}(Z|[+-](0[0-9]|1[0-4])(:[0-5][0-9])?)?)?"
DAY_ALONE: Final = f"{_DAY}([T ]00:00(:00([.]0{{1,6}})?)?(Z|[+]00:00)?)?"


def blank_around(form: str) -> str:
    """Return a form with white space of ASCII around it."""
    return f"{BLANKS}{form}{BLANKS}"
