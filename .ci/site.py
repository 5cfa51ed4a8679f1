"""Pages of the site that stand at the top of the repository: `mkdocs.yml` calls these functions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

TOP = Path(__file__).parents[1]
PAGES = {
    "overview.md": "README.md",
    **{name: name for name in ("CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md")},
    "LICENSE.md": "LICENSE",
}
"""What they are called on the site, and at the top."""


def on_files(files: Files, config: Any) -> Files:
    """Add the pages; their links into `docs/` lead to pages beside them."""
    for name, file in PAGES.items():
        text = (TOP / file).read_text(encoding="utf-8")
        if file == "LICENSE":
            text = f"---\nsearch: {{ exclude: true }}\n---\n# License\n\n```text\n{text}```\n"
        files.append(File.generated(config, name, content=_beside(text)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Lead links from `docs/` to pages at the top to those of the site."""
    return re.sub(r"\]\(\.\./(?=[A-Z_]+\.md)", "](", markdown)


def _beside(text: str) -> str:
    text = re.sub(r"\]\(docs/", "](", text)
    return text.replace("](README.md)", "](README.md)").replace("](LICENSE)", "](LICENSE.md)")
