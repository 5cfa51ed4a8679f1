"""git in the working folder, as an author whom no settings name."""

from __future__ import annotations

import subprocess

IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")


def git(*arguments: str) -> None:
    subprocess.run(("git", *IDENTITY, *arguments), check=True, capture_output=True)


def commit(message: str) -> None:
    git("add", "-A")
    git("commit", "-qm", message)
