"""Finds and reads a git repository through the ``git`` command; only ``schemactl init`` sets one up.

Only this module starts git. Files of a pull request are data, also if they look like a git repository (``HEAD``,
``config`` and ``objects/`` in a folder of schemas): git starts in the working folder, or in the folder of ``.git``,
which no commit can add; it takes no configuration from a bare repository around it, runs no hook and no monitor, and
contacts no server.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from schemactl.errors import InputError
from schemactl.store.links import path_in_repository

TIMEOUT_SECONDS = 120
"""Long enough for the history of a large repository; a disk that is silent must not hang the command."""

_SETTINGS = (
    "safe.bareRepository=explicit",
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "protocol.allow=never",
)

_VARIABLES = {
    "LC_ALL": "C",  # some messages decide
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",  # git before 2.45 knows no GIT_NO_LAZY_FETCH; goes before any `protocol.NAME.allow`
}

UNSHALLOW = "this clone is shallow: `git fetch --unshallow` (in GitHub Actions: `fetch-depth: 0`)"
PARTIAL = "this is a partial clone, and schemactl does not fetch objects: clone without `--filter`"
LINK_MODE = "120000"
MERGE_BASE = "..."
"""After a revision: the commit at which the checked-out branch left it, as in ``git diff REV...``."""


def find_repository(path: Path) -> Path:
    """Return the top folder of the working folder's repository, if ``path`` is below it; else of the one it is in.

    The path's name counts: a link in a repository does not lead to another repository.

    Raises:
        InputError: git is absent, or ``path`` is in no repository that git accepts.
    """
    working = run_git(Path.cwd(), "rev-parse", "--show-toplevel")
    if not working.returncode and path_in_repository(path, top := _top(working)):
        return top
    location = path_in_repository(path)
    if location is None:
        message = f"`{os.path.normpath(path.absolute())}` is not in a git repository"
        raise InputError(message, hint="run in a git repository, or pass a file instead")
    result = run_git(location.top, "rev-parse", "--show-toplevel")
    if result.returncode:
        if b"dubious ownership" in result.stderr:
            hint = f"git config --global --add safe.directory {location.top}"
            raise InputError(f"git refuses `{location.top}`: it belongs to another user", hint=hint)
        raise failure(f"git cannot use `{location.top}`", result)
    return _top(result)


def _top(result: subprocess.CompletedProcess[bytes]) -> Path:
    return Path(os.fsdecode(result.stdout.removesuffix(b"\n")))


def create_repository(folder: Path) -> None:
    """Make a folder the top of a new repository."""
    checked_output(f"git cannot make a repository of `{folder}`", folder, "init", "--quiet")
    if (answers := _answers.get()) is not None:
        answers.clear()  # they are of a folder outside of repositories


def remote_addresses(top: Path) -> tuple[str, ...]:
    """Return the addresses of the repository's remotes, which may hold passwords."""
    result = run_git(top, "config", "--get-regexp", r"^remote\..*\.url$")
    lines = result.stdout.decode("utf-8", "replace").splitlines()
    return tuple(line.partition(" ")[2] for line in lines)


def commit_of(top: Path, revision: str) -> str:
    """Return the full hash of the commit that a revision names; of ``REV...`` the one at which HEAD left REV.

    Raises:
        InputError: there is no such revision.
    """
    if revision.endswith(MERGE_BASE):
        revision = revision.removesuffix(MERGE_BASE)
        result = run_git(top, "merge-base", commit_of(top, revision), "HEAD")
        if result.returncode:
            hint = UNSHALLOW if is_shallow(top) else "without the dots, the revision itself is compared"
            raise InputError(f"`{revision}` and HEAD have no commit in common in `{top}`", hint=hint)
        return result.stdout.decode("ascii").strip()
    if not revision or revision.startswith("-"):
        raise InputError(f"`{revision}` is not a git revision", hint="for example `git:main` or `git:HEAD~1`")
    result = run_git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if result.returncode:
        if not run_git(top, "rev-list", "--all", "--max-count=1").stdout:
            raise InputError(f"there is no git revision `{revision}`: `{top}` has no commit yet", hint="commit first")
        raise InputError(f"there is no git revision `{revision}` in `{top}`", hint=_how_to_fetch(revision, top))
    return result.stdout.decode("ascii").strip()


