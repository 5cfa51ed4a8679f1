"""Values -> text, in the form of dlt's exports: PyYAML's block style in 80 columns, JSON indented by two.

A file that both tools write does not flicker, because both let PyYAML write it. Its emitter in C is faster and breaks
lines elsewhere, so it writes the documents in which there is nothing to break or to escape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import yaml
from yaml.representer import SafeRepresenter

_ENDLESS: Final = 1 << 30
_WIDTH: Final = 80
"""The columns behind which PyYAML breaks a text."""


class _Values(SafeRepresenter):
    """Writes every value in full: a repeated object gets no anchor."""

    quoted: frozenset[str] = frozenset("\x85\u2028\u2029")
    """Line ends that PyYAML would write unescaped and read as other characters: a string with one is escaped."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True

    def represent_text(self, text: str) -> yaml.ScalarNode:
        style = None if self.quoted.isdisjoint(text) else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Values.add_representer(str, _Values.represent_text)


class _Dumper(_Values, yaml.SafeDumper):
    """Breaks lines as dlt does."""


class _QuickDumper(_Values, yaml.CSafeDumper if yaml.__with_libyaml__ else yaml.SafeDumper):  # type: ignore[misc]
    """Breaks and escapes otherwise than ``_Dumper``."""


class _OneLineDumper(_Dumper):
    """Breaks no text over lines."""

    quoted = _Dumper.quoted | {"\n"}


def json_text(value: Any) -> str:
    """Return a value as indented JSON, without a newline at the end."""
    import orjson

    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def yaml_text(value: Mapping[str, Any]) -> str:
    """Return a document in YAML."""
    text = _dump(value, _QuickDumper, width=_ENDLESS)
    # An empty line is that of a text of several lines, `!!` the tag of bytes, `''` may be an empty key.
    is_same = text.isascii() and not any(mark in text for mark in ("\\", "\n\n", "!!", "''"))
    # A line is broken at a space, and of a key as long as some lines PyYAML makes one behind `?`.
    if is_same and not any(" " in line[_WIDTH:] or line[_WIDTH:].endswith(":") for line in text.split("\n")):
        return text
    return _dump(value, _Dumper)


def yaml_part(value: Any, *, is_flow: bool = False, quote: str | None = None) -> str:
    """Return a value as a document that breaks no text over lines.

    With ``is_flow`` mappings and lists are in braces and brackets; ``quote`` are the quotes of a text that can have
    them, as few as possible by default.
    """
    style = quote if isinstance(value, str) else None
    return _dump(value, _OneLineDumper, width=_ENDLESS, default_flow_style=is_flow, default_style=style)


def _dump(value: Any, dumper: type[_Values], **options: Any) -> str:
    settings = {"allow_unicode": True, "default_flow_style": False, "sort_keys": False, **options}
    text: str = yaml.dump(value, Dumper=dumper, **settings)
    return text
