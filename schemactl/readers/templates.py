"""Jinja and other placeholders in SQL: a name or a value is filled in for each, without running anything.

Every replacement keeps the lines of the text.
"""

from __future__ import annotations

import re
from typing import Final

_TAG: Final = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
SOURCE_CALL: Final = re.compile(r"""source\s*\(\s*(['"])([\w.-]+)\1\s*,\s*(['"])([\w.-]+)\3\s*\)""")
REF_CALL: Final = re.compile(r"""ref\s*\((?:\s*(['"])[\w.-]+\1\s*,)?\s*(['"])([\w.-]+)\2\s*\)""")
SOURCE_TAG: Final = re.compile(rf"\{{\{{-?\s*{SOURCE_CALL.pattern}\s*-?\}}\}}")
REF_TAG: Final = re.compile(rf"\{{\{{-?\s*{REF_CALL.pattern}\s*-?\}}\}}")
_PARAMETER_TABLE: Final = re.compile(r"\b(?:from|join)\s+(?:identifier\s*\(|table\s*\(\s*[:$]|[:?])", re.IGNORECASE)

_VALUE: Final = re.compile(r"""\{\{-?\s*(?:var\s*\([^(){}]*\)|[\w.]+)\s*-?\}\}""")
_THIS: Final = re.compile(r"\{\{-?\s*this\s*-?\}\}")
_BLANK_TAG: Final = re.compile(
    r"\{\{-?\s*config\s*\(.*|\{%-?\s*(?:if\b|endif\b|for\b|endfor\b|set\s+\w+\s*=).*", re.DOTALL
)
"""Tags without SQL. The SQL between them may be in the text, once or several times; of ``else`` only one side is."""

_OPTIONAL: Final = re.compile(r"\[\[((?:(?!\[\[|\]\]).)*?\{\{(?:(?!\[\[|\]\]).)*?)\]\]", re.DOTALL)
"""Metabase's optional clause."""

_SHELL: Final = re.compile(r"\$\{[\w.]+\}")
_PYTHON: Final = re.compile(r"%\((\w+)\)s")

VALUE: Final = "template_value"
"""Takes the place of a variable: a name can be wherever a value can."""

_MODEL: Final = "template_model"
"""Takes the place of the model itself."""


def has_template(name: str) -> bool:
    """Return whether a name contains a variable."""
    return VALUE in name.lower()


def names_any_table(text: str) -> bool:
    """Return whether a template or a parameter of a text may be the name of a table."""
    lower_text = text.lower()
    if has_template(lower_text):
        return True
    may_have_parameter = any(mark in text for mark in ":?$") or "identifier" in lower_text
    return may_have_parameter and _PARAMETER_TABLE.search(lower_text) is not None


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
        if _BLANK_TAG.fullmatch(tag):
            return _blank(tag)
        if _THIS.fullmatch(tag):
            return _MODEL + _breaks(tag)
        if not _VALUE.fullmatch(tag):
            unknown_lines.append(text.count("\n", 0, match.start()) + 1)
        return VALUE + _breaks(tag) if tag.startswith("{{") else _blank(tag)

    sql = _OPTIONAL.sub(lambda match: f"  {match[1]}  ", text)
    sql = _TAG.sub(replacement, sql)
    sql = _SHELL.sub(VALUE, sql)
    sql = _PYTHON.sub(lambda match: f":{match[1]}", sql)
    return sql, min(unknown_lines, default=None)


def _breaks(tag: str) -> str:
    return "\n" * tag.count("\n")


def _blank(tag: str) -> str:
    return _breaks(tag) or " "
