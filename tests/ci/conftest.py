"""What the tests of the CI integrations share: repositories that hold a schema, and the installed command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from forked_commands import forked_program

from schemactl.formats.dlt import read, write
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

PROGRAMS = Path(sys.executable).parent
SCHEMA_PATH = "schemas/export/shop.schema.yaml"


@dataclass(frozen=True)
class Work:
    """A git repository of a user, far from any settings of the machine."""

    top: Path

    def run(self, *command: str, code: int | None = 0, **variables: str) -> str:
        """Run a command at the top; ``schemactl`` is on the path. Return both outputs."""
        done = subprocess.run(
            command,
            cwd=self.top,
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )
        assert code is None or done.returncode == code, done.stdout
        return done.stdout

    def git(self, *arguments: str) -> str:
        return self.run("git", *arguments)

    def write(self, path: str, text: str) -> None:
        file = self.top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def save(self, columns: dict[str, str], path: str = SCHEMA_PATH) -> None:
        """Write a schema whose table ``orders`` has these columns: the next version of the one that is there."""
        file = self.top / path
        schema = read(file.read_text(encoding="utf-8"), str(file)).schema if file.exists() else new_schema("shop")
        made = {name: Column(name, {"data_type": kind, "nullable": True}) for name, kind in columns.items()}
        table = Table("orders", made, {"resource": "orders", "write_disposition": "append"})
        self.write(path, write(bump(schema.with_table(table)), path))

    def commit(self, message: str) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD").strip()


FORMS = ("text", "json", "markdown", "github", "gitlab", "junit", "sarif")
BEFORE = {"id": "bigint", "note": "text"}


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    """A repository with one commit on ``main``, whose table ``orders`` has the columns ``id`` and ``note``."""
    for name in [name for name in os.environ if name.startswith(("SCHEMACTL_", "GIT_", "GITHUB_", "CI_"))]:
        monkeypatch.delenv(name)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A Person")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "person@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.setenv("GIT_PAGER", "cat")
    monkeypatch.setenv("PATH", f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}")
    top = tmp_path / "work"
    top.mkdir()
    made = Work(top)
    made.git("init", "--quiet", "--initial-branch=main")
    made.save(BEFORE)
    made.commit("orders")
    return made


@pytest.fixture(scope="session")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A ``schemactl`` that starts faster than the installed one, for tests of what others make of what it says."""
    made = Work(tmp_path_factory.mktemp("first"))
    base, head = made.top / "base.schema.yaml", made.top / "head.schema.yaml"
    made.save(BEFORE, head.name)
    shutil.copy(head, base)
    made.save({"id": "bigint"}, head.name)
    diff = ("diff", str(base), str(head), "--format")
    with forked_program(first=[(*diff, form) for form in FORMS]) as program:
        yield program


@pytest.fixture
def forked_work(work: Work, forked: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    """A repository as above, with the faster ``schemactl`` on the path."""
    monkeypatch.setenv("PATH", f"{forked.parent}{os.pathsep}{os.environ['PATH']}")
    return work
