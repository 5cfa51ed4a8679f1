"""README for pages that are not the repository: its links lead there, or become plain text."""

from __future__ import annotations

import re

LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<target>(?!\w+:|#)[^)\s]+)\)")


def readme_for_index(text: str, repository: str | None, revision: str) -> str:
    """Return README as a page of another site shows it.

    Args:
        text: README, in Markdown.
        repository: its address; None where it has none.
        revision: the tag that links go to.
    """

    def absolute(match: re.Match[str]) -> str:
        picture, said, target = match["picture"], match["text"], match["target"]
        if repository is None:
            return "" if picture else said
        if picture:
            return f"![{said}]({repository}/raw/{revision}/{target})"
        return f"[{said}]({repository}/blob/{revision}/{target})"

    # Not in code: there, brackets are code.
    parts = re.split(r"(```.*?```|`[^`\n]*`)", text, flags=re.DOTALL)
    shown = "".join(part if at % 2 else LINK.sub(absolute, part) for at, part in enumerate(parts))
    return re.sub(r"\n{3,}", "\n\n", shown)
