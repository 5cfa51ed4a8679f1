"""Takes passwords, tokens and keys out of addresses, before anything prints, logs, stores or raises them.

`redact` is for one address, `redact_text` for text with addresses in it; all errors go through the latter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote

HIDDEN: Final = "***"

_KEY: Final = (
    r"[\w.-]{0,60}(?:passw(?:or)?d|passphrase|pwd|secret|token|credential|signature|(?:api|access|account|shared)[._-]?key)"
    r"[\w.-]{0,60}|sig"
)
# A path that was made of an address has one slash less.
_PASSWORD: Final = r"(?<![\w+.-])(?P<place>(?P<scheme>[\w+.-]+):/{{1,3}}[^:/@?#\s`]{{0,200}}):(?P<secret>{anything})@"
_IN_ADDRESS: Final = re.compile(_PASSWORD.format(anything=".*"), re.DOTALL)
_IN_TEXT: Final = re.compile(_PASSWORD.format(anything=r"(?:(?!://)[^\s`]){0,200}"))
_WITHOUT_SLASHES: Final = re.compile(
    r"\s*(?:(?P<scheme>[a-z][\w+.-]*):)?(?P<user>[^:/@?#\s]*):(?P<secret>[^/].*)@[^@]*", re.IGNORECASE | re.DOTALL
)
# A value ends at the next parameter; a value of `KEY=VALUE` in other text ends at a blank.
_PARAMETERS: Final = (
    re.compile(rf"(?P<key>[?&](?:{_KEY})=)(?P<secret>[^&\s`]+)", re.IGNORECASE),
    re.compile(rf"(?P<key>;\s*(?:{_KEY})=)(?P<secret>[^;\s`]+)", re.IGNORECASE),
    re.compile(rf"(?P<key>(?<![?&;\w.-])(?:{_KEY})\s?=\s?)(?P<secret>'[^']*'|\"[^\"]*\"|[^\s`,;&'\"]+)", re.IGNORECASE),
)
_QUOTED: Final = re.compile(r"`([^`]*)`")
_PORT: Final = re.compile(r"\d{1,5}(?:[/;?#]|$)")

_HAVE_PATHS: Final = frozenset({"hdfs", "webhdfs", "swebhdfs", "http", "https", "sc", "spark", "k8s", "file"})
"""Schemes whose addresses may have ``@`` behind a port, in a path."""
_HAVE_NO_USERS: Final = frozenset(
    {"git", "import", "export", "table", "parquet", "delta", "iceberg", "spark", "duckdb", "sqlite", "dlt", "file"}
)
"""The words before the colon of references that name no user, and may have ``@`` in a name."""
_SHORTEST: Final = 3
"""Letters of a secret that is looked for in text by itself."""


def redact(address: str) -> str:
    """Return an address without its password, and with its other secrets hidden.

    >>> redact("postgresql://ann:p@ss/w?rd@db:5432/shop?sslpassword=x&dataset=raw")
    'postgresql://ann@db:5432/shop?sslpassword=***&dataset=raw'
    >>> redact("sc://spark:15002/;user_id=ann.lee;token=abc")
    'sc://spark:15002/;user_id=ann.lee;token=***'
    """
    redacted = _IN_ADDRESS.sub(_without_password, address)
    if redacted == address and "://" not in address and (match := _user_without_slashes(address)):
        redacted = address[: match.start("secret") - 1] + address[match.end("secret") :]
    return _hide_parameters(redacted)


def redact_text(text: str, secrets: Iterable[str] = ()) -> str:
    """Return text without the secrets of addresses.

    Args:
        text: text to print or store.
        secrets: texts that it must not contain in any form, as ``secrets_of`` finds them.
    """
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    # Names and addresses are in backquotes in our messages: a password with blanks ends there.
    text = _QUOTED.sub(lambda match: _IN_ADDRESS.sub(_without_password, match[0]), text)
    return _hide_parameters(_IN_TEXT.sub(_without_password, text))


def secrets_of(address: str) -> frozenset[str]:
    """Return the secrets of an address, as written and in decoded form.

    Text that the address shows in another place (a user's name, ``postgres``) is not among them, because it is not a
    secret.

    >>> sorted(secrets_of("postgresql://ann:p%40ss@db/shop"))
    ['p%40ss', 'p@ss']
    """
    secrets = {match["secret"] for match in _IN_ADDRESS.finditer(address) if _without_password(match) != match[0]}
    if not secrets and "://" not in address and (match := _user_without_slashes(address)):
        secrets.add(match["secret"])
    secrets |= {match["secret"].strip("'\"") for pattern in _PARAMETERS for match in pattern.finditer(address)}
    redacted = redact(address)
    spellings = secrets | {unquote(secret) for secret in secrets}
    return frozenset(secret for secret in spellings if len(secret) >= _SHORTEST and secret not in redacted)


def _without_password(match: re.Match[str]) -> str:
    if match["scheme"].lower() in _HAVE_PATHS and _PORT.match(match["secret"]):
        return match[0]
    return f"{match['place']}@"


def _user_without_slashes(address: str) -> re.Match[str] | None:
    """Return the match of ``USER:PASSWORD@HOST``, with a scheme or without, if it is such an address."""
    match = _WITHOUT_SLASHES.fullmatch(address)
    return match if match and not {match["scheme"], match["user"]} & _HAVE_NO_USERS else None


def _hide_parameters(text: str) -> str:
    for pattern in _PARAMETERS:
        text = pattern.sub(rf"\g<key>{HIDDEN}", text)
    return text
