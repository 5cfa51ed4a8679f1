"""Reads who owns the files of a repository: the CODEOWNERS file of GitHub or GitLab.

https://docs.github.com/repositories/managing-your-repositorys-settings-and-features/customizing-your-repository/about-code-owners
https://docs.gitlab.com/user/project/codeowners/reference/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Final

from schemactl.store.file_trees import matches_names
from schemactl.store.folder import TextFile
from schemactl.store.revision import files_at
from schemactl.store.text import read_text


class Forge(StrEnum):
    """A service that hosts repositories."""

    GITHUB = "github"
    GITLAB = "gitlab"


_PATHS: Final = {
    Forge.GITHUB: (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"),
    Forge.GITLAB: ("CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"),
    None: (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"),
}
"""The paths that a forge searches, the first file counts; None for an unknown forge."""

MAX_BYTES: Final = 3 << 20
"""GitHub ignores larger files."""

_SECTION: Final = re.compile(r"\^?\[(?P<name>[^\]]+)\](?:\[\d+\])?(?P<owners>(?:\s.*)?)")
_WORD: Final = re.compile(r"(?:\\.|\S)+")
_OWNER: Final = re.compile(r"@\S+|[^@\s]+@[^@\s]+")


@dataclass(frozen=True, slots=True)
class _Rule:
    """A line of a CODEOWNERS file.

    Attributes:
        patterns: the names of folders and files, as ``matches_names`` expects them; a path must match one of them.
        owners: of matching files; empty for files without an owner.
        section: of GitLab, in lower case; empty for none.
        is_exclusion: whether the section owns no matching file, whatever its other rules say.
    """

    patterns: tuple[tuple[str, ...], ...]
    owners: tuple[str, ...]
    section: str = ""
    is_exclusion: bool = False

    def matches(self, path: Sequence[str]) -> bool:
        """Return whether the rule is about a file."""
        return any(matches_names(path, pattern) for pattern in self.patterns)


@dataclass(frozen=True, slots=True)
class CodeOwners:
    """The rules of a CODEOWNERS file."""

    rules: tuple[_Rule, ...]

    def owners_of(self, path: str) -> tuple[str, ...]:
        """Return the owners of a file: of each section, the owners in the last rule that matches.

        ``path`` is from the top of the repository.
        """
        names = PurePosixPath(path).parts
        owners_by_section: dict[str, tuple[str, ...]] = {}
        excluding_sections = set()
        for rule in self.rules:
            if rule.matches(names):
                owners_by_section[rule.section] = rule.owners
                if rule.is_exclusion:
                    excluding_sections.add(rule.section)
        sections = (section for section in owners_by_section if section not in excluding_sections)
        return tuple(dict.fromkeys(owner for section in sections for owner in owners_by_section[section]))


def read_code_owners(top: Path, revision: str | None = None, forge: Forge | None = None) -> CodeOwners | None:
    """Return the code owners of a repository, None if it has no such file.

    ``revision`` is None for the file on disk. If ``forge`` is None, the place and sections of the file tell the forge.
    """
    paths = [top / path for path in _PATHS[forge]]
    if revision is not None:
        files = files_at(revision, paths, MAX_BYTES)[:1]
    else:
        files = tuple(TextFile(path, read_text(path, MAX_BYTES)) for path in paths if path.is_file())[:1]
    for file in files:
        path = str(file.path)
        has_section = any(_SECTION.fullmatch(line.strip()) for line in file.text.splitlines())
        is_of_gitlab = path.endswith(".gitlab/CODEOWNERS") or (has_section and not path.endswith(".github/CODEOWNERS"))
        return parse_code_owners(file.text, forge or (Forge.GITLAB if is_of_gitlab else Forge.GITHUB))
    return None


def parse_code_owners(text: str, forge: Forge) -> CodeOwners:
    """Return the rules in the text of a CODEOWNERS file; lines that the forge does not understand are skipped."""
    return CodeOwners(tuple(_rules(text, forge)))


def _rules(text: str, forge: Forge) -> Iterator[_Rule]:
    section, default_owners = "", tuple[str, ...]()
    for line in map(str.strip, text.removeprefix("\ufeff").splitlines()):
        if not line or line.startswith("#"):
            continue
        if forge is Forge.GITLAB and (header := _SECTION.fullmatch(line)):
            section, default_owners = header["name"].strip().lower(), _owners(header["owners"].split())
            continue
        pattern, *words = _WORD.findall(line)
        is_exclusion = pattern.startswith("!")
        if forge is Forge.GITHUB and (is_exclusion or re.search(r"[\[\]]|^\\#", pattern)):
            continue
        plain_pattern = re.sub(r"\\(.)", r"\1", pattern.removeprefix("!"))
        owners = () if is_exclusion else _owners(words) or default_owners
        yield _Rule(tuple(_patterns(plain_pattern, forge)), owners, section, is_exclusion)


def _owners(words: Sequence[str]) -> tuple[str, ...]:
    """Return the user names, teams, roles and email addresses before a comment."""
    comment = next((index for index, word in enumerate(words) if word.startswith("#")), len(words))
    return tuple(word for word in words[:comment] if _OWNER.fullmatch(word))


def _patterns(pattern: str, forge: Forge) -> Iterator[tuple[str, ...]]:
    """Yield the names that a path must match, one by one.

    A pattern names a file, or a folder and all below it; ``folder/*`` names only the files right in it. A pattern
    without a slash at its start can begin in any folder; on GitHub only if it has no slash before its end either.
    """
    names = tuple(name.replace("[", "[[]") for name in pattern.split("/") if name)
    is_anchored = pattern.startswith("/") or (forge is Forge.GITHUB and "/" in pattern.rstrip("/"))
    anchored_names = names if is_anchored else ("**", *names)
    if not pattern.endswith("/"):
        yield anchored_names
    if names[-1:] != ("*",) or pattern.endswith("/"):
        yield (*anchored_names, "**", "*")
