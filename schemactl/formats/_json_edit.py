"""Edit JSON in the form that it has: its indentation, and the lines that do not change."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from schemactl.formats._line_merge import ConflictError, merge_lines


def edit_json(text: str, old: Any, new: Any) -> Iterator[str]:
    """Yield a document with another value: in its own lines, then as a whole in its indentation.

    Args:
        text: the document.
        old: its value.
        new: the value that it is to have.
    """
    indented = re.match(r"\s*[{[][^\S\n]*\n([ \t]+)", text)
    options: dict[str, Any] = {
        "indent": indented[1] if indented else None,
        "separators": ("," if indented or '", "' not in text else ", ", ": " if '": ' in text else ":"),
        "ensure_ascii": text.isascii() and "\\u" in text,
    }
    end = text[len(text.rstrip()) :]
    before, after = (json.dumps(value, **options) + end for value in (old, new))
    with suppress(ConflictError):
        yield merge_lines(before, text, after)
    yield after
