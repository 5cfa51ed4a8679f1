"""Data of other projects that tests use and that is not in the repository: tests that lack it skip and say why."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

REPOSITORY: Final = Path(__file__).parents[1]
VARIABLE: Final = "SCHEMACTL_CONFORMANCE"

_ORIGINS: Final = {
    "dlt": "copies of the files that the tests name, from `tests/` of https://github.com/dlt-hub/dlt",
    "arc": "what Arc 4.2.0 (https://github.com/tripl-ai/arc) makes of fields and texts, measured by running it",
}


@dataclass(frozen=True, slots=True)
class OutsideData:
    """A folder of such data; a call gives a file or folder of it, or skips the test."""

    folder: Path

    def __call__(self, part: str) -> Path:
        found = self.folder / part
        if not found.exists():
            pytest.skip(
                f"`{part}` is not in the repository: {_ORIGINS[part.partition('/')[0]]}; put it into a folder that "
                f"{VARIABLE} names (docs/development.md says in which form)"
            )
        return found


def outside_data() -> OutsideData:
    """Return the folder that the environment names, else the one beside the repository."""
    stated = os.environ.get(VARIABLE)
    return OutsideData(Path(stated) if stated else REPOSITORY.parent / "shared" / "conformance")
