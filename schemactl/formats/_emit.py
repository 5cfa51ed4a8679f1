"""Values -> text, in the form of dlt's exports: YAML of block style in 80 columns, JSON indented by two.

Lines of YAML are broken where dlt's library breaks them, so a file that both tools write does not flicker.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from schemactl.formats._scalars import Kind, kind_of

_STEP = "  "
_WIDTH = 80
_LONGEST_KEY = 122
_ENDLESS = 1 << 30

_FLOW_MARKS = re.compile(r"[,?\[\]{}:]")
_NOT_PLAIN_START = re.compile(r"[#,\[\]{}&*!|>'\"%@`]|[-?:](?: |$)|---|\.\.\.|=$")
_NOT_PLAIN_WITHIN = re.compile(r":(?: |$)| #|^ | $|\n")
_NOT_SINGLE_QUOTED = re.compile(
    "[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]| \n|\n "
)
_ESCAPED = re.compile('[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]|["\\\\]')
_ESCAPES = dict(zip('\0\a\b\t\n\v\f\r\x1b"\\\x85\xa0\u2028\u2029', '0abtnvfre"\\N_LP', strict=True))


def json_text(value: Any) -> str:
    """Return a value as indented JSON, without a newline at the end."""
    import orjson

    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def json_line(value: Any) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False)


def yaml_text(value: Mapping[str, Any]) -> str:
    """Return a document in YAML."""
    return "".join(f"{line}\n" for line in _Writer(_WIDTH).mapping(value, "")) if value else "{}\n"


def yaml_entry(key: str, value: Any, indent: str) -> list[str]:
    """Return the lines of an entry of a block mapping; no text is broken over lines."""
    return list(_Writer(_ENDLESS).mapping({key: value}, indent))


def yaml_item(value: Any, indent: str) -> list[str]:
    """Return the lines of an item of a block sequence."""
    return list(_Writer(_ENDLESS).sequence([value], indent))


def yaml_flow(value: Any) -> str:
    """Return a value on one line, in braces and brackets."""
    match value:
        case Mapping():
            return "{" + ", ".join(f"{yaml_flow(key)}: {yaml_flow(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(yaml_flow(item) for item in value) + "]"
        case str() if _is_plain(value) and not _FLOW_MARKS.search(value):
            return value
        case str() if _NOT_SINGLE_QUOTED.search(value) or "\n" in value:
            return _double_quoted(value)
        case str():
            return _single_quoted(value)
        case _:
            return _unquoted(value)


def yaml_scalar(value: Any, quote: str = "") -> str:
    """Return a value without parts on one line.

    Args:
        value: a scalar.
        quote: the quotes that a text is to have if it can, empty for as few as possible.
    """
    if not isinstance(value, str):
        return _unquoted(value)
    if quote == '"' or "\n" in value or _NOT_SINGLE_QUOTED.search(value):
        return _double_quoted(value)
    return value if not quote and _is_plain(value) else _single_quoted(value)


def _is_plain(text: str) -> bool:
    return not (
        _NOT_PLAIN_START.match(text)
        or _NOT_PLAIN_WITHIN.search(text)
        or _NOT_SINGLE_QUOTED.search(text)
        or kind_of(text) is not Kind.TEXT
    )


def _unquoted(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            text = repr(value)
            return text.replace("e", ".0e") if "." not in text and "e" in text else text
        case _:
            return str(value)


def _single_quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _double_quoted(text: str) -> str:
    return '"' + _ESCAPED.sub(lambda found: _escape(found.group()), text) + '"'


def _escape(character: str) -> str:
    code = ord(character)
    if character in _ESCAPES:
        return "\\" + _ESCAPES[character]
    return f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes block style; a text is broken after ``width`` columns."""

    width: int

    def mapping(self, value: Mapping[str, Any], indent: str) -> Iterator[str]:
        for key, item in value.items():
            name = yaml_scalar(key)
            if 0 < len(key) <= _LONGEST_KEY and "\n" not in key:
                yield from self._attached(f"{indent}{name}:", item, indent, indent)
            else:
                yield from self._text(f"{indent}? ", key, indent + _STEP)
                yield from self._attached(f"{indent}:", item, indent, None)

    def sequence(self, value: list[Any], indent: str) -> Iterator[str]:
        for item in value:
            yield from self._attached(f"{indent}-", item, indent, None)

    def _attached(self, lead: str, value: Any, indent: str, items_at: str | None) -> Iterator[str]:
        """Yield the lines of a value after its key or dash.

        A list starts at ``items_at``; where that is None, blocks start on the line of the key or dash.
        """
        within = indent + _STEP
        match value:
            case Mapping() if value:
                lines = self.mapping(value, within)
            case list() if value:
                lines = self.sequence(value, within if items_at is None else items_at)
            case Mapping() | list():
                yield f"{lead} {'{}' if isinstance(value, Mapping) else '[]'}"
                return
            case _:
                yield from self._text(f"{lead} ", value, within)
                return
        if items_at is None:
            yield f"{lead} {next(lines).removeprefix(within)}"
        else:
            yield lead
        yield from lines

    def _text(self, lead: str, value: Any, within: str) -> Iterator[str]:
        """Yield the lines of a scalar; those after the first are indented by ``within``."""
        if self.width == _ENDLESS or not isinstance(value, str):
            yield lead + yaml_scalar(value)
        elif _NOT_SINGLE_QUOTED.search(value):
            yield from self._folded_double_quoted(lead, value, within)
        elif _is_plain(value):
            yield from self._folded(lead, value, within)
        else:
            yield from self._folded_single_quoted(lead, value, within)

    def _folded(self, lead: str, text: str, within: str) -> Iterator[str]:
        """Break at single spaces, each time the line has grown beyond the width."""
        line = lead
        for part in re.split(r"( +)", text):
            if part == " " and len(line) > self.width:
                yield line
                line = within
            else:
                line += part
        yield line

    def _folded_single_quoted(self, lead: str, text: str, within: str) -> Iterator[str]:
        quoted = text.replace("'", "''")
        middle = quoted.strip(" ")
        opening, _, closing = quoted.partition(middle) if middle else (quoted, "", "")
        pieces = [(is_break, "".join(run)) for is_break, run in groupby(middle, key="\n".__eq__)]
        lines = [f"{lead}'{opening}"]
        for is_break, piece in pieces:
            if is_break:
                # One newline is written as an empty line, since a lone break would be read as a space.
                lines += [""] * len(piece) + [within]
            else:
                *folded, rest = self._folded(lines.pop(), piece, within)
                lines += [*folded, rest]
        lines[-1] += f"{closing}'"
        yield from lines

    def _folded_double_quoted(self, lead: str, text: str, within: str) -> Iterator[str]:
        line, start, last = f'{lead}"', 0, len(text) - 1
        for position, character in enumerate(text):
            is_escaped = _ESCAPED.match(character) is not None
            if is_escaped:
                line += text[start:position] + _escape(character)
                start = position + 1
            may_break = 0 < position < last and (character == " " or start >= position)
            if may_break and len(line) + max(0, position - start) > self.width:
                yield line + text[start:position] + "\\"
                start = max(start, position)
                line = within + ("\\" if text[start] == " " else "")
        yield line + text[start:] + '"'