def revision_of(reference: str | None) -> str | None:
    """Return REV of ``git:REV`` and ``git:REV:PATH``, None for any other REF."""
    kind, _, revision_and_path = (reference or "").partition(":")
    return revision_and_path.partition(":")[0] if kind == "git" and revision_and_path else None


def is_ancestor(top: Path, commit: str, descendant: str) -> bool:
    """Return whether a commit is in the history of another one, or is that one.

    False also if a shallow clone lacks it, or if there is no such descendant.
    """
    return not run_git(top, "merge-base", "--is-ancestor", "--end-of-options", commit, descendant).returncode


def _how_to_fetch(revision: str, top: Path) -> str:
    """Return the command that fetches a revision; a clone of one branch (a shallow one) fetches no other branch."""
    is_cut = is_shallow(top)
    remotes = run_git(top, "remote").stdout.decode("utf-8", "replace").split()
    for name in remotes:
        if not run_git(top, "show-ref", "--verify", "--quiet", f"refs/remotes/{name}/{revision}").returncode:
            return f"only the remote has this branch: write `{name}/{revision}`"
    remote, _, branch = revision.partition("/")
    is_tracked = remote in remotes
    if not is_tracked:
        remote, branch = next(iter(remotes), ""), revision
    is_hash = re.fullmatch("[0-9a-f]{7,64}", branch)
    if remote and re.fullmatch(r"\w[\w./-]*", branch) and not is_hash and (is_tracked or is_cut):
        deepen, in_actions = ("--unshallow ", " (in GitHub Actions: `fetch-depth: 0`)") if is_cut else ("", "")
        then = "" if is_tracked else f", then `git:{remote}/{branch}`"
        return f"`git fetch {deepen}{remote} {branch}:refs/remotes/{remote}/{branch}`{in_actions}{then}"
    return UNSHALLOW if is_cut else "run `git fetch`; write a remote branch as `origin/NAME`"


