"""YAML text -> tree: plain files, as dlt's exports are, by their lines, all others by a parser."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from schemactl.formats._block_lines import read_block_lines
from schemactl.formats._tree import Node, Source

_BYTE_ORDER_MARK: Final = "\ufeff"
_NOT_YAML_IN_ASCII: Final = re.compile(r"[^\t\n\r\x20-\x7e]")


@cache
def _not_yaml() -> re.Pattern[str]:
    """Return a pattern that takes as long to compile as a file of ASCII takes to be read."""
    return re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


def parse_yaml(source: Source) -> Node:
    """Return the tree of a YAML document.

    Raises:
        InputError: the text is not YAML, or states what a schema file cannot hold; with the place.
    """
    text = source.text
    if text.startswith(_BYTE_ORDER_MARK):
        # The parser would not count it as a character; places are counted in characters.
        text = text.replace(_BYTE_ORDER_MARK, "\n", 1)
    pattern = _NOT_YAML_IN_ASCII if text.isascii() else _not_yaml()
    if (found := pattern.search(text)) is not None:
        character = f"U+{ord(found.group()):04X}"
        hint = "in double quotes it can be written as an escape; is the file text at all?"
        raise source.refuse(f"the character {character} cannot stand in YAML", found.start(), hint)
    if (root := read_block_lines(text)) is not None:
        return root
    # PyYAML takes longer to import than the lines of a plain file take to be read.
    from schemactl.formats._yaml_events import parse_events

    return parse_events(source, text)
