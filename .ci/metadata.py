"""What the page on PyPI shows: README with links that lead somewhere from there, and the project's addresses.

`SCHEMACTL_REPOSITORY` is the repository's address (`https://github.com/OWNER/NAME`), as the release workflow sets it.
Without it, links into the repository become plain text, and its pictures are left out: dead links help nobody.
"""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Metadata(MetadataHookInterface):
    """Fills in `readme` and `urls` of pyproject.toml."""

    def update(self, metadata: dict[str, Any]) -> None:
        repository = os.environ.get("SCHEMACTL_REPOSITORY", "").rstrip("/") or None
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        rewrite = runpy.run_path(str(Path(self.root) / ".ci" / "readme.py"))["readme_for_index"]
        shown = rewrite(text, repository, f"v{metadata['version']}")
        metadata["readme"] = {"content-type": "text/markdown", "text": shown}
        if repository is not None:
            metadata["urls"] = {
                "Documentation": f"{repository}/tree/v{metadata['version']}/docs",
                "Source": repository,
                "Changes": f"{repository}/blob/v{metadata['version']}/CHANGELOG.md",
                "Issues": f"{repository}/issues",
            }
