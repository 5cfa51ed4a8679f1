"""Jinja and other placeholders in SQL: a name or a value is filled in for each, without running anything.

Every replacement keeps the lines of the text.
"""

from __future__ import annotations

import re
from typing import Final

_TAG: Final = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
SOURCE_TAG: Final = re.compile(r"""\{\{-?\s*source\(\s*(['"])([\w.-]+)\1\s*,\s*(['"])([\w.-]+)\3\s*\)\s*-?\}\}""")
REF_TAG: Final = re.compile(r"""\{\{-?\s*ref\((?:\s*(['"])[\w.-]+\1\s*,)?\s*(['"])([\w.-]+)\2\s*\)\s*-?\}\}""")
_VALUE: Final = re.compile(r"""\{\{-?\s*(?:var\([^(){}]*\)|this|target\.\w+|\w+)\s*-?\}\}""")
_SHELL: Final = re.compile(r"\$\{(\w+)\}")
_PYTHON: Final = re.compile(r"%\((\w+)\)s")

VALUE: Final = "template_value"
"""Takes the place of a variable: a name can be wherever a value can."""


def fill_in(text: str) -> tuple[str, int | None]:
    """Return SQL without templates, and the line of the first template that may be any SQL, or None.

    >>> fill_in("select '{{ ds }}' from {{ source('raw', 'orders') }}")
    ("select 'template_value' from raw.orders", None)
    >>> fill_in("select {{ columns(1) }} from t")
    ('select template_value from t', 1)
    """
    unknown_lines: list[int] = []

    def replacement(match: re.Match[str]) -> str:
        tag = match.group()
        if tag.startswith("{#"):
            return _blank(tag)
        if source := SOURCE_TAG.fullmatch(tag):
            return f"{source[2]}.{source[4]}" + _breaks(tag)
        if ref := REF_TAG.fullmatch(tag):
            return ref[3] + _breaks(tag)
        if tag.startswith("{{") and re.match(r"\{\{-?\s*config\(", tag):
            return _blank(tag)
        if not _VALUE.fullmatch(tag):
            unknown_lines.append(text.count("\n", 0, match.start()) + 1)
        return VALUE + _breaks(tag) if tag.startswith("{{") else _blank(tag)

    sql = _TAG.sub(replacement, text)
    sql = _SHELL.sub(lambda match: match[1], sql)
    sql = _PYTHON.sub(lambda match: f":{match[1]}", sql)
    return sql, min(unknown_lines, default=None)


def _breaks(tag: str) -> str:
    return "\n" * tag.count("\n")


def _blank(tag: str) -> str:
    return _breaks(tag) or " "
