"""Texts that were damaged on their way."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st


@st.composite
def damaged(draw: st.DrawFn, texts: Sequence[str], pieces: Sequence[str], *, least: int = 1, longest: int = 40) -> str:
    """Return one of the texts after parts of up to ``longest`` characters were cut, dropped, replaced or repeated."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(least, 2))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, longest)))
        lines = text.splitlines(keepends=True) or [""]
        line, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        match draw(st.sampled_from(["cut", "drop", "insert", "replace", "repeat", "drop line", "repeat line"])):
            case "cut":
                text = text[:start]
            case "drop":
                text = text[:start] + text[end:]
            case "insert":
                text = text[:start] + draw(st.sampled_from(pieces)) * draw(st.sampled_from([1, 2, 300])) + text[start:]
            case "replace":
                text = text[:start] + draw(st.sampled_from(pieces)) + text[end:]
            case "repeat":
                text = text[:end] + text[start:]
            case "drop line":
                text = "".join([*lines[:line], *lines[line + 1 :]])
            case "repeat line":
                text = "".join([*lines[:line], lines[other], *lines[line:]])
    return text