def is_shallow(top: Path) -> bool:
    """Return whether the history of the repository at ``top`` is cut off."""
    return run_git(top, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true"


def colors_diffs(folder: Path) -> bool:
    """Return whether git's settings color the output of ``git diff``."""
    return run_git(folder, "config", "--get-colorbool", "color.diff", "true").stdout.strip() == b"true"


def path_inside(top: Path, path: Path) -> str:
    """Return ``path`` from the repository's top, as git writes it, by its name: its links may lead elsewhere."""
    location = path_in_repository(path, top)
    if location is None or location.inside is None:
        raise InputError(f"`{path}` is outside the git repository `{top}`")
    return location.inside


_Asked = tuple[Path, tuple[str, ...], str]
_answers: ContextVar[dict[_Asked, subprocess.CompletedProcess[bytes]] | None] = ContextVar("answers", default=None)


@contextmanager
def one_look() -> Iterator[None]:
    """Ask git each thing once within the block: a command looks at one state of a repository."""
    token = _answers.set({})
    try:
        yield
    finally:
        _answers.reset(token)


def run_git(folder: Path, *arguments: str, lines: str = "") -> subprocess.CompletedProcess[bytes]:
    """Run a git command in a folder, with ``lines`` as its input, and return its result."""
    answers, question = _answers.get(), (folder, arguments, lines)
    if answers is None:
        return _run(*question)
    if question not in answers:
        answers[question] = _run(*question)
    return answers[question]


def checked_output(failed_task: str, folder: Path, *arguments: str, lines: str = "") -> bytes:
    """Return the output of a git command; if it fails, raise an error that begins with ``failed_task``."""
    result = run_git(folder, *arguments, lines=lines)
    if result.returncode:
        raise failure(failed_task, result)
    return result.stdout


def _run(folder: Path, arguments: tuple[str, ...], lines: str) -> subprocess.CompletedProcess[bytes]:
    settings = (word for setting in _SETTINGS for word in ("-c", setting))
    command = ("git", "-C", str(folder), *settings, *arguments)
    try:
        return subprocess.run(
            command,
            capture_output=True,
            input=lines.encode("ascii"),
            env={**os.environ, **_VARIABLES},
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except FileNotFoundError as error:
        raise InputError("`git:` needs the `git` command, which is not installed", hint="install git") from error
    except subprocess.TimeoutExpired as error:
        raise InputError(f"git did not answer within {TIMEOUT_SECONDS} s") from error


def sizes_of(top: Path, blobs: Sequence[str]) -> list[int]:
    """Return the sizes of files in bytes."""
    return [_size_in(line, top) for line in _asked_of(top, "--batch-check", blobs).splitlines()]


def contents_of(top: Path, blobs: Sequence[str]) -> list[bytes]:
    """Return the contents of files, read by one process."""
    answer, contents, position = _asked_of(top, "--batch", blobs), [], 0
    for _ in blobs:
        start = answer.index(b"\n", position) + 1
        end = start + _size_in(answer[position:start], top)
        contents.append(answer[start:end])
        position = end + 1
    return contents


def _size_in(line: bytes, top: Path) -> int:
    """Return the size in git's line about an object: its name, kind and size."""
    blob, *kind_and_size = line.decode("ascii").split()
    if len(kind_and_size) != 2:
        raise InputError(f"the repository `{top}` lacks the object {blob}", hint="`git fsck` lists broken objects")
    return int(kind_and_size[1])


def _asked_of(top: Path, how: str, blobs: Sequence[str]) -> bytes:
    lines = "".join(f"{blob}\n" for blob in blobs)
    return checked_output(f"git cannot read the files of `{top}`", top, "cat-file", how, lines=lines)


def failure(task: str, result: subprocess.CompletedProcess[bytes]) -> InputError:
    """Return the error for a failed git command, with a hint if its cause is known."""
    lines = result.stderr.decode("utf-8", "replace").strip().splitlines()
    fatal = next((line for line in lines if line.startswith(("fatal: ", "error: "))), "")
    reason = fatal.partition(": ")[2] or "; ".join(lines) or f"exit code {result.returncode}"
    is_partial = any("promisor" in line or "lazy fetching" in line for line in lines)
    return InputError(f"{task}: {reason}", hint=PARTIAL if is_partial else None)


_MOST_CONFLICTS = 127


def merge_lines(base: Path, ours: Path, theirs: Path, marker_size: int) -> bytes:
    """Return git's merge of lines of three files, with its conflict markers (git-merge-file(1))."""
    names = [word for name in ("ours", "base", "theirs") for word in ("-L", name)]
    files = [str(path.absolute()) for path in (ours, base, theirs)]
    result = run_git(Path.cwd(), "merge-file", "-p", "-q", f"--marker-size={marker_size}", *names, "--", *files)
    if result.returncode > _MOST_CONFLICTS:
        raise failure(f"git cannot merge `{files[0]}` and `{files[2]}`", result)
    return result.stdout


_SAME, _DIFFERENT = 0, 1


def text_diff(base: Path | None, head: Path | None) -> str:
    """Return a unified diff of two files; None for a missing file."""
    files = [str(path) if path else os.devnull for path in (base, head)]
    quiet = ("--no-index", "--no-ext-diff", "--no-textconv", "--no-color")
    result = run_git(Path.cwd(), "diff", *quiet, "--", *files)
    if result.returncode not in (_SAME, _DIFFERENT):
        raise failure(f"git cannot compare `{files[0]}` and `{files[1]}`", result)
    return result.stdout.decode("utf-8", "backslashreplace")
