"""``schemactl schema``: files that name the JSON Schema by which editors complete and check them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from schemactl.errors import InputError, Location
from schemactl.store.text import read_text, replace_file

_LINES: Final = {
    ".yaml": "# yaml-language-server: $schema={}",
    ".yml": "# yaml-language-server: $schema={}",
    ".toml": "#:schema {}",
}
"""The comment that names a JSON Schema, by the ending of the file: of the YAML language server, and of Taplo."""


def name_schema(file: Path, schema: Path) -> bool:
    """Let the first comment of a YAML or TOML file name its JSON Schema, and return whether the file was written.

    Args:
        file: is written with that line, in place of one that named another schema; nothing else changes.
        schema: the JSON Schema's file; it is named by its path from there.

    Raises:
        InputError: the file is neither, or cannot be read or written.
    """
    if file.suffix not in _LINES:
        hint = "YAML and TOML name it in a comment; of JSON files the editor's own settings do"
        raise InputError(f"a file `*{file.suffix}` names no JSON Schema", at=Location(str(file)), hint=hint)
    text = read_text(file)
    address = Path(os.path.relpath(schema.absolute(), file.absolute().parent)).as_posix()
    line = _LINES[file.suffix].format(address)
    before = re.search(rf"^{re.escape(_LINES[file.suffix].partition('{}')[0])}.*$", text, re.MULTILINE)
    if before is not None:
        named = text[: before.start()] + line + ("\r" if before[0].endswith("\r") else "") + text[before.end() :]
    else:
        named = line + ("\r\n" if "\r\n" in text else "\n") + text
    if named != text:
        replace_file(file, named)
    return named != text
