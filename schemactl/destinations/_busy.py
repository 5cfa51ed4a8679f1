"""Recognizes by SQLite's result codes that another process holds a file: names of files and tables may say anything."""

from __future__ import annotations

import sqlite3

_PRIMARY = 0xFF
"""The bits of a result code that its extended forms share (https://www.sqlite.org/rescode.html)."""


def is_busy(error: BaseException) -> bool:
    """Return whether an error of SQLite, or of SQLAlchemy over it, says that another process holds the file."""
    found = getattr(error, "orig", error)
    code = getattr(found, "sqlite_errorcode", 0) & _PRIMARY
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
