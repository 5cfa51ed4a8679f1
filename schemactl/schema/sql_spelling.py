"""SQL's types that sqlglot does not know, in the spelling of others of the same form: it reads a text then."""

from __future__ import annotations

from typing import Final

_OTHERS: Final = (
    (("bit", "varying"), "varbit"),
    *((("second", "(", str(digits), ")"), "second") for digits in range(7)),
)
"""Words of types, and what is written in their place."""


def readable(text: str, dialect: str) -> str:
    """Return SQL in which sqlglot knows all types; quoted names, texts and comments stay as they are.

    Raises:
        SqlglotError: the text has no words of SQL.
    """
    import sqlglot

    tokens = sqlglot.tokenize(text, read=dialect)
    words = ["" if token.token_type.name in ("STRING", "IDENTIFIER") else token.text.lower() for token in tokens]
    found = [
        (tokens[at].start, tokens[at + len(unknown) - 1].end + 1, known)
        for at in range(len(tokens))
        for unknown, known in _OTHERS
        if tuple(words[at : at + len(unknown)]) == unknown
    ]
    for start, end, known in reversed(found):
        text = f"{text[:start]}{known}{text[end:]}"
    return text
