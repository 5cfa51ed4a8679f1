"""Reviews of folders that somebody hostile has written: no process but git, no connection, no file, no pass."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from schemactl.cli.app import run
from schemactl.errors import InputError
from schemactl.formats import dlt
from schemactl.store.text import read_text
from tests.cli.test_diff_command import BASE, HEAD, commit, write

SCHEMA = "schemas/export/shop.schema.yaml"
EVIL = "open('pwned', 'w').close(); raise SystemExit(0)\n"
STORED = dlt.write(BASE, SCHEMA)

NAMES = [
    "evil",
    "evil.NamingConvention",
    "numpy.f2py.__main__",
    "os",
    "antigravity",
    "../evil",
    "\n::error ::x",
    "",
    "💣" * 3000,
]
"""What stands where a schema names a module, a table, a column, a pattern."""

PARTS = [
    "names: snake_case",
    "module: dlt.common.normalizers.json.relational",
    "note:",
    "orders:",
    "data_type: text",
    "version: 1",
]
"""Of the stored base, to be replaced."""

TEXTS = st.one_of(
    st.sampled_from(
        [
            "",
            "{",
            "[" * 20_000,
            "a: &a [*a, *a]\n",
            "!!python/object/apply:os.system ['touch pwned']\n",
            "%YAML 9.9\n---\n",
            "name: shop\n" * 3,
            dlt.write(HEAD, SCHEMA),
            STORED,
        ]
    ),
    st.text(max_size=40),
    st.builds(
        lambda part, name: STORED.replace(part, f"{part.partition(':')[0]}: {name!r}"),
        st.sampled_from(PARTS),
        st.sampled_from(NAMES),
    ),
    st.builds(
        lambda pattern: STORED.replace("settings:", f"settings:\n  preferred_types:\n    're:{pattern}': text"),
        st.sampled_from(["(a+)+$", "(", "(.*)*x", "a{1,9999}{1,9999}"]),
    ),
)

GIT_FOLDER = {
    "HEAD": "ref: refs/heads/main\n",
    "config": "[core]\n  bare = false\n  worktree = .\n  fsmonitor = touch pwned\n  sshCommand = touch pwned\n"
    '[extensions]\n  partialClone = o\n[remote "o"]\n  url = ssh://h/p\n  promisor = true\n',
    "objects/keep": "",
    "refs/heads/main": "1" * 40,
}

MORE: list[dict[str, str]] = [
    {"schemactl.toml": '[diff]\nfail-on = "never"\nseverity = ["P001=none"]\n'},
    {"schemactl.toml": 'schemas = "decoy"\n', "decoy/export/shop.schema.yaml": STORED},
    {"schemactl.toml": "a = " + "[" * 20_000},
    {"pyproject.toml": '[tool.schemactl]\nnaming-module = ["evil"]\n'},
    {f"schemas/export/{name}": text for name, text in GIT_FOLDER.items()},
    {f"schemas/{name}": text for name, text in GIT_FOLDER.items()},
    {
        "evil-1.dist-info/METADATA": "Name: evil\n",
        "evil-1.dist-info/entry_points.txt": "[schemactl.rule]\nz999 = evil\n",
    },
    {
        ".gitattributes": "*.yaml diff=evil filter=evil\n",
        ".gitmodules": '[submodule "schemas"]\n  path = schemas\n  url = ext::x\n',
    },
    {"schemas/import/shop.schema.yaml": "name: [\n"},
    {"schemas/export/\n::error ::x.schema.yaml": "x"},
]
LINKS = st.sampled_from([None, "schemas/export/linked.schema.yaml", SCHEMA, "schemactl.toml"])

_watched: list[tuple[str, Any]] | None = None


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if _watched is not None and event in _WATCHED:
        _watched.append((event, arguments))


_WATCHED = {
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "socket.connect",
    "open",
    "os.remove",
    "os.rename",
    "os.mkdir",
}


@contextmanager
def watched() -> Iterator[list[tuple[str, Any]]]:
    global _watched
    _watched = seen = []
    try:
        yield seen
    finally:
        _watched = None


def writes(arguments: tuple[Any, ...]) -> bool:
    """Return whether a file was opened to be written; Python keeps what it compiles of its own modules."""
    path, mode, flags = arguments
    is_ours = isinstance(path, int) or path == os.devnull or "__pycache__" in str(path)
    return not is_ours and (bool(set(mode or "") & set("wax+")) or bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)))


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "secret").write_text("token: [SECRET\n")
    sys.addaudithook(_watch)  # here, as it stays, and slows whatever the process runs from then on
    top = folder / "repository"
    write(top / SCHEMA, BASE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(top)
        (folder / "temporary").mkdir()
        patch.setattr(tempfile, "tempdir", str(folder / "temporary"))
        patch.syspath_prepend(str(top))  # as `PYTHONPATH=.` does
        subprocess.run(("git", "init", "-q", "-b", "main", "."), check=True)
        commit("first")
        yield top


@settings(suppress_health_check=list(HealthCheck))
@given(text=TEXTS, more=st.lists(st.sampled_from(MORE), max_size=3), link=LINKS)
@example(text=STORED, more=MORE[4:6], link=None)
@example(text=STORED, more=MORE[:2], link=SCHEMA)
@example(text=STORED.replace("names: snake_case", "names: evil"), more=[MORE[3], MORE[6]], link=None)
def test_a_hostile_folder_does_nothing_and_does_not_pass(
    top: Path, capsys: pytest.CaptureFixture[str], text: str, more: list[dict[str, str]], link: str | None
):
    for path in top.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, content in {SCHEMA: text, "evil.py": EVIL, **{k: v for each in more for k, v in each.items()}}.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(content, encoding="utf-8", errors="surrogatepass")
    if link:
        (top / link).unlink(missing_ok=True)
        (top / link).symlink_to(top.parent / "secret")

    with watched() as seen:
        code = run(["diff", "git:main", "--timeout", "60"])

    printed = capsys.readouterr()
    reported = printed.out + printed.err
    assert code in (0, 1, 2), reported
    processes = [arguments[0] for event, arguments in seen if event == "subprocess.Popen"]
    assert all(Path(str(each)).name == "git" for each in processes), processes
    others = [
        (event, each)
        for event, each in seen
        if event not in ("subprocess.Popen", "open") or (event == "open" and writes(each))
    ]
    assert others == []
    assert not list(top.parent.rglob("pwned"))
    assert "evil" not in sys.modules
    assert "given up" not in reported
    assert "SECRET" not in reported
    assert not [line for line in reported.splitlines() if line.lstrip().startswith("::")]
    if code == 0:
        assert link != SCHEMA
        assert dlt.read(read_text(top / SCHEMA), "schema.yaml").schema.tables.keys() >= BASE.tables.keys()
    if not is_readable(top / SCHEMA):
        assert code == 2


def is_readable(path: Path) -> bool:
    try:
        dlt.read(read_text(path), str(path))
    except InputError:
        return False
    return True
